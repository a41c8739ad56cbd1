// The page of a lock: when it is lost, how its lease ran, who held it, and the same for whoever cannot see the pictures.
import { mispunctuatedIn } from './everywhere';
import { expect, lockPath, open, take, test } from './fixtures';

test('the verdict counts down to the loss of the quorum, and the charts are told in words and as tables', async ({ page, lab }) => {
  const nodes = await lab.nodes(3);
  const console = await lab.console({ name: 'orders', nodes });
  await take(nodes, 'lock:a', 'a'.repeat(32), 60_000);
  await open(page, console, lockPath('orders', 'lock:a'));
  await expect(page.getByText(/^Held by .* on 3 of 3 nodes; 2 make a quorum\. Quorum is lost in 00:\d\d\./)).toBeVisible();

  const history = page.getByRole('region', { name: 'History' });
  const lease = history.getByRole('img', { name: 'Lease over time' });
  await expect(lease).toHaveAccessibleDescription(/0 renewals in this picture; 00:\d\d left\./);
  for (const node of nodes) await node.redis.pexpire('lock:a', 90_000);
  await expect(lease).toHaveAccessibleDescription(/1 renewal in this picture; 01:\d\d left\./);
  await expect(history).toContainText('quorum is lost here');
  await history.getByText('As a table').first().click();
  await expect(history.getByRole('table').first().getByRole('row')).toHaveCount(3);

  // Another owner has it, and then it is ended by force.
  await take(nodes, 'lock:a', 'b'.repeat(32), 60_000);
  const owners = history.getByRole('img', { name: 'Who held it' });
  await expect(owners).toHaveAccessibleDescription(/2 holds by 2 owners, 0 ended by force\./);
  await page.getByRole('button', { name: 'Force release…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Release lock:a on 3 nodes of orders (development)?' });
  await dialog.getByLabel('Reason').fill('a test');
  await dialog.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(owners).toHaveAccessibleDescription(/2 holds by 2 owners, 1 ended by force\./);
});

test('what was renewed before the page was opened is drawn, too', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes });
  await take(nodes, 'lock:a', 'a'.repeat(32), 60_000);
  const renewals = async () => (await (await fetch(`${console.url}/api/v1/groups/orders/locks/lock%3Aa`)).json()).renewals.count;
  await expect.poll(renewals).toBe(0);
  await nodes[0].redis.pexpire('lock:a', 80_000);
  await expect.poll(renewals).toBe(1);
  await nodes[0].redis.pexpire('lock:a', 100_000);
  await expect.poll(renewals).toBe(2);
  await open(page, console, lockPath('orders', 'lock:a'));
  await expect(page.getByRole('img', { name: 'Lease over time' })).toHaveAccessibleDescription(/2 renewals in this picture/);
  await expect(page.getByRole('region', { name: 'What this library does' })).toContainText('Renews only if its caller does.');
  await expect(page.getByRole('region', { name: 'Who waits for it' })).toContainText('Nobody is seen to wait.');
});

test('each act can be copied for a script, without a token', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes, environment: 'production' });
  await take(nodes, "lock:it's", 'secret-token-of-somebody', 60_000);
  await open(page, console, lockPath('orders', "lock:it's"));
  await page.getByText('Do the same from a script').click();
  await expect(page.getByText('lockkeeper force-release --fingerprint')).toContainText(`--confirm 'lock:it'\\''s' -- 'orders' 'lock:it'\\''s'`);
  await expect(page.getByText(`curl -X POST ${console.url}`).first()).toContainText('/force-release');
  for (const verb of ['show', 'acquire', 'extend', 'release']) await expect(page.getByText(`lockkeeper ${verb} `)).toBeVisible();
  expect(await page.content()).not.toContain('secret-token-of-somebody');
});

test('in Chinese the page and its dialog are Chinese', async ({ browser, lab }) => {
  const nodes = await lab.nodes(3);
  const console = await lab.console({ name: 'orders', nodes });
  await take(nodes, 'lock:a', 'a'.repeat(32), 60_000);
  const renewals = async () => (await (await fetch(`${console.url}/api/v1/groups/orders/locks/lock%3Aa`)).json()).renewals.count;
  await expect.poll(renewals).toBe(0);
  for (let n = 1; n <= 3; n++) {
    // To one moment, however slowly one node after the other is told.
    const until = Date.now() + 60_000 + n * 10_000;
    for (const node of nodes) await node.redis.pexpireat('lock:a', until);
    await expect.poll(renewals).toBe(n);
  }
  const context = await browser.newContext({ locale: 'zh-CN' });
  const page = await context.newPage();
  await page.goto(console.url + lockPath('orders', 'lock:a'));
  await expect(page.getByText(/后失去法定多数。/)).toBeVisible();
  await expect(page.getByRole('img', { name: '租约随时间的变化' })).toBeVisible();
  await expect(page.getByRole('list', { name: '持有记录，最近的在前' })).toContainText('3 次续租');
  expect(await mispunctuatedIn(page)).toEqual([]);
  const release = page.getByRole('button', { name: '强制释放…' });
  const dialog = page.getByRole('dialog');
  // The page may not be awake yet.
  await expect(async () => {
    await release.click();
    await expect(dialog).toBeVisible({ timeout: 1_000 });
  }).toPass();
  await expect(dialog).toContainText('这不会停止那个认为自己持有该锁的进程。');
  await dialog.getByLabel('原因').fill('测试');
  await dialog.getByRole('button', { name: '释放', exact: true }).click();
  await expect(dialog).toContainText('已在 3 个节点中的 3 个上释放');
  expect(await mispunctuatedIn(page)).toEqual([]);
  await page.goto(`${console.url}/audit`);
  await page.getByText('更多', { exact: true }).first().click();
  expect(await mispunctuatedIn(page)).toEqual([]);
  await context.close();
});

test('on a phone the answers of all nodes are read without a step aside', async ({ page, lab }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const nodes = await lab.nodes(3);
  const console = await lab.console({ name: 'orders', nodes });
  await take(nodes.slice(0, 2), 'lock:a', 'a'.repeat(32), 600_000);
  await open(page, console, lockPath('orders', 'lock:a'));
  const matrix = page.getByRole('region', { name: 'What each node answers' });
  const answers = matrix.getByRole('row');
  await expect(answers.filter({ hasText: 'holds' })).toHaveCount(2);
  await expect(answers.filter({ hasText: 'absent' })).toHaveCount(1);
  expect(await matrix.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  for (const title of ['Lease', 'Clock', 'Restarted', 'Ping']) {
    const { x, width } = (await matrix.locator(`td[data-label="${title}"]`).first().boundingBox())!;
    expect(x + width, title).toBeLessThanOrEqual(390);
  }
});

test('the key can be read as the nodes have it, with its token masked', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes, keys: ['*'] });
  const owner = '8743c9c0-0795-4907-87fd-6c719a6b4586:87';
  await nodes[0].redis.hset('redisson:a', owner, 2);
  await nodes[0].redis.pexpire('redisson:a', 600_000);
  await open(page, console, lockPath('orders', 'redisson:a'));
  await page.getByText('As the nodes have it').click();
  await page.getByRole('button', { name: 'Read it now' }).click();
  await expect(page.getByText(/^hash, expires in /)).toBeVisible();
  await expect(page.getByText(/^39 bytes, masked · /)).toBeVisible();
  expect(await page.content()).not.toContain(owner.slice(0, 20));
});
