// The pictures of the documentation, taken of the running demo. See scripts/screenshots.sh.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { film, type Still } from './film';

const folder = process.env.LOCKKEEPER_PICTURES!;

/** The demo's renewing owners have been seen to renew by then, so that the picture shows a console at work. */
async function isAtWork(page: Page) {
  await expect(page.getByText(/^live,/)).toBeVisible();
  await expect(page.getByRole('row', { name: /lock:ledger:close/ })).toBeVisible();
  await expect(page.getByRole('row', { name: /lock:cart:merge/ })).toBeVisible();
}

for (const scheme of ['light', 'dark'] as const) {
  test.describe(scheme, () => {
    test.use({ colorScheme: scheme, viewport: { width: 1280, height: 860 }, deviceScaleFactor: 1 });

    test('the overview', async ({ page }) => {
      await page.goto('/');
      await isAtWork(page);
      await page.screenshot({ path: join(folder, `locks-${scheme}.png`) });
    });

    test('a forced release', async ({ page }) => {
      await page.goto('/groups/orders/locks/lock%3Acart%3Amerge');
      await expect(page.getByText(/^live,/)).toBeVisible();
      await page.getByRole('button', { name: 'Force release' }).click();
      await expect(page.getByRole('dialog')).toBeVisible();
      await page.screenshot({ path: join(folder, `release-${scheme}.png`) });
    });

    // A lock of its own for each theme: what is released in one is not there in the other.
    const stuck = { light: 'lock:import:legacy', dark: 'lock:nightly-report' }[scheme];

    test('the story of a forced release', async ({ page }) => {
      test.setTimeout(120_000);
      await page.setViewportSize({ width: 1200, height: 760 });
      const stills: Still[] = [];
      const still = async (ms: number) => void stills.push({ png: await page.screenshot(), ms });
      await page.goto('/');
      await isAtWork(page);
      await still(2_500);
      await page.goto(`/groups/jobs/locks/${encodeURIComponent(stuck)}`);
      await expect(page.getByRole('heading', { name: stuck })).toBeVisible();
      await expect(page.getByText(/^live,/)).toBeVisible();
      await still(3_000);
      await page.getByRole('button', { name: 'Force release' }).click();
      const dialog = page.getByRole('dialog');
      await expect(dialog).toBeVisible();
      await still(3_000);
      await dialog.getByLabel('Reason').fill('stuck since last night');
      const confirm = dialog.getByLabel(/Type/);
      if (await confirm.isVisible()) await confirm.fill(stuck);
      await still(1_500);
      await dialog.getByRole('button', { name: 'Release', exact: true }).click();
      await expect(dialog.getByText(/released/i).first()).toBeVisible();
      await still(3_000);
      await writeFile(join(folder, `story-${scheme}.png`), film(stills));
    });
  });
}

test.describe('phone', () => {
  for (const scheme of ['light', 'dark'] as const) {
    test(`the overview, ${scheme}`, async ({ browser, baseURL }) => {
      const context = await browser.newContext({ baseURL, colorScheme: scheme, viewport: { width: 390, height: 844 }, isMobile: true });
      const page = await context.newPage();
      await page.goto('/');
      await expect(page.getByText(/^live,/)).toBeVisible();
      await page.screenshot({ path: join(folder, `phone-${scheme}.png`) });
      await context.close();
    });
  }
});
