// The console is restarted under an open page.
import { expect, isLive, open, row, take, test } from './fixtures';

test('the page says that it is stale, and works again after a restart', async ({ page, lab, complaints }) => {
  complaints.expect(/net::ERR_/);
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await take(nodes, 'lock:before', 'token', 120_000);
  await open(page, console);
  await expect(row(page, 'lock:before')).toBeVisible();

  await console.stop();
  const banner = page.getByRole('alert').filter({ hasText: 'Not live: the console has not been heard from' });
  await expect(banner).toBeVisible({ timeout: 15_000 });
  await expect(row(page, 'lock:before')).toBeVisible();
  await take(nodes, 'lock:meanwhile', 'token', 120_000);
  await nodes[0].redis.del('lock:before');

  await console.start();
  await expect(banner).toBeHidden({ timeout: 15_000 });
  await isLive(page);
  await expect(row(page, 'lock:meanwhile')).toBeVisible();
  await expect(row(page, 'lock:before')).toHaveCount(0);
  await take(nodes, 'lock:after', 'token', 120_000);
  await expect(row(page, 'lock:after')).toBeVisible();
});
