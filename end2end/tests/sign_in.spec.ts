// Sign-in with a local user, permissions, and sign-out.
import { type Page } from '@playwright/test';
import { acquireLock, expect, lockPath, row, test, waitUntilLive } from './fixtures';
import { closeDialog } from './page_tour';

const password = 'correct horse battery';

async function signIn(page: Page, name: string, enteredPassword = password) {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(enteredPassword);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

test('a user returns to the requested page after sign-in, has the permissions of the role, and is signed out in all tabs', async ({ page, servers, context, browserErrors }) => {
  browserErrors.allow(/status of 401/);
  const [orders, jobs] = await servers.startNodes(2);
  const console = await servers.startConsoleWithUsers(
    [
      { name: 'vera', password, role: 'viewer' },
      { name: 'otto', password, role: 'operator', groups: ['orders'], keys: ['lock:mine:*'] },
    ],
    { name: 'orders', nodes: [orders] },
    { name: 'jobs', nodes: [jobs] },
  );
  await acquireLock([orders], 'lock:mine:1', 'token', 600_000);
  await acquireLock([orders], 'lock:other', 'token', 600_000);
  await acquireLock([jobs], 'lock:report', 'token', 600_000);
  const release = page.getByRole('button', { name: 'Force release…' });

  await page.goto(console.url + lockPath('orders', 'lock:mine:1'));
  await expect(page).toHaveURL(/\/sign-in\?next=/);
  await expect(page.getByRole('navigation')).toBeHidden();
  await signIn(page, 'vera', 'wrong password');
  await expect(page.getByRole('alert')).toHaveText(/Incorrect username or password/);
  await signIn(page, 'vera');
  await expect(page).toHaveURL(console.url + lockPath('orders', 'lock:mine:1'));
  await waitUntilLive(page);
  await expect(page.getByText('vera')).toBeVisible();
  await expect(release).toHaveAttribute('aria-disabled', 'true');
  await expect(release).toHaveAttribute('title', /The role `viewer` cannot release locks of other owners/);

  await page.getByText('vera').click();
  const otherPage = await context.newPage();
  await otherPage.goto(console.url);
  await waitUntilLive(otherPage);
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await expect(page).toHaveURL(console.url + '/sign-in');
  await expect(otherPage.getByRole('alert').filter({ hasText: 'Your session has ended' })).toBeVisible({ timeout: 20_000 });
  await otherPage.close();
  await page.goBack();
  await page.reload();
  await expect(page).toHaveURL(/\/sign-in/);

  await signIn(page, 'otto');
  await waitUntilLive(page);
  await page.goto(console.url);
  await waitUntilLive(page);
  await expect(row(page, 'lock:other')).toBeVisible();
  await expect(page.getByText('lock:report')).toHaveCount(0);
  await page.goto(console.url + lockPath('orders', 'lock:other'));
  await waitUntilLive(page);
  await expect(release).toHaveAttribute('title', "Your permissions do not include this lock's name, only lock:mine:*");
  await page.goto(console.url + lockPath('orders', 'lock:mine:1'));
  await waitUntilLive(page);
  await release.click();
  await page.getByLabel('Reason').fill('stuck');
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect.poll(() => orders.redis.exists('lock:mine:1')).toBe(0);
});

test('a sign-out removes the names of visited locks from browser storage and keeps display settings', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsoleWithUsers([{ name: 'otto', password, role: 'operator' }], { name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:secret-project', 'token', 600_000);
  await page.goto(console.url + lockPath('jobs', 'lock:secret-project'));
  await signIn(page, 'otto');
  await waitUntilLive(page);
  await page.getByRole('button', { name: 'Force release…' }).click();
  await page.getByLabel('Reason').fill('half a reason');
  await closeDialog(page);
  await page.goto(console.url);
  await waitUntilLive(page);
  await page.keyboard.press('Control+k');
  // The palette is lazily loaded.
  await expect(page.getByRole('dialog').getByRole('combobox')).toBeFocused();
  await page.keyboard.type('dark');
  await page.keyboard.press('Enter');
  const stored = () => page.evaluate(() => JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]));
  expect(await stored()).toContain('secret-project');
  await page.getByText('otto').click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await expect(page).toHaveURL(console.url + '/sign-in');
  expect(await stored()).not.toContain('secret-project');
  expect(await stored()).toContain('dark');
});

test('sign-in works without JavaScript', async ({ browser, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsoleWithUsers([{ name: 'vera', password, role: 'viewer' }], { name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:report', 'token', 600_000);
  await expect.poll(async () => (await fetch(`${console.url}/readyz`)).status).toBe(200);
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(console.url);
  await signIn(page, 'vera');
  await expect(page).toHaveURL(`${console.url}/`);
  await expect(page.getByText('vera')).toBeVisible();
  await context.close();
});

test('a console without sign-in shows a notice', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await page.goto(console.url);
  await waitUntilLive(page);
  // The notice is shown once, in the footer.
  const notice = page.getByText('No sign-in:').filter({ visible: true });
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 800 });
    await expect(notice).toHaveCount(1);
  }
  await page.goto(`${console.url}/sign-in`);
  await expect(page.getByText('Sign-in is not required.')).toBeVisible();
  await expect(page.getByLabel('Password')).toHaveCount(0);
  await page.getByRole('link', { name: 'All locks' }).click();
  await waitUntilLive(page);
});
