// Names of locks are any bytes, and owners are whatever somebody wrote.
import { expect, isLive, lockPath, open, row, take, test } from './fixtures';

const odd: [string, string | Buffer, string][] = [
  ['slashes', 'lock:a/b//c', 'lock:a/b//c'],
  ['percent signs', 'lock:%41%', 'lock:%41%'],
  ['quotes', `lock:it's "quoted"`, `lock:it's "quoted"`],
  ['markup', '<img src=x onerror="window.pwned=1">', '<img src=x onerror="window.pwned=1">'],
  ['emoji', 'lock:🔒:é', 'lock:🔒:é'],
  ['a question mark and a hash', 'lock:?#&=+', 'lock:?#&=+'],
  ['right to left', 'lock:\u202egnirts', 'lock:\\u{202e}gnirts'],
  ['bytes that are no text', Buffer.from([0x6c, 0xff, 0xfe, 0x2f]), 'l%FF%FE%2F (bytes)'],
  ['two dots', '..', '..'],
];

for (const [what, key, shown] of odd) {
  test(`a name with ${what} has a page that can be opened, reloaded and released from`, async ({ page, lab }) => {
    const nodes = await lab.nodes(1);
    const console = await lab.console({ name: 'jobs', nodes, keys: ['*'] });
    await take(nodes, key, '<b>owner</b>', 120_000);
    await open(page, console);
    await row(page, shown).getByRole('link').click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText(shown);
    await expect(page.getByText(/^Held by/)).toBeVisible();
    await page.reload();
    await isLive(page);
    await expect(page.getByRole('heading', { level: 1 })).toContainText(shown);
    await expect(page.getByText(/^Held by/)).toBeVisible();
    expect(await page.evaluate('window.pwned')).toBeUndefined();

    await page.getByRole('button', { name: 'Force release…' }).click();
    await page.getByLabel('Reason').fill('a test');
    await page.getByRole('button', { name: 'Release', exact: true }).click();
    await expect(page.getByText('Released on its node')).toBeVisible();
    expect(await nodes[0].redis.exists(key)).toBe(0);
  });
}

test('the empty name has a page', async ({ page, lab, complaints }) => {
  complaints.expect(/status of 404 .*\/locks\/\)$/);
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes, keys: ['*'], environment: 'production' });
  await take(nodes, '', 'token', 120_000);
  await open(page, console);
  await row(page, '(empty name)').getByRole('link').click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('(empty name)');
  await expect(page.getByText(/^Held by/)).toBeVisible();
  await open(page, console, lockPath('jobs', ''));
  await expect(page.getByText(/^Held by/)).toBeVisible();

  // Nothing typed must not count as the name typed out.
  await page.getByRole('button', { name: 'Force release…' }).click();
  await page.getByLabel('Reason').fill('a test');
  await expect(page.getByRole('button', { name: 'Release', exact: true })).toBeDisabled();
  await expect(page.getByLabel("Type the owner's fingerprint to confirm")).toBeVisible();
});

test('a very long name is shortened and whole at once', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  const key = `lock:${'x'.repeat(10_000)}:end`;
  await take(nodes, key, 'token', 120_000);
  await open(page, console);
  const link = page.getByRole('row').getByRole('link');
  await expect(link).toHaveText(/^lock:x+…x+:end$/);
  await expect(link.locator('bdi')).toHaveAttribute('title', key);
  await link.click();
  await expect(page.getByText(/^Held by/)).toBeVisible();
});

test('an address that names no lock is explained', async ({ page, lab, complaints }) => {
  complaints.expect(/status of 404/);
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await open(page, console, '/groups/jobs/locks/lock%3Anobody');
  await expect(page.getByText('The lock is not observed on any node that answered.')).toBeVisible();
  await open(page, console, '/groups/elsewhere/locks/a');
  await expect(page.getByText('There is no group "elsewhere" in the configuration.')).toBeVisible();
  await open(page, console, '/nowhere');
  await expect(page.getByRole('heading', { name: 'There is no page at this address' })).toBeVisible();
});
