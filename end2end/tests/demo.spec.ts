// Somebody clicks through the demo, whose locks change all the time: whatever the browser fetches later is drawn where it belongs, and
// nothing stops working.
import type { Page } from '@playwright/test';
import { closeDialog } from './everywhere';
import { expect, isLive, row, test } from './fixtures';

const grouping = (page: Page) => page.getByRole('navigation', { name: 'Group by' });
const bundles = (page: Page) => page.locator('#bundle-rows .bundle-link');
const dialog = (page: Page) => page.getByRole('dialog');

/** The pages by their links, and what each is called. */
const PAGES = ['Owners', 'Nodes', 'Waits', 'Mine', 'Audit'];

/** The page goes on: it says so itself, and it hears of changes. */
async function works(page: Page) {
  await expect(page.locator('#broken')).toBeHidden();
  await isLive(page);
}

for (const by of ['prefix', 'owner', 'group']) {
  test(`in the demo locks are grouped by ${by} and not grouped again, while they change`, async ({ page, lab }) => {
    const url = await lab.demo();
    await page.goto(url);
    await isLive(page);
    for (let time = 0; time < 2; time++) {
      await grouping(page).getByRole('link', { name: by, exact: true }).click();
      await expect(page).toHaveURL(`${url}/?by=${by}`);
      await expect(page.getByRole('table', { name: `Locks by ${by}` })).toBeVisible();
      await expect(bundles(page).first()).toBeVisible();
      // What it provides to its rows is its own.
      const times = page.getByRole('button', { name: 'Times of day' });
      await times.click();
      await expect(times).toHaveAttribute('aria-pressed', 'true');
      await expect(page.locator('#bundle-rows')).toContainText(/\d\d:\d\d:\d\d/);
      await times.click();
      await works(page);
      await grouping(page).getByRole('link', { name: 'nothing', exact: true }).click();
      await expect(row(page, 'lock:ledger:close')).toBeVisible();
      await works(page);
    }
  });
}

test('in the demo every part that is fetched later is there when it is asked for', async ({ page, lab }) => {
  // Some ten pages are loaded.
  test.slow();
  const url = await lab.demo();
  await page.goto(url);
  await isLive(page);

  // Dialogs, each the first one of a page that was just loaded, and once more.
  const open = {
    'the palette': () => page.getByRole('button', { name: 'Find' }).click(),
    'the keys': () => page.keyboard.press('?'),
    'the form to acquire': () => page.getByRole('button', { name: 'Acquire a lock' }).click(),
  };
  for (const [what, ask] of Object.entries(open)) {
    await test.step(what, async () => {
      await page.goto(url);
      await isLive(page);
      for (let time = 0; time < 2; time++) {
        await ask();
        await expect(dialog(page).getByRole('heading', { level: 2 }).first()).toBeAttached();
        await closeDialog(page);
        await works(page);
      }
    });
  }

  await test.step('the views that were saved', async () => {
    await page.goto(url);
    await isLive(page);
    await page.getByText('Views', { exact: true }).click();
    await page.getByLabel('Name of the view').fill('all');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect(page.getByRole('button', { name: 'all', exact: true })).toBeVisible();
    await works(page);
  });

  await test.step('the release of many', async () => {
    await page.goto(url);
    await isLive(page);
    await page.getByRole('checkbox', { name: 'Select lock:ledger:close', exact: true }).click();
    await page.getByRole('region', { name: 'Selected locks' }).getByRole('button', { name: 'Release…' }).click();
    await expect(dialog(page)).toContainText('would be released.');
    await closeDialog(page);
    await works(page);
  });

  await test.step('one lock and its release', async () => {
    await page.goto(url);
    await isLive(page);
    await row(page, 'lock:ledger:close').getByRole('link', { name: 'lock:ledger:close', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'lock:ledger:close' })).toBeVisible();
    await page.getByRole('button', { name: 'Force release…' }).click();
    await expect(dialog(page).getByRole('button', { name: 'Cancel' })).toBeFocused();
    await closeDialog(page);
    await works(page);
  });

  for (const name of PAGES) {
    await test.step(name, async () => {
      await page.getByRole('banner').getByRole('link', { name, exact: true }).click();
      await expect(page).toHaveURL(`${url}/${name.toLowerCase()}`);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await works(page);
    });
  }

  await test.step('help', async () => {
    await page.getByRole('contentinfo').getByRole('link', { name: 'Help' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await works(page);
  });

  await test.step('another language, and the parts in it', async () => {
    await page.goto(url);
    await isLive(page);
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('button', { name: '简体中文' }).click();
    await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN');
    await expect(page.getByText(/^实时，/)).toBeVisible();
    await page.getByRole('navigation', { name: '分组方式' }).getByRole('link', { name: '前缀', exact: true }).click();
    await expect(bundles(page).first()).toBeVisible();
    await page.keyboard.press('?');
    await expect(dialog(page).getByRole('table')).toBeVisible();
    await closeDialog(page);
    await expect(page.locator('#broken')).toBeHidden();
  });
});
