// A person takes a lock from the console, keeps it and gives it back.
import { expect, open, row, take, test } from './fixtures';

test('a lock is acquired, extended and released', async ({ page, lab }) => {
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
  await expect(card.getByRole('listitem')).toHaveText([/a\s*extended/, /b\s*extended/, /c\s*extended/]);

  await page.getByRole('link', { name: 'Locks', exact: true }).click();
  await expect(row(page, 'lock:test')).toContainText('alice');
  await page.getByRole('link', { name: 'Mine' }).click();

  await page.getByRole('button', { name: 'Release' }).click();
  const end = page.getByRole('status', { name: 'How it ended' });
  await expect(end.getByRole('listitem')).toHaveText([/a\s*released/, /b\s*released/, /c\s*released/]);
  for (const node of nodes) expect(await node.redis.exists('lock:test')).toBe(0);
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

test('a lock that somebody holds is refused with owner and lease', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await take(nodes, 'lock:test', 'somebody-else', 60_000);
  await open(page, console, '/mine');
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  await page.getByRole('button', { name: 'Acquire', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('alert')).toContainText('The lock is held by somebody else.');
  await expect(dialog.getByRole('alert')).toContainText(/Held by .*, for another (5\d s|1 min)/);
});
