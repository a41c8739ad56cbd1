// Lock names and owners are arbitrary bytes.
import { acquireLock, expect, lockLinks, lockPath, open, row, test, waitUntilLive } from './fixtures';

const unusual: [string, string | Buffer, string][] = [
  ['slashes', 'lock:a/b//c', 'lock:a/b//c'],
  ['percent signs', 'lock:%41%', 'lock:%41%'],
  ['quotes', `lock:it's "quoted"`, `lock:it's "quoted"`],
  ['markup', '<img src=x onerror="window.pwned=1">', '<img src=x onerror="window.pwned=1">'],
  ['emoji', 'lock:🔒:é', 'lock:🔒:é'],
  ['a question mark and a hash', 'lock:?#&=+', 'lock:?#&=+'],
  ['right to left', 'lock:\u202egnirts', 'lock:\\u{202e}gnirts'],
  ['bytes that are not UTF-8', Buffer.from([0x6c, 0xff, 0xfe, 0x2f]), 'l%FF%FE%2F (bytes)'],
  ['two dots', '..', '..'],
];

for (const [kind, key, displayed] of unusual) {
  test(`a lock whose name has ${kind} can be opened and released`, async ({ page, servers }) => {
    const nodes = await servers.startNodes(1);
    const console = await servers.startConsole({ name: 'jobs', nodes, keys: ['*'] });
    await acquireLock(nodes, key, '<b>owner</b>', 120_000);
    await open(page, console);
    await lockLinks(row(page, displayed)).click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText(displayed);
    await expect(page.getByText(/^Held by/)).toBeVisible();
    await page.reload();
    await waitUntilLive(page);
    await expect(page.getByRole('heading', { level: 1 })).toContainText(displayed);
    await expect(page.getByText(/^Held by/)).toBeVisible();
    expect(await page.evaluate('window.pwned')).toBeUndefined();

    await page.getByRole('button', { name: 'Force release…' }).click();
    await page.getByLabel('Reason').fill('a test');
    await page.getByRole('button', { name: 'Release', exact: true }).click();
    await expect(page.getByText('Released on its node')).toBeVisible();
    expect(await nodes[0].redis.exists(key)).toBe(0);
  });
}

test('a lock with an empty name has a page', async ({ page, servers, browserErrors }) => {
  browserErrors.allow(/status of 404 .*\/locks\/\)$/);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes, keys: ['*'], environment: 'production' });
  await acquireLock(nodes, '', 'token', 120_000);
  await open(page, console);
  await lockLinks(row(page, '(empty name)')).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('(empty name)');
  await expect(page.getByText(/^Held by/)).toBeVisible();
  await open(page, console, lockPath('jobs', ''));
  await expect(page.getByText(/^Held by/)).toBeVisible();

  // An empty field must not confirm the empty name.
  await page.getByRole('button', { name: 'Force release…' }).click();
  await page.getByLabel('Reason').fill('a test');
  await expect(page.getByRole('button', { name: 'Release', exact: true })).toBeDisabled();
  await expect(page.getByLabel("Type the owner's fingerprint to confirm")).toBeVisible();
});

test('a very long name is truncated, and its tooltip has the full name', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  const key = `lock:${'x'.repeat(10_000)}:end`;
  await acquireLock(nodes, key, 'token', 120_000);
  await open(page, console);
  const link = lockLinks(page.getByRole('row'));
  await expect(link).toHaveText(/^lock:x+…x+:end$/);
  await expect(link.locator('bdi')).toHaveAttribute('title', key);
  await link.click();
  await expect(page.getByText(/^Held by/)).toBeVisible();
});

test('a URL without a lock, group or page shows an explanation', async ({ page, servers, browserErrors }) => {
  browserErrors.allow(/status of 404/);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await open(page, console, '/groups/jobs/locks/lock%3Aunknown');
  await expect(page.getByText('No reachable node shows the lock.')).toBeVisible();
  await open(page, console, '/groups/unknown/locks/a');
  await expect(page.getByText('Group "unknown" is not configured.')).toBeVisible();
  await acquireLock(nodes, 'lock:nightly', 'token', 600_000);
  await open(page, console, '/jobs/lock%3Anightly');
  await expect(page.getByRole('heading', { name: 'No page exists at this address' })).toBeVisible();
  // The name in the address can be searched for.
  const searchBox = page.getByRole('searchbox', { name: 'Search locks' });
  await expect(searchBox).toHaveValue('lock:nightly');
  await searchBox.press('Enter');
  await expect(row(page, 'lock:nightly')).toBeVisible();
  await expect(page).toHaveURL(/\/\?q=lock%3Anightly$/);
});
