// The main use case: an operator finds a stuck lock, releases it, verifies the release and finds
// the audit entry.
import type { Locator } from '@playwright/test';
import { acquireLock, expect, lockLinks, lockPath, open, row, test } from './fixtures';

test('a stuck lock is listed first and can be released, verified and found in the audit log in at most five clicks', async ({ page, servers }) => {
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes, environment: 'production' });
  for (const name of ['a', 'b', 'c', 'd']) await acquireLock(nodes, `lock:busy:${name}`, `${name}-token-`.repeat(4), 600_000);
  await acquireLock(nodes, 'lock:nightly-report', 'stuck-'.repeat(5));
  let clicks = 0;
  const click = async (target: Locator) => {
    clicks += 1;
    await target.click();
  };

  // The stuck lock is listed first, with the reason.
  await open(page, console);
  await expect(row(page, 'lock:busy:d')).toBeVisible();
  const first = page.getByRole('table', { name: 'Locks' }).getByRole('row').nth(1);
  await expect(first).toContainText('lock:nightly-report');
  await expect(first).toContainText('no expiry');

  // The page of the lock shows its owner, the number of nodes that hold it, and that it does not
  // expire.
  await click(lockLinks(first));
  await expect(page.getByText(/^Held by .* on 3 of 3 nodes \(quorum: 2\)\. Does not expire\./)).toBeVisible();
  await expect(page.getByText('No expiry: the key has no TTL and stays until it is released.')).toBeVisible();
  // The page judges whether the owner is alive before the dialog is opened.
  const advice = page.getByRole('region', { name: 'If you release it now' });
  await expect(advice).toContainText('Owner unknown');
  await expect(advice.getByRole('list', { name: 'Facts' })).toContainText('No expiry; held for');

  await click(page.getByRole('button', { name: 'Force release…' }));
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('the report has hung since midnight');
  await dialog.getByLabel("Type the lock's name to confirm").fill('lock:nightly-report');
  await click(dialog.getByRole('button', { name: 'Release', exact: true }));

  await expect(dialog.getByRole('list', { name: 'Result per node' }).getByRole('listitem')).toHaveText([/released/, /released/, /released/]);
  await expect(dialog.getByText('Released. The lock was not created again within one renewal interval.')).toBeVisible({ timeout: 40_000 });
  for (const node of nodes) expect(await node.redis.exists('lock:nightly-report')).toBe(0);

  await click(dialog.getByRole('link', { name: 'View in audit log' }));
  await expect(page).toHaveURL(/\/audit\?/);
  await expect(page.getByText('the report has hung since midnight')).toBeVisible();
  expect(clicks).toBeLessThanOrEqual(5);

  // The page of the released lock says how its hold ended, and keeps its history.
  await open(page, console, lockPath('orders', 'lock:nightly-report'));
  await expect(page.getByRole('region', { name: 'Not held' })).toContainText('force-released at');
  await expect(page.getByRole('region', { name: 'Not held' })).toContainText('reason: the report has hung since midnight');
  await expect(page.getByRole('region', { name: 'History' })).toContainText('forced');
});

for (const locale of ['en-GB', 'zh-CN'] as const) {
  test.describe(`on a phone, ${locale}`, () => {
    test.use({ locale, viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });

    test('the stuck lock is visible without scrolling, and further controls open in a sheet', async ({ page, servers }) => {
      const nodes = await servers.startNodes(5);
      const console = await servers.startConsole({ name: 'orders', nodes, environment: 'production' }, { name: 'jobs', nodes: await servers.startNodes(1) });
      for (const name of ['a', 'b', 'c']) await acquireLock(nodes, `lock:busy:${name}`, `${name}-token-`.repeat(4), 600_000);
      await acquireLock(nodes, 'lock:nightly-report', 'stuck-'.repeat(5));
      await page.goto(console.url);
      await expect(page.getByText(/^(live|实时)(, \d|，\d|$)/)).toBeVisible({ timeout: 90_000 });
      await expect(row(page, 'lock:busy:c')).toBeVisible();
      const first = page.getByRole('table').getByRole('row').nth(1);
      await expect(first).toContainText('lock:nightly-report');
      const screenEnd = (await page.getByRole('navigation').first().boundingBox())!.y;
      const bottom = async (lock: string) => {
        const box = (await row(page, lock).boundingBox())!;
        return box.y + box.height;
      };
      await expect.poll(() => bottom('lock:nightly-report')).toBeLessThanOrEqual(screenEnd * 0.65);
      expect((await row(page, 'lock:busy:a').boundingBox())!.y).toBeLessThan(screenEnd);

      const menu = page.getByText({ 'en-GB': 'Export', 'zh-CN': '导出' }[locale], { exact: true });
      await expect(menu).toBeHidden();
      await page.getByRole('button', { name: { 'en-GB': 'More', 'zh-CN': '更多' }[locale], exact: true }).click();
      await menu.click();
      await expect(page.getByRole('link', { name: 'CSV' })).toBeVisible();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    });
  });
}
