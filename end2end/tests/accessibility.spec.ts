// Every page and dialog, light and dark, wide and narrow: nothing that keeps somebody out.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, lockPath, open, take, test } from './fixtures';

async function isAccessible(page: Page, where: string) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const told = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join(' | ')}`);
  expect(told, where).toEqual([]);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(overflow, `${where} scrolls sideways`).toBeLessThanOrEqual(0);
}

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [1440, 390]) {
    test(`every page, ${colorScheme}, ${width} wide`, async ({ browser, lab }) => {
      test.setTimeout(120_000);
      const nodes = await lab.nodes(3);
      const [single] = await lab.nodes(1);
      const console = await lab.console(
        { name: 'orders', nodes, environment: 'production' },
        { name: 'jobs', nodes: [single], readOnly: true },
      );
      await take(nodes, 'lock:held', 'a'.repeat(32), 600_000);
      await take(nodes.slice(0, 1), 'lock:partial', 'b'.repeat(32), 600_000);
      await take(nodes, 'lock:no-expiry', 'c'.repeat(32));
      await take(nodes.slice(0, 1), 'lock:split', 'd'.repeat(32), 600_000);
      await take(nodes.slice(1, 2), 'lock:split', 'e'.repeat(32), 600_000);
      await nodes[2].kill();
      await single.kill();

      const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
      const page = await context.newPage();
      await open(page, console);
      await expect(page.getByText('unknown').first()).toBeVisible();
      await isAccessible(page, 'locks');
      await open(page, console, '/?q=nothing&verdict=held');
      await isAccessible(page, 'nothing found');
      await open(page, console, lockPath('orders', 'lock:split'));
      await page.getByText('Do the same from a script').click();
      await isAccessible(page, 'one lock');
      await page.getByRole('button', { name: 'Force release…' }).click();
      await isAccessible(page, 'the release dialog');
      await page.keyboard.press('Escape');
      await open(page, console, lockPath('orders', 'lock:not-there'));
      await isAccessible(page, 'a lock that is not there');
      await open(page, console, '/nodes');
      await expect(page.getByRole('article', { name: 'c' })).toContainText('down');
      await isAccessible(page, 'nodes');
      await open(page, console, '/waits');
      await isAccessible(page, 'nobody waits');
      await page.goto(`${console.url}/sign-in?why=wrong`);
      await isAccessible(page, 'signing in');
      await open(page, console, '/mine');
      await isAccessible(page, 'nothing is mine');
      await page.getByRole('button', { name: 'Acquire a lock' }).click();
      await isAccessible(page, 'the acquire dialog');
      await page.getByLabel('For how long').fill('3');
      await page.getByLabel('Keep it').check();
      await page.getByRole('button', { name: 'Acquire', exact: true }).click();
      await expect(page.getByRole('article')).toContainText('kept by the console');
      await isAccessible(page, 'mine');
      await nodes[0].redis.set('lock:test', 'somebody-else', 'KEEPTTL');
      await nodes[1].redis.set('lock:test', 'somebody-else', 'KEEPTTL');
      await expect(page.getByRole('article').getByRole('alert')).toContainText('Lost: another owner has it');
      await isAccessible(page, 'a lock that was lost');
      await open(page, console, '/audit');
      await page.getByText('More', { exact: true }).first().click();
      await isAccessible(page, 'the audit');
      await open(page, console, '/nowhere');
      await isAccessible(page, 'no such page');
      await context.close();
    });
  }
}

test('the keyboard reaches the content at once, and every control shows where it is', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await take(nodes, 'lock:a', 'token', 60_000);
  await open(page, console);
  await page.keyboard.press('Tab');
  const skip = page.getByRole('link', { name: 'Skip to the content' });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('main')).toBeFocused();
});

test('the chosen theme is there before the first paint and is remembered', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await open(page, console);
  const settings = page.getByRole('button', { name: 'Settings' });
  await settings.click();
  await page.getByLabel('Theme').selectOption('Dark');
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await page.goto(`${console.url}/nodes`, { waitUntil: 'commit' });
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await settings.click();
  await expect(page.getByLabel('Theme')).toHaveValue('dark');
  await page.getByLabel('Theme').selectOption('System theme');
  await expect(page.locator('html')).not.toHaveAttribute('data-theme', /./);
});
