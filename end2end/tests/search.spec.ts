// Finding locks: the language of the search box, its completion, the URL, views with names, and the list as a file.
import { readFile } from 'node:fs/promises';
import { expect, isLive, open, row, take, test } from './fixtures';

test('a search is completed from what is there, and is the URL', async ({ page, lab }) => {
  const nodes = await lab.nodes(3);
  const [single] = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes }, { name: 'jobs', nodes: [single] });
  await take(nodes, 'lock:invoice:1', 'a'.repeat(32), 600_000);
  await take(nodes.slice(0, 1), 'lock:invoice:2', 'b'.repeat(32), 600_000);
  await take([single], 'lock:nightly', 'c'.repeat(32), 600_000);
  await open(page, console);
  await expect(row(page, 'lock:nightly')).toBeVisible();

  const box = page.getByRole('combobox', { name: 'Search locks' });
  const offer = (name: string) => page.getByRole('option', { name, exact: true });
  await box.pressSequentially('ver');
  await expect(offer('verdict:')).toBeVisible();
  await box.press('ArrowDown');
  await expect(offer('verdict:')).toHaveAttribute('aria-selected', 'true');
  await box.press('Enter');
  await expect(box).toHaveValue('verdict:');
  await expect(page.getByRole('status').filter({ hasText: 'nothing stands behind `verdict`' })).toBeVisible();
  await expect(row(page, 'lock:nightly')).toBeVisible(); // a term that is not whole narrows nothing
  await box.pressSequentially('par');
  await offer('verdict:partial').click();
  await expect(box).toHaveValue('verdict:partial ');
  await expect(row(page, 'lock:invoice:2')).toBeVisible();
  await expect(row(page, 'lock:nightly')).toHaveCount(0);
  await expect(page).toHaveURL(/q=verdict%3Apartial/);

  await box.fill('verdict:fre');
  await expect(page.getByText('`fre` is no verdict; it is one of held, partial, split, unknown')).toBeVisible();
  await expect(box).toHaveAttribute('aria-invalid', 'true');
  await expect(row(page, 'lock:invoice:2')).toBeVisible();

  await box.fill('group:orders lock:*:1');
  await expect(row(page, 'lock:invoice:1')).toBeVisible();
  await expect(row(page, 'lock:invoice:2')).toHaveCount(0);
  await page.reload();
  await expect(row(page, 'lock:invoice:1')).toBeVisible();
  await expect(page.getByRole('combobox', { name: 'Search locks' })).toHaveValue('group:orders lock:*:1');
  await page.getByRole('link', { name: /^lock:\*:1/ }).click();
  await expect(row(page, 'lock:invoice:2')).toBeVisible();
  await expect(page).toHaveURL(/q=group%3Aorders$/);
});

test('a view is kept under a name, opened again and deleted', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes: [node] });
  await take([node], 'lock:a', 'token-a', 600_000);
  await take([node], 'lock:b', 'token-b', 600_000);
  await open(page, console, '/?q=lock%3Ab&sort=key');
  await page.getByText('Views', { exact: true }).click();
  await page.getByLabel('Name of the view').fill('only b');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByRole('button', { name: 'only b', exact: true })).toHaveAttribute('aria-current', 'true');

  await open(page, console);
  await expect(row(page, 'lock:a')).toBeVisible();
  await page.getByText('Views', { exact: true }).click();
  await page.getByRole('button', { name: 'only b', exact: true }).click();
  await expect(row(page, 'lock:b')).toBeVisible();
  await expect(row(page, 'lock:a')).toHaveCount(0);
  await expect(page).toHaveURL(/q=lock%3Ab&sort=key/);
  await page.getByRole('button', { name: 'Delete the view only b' }).click();
  await expect(page.getByRole('button', { name: 'only b', exact: true })).toHaveCount(0);
});

test('the list is downloaded as it is filtered', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes: [node] });
  for (const key of ['lock:a', 'lock:b1', 'lock:b2']) await take([node], key, 'token', 600_000);
  await open(page, console, '/?q=lock%3Ab&sort=key');
  await expect(page.getByText('2 locks')).toBeVisible();
  const downloaded = async (name: string) => {
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name, exact: true }).click();
    return readFile(await (await download).path(), 'utf8');
  };
  const sheet = (await downloaded('CSV')).trim().split('\r\n');
  expect(sheet.map((line) => line.split(',')[1])).toEqual(['"key"', '"lock:b1"', '"lock:b2"']);
  expect(JSON.parse(await downloaded('JSON')).map((lock: { key: string }) => lock.key)).toEqual(['lock:b1', 'lock:b2']);
});

test('rows stand closer, and moments are times, when that is chosen', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes: [node] });
  await take([node], 'lock:a', 'token', 600_000);
  await open(page, console);
  const height = () => row(page, 'lock:a').evaluate((row) => row.getBoundingClientRect().height);
  expect(Math.round(await height())).toBe(36);
  await page.evaluate(() => localStorage.setItem('lockkeeper.density', 'dense'));
  await page.reload();
  await isLive(page);
  expect(Math.round(await height())).toBe(28);
  await page.getByRole('button', { name: 'Times of day' }).click();
  await expect(row(page, 'lock:a')).toContainText(/\d\d:\d\d:\d\d UTC/);
  await page.goto(console.url, { waitUntil: 'commit' });
  await expect(page.locator('html')).toHaveAttribute('data-density', 'dense');
});
