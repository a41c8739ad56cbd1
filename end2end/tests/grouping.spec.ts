// Locks grouped by prefix, owner or group: each bucket is a row that links to its locks.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';

import { acquireLock, expect, open, type RedisNode, row, test } from './fixtures';

/** The row of a bucket. */
const bucket = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
/** Chooses a grouping in its menu. */
async function groupBy(page: Page, name: string) {
  const menu = page.getByRole('navigation', { name: 'Group by' });
  await menu.getByText(/^Group by/).click();
  await menu.getByRole('link', { name, exact: true }).click();
}
const bucketNames = (page: Page) => page.locator('#bucket-rows .bucket-link').allInnerTexts();

async function acquireSampleLocks(orders: RedisNode, jobs: RedisNode) {
  for (const n of [1, 2, 3]) await acquireLock([orders], `lock:invoice:${n}`, `token-${n}`, 600_000);
  await acquireLock([orders], 'lock:payout:eu', 'token', 600_000);
  await acquireLock([orders], 'lock:payout:us', 'forever');
  await acquireLock([jobs], 'lock', 'token', 600_000);
}

test('a list grouped by prefix counts locks by state, and a prefix links to its locks', async ({ page, servers }) => {
  const [orders, jobs] = await servers.startNodes(2);
  const console = await servers.startConsole({ name: 'orders', nodes: [orders] }, { name: 'jobs', nodes: [jobs], keys: ['lock*'] });
  await acquireSampleLocks(orders, jobs);
  await open(page, console);
  await expect(row(page, 'lock:payout:us')).toBeVisible();
  await groupBy(page, 'prefix');
  await expect(page).toHaveURL(`${console.url}/?group_by=prefix`);
  const table = page.getByRole('table', { name: 'Locks by prefix' });
  await expect(table).toHaveAttribute('aria-rowcount', '4');
  await expect(page.getByText('6 locks, 3 prefixes')).toBeVisible();
  expect((await bucketNames(page))[0], 'buckets that need attention are listed first').toBe('lock:payout:');
  await expect(bucket(page, 'lock:payout:')).toContainText('1 needs attention');
  await expect(bucket(page, 'lock:payout:')).toContainText('no expiry 1');
  await expect(bucket(page, 'lock:payout:')).toContainText('lock:payout:us');
  await expect(bucket(page, 'lock:invoice:')).toContainText('3 locks');
  await expect(bucket(page, 'lock:invoice:')).toContainText('held 3');
  await expect(bucket(page, 'no prefix')).toContainText('1 lock');
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target)}`)).toEqual([]);

  // Counts are updated, and a new bucket appears.
  await acquireLock([orders], 'lock:invoice:4', 'token', 600_000);
  await expect(bucket(page, 'lock:invoice:')).toContainText('4 locks');
  await acquireLock([orders], 'lock:report:1', 'token', 600_000);
  await expect(bucket(page, 'lock:report:')).toContainText('1 lock');

  // The keyboard moves between rows and opens one.
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await expect(bucket(page, 'lock:payout:').getByRole('link').first()).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`${console.url}/?q=prefix%3Alock%3Apayout%3A`);
  await expect(row(page, 'lock:payout:eu')).toBeVisible();
  await expect(page.getByText('2 of 8 locks', { exact: true })).toBeVisible();
  await expect(page.locator('tr.lock-row')).toHaveCount(2);
  await page.goBack();
  await expect(table).toBeVisible();
  await bucket(page, 'no prefix').getByRole('link').first().click();
  await expect(page.locator('tr.lock-row')).toHaveCount(1);
  // Removing the filter chip that the bucket added shows all locks.
  await page.getByRole('link', { name: /^prefix:""/ }).click();
  await expect(page.locator('tr.lock-row')).toHaveCount(8);
});

test('a list grouped by owner or group keeps search and sort order, and does not move while paused', async ({ page, servers }) => {
  const [orders, jobs] = await servers.startNodes(2);
  const console = await servers.startConsole({ name: 'orders', nodes: [orders] }, { name: 'jobs', nodes: [jobs], keys: ['lock*'] });
  await acquireSampleLocks(orders, jobs);
  await open(page, console, '/?group_by=group&sort=key');
  await expect(page.getByRole('table', { name: 'Locks by group' })).toBeVisible();
  await expect(bucket(page, 'orders')).toContainText('5 locks');
  expect(await bucketNames(page)).toEqual(['jobs', 'orders']);
  await page.getByRole('combobox', { name: 'Search locks' }).fill('-lock:invoice:*');
  await expect(bucket(page, 'orders')).toContainText('2 locks');
  await bucket(page, 'orders').getByRole('link').first().click();
  await expect(page).toHaveURL(/q=-lock.*group=orders.*sort=key/);
  await expect(page.locator('tr.lock-row')).toHaveCount(2);

  await open(page, console, '/?group_by=prefix&sort=key');
  await expect(bucket(page, 'lock:invoice:')).toContainText('3 locks');
  const before = await bucketNames(page);
  await page.getByRole('button', { name: 'Pause' }).click();
  await acquireLock([orders], 'lock:a:1', 'token', 600_000);
  await orders.redis.del('lock:invoice:1');
  await expect(page.getByRole('button', { name: 'Show 1 change' })).toBeVisible();
  await expect(bucket(page, 'lock:invoice:'), 'rows stay up to date').toContainText('2 locks');
  expect(await bucketNames(page)).toEqual(before);
  await page.getByRole('button', { name: 'Show 1 change' }).click();
  await expect(bucket(page, 'lock:a:')).toBeVisible();

  await groupBy(page, 'owner');
  await expect(page.getByRole('table', { name: 'Locks by owner' })).toBeVisible();
  await expect(bucket(page, 'no label')).toContainText('6 locks');
});

test('the menus of the toolbar close on Escape and outside', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes: [node] });
  await acquireLock([node], 'lock:a', 'token', 600_000);
  await open(page, console);
  const menu = page.getByText('Export', { exact: true });
  const entry = page.getByRole('link', { name: 'CSV', exact: true });
  await menu.click();
  await expect(entry).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(entry).toBeHidden();
  await menu.click();
  await expect(entry).toBeVisible();
  await page.getByText('Group by: none').click();
  await expect(entry).toBeHidden();
  await expect(page.getByRole('link', { name: 'prefix', exact: true })).toBeVisible();
});

test('prefixes beyond the first page are on the next page', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes: [node] });
  const pipeline = node.redis.pipeline();
  for (let n = 0; n < 150; n++) pipeline.set(`lock:kind${String(n).padStart(3, '0')}:x`, 'token', 'PX', 600_000);
  await pipeline.exec();
  await open(page, console, '/?group_by=prefix&sort=key');
  await expect(page.getByText('150 locks, 150 prefixes')).toBeVisible();
  const pages = page.getByRole('navigation', { name: 'Pagination' });
  await expect(pages).toContainText('1 to 60 of 150');
  await pages.getByRole('link', { name: 'Next' }).click();
  await expect(bucket(page, 'lock:kind060:')).toHaveAttribute('aria-rowindex', '62');
  await expect(bucket(page, 'lock:kind059:')).toHaveCount(0);
  await expect(page).toHaveURL(/offset=60/);
});

test('on a phone a bucket is a card, and nothing overflows', async ({ page, servers }) => {
  const [orders, jobs] = await servers.startNodes(2);
  const console = await servers.startConsole({ name: 'orders', nodes: [orders] }, { name: 'jobs', nodes: [jobs], keys: ['lock*'] });
  await acquireSampleLocks(orders, jobs);
  await acquireLock([orders], `lock:${'a'.repeat(300)}:1`, 'token', 600_000);
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, console, '/?group_by=prefix');
  await expect(bucket(page, 'lock:payout:')).toContainText('1 needs attention');
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('buckets link to their locks, and every row of a long list is reachable by pagination', async ({ page, servers }) => {
    const [node] = await servers.startNodes(1);
    const console = await servers.startConsole({ name: 'jobs', nodes: [node] });
    const pipeline = node.redis.pipeline();
    for (let n = 0; n < 50; n++) pipeline.set(`lock:job:${String(n).padStart(3, '0')}`, 'token', 'PX', 600_000);
    await pipeline.exec();
    const total = () => fetch(`${console.url}/api/v1/locks?limit=1`).then(async (response) => (await response.json()).total);
    await expect.poll(total).toBe(50);

    await page.goto(console.url);
    await groupBy(page, 'prefix');
    await expect(page).toHaveURL(`${console.url}/?group_by=prefix`);
    await expect(bucket(page, 'lock:job:')).toContainText('50 locks');
    await bucket(page, 'lock:job:').getByRole('link').first().click();
    const pages = page.getByRole('navigation', { name: 'Pagination' });
    await expect(pages).toContainText('1 to 20 of 50');
    await page.goto(`${console.url}/?sort=key`);
    await pages.getByRole('link', { name: 'Next' }).click();
    await expect(page.locator('tr.lock-row')).toHaveCount(20);
    await expect(row(page, 'lock:job:020')).toHaveAttribute('aria-rowindex', '22');
    await pages.getByRole('link', { name: 'Next' }).click();
    await expect(row(page, 'lock:job:049')).toBeVisible();
    await expect(pages.getByRole('link', { name: 'Next' })).toHaveCount(0);
    await pages.getByRole('link', { name: 'Previous' }).click();
    await expect(page).toHaveURL(/offset=/);
    await row(page, 'lock:job:010').getByRole('link', { name: 'lock:job:010', exact: true }).click();
    await expect(page.getByRole('heading', { name: 'lock:job:010' })).toBeVisible();
  });
});

test('a URL with an offset opens at that row and can be scrolled in both directions', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes: [node] });
  const pipeline = node.redis.pipeline();
  for (let n = 0; n < 600; n++) pipeline.set(`lock:job:${String(n).padStart(3, '0')}`, 'token', 'PX', 600_000);
  await pipeline.exec();
  const total = () => fetch(`${console.url}/api/v1/locks?limit=1`).then(async (response) => (await response.json()).total);
  await expect.poll(total).toBe(600);
  await open(page, console, '/?sort=key&offset=300');
  await expect(row(page, 'lock:job:300')).toBeInViewport();
  await expect(row(page, 'lock:job:300')).toHaveAttribute('aria-rowindex', '302');
  await expect(page.getByRole('navigation', { name: 'Pagination' })).toBeHidden();
  await page.evaluate(() => window.scrollTo(0, 0));
  await expect(row(page, 'lock:job:000')).toBeInViewport();
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await expect(row(page, 'lock:job:599')).toBeInViewport();
});
