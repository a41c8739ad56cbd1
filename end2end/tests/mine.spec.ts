// A person takes a lock from the console, keeps it and gives it back.
import { expect, open, row, take, test } from './fixtures';

/** What a node did; one that is slower than the quorum is not waited for. */
function done(node: string, what: string) {
  return new RegExp(`${node}\\s*(${what}|had not answered yet)`);
}

test('a lock is acquired, extended and released', async ({ page, lab, complaints }) => {
  complaints.expectRefusal('acquire', 500);
  const nodes = await lab.nodes(3);
  const console = await lab.console({ name: 'orders', nodes });
  await open(page, console, '/mine');
  await expect(page.getByRole('heading', { name: 'No lock was acquired from here' })).toBeVisible();

  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  const dialog = page.getByRole('dialog', { name: 'Acquire a lock' });
  await expect(dialog.getByLabel('Lock', { exact: true })).toHaveValue('lock:test');
  await dialog.getByLabel('For how long').fill('soon');
  await expect(dialog.getByRole('button', { name: 'Acquire', exact: true })).toBeDisabled();
  await dialog.getByLabel('For how long').fill('900000');
  await dialog.getByLabel('Unit').selectOption('minutes');
  await dialog.getByRole('button', { name: 'Acquire', exact: true }).click();
  await expect(dialog.getByText(/is beyond the longest lease of this group/)).toBeVisible();
  await dialog.getByLabel('For how long').fill('40');
  await dialog.getByLabel('Unit').selectOption('seconds');
  await dialog.getByLabel('Label (optional)').fill('alice');
  await dialog.getByRole('button', { name: 'Acquire', exact: true }).click();

  await expect(dialog).toBeHidden();
  const card = page.getByRole('article');
  await expect(card).toContainText('seen on 3 of 3 nodes');
  const left = async () => Number((await card.innerText()).match(/00:(\d\d)/)?.[1]);
  await expect.poll(left).toBeLessThan(38);
  await card.getByRole('button', { name: 'Extend by 40 s' }).click();
  await expect.poll(left).toBeGreaterThan(37);
  await card.getByText('What the nodes did').click();
  await expect(card.getByRole('listitem')).toHaveText(['a', 'b', 'c'].map((node) => done(node, 'extended')));

  await page.getByRole('link', { name: 'Locks', exact: true }).click();
  await expect(row(page, 'lock:test')).toContainText('alice');
  await page.getByRole('link', { name: 'Mine' }).click();

  await page.getByRole('button', { name: 'Release' }).click();
  const end = page.getByRole('status', { name: 'How it ended' });
  await expect(end.getByRole('listitem')).toHaveText(['a', 'b', 'c'].map((node) => done(node, 'released')));
  for (const node of nodes) await expect.poll(() => node.redis.exists('lock:test')).toBe(0);
});

test('a lock is kept, lost behind its back, and said to be lost', async ({ page, lab, complaints }) => {
  complaints.expectRefusal('release_mine', 500);
  const nodes = await lab.nodes(3);
  const console = await lab.console({ name: 'orders', nodes });
  await open(page, console, '/mine');
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  const dialog = page.getByRole('dialog', { name: 'Acquire a lock' });
  await dialog.getByLabel('For how long').fill('3');
  await dialog.getByLabel('Label (optional)').fill('alice');
  await dialog.getByLabel('Keep it: renew at a third of the lease').check();
  await dialog.getByRole('button', { name: 'Acquire', exact: true }).click();

  const card = page.getByRole('article');
  await expect(card).toContainText('Taken for 3 s, kept by the console');
  await expect(card).toContainText(/fencing token \d+/);
  const renewed = async () => Number((await card.innerText()).match(/renewed (\d+) times/)?.[1]);
  await expect.poll(renewed).toBeGreaterThan(4);
  for (const node of nodes) expect(await node.redis.pttl('lock:test')).toBeGreaterThan(0);
  await page.reload();
  await expect.poll(renewed).toBeGreaterThan(5);

  await Promise.all(nodes.map((node) => node.redis.del('lock:test')));
  const lost = card.getByRole('alert');
  await expect(lost).toContainText('Lost: it is gone from the nodes');
  await expect(card.getByRole('button', { name: 'Extend by 3 s' })).toBeDisabled();
  for (const node of nodes) expect(await node.redis.exists('lock:test')).toBe(0);

  // Whoever looks at another page is told as well.
  const banner = page.getByRole('alert').filter({ hasText: 'kept by this console for alice, was lost at' });
  await page.getByRole('link', { name: 'Nodes', exact: true }).click();
  await expect(banner).toBeVisible();
  await banner.getByRole('button', { name: 'Dismiss' }).click();
  await expect(banner).toBeHidden();

  await page.getByRole('link', { name: 'Mine' }).click();
  await expect(lost).toBeVisible();
  await card.getByRole('button', { name: 'Release what is left' }).click();
  await expect(page.getByRole('status', { name: 'How it ended' })).toContainText('The lock is not held.');
  await expect(card).toHaveCount(0);
});

test('one who waits for a lock gets it when it is free, and one who leaves does not', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await take(nodes, 'lock:test', 'somebody-else', 60_000);
  await open(page, console, '/mine');
  const dialog = page.getByRole('dialog', { name: 'Acquire a lock' });
  const wait = async () => {
    await page.getByRole('button', { name: 'Acquire a lock' }).click();
    await dialog.getByLabel('Wait up to').fill('30');
    await dialog.getByRole('button', { name: 'Acquire', exact: true }).click();
    await expect(dialog.getByRole('button', { name: 'Asking the nodes…' })).toBeVisible();
  };
  await wait();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(dialog).toBeHidden();
  await wait();
  await nodes[0].redis.del('lock:test');
  await expect(page.getByRole('article')).toHaveCount(1);
  await page.getByRole('button', { name: 'Release' }).click();
  await expect(page.getByRole('status', { name: 'How it ended' })).toContainText('Released.');
  // Nobody else was waiting any more.
  await page.reload();
  await expect(page.getByRole('heading', { name: 'No lock was acquired from here' })).toBeVisible();
  expect(await nodes[0].redis.exists('lock:test')).toBe(0);
});

test('the token goes to the clipboard once and never to the page', async ({ page, context, lab }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await open(page, console);
  await page.getByRole('button', { name: 'Acquire a test lock' }).click();
  await page.getByRole('button', { name: 'Acquire', exact: true }).click();
  const copy = page.getByRole('button', { name: 'Copy token once' });
  await copy.click();
  await expect(page.getByText('The token is on the clipboard.')).toBeVisible();
  const token = await page.evaluate(() => navigator.clipboard.readText());
  expect(token.length).toBeGreaterThan(16);
  expect(await nodes[0].redis.get('lock:test')).toBe(token);
  expect(await page.content()).not.toContain(token);
  await expect(copy).toBeDisabled();
  await page.reload();
  await expect(copy).toBeDisabled();
  await expect(copy).toHaveAttribute('title', /handed out once/);
});

test('a lock that somebody holds is refused with owner and lease', async ({ page, lab, complaints }) => {
  complaints.expectRefusal('acquire', 500);
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await take(nodes, 'lock:test', 'somebody-else', 60_000);
  await open(page, console, '/mine');
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  await page.getByRole('button', { name: 'Acquire', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('alert')).toContainText('The lock is held by somebody else.');
  await expect(dialog.getByRole('alert')).toContainText(/Held by .*, for another (\d+ s|1 min)/);
});
