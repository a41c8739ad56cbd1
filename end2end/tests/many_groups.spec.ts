// A console of five hundred groups: what few groups have a line for each of is one line for many, and a group is found by its name.
import { sticksOut } from './everywhere';
import { expect, open, row, take, test } from './fixtures';

const GROUPS = 500;
const name = (nth: number) => `team-${String(nth).padStart(3, '0')}`;

test('of five hundred groups the page says in a line how they are, and one is chosen by its name', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const groups = Array.from({ length: GROUPS }, (_, nth) => ({ name: name(nth), nodes, keys: [`${name(nth)}:*`] }));
  const console = await lab.console(...groups);
  await take(nodes, 'team-007:nightly', 'a'.repeat(32), 3_000_000);
  await take(nodes, 'team-499:nightly', 'b'.repeat(32), 3_000_000);
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, console);
  await expect(row(page, 'team-007:nightly')).toBeVisible();
  await expect(row(page, 'team-499:nightly')).toBeVisible();
  await expect(page.getByText('500 other groups: all nodes answer.')).toBeVisible({ timeout: 90_000 });
  await expect(page.getByRole('list', { name: 'Nodes' })).toHaveCount(0);
  expect(await sticksOut(page)).toBeLessThanOrEqual(0);

  // More than anybody wants to read in a menu: a box that offers them all.
  const box = page.getByRole('combobox', { name: 'Group', exact: true });
  expect(await box.evaluate((box: HTMLInputElement) => [...box.list!.options].map(({ value }) => value))).toEqual(groups.map(({ name }) => name));
  await box.fill('team-499');
  await box.press('Enter');
  await expect(page).toHaveURL(/group=team-499/);
  await expect(row(page, 'team-007:nightly')).toHaveCount(0);
  await expect(row(page, 'team-499:nightly')).toBeVisible();
  await expect(page.getByRole('list', { name: 'Nodes' })).toHaveCount(1);
  expect(await sticksOut(page)).toBeLessThanOrEqual(0);

  await page.getByRole('banner').getByRole('link', { name: 'Nodes' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  expect(await sticksOut(page)).toBeLessThanOrEqual(0);
});
