// The prefixes of locks on the page of nodes: how they were learned, and what an admin decides.
import AxeBuilder from '@axe-core/playwright';
import { expect, open, test } from './fixtures';

test('a prefix is named, its locks are excluded and shown again, and each decision is in the audit log', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  for (const key of ['lock:invoices:1', 'lock:invoices:2', 'lock:mail:1']) await node.redis.set(key, 'owner-1', 'PX', 600_000);
  const console = await servers.startConsole({ name: 'orders', nodes: [node] });
  await open(page, console, '/');
  await expect(page.locator('tr.lock-row')).toHaveCount(3);

  await open(page, console, '/nodes');
  await page.getByText('Prefixes of locks').click();
  const section = page.getByRole('group', { name: 'Prefixes of locks in orders' });
  const row = section.getByRole('row').filter({ hasText: 'lock:invoices:' });
  await expect(row).toContainText(/2 locks found, the first by (the scan|a notification)/);
  await row.getByText('Name', { exact: true }).click();
  await row.getByRole('textbox', { name: 'Name: lock:invoices:' }).fill('Invoice runs');
  await row.getByRole('button', { name: 'Save' }).click();
  await expect(row).toContainText('Invoice runs');
  await row.getByRole('button', { name: 'Exclude: lock:invoices:' }).click();
  await expect(section).toContainText('1 prefix is excluded: its locks are not listed.');
  const axe = await new AxeBuilder({ page }).include('details[open]').analyze();
  expect(axe.violations).toEqual([]);

  await page.setViewportSize({ width: 390, height: 844 });
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(overflow).toBe(0);
  await page.setViewportSize({ width: 1440, height: 900 });

  await open(page, console, '/');
  await expect(page.locator('tr.lock-row')).toHaveCount(1);
  await open(page, console, '/nodes');
  await page.getByText('Prefixes of locks').click();
  await row.getByRole('button', { name: 'Reset: lock:invoices:' }).click();
  await expect(row.getByRole('button', { name: 'Exclude: lock:invoices:' })).toBeEnabled();
  await open(page, console, '/');
  await expect(page.locator('tr.lock-row')).toHaveCount(3);
  await open(page, console, '/audit');
  await expect(page.getByRole('cell', { name: 'change prefix' })).toHaveCount(3);
});
