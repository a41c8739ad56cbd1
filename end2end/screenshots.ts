// The pictures of the documentation, taken of the running demo. See scripts/screenshots.sh.
import { join } from 'node:path';
import { expect, test } from '@playwright/test';

const folder = process.env.LOCKKEEPER_PICTURES!;

for (const scheme of ['light', 'dark'] as const) {
  test.describe(scheme, () => {
    test.use({ colorScheme: scheme, viewport: { width: 1280, height: 860 }, deviceScaleFactor: 1 });

    test('the overview', async ({ page }) => {
      await page.goto('/');
      await expect(page.getByText('live,')).toBeVisible();
      // The demo's renewing owners have been seen to renew by then, so that the picture shows a console at work.
      await expect(page.getByRole('row', { name: /lock:ledger:close/ })).toBeVisible();
      await expect(page.getByRole('row', { name: /lock:cart:merge/ })).toBeVisible();
      await page.screenshot({ path: join(folder, `locks-${scheme}.png`) });
    });

    test('a forced release', async ({ page }) => {
      await page.goto('/groups/orders/locks/lock%3Acart%3Amerge');
      await expect(page.getByText('live,')).toBeVisible();
      await page.getByRole('button', { name: 'Force release' }).click();
      await expect(page.getByRole('dialog')).toBeVisible();
      await page.screenshot({ path: join(folder, `release-${scheme}.png`) });
    });
  });
}

test.describe('phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, isMobile: true });

  test('the overview', async ({ page }) => {
    await page.goto('/');
    await expect(page.getByText('live,')).toBeVisible();
    await page.screenshot({ path: join(folder, 'phone-light.png') });
  });
});
