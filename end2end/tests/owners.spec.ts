// Who holds what: what a host still holds after it died, by host and by process.
import { expect, open, test } from './fixtures';

test('a dead host shows what it still holds', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes: [node] });
  await open(page, console);
  await page.getByRole('link', { name: 'Owners' }).click();
  await expect(page.getByRole('heading', { name: 'No owner with a name observed' })).toBeVisible();

  const by = (host: string) => `ADDED:2026-11-21T03:00:00.000Z@${host}:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05`;
  await node.redis.set('lock:prod:a', by('web-2'), 'PX', 600_000);
  await node.redis.set('lock:prod:b', by('web-2'), 'PX', 600_000);
  await node.redis.set('lock:prod:c', by('web-1'), 'PX', 600_000);
  const rows = page.getByRole('list', { name: 'Owners' });
  await expect(rows).toContainText('web-2', { timeout: 15_000 });
  await expect(rows).toContainText('2 locks');
  await expect(rows.getByRole('link', { name: 'lock:prod:c' })).toBeVisible();

  await page.getByRole('link', { name: 'Process' }).click();
  await expect(page).toHaveURL(/by=label/);
  await expect(page.getByRole('link', { name: 'Process' })).toHaveAttribute('aria-current', 'true');

  await rows.getByRole('link', { name: 'web-2' }).click();
  await expect(page).toHaveURL(/q=web-2/);
  await expect(page.getByRole('table')).toContainText('lock:prod:a');
  await expect(page.getByRole('table')).not.toContainText('lock:prod:c');
});
