// The page of a lock tells who held it before.
import { expect, lockPath, open, take, test } from './fixtures';

test('holds are told with how they ended and what lies between them', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes });
  await open(page, console, lockPath('orders', 'lock:a'));
  const history = page.getByRole('region', { name: 'History' });
  await expect(history).toContainText('Nobody was seen to hold it.');
  await expect(history).toContainText('100 holds of a lock for 1 d');

  await take(nodes, 'lock:a', 'a'.repeat(32), 60_000);
  const holds = history.getByRole('listitem').filter({ hasText: 'UTC' });
  await expect(holds).toHaveCount(1);
  await expect(holds.first()).toContainText('holds it');
  await nodes[0].redis.del('lock:a');
  await expect(holds.first()).toContainText('gone before its lease ended');

  await take(nodes, 'lock:a', 'b'.repeat(32), 60_000);
  await expect(holds).toHaveCount(2);
  await expect(holds.first()).toContainText('holds it');
  await expect(history).toContainText('without an owner');

  await page.getByRole('button', { name: 'Force release…' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('stuck');
  await page.getByRole('dialog').getByRole('button', { name: /^Release/ }).click();
  await expect(holds.first()).toContainText('forced');
});
