// Who holds what: what a host still holds after it died, by host and by process, searched for, put in order, unfolded.
import AxeBuilder from '@axe-core/playwright';
import { expect, type Node, open, test } from './fixtures';

/** A lock of ShedLock's, whose value names a host. */
async function held(node: Node, key: string, host: string, hours = 1) {
  const since = new Date(Date.now() - hours * 3_600_000).toISOString();
  await node.redis.set(key, `ADDED:${since}@${host}:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05`, 'PX', 600_000);
}

test('a dead host shows what it still holds', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes: [node] });
  await open(page, console);
  await page.getByRole('link', { name: 'Owners' }).click();
  await expect(page.getByRole('heading', { name: 'No owner with a name observed' })).toBeVisible();

  await held(node, 'lock:prod:a', 'web-2');
  await held(node, 'lock:prod:b', 'web-2');
  await held(node, 'lock:prod:c', 'web-1');
  const rows = page.getByRole('table', { name: 'Owners' });
  await expect(rows).toContainText('web-2', { timeout: 30_000 });
  await expect(rows).toContainText('2 locks');
  await expect(rows.getByRole('link', { name: 'lock:prod:c' })).toBeVisible();
  await expect(page.getByText(/^What owners say of themselves.*Added up at .* ago\.$/)).toBeVisible();

  await page.getByRole('link', { name: 'Process' }).click();
  await expect(page).toHaveURL(/by=label/);
  await expect(page.getByRole('link', { name: 'Process' })).toHaveAttribute('aria-current', 'true');

  await rows.getByRole('link', { name: 'web-2', exact: true }).click();
  await expect(page).toHaveURL(/q=web-2/);
  await expect(page.getByRole('table')).toContainText('lock:prod:a');
  await expect(page.getByRole('table')).not.toContainText('lock:prod:c');
});

test('"what does web-2 still hold?" is a search, answered with its locks unfolded', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes: [node] });
  for (let n = 0; n < 6; n++) await held(node, `lock:${n}`, 'web-2');
  await held(node, 'lock:other', 'web-1', 5);
  await open(page, console, '/owners');
  const rows = page.getByRole('table', { name: 'Owners' });
  await expect(rows).toContainText('6 locks', { timeout: 30_000 });

  await rows.getByRole('link', { name: 'Locks', exact: true }).click();
  await expect(page).toHaveURL(/sort=locks/);
  await expect(rows.getByRole('columnheader', { name: 'Locks' })).toHaveAttribute('aria-sort', 'descending');
  await expect(rows.getByRole('row').nth(1)).toContainText('web-2');

  await page.getByRole('searchbox').fill('WEB-2');
  await expect(page).toHaveURL(/q=WEB-2/);
  await expect(page.getByText('web-2 still holds 6 locks.')).toBeVisible();
  await expect(rows).not.toContainText('web-1');
  await expect(rows.getByRole('link', { name: 'lock:5' })).toBeVisible();
  await page.getByRole('searchbox').fill('nobody');
  await expect(page.getByRole('heading', { name: 'Nobody found who is called “nobody”' })).toBeVisible();
  await page.getByRole('link', { name: 'Show all' }).click();
  await expect(rows).toContainText('web-1');
});

test('all locks of a dead host are released from there, after a look at what would happen, and of no other host', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes: [node] });
  await held(node, 'lock:a', 'web-2');
  await held(node, 'lock:b', 'web-2');
  await held(node, 'lock:c', 'web-21');
  await open(page, console, '/owners');
  const rows = page.getByRole('table', { name: 'Owners' });
  await rows.getByRole('link', { name: 'Release all 2… of web-2', exact: true }).click();

  const bar = page.getByRole('region', { name: 'Selected locks' });
  await expect(bar.getByRole('status')).toHaveText('2 locks selected');
  await expect(page.getByRole('checkbox', { name: 'Select lock:a', exact: true })).toBeChecked();
  await expect(page.getByRole('checkbox', { name: 'Select lock:c', exact: true })).toHaveCount(0);
  expect(await node.redis.exists('lock:a', 'lock:b', 'lock:c')).toBe(3);
  // Loading the page again selects nothing by itself.
  await expect(page).toHaveURL(`${console.url}/?q=host%3Aweb-2`);

  await bar.getByRole('button', { name: 'Release…' }).click();
  await expect(page.getByRole('dialog', { name: 'Release 2 locks?' })).toBeVisible();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('2 would be released.');
  await dialog.getByLabel('Reason').fill('web-2 died');
  await dialog.getByRole('button', { name: 'Release 2', exact: true }).click();
  await expect(dialog.getByRole('status').first()).toContainText('2 released, 0 left alone, 0 not tried.');
  expect(await node.redis.exists('lock:a', 'lock:b')).toBe(0);
  expect(await node.redis.exists('lock:c')).toBe(1);
});

test('who may not release is told so instead', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes: [node], readOnly: true });
  await held(node, 'lock:a', 'web-2');
  await open(page, console, '/owners');
  await page.getByRole('link', { name: 'Release it… of web-2', exact: true }).click();
  const bar = page.getByRole('region', { name: 'Selected locks' });
  await expect(bar.getByRole('status')).toHaveText('None of these locks can be released together from here');
  await bar.getByRole('button', { name: 'Clear' }).click();
  await expect(bar).toBeHidden();
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 } });

  test('what releases all of them stands below the locks, not beside one', async ({ page, lab }) => {
    const [node] = await lab.nodes(1);
    const console = await lab.console({ name: 'orders', nodes: [node] });
    await held(node, 'lock:a', 'web-2');
    await held(node, 'lock:b', 'web-2');
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

  test('owners are cards with Chinese words, and nothing overflows', async ({ page, lab }) => {
    const [node] = await lab.nodes(1);
    await held(node, 'lock:prod:a', `a-host-with-a-very-long-name-${'x'.repeat(24)}`);
    const console = await lab.console({ name: 'orders', nodes: [node] });
    await page.goto(`${console.url}/owners?q=a-host`);
    await expect(page.getByText(/仍持有 1 把锁。$/)).toBeVisible({ timeout: 30_000 });
    await expect(page.getByRole('cell', { name: '1 把锁' })).toBeVisible();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`)).toEqual([]);
  });
});
