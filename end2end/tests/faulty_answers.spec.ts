// Whatever a page asks for may come late, cut off in the middle, or not at all: the page stays, says so, and can be asked again.
import type { Page, Route } from '@playwright/test';
import { type Console, expect, isLive, type Lab, open, take, test } from './fixtures';

/** Pages by the link that leads there, what each asks the console for, and what stands there once it was answered. */
const PAGES = [
  { link: 'Owners', asks: 'owners', shows: (page: Page) => page.getByText('No owner with a name observed') },
  { link: 'Nodes', asks: 'nodes', shows: (page: Page) => page.getByRole('article', { name: 'a' }) },
  { link: 'Waits', asks: 'waits', shows: (page: Page) => page.getByText('No waiting observed') },
  { link: 'Mine', asks: 'mine', shows: (page: Page) => page.getByText('No lock was acquired from here') },
  { link: 'Audit', asks: 'audit', shows: (page: Page) => page.getByText('Nothing was done that fits') },
  { link: 'lock:held', asks: 'history', shows: (page: Page) => page.getByRole('list', { name: 'Holds, the latest first' }) },
];

/** The address of what is asked for: its name and a number. */
const address = (asks: string) => new RegExp(`/_fn/${asks}\\d+$`);

/** A console with one lock, shown by a page. */
async function shown(page: Page, lab: Lab): Promise<Console> {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await take(nodes, 'lock:held', 'a'.repeat(32), 3_000_000);
  await open(page, console);
  return console;
}

/** From the list, so that it is the browser that asks. */
async function goTo(page: Page, link: string) {
  await page.getByRole('banner').getByRole('link', { name: 'Locks', exact: true }).click();
  await expect(page.locator('tr.lock-row')).toHaveCount(1);
  await page.getByRole('link', { name: link, exact: true }).first().click();
}

const FAULTS = {
  'an error': {
    answer: (route: Route) => route.fulfill({ status: 500, json: { code: 'internal', detail: 'the disk is full (os error 28)' } }),
    says: 'the disk is full (os error 28)',
  },
  'half of an answer': {
    answer: async (route: Route) => {
      const whole = await (await route.fetch()).text();
      await route.fulfill({ contentType: 'application/json', body: whole.slice(0, whole.length / 2) });
    },
    says: 'The console did not answer: ',
  },
  'no answer': { answer: (route: Route) => route.abort(), says: 'The console did not answer: ' },
};

for (const [kind, { answer, says }] of Object.entries(FAULTS)) {
  test(`${kind} is said on every page, which stays and can be asked again`, async ({ page, lab, complaints }) => {
    complaints.expect(/status of 500/, /net::ERR_FAILED/);
    await shown(page, lab);
    for (const { link, asks, shows } of PAGES) {
      await test.step(link, async () => {
        await page.route(address(asks), answer);
        await goTo(page, link);
        const notice = page.getByRole('alert').filter({ hasText: says });
        await expect(notice).toBeVisible();
        await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
        await page.unroute(address(asks));
        await notice.getByRole('button', { name: 'Try again' }).click();
        await expect(notice).toBeHidden();
        await expect(shows(page)).toBeVisible();
        await isLive(page);
      });
    }
  });
}

test('while an answer is on its way every page says so, and shows it once it is there', async ({ page, lab }) => {
  await shown(page, lab);
  for (const { link, asks, shows } of PAGES) {
    await test.step(link, async () => {
      let go = () => {};
      const held = new Promise<void>((done) => (go = done));
      await page.route(address(asks), async (route) => {
        await held;
        await route.continue();
      });
      await goTo(page, link);
      const loading = page.getByRole('status').filter({ hasText: 'Loading' });
      await expect(loading.first()).toBeVisible();
      await isLive(page);
      go();
      await expect(loading).toHaveCount(0);
      await expect(shows(page)).toBeVisible();
      await page.unroute(address(asks));
    });
  }
});
