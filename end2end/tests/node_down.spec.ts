// Nodes die; the console says so and calls nothing free.
import { expect, open, row, take, test } from './fixtures';

test('a dead node turns up as such, and all of them as a banner over a grey table', async ({ page, lab }) => {
  const nodes = await lab.nodes(3);
  const console = await lab.console({ name: 'orders', nodes });
  await take(nodes, 'lock:payout:eu', 'a'.repeat(32), 120_000);
  await open(page, console);
  const lock = row(page, 'lock:payout:eu');
  await expect(lock.getByRole('img', { name: 'a holds, b holds, c holds' })).toBeVisible();

  await nodes[2].kill();
  await expect(lock.getByRole('img', { name: 'a holds, b holds, c unreachable' })).toBeVisible();
  await expect(lock).toContainText('held');
  await expect(page.getByRole('listitem').filter({ hasText: /^c\s*down \d\d:\d\d/ })).toBeVisible();
  await page.getByRole('link', { name: 'Nodes' }).click();
  await expect(page.getByRole('article', { name: 'c' })).toContainText('Check that the server runs');
  await page.getByRole('link', { name: 'Locks', exact: true }).click();

  await nodes[1].kill();
  await expect(lock).toContainText('unknown');
  await nodes[0].kill();
  const banner = page.getByRole('alert').filter({ hasText: 'Not one node of orders can be asked since' });
  await expect(banner).toBeVisible();
  await expect(banner).toContainText(/a: .*; b: .*; c: /);
  await expect(lock).toBeVisible();
  await expect(lock).toContainText('unknown');
  expect((await page.locator('body').innerText()).toLowerCase()).not.toMatch(/\bfree\b/);

  await page.reload();
  await expect(lock).toBeVisible();
  await expect(banner).toBeVisible();

  for (const node of nodes) await node.start();
  await expect(banner).toBeHidden({ timeout: 15_000 });
});

test('a node that is down from the start is not taken for an empty one', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  await nodes[0].kill();
  const console = await lab.console({ name: 'jobs', nodes });
  await open(page, console);
  await expect(page.getByText(/Not one node of jobs can be asked/)).toBeVisible();
  await expect(page.getByText('jobs: 0 of 1 node answer')).toBeVisible();
});

test('of many groups that cannot be asked the first have a banner each, and the others one together', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  await nodes[0].kill();
  const console = await lab.console(...['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, nodes })));
  await open(page, console);
  await expect(page.getByText(/^Not one node of \w can be asked/)).toHaveCount(3);
  await expect(page.getByRole('alert').filter({ hasText: 'Nor can any node be asked of d, e.' })).toBeVisible();
});
