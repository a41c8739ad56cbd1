// Lazy loading of chunks: what the page shows while a chunk loads or when it fails to load.
import { acquireLock, expect, open, test, waitUntilLive } from './fixtures';

const CHUNKS = /\/(split|chunk)_\w+\.wasm$/;

/** The errors in the browser console when a chunk fails to load. */
const CHUNK_ERRORS = [/net::ERR_FAILED \(.*\.wasm\)/, /Failed to fetch/];

test('the first page hydrates without lazily loaded chunks', async ({ page, servers }) => {
  const console = await servers.startConsole({ name: 'jobs', nodes: await servers.startNodes(1) });
  const requests: string[] = [];
  page.on('request', (request) => {
    if (CHUNKS.test(request.url())) requests.push(request.url());
  });
  await open(page, console);
  expect(requests).toEqual([]);
  await page.getByRole('link', { name: 'Owners' }).click();
  await expect(page.getByRole('heading', { name: 'Owners', exact: true })).toBeVisible();
  expect(requests).not.toEqual([]);
});

test('a dialog whose chunk fails to load reports it and can retry', async ({ page, servers, browserErrors }) => {
  browserErrors.allow(...CHUNK_ERRORS);
  const console = await servers.startConsole({ name: 'jobs', nodes: await servers.startNodes(1) });
  let isFailing = true;
  await page.route(CHUNKS, (route) => (isFailing ? route.abort() : route.continue()));
  await open(page, console);
  await page.keyboard.press('?');
  await expect(page.getByRole('alert').filter({ hasText: 'could not be loaded' })).toBeVisible();
  isFailing = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Close' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
});

test('what is typed before the palette has loaded is in its field', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:ledger', 'token', 600_000);
  let resume = () => {};
  const resumed = new Promise<void>((resolve) => (resume = resolve));
  await page.route(CHUNKS, async (route) => {
    await resumed;
    await route.continue();
  });
  await open(page, console);
  await page.keyboard.press('Control+k');
  await expect(page.getByRole('dialog')).toBeVisible();
  await page.keyboard.type('ledx');
  await page.keyboard.press('Backspace');
  const field = page.getByRole('dialog').getByRole('combobox');
  await expect(field).toHaveCount(0);
  resume();
  await expect(field).toBeFocused();
  await expect(field).toHaveValue('led');
  await page.keyboard.type('ger');
  await expect(field).toHaveValue('ledger');
  await expect(page.getByRole('option').filter({ hasText: 'lock:ledger' })).toBeVisible();
  // Another palette is empty.
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await page.getByRole('button', { name: 'Find' }).click();
  await expect(field).toHaveValue('');
});

test('while the chunk of a page loads, the previous page stays visible with a notice', async ({ page, servers }) => {
  const console = await servers.startConsole({ name: 'jobs', nodes: await servers.startNodes(1) });
  let resume = () => {};
  const resumed = new Promise<void>((resolve) => (resume = resolve));
  await page.route(CHUNKS, async (route) => {
    await resumed;
    await route.continue();
  });
  await open(page, console);
  await page.getByRole('link', { name: 'Owners' }).click();
  const notice = page.getByText('Loading this part of the console');
  await expect(notice).toBeVisible();
  await expect(page.locator('#search')).toBeVisible();
  resume();
  await expect(page.getByRole('heading', { name: 'Owners', exact: true })).toBeVisible();
  await expect(notice).toHaveCount(0);
  await waitUntilLive(page);
});

test('a page whose chunk fails to load reports it and loads after a reload', async ({ page, servers, browserErrors }) => {
  browserErrors.allow(...CHUNK_ERRORS);
  const console = await servers.startConsole({ name: 'jobs', nodes: await servers.startNodes(1) });
  await page.route(CHUNKS, (route) => route.abort());
  await open(page, console);
  await page.getByRole('link', { name: 'Owners' }).click();
  const notice = page.getByRole('alert').filter({ hasText: 'could not be loaded' });
  await expect(notice).toBeVisible();
  // The rest of the page keeps working.
  await waitUntilLive(page);
  await page.getByRole('link', { name: 'Locks', exact: true }).click();
  await expect(page.locator('#search')).toBeVisible();
  await page.getByRole('link', { name: 'Owners' }).click();
  await expect(notice).toBeVisible();
  await page.unroute(CHUNKS);
  await notice.getByRole('link', { name: 'Reload' }).click();
  await expect(page.getByRole('heading', { name: 'Owners', exact: true })).toBeVisible();
  await waitUntilLive(page);
});

test('a page whose chunk fails to load during hydration stays readable', async ({ page, servers, browserErrors }) => {
  browserErrors.allow(...CHUNK_ERRORS);
  const console = await servers.startConsole({ name: 'jobs', nodes: await servers.startNodes(1) });
  await page.route(CHUNKS, (route) => route.abort());
  await page.goto(`${console.url}/owners`);
  await expect(page.getByRole('alert').filter({ hasText: 'The page crashed' })).toBeVisible({ timeout: 30_000 });
  await expect(page.getByRole('heading', { name: 'Owners', exact: true })).toBeVisible();
});
