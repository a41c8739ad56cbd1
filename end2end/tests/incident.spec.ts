// The summary of an incident, links pinned in time, copied links, and the time zone of displayed times.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { acquireLock, type Console, expect, lockPath, open, test, waitUntilLive } from './fixtures';

const key = 'lock:a`](x) <b>';
const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

/** Waits until the storage has a hold of the lock that has ended, or that lasts. Returns its start. */
async function recordedHold(console: Console, isEnded: boolean): Promise<string> {
  const read = async () => {
    const response = await fetch(`${console.url}/api/v1/history?group=orders&key=${encodeURIComponent(key)}`);
    const { holds, source } = await response.json();
    return source === 'storage' ? holds.find((hold: { ended_at: string | null }) => (hold.ended_at !== null) === isEnded)?.started_at : undefined;
  };
  await expect.poll(read).toBeTruthy();
  return read();
}

test.beforeEach(async ({ context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
});

test('an incident is copied as Markdown, with a link that shows the page as it was', async ({ page, servers, browserErrors }) => {
  browserErrors.allowFailedCall('lock', 500); // the lock is gone at the end
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, key, 'a'.repeat(32), 600_000);
  await recordedHold(console, false);
  await open(page, console, lockPath('orders', key));
  await waitUntilLive(page);
  await page.getByRole('button', { name: 'Copy incident' }).click();
  await expect(page.getByText('copied', { exact: true })).toBeVisible();
  const markdown = await clipboard(page);
  expect(markdown).toContain('## Lock ``lock:a`](x) <b>``');
  expect(markdown).toContain('### If you release it now');
  expect(markdown).toContain('### The last hour');
  expect(markdown).toContain('- `a`: up');
  expect(markdown).not.toContain('a'.repeat(32));
  const link = /<(http.*\?at=.*Z)>/.exec(markdown)![1];

  // The lock is released afterwards; the page of the link stays as it was.
  for (const { redis } of nodes) await redis.del(key);
  await recordedHold(console, true);
  await page.goto(link);
  await expect(page.getByText(/^As recorded at .* UTC; the page does not change\.$/)).toBeVisible();
  const state = page.getByRole('region', { name: 'State at this time' });
  await expect(state.getByText(/^Held by [0-9a-f]{8} for/)).toBeVisible();
  await expect(state).toContainText('No flags recorded.');
  await expect(page.getByRole('button', { name: 'Force release…' })).toHaveCount(0);
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')).toEqual([]);
  await page.getByRole('link', { name: 'Show the live page' }).click();
  await expect(page).toHaveURL(console.url + lockPath('orders', key));
  await expect(page.getByText('Not held: no reachable node shows the lock.')).toBeVisible();
});

test('a time without a record is a state of its own', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  const path = lockPath('orders', 'lock:a');
  await acquireLock(nodes, key, 'a'.repeat(32), 600_000);
  await recordedHold(console, false);
  await open(page, console, `${path}?at=2020-01-01T00:00:00Z`);
  await expect(page.getByText(/^This time is before the recording, which began at/)).toBeVisible();
  await page.goto(`${console.url}${path}?at=2100-01-01T00:00:00Z`);
  await expect(page.getByText('This time has not come yet.')).toBeVisible();
  await page.goto(`${console.url}${path}?at=yesterday`);
  await expect(page.getByText('The time in this link is not valid.')).toBeVisible();
});

test('links are copied on the list, the activity page and from the palette', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, key, 'a'.repeat(32), 600_000);
  await open(page, console, '/?verdict=held');
  await waitUntilLive(page);
  await page.getByRole('button', { name: 'Copy link' }).click();
  await expect(page.getByText('copied', { exact: true })).toBeVisible();
  expect(await clipboard(page)).toBe(page.url());

  await open(page, console, '/activity');
  await waitUntilLive(page);
  await page.getByRole('button', { name: 'Copy link' }).click();
  await expect(page.getByText('copied', { exact: true })).toBeVisible();
  expect(await clipboard(page)).toMatch(/\/activity\?from=.*&to=.*/);

  await open(page, console, lockPath('orders', key));
  await waitUntilLive(page);
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('copy key');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog').getByText('copied', { exact: true })).toBeVisible();
  expect(await clipboard(page)).toBe(key);
  await page.getByRole('combobox').fill('force release');
  await page.keyboard.press('Enter');
  await expect(page.locator('#release-title')).toContainText(key);
});

test.describe('in another time zone', () => {
  test.use({ timezoneId: 'Asia/Kolkata' });

  test('times follow the setting, also after a reload, and copied texts stay in UTC', async ({ page, servers }) => {
    const nodes = await servers.startNodes(1);
    const console = await servers.startConsole({ name: 'orders', nodes });
    await acquireLock(nodes, key, 'a'.repeat(32), 600_000);
    await open(page, console, lockPath('orders', key));
    await waitUntilLive(page);
    const details = page.getByRole('region', { name: 'Details' });
    await expect(details).toContainText(/\d\d:\d\d:\d\d UTC \(/);
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByLabel('Times of day').selectOption('Local time');
    await expect(details).toContainText(/\d\d:\d\d:\d\d UTC\+5:30 \(/);
    await page.reload();
    await waitUntilLive(page);
    await expect(details).toContainText(/\d\d:\d\d:\d\d UTC\+5:30 \(/);
    await page.getByRole('button', { name: 'Copy incident' }).click();
    await expect(page.getByText('copied', { exact: true })).toBeVisible();
    expect(await clipboard(page)).not.toContain('UTC+5:30');
  });
});
