// Unreachable nodes: the console reports them and does not display locks as free.
import { acquireLock, expect, open, row, test } from './fixtures';

test('an unreachable node is shown in each row, and an unreachable group in a banner', async ({ page, servers }) => {
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, 'lock:payout:eu', 'a'.repeat(32), 120_000);
  await open(page, console);
  const lock = row(page, 'lock:payout:eu');
  await expect(lock.getByRole('img', { name: 'a holds, b holds, c holds' })).toBeVisible();

  await nodes[2].kill();
  await expect(lock.getByRole('img', { name: 'a holds, b holds, c unreachable' })).toBeVisible();
  await expect(lock).toContainText('held');
  await expect(page.getByText(/^Node c of orders has been down for \d+ s/)).toBeVisible();
  await expect(page.getByText('2 of 3 up, quorum 2: locks work; no further failure is tolerated.')).toBeVisible();
  await expect(page.getByRole('img', { name: 'a up, b up, c down' })).toBeVisible();
  await expect(page.getByText('can lose no more')).toBeVisible();
  await expect(page).toHaveTitle(/^\(1\) /);
  await page.getByRole('link', { name: 'Nodes', exact: true }).click();
  await expect(page.getByRole('article', { name: 'c' })).toContainText('Check that the server is running');
  await page.getByRole('link', { name: 'Locks', exact: true }).click();

  await nodes[1].kill();
  await expect(lock).toContainText('unknown');
  await expect(page.getByText('1 of 3 up, quorum 2: no lock can be acquired or extended until one more node is up.')).toBeVisible();
  await expect(page.getByRole('link', { name: '1 lock is unknown because of it' })).toHaveAttribute('href', '/?group=orders&verdict=unknown');
  await nodes[0].kill();
  const banner = page.getByRole('alert').filter({ hasText: 'No node of orders has been reachable since' });
  await expect(banner).toBeVisible();
  await expect(banner).toContainText(/a: .*; b: .*; c: /);
  await expect(lock).toBeVisible();
  await expect(lock).toContainText('unknown');
  expect((await page.locator('body').innerText()).toLowerCase()).not.toMatch(/\bfree\b/);

  await page.reload();
  await expect(lock).toBeVisible();
  await expect(banner).toBeVisible();

  // An outage of less than a second in which no lock was lost is not reported.
  const outage = async () => {
    const { groups } = await (await fetch(`${console.url}/api/v1/groups`)).json();
    return Date.now() - Math.max(...groups[0].nodes.map(({ since }: { since: string }) => Date.parse(since)));
  };
  await expect.poll(outage).toBeGreaterThan(1_000);
  for (const node of nodes) await node.start();
  await expect(banner).toBeHidden({ timeout: 15_000 });
  // The servers started without their data.
  for (const node of ['a', 'b', 'c']) await expect(page.getByText(new RegExp(`^Node ${node} of orders is back after `))).toBeVisible();
  await page.getByRole('button', { name: 'Dismiss' }).first().click();
  await expect(page.getByText(/^Node \w of orders is back after /)).toHaveCount(2);
});

test('a node that is unreachable from the start is not treated as empty', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  await nodes[0].kill();
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await open(page, console);
  await expect(page.getByText(/No node of jobs (is|has been) reachable/)).toBeVisible();
  await expect(page.getByText('jobs: 0 of 1 node reachable')).toBeVisible();
  // Whether locks need attention is unknown.
  await expect(page.getByRole('link', { name: '1 node is not up' })).toBeVisible();
  await expect(page.getByText('Nothing needs attention')).toBeHidden();

  await nodes[0].start();
  await expect(page.getByText('Nothing needs attention')).toBeVisible({ timeout: 15_000 });
});

test('the first three unreachable groups have a banner each, and the others share one', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  await nodes[0].kill();
  const console = await servers.startConsole(...['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, nodes })));
  await open(page, console);
  await expect(page.getByText(/^No node of \w (is|has been) reachable/)).toHaveCount(3);
  await expect(page.getByRole('alert').filter({ hasText: 'No node of d, e is reachable either.' })).toBeVisible();
});
