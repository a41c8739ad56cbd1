// The console is restarted while a page is open.
import { acquireLock, expect, open, row, test, waitUntilLive } from './fixtures';

test('the page reports that it is not live, and recovers after the restart', async ({ page, servers, browserErrors }) => {
  browserErrors.allow(/net::ERR_/);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:before', 'token', 120_000);
  await open(page, console);
  await expect(row(page, 'lock:before')).toBeVisible();

  await console.stop();
  const banner = page.getByRole('alert').filter({ hasText: 'Not live: no data from the console' });
  await expect(banner).toBeVisible({ timeout: 15_000 });
  await expect(row(page, 'lock:before')).toBeVisible();
  await acquireLock(nodes, 'lock:meanwhile', 'token', 120_000);
  await nodes[0].redis.del('lock:before');

  await console.start();
  await expect(banner).toBeHidden({ timeout: 15_000 });
  await waitUntilLive(page);
  await expect(row(page, 'lock:meanwhile')).toBeVisible();
  await expect(row(page, 'lock:before')).toHaveCount(0);
  await acquireLock(nodes, 'lock:after', 'token', 120_000);
  await expect(row(page, 'lock:after')).toBeVisible();
});
