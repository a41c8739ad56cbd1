// The activity page: lanes, events, the range in the URL, outages, and the table.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { acquireLock, type Console, expect, open, type RedisNode, test, type TestServers, waitUntilLive } from './fixtures';
import { horizontalOverflow } from './page_tour';

const lanes = (page: Page) => page.getByRole('list', { name: /^Locks, those/ });
const lane = (page: Page, lock: string) => lanes(page).getByRole('listitem').filter({ has: page.getByRole('link', { name: lock, exact: true }) });
const events = (page: Page) => page.getByRole('list', { name: 'Events' }).getByRole('listitem');
const chart = (page: Page) => page.getByRole('group', { name: 'Locks over time' });

async function startGroup(servers: TestServers): Promise<{ nodes: RedisNode[]; console: Console }> {
  const nodes = await servers.startNodes(3);
  return { nodes, console: await servers.startConsole({ name: 'orders', nodes }) };
}

/** Waits until the console has observed a lock. Returns the fingerprint of its owner. */
async function observedOwner(console: Console, key: string): Promise<string> {
  const read = async () => (await (await fetch(`${console.url}/api/v1/groups/orders/locks/${encodeURIComponent(key)}`)).json()).owner?.fingerprint;
  await expect.poll(read).toBeTruthy();
  return read();
}

async function forceRelease(console: Console, key: string) {
  const fingerprint = await observedOwner(console, key);
  const response = await fetch(`${console.url}/api/v1/groups/orders/locks/${encodeURIComponent(key)}/force-release`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ fingerprint, reason: 'the job hangs' }),
  });
  expect(response.status, await response.text()).toBe(200);
}

/** The range in the URL of the page, in milliseconds since the Unix epoch. */
function rangeOf(page: Page): { from: number; to: number } {
  const { searchParams } = new URL(page.url());
  return { from: Date.parse(searchParams.get('from')!), to: Date.parse(searchParams.get('to')!) };
}

test('holds, forced ends and outages are lanes, events and bands, and keep up with changes', async ({ page, servers }) => {
  const { nodes, console } = await startGroup(servers);
  await open(page, console);
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await expect(page).toHaveURL(`${console.url}/activity`);
  await expect(page.getByRole('heading', { name: 'Nothing recorded in this range' })).toBeVisible();

  await acquireLock(nodes, 'lock:a', 'a'.repeat(32), 600_000);
  await acquireLock(nodes, 'lock:b', 'b'.repeat(32), 600_000);
  await expect(lane(page, 'lock:a').getByRole('img')).toHaveAccessibleName('Holds: 1, owners: 1, force-released: 0');
  await forceRelease(console, 'lock:b');
  await expect(lane(page, 'lock:b').getByRole('img')).toHaveAccessibleName('Holds: 1, owners: 1, force-released: 1');
  await expect(lanes(page).getByRole('link').first()).toHaveText('lock:b');
  await observedOwner(console, 'lock:a');
  for (const { redis } of nodes) await redis.del('lock:a');
  await expect(events(page).filter({ hasText: 'lock:a' }).filter({ hasText: 'released' })).toBeVisible();
  await expect(events(page).filter({ hasText: 'lock:b' }).filter({ hasText: 'force-released' })).toBeVisible();

  await nodes[2].kill();
  await expect(events(page).filter({ hasText: 'node not up' })).toContainText('orders / c');
  await expect(chart(page).locator('text', { hasText: 'c down' })).toBeVisible();
  await page.getByRole('navigation', { name: 'Filter events' }).getByRole('link', { name: 'Nodes' }).click();
  await expect(page).toHaveURL(/only=nodes/);
  await expect(events(page)).toHaveCount(1);

  await page.getByRole('searchbox').fill('lock:a');
  await expect(lane(page, 'lock:b')).toHaveCount(0);
  await expect(lane(page, 'lock:a')).toBeVisible();
});

test('the range is zoomed and moved by keys, drag, links and events, and is part of the URL', async ({ page, servers }) => {
  const { nodes, console } = await startGroup(servers);
  await acquireLock(nodes, 'lock:a', 'a'.repeat(32), 600_000);
  await observedOwner(console, 'lock:a');
  await open(page, console, '/activity?range=15m');
  await expect(lane(page, 'lock:a')).toBeVisible();
  await chart(page).focus();
  await page.keyboard.press('+');
  await expect(page).toHaveURL(/from=.*to=/);
  const zoomed = rangeOf(page);
  expect(zoomed.to - zoomed.from).toBe(450_000);
  await page.keyboard.press('ArrowLeft');
  await expect.poll(() => rangeOf(page).from).toBe(zoomed.from - 112_500);
  await page.keyboard.press('Home');
  await expect(page).toHaveURL(`${console.url}/activity`);

  const strip = (await lane(page, 'lock:a').getByRole('img').boundingBox())!;
  const y = strip.y + strip.height / 2;
  await page.mouse.move(strip.x + strip.width / 4, y);
  await expect(page.getByText(/no owner observed$/)).toBeVisible();
  await page.mouse.down();
  await page.mouse.move(strip.x + strip.width / 2, y);
  await page.mouse.move(strip.x + (strip.width * 3) / 4, y);
  await page.mouse.up();
  await expect(page).toHaveURL(/from=.*to=/);
  const dragged = rangeOf(page);
  expect(dragged.to - dragged.from).toBeGreaterThan(1_700_000);
  expect(dragged.to - dragged.from).toBeLessThan(1_900_000);
  await page.goBack();
  await expect(page).toHaveURL(`${console.url}/activity`);

  await events(page).filter({ hasText: 'lock:a' }).getByRole('link').first().click();
  await expect(page).toHaveURL(/from=.*to=/);
  const centred = rangeOf(page);
  expect(centred.to - centred.from).toBe(3_600_000);
  await page.reload();
  await waitUntilLive(page);
  await expect(lane(page, 'lock:a')).toBeVisible();
  expect(rangeOf(page)).toEqual(centred);
  await page.getByRole('link', { name: 'Zoom out' }).click();
  await expect.poll(() => rangeOf(page).to - rangeOf(page).from).toBe(7_200_000);
});

test('a time of day opens the minutes around it', async ({ page, servers }) => {
  const { console } = await startGroup(servers);
  await open(page, console, '/activity');
  await page.getByLabel('Time (UTC)').fill('03:07');
  await page.getByRole('button', { name: 'Go to time' }).click();
  await expect(page).toHaveURL(/at=03%3A07/);
  await expect(page.getByText(/ 03:02:00 to .* 03:12:00 UTC$/)).toBeVisible();
});

test('two hundred lanes with ten thousand holds have few elements, and the page names what it leaves out', async ({ page, servers }) => {
  const { console } = await startGroup(servers);
  const now = Date.now();
  const holds = Array.from({ length: 10_000 }, (_, index) => ({
    group: 'orders',
    key: `lock:job:${index % 250}`,
    format: 'plain',
    fingerprint: (index % 40).toString(16).padStart(16, '0'),
    label: `api-${index % 40}`,
    started_at: new Date(now - index * 350 - 300).toISOString(),
    started_at_source: 'appeared',
    started_at_uncertainty_ms: 0,
    ended_at: new Date(now - index * 350).toISOString(),
    end_reason: 'released',
    renewal_count: 0,
    min_margin_ms: null,
    attempts: null,
  }));
  const activity = { from: new Date(now - 3_600_000).toISOString(), to: new Date(now).toISOString(), holds, flags: [], outages: [], gaps: [], is_truncated: true };
  await open(page, console);
  await page.route(/\/_fn\/activity_page\d+$/, (route) => route.fulfill({ json: activity }));
  await page.getByRole('link', { name: 'Activity', exact: true }).click();
  await expect(lanes(page).getByRole('listitem')).toHaveCount(200);
  await expect(page.getByText('50 more locks are not shown.')).toBeVisible();
  await expect(page.getByText('Only the latest 10000 holds of this range are shown.')).toBeVisible();
  expect(await chart(page).locator('path').count()).toBeLessThan(200 * 10);
});

test('without JavaScript the page has the lanes, the range and the table', async ({ browser, servers }) => {
  const { nodes, console } = await startGroup(servers);
  await acquireLock(nodes, 'lock:a', 'a'.repeat(32), 600_000);
  await observedOwner(console, 'lock:a');
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  // The page is not refreshed without JavaScript, and the history is written in batches.
  await expect(async () => {
    await page.goto(`${console.url}/activity?range=24h`);
    expect(await lane(page, 'lock:a').count()).toBe(1);
  }).toPass();
  await expect(lane(page, 'lock:a').getByRole('img')).toHaveAccessibleName(/^Holds: 1/);
  await page.getByText('Holds as a table').click();
  await expect(page.getByRole('table', { name: 'Holds as a table' }).getByRole('link', { name: 'lock:a' })).toBeVisible();
  await page.getByRole('link', { name: 'Zoom in' }).click();
  await expect(page).toHaveURL(/from=.*to=/);
  await context.close();
});

test('a failed refresh keeps the history and is reported', async ({ page, servers, browserErrors }) => {
  browserErrors.allow(/status of 500/);
  const { nodes, console } = await startGroup(servers);
  await acquireLock(nodes, 'lock:a', 'a'.repeat(32), 600_000);
  await observedOwner(console, 'lock:a');
  await open(page, console, '/activity');
  await expect(lane(page, 'lock:a')).toBeVisible();
  const error = { code: 'internal', cause: { code: 'server-function', text: 'the disk is full (os error 28)' } };
  await page.route(/\/_fn\/activity_page\d+$/, (route) => route.fulfill({ status: 500, json: error }));
  await expect(page.getByText(/^Not refreshed since .* the disk is full/)).toBeVisible();
  await expect(lane(page, 'lock:a')).toBeVisible();
  await page.unroute(/\/_fn\/activity_page\d+$/);
  await expect(page.getByText(/^Not refreshed since/)).toBeHidden();
});

test.describe('many events on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 } });

  test('the first thirty are listed, and a button shows the others', async ({ page, servers }) => {
    const { nodes, console } = await startGroup(servers);
    for (let n = 0; n < 35; n++) await acquireLock(nodes, `lock:${n}`, `${n}`.padStart(32, 'a'), 600_000);
    await observedOwner(console, 'lock:34');
    await open(page, console, '/activity');
    const events = page.getByRole('list', { name: 'Events' }).getByRole('listitem');
    await expect(events).toHaveCount(30);
    await page.getByRole('button', { name: /^Show \d+ events$/ }).click();
    await expect.poll(() => events.count()).toBeGreaterThanOrEqual(35);
    await expect(page.getByRole('button', { name: /^Show \d+ events$/ })).toBeHidden();
  });
});

for (const [name, viewport] of Object.entries({ 'on a desktop': { width: 1280, height: 800 }, 'on a phone': { width: 390, height: 844 } })) {
  test.describe(name, () => {
    test.use({ viewport });

    test('the page is accessible and does not scroll sideways', async ({ page, servers }) => {
      const { nodes, console } = await startGroup(servers);
      await acquireLock(nodes, 'lock:a', 'a'.repeat(32), 600_000);
      await observedOwner(console, 'lock:a');
      await open(page, console, '/activity');
      await page.getByText('Holds as a table').click();
      await expect(page.getByRole('table')).toBeVisible();
      expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`)).toEqual([]);
    });
  });
}
