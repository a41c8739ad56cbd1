// The demo, whose locks change all the time: chunks that are loaded on demand hydrate while rows
// change, and the page keeps working.
import type { Page } from '@playwright/test';
import { expect, lockLinks, row, test, waitUntilLive } from './fixtures';
import { closeDialog } from './page_tour';

/** The list with one lock, which is held for as long as the demo runs. */
const LEDGER = '/?q=lock%3Aledger%3Aclose';

/** Chooses a grouping in its menu. */
async function groupBy(page: Page, name: string) {
  const menu = page.getByRole('navigation', { name: 'Group by' });
  await menu.getByText(/^Group by/).click();
  await menu.getByRole('link', { name, exact: true }).click();
}
const buckets = (page: Page) => page.locator('#bucket-rows .bucket-link');
const dialog = (page: Page) => page.getByRole('dialog');

/** The links to the pages. */
const PAGES = { Owners: '/owners', Nodes: '/nodes', Waits: '/waits', Activity: '/activity', 'My locks': '/mine', Audit: '/audit' };

/** Checks that the page has not crashed and receives live updates. */
async function expectWorking(page: Page) {
  await expect(page.locator('#broken')).toBeHidden();
  await waitUntilLive(page);
}

for (const by of ['prefix', 'owner', 'group']) {
  test(`locks can be grouped by ${by} and ungrouped while they change`, async ({ page, servers }) => {
    const url = await servers.startDemo();
    await page.goto(url);
    await waitUntilLive(page);
    for (let attempt = 0; attempt < 2; attempt++) {
      await groupBy(page, by);
      await expect(page).toHaveURL(`${url}/?group_by=${by}`);
      await expect(page.getByRole('table', { name: `Locks by ${by}` })).toBeVisible();
      await expect(buckets(page).first()).toBeVisible();
      // The switch for absolute times affects the rows of the buckets too.
      const times = page.getByRole('button', { name: 'Absolute times' });
      await times.click();
      await expect(times).toHaveAttribute('aria-pressed', 'true');
      await expect(page.locator('#bucket-rows')).toContainText(/\d\d:\d\d:\d\d/);
      await times.click();
      await expectWorking(page);
      await groupBy(page, 'none');
      await expect(lockLinks(page.locator('#lock-rows')).first()).toBeVisible();
      await expectWorking(page);
    }
  });
}

test('the made-up history of the demo is marked', async ({ page, servers }) => {
  const url = await servers.startDemo();
  await page.goto(`${url}/activity?at=03:07`);
  const note = page.getByRole('note');
  await expect(note).toContainText(/^Demo: everything before \d{4}-\d\d-\d\d .* is made up/);
  await expect(page.getByRole('heading', { name: 'Activity' })).toBeVisible();
});

test('every lazily loaded chunk loads on demand', async ({ page, servers }) => {
  // About ten pages are loaded.
  test.slow();
  const url = await servers.startDemo();
  await page.goto(url);
  await waitUntilLive(page);

  // Each dialog is opened twice, first on a page that was just loaded.
  const dialogs = {
    'command palette': () => page.getByRole('button', { name: 'Find' }).click(),
    'keyboard shortcuts': () => page.keyboard.press('?'),
    'acquire dialog': () => page.getByRole('button', { name: 'Acquire a lock' }).click(),
  };
  for (const [title, open] of Object.entries(dialogs)) {
    await test.step(title, async () => {
      await page.goto(url);
      await waitUntilLive(page);
      for (let attempt = 0; attempt < 2; attempt++) {
        await open();
        await expect(dialog(page).getByRole('heading', { level: 2 }).first()).toBeAttached();
        await closeDialog(page);
        await expectWorking(page);
      }
    });
  }

  await test.step('saved views', async () => {
    await page.goto(url);
    await waitUntilLive(page);
    await page.getByText('Views', { exact: true }).click();
    await page.getByLabel('View name').fill('all');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect(page.getByRole('button', { name: 'all', exact: true })).toBeVisible();
    await expectWorking(page);
  });

  await test.step('bulk release', async () => {
    await page.goto(url + LEDGER);
    await waitUntilLive(page);
    await page.getByRole('checkbox', { name: 'Select lock:ledger:close', exact: true }).click();
    await page.getByRole('region', { name: 'Selected locks' }).getByRole('button', { name: 'Release…' }).click();
    await expect(dialog(page)).toContainText('would be released.');
    await closeDialog(page);
    await expectWorking(page);
  });

  await test.step('lock and force release', async () => {
    await page.goto(url + LEDGER);
    await waitUntilLive(page);
    await row(page, 'lock:ledger:close').getByRole('link', { name: 'lock:ledger:close', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'lock:ledger:close' })).toBeVisible();
    await page.getByRole('button', { name: 'Force release…' }).click();
    await expect(dialog(page).getByRole('button', { name: 'Cancel' })).toBeFocused();
    await closeDialog(page);
    await expectWorking(page);
  });

  for (const [name, path] of Object.entries(PAGES)) {
    await test.step(name, async () => {
      await page.getByRole('banner').getByRole('link', { name, exact: true }).click();
      await expect(page).toHaveURL(url + path);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await expectWorking(page);
    });
  }

  await test.step('help', async () => {
    await page.getByRole('contentinfo').getByRole('link', { name: 'Help' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await expectWorking(page);
  });

  await test.step('chunks in another language', async () => {
    await page.goto(url);
    await waitUntilLive(page);
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('button', { name: '简体中文' }).click();
    await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN');
    await expect(page.getByText(/^实时(，|$)/)).toBeVisible();
    const menu = page.getByRole('navigation', { name: '分组方式' });
    await menu.getByText(/^分组方式/).click();
    await menu.getByRole('link', { name: '前缀', exact: true }).click();
    await expect(buckets(page).first()).toBeVisible();
    await page.keyboard.press('?');
    await expect(dialog(page).getByRole('table')).toBeVisible();
    await closeDialog(page);
    await expect(page.locator('#broken')).toBeHidden();
  });
});
