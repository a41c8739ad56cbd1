// Who did what: on the lock's own page, on the audit's page, and further back.
import AxeBuilder from '@axe-core/playwright';
import { expect, lockPath, open, take, test } from './fixtures';

test('what was done to a lock is told with its reason, and found again', async ({ page, lab }) => {
  const nodes = await lab.nodes(3);
  const console = await lab.console({ name: 'orders', nodes });
  await take(nodes, 'lock:<b>stuck</b>', 'a'.repeat(32));
  await open(page, console, lockPath('orders', 'lock:<b>stuck</b>'));
  const done = page.getByRole('region', { name: 'Done from here' });
  await expect(done).toContainText('Nothing was done to it through this console.');
  await page.getByRole('button', { name: 'Force release…' }).click();
  await page.getByLabel('Reason').fill('web-2 <i>is dead</i>');
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(page.getByRole('list', { name: 'What happened on each node' }).getByRole('listitem')).toHaveCount(3);
  await page.getByRole('button', { name: 'Close' }).click();
  await expect(done).toContainText('force release by local operator');
  await expect(done).toContainText('web-2 <i>is dead</i>');

  await done.getByRole('link', { name: 'All acts on this lock' }).click();
  await expect(page.getByRole('heading', { name: 'Who did what' })).toBeVisible();
  const row = page.getByRole('row').filter({ hasText: 'force release' });
  await expect(row).toContainText('lock:<b>stuck</b>');
  await expect(row).toContainText('web-2 <i>is dead</i>');
  await row.getByText('More').click();
  // What was there before, and what after.
  const changes = row.getByRole('table', { name: 'What happened on each node' });
  await expect(changes.getByRole('row')).toHaveText([/Node\s*Before\s*After/, ...['a', 'b', 'c'].map((node) => new RegExp(`${node}\\s*held by \\S+\\s*gone`))]);

  // The chain was gone through, as far as it went then.
  await expect(page.getByText(/^Each line carries the hash of the one before. This console verified lines 1 to \d+ at /)).toBeVisible();

  // The request that asked for it is a search.
  await row.getByText(/^request/).getByRole('link').click();
  await expect(page).toHaveURL(/\/audit\?q=/);
  await expect(page.getByRole('table').first().getByRole('row').filter({ hasText: 'force release' })).toHaveCount(1);
});

test('filters stand in the address, older acts are a page away, and all of it is a file', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes });
  const post = (key: string, ttl: number) =>
    fetch(`${console.url}/api/v1/groups/orders/locks/${key}/acquire`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ttl_ms: ttl }),
    });
  for (let n = 0; n < 104; n++) await post(`lock:n${n}`, 60_000);
  await post('lock:too-short', 1);
  await open(page, console, '/audit');
  const rows = page.getByRole('table').getByRole('row');
  await expect(rows).toHaveCount(101);
  await page.getByRole('link', { name: 'Older' }).click();
  await expect(rows).toHaveCount(6);
  await page.getByRole('link', { name: 'The latest' }).click();
  await page.getByRole('combobox', { name: 'End', exact: true }).selectOption('refused');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await expect(page).toHaveURL(/\/audit\?.*end=refused/);
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1)).toContainText('too-short');
  const file = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Export as a sheet (CSV)' }).click();
  expect((await file).suggestedFilename()).toBe('audit.csv');
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 } });

  test('the latest act is on the first screen, and the filters are one press away', async ({ page, lab }) => {
    const console = await lab.console({ name: 'orders', nodes: await lab.nodes(1) });
    for (const key of ['lock:a', 'lock:b']) {
      await fetch(`${console.url}/api/v1/groups/orders/locks/${key}/acquire`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ttl_ms: 60_000 }),
      });
    }
    await open(page, console, '/audit');
    const act = page.getByRole('cell', { name: 'Lock lock:b' });
    const seen = async () => (await act.boundingBox())!.y + (await act.boundingBox())!.height;
    expect(await seen()).toBeLessThan(600);
    const filters = page.getByRole('button', { name: 'Filters', exact: true });
    const end = page.getByRole('combobox', { name: 'End', exact: true });
    await expect(end).toBeHidden();
    await filters.press('Enter');
    await expect(filters).toHaveAttribute('aria-expanded', 'true');
    await end.selectOption('done');
    await page.getByRole('combobox', { name: 'Act', exact: true }).selectOption('acquire');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await expect(page).toHaveURL(/act=acquire&end=done/);
    // Folded again; that something is filtered stays to be seen.
    await expect(page.getByRole('button', { name: 'Filters (2)' })).toHaveAttribute('aria-expanded', 'false');
    expect(await seen()).toBeLessThan(600);
    // A search goes off without a look at what is folded.
    await page.getByRole('searchbox').fill('lock:a');
    await page.getByRole('searchbox').press('Enter');
    await expect(page).toHaveURL(/q=lock%3Aa&act=acquire&end=done/);
    await expect(page.getByRole('cell', { name: 'Lock lock:a' })).toBeVisible();
    await expect(act).toHaveCount(0);
  });
});

test.describe('in Chinese on a phone', () => {
  test.use({ locale: 'zh-CN', viewport: { width: 390, height: 844 } });

  test('acts are cards in Chinese with what was before and after, and nothing overflows', async ({ page, lab }) => {
    const nodes = await lab.nodes(3);
    const console = await lab.console({ name: 'orders', nodes });
    await fetch(`${console.url}/api/v1/groups/orders/locks/lock:${'n'.repeat(115)}/acquire`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ttl_ms: 60_000 }),
    });
    await page.goto(`${console.url}/audit`);
    await expect(page.getByRole('heading', { name: '谁做了什么' })).toBeVisible();
    await expect(page.getByRole('cell', { name: '操作 获取', exact: true })).toBeVisible();
    await page.getByText('更多').click();
    const changes = page.getByRole('table', { name: '每个节点上发生了什么' });
    await expect(changes.getByRole('row').nth(1)).toContainText('不在');
    await expect(changes.getByRole('row').nth(1)).toContainText('持有');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`)).toEqual([]);
  });
});
