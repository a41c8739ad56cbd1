// Search: the query language and its completion, saved views, export, and the density of rows.
import { readFile } from 'node:fs/promises';
import { acquireLock, expect, open, row, test, waitUntilLive } from './fixtures';

test('the search box completes terms and keeps the query in the URL', async ({ page, servers }) => {
  const nodes = await servers.startNodes(3);
  const [single] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes }, { name: 'jobs', nodes: [single] });
  await acquireLock(nodes, 'lock:invoice:1', 'a'.repeat(32), 600_000);
  await acquireLock(nodes.slice(0, 1), 'lock:invoice:2', 'b'.repeat(32), 600_000);
  await acquireLock([single], 'lock:nightly', 'c'.repeat(32), 600_000);
  await open(page, console);
  await expect(row(page, 'lock:nightly')).toBeVisible();

  const searchBox = page.getByRole('combobox', { name: 'Search locks' });
  const option = (name: string) => page.getByRole('option', { name, exact: true });
  await searchBox.pressSequentially('ver');
  await expect(option('verdict:')).toBeVisible();
  await searchBox.press('ArrowDown');
  await expect(option('verdict:')).toHaveAttribute('aria-selected', 'true');
  await searchBox.press('Enter');
  await expect(searchBox).toHaveValue('verdict:');
  // The values are suggested; an error appears only without suggestions.
  const error = page.getByRole('status').filter({ hasText: '"verdict" has no value' });
  await expect(option('verdict:partial')).toBeVisible();
  await expect(error).toHaveCount(0);
  await searchBox.press('Escape');
  await expect(error).toBeVisible();
  await expect(row(page, 'lock:nightly')).toBeVisible(); // an incomplete term does not filter
  await searchBox.pressSequentially('par');
  await option('verdict:partial').click();
  await expect(searchBox).toHaveValue('verdict:partial ');
  await expect(row(page, 'lock:invoice:2')).toBeVisible();
  await expect(row(page, 'lock:nightly')).toHaveCount(0);
  await expect(page).toHaveURL(/q=verdict%3Apartial/);

  await searchBox.fill('verdict:fre');
  await expect(page.getByText('"fre" is not a valid verdict; use one of held, partial, split, unknown')).toBeVisible();
  await expect(searchBox).toHaveAttribute('aria-invalid', 'true');
  await expect(row(page, 'lock:invoice:2')).toBeVisible();

  await searchBox.fill('group:orders lock:*:1');
  await expect(row(page, 'lock:invoice:1')).toBeVisible();
  await expect(row(page, 'lock:invoice:2')).toHaveCount(0);
  await page.reload();
  await expect(row(page, 'lock:invoice:1')).toBeVisible();
  await expect(page.getByRole('combobox', { name: 'Search locks' })).toHaveValue('group:orders lock:*:1');
  await page.getByRole('link', { name: /^lock:\*:1/ }).click();
  await expect(row(page, 'lock:invoice:2')).toBeVisible();
  await expect(page).toHaveURL(/q=group%3Aorders$/);
  // The menu shows the group of the search, and replaces it.
  const menu = page.getByRole('combobox', { name: 'Group', exact: true });
  await expect(menu).toHaveValue('orders');
  await expect(page.getByRole('link', { name: /^group:orders/ })).toHaveCount(0);
  await menu.selectOption('jobs');
  await expect(row(page, 'lock:nightly')).toBeVisible();
  await expect(page).toHaveURL(/\/\?group=jobs$/);
});

test('a search that is typed and a group that is chosen before the scripts have loaded are applied', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const [single] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes }, { name: 'jobs', nodes: [single] });
  await acquireLock(nodes, 'lock:invoice:1', 'a'.repeat(32), 600_000);
  await acquireLock(nodes, 'lock:invoice:2', 'b'.repeat(32), 600_000);
  await acquireLock([single], 'lock:nightly', 'c'.repeat(32), 600_000);
  await open(page, console);
  await expect(row(page, 'lock:nightly')).toBeVisible();
  await expect(row(page, 'lock:invoice:2')).toBeVisible();

  const searchBox = page.getByRole('combobox', { name: 'Search locks' });
  const menu = page.getByRole('combobox', { name: 'Group', exact: true });
  const reloadWithoutScripts = async () => {
    let load = () => {};
    const loaded = new Promise<void>((resolve) => (load = resolve));
    await page.route('**/*.wasm', async (route) => {
      await loaded;
      await route.continue();
    });
    await page.reload({ waitUntil: 'commit' });
    return async () => {
      load();
      await waitUntilLive(page);
      await page.unroute('**/*.wasm');
    };
  };

  let loadScripts = await reloadWithoutScripts();
  await searchBox.fill('invoice:1');
  await loadScripts();
  await expect(row(page, 'lock:invoice:2')).toHaveCount(0);
  await expect(searchBox).toHaveValue('invoice:1');
  await expect(page).toHaveURL(/\/\?q=invoice%3A1$/);
  await searchBox.fill('');
  await expect(row(page, 'lock:nightly')).toBeVisible();

  loadScripts = await reloadWithoutScripts();
  await menu.selectOption('jobs');
  await loadScripts();
  await expect(row(page, 'lock:invoice:1')).toHaveCount(0);
  await expect(menu).toHaveValue('jobs');
  await expect(page).toHaveURL(/\/\?group=jobs$/);
  // The menu follows the address, also after a choice.
  await searchBox.fill('nothing');
  await page.getByRole('link', { name: 'Clear filters' }).click();
  await expect(row(page, 'lock:invoice:1')).toBeVisible();
  await expect(menu).toHaveValue('');
});

test('Enter opens the lock that is searched for, even if it was pressed before the list has followed', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  for (const name of ['lock:invoice', 'lock:nightly', 'lock:report']) await acquireLock(nodes, name, 'a'.repeat(32), 600_000);
  await open(page, console);
  await expect(row(page, 'lock:nightly')).toBeVisible();
  await expect(row(page, 'lock:report')).toBeVisible();

  let send = () => {};
  const sent = new Promise<void>((resolve) => (send = resolve));
  await page.route(/\/events\?.*q=nightly/, async (route) => {
    await sent;
    await route.continue();
  });
  const searchBox = page.getByRole('combobox', { name: 'Search locks' });
  const asked = page.waitForRequest(/\/events\?.*q=nightly/);
  await searchBox.fill('nightly');
  await searchBox.press('Enter');
  await asked;
  await expect(searchBox).toBeFocused();
  await expect(page).toHaveURL(/\/\?q=nightly$/);
  send();
  await expect(page.getByRole('heading', { level: 1, name: 'lock:nightly' })).toBeVisible();
});

test('a filter that matches nothing keeps the totals and the number of locks that need attention', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:a', 'token-a', 600_000);
  await acquireLock(nodes, 'lock:b', 'token-b');
  await open(page, console, '/?q=nothing');
  await expect(page.getByText('No matching locks')).toBeVisible();
  await expect(page.getByText('0 of 2 locks')).toBeVisible();
  const filters = page.getByRole('navigation', { name: 'Filters' });
  await expect(filters).toContainText('1 lock needs attention');
  await expect(page).toHaveTitle(/^\(1\) /);
  // The number is a link to these locks, whatever the list is filtered by.
  await filters.getByRole('link', { name: '1 lock needs attention' }).click();
  await expect(page).toHaveURL(`${console.url}/?show=attention`);
  await expect(row(page, 'lock:b')).toBeVisible();
  await expect(page.getByText('1 of 2 locks')).toBeVisible();
});

test('a view can be saved under a name, opened and deleted', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes: [node] });
  await acquireLock([node], 'lock:a', 'token-a', 600_000);
  await acquireLock([node], 'lock:b', 'token-b', 600_000);
  await open(page, console, '/?q=lock%3Ab&sort=key');
  await page.getByText('Views', { exact: true }).click();
  await page.getByLabel('View name').fill('only b');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByRole('button', { name: 'only b', exact: true })).toHaveAttribute('aria-current', 'true');

  await open(page, console);
  await expect(row(page, 'lock:a')).toBeVisible();
  await page.getByText('Views', { exact: true }).click();
  await page.getByRole('button', { name: 'only b', exact: true }).click();
  await expect(row(page, 'lock:b')).toBeVisible();
  await expect(row(page, 'lock:a')).toHaveCount(0);
  await expect(page).toHaveURL(/q=lock%3Ab&sort=key/);
  await page.getByRole('button', { name: 'Delete view only b' }).click();
  await expect(page.getByRole('button', { name: 'only b', exact: true })).toHaveCount(0);
});

test('the export contains the filtered list', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes: [node] });
  for (const key of ['lock:a', 'lock:b1', 'lock:b2']) await acquireLock([node], key, 'token', 600_000);
  await open(page, console, '/?q=lock%3Ab&sort=key');
  await expect(page.getByText('2 of 3 locks')).toBeVisible();
  const readDownload = async (name: string) => {
    const download = page.waitForEvent('download');
    await page.getByText('Export', { exact: true }).click();
    await page.getByRole('link', { name, exact: true }).click();
    return readFile(await (await download).path(), 'utf8');
  };
  const rows = (await readDownload('CSV')).trim().split('\r\n');
  expect(rows.map((line) => line.split(',')[1])).toEqual(['"key"', '"lock:b1"', '"lock:b2"']);
  expect(JSON.parse(await readDownload('JSON')).map((lock: { key: string }) => lock.key)).toEqual(['lock:b1', 'lock:b2']);
});

test('the settings for dense rows and absolute times apply', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes: [node] });
  await acquireLock([node], 'lock:a', 'token', 600_000);
  await open(page, console);
  const height = () => row(page, 'lock:a').evaluate((row) => row.getBoundingClientRect().height);
  expect(Math.round(await height())).toBe(36);
  await page.evaluate(() => localStorage.setItem('lockkeeper.density', 'dense'));
  await page.reload();
  await waitUntilLive(page);
  expect(Math.round(await height())).toBe(28);
  await page.getByRole('button', { name: 'Absolute times' }).click();
  await expect(row(page, 'lock:a')).toContainText(/\d\d:\d\d:\d\d/);
  await expect(page.getByRole('columnheader', { name: 'Since UTC' })).toBeVisible();
  await page.goto(console.url, { waitUntil: 'commit' });
  await expect(page.locator('html')).toHaveAttribute('data-density', 'dense');
});
