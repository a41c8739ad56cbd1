// The history on the page of a lock.
import { acquireLock, expect, lockPath, open, test } from './fixtures';

test('the history lists holds with their end and the time without an owner between them', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await open(page, console, lockPath('orders', 'lock:a'));
  const history = page.getByRole('region', { name: 'History' });
  await expect(history).toContainText('No owner has been observed.');
  await expect(history).toContainText('up to 100 holds per lock, kept for 1 d');

  await acquireLock(nodes, 'lock:a', 'a'.repeat(32), 60_000);
  const holds = history.getByRole('listitem').filter({ hasText: 'UTC' });
  await expect(holds).toHaveCount(1);
  await expect(holds.first()).toContainText('held now');
  await nodes[0].redis.del('lock:a');
  await expect(holds.first()).toContainText('released');

  await acquireLock(nodes, 'lock:a', 'b'.repeat(32), 60_000);
  await expect(holds).toHaveCount(2);
  await expect(holds.first()).toContainText('held now');
  await expect(history).toContainText('without an owner');

  await page.getByRole('button', { name: 'Force release…' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('stuck');
  await page.getByRole('dialog').getByRole('button', { name: /^Release/ }).click();
  await expect(holds.first()).toContainText('force-released');
});
