// The audit log: on the page of a lock, on its own page, and its older entries.
import AxeBuilder from '@axe-core/playwright';
import { acquireLock, expect, lockPath, open, test } from './fixtures';

test('operations on a lock are listed with their reason and can be searched for', async ({ page, servers }) => {
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, 'lock:<b>stuck</b>', 'a'.repeat(32));
  await open(page, console, lockPath('orders', 'lock:<b>stuck</b>'));
  const operations = page.getByRole('region', { name: 'Operations' });
  await expect(operations).toContainText('No operations from this console yet.');
  await page.getByRole('button', { name: 'Force release…' }).click();
  await page.getByLabel('Reason').fill('web-2 <i>is dead</i>');
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(page.getByRole('list', { name: 'Result per node' }).getByRole('listitem')).toHaveCount(3);
  await page.getByRole('button', { name: 'Close' }).click();
  await expect(operations).toContainText('force release by local operator');
  await expect(operations).toContainText('web-2 <i>is dead</i>');

  await operations.getByRole('link', { name: 'All operations on this lock' }).click();
  await expect(page.getByRole('heading', { name: 'Audit log' })).toBeVisible();
  const row = page.getByRole('row').filter({ hasText: 'force release' });
  await expect(row).toContainText('lock:<b>stuck</b>');
  await expect(row).toContainText('web-2 <i>is dead</i>');
  await row.getByText('Details').click();
  const results = row.getByRole('table', { name: 'Result per node' });
  await expect(results.getByRole('row')).toHaveText([/Node\s*Before\s*After/, ...['a', 'b', 'c'].map((node) => new RegExp(`${node}\\s*held by \\S+\\s*absent`))]);

  // The hash chain has been verified up to its newest entry at that time.
  await expect(page.getByText(/^Each entry contains the hash of the previous entry. Hash chain verified at .*: entries 1–\d+ /)).toBeVisible();

  // The request ID links to a search for it.
  await row.getByText(/^request/).getByRole('link').click();
  await expect(page).toHaveURL(/\/audit\?q=/);
  await expect(page.getByRole('table').first().getByRole('row').filter({ hasText: 'force release' })).toHaveCount(1);
});

test('filters are part of the URL, older entries are on further pages, and the log can be exported', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  const acquire = (key: string, ttl: number) =>
    fetch(`${console.url}/api/v1/groups/orders/locks/${key}/acquire`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ttl_ms: ttl }),
    });
  for (let n = 0; n < 104; n++) await acquire(`lock:n${n}`, 60_000);
  await acquire('lock:too-short', 1);
  await open(page, console, '/audit');
  const rows = page.getByRole('table').getByRole('row');
  await expect(rows).toHaveCount(101);
  await page.getByRole('link', { name: 'Older' }).click();
  await expect(rows).toHaveCount(6);
  await page.getByRole('link', { name: 'Newest' }).click();
  await page.getByRole('combobox', { name: 'Result', exact: true }).selectOption('refused');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await expect(page).toHaveURL(/\/audit\?.*result=refused/);
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1)).toContainText('too-short');
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Export CSV' }).click();
  expect((await download).suggestedFilename()).toBe('audit.csv');
});

test('chips and bars narrow the list', async ({ page, servers }) => {
  const console = await servers.startConsole({ name: 'orders', nodes: await servers.startNodes(1) });
  for (const [key, ttl] of [['lock:a', 60_000], ['lock:b', 60_000], ['lock:b', 1]] as const) {
    await fetch(`${console.url}/api/v1/groups/orders/locks/${key}/acquire`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ttl_ms: ttl }),
    });
  }
  await open(page, console, '/audit');
  const rows = page.getByRole('table', { name: 'Operations, newest first' }).getByRole('row');
  await expect(rows).toHaveCount(4);
  const chip = (list: string, name: RegExp) => page.getByRole('list', { name: list, exact: true }).getByRole('link', { name });
  await chip('Lock', /lock:b/).click();
  await expect(page).toHaveURL(/key_encoded=/);
  await expect(rows).toHaveCount(3);
  await chip('Result', /refused/).click();
  await expect(rows).toHaveCount(2);
  await expect(chip('Result', /refused/)).toHaveAttribute('aria-current', 'true');
  await chip('Result', /refused/).click();
  await chip('Lock', /lock:b/).click();
  await expect(rows).toHaveCount(4);

  const chart = page.getByRole('group', { name: 'Entries over time' });
  await expect(page.getByText('3 entries. Select a bar to narrow the range.')).toBeVisible();
  const bar = chart.getByRole('link').last();
  await bar.focus();
  await expect(chart).toContainText(/UTC: \d/);
  await bar.press('Enter');
  await expect(page).toHaveURL(/from=.*until=/);
  await expect(rows.nth(1)).toContainText('lock:b');
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 } });

  test('the newest entry is visible without scrolling, and the filters open in a sheet', async ({ page, servers }) => {
    const console = await servers.startConsole({ name: 'orders', nodes: await servers.startNodes(1) });
    for (const key of ['lock:a', 'lock:b']) {
      await fetch(`${console.url}/api/v1/groups/orders/locks/${key}/acquire`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ttl_ms: 60_000 }),
      });
    }
    await open(page, console, '/audit');
    const entry = page.getByRole('cell', { name: 'Lock lock:b' });
    const bottom = async () => (await entry.boundingBox())!.y + (await entry.boundingBox())!.height;
    expect(await bottom()).toBeLessThan(600);
    const filters = page.getByRole('button', { name: 'Filters', exact: true });
    const result = page.getByRole('combobox', { name: 'Result', exact: true });
    await expect(result).toBeHidden();
    await filters.press('Enter');
    await expect(filters).toHaveAttribute('aria-expanded', 'true');
    await result.press('Escape');
    await expect(result).toBeHidden();
    await expect(filters).toBeFocused();
    await filters.press('Enter');
    await result.selectOption('done');
    await page.getByRole('combobox', { name: 'Operation', exact: true }).selectOption('acquire');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await expect(page).toHaveURL(/action=acquire&result=done/);
    // The sheet is closed; the number of filters remains visible.
    await expect(page.getByRole('button', { name: 'Filters (2)' })).toHaveAttribute('aria-expanded', 'false');
    expect(await bottom()).toBeLessThan(600);
    // A search can be submitted while the filters are folded.
    await page.getByRole('searchbox').fill('lock:a');
    await page.getByRole('searchbox').press('Enter');
    await expect(page).toHaveURL(/q=lock%3Aa&action=acquire&result=done/);
    await expect(page.getByRole('cell', { name: 'Lock lock:a' })).toBeVisible();
    await expect(entry).toHaveCount(0);
  });
});

test.describe('in Chinese on a phone', () => {
  test.use({ locale: 'zh-CN', viewport: { width: 390, height: 844 } });

  test('entries are cards in Chinese with the state before and after, and nothing overflows', async ({ page, servers }) => {
    const nodes = await servers.startNodes(3);
    const console = await servers.startConsole({ name: 'orders', nodes });
    await fetch(`${console.url}/api/v1/groups/orders/locks/lock:${'n'.repeat(115)}/acquire`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ttl_ms: 60_000 }),
    });
    await page.goto(`${console.url}/audit`);
    await expect(page.getByRole('heading', { name: '审计日志' })).toBeVisible();
    await expect(page.getByRole('cell', { name: '操作 获取', exact: true })).toBeVisible();
    await page.getByText('详情').click();
    const results = page.getByRole('table', { name: '各节点结果' });
    // The acquire returned once a majority had answered; the third node may have answered later.
    await expect(results.getByRole('row').filter({ hasText: '无此键' }).first()).toContainText('持有');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`)).toEqual([]);
  });
});
