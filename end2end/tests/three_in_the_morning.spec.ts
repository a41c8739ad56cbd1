// Somebody is woken at three: sees what is stuck, understands it, frees it, sees that it is free, and finds it written down.
import type { Locator } from '@playwright/test';
import { expect, lockPath, open, row, take, test } from './fixtures';

test('the stuck lock is seen first, understood, freed, verified and found in the audit in at most five clicks', async ({ page, lab }) => {
  const nodes = await lab.nodes(3);
  const console = await lab.console({ name: 'orders', nodes, environment: 'production' });
  for (const name of ['a', 'b', 'c', 'd']) await take(nodes, `lock:busy:${name}`, `${name}-token-`.repeat(4), 600_000);
  await take(nodes, 'lock:nightly-report', 'stuck-'.repeat(5));
  let clicks = 0;
  const click = async (what: Locator) => {
    clicks += 1;
    await what.click();
  };

  // What is stuck stands first, and says why.
  await open(page, console);
  await expect(row(page, 'lock:busy:d')).toBeVisible();
  const first = page.getByRole('table', { name: 'Locks' }).getByRole('row').nth(1);
  await expect(first).toContainText('lock:nightly-report');
  await expect(first).toContainText('no expiry');

  // Who holds it, on how many nodes, and that nothing will end it by itself.
  await click(first.getByRole('link'));
  await expect(page.getByText(/^Held by .* on 3 of 3 nodes; 2 make a quorum\. It does not expire by itself\./)).toBeVisible();
  await expect(page.getByText('No expiry: the key has no time to live, only a release ends it.')).toBeVisible();

  await click(page.getByRole('button', { name: 'Force release…' }));
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('the report has hung since midnight');
  await dialog.getByLabel("Type the lock's name to confirm").fill('lock:nightly-report');
  await click(dialog.getByRole('button', { name: 'Release', exact: true }));

  await expect(dialog.getByRole('list', { name: 'What happened on each node' }).getByRole('listitem')).toHaveText([/released/, /released/, /released/]);
  await expect(dialog.getByText('Gone: not observed for one renewal interval.')).toBeVisible({ timeout: 40_000 });
  for (const node of nodes) expect(await node.redis.exists('lock:nightly-report')).toBe(0);

  await click(dialog.getByRole('link', { name: 'Find it in the audit' }));
  await expect(page).toHaveURL(/\/audit\?/);
  await expect(page.getByText('the report has hung since midnight')).toBeVisible();
  expect(clicks).toBeLessThanOrEqual(5);

  // The way back leads to the page of the lock, which is gone.
  await open(page, console, lockPath('orders', 'lock:nightly-report'));
  await expect(page.getByRole('region', { name: 'History' })).toContainText('forced');
});

for (const locale of ['en-GB', 'zh-CN'] as const) {
  test.describe(`on a phone, ${locale}`, () => {
    test.use({ locale, viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });

    test('the stuck lock is on the first screen, with others, and the rest of the controls is one press away', async ({ page, lab }) => {
      const nodes = await lab.nodes(5);
      const console = await lab.console({ name: 'orders', nodes, environment: 'production' }, { name: 'jobs', nodes: await lab.nodes(1) });
      for (const name of ['a', 'b', 'c']) await take(nodes, `lock:busy:${name}`, `${name}-token-`.repeat(4), 600_000);
      await take(nodes, 'lock:nightly-report', 'stuck-'.repeat(5));
      await page.goto(console.url);
      await expect(page.getByText(/^(live, |实时，)\d/)).toBeVisible({ timeout: 90_000 });
      await expect(row(page, 'lock:busy:c')).toBeVisible();
      const first = page.getByRole('table').getByRole('row').nth(1);
      await expect(first).toContainText('lock:nightly-report');
      const edge = (await page.getByRole('navigation').first().boundingBox())!.y;
      const end = async (lock: string) => {
        const box = (await row(page, lock).boundingBox())!;
        return box.y + box.height;
      };
      await expect.poll(() => end('lock:nightly-report')).toBeLessThanOrEqual(edge * 0.65);
      expect((await row(page, 'lock:busy:a').boundingBox())!.y).toBeLessThan(edge);

      await expect(page.getByRole('link', { name: 'CSV' })).toBeHidden();
      await page.getByRole('button', { name: { 'en-GB': 'More', 'zh-CN': '更多' }[locale], exact: true }).click();
      await expect(page.getByRole('link', { name: 'CSV' })).toBeVisible();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    });
  });
}
