// Views of the lock list that all users share: saved in one browser, opened and deleted in others.
import AxeBuilder from '@axe-core/playwright';
import { type Browser, type Page } from '@playwright/test';
import { acquireLock, type Console, expect, open, row, test, waitUntilLive } from './fixtures';

const password = 'correct horse battery';

/** A page of a signed-in user, in a browser context of its own. */
async function signedIn(browser: Browser, console: Console, name: string, path = '/'): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(console.url + path);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await waitUntilLive(page);
  return page;
}

async function openMenu(page: Page) {
  await page.getByText('Views', { exact: true }).click();
  return page.getByRole('region', { name: 'Team', exact: true });
}

async function saveForTeam(page: Page, name: string) {
  await page.getByLabel('View name').fill(name);
  await page.getByLabel('Save for').selectOption('for the team');
  await page.getByRole('button', { name: /^(Save|Replace)$/ }).click();
}

test('a view saved for the team in one browser is opened in another, by users who may not change it', async ({ browser, servers }) => {
  const [node] = await servers.startNodes(1);
  const users = [
    { name: 'otto', password, role: 'operator' as const },
    { name: 'vera', password, role: 'viewer' as const },
  ];
  const console = await servers.startConsoleWithUsers(users, { name: 'jobs', nodes: [node] });
  await acquireLock([node], 'lock:a', 'token-a', 600_000);
  await acquireLock([node], 'lock:b', 'token-b', 600_000);

  const otto = await signedIn(browser, console, 'otto', '/?q=lock%3Ab&sort=key');
  const ottosTeam = await openMenu(otto);
  await expect(ottosTeam).toContainText('No views are saved for the team.');
  const hostile = '<b>only b</b> ../?x=1';
  await saveForTeam(otto, hostile);
  await expect(ottosTeam.getByRole('button', { name: `${hostile} by otto` })).toHaveAttribute('aria-current', 'true');
  await expect(otto.getByLabel('View name')).toHaveValue('');
  const axe = await new AxeBuilder({ page: otto }).include('details[open]').analyze();
  expect(axe.violations).toEqual([]);

  const vera = await signedIn(browser, console, 'vera');
  await expect(row(vera, 'lock:a')).toBeVisible();
  const verasTeam = await openMenu(vera);
  await verasTeam.getByRole('button', { name: `${hostile} by otto` }).click();
  await expect(vera).toHaveURL(`${console.url}/?q=lock%3Ab&sort=key`);
  await expect(row(vera, 'lock:b')).toBeVisible();
  await expect(row(vera, 'lock:a')).toHaveCount(0);
  await expect(verasTeam.getByRole('button', { name: /^Delete/ })).toHaveCount(0);
  await expect(vera.getByLabel('Save for')).toHaveCount(0);

  // The palette lists it on every page.
  await vera.goto(`${console.url}/nodes`);
  await waitUntilLive(vera);
  await vera.keyboard.press('Control+k');
  await vera.keyboard.type('only b');
  const option = vera.getByRole('dialog', { name: 'Command palette' }).getByRole('option').first();
  await expect(option).toContainText('team view');
  await vera.keyboard.press('Enter');
  await expect(vera).toHaveURL(`${console.url}/?q=lock%3Ab&sort=key`);

  // A change of the other browser is seen when the menu is opened again.
  await ottosTeam.getByRole('button', { name: `Delete view ${hostile}` }).click();
  const question = ottosTeam.getByRole('group', { name: `Delete ${hostile} for all users?` });
  await question.getByRole('button', { name: 'Cancel' }).click();
  await ottosTeam.getByRole('button', { name: `Delete view ${hostile}` }).click();
  await question.getByRole('button', { name: 'Delete', exact: true }).click();
  await expect(ottosTeam).toContainText('No views are saved for the team.');
  await expect(await openMenu(vera)).toContainText('No views are saved for the team.');

  await otto.goto(`${console.url}/audit`);
  await expect(otto.getByRole('cell', { name: 'save view' })).toHaveCount(1);
  await expect(otto.getByRole('cell', { name: 'delete view' })).toHaveCount(1);
  for (const page of [otto, vera]) await page.context().close();
});

test('a view of the team is replaced by one of the same name, without sign-in and on a phone', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:a', 'token', 600_000);
  await open(page, console, '/?sort=key');
  const team = await openMenu(page);
  await saveForTeam(page, 'sorted');
  await expect(team.getByRole('button', { name: /^sorted/ })).toHaveAttribute('aria-current', 'true');
  await open(page, console, '/?sort=lease');
  await openMenu(page);
  await page.getByLabel('View name').fill('sorted');
  await page.getByLabel('Save for').selectOption('for the team');
  await page.getByRole('button', { name: 'Replace' }).click();
  await expect(team.getByRole('button', { name: /^sorted/ })).toHaveAttribute('aria-current', 'true');
  await expect(team.getByRole('listitem')).toHaveCount(1);

  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, console);
  await page.getByRole('button', { name: 'More' }).click();
  await (await openMenu(page)).getByRole('button', { name: /^sorted/ }).click();
  await expect(page).toHaveURL(/\/\?sort=lease$/);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(overflow).toBe(0);
});

test('the menu reports that the views of the team cannot be loaded, and keeps those of the browser', async ({ page, servers, browserErrors }) => {
  browserErrors.allow(/status of 500 .*team_views/);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:a', 'token', 600_000);
  const error = { code: 'storage-unavailable', cause: { code: 'unavailable' } };
  await page.route(/_fn\/team_views/, (route) => route.fulfill({ status: 500, contentType: 'application/json', json: error }));
  await open(page, console, '/?sort=key');
  const team = await openMenu(page);
  await expect(team).toContainText('Storage unavailable');
  await page.getByLabel('View name').fill('mine');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByRole('button', { name: 'mine', exact: true })).toHaveAttribute('aria-current', 'true');
  await page.unroute(/_fn\/team_views/);
  await team.getByRole('button', { name: 'Try again' }).click();
  await expect(team).toContainText('No views are saved for the team.');
});
