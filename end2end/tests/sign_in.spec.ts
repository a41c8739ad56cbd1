// People sign in, see what they may, and are out again.
import { type Page } from '@playwright/test';
import { expect, isLive, lockPath, row, take, test } from './fixtures';

const password = 'correct horse battery';

async function signIn(page: Page, name: string, typed = password) {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(typed);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

test('whoever signs in sees what they wanted to, may do what their role may, and is out after the sign-out', async ({ page, lab, context, complaints }) => {
  complaints.expect(/status of 401/);
  const [orders, jobs] = await lab.nodes(2);
  const console = await lab.consoleFor(
    [
      { name: 'vera', password, role: 'viewer' },
      { name: 'otto', password, role: 'operator', groups: ['orders'], keys: ['lock:mine:*'] },
    ],
    { name: 'orders', nodes: [orders] },
    { name: 'jobs', nodes: [jobs] },
  );
  await take([orders], 'lock:mine:1', 'token', 600_000);
  await take([orders], 'lock:other', 'token', 600_000);
  await take([jobs], 'lock:report', 'token', 600_000);
  const release = page.getByRole('button', { name: 'Force release…' });

  await page.goto(console.url + lockPath('orders', 'lock:mine:1'));
  await expect(page).toHaveURL(/\/sign-in\?next=/);
  await expect(page.getByRole('navigation')).toBeHidden();
  await signIn(page, 'vera', 'wrong password');
  await expect(page.getByRole('alert')).toHaveText(/The name or the password is wrong/);
  await signIn(page, 'vera');
  await expect(page).toHaveURL(console.url + lockPath('orders', 'lock:mine:1'));
  await isLive(page);
  await expect(page.getByText('vera')).toBeVisible();
  await expect(release).toHaveAttribute('aria-disabled', 'true');
  await expect(release).toHaveAttribute('title', /The role `viewer` may not release the locks of others/);

  await page.getByText('vera').click();
  const beside = await context.newPage();
  await beside.goto(console.url);
  await isLive(beside);
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await expect(page).toHaveURL(console.url + '/sign-in');
  await expect(beside.getByRole('alert').filter({ hasText: 'You are not signed in any more' })).toBeVisible({ timeout: 20_000 });
  await beside.close();
  await page.goBack();
  await page.reload();
  await expect(page).toHaveURL(/\/sign-in/);

  await signIn(page, 'otto');
  await isLive(page);
  await page.goto(console.url);
  await isLive(page);
  await expect(row(page, 'lock:other')).toBeVisible();
  await expect(page.getByText('lock:report')).toHaveCount(0);
  await page.goto(console.url + lockPath('orders', 'lock:other'));
  await isLive(page);
  await expect(release).toHaveAttribute('title', "Your rights do not cover this lock's name, only lock:mine:*");
  await page.goto(console.url + lockPath('orders', 'lock:mine:1'));
  await isLive(page);
  await release.click();
  await page.getByLabel('Reason').fill('stuck');
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  await expect.poll(() => orders.redis.exists('lock:mine:1')).toBe(0);
});

test('a sign-out leaves no trace of the locks that were looked at, and keeps how the console looks', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.consoleFor([{ name: 'otto', password, role: 'operator' }], { name: 'jobs', nodes });
  await take(nodes, 'lock:secret-project', 'token', 600_000);
  await page.goto(console.url + lockPath('jobs', 'lock:secret-project'));
  await signIn(page, 'otto');
  await isLive(page);
  await page.getByRole('button', { name: 'Force release…' }).click();
  await page.getByLabel('Reason').fill('half a reason');
  await page.keyboard.press('Escape');
  // Escape ends the loading of a page, too.
  await expect(page.getByRole('dialog')).toBeHidden();
  await page.goto(console.url);
  await isLive(page);
  await page.keyboard.press('Control+k');
  // It is fetched when it is first asked for.
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

test('signing in works before and without any script', async ({ browser, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.consoleFor([{ name: 'vera', password, role: 'viewer' }], { name: 'jobs', nodes });
  await take(nodes, 'lock:report', 'token', 600_000);
  await expect.poll(async () => (await fetch(`${console.url}/readyz`)).status).toBe(200);
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(console.url);
  await signIn(page, 'vera');
  await expect(page).toHaveURL(`${console.url}/`);
  await expect(page.getByText('vera')).toBeVisible();
  await context.close();
});

test('where nobody has to sign in, the page says so', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await page.goto(console.url);
  await isLive(page);
  // Above everything, on a phone at the foot, and never twice.
  const said = page.getByText('Nobody has to sign in').filter({ visible: true });
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 800 });
    await expect(said).toHaveCount(1);
  }
  await page.goto(`${console.url}/sign-in`);
  await expect(page.getByText('Nobody has to sign in here.')).toBeVisible();
  await expect(page.getByLabel('Password')).toHaveCount(0);
  await page.getByRole('link', { name: 'All locks' }).click();
  await isLive(page);
});
