// A list that is far longer than a screen: only what is on screen is drawn, and it can be read to its end.
import { type Page } from '@playwright/test';
import { type Console, expect, type Node, open, row, test } from './fixtures';

const COUNT = 5_000;
// A busy machine may take its time to look at all of them.
const SEEN_WITHIN = 60_000;
const name = (n: number) => `lock:job:${String(n).padStart(4, '0')}`;

async function fill(node: Node, count: number) {
  for (let n = 0; n < count; n += 500) {
    const pipeline = node.redis.pipeline();
    for (let at = n; at < Math.min(n + 500, count); at++) pipeline.set(name(at), `token-${at}`, 'PX', 3_600_000);
    await pipeline.exec();
  }
}

async function allAreSeen(console: Console, count: number) {
  const total = () => fetch(`${console.url}/api/v1/locks?limit=1`).then(async (answer) => (await answer.json()).total);
  await expect.poll(total, { timeout: SEEN_WITHIN }).toBe(count);
}

/** The lock that stands at the upper end of the screen. */
const onTop = (page: Page) =>
  page.evaluate(() => {
    const rows = [...document.querySelectorAll('tr.lock-row')];
    return rows.find((row) => row.getBoundingClientRect().top >= 36)?.querySelector('a')?.textContent?.trim();
  });

test('five thousand locks are scrolled through, by wheel and by key', async ({ page, lab }) => {
  test.setTimeout(180_000);
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes: [node] });
  await fill(node, COUNT);
  await allAreSeen(console, COUNT);
  await open(page, console, '/?sort=key');
  const table = page.getByRole('table', { name: 'Locks' });
  await expect(table).toHaveAttribute('aria-rowcount', `${COUNT + 1}`);
  await expect(row(page, name(0))).toHaveAttribute('aria-rowindex', '2');

  // Far down at once: what is there comes, and never more than a screen of it is drawn.
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight / 2));
  await expect.poll(() => onTop(page)).toMatch(/lock:job:2[45]\d\d/);
  const middle = (await onTop(page))!;
  await expect(row(page, middle)).toHaveAttribute('aria-rowindex', `${Number(middle.slice(-4)) + 2}`);
  expect(await page.locator('tr.lock-row').count()).toBeLessThan(90);
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await expect(row(page, name(COUNT - 1))).toBeInViewport();

  // By keyboard: to the first row, and from there one after the other.
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

test('what is looked at stays where it is while rows come and go above it', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes: [node] });
  await fill(node, 600);
  await allAreSeen(console, 600);
  await open(page, console, '/?sort=key');
  await page.evaluate(() => window.scrollTo(0, 300 * 36));
  await expect.poll(() => onTop(page)).toMatch(/lock:job:0(29|30)\d/);
  const before = (await onTop(page))!;
  const place = () => row(page, before).evaluate((row) => Math.round(row.getBoundingClientRect().top));
  const at = await place();
  await node.redis.del(...Array.from({ length: 50 }, (_, n) => name(n)));
  await node.redis.set('lock:a', 'token', 'PX', 3_600_000);
  await expect(page.getByText('551 locks')).toBeVisible();
  expect(await place()).toBe(at);

  // Let in, the lock stands elsewhere in the list and still at the same place on screen.
  await page.getByRole('button', { name: /wait.*: let/ }).click();
  await expect(row(page, before)).toHaveAttribute('aria-rowindex', `${Number(before.slice(-4)) + 2 - 49}`);
  expect(Math.abs((await place()) - at)).toBeLessThanOrEqual(36);
});

test('paused, rows hold until they are let in or go on', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes: [node] });
  await fill(node, 2);
  await open(page, console, '/?sort=key');
  await expect(row(page, name(1))).toBeVisible();
  await page.getByRole('button', { name: 'Pause' }).click();
  await node.redis.set('lock:a', 'token', 'PX', 60_000);
  await page.getByRole('button', { name: '1 change waits: let it in' }).click();
  await expect(row(page, 'lock:a')).toBeVisible();
  await node.redis.set('lock:b', 'token', 'PX', 60_000);
  await expect(page.getByRole('button', { name: '1 change waits: let it in' })).toBeVisible();
  await expect(row(page, 'lock:b')).toHaveCount(0);
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect(row(page, 'lock:b')).toBeVisible();
});
