// A console with 500 groups: they are summarised in one line, and a group is selected by its name.
import { acquireLock, expect, open, row, test } from './fixtures';
import { horizontalOverflow } from './page_tour';

const GROUPS = 500;
const name = (index: number) => `team-${String(index).padStart(3, '0')}`;

test('500 groups are summarised in one line, and one of them can be selected by its name', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const groups = Array.from({ length: GROUPS }, (_, index) => ({ name: name(index), nodes, keys: [`${name(index)}:*`] }));
  const console = await servers.startConsole(...groups);
  await acquireLock(nodes, 'team-007:nightly', 'a'.repeat(32), 3_000_000);
  await acquireLock(nodes, 'team-499:nightly', 'b'.repeat(32), 3_000_000);
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, console);
  // The first pass over 500 groups takes long on a busy machine.
  await expect(row(page, 'team-007:nightly')).toBeVisible({ timeout: 90_000 });
  await expect(row(page, 'team-499:nightly')).toBeVisible();
  await expect(page.getByText('500 other groups: all nodes reachable.')).toBeVisible({ timeout: 90_000 });
  await expect(page.getByRole('img', { name: / up$/ })).toHaveCount(0);
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);

  // Instead of a menu of 500 entries there is a combo box that completes their names.
  const combobox = page.getByRole('combobox', { name: 'Group', exact: true });
  expect(await combobox.evaluate((input: HTMLInputElement) => [...input.list!.options].map(({ value }) => value))).toEqual(groups.map(({ name }) => name));
  await combobox.fill('team-499');
  await combobox.press('Enter');
  await expect(page).toHaveURL(/group=team-499/);
  await expect(row(page, 'team-007:nightly')).toHaveCount(0);
  await expect(row(page, 'team-499:nightly')).toBeVisible();
  await expect(page.getByRole('img', { name: / up$/ })).toHaveCount(1);
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);

  await page.getByRole('banner').getByRole('link', { name: 'Nodes' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Nodes' })).toBeVisible();
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
});

test('unreachable nodes of groups without a card are counted in a line that fits on a phone', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const groups = Array.from({ length: 12 }, (_, index) => ({ name: name(index), nodes, keys: [`${name(index)}:*`] }));
  const console = await servers.startConsole(...groups);
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, console);
  await expect(page.getByText('12 other groups: all nodes reachable.')).toBeVisible();
  await nodes[0].kill();
  await expect(page.getByText(/\d other groups, \d of them with unreachable nodes\./)).toBeVisible();
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
  await expect(page.getByText('8 other groups, 8 of them with unreachable nodes.')).toBeVisible();
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
});
