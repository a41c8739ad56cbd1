// The page "My locks": acquire, auto-renewal, extend, release and waiting for a lock.
import { acquireLock, expect, open, row, test } from './fixtures';

/** The result of a node. The console does not wait for nodes that are slower than the quorum. */
function nodeResult(node: string, result: string) {
  return new RegExp(`${node}\\s*(${result}|no reply yet)`);
}

test('a lock is acquired, extended and released', async ({ page, servers, browserErrors }) => {
  browserErrors.allowFailedCall('acquire', 500);
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await open(page, console, '/mine');
  await expect(page.getByRole('heading', { name: 'You hold no locks' })).toBeVisible();

  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  const dialog = page.getByRole('dialog', { name: 'Acquire a lock' });
  await expect(dialog.getByLabel('Lock', { exact: true })).toHaveValue('lock:test');
  await dialog.getByLabel('Lease').fill('soon');
  await expect(dialog.getByRole('button', { name: 'Acquire', exact: true })).toBeDisabled();
  await dialog.getByLabel('Lease').fill('900000');
  await dialog.getByLabel('Unit').selectOption('minutes');
  await dialog.getByRole('button', { name: 'Acquire', exact: true }).click();
  await expect(dialog.getByText(/exceeds the maximum lease of this group/)).toBeVisible();
  await dialog.getByLabel('Lease').fill('40');
  await dialog.getByLabel('Unit').selectOption('seconds');
  await dialog.getByLabel('Label (optional)').fill('alice');
  await dialog.getByRole('button', { name: 'Acquire', exact: true }).click();

  await expect(dialog).toBeHidden();
  const card = page.getByRole('article');
  await expect(card).toContainText('observed on 3 of 3 nodes');
  const left = async () => parseInt(await card.getByTitle('time until the lock expires').innerText());
  await expect.poll(left).toBeLessThan(38);
  await card.getByRole('button', { name: 'Extend to 40 s' }).click();
  await expect.poll(left).toBeGreaterThan(37);
  await card.getByText('Result per node').click();
  await expect(card.getByRole('listitem')).toHaveText(['a', 'b', 'c'].map((node) => nodeResult(node, 'extended')));

  await page.getByRole('link', { name: 'Locks', exact: true }).click();
  await expect(row(page, 'lock:test')).toContainText('alice');
  await page.getByRole('link', { name: 'My locks' }).click();

  await page.getByRole('button', { name: 'Release' }).click();
  const result = page.getByRole('status', { name: 'Result' });
  await expect(result.getByRole('listitem')).toHaveText(['a', 'b', 'c'].map((node) => nodeResult(node, 'released')));
  for (const node of nodes) await expect.poll(() => node.redis.exists('lock:test')).toBe(0);
});

test('an auto-renewed lock that is deleted on its nodes is reported as lost', async ({ page, servers, browserErrors }) => {
  browserErrors.allowFailedCall('release_mine', 500);
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await open(page, console, '/mine');
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  const dialog = page.getByRole('dialog', { name: 'Acquire a lock' });
  await dialog.getByLabel('Lease').fill('3');
  await dialog.getByLabel('Label (optional)').fill('alice');
  await dialog.getByLabel('Auto-renew').check();
  await dialog.getByRole('button', { name: 'Acquire', exact: true }).click();

  const card = page.getByRole('article');
  await expect(card).toContainText('3 s lease, auto-renewed by the console');
  await expect(card).toContainText(/fencing token \d+/);
  const renewals = async () => Number((await card.innerText()).match(/renewed (\d+) times/)?.[1]);
  await expect.poll(renewals).toBeGreaterThan(4);
  for (const node of nodes) expect(await node.redis.pttl('lock:test')).toBeGreaterThan(0);
  await page.reload();
  await expect.poll(renewals).toBeGreaterThan(5);

  await Promise.all(nodes.map((node) => node.redis.del('lock:test')));
  const lost = card.getByRole('alert');
  await expect(lost).toContainText('Lock lost: the lock no longer exists on the nodes');
  await expect(card.getByRole('button', { name: 'Extend to 3 s' })).toBeDisabled();
  for (const node of nodes) expect(await node.redis.exists('lock:test')).toBe(0);

  // The loss is reported on other pages too.
  const banner = page.getByRole('alert').filter({ hasText: 'auto-renewed by this console for alice, was lost at' });
  await page.getByRole('link', { name: 'Nodes', exact: true }).click();
  await expect(banner).toBeVisible();
  await banner.getByRole('button', { name: 'Dismiss' }).click();
  await expect(banner).toBeHidden();

  await page.getByRole('link', { name: 'My locks' }).click();
  await expect(lost).toBeVisible();
  await card.getByRole('button', { name: 'Release the rest' }).click();
  await expect(page.getByRole('status', { name: 'Result' })).toContainText('The lock is not held.');
  await expect(card).toHaveCount(0);
});

test('a waiter acquires the lock when it is released, and a cancelled waiter does not', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:test', 'other-owner', 60_000);
  await open(page, console, '/mine');
  const dialog = page.getByRole('dialog', { name: 'Acquire a lock' });
  const acquireAndWait = async () => {
    await page.getByRole('button', { name: 'Acquire a lock' }).click();
    await dialog.getByLabel('Maximum wait').fill('30');
    await dialog.getByRole('button', { name: 'Acquire', exact: true }).click();
    await expect(dialog.getByRole('button', { name: 'Querying the nodes…' })).toBeVisible();
  };
  await acquireAndWait();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(dialog).toBeHidden();
  await acquireAndWait();
  await nodes[0].redis.del('lock:test');
  await expect(page.getByRole('article')).toHaveCount(1);
  await page.getByRole('button', { name: 'Release' }).click();
  await expect(page.getByRole('status', { name: 'Result' })).toContainText('Released.');
  // The cancelled waiter has not acquired the lock.
  await page.reload();
  await expect(page.getByRole('heading', { name: 'You hold no locks' })).toBeVisible();
  expect(await nodes[0].redis.exists('lock:test')).toBe(0);
});

test('the token is copied to the clipboard once and is never part of the page', async ({ page, context, servers }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await open(page, console);
  await page.getByRole('button', { name: 'Acquire a test lock' }).click();
  await page.getByRole('button', { name: 'Acquire', exact: true }).click();
  const copy = page.getByRole('button', { name: 'Copy token (once)' });
  await copy.click();
  await expect(page.getByText('The token was copied to the clipboard.')).toBeVisible();
  const token = await page.evaluate(() => navigator.clipboard.readText());
  expect(token.length).toBeGreaterThan(16);
  expect(await nodes[0].redis.get('lock:test')).toBe(token);
  expect(await page.content()).not.toContain(token);
  await expect(copy).toBeDisabled();
  await page.reload();
  await expect(copy).toBeDisabled();
  await expect(copy).toHaveAttribute('title', /copied only once/);
});

test('an acquire of a held lock is rejected with its owner and lease', async ({ page, servers, browserErrors }) => {
  browserErrors.allowFailedCall('acquire', 500);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:test', 'other-owner', 60_000);
  await open(page, console, '/mine');
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  await page.getByRole('button', { name: 'Acquire', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('alert')).toContainText('The lock is held by another owner.');
  await expect(dialog.getByRole('alert')).toContainText(/Held by .*, (\d+ s|1 min) left/);
});
