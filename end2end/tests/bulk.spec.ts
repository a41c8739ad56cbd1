// A person releases many stuck locks in one go, sees first what would happen, and stops in the middle.
import type { Page } from '@playwright/test';

import { expect, isLive, open, row, take, test } from './fixtures';

const keys = ['lock:a', 'lock:b', 'lock:c', 'lock:d', 'lock:e'];

/** The box of one lock. */
const box = (name: string) => ({ name: `Select ${name}`, exact: true });

test('what would happen is shown first, a changed owner is left alone, and the report says so', async ({ page, lab, complaints }) => {
  complaints.expectRefusal('force_release', 500);
  const nodes = await lab.nodes(3);
  const console = await lab.console({ name: 'orders', nodes, environment: 'production' });
  for (const key of keys) await take(nodes, key, `${key}-`.repeat(6), 600_000);
  await open(page, console, '/?sort=key');
  for (const key of keys) await expect(row(page, key)).toBeVisible();

  // From b to d with the shift key, and a besides.
  await page.getByRole('checkbox', box('lock:b')).click();
  await page.getByRole('checkbox', box('lock:d')).click({ modifiers: ['Shift'] });
  await page.getByRole('checkbox', box('lock:a')).click();
  const bar = page.getByRole('region', { name: 'Selected locks' });
  await expect(bar).toContainText('4 locks selected');
  await bar.getByRole('button', { name: 'Release…' }).click();

  await expect(page.getByRole('dialog', { name: 'Release 4 locks?' })).toBeVisible();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await expect(dialog).toContainText('4 would be released.');
  await expect(dialog).toContainText('nothing of it can be undone');
  await expect(dialog.getByRole('row').filter({ hasText: 'lock:c' })).toContainText('would be released on 3 of 3 nodes');
  for (const node of nodes) expect(await node.redis.exists(...keys)).toBe(5);

  // One gets another owner while somebody decides.
  await take(nodes, 'lock:c', 'somebody-else', 600_000);
  await expect(dialog.getByRole('row').filter({ hasText: 'lock:c' })).toContainText('the owner changed since');
  await expect(dialog).toContainText('3 would be released, 1 left alone.');

  const release = dialog.getByRole('button', { name: 'Release 3 of 4', exact: true });
  await expect(release).toHaveAttribute('title', /Give a reason first/);
  await dialog.getByLabel('Reason').fill('the batch hangs');
  await expect(release).toHaveAttribute('title', 'Type “release 3” to confirm');
  await dialog.getByLabel('Type “release 3” to confirm').fill('release 3');
  await release.click();

  await expect(dialog.getByRole('status').first()).toContainText('3 released, 1 left alone, 0 not tried.');
  await expect(page.getByRole('dialog', { name: '3 of 4 locks released' })).toBeVisible();
  await expect(dialog.getByRole('row').filter({ hasText: 'lock:a' })).toContainText('released on 3 of 3 nodes');
  await expect(dialog.getByRole('row').filter({ hasText: 'lock:c' })).toContainText('left alone: The owner is not the one you saw');
  for (const node of nodes) {
    expect(await node.redis.exists('lock:a', 'lock:b', 'lock:d')).toBe(0);
    expect(await node.redis.get('lock:c')).toBe('somebody-else');
    expect(await node.redis.exists('lock:e')).toBe(1);
  }

  const [file] = await Promise.all([page.waitForEvent('download'), dialog.getByRole('link', { name: 'Download the report' }).click()]);
  expect(file.suggestedFilename()).toBe('released-locks.csv');
  const text = await (await file.createReadStream()).toArray();
  expect(Buffer.concat(text).toString()).toContain('"orders","lock:a"');
  await dialog.getByRole('button', { name: 'Close' }).click();
  await expect(dialog).toBeHidden();

  // Each of them is in the audit, with the reason.
  await page.getByRole('link', { name: 'Audit' }).click();
  await expect(page.getByText('the batch hangs')).toHaveCount(4);
});

test('stop ends it after the lock that is on its way', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes });
  for (const key of keys) await take(nodes, key, 'x'.repeat(32), 600_000);
  await open(page, console, '/?sort=key');
  await expect(row(page, 'lock:e')).toBeVisible();
  await page.getByRole('checkbox', { name: 'Select all that are shown' }).click();
  await page.getByRole('region', { name: 'Selected locks' }).getByRole('button', { name: 'Release…' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('5 would be released.');
  await dialog.getByLabel('Reason').fill('a test');

  // The answer to the third is held back, so that there is a middle to stop in.
  let go = () => {};
  const held = new Promise<void>((done) => (go = done));
  let asked = 0;
  await page.route('**/_fn/force_release*', async (route) => {
    asked += 1;
    if (asked === 3) await held;
    await route.continue();
  });
  await dialog.getByRole('button', { name: 'Release 5', exact: true }).click();
  await expect(dialog.getByRole('status').first()).toContainText('2 of 5 done');
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await expect(dialog.getByRole('button', { name: 'Stopping after this one…' })).toBeVisible();
  go();
  await expect(dialog.getByRole('status').first()).toContainText('Stopped. 3 released, 0 left alone, 2 not tried.');
  expect(await nodes[0].redis.exists(...keys)).toBe(2);
  expect(asked).toBe(3);
});

test('all of a list that is longer than what is shown can be selected, up to what is released in one go', async ({ page, lab }) => {
  test.setTimeout(180_000);
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes: [node] });
  const fill = async (from: number, to: number) => {
    const pipeline = node.redis.pipeline();
    for (let n = from; n < to; n++) pipeline.set(`lock:job:${String(n).padStart(4, '0')}`, `token-${n}`, 'PX', 600_000);
    await pipeline.exec();
  };
  await fill(0, 230);
  await open(page, console, '/?sort=key');
  await expect(page.getByText('230 locks', { exact: true })).toBeVisible();
  const all = page.getByRole('checkbox', { name: 'Select all that are shown' });
  await all.click();
  const bar = page.getByRole('region', { name: 'Selected locks' });
  await expect(bar.getByRole('status')).toHaveText(/^\d+ locks selected of 230 in the list$/);
  await bar.getByRole('button', { name: 'Select all 230 that match' }).click();
  await expect(bar.getByRole('status')).toHaveText('230 locks selected');
  await bar.getByRole('button', { name: 'Release…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Release 230 locks?' });
  await expect(dialog).toContainText('230 would be released.');
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  // More than go together: the limit is said, and none beyond it is picked.
  await bar.getByRole('button', { name: 'Clear' }).click();
  await fill(230, 520);
  const total = () => fetch(`${console.url}/api/v1/locks?limit=1`).then(async (answer) => (await answer.json()).total);
  await expect.poll(total).toBe(520);
  await page.reload();
  await isLive(page);
  await expect(page.getByText('520 locks', { exact: true })).toBeVisible();
  await all.click();
  await bar.getByRole('button', { name: 'Select the first 500, the most in one go' }).click();
  await expect(bar.getByRole('status')).toHaveText('500 locks selected of 520 in the list');
  await expect(page.getByRole('checkbox', box('lock:job:0000'))).toBeChecked();
  await expect(bar.getByRole('button', { name: 'Release…' })).not.toHaveAttribute('aria-disabled', 'true');
});

test('what was selected and typed is still there after a new sign-in', async ({ page, lab, complaints }) => {
  complaints.expectRefusal('force_release', 401);
  const nodes = await lab.nodes(1);
  const password = 'correct horse battery';
  const console = await lab.consoleFor([{ name: 'otto', password, role: 'operator' }], { name: 'orders', nodes });
  for (const key of keys) await take(nodes, key, 'x'.repeat(32), 600_000);
  const signIn = async (page: Page) => {
    await page.getByLabel('Name', { exact: true }).fill('otto');
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await isLive(page);
  };
  await page.goto(`${console.url}/?sort=key`);
  await signIn(page);
  await page.getByRole('checkbox', box('lock:a')).click();
  await page.getByRole('checkbox', box('lock:b')).click();
  await page.getByRole('region', { name: 'Selected locks' }).getByRole('button', { name: 'Release…' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('2 would be released.');
  await dialog.getByLabel('Reason').fill('the batch hangs');
  await page.context().clearCookies();
  await dialog.getByRole('button', { name: 'Release 2', exact: true }).click();
  await expect(dialog.getByRole('status').first()).toContainText('Stopped. 0 released, 0 left alone, 2 not tried.');
  const opened = page.context().waitForEvent('page');
  await dialog.getByRole('link', { name: 'Sign in' }).click();
  await signIn(await opened);
  await page.bringToFront();
  await page.reload();
  await expect(dialog).toContainText('2 would be released.');
  await expect(dialog.getByLabel('Reason')).toHaveValue('the batch hangs');
  await dialog.getByRole('button', { name: 'Release 2', exact: true }).click();
  await expect(dialog.getByRole('status').first()).toContainText('2 released, 0 left alone, 0 not tried.');
  expect(await nodes[0].redis.exists('lock:a', 'lock:b')).toBe(0);
});

test('the way back closes the dialog and stays on the page; a viewer picks nothing', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'archive', nodes, readOnly: true }, { name: 'orders', nodes: await lab.nodes(1) });
  await take(nodes, 'lock:a', 'x'.repeat(32), 600_000);
  await open(page, console, '/nodes');
  await page.getByRole('link', { name: 'Locks', exact: true }).click();
  const picked = page.getByRole('checkbox', box('lock:a'));
  await expect(picked).toHaveAttribute('title', /read-only/);
  await picked.click({ force: true });
  await expect(picked).not.toBeChecked();
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  await expect(page.getByRole('dialog')).toBeVisible();
  await page.goBack();
  await expect(page.getByRole('dialog')).toBeHidden();
  await expect(page).toHaveURL(`${console.url}/`);
  await page.goBack();
  await expect(page).toHaveURL(`${console.url}/nodes`);
});
