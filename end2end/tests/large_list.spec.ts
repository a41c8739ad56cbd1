// A virtual list of thousands of locks: only visible rows are rendered, and every row can be
// reached.
import { type Page } from '@playwright/test';
import { type Console, expect, open, type RedisNode, row, test } from './fixtures';

const COUNT = 5_000;
// A busy machine takes this long to scan all keys.
const SCAN_TIMEOUT = 60_000;
const name = (n: number) => `lock:job:${String(n).padStart(4, '0')}`;

async function fill(node: RedisNode, count: number) {
  for (let n = 0; n < count; n += 500) {
    const pipeline = node.redis.pipeline();
    for (let at = n; at < Math.min(n + 500, count); at++) pipeline.set(name(at), `token-${at}`, 'PX', 3_600_000);
    await pipeline.exec();
  }
}

async function waitUntilIndexed(console: Console, count: number) {
  const total = () => fetch(`${console.url}/api/v1/locks?limit=1`).then(async (response) => (await response.json()).total);
  await expect.poll(total, { timeout: SCAN_TIMEOUT }).toBe(count);
}

/** The first lock below the upper edge of the window. */
const topLock = (page: Page) =>
  page.evaluate(() => {
    const rows = [...document.querySelectorAll('tr.lock-row')];
    return rows.find((row) => row.getBoundingClientRect().top >= 36)?.querySelector('a')?.textContent?.trim();
  });

test('five thousand locks can be scrolled with the mouse wheel and the keyboard', async ({ page, servers }) => {
  test.setTimeout(180_000);
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes: [node] });
  await fill(node, COUNT);
  await waitUntilIndexed(console, COUNT);
  await open(page, console, '/?sort=key');
  const table = page.getByRole('table', { name: 'Locks' });
  await expect(table).toHaveAttribute('aria-rowcount', `${COUNT + 1}`);
  await expect(row(page, name(0))).toHaveAttribute('aria-rowindex', '2');

  // A jump to the middle: its rows load, and no more than a screenful is rendered.
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight / 2));
  await expect.poll(() => topLock(page)).toMatch(/lock:job:2[45]\d\d/);
  const middle = (await topLock(page))!;
  await expect(row(page, middle)).toHaveAttribute('aria-rowindex', `${Number(middle.slice(-4)) + 2}`);
  expect(await page.locator('tr.lock-row').count()).toBeLessThan(90);
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await expect(row(page, name(COUNT - 1))).toBeInViewport();

  // The keyboard moves to the first row and from there row by row.
  await row(page, name(COUNT - 1)).focus();
  await page.keyboard.press('Home');
  await expect(row(page, name(0))).toBeFocused();
  for (let n = 1; n <= 40; n++) {
    await page.keyboard.press(n % 2 ? 'j' : 'ArrowDown');
    await expect(row(page, name(n))).toBeFocused();
  }
  await expect(row(page, name(40))).toBeInViewport();
  await page.keyboard.press('k');
  await expect(row(page, name(39))).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: name(39) })).toBeVisible();
});

test('the visible rows stay in place while rows above them appear and disappear', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes: [node] });
  await fill(node, 600);
  await waitUntilIndexed(console, 600);
  await open(page, console, '/?sort=key');
  await page.evaluate(() => window.scrollTo(0, 300 * 36));
  await expect.poll(() => topLock(page)).toMatch(/lock:job:0(29|30)\d/);
  const before = (await topLock(page))!;
  const top = () => row(page, before).evaluate((row) => Math.round(row.getBoundingClientRect().top));
  const topBefore = await top();
  await node.redis.del(...Array.from({ length: 50 }, (_, n) => name(n)));
  await node.redis.set('lock:a', 'token', 'PX', 3_600_000);
  await expect(page.getByText('551 locks')).toBeVisible();
  expect(await top()).toBe(topBefore);

  // Once the changes are shown, the index of the row changes, but not its place on the screen.
  await page.getByRole('button', { name: /^Show \d+ changes?$/ }).click();
  await expect(row(page, before)).toHaveAttribute('aria-rowindex', `${Number(before.slice(-4)) + 2 - 49}`);
  expect(Math.abs((await top()) - topBefore)).toBeLessThanOrEqual(36);
});

test('a paused list shows changes only on request, until it is resumed', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes: [node] });
  await fill(node, 2);
  await open(page, console, '/?sort=key');
  await expect(row(page, name(1))).toBeVisible();
  await page.getByRole('button', { name: 'Pause' }).click();
  await node.redis.set('lock:a', 'token', 'PX', 60_000);
  await page.getByRole('button', { name: 'Show 1 change' }).click();
  await expect(row(page, 'lock:a')).toBeVisible();
  await node.redis.set('lock:b', 'token', 'PX', 60_000);
  await expect(page.getByRole('button', { name: 'Show 1 change' })).toBeVisible();
  await expect(row(page, 'lock:b')).toHaveCount(0);
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect(row(page, 'lock:b')).toBeVisible();
});
