// The bulk release: selection, preview, result, and stopping before the end.
import type { Page } from '@playwright/test';

import { acquireLock, expect, open, row, test, waitUntilLive } from './fixtures';

const keys = ['lock:a', 'lock:b', 'lock:c', 'lock:d', 'lock:e'];

/** The accessible name of the checkbox of a lock. */
const checkboxOf = (name: string) => ({ name: `Select ${name}`, exact: true });

test('a bulk release is previewed and skips a lock whose owner changed', async ({ page, servers, browserErrors }) => {
  browserErrors.allowFailedCall('force_release', 500);
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes, environment: 'production' });
  for (const key of keys) await acquireLock(nodes, key, `${key}-`.repeat(6), 600_000);
  await open(page, console, '/?sort=key');
  for (const key of keys) await expect(row(page, key)).toBeVisible();

  // Selects b to d with the Shift key, and then a.
  await page.getByRole('checkbox', checkboxOf('lock:b')).click();
  await page.getByRole('checkbox', checkboxOf('lock:d')).click({ modifiers: ['Shift'] });
  await page.getByRole('checkbox', checkboxOf('lock:a')).click();
  const bar = page.getByRole('region', { name: 'Selected locks' });
  await expect(bar).toContainText('4 locks selected');
  await bar.getByRole('button', { name: 'Release…' }).click();

  await expect(page.getByRole('dialog', { name: 'Release 4 locks?' })).toBeVisible();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await expect(dialog).toContainText('4 would be released.');
  await expect(dialog).toContainText('This cannot be undone');
  await expect(dialog.getByRole('row').filter({ hasText: 'lock:c' })).toContainText('would be released on 3 of 3 nodes');
  for (const node of nodes) expect(await node.redis.exists(...keys)).toBe(5);

  // One lock gets another owner while the dialog is open.
  await acquireLock(nodes, 'lock:c', 'other-owner', 600_000);
  await expect(dialog.getByRole('row').filter({ hasText: 'lock:c' })).toContainText('owner changed: will be skipped');
  await expect(dialog).toContainText('3 would be released, 1 skipped.');

  const release = dialog.getByRole('button', { name: 'Release 3 of 4', exact: true });
  await expect(release).toHaveAttribute('title', /Enter a reason/);
  await dialog.getByLabel('Reason').fill('the batch hangs');
  await expect(release).toHaveAttribute('title', 'Type “release 3” to confirm');
  await dialog.getByLabel('Type “release 3” to confirm').fill('release 3');
  await release.click();

  await expect(dialog.getByRole('status').first()).toContainText('3 released, 1 skipped, 0 not tried.');
  await expect(page.getByRole('dialog', { name: '3 of 4 locks released' })).toBeVisible();
  await expect(dialog.getByRole('row').filter({ hasText: 'lock:a' })).toContainText('released on 3 of 3 nodes');
  await expect(dialog.getByRole('row').filter({ hasText: 'lock:c' })).toContainText('skipped: The lock now has another owner');
  for (const node of nodes) {
    expect(await node.redis.exists('lock:a', 'lock:b', 'lock:d')).toBe(0);
    expect(await node.redis.get('lock:c')).toBe('other-owner');
    expect(await node.redis.exists('lock:e')).toBe(1);
  }

  const [download] = await Promise.all([page.waitForEvent('download'), dialog.getByRole('link', { name: 'Download report' }).click()]);
  expect(download.suggestedFilename()).toBe('released-locks.csv');
  const report = await (await download.createReadStream()).toArray();
  expect(Buffer.concat(report).toString()).toContain('"orders","lock:a"');
  await dialog.getByRole('button', { name: 'Close' }).click();
  await expect(dialog).toBeHidden();

  // Each lock has an audit entry with the reason.
  await page.getByRole('link', { name: 'Audit' }).click();
  await expect(page.getByText('the batch hangs')).toHaveCount(4);
});

test('stop ends a bulk release after the current lock', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  for (const key of keys) await acquireLock(nodes, key, 'x'.repeat(32), 600_000);
  await open(page, console, '/?sort=key');
  await expect(row(page, 'lock:e')).toBeVisible();
  await page.getByRole('checkbox', { name: 'Select all shown' }).click();
  await page.getByRole('region', { name: 'Selected locks' }).getByRole('button', { name: 'Release…' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('5 would be released.');
  await dialog.getByLabel('Reason').fill('a test');

  // The third response is delayed, so that the release can be stopped before its end.
  let resume = () => {};
  const resumed = new Promise<void>((resolve) => (resume = resolve));
  let requests = 0;
  await page.route('**/_fn/force_release*', async (route) => {
    requests += 1;
    if (requests === 3) await resumed;
    await route.continue();
  });
  await dialog.getByRole('button', { name: 'Release 5', exact: true }).click();
  await expect(dialog.getByRole('status').first()).toContainText('2 of 5 done');
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await expect(dialog.getByRole('button', { name: 'Stopping after the current lock…' })).toBeVisible();
  resume();
  await expect(dialog.getByRole('status').first()).toContainText('Stopped. 3 released, 0 skipped, 2 not tried.');
  expect(await nodes[0].redis.exists(...keys)).toBe(2);
  expect(requests).toBe(3);
});

test('all locks of a list longer than the screen can be selected, up to the limit', async ({ page, servers }) => {
  test.setTimeout(180_000);
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes: [node] });
  const fill = async (from: number, to: number) => {
    const pipeline = node.redis.pipeline();
    for (let n = from; n < to; n++) pipeline.set(`lock:job:${String(n).padStart(4, '0')}`, `token-${n}`, 'PX', 600_000);
    await pipeline.exec();
  };
  await fill(0, 230);
  await open(page, console, '/?sort=key');
  await expect(page.getByText('230 locks', { exact: true })).toBeVisible();
  const all = page.getByRole('checkbox', { name: 'Select all shown' });
  await all.click();
  const bar = page.getByRole('region', { name: 'Selected locks' });
  await expect(bar.getByRole('status')).toHaveText(/^\d+ locks selected of 230 in the list$/);
  await bar.getByRole('button', { name: 'Select all 230 matching locks' }).click();
  await expect(bar.getByRole('status')).toHaveText('230 locks selected');
  await bar.getByRole('button', { name: 'Release…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Release 230 locks?' });
  await expect(dialog).toContainText('230 would be released.');
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  // Above the limit, the button states the limit and selects no further lock.
  await bar.getByRole('button', { name: 'Clear' }).click();
  await fill(230, 520);
  const total = () => fetch(`${console.url}/api/v1/locks?limit=1`).then(async (response) => (await response.json()).total);
  await expect.poll(total).toBe(520);
  await page.reload();
  await waitUntilLive(page);
  await expect(page.getByText('520 locks', { exact: true })).toBeVisible();
  await all.click();
  await bar.getByRole('button', { name: 'Select the first 500 (limit)' }).click();
  await expect(bar.getByRole('status')).toHaveText('500 locks selected of 520 in the list');
  await expect(page.getByRole('checkbox', checkboxOf('lock:job:0000'))).toBeChecked();
  await expect(bar.getByRole('button', { name: 'Release…' })).not.toHaveAttribute('aria-disabled', 'true');
});

test('the selection and the reason survive a new sign-in', async ({ page, servers, browserErrors }) => {
  browserErrors.allowFailedCall('force_release', 401);
  const nodes = await servers.startNodes(1);
  const password = 'correct horse battery';
  const console = await servers.startConsoleWithUsers([{ name: 'otto', password, role: 'operator' }], { name: 'orders', nodes });
  for (const key of keys) await acquireLock(nodes, key, 'x'.repeat(32), 600_000);
  const signIn = async (page: Page) => {
    await page.getByLabel('Username', { exact: true }).fill('otto');
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await waitUntilLive(page);
  };
  await page.goto(`${console.url}/?sort=key`);
  await signIn(page);
  await page.getByRole('checkbox', checkboxOf('lock:a')).click();
  await page.getByRole('checkbox', checkboxOf('lock:b')).click();
  await page.getByRole('region', { name: 'Selected locks' }).getByRole('button', { name: 'Release…' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('2 would be released.');
  await dialog.getByLabel('Reason').fill('the batch hangs');
  await page.context().clearCookies();
  await dialog.getByRole('button', { name: 'Release 2', exact: true }).click();
  await expect(dialog.getByRole('status').first()).toContainText('Stopped. 0 released, 0 skipped, 2 not tried.');
  const opened = page.context().waitForEvent('page');
  await dialog.getByRole('link', { name: 'Sign in' }).click();
  await signIn(await opened);
  await page.bringToFront();
  await page.reload();
  await expect(dialog).toContainText('2 would be released.');
  await expect(dialog.getByLabel('Reason')).toHaveValue('the batch hangs');
  await dialog.getByRole('button', { name: 'Release 2', exact: true }).click();
  await expect(dialog.getByRole('status').first()).toContainText('2 released, 0 skipped, 0 not tried.');
  expect(await nodes[0].redis.exists('lock:a', 'lock:b')).toBe(0);
});

test('the back button closes the dialog and stays on the page, and locks of a read-only group cannot be selected', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'archive', nodes, readOnly: true }, { name: 'orders', nodes: await servers.startNodes(1) });
  await acquireLock(nodes, 'lock:a', 'x'.repeat(32), 600_000);
  await open(page, console, '/nodes');
  await page.getByRole('link', { name: 'Locks', exact: true }).click();
  const checkbox = page.getByRole('checkbox', checkboxOf('lock:a'));
  await expect(checkbox).toHaveAttribute('title', /read-only/);
  await checkbox.click({ force: true });
  await expect(checkbox).not.toBeChecked();
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  await expect(page.getByRole('dialog')).toBeVisible();
  await page.goBack();
  await expect(page.getByRole('dialog')).toBeHidden();
  await expect(page).toHaveURL(`${console.url}/`);
  await page.goBack();
  await expect(page).toHaveURL(`${console.url}/nodes`);
});
