// Many locks are seen as a few rows, by prefix, owner or group, and a row leads to its locks.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';

import { expect, type Node, open, row, take, test } from './fixtures';

/** The row of a bundle. */
const bundle = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const by = (page: Page, name: string) => page.getByRole('navigation', { name: 'Group by' }).getByRole('link', { name, exact: true });
const shown = (page: Page) => page.locator('#bundle-rows .bundle-link').allInnerTexts();

async function some(orders: Node, jobs: Node) {
  for (const n of [1, 2, 3]) await take([orders], `lock:invoice:${n}`, `token-${n}`, 600_000);
  await take([orders], 'lock:payout:eu', 'token', 600_000);
  await take([orders], 'lock:payout:us', 'forever');
  await take([jobs], 'lock', 'token', 600_000);
}

test('a list by prefix says how many are in which state, and a prefix leads to its locks and back', async ({ page, lab }) => {
  const [orders, jobs] = await lab.nodes(2);
  const console = await lab.console({ name: 'orders', nodes: [orders] }, { name: 'jobs', nodes: [jobs], keys: ['lock*'] });
  await some(orders, jobs);
  await open(page, console);
  await expect(row(page, 'lock:payout:us')).toBeVisible();
  await by(page, 'prefix').click();
  await expect(page).toHaveURL(`${console.url}/?by=prefix`);
  const table = page.getByRole('table', { name: 'Locks by prefix' });
  await expect(table).toHaveAttribute('aria-rowcount', '4');
  await expect(page.getByText('6 locks, 3 prefixes')).toBeVisible();
  expect((await shown(page))[0], 'what needs a person stands first').toBe('lock:payout:');
  await expect(bundle(page, 'lock:payout:')).toContainText('1 needs attention');
  await expect(bundle(page, 'lock:payout:')).toContainText('no expiry 1');
  await expect(bundle(page, 'lock:payout:')).toContainText('lock:payout:us');
  await expect(bundle(page, 'lock:invoice:')).toContainText('3 locks');
  await expect(bundle(page, 'lock:invoice:')).toContainText('held 3');
  await expect(bundle(page, 'names without a prefix')).toContainText('1 lock');
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target)}`)).toEqual([]);

  // It counts on, and a new one comes.
  await take([orders], 'lock:invoice:4', 'token', 600_000);
  await expect(bundle(page, 'lock:invoice:')).toContainText('4 locks');
  await take([orders], 'lock:report:1', 'token', 600_000);
  await expect(bundle(page, 'lock:report:')).toContainText('1 lock');

  // By keyboard: from row to row, and into one.
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await expect(bundle(page, 'lock:payout:').getByRole('link').first()).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`${console.url}/?q=prefix%3Alock%3Apayout%3A`);
  await expect(row(page, 'lock:payout:eu')).toBeVisible();
  await expect(page.getByText('2 locks', { exact: true })).toBeVisible();
  await expect(page.locator('tr.lock-row')).toHaveCount(2);
  await page.goBack();
  await expect(table).toBeVisible();
  await bundle(page, 'names without a prefix').getByRole('link').first().click();
  await expect(page.locator('tr.lock-row')).toHaveCount(1);
  // The chip that it put there is taken off again.
  await page.getByRole('link', { name: /^prefix:""/ }).click();
  await expect(page.locator('tr.lock-row')).toHaveCount(8);
});

test('a list by owner or group keeps search and order, and holds still while it is paused', async ({ page, lab }) => {
  const [orders, jobs] = await lab.nodes(2);
  const console = await lab.console({ name: 'orders', nodes: [orders] }, { name: 'jobs', nodes: [jobs], keys: ['lock*'] });
  await some(orders, jobs);
  await open(page, console, '/?by=group&sort=key');
  await expect(page.getByRole('table', { name: 'Locks by group' })).toBeVisible();
  await expect(bundle(page, 'orders')).toContainText('5 locks');
  expect(await shown(page)).toEqual(['jobs', 'orders']);
  await page.getByRole('combobox', { name: 'Search locks' }).fill('-lock:invoice:*');
  await expect(bundle(page, 'orders')).toContainText('2 locks');
  await bundle(page, 'orders').getByRole('link').first().click();
  await expect(page).toHaveURL(/q=-lock.*group=orders.*sort=key/);
  await expect(page.locator('tr.lock-row')).toHaveCount(2);

  await open(page, console, '/?by=prefix&sort=key');
  await expect(bundle(page, 'lock:invoice:')).toContainText('3 locks');
  const before = await shown(page);
  await page.getByRole('button', { name: 'Pause' }).click();
  await take([orders], 'lock:a:1', 'token', 600_000);
  await orders.redis.del('lock:invoice:1');
  await expect(page.getByRole('button', { name: '1 change waits: let it in' })).toBeVisible();
  await expect(bundle(page, 'lock:invoice:'), 'rows stay up to date').toContainText('2 locks');
  expect(await shown(page)).toEqual(before);
  await page.getByRole('button', { name: '1 change waits: let it in' }).click();
  await expect(bundle(page, 'lock:a:')).toBeVisible();

  await by(page, 'owner').click();
  await expect(page.getByRole('table', { name: 'Locks by owner' })).toBeVisible();
  await expect(bundle(page, 'owners without a label')).toContainText('6 locks');
});

test('more prefixes than a page shows are on the next one', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes: [node] });
  const pipeline = node.redis.pipeline();
  for (let n = 0; n < 150; n++) pipeline.set(`lock:kind${String(n).padStart(3, '0')}:x`, 'token', 'PX', 600_000);
  await pipeline.exec();
  await open(page, console, '/?by=prefix&sort=key');
  await expect(page.getByText('150 locks, 150 prefixes')).toBeVisible();
  const pages = page.getByRole('navigation', { name: 'Pages of the list' });
  await expect(pages).toContainText('1 to 60 of 150');
  await pages.getByRole('link', { name: 'Next' }).click();
  await expect(bundle(page, 'lock:kind060:')).toHaveAttribute('aria-rowindex', '62');
  await expect(bundle(page, 'lock:kind059:')).toHaveCount(0);
  await expect(page).toHaveURL(/from=60/);
});

test('on a phone a bundle is a card, and nothing is wider than the screen', async ({ page, lab }) => {
  const [orders, jobs] = await lab.nodes(2);
  const console = await lab.console({ name: 'orders', nodes: [orders] }, { name: 'jobs', nodes: [jobs], keys: ['lock*'] });
  await some(orders, jobs);
  await take([orders], `lock:${'a'.repeat(300)}:1`, 'token', 600_000);
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, console, '/?by=prefix');
  await expect(bundle(page, 'lock:payout:')).toContainText('1 needs attention');
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});

test.describe('without a script', () => {
  test.use({ javaScriptEnabled: false });

  test('bundles are there with their locks, and every row of a long list is on some page', async ({ page, lab }) => {
    const [node] = await lab.nodes(1);
    const console = await lab.console({ name: 'jobs', nodes: [node] });
    const pipeline = node.redis.pipeline();
    for (let n = 0; n < 50; n++) pipeline.set(`lock:job:${String(n).padStart(3, '0')}`, 'token', 'PX', 600_000);
    await pipeline.exec();
    const total = () => fetch(`${console.url}/api/v1/locks?limit=1`).then(async (answer) => (await answer.json()).total);
    await expect.poll(total).toBe(50);

    await page.goto(`${console.url}/?by=prefix`);
    await expect(bundle(page, 'lock:job:')).toContainText('50 locks');
    await bundle(page, 'lock:job:').getByRole('link').first().click();
    const pages = page.getByRole('navigation', { name: 'Pages of the list' });
    await expect(pages).toContainText('1 to 20 of 50');
    await page.goto(`${console.url}/?sort=key`);
    await pages.getByRole('link', { name: 'Next' }).click();
    await expect(page.locator('tr.lock-row')).toHaveCount(20);
    await expect(row(page, 'lock:job:020')).toHaveAttribute('aria-rowindex', '22');
    await pages.getByRole('link', { name: 'Next' }).click();
    await expect(row(page, 'lock:job:049')).toBeVisible();
    await expect(pages.getByRole('link', { name: 'Next' })).toHaveCount(0);
    await pages.getByRole('link', { name: 'Previous' }).click();
    await expect(page).toHaveURL(/from=/);
    await row(page, 'lock:job:010').getByRole('link', { name: 'lock:job:010', exact: true }).click();
    await expect(page.getByRole('heading', { name: 'lock:job:010' })).toBeVisible();
  });
});

test('an address that begins further down opens there, and can be scrolled both ways', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes: [node] });
  const pipeline = node.redis.pipeline();
  for (let n = 0; n < 600; n++) pipeline.set(`lock:job:${String(n).padStart(3, '0')}`, 'token', 'PX', 600_000);
  await pipeline.exec();
  const total = () => fetch(`${console.url}/api/v1/locks?limit=1`).then(async (answer) => (await answer.json()).total);
  await expect.poll(total).toBe(600);
  await open(page, console, '/?sort=key&from=300');
  await expect(row(page, 'lock:job:300')).toBeInViewport();
  await expect(row(page, 'lock:job:300')).toHaveAttribute('aria-rowindex', '302');
  await expect(page.getByRole('navigation', { name: 'Pages of the list' })).toBeHidden();
  await page.evaluate(() => window.scrollTo(0, 0));
  await expect(row(page, 'lock:job:000')).toBeInViewport();
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await expect(row(page, 'lock:job:599')).toBeInViewport();
});
