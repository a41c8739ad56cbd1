// Takes the screenshots of the documentation from the running demo. See scripts/screenshots.sh.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { animatedPng, type Frame } from './animation';

const folder = process.env.LOCKKEEPER_SCREENSHOTS!;

/**
 * Waits until the demo's clients have renewed their locks, so that the screenshot shows renewals.
 */
async function waitUntilBusy(page: Page) {
  await expect(page.getByText(/^live(, |$)/)).toBeVisible();
  await expect(page.getByRole('row', { name: /lock:cart:merge/ })).toBeVisible();
}

for (const scheme of ['light', 'dark'] as const) {
  test.describe(scheme, () => {
    test.use({ colorScheme: scheme, viewport: { width: 1280, height: 860 }, deviceScaleFactor: 1 });

    test('lock list', async ({ page }) => {
      await page.goto('/');
      await waitUntilBusy(page);
      await page.screenshot({ path: join(folder, `locks-${scheme}.png`) });
    });

    test('force release', async ({ page }) => {
      await page.goto('/groups/orders/locks/lock%3Acart%3Amerge');
      await expect(page.getByText(/^live(, |$)/)).toBeVisible();
      await page.getByRole('button', { name: 'Force release' }).click();
      await expect(page.getByRole('dialog')).toBeVisible();
      await page.screenshot({ path: join(folder, `release-${scheme}.png`) });
    });

    // Each theme releases its own lock, because a released lock is gone.
    const stuckLock = { light: 'lock:import:legacy', dark: 'lock:nightly-report' }[scheme];

    test('animation of a force release', async ({ page }) => {
      test.setTimeout(120_000);
      await page.setViewportSize({ width: 1200, height: 760 });
      const frames: Frame[] = [];
      const addFrame = async (ms: number) => void frames.push({ png: await page.screenshot(), ms });
      await page.goto('/');
      await waitUntilBusy(page);
      await addFrame(2_500);
      await page.goto(`/groups/jobs/locks/${encodeURIComponent(stuckLock)}`);
      await expect(page.getByRole('heading', { name: stuckLock })).toBeVisible();
      await expect(page.getByText(/^live(, |$)/)).toBeVisible();
      await addFrame(3_000);
      await page.getByRole('button', { name: 'Force release' }).click();
      const dialog = page.getByRole('dialog');
      await expect(dialog).toBeVisible();
      await addFrame(3_000);
      await dialog.getByLabel('Reason').fill('stuck since last night');
      const confirm = dialog.getByLabel(/Type/);
      if (await confirm.isVisible()) await confirm.fill(stuckLock);
      await addFrame(1_500);
      await dialog.getByRole('button', { name: 'Release', exact: true }).click();
      await expect(dialog.getByText(/released/i).first()).toBeVisible();
      await addFrame(3_000);
      await writeFile(join(folder, `story-${scheme}.png`), animatedPng(frames));
    });
  });
}

test.describe('phone', () => {
  for (const scheme of ['light', 'dark'] as const) {
    test(`lock list, ${scheme}`, async ({ browser, baseURL }) => {
      const context = await browser.newContext({ baseURL, colorScheme: scheme, viewport: { width: 390, height: 844 }, isMobile: true });
      const page = await context.newPage();
      await page.goto('/');
      await expect(page.getByText(/^live(, |$)/)).toBeVisible();
      await page.screenshot({ path: join(folder, `phone-${scheme}.png`) });
      await context.close();
    });
  }
});
