// The page of owners: the locks of each host or process, with search, sort order and bulk release.
import AxeBuilder from '@axe-core/playwright';
import { expect, open, type RedisNode, test } from './fixtures';

/** Writes a ShedLock lock, whose value names a host. */
async function acquireAs(host: string, node: RedisNode, key: string, hours = 1) {
  const lockedAt = new Date(Date.now() - hours * 3_600_000).toISOString();
  await node.redis.set(key, `ADDED:${lockedAt}@${host}:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05`, 'PX', 600_000);
}

test('locks are grouped by host and by process', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes: [node] });
  await open(page, console);
  await page.getByRole('link', { name: 'Owners' }).click();
  await expect(page.getByRole('heading', { name: 'No labelled owners observed' })).toBeVisible();

  await acquireAs('web-2', node, 'lock:prod:a');
  await acquireAs('web-2', node, 'lock:prod:b');
  await acquireAs('web-1', node, 'lock:prod:c');
  const rows = page.getByRole('table', { name: 'Owners' });
  await expect(rows).toContainText('web-2', { timeout: 30_000 });
  await expect(rows).toContainText('2 locks');
  await expect(rows.getByRole('link', { name: 'lock:prod:c' })).toBeVisible();
  await expect(page.getByText(/^Labels are reported by client libraries.*As of .* ago\.$/)).toBeVisible();

  await page.getByRole('link', { name: 'Process' }).click();
  await expect(page).toHaveURL(/group_by=label/);
  await expect(page.getByRole('link', { name: 'Process' })).toHaveAttribute('aria-current', 'true');

  await rows.getByRole('link', { name: 'web-2', exact: true }).click();
  await expect(page).toHaveURL(`${console.url}/owners/web-2`);
  const held = page.getByRole('table', { name: 'Locks held now' });
  await expect(held).toContainText('lock:prod:a');
  await expect(held).not.toContainText('lock:prod:c');
});

test('a host is found between its holds, and all of its locks can be released', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes: [node] });
  await acquireAs('burst-1', node, 'lock:prod:a');
  await open(page, console, '/owners/burst-1');
  const held = page.getByRole('table', { name: 'Locks held now' });
  await expect(held).toContainText('lock:prod:a', { timeout: 30_000 });
  await page.getByRole('link', { name: 'Release all of it…' }).click();
  const bar = page.getByRole('region', { name: 'Selected locks' });
  await expect(bar.getByRole('status')).toHaveText('1 lock selected');

  await node.redis.del('lock:prod:a');
  await open(page, console, '/owners/burst-1');
  await expect(page.getByText('No lock of this owner is observed.')).toBeVisible({ timeout: 30_000 });
  await expect(page.getByRole('list', { name: /^Locks, those/ }).getByRole('link', { name: 'lock:prod:a' })).toBeVisible({ timeout: 30_000 });
  await page.getByRole('link', { name: '24 h' }).click();
  await expect(page).toHaveURL(`${console.url}/owners/burst-1?range=24h`);
});

test('a search for a host unfolds its locks', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes: [node] });
  for (let n = 0; n < 6; n++) await acquireAs('web-2', node, `lock:${n}`);
  await acquireAs('web-1', node, 'lock:other', 5);
  await open(page, console, '/owners');
  const rows = page.getByRole('table', { name: 'Owners' });
  await expect(rows).toContainText('6 locks', { timeout: 30_000 });

  await rows.getByRole('link', { name: 'Locks', exact: true }).click();
  await expect(page).toHaveURL(/sort=locks/);
  await expect(rows.getByRole('columnheader', { name: 'Locks', exact: true })).toHaveAttribute('aria-sort', 'descending');
  await expect(rows.getByRole('row').nth(1)).toContainText('web-2');

  await page.getByRole('searchbox').fill('WEB-2');
  await expect(page).toHaveURL(/q=WEB-2/);
  await expect(page.getByText('web-2 holds 6 locks.')).toBeVisible();
  await expect(rows).not.toContainText('web-1');
  await expect(rows.getByRole('link', { name: 'lock:5' })).toBeVisible();
  await page.getByRole('searchbox').fill('no-such-host');
  await expect(page.getByRole('heading', { name: 'No owner matches “no-such-host”' })).toBeVisible();
  await page.getByRole('link', { name: 'Show all' }).click();
  await expect(rows).toContainText('web-1');
});

test('all locks of a host, and of no other host, can be released in bulk after a preview', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes: [node] });
  await acquireAs('web-2', node, 'lock:a');
  await acquireAs('web-2', node, 'lock:b');
  await acquireAs('web-21', node, 'lock:c');
  await open(page, console, '/owners');
  const rows = page.getByRole('table', { name: 'Owners' });
  await rows.getByRole('link', { name: 'Release all 2… of web-2', exact: true }).click();

  const bar = page.getByRole('region', { name: 'Selected locks' });
  await expect(bar.getByRole('status')).toHaveText('2 locks selected');
  await expect(page.getByRole('checkbox', { name: 'Select lock:a', exact: true })).toBeChecked();
  await expect(page.getByRole('checkbox', { name: 'Select lock:c', exact: true })).toHaveCount(0);
  expect(await node.redis.exists('lock:a', 'lock:b', 'lock:c')).toBe(3);
  // The URL does not contain the selection, so that a reload selects nothing.
  await expect(page).toHaveURL(`${console.url}/?q=host%3Aweb-2`);

  await bar.getByRole('button', { name: 'Release…' }).click();
  await expect(page.getByRole('dialog', { name: 'Release 2 locks?' })).toBeVisible();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('2 would be released.');
  await dialog.getByLabel('Reason').fill('web-2 died');
  await dialog.getByRole('button', { name: 'Release 2', exact: true }).click();
  await expect(dialog.getByRole('status').first()).toContainText('2 released, 0 skipped, 0 not tried.');
  expect(await node.redis.exists('lock:a', 'lock:b')).toBe(0);
  expect(await node.redis.exists('lock:c')).toBe(1);
});

test('locks that cannot be released in bulk are not selected', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes: [node], readOnly: true });
  await acquireAs('web-2', node, 'lock:a');
  await open(page, console, '/owners');
  await page.getByRole('link', { name: 'Release… of web-2', exact: true }).click();
  const bar = page.getByRole('region', { name: 'Selected locks' });
  await expect(bar.getByRole('status')).toHaveText('None of these locks can be released in bulk');
  await bar.getByRole('button', { name: 'Clear' }).click();
  await expect(bar).toBeHidden();
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 } });

  test('the link to release all locks of an owner is below its locks', async ({ page, servers }) => {
    const [node] = await servers.startNodes(1);
    const console = await servers.startConsole({ name: 'orders', nodes: [node] });
    await acquireAs('web-2', node, 'lock:a');
    await acquireAs('web-2', node, 'lock:b');
    await open(page, console, '/owners');
    const all = (await page.getByRole('link', { name: 'Release all 2… of web-2', exact: true }).boundingBox())!;
    for (const name of ['lock:a', 'lock:b']) {
      const lock = (await page.getByRole('link', { name, exact: true }).boundingBox())!;
      expect(lock.x, name).toBe(all.x);
      expect(lock.y + lock.height, name).toBeLessThanOrEqual(all.y);
    }
  });
});

test.describe('in Chinese on a phone', () => {
  test.use({ locale: 'zh-CN', viewport: { width: 390, height: 844 } });

  test('owners are cards in Chinese, and nothing overflows', async ({ page, servers }) => {
    const [node] = await servers.startNodes(1);
    await acquireAs(`a-host-with-a-very-long-name-${'x'.repeat(24)}`, node, 'lock:prod:a');
    const console = await servers.startConsole({ name: 'orders', nodes: [node] });
    await page.goto(`${console.url}/owners?q=a-host`);
    await expect(page.getByText(/持有 1 把锁。$/)).toBeVisible({ timeout: 30_000 });
    await expect(page.getByRole('cell', { name: '1 把锁' })).toBeVisible();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`)).toEqual([]);
  });
});
