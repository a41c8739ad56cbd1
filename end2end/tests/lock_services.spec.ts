// An operator finds a stuck lock in each lock service, reads why it is held, releases it, and sees the
// next waiter acquire it.
import { expect, lockLinks, lockPath, open, row, test } from './fixtures';
import { startEtcd, startPostgres, startZookeeper } from './lock_services';

const STORIES = [
  { service: 'etcd', start: startEtcd, key: 'jobs/report', lease: /Expires in/, hasSideEffects: false },
  { service: 'ZooKeeper', start: startZookeeper, key: '/locks/report', lease: /Ends when the owner’s session or connection ends\./, hasSideEffects: false },
  { service: 'PostgreSQL', start: startPostgres, key: 'advisory:4242:report', lease: /Ends when the owner’s session or connection ends\./, hasSideEffects: true },
];

for (const { service, start, key, lease, hasSideEffects } of STORIES) {
  test(`in ${service} a stuck lock is found, explained and released, and the next waiter acquires it`, async ({ page, servers }) => {
    const lockService = await start(servers);
    const console = await servers.startConsoleForService('batch', lockService.settings);
    lockService.startClient('worker-1');
    await open(page, console);
    await expect(row(page, key)).toBeVisible();
    const owner = async () => {
      const response = await fetch(`${console.url}/api/v1${lockPath('batch', key)}`);
      return ((await response.json()) as { owner?: { fingerprint: string } }).owner?.fingerprint;
    };
    const first = await owner();
    expect(first).toBeTruthy();
    lockService.startClient('worker-2');

    await lockLinks(row(page, key)).click();
    await expect(page.getByText(/^Held by /)).toBeVisible();
    await expect(page.getByText(lease).first()).toBeVisible();
    await expect(page.getByText('queued in the lock service')).toBeVisible();
    // Nothing that only Redis has is offered.
    await expect(page.getByText('MONITOR')).toHaveCount(0);

    await page.getByRole('button', { name: 'Force release…' }).click();
    const dialog = page.getByRole('dialog');
    if (hasSideEffects) {
      await expect(dialog).toContainText('A release ends the database connection');
      await dialog.getByRole('button', { name: 'Continue anyway…' }).click();
    }
    await dialog.getByLabel('Reason').fill('the worker has hung since midnight');
    if (hasSideEffects) await dialog.getByLabel("Type the lock's name to confirm").fill(key);
    await dialog.getByRole('button', { name: 'Release', exact: true }).click();
    await expect(dialog.getByRole('list', { name: 'Result per node' }).getByRole('listitem')).toHaveText([/released/]);

    // The waiter holds the lock now.
    await expect.poll(owner).not.toBe(first);
    await expect.poll(owner).toBeTruthy();
    await page.goto(`${console.url}/audit`);
    await expect(page.getByText('the worker has hung since midnight').first()).toBeVisible();
  });
}

test('in etcd the keys of a lease are shown, and its revocation ends all of them', async ({ page, servers }) => {
  const etcd = await startEtcd(servers);
  const console = await servers.startConsoleForService('batch', etcd.settings);
  await etcd.holdWithOneLease(['jobs/report', 'jobs/mail']);
  await open(page, console);
  await expect(row(page, 'jobs/mail')).toBeVisible();
  etcd.startClient('worker-2');

  await lockLinks(row(page, 'jobs/report')).click();
  await expect(page.getByText('queued in the lock service')).toBeVisible();
  await page.getByText('Raw value', { exact: true }).click();
  await page.getByRole('button', { name: 'Read now' }).click();
  const keys = ['holds or waits for jobs/mail', 'holds or waits for jobs/report'];
  const section = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Ends with its lease' }) }).last();
  await expect(section.getByRole('listitem')).toHaveText(keys);

  const get = async (key: string) => fetch(`${console.url}/api/v1${lockPath('batch', key)}`);
  const owner = async () => ((await (await get('jobs/report')).json()) as { owner?: { fingerprint: string } }).owner?.fingerprint;
  const first = await owner();
  await page.getByRole('button', { name: 'Force release…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Show the keys of its lease' }).click();
  const revoke = dialog.getByRole('checkbox', { name: 'Revoke the lease instead. Keys that are deleted: 2' });
  for (const key of keys) await expect(dialog.getByText(key)).toBeVisible();
  await revoke.check();
  await dialog.getByLabel('Reason').fill('the worker is gone and its session is still renewed');
  await dialog.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(dialog.getByRole('list', { name: 'Result per node' }).getByRole('listitem')).toHaveText([/released/]);

  // The other lock of the session is gone, and the waiter holds the released one.
  await expect.poll(async () => (await get('jobs/mail')).status).toBe(404);
  await expect.poll(owner).not.toBe(first);
  await expect.poll(owner).toBeTruthy();
});

test('in PostgreSQL the statement of an owner is cancelled, and its connection stays open', async ({ page, servers }) => {
  const postgres = await startPostgres(servers);
  const console = await servers.startConsoleForService('batch', postgres.settings);
  postgres.startBusyClient('report-1');
  const key = 'advisory:4242:report';
  await open(page, console);
  await lockLinks(row(page, key)).click();
  await expect(page.getByText('Its database connection is running a statement').first()).toBeVisible();
  await expect(page.getByText('A release ends its connection, which holds 1 other lock: advisory:7.').first()).toBeVisible();

  await page.getByRole('button', { name: 'Force release…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Continue anyway…' }).click();
  await dialog.getByRole('checkbox', { name: 'Cancel the running statement instead' }).check();
  await dialog.getByLabel('Reason').fill('the report blocks the nightly run');
  await dialog.getByLabel("Type the lock's name to confirm").fill(key);
  await dialog.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(dialog.getByRole('list', { name: 'Result per node' }).getByRole('listitem')).toHaveText([/released/]);

  // Its connection is open, with the lock of its session.
  expect(postgres.countConnections('report-1')).toBe(1);
  const status = async (name: string) => (await fetch(`${console.url}/api/v1${lockPath('batch', name)}`)).status;
  await expect.poll(() => status(key)).toBe(404);
  expect(await status('advisory:7')).toBe(200);
  await page.goto(`${console.url}/audit`);
  await page.getByText('Details', { exact: true }).first().click();
  await expect(page.getByText('the running statement was cancelled; the connection stays open').first()).toBeVisible();
});
