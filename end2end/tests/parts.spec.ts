// Parts of the pages' program are fetched when they are first needed: what is told while that takes long or fails, and that no page ever
// gets a part of another build.
import { expect, isLive, open, test } from './fixtures';

const PARTS = /\/(split|chunk)_\w+\.wasm$/;

/** What the browser and the program that loads parts say about one that does not come. */
const NO_PART = [/net::ERR_FAILED \(.*\.wasm\)/, /Failed to fetch/];

test('the first page is awake without any part that is fetched later', async ({ page, lab }) => {
  const console = await lab.console({ name: 'jobs', nodes: await lab.nodes(1) });
  const fetched: string[] = [];
  page.on('request', (request) => {
    if (PARTS.test(request.url())) fetched.push(request.url());
  });
  await open(page, console);
  expect(fetched).toEqual([]);
  await page.getByRole('link', { name: 'Owners' }).click();
  await expect(page.getByRole('heading', { name: 'Who holds what' })).toBeVisible();
  expect(fetched).not.toEqual([]);
});

test('a dialog that cannot be fetched says so, and is there at the next try', async ({ page, lab, complaints }) => {
  complaints.expect(...NO_PART);
  const console = await lab.console({ name: 'jobs', nodes: await lab.nodes(1) });
  let isOut = true;
  await page.route(PARTS, (route) => (isOut ? route.abort() : route.continue()));
  await open(page, console);
  await page.keyboard.press('?');
  await expect(page.getByRole('alert').filter({ hasText: 'could not be fetched' })).toBeVisible();
  isOut = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByRole('dialog', { name: 'Keys' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Close' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
});

test('a page that takes long to fetch says so beside the one before, and then comes', async ({ page, lab }) => {
  const console = await lab.console({ name: 'jobs', nodes: await lab.nodes(1) });
  let come = () => {};
  const held = new Promise<void>((go) => (come = go));
  await page.route(PARTS, async (route) => {
    await held;
    await route.continue();
  });
  await open(page, console);
  await page.getByRole('link', { name: 'Owners' }).click();
  const told = page.getByText('Fetching this part of the console');
  await expect(told).toBeVisible();
  await expect(page.locator('#search')).toBeVisible();
  come();
  await expect(page.getByRole('heading', { name: 'Who holds what' })).toBeVisible();
  await expect(told).toHaveCount(0);
  await isLive(page);
});

test('a page that cannot be fetched says so, and comes when it is loaded again', async ({ page, lab, complaints }) => {
  complaints.expect(...NO_PART);
  const console = await lab.console({ name: 'jobs', nodes: await lab.nodes(1) });
  await page.route(PARTS, (route) => route.abort());
  await open(page, console);
  await page.getByRole('link', { name: 'Owners' }).click();
  const told = page.getByRole('alert').filter({ hasText: 'could not be fetched' });
  await expect(told).toBeVisible();
  // Everything around it goes on.
  await isLive(page);
  await page.getByRole('link', { name: 'Locks', exact: true }).click();
  await expect(page.locator('#search')).toBeVisible();
  await page.getByRole('link', { name: 'Owners' }).click();
  await expect(told).toBeVisible();
  await page.unroute(PARTS);
  await told.getByRole('link', { name: 'Load again' }).click();
  await expect(page.getByRole('heading', { name: 'Who holds what' })).toBeVisible();
  await isLive(page);
});

test('a page whose own part cannot be fetched as it wakes up can still be read', async ({ page, lab, complaints }) => {
  complaints.expect(...NO_PART);
  const console = await lab.console({ name: 'jobs', nodes: await lab.nodes(1) });
  await page.route(PARTS, (route) => route.abort());
  await page.goto(`${console.url}/owners`);
  await expect(page.getByRole('alert').filter({ hasText: 'This page has stopped working' })).toBeVisible({ timeout: 30_000 });
  await expect(page.getByRole('heading', { name: 'Who holds what' })).toBeVisible();
});
