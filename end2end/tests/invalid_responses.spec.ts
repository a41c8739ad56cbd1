// Responses that fail, are truncated, missing or late: the page reports it, stays usable and can
// retry.
import type { Page, Route } from '@playwright/test';
import { acquireLock, type Console, expect, open, test, type TestServers, waitUntilLive } from './fixtures';

/**
 * The pages: the link, the server function that each calls, and an element that its response shows.
 */
const PAGES = [
  { link: 'Owners', call: 'owners', content: (page: Page) => page.getByText('No labelled owners observed') },
  { link: 'Nodes', call: 'nodes', content: (page: Page) => page.getByRole('article', { name: 'a' }) },
  { link: 'Waits', call: 'waits', content: (page: Page) => page.getByText('No waits observed') },
  { link: 'Activity', call: 'activity_page', content: (page: Page) => page.getByRole('group', { name: 'Locks over time' }) },
  { link: 'My locks', call: 'mine', content: (page: Page) => page.getByText('You hold no locks') },
  { link: 'Audit', call: 'audit', content: (page: Page) => page.getByText('No operations yet') },
  { link: 'lock:held', call: 'history', content: (page: Page) => page.getByRole('list', { name: 'Holds, newest first' }) },
];

/** The URL of a server function: its name and a hash. */
const urlPattern = (call: string) => new RegExp(`/_fn/${call}\\d+$`);

/** Starts a console with one lock and opens its lock list. */
async function openLockList(page: Page, servers: TestServers): Promise<Console> {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:held', 'a'.repeat(32), 3_000_000);
  await open(page, console);
  return console;
}

/**
 * Follows a link from the lock list, so that the browser sends the request and not the server while
 * rendering.
 */
async function navigateTo(page: Page, link: string) {
  await page.getByRole('banner').getByRole('link', { name: 'Locks', exact: true }).click();
  await expect(page.locator('tr.lock-row')).toHaveCount(1);
  await page.getByRole('link', { name: link, exact: true }).first().click();
}

const FAILURES = {
  'an error': {
    respond: (route: Route) => route.fulfill({ status: 500, json: { code: 'internal', cause: { code: 'server-function', text: 'the disk is full (os error 28)' } } }),
    notice: 'the disk is full (os error 28)',
  },
  'a truncated response': {
    respond: async (route: Route) => {
      const body = await (await route.fetch()).text();
      await route.fulfill({ contentType: 'application/json', body: body.slice(0, body.length / 2) });
    },
    notice: 'No response from the console: ',
  },
  'a missing response': { respond: (route: Route) => route.abort(), notice: 'No response from the console: ' },
};

for (const [kind, { respond, notice }] of Object.entries(FAILURES)) {
  test(`every page reports ${kind} and can retry`, async ({ page, servers, browserErrors }) => {
    browserErrors.allow(/status of 500/, /net::ERR_FAILED/);
    await openLockList(page, servers);
    for (const { link, call, content } of PAGES) {
      await test.step(link, async () => {
        await page.route(urlPattern(call), respond);
        await navigateTo(page, link);
        const alert = page.getByRole('alert').filter({ hasText: notice });
        await expect(alert).toBeVisible();
        await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
        await page.unroute(urlPattern(call));
        await alert.getByRole('button', { name: 'Try again' }).click();
        await expect(alert).toBeHidden();
        await expect(content(page)).toBeVisible();
        await waitUntilLive(page);
      });
    }
  });
}

test('every page shows that it is loading until the response arrives', async ({ page, servers }) => {
  await openLockList(page, servers);
  for (const { link, call, content } of PAGES) {
    await test.step(link, async () => {
      let resume = () => {};
      const resumed = new Promise<void>((resolve) => (resume = resolve));
      await page.route(urlPattern(call), async (route) => {
        await resumed;
        await route.continue();
      });
      await navigateTo(page, link);
      const loading = page.getByRole('status').filter({ hasText: 'Loading' });
      await expect(loading.first()).toBeVisible();
      await waitUntilLive(page);
      resume();
      await expect(loading).toHaveCount(0);
      await expect(content(page)).toBeVisible();
      await page.unroute(urlPattern(call));
    });
  }
});
