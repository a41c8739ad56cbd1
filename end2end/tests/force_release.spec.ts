// The force release of a lock: confirmation, results per node, and owners that change meanwhile.
import type { Page } from '@playwright/test';
import { acquireLock, expect, lockPath, open, type RedisNode, test, type TestServers } from './fixtures';

const key = 'lock:invoice:1842';

/** Opens the force-release dialog for a lock in a production group of three nodes. */
async function openProductionDialog(servers: TestServers, page: Page, ms?: number): Promise<RedisNode[]> {
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes, environment: 'production' });
  await acquireLock(nodes, key, 'a'.repeat(32), ms);
  await expect.poll(() => fetch(`${console.url}/api/v1/locks`).then((response) => response.text())).toContain(key);
  await open(page, console, lockPath('orders', key));
  await page.getByRole('button', { name: 'Force release…' }).click();
  return nodes;
}

async function fillConfirmation(page: Page) {
  await page.getByLabel('Reason').fill('the batch hangs');
  await page.getByLabel("Type the lock's name to confirm").fill(key);
}

test('a release requires a reason and the name of the lock, and shows the result of every node', async ({ page, servers }) => {
  const nodes = await openProductionDialog(servers, page);
  const dialog = page.getByRole('dialog', { name: /Release lock:invoice:1842 on 3 nodes of orders \(production\)\?/ });
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await expect(dialog).toContainText('The process keeps running and may still believe that it holds the lock.');
  await expect(dialog).toContainText('does not expire');
  await expect(dialog).toContainText('finds out only when it next checks, extends or releases the lock');

  const release = dialog.getByRole('button', { name: 'Release', exact: true });
  await expect(release).toBeDisabled();
  await expect(release).toHaveAttribute('title', /Enter a reason/);
  await page.getByLabel('Reason').fill('the batch hangs');
  await expect(release).toHaveAttribute('title', /Type the lock's name to confirm first/);
  await page.getByLabel("Type the lock's name to confirm").fill('lock:invoice:184');
  await expect(release).toBeDisabled();
  await fillConfirmation(page);
  await expect(release).toBeEnabled();
  await release.click();

  const results = page.getByRole('list', { name: 'Result per node' }).getByRole('listitem');
  await expect(results).toHaveText([/a\s*released/, /b\s*released/, /c\s*released/]);
  for (const node of nodes) expect(await node.redis.exists(key)).toBe(0);
  await expect(page.getByText('Released. The lock was not created again within one renewal interval.')).toBeVisible({ timeout: 20_000 });
  await page.getByRole('button', { name: 'Close' }).click();
  await expect(page.getByText(/No longer observed: released at/)).toBeVisible();
});

test('a new owner while the dialog is open is shown and keeps the lock', async ({ page, servers }) => {
  const nodes = await openProductionDialog(servers, page, 60_000);
  await fillConfirmation(page);
  const release = page.getByRole('button', { name: 'Release', exact: true });
  await expect(release).toBeEnabled();

  await acquireLock(nodes, key, 'b'.repeat(32), 60_000);
  await expect(page.getByText(/The owner changed \d\.\d s ago to owner /)).toBeVisible();
  // The previous owner's details stay as they were, beside those of the new owner; they are never
  // mixed.
  const [previous, current] = ['Before', 'Now'].map((name) => page.getByRole('region', { name, exact: true }));
  const fingerprint = (region: typeof previous) => region.locator('dd').nth(1).innerText();
  expect(await fingerprint(previous)).not.toBe(await fingerprint(current));
  const lease = previous.locator('dd').nth(3);
  const before = await lease.innerText();
  await expect(current.locator('dd').nth(2)).toContainText(/^[2-9] s/, { timeout: 10_000 });
  expect(await lease.innerText()).toBe(before);
  await expect(release).toBeDisabled();
  await expect(release).toHaveAttribute('title', /The owner changed .* ago to /);
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  const heldFor = current.locator('dd').nth(2);
  const heldForBefore = await heldFor.innerText();
  await page.getByLabel('Reason').press('Enter');
  await expect(heldFor).not.toHaveText(heldForBefore);
  expect(requests.filter((url) => url.includes('force_release'))).toEqual([]);
  for (const node of nodes) expect(await node.redis.get(key)).toBe('b'.repeat(32));
});

test('unreachable nodes are listed before the release, and a release on a minority is reported as partial', async ({ page, servers, browserErrors }) => {
  browserErrors.allowFailedCall('force_release', 500);
  const nodes = await openProductionDialog(servers, page);
  await nodes[2].kill();
  const title = /Release lock:invoice:1842 on 2 of 3 nodes of orders \(production\)\?/;
  await expect(page.getByRole('dialog', { name: title })).toBeVisible();
  await expect(page.getByText('c cannot be reached and may still hold the lock.')).toBeVisible();
  await nodes[1].kill();
  await expect(page.getByText('b, c cannot be reached and may still hold the lock.')).toBeVisible();
  await expect(page.getByText('the owner may keep the lock until they are back')).toBeVisible();
  await fillConfirmation(page);
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(page.getByRole('dialog', { name: 'Partially released: lock:invoice:1842' })).toBeVisible();
  await expect(page.getByText('2 other nodes may still hold the lock')).toBeVisible();
  await expect(page.getByText('The lock was not created again')).toBeHidden();
});

test('a change of the owner that the page has not received is rejected by the nodes and explained', async ({ page, servers, browserErrors }) => {
  browserErrors.allowFailedCall('force_release', 500);
  const nodes = await openProductionDialog(servers, page, 60_000);
  await fillConfirmation(page);
  // A hidden page receives no updates, as with a slow network.
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { get: () => true });
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
  });
  await acquireLock(nodes, key, 'b'.repeat(32), 60_000);
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(page.getByText('The lock now has another owner; nothing was changed.')).toBeVisible();
  for (const node of nodes) expect(await node.redis.get(key)).toBe('b'.repeat(32));
});

test('a lock that expires while the dialog is open is reported as expired', async ({ page, servers }) => {
  await openProductionDialog(servers, page, 25_000);
  await expect(page.getByText(/expires in \d+ s/)).toBeVisible();
  await fillConfirmation(page);
  await expect(page.getByText(/The lock expired/)).toBeVisible({ timeout: 40_000 });
  await expect(page.getByRole('button', { name: 'Release', exact: true })).toBeDisabled();
});

test('the dialog reports that the old owner created the lock again', async ({ page, servers }) => {
  const nodes = await openProductionDialog(servers, page, 60_000);
  await fillConfirmation(page);
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(page.getByText(/Not observed since/)).toBeVisible();
  await acquireLock(nodes, key, 'a'.repeat(32), 60_000);
  await expect(page.getByText(/The old owner created the lock again at \d\d:\d\d:\d\d UTC/)).toBeVisible();
});

test('the dialog reports the next owner', async ({ page, servers }) => {
  const nodes = await openProductionDialog(servers, page, 60_000);
  await fillConfirmation(page);
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(page.getByText(/Not observed since/)).toBeVisible();
  await acquireLock(nodes, key, 'd'.repeat(32), 60_000);
  await expect(page.getByText(/Acquired by another owner at .*: owner /)).toBeVisible();
});

test('outside production a reason is sufficient, and a read-only group permits no release', async ({ page, servers }) => {
  const [first, second] = await servers.startNodes(2);
  const console = await servers.startConsole(
    { name: 'play', nodes: [first] },
    { name: 'archive', nodes: [second], readOnly: true },
  );
  await acquireLock([first, second], key, 'a'.repeat(32), 60_000);
  await open(page, console, lockPath('play', key));
  await page.getByRole('button', { name: 'Force release…' }).click();
  await page.getByLabel('Reason').fill('a test');
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(page.getByText('Released on its node')).toBeVisible();
  expect(await first.redis.exists(key)).toBe(0);

  await open(page, console, lockPath('archive', key));
  const release = page.getByRole('button', { name: 'Force release…' });
  await expect(release).toBeDisabled();
  await expect(release).toHaveAttribute('title', /read-only/);
});

test('a release with side effects requires a second confirmation outside production too', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'play', nodes: [node], keys: ['bull:*'] });
  const job = 'bull:mail:7:lock';
  await node.redis.hset('bull:mail:7', 'name', 'welcome');
  await acquireLock([node], job, '6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05', 60_000);
  await open(page, console, lockPath('play', job));
  await page.getByRole('button', { name: 'Force release…' }).click();
  const warning = page.getByRole('dialog', { name: `Releasing ${job} has side effects` });
  await expect(warning.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await expect(warning).toContainText('run again');
  await warning.getByRole('button', { name: 'Continue anyway…' }).click();

  const release = page.getByRole('button', { name: 'Release', exact: true });
  await page.getByLabel('Reason').fill('its worker is gone');
  await expect(release).toHaveAttribute('title', /Type the lock's name to confirm first/);
  await page.getByLabel("Type the lock's name to confirm").fill(job);
  await release.click();
  await expect(page.getByText('Released on its node')).toBeVisible();
  expect(await node.redis.exists(job)).toBe(0);
});
