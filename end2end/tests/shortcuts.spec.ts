// The command palette, keyboard shortcuts and the help page.
import AxeBuilder from '@axe-core/playwright';
import { acquireLock, expect, lockPath, open, test, waitUntilLive } from './fixtures';
import { closeDialog } from './page_tour';

test('the palette finds pages, groups, locks and recently visited locks, and sets the theme', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, 'lock:invoice:1842', 'token', 600_000);
  await acquireLock(nodes, 'lock:payout', 'token', 600_000);
  await open(page, console, '/nodes');
  const palette = page.getByRole('dialog', { name: 'Command palette' });
  const field = palette.getByRole('combobox');
  const options = palette.getByRole('option');

  await page.keyboard.press('Control+k');
  await expect(field).toBeFocused();
  await expect(options.first()).toHaveAttribute('aria-selected', 'true');
  await page.keyboard.type('invoice');
  await expect(options.filter({ hasText: 'lock:invoice:1842' })).toContainText('orders · held · lock');
  await expect(palette.getByRole('status')).toHaveText('1 result');
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target)}`)).toEqual([]);
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(console.url + lockPath('orders', 'lock:invoice:1842'));
  await expect(palette).toBeHidden();

  await page.keyboard.press('Control+k');
  await expect(options.first()).toContainText('lock:invoice:1842');
  await expect(options.first()).toContainText('recent');
  await page.keyboard.type('dark');
  await expect(options).toHaveCount(1);
  await page.keyboard.press('Enter');
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');

  await page.keyboard.press('Control+k');
  await page.keyboard.type('orders');
  await expect(options.filter({ hasText: 'group' })).toBeVisible();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/group=orders|q=group/);

  await page.getByRole('button', { name: 'Find' }).click();
  await page.keyboard.type('acquire');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog', { name: /Acquire/ })).toBeVisible();
});

test('the palette opens a saved view and exports the current list', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, 'lock:a', 'token', 600_000);
  await acquireLock(nodes, 'lock:b', 'token', 600_000);
  await open(page, console, '/?q=lock%3Ab&sort=key');
  await page.getByText('Views', { exact: true }).click();
  await page.getByLabel('View name').fill('only b');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByLabel('View name').press('Escape');
  const options = page.getByRole('dialog', { name: 'Command palette' }).getByRole('option');

  await page.getByRole('button', { name: 'Find' }).click();
  await page.keyboard.type('export csv locks');
  await expect(options).toHaveCount(1);
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
  const text = Buffer.concat(await (await download.createReadStream()).toArray()).toString();
  expect(text).toContain('"lock:b"');
  expect(text, 'only matching locks are exported').not.toContain('"lock:a"');

  await open(page, console, '/nodes');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('only b');
  await expect(options.first()).toContainText('view');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`${console.url}/?q=lock%3Ab&sort=key`);
});

test('shortcuts open pages, and are ignored in text fields and while a dialog is open', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, 'lock:a', 'token', 600_000);
  await open(page, console);
  for (const [key, path] of [['n', '/nodes'], ['o', '/owners'], ['w', '/waits'], ['t', '/activity'], ['m', '/mine'], ['a', '/audit'], ['l', '/']]) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await expect(page).toHaveURL(console.url + path);
  }
  await page.keyboard.press('/');
  await expect(page.locator('#search')).toBeFocused();
  await page.keyboard.type('?gn');
  await expect(page.locator('#search')).toHaveValue('?gn');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  // The URL must be updated before the next navigation.
  await expect(page).toHaveURL(/q=/);
  await page.locator('#search').fill('');
  await expect(page).toHaveURL(`${console.url}/`);
  await page.getByRole('main').focus();

  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await expect(keys.getByRole('row', { name: /g n/ })).toContainText('Nodes');
  await page.keyboard.press('g');
  await page.keyboard.press('n');
  await expect(page).toHaveURL(/^[^?]*\/(\?.*)?$/);
  await closeDialog(page);

  // No single key changes a lock.
  await page.goto(console.url + lockPath('orders', 'lock:a'));
  await waitUntilLive(page);
  for (const key of [...'abcdefghijklmnopqrstuvwxyz0123456789', 'Delete', 'Backspace', 'x']) {
    await page.keyboard.press(key);
    await page.keyboard.press('Escape');
  }
  expect(await nodes[0].redis.exists('lock:a')).toBe(1);
  expect(await fetch(`${console.url}/api/v1/audit`).then((response) => response.text())).not.toContain('force');
});

test('the help page explains terms, verdicts and shortcuts', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await open(page, console);
  await page.getByRole('contentinfo').getByRole('link', { name: 'Help' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Help' })).toBeVisible();
  await waitUntilLive(page);
  await expect(page.getByRole('img', { name: 'Decision diagram of the four verdicts' })).toBeVisible();
  await expect(page.getByRole('region', { name: 'Limits of observation' })).toContainText('cannot prove');
  await expect(page.getByRole('region', { name: 'Keyboard shortcuts' }).getByRole('row', { name: /Ctrl K/ })).toBeVisible();
  // Verdicts, flags and dots are drawn as on the other pages.
  for (const [topic, drawn] of [['Verdicts', 'split'], ['Flags', 'no expiry'], ['Node dots', 'unreachable']]) {
    await expect(page.getByRole('region', { name: topic }).getByRole('term').filter({ hasText: drawn }).locator('svg, [class*=alarm]').first()).toBeVisible();
  }
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Nodes' }).click();
  await expect(page).toHaveURL(`${console.url}/nodes`);
  await page.goBack();
  await expect(page.getByRole('heading', { level: 1, name: 'Help' })).toBeVisible();
  await expect(page.getByRole('region', { name: 'Terms' })).toBeVisible();
});

test('verdicts, flags and dots link to their explanation', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, 'lock:a', 'token');
  await page.setViewportSize({ width: 1440, height: 900 });
  await open(page, console);
  await page.getByRole('link', { name: 'Nodes: What is this?' }).click();
  await expect(page).toHaveURL(`${console.url}/help#node-dots`);
  await open(page, console, lockPath('orders', 'lock:a'));
  await page.getByRole('main').getByRole('link', { name: 'no expiry', exact: true }).click();
  await expect(page).toHaveURL(`${console.url}/help#flag-no-expiry`);
  await expect(page.locator('#flag-no-expiry')).toBeInViewport();
  await expect(page.locator('#flag-no-expiry')).toContainText('The key has no TTL.');
});
