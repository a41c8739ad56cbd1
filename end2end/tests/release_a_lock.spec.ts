// A person frees a stuck lock, and never the wrong one.
import type { Page } from '@playwright/test';
import { type Lab, type Node, expect, lockPath, open, take, test } from './fixtures';

const key = 'lock:invoice:1842';

async function production(lab: Lab, page: Page, ms?: number): Promise<Node[]> {
  const nodes = await lab.nodes(3);
  const console = await lab.console({ name: 'orders', nodes, environment: 'production' });
  await take(nodes, key, 'a'.repeat(32), ms);
  await expect.poll(() => fetch(`${console.url}/api/v1/locks`).then((answer) => answer.text())).toContain(key);
  await open(page, console, lockPath('orders', key));
  await page.getByRole('button', { name: 'Force release…' }).click();
  return nodes;
}

async function complete(page: Page) {
  await page.getByLabel('Reason').fill('the batch hangs');
  await page.getByLabel("Type the lock's name to confirm").fill(key);
}

test('a reason and the typed name free it, and every node tells what it did', async ({ page, lab }) => {
  const nodes = await production(lab, page);
  const dialog = page.getByRole('dialog', { name: /Release lock:invoice:1842 on 3 nodes of orders \(production\)\?/ });
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await expect(dialog).toContainText('This does not stop the process that believes it holds the lock.');
  await expect(dialog).toContainText('does not expire by itself');
  await expect(dialog).toContainText('finds out only when it next checks, extends or releases the lock');

  const release = dialog.getByRole('button', { name: 'Release', exact: true });
  await expect(release).toBeDisabled();
  await expect(release).toHaveAttribute('title', /Give a reason first/);
  await page.getByLabel('Reason').fill('the batch hangs');
  await expect(release).toHaveAttribute('title', /Type the lock's name to confirm first/);
  await page.getByLabel("Type the lock's name to confirm").fill('lock:invoice:184');
  await expect(release).toBeDisabled();
  await complete(page);
  await expect(release).toBeEnabled();
  await release.click();

  const acts = page.getByRole('list', { name: 'What happened on each node' }).getByRole('listitem');
  await expect(acts).toHaveText([/a\s*released/, /b\s*released/, /c\s*released/]);
  for (const node of nodes) expect(await node.redis.exists(key)).toBe(0);
  await expect(page.getByText('Gone: not observed for one renewal interval.')).toBeVisible({ timeout: 20_000 });
  await page.getByRole('button', { name: 'Close' }).click();
  await expect(page.getByText(/Not observed any more: released at/)).toBeVisible();
});

test('a new owner under the open dialog is named and not touched', async ({ page, lab }) => {
  const nodes = await production(lab, page, 60_000);
  await complete(page);
  const release = page.getByRole('button', { name: 'Release', exact: true });
  await expect(release).toBeEnabled();

  await take(nodes, key, 'b'.repeat(32), 60_000);
  await expect(page.getByText(/The owner changed \d\.\d s ago: owner /)).toBeVisible();
  // What was seen stands still, and the next owner beside it: never one owner's name with the other's times.
  const [seen, now] = ['What you saw', 'Now'].map((name) => page.getByRole('region', { name, exact: true }));
  const fingerprint = (part: typeof seen) => part.locator('dd').nth(1).innerText();
  expect(await fingerprint(seen)).not.toBe(await fingerprint(now));
  const lease = seen.locator('dd').nth(3);
  const before = await lease.innerText();
  await expect(now.locator('dd').nth(2)).toContainText(/^00:0[2-9]/, { timeout: 10_000 });
  expect(await lease.innerText()).toBe(before);
  await expect(release).toBeDisabled();
  await expect(release).toHaveAttribute('title', /The owner changed/);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  const held = now.locator('dd').nth(2);
  const pressed = await held.innerText();
  await page.getByLabel('Reason').press('Enter');
  await expect(held).not.toHaveText(pressed);
  expect(asked.filter((url) => url.includes('force_release'))).toEqual([]);
  for (const node of nodes) expect(await node.redis.get(key)).toBe('b'.repeat(32));
});

test('nodes that cannot be reached are named before the release, and a minority is never called released', async ({ page, lab, complaints }) => {
  complaints.expectRefusal('force_release', 500);
  const nodes = await production(lab, page);
  await nodes[2].kill();
  const title = /Release lock:invoice:1842 on 2 of 3 nodes of orders \(production\)\?/;
  await expect(page.getByRole('dialog', { name: title })).toBeVisible();
  await expect(page.getByText('c cannot be reached and may still hold it.')).toBeVisible();
  await nodes[1].kill();
  await expect(page.getByText('b, c cannot be reached and may still hold it.')).toBeVisible();
  await expect(page.getByText('until they are back, its owner may go on holding the lock')).toBeVisible();
  await complete(page);
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(page.getByRole('dialog', { name: 'Partly released: lock:invoice:1842' })).toBeVisible();
  await expect(page.getByText('2 others may still hold the lock')).toBeVisible();
  await expect(page.getByText('Gone: not observed')).toBeHidden();
});

test('an owner that changes too late to be seen is refused by the nodes and explained', async ({ page, lab, complaints }) => {
  complaints.expectRefusal('force_release', 500);
  const nodes = await production(lab, page, 60_000);
  await complete(page);
  // The page hears nothing any more, as with a slow network.
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { get: () => true });
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
  });
  await take(nodes, key, 'b'.repeat(32), 60_000);
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(page.getByText('The owner is not the one you saw; nothing was touched.')).toBeVisible();
  for (const node of nodes) expect(await node.redis.get(key)).toBe('b'.repeat(32));
});

test('a lock that expires under the open dialog is said to have expired', async ({ page, lab }) => {
  await production(lab, page, 25_000);
  await expect(page.getByText(/expires by itself in 00:[012]\d/)).toBeVisible();
  await complete(page);
  await expect(page.getByText(/It has expired by itself/)).toBeVisible({ timeout: 40_000 });
  await expect(page.getByRole('button', { name: 'Release', exact: true })).toBeDisabled();
});

test('an owner that puts the lock back is caught', async ({ page, lab }) => {
  const nodes = await production(lab, page, 60_000);
  await complete(page);
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(page.getByText(/Not observed since/)).toBeVisible();
  await take(nodes, key, 'a'.repeat(32), 60_000);
  await expect(page.getByText(/Put back by its old owner at \d\d:\d\d:\d\d UTC/)).toBeVisible();
});

test('the next owner is named', async ({ page, lab }) => {
  const nodes = await production(lab, page, 60_000);
  await complete(page);
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(page.getByText(/Not observed since/)).toBeVisible();
  await take(nodes, key, 'd'.repeat(32), 60_000);
  await expect(page.getByText(/Taken by another owner at .*: owner /)).toBeVisible();
});

test('outside production a reason is enough; in a read-only group nothing is', async ({ page, lab }) => {
  const [first, second] = await lab.nodes(2);
  const console = await lab.console(
    { name: 'play', nodes: [first] },
    { name: 'archive', nodes: [second], readOnly: true },
  );
  await take([first, second], key, 'a'.repeat(32), 60_000);
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

test('a release that does harm says so first and asks twice, outside production too', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'play', nodes: [node], keys: ['bull:*'] });
  const job = 'bull:mail:7:lock';
  await node.redis.hset('bull:mail:7', 'name', 'welcome');
  await take([node], job, '6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05', 60_000);
  await open(page, console, lockPath('play', job));
  await page.getByRole('button', { name: 'Force release…' }).click();
  const warning = page.getByRole('dialog', { name: `Releasing ${job} does harm` });
  await expect(warning.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await expect(warning).toContainText('run a second time');
  await warning.getByRole('button', { name: 'Go on all the same…' }).click();

  const release = page.getByRole('button', { name: 'Release', exact: true });
  await page.getByLabel('Reason').fill('its worker is gone');
  await expect(release).toHaveAttribute('title', /Type the lock's name to confirm first/);
  await page.getByLabel("Type the lock's name to confirm").fill(job);
  await release.click();
  await expect(page.getByText('Released on its node')).toBeVisible();
  expect(await node.redis.exists(job)).toBe(0);
});
