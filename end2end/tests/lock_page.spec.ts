// The page of a lock: verdict, lease, owners, and the text alternatives of its charts.
import { acquireLock, expect, lockPath, open, test } from './fixtures';
import { punctuationErrors } from './page_tour';

test('the verdict counts down to the loss of the quorum, and the charts have descriptions and tables', async ({ page, servers }) => {
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, 'lock:a', 'a'.repeat(32), 60_000);
  await open(page, console, lockPath('orders', 'lock:a'));
  await expect(page.getByText(/^Held by .* on 3 of 3 nodes \(quorum: 2\)\. The quorum is lost in \d+ s unless the lock is renewed\./)).toBeVisible();

  const history = page.getByRole('region', { name: 'History' });
  const lease = history.getByRole('img', { name: 'Lease over time' });
  await expect(lease).toHaveAccessibleDescription(/0 renewals in this period; \d+ s left\./);
  for (const node of nodes) await node.redis.pexpire('lock:a', 90_000);
  await expect(lease).toHaveAccessibleDescription(/1 renewal in this period; 1 min( \d+ s)? left\./);
  await expect(history).toContainText('quorum lost');
  await history.getByText('As a table').first().click();
  await expect(history.getByRole('table').first().getByRole('row')).toHaveCount(3);

  // Another owner acquires the lock, which is then force-released.
  await acquireLock(nodes, 'lock:a', 'b'.repeat(32), 60_000);
  const owners = history.getByRole('img', { name: 'Owners over time' });
  await expect(owners).toHaveAccessibleDescription(/2 holds, 2 owners, 0 forced\./);
  await page.getByRole('button', { name: 'Force release…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Release lock:a on 3 nodes of orders (development)?' });
  await dialog.getByLabel('Reason').fill('a test');
  await dialog.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(owners).toHaveAccessibleDescription(/2 holds, 2 owners, 1 forced\./);
});

test('the chart shows renewals from before the page was opened', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, 'lock:a', 'a'.repeat(32), 60_000);
  const renewals = async () => (await (await fetch(`${console.url}/api/v1/groups/orders/locks/lock%3Aa`)).json()).renewals.count;
  await expect.poll(renewals).toBe(0);
  await nodes[0].redis.pexpire('lock:a', 80_000);
  await expect.poll(renewals).toBe(1);
  await nodes[0].redis.pexpire('lock:a', 100_000);
  await expect.poll(renewals).toBe(2);
  await open(page, console, lockPath('orders', 'lock:a'));
  await expect(page.getByRole('img', { name: 'Lease over time' })).toHaveAccessibleDescription(/2 renewals in this period/);
  await expect(page.getByRole('region', { name: 'Library behaviour' })).toContainText('No automatic renewal.');
  await expect(page.getByRole('region', { name: 'Who wants it' })).toContainText('No waiters visible.');
});

test('commands for scripts are shown for each operation, without a token', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes, environment: 'production' });
  await acquireLock(nodes, "lock:it's", 'secret-token-of-the-owner', 60_000);
  await open(page, console, lockPath('orders', "lock:it's"));
  await page.getByText('Use from a script').click();
  await expect(page.getByText('lockkeeper force-release --fingerprint')).toContainText(`--confirm 'lock:it'\\''s' -- 'orders' 'lock:it'\\''s'`);
  await expect(page.getByText(`curl -X POST ${console.url}`).first()).toContainText('/force-release');
  for (const command of ['show', 'acquire', 'extend', 'release']) await expect(page.getByText(`lockkeeper ${command} `)).toBeVisible();
  expect(await page.content()).not.toContain('secret-token-of-the-owner');
});

test('the page and its dialog are in Chinese for a Chinese browser', async ({ browser, servers }) => {
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, 'lock:a', 'a'.repeat(32), 60_000);
  const renewals = async () => (await (await fetch(`${console.url}/api/v1/groups/orders/locks/lock%3Aa`)).json()).renewals.count;
  await expect.poll(renewals).toBe(0);
  for (let n = 1; n <= 3; n++) {
    // One point in time for all nodes, because the commands are sent one after the other.
    const deadline = Date.now() + 60_000 + n * 10_000;
    for (const node of nodes) await node.redis.pexpireat('lock:a', deadline);
    await expect.poll(renewals).toBe(n);
  }
  const context = await browser.newContext({ locale: 'zh-CN' });
  const page = await context.newPage();
  await page.goto(console.url + lockPath('orders', 'lock:a'));
  await expect(page.getByText(/若 .*内未续租，将失去多数派。/)).toBeVisible();
  await expect(page.getByRole('img', { name: '租约随时间的变化' })).toBeVisible();
  await expect(page.getByRole('list', { name: '持有记录，最新的在前' })).toContainText(`${await renewals()} 次续租`);
  expect(await punctuationErrors(page)).toEqual([]);
  const release = page.getByRole('button', { name: '强制释放…' });
  const dialog = page.getByRole('dialog');
  // The page may not be hydrated yet.
  await expect(async () => {
    await release.click();
    await expect(dialog).toBeVisible({ timeout: 1_000 });
  }).toPass();
  await expect(dialog).toContainText('进程会继续运行，并可能仍认为自己持有该锁。');
  await dialog.getByLabel('原因').fill('测试');
  await dialog.getByRole('button', { name: '释放', exact: true }).click();
  await expect(dialog).toContainText('已在 3 个节点中的 3 个上释放');
  expect(await punctuationErrors(page)).toEqual([]);
  await page.goto(`${console.url}/audit`);
  await page.getByText('详情', { exact: true }).first().click();
  expect(await punctuationErrors(page)).toEqual([]);
  await context.close();
});

test('on a phone the state of all nodes is readable without scrolling sideways', async ({ page, servers }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes.slice(0, 2), 'lock:a', 'a'.repeat(32), 600_000);
  await open(page, console, lockPath('orders', 'lock:a'));
  const matrix = page.getByRole('region', { name: 'State per node' });
  const rows = matrix.getByRole('row');
  await expect(rows.filter({ hasText: 'holds' })).toHaveCount(2);
  await expect(rows.filter({ hasText: 'absent' })).toHaveCount(1);
  expect(await matrix.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  for (const title of ['Lease', 'Clock', 'Restarts', 'Latency']) {
    const { x, width } = (await matrix.locator(`td[data-label="${title}"]`).first().boundingBox())!;
    expect(x + width, title).toBeLessThanOrEqual(390);
  }
});

test('the raw value of the key can be read, with its token masked', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes, keys: ['*'] });
  const owner = '8743c9c0-0795-4907-87fd-6c719a6b4586:87';
  await nodes[0].redis.hset('redisson:a', owner, 2);
  await nodes[0].redis.pexpire('redisson:a', 600_000);
  await open(page, console, lockPath('orders', 'redisson:a'));
  await page.getByText('Raw value').click();
  await page.getByRole('button', { name: 'Read now' }).click();
  await expect(page.getByText(/^hash, expires in /)).toBeVisible();
  await expect(page.getByText(/^39 bytes, masked · /)).toBeVisible();
  expect(await page.content()).not.toContain(owner.slice(0, 20));
});

test('the page of a lock keeps working while its history is loaded again and again on a slow machine', async ({ page, servers }) => {
  test.slow();
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, 'lock:busy', 'owner-0', 60_000);
  await open(page, console, lockPath('orders', 'lock:busy'));
  await expect(page.locator('#lease-chart-summary')).toBeVisible();
  // The history is loaded again after each change of the owner, and its charts change with the clock.
  const devTools = await page.context().newCDPSession(page);
  await devTools.send('Emulation.setCPUThrottlingRate', { rate: 6 });
  for (let owner = 1; owner <= 40; owner++) {
    await Promise.all(nodes.map((node) => node.redis.del('lock:busy')));
    const name = `owner-${String(owner).padStart(2, '0')}`;
    await acquireLock(nodes, 'lock:busy', name, 60_000);
    await expect(page.getByText(new RegExp(`${name}|Held by`)).first()).toBeVisible();
  }
  await devTools.send('Emulation.setCPUThrottlingRate', { rate: 1 });
  await expect(page.locator('#broken')).toBeHidden();
  await expect(page.locator('#lease-chart-summary')).toBeVisible();
});
