// People sign in with a provider: from the console's page to the provider's and back.
import { type Page } from '@playwright/test';
import { expect, isLive, take, test } from './fixtures';

const grants = '[[sign_in.oidc.grant]]\nvalue = "sre"\nrole = "operator"\n';
const vera = { name: 'vera', password: 'correct horse battery', role: 'viewer' } as const;

async function atProvider(page: Page, name: string) {
  await page.getByPlaceholder('Enter any login').fill(name);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

test('whoever signs in with the provider is where they wanted to be, and may sign out there, too', async ({ page, lab, complaints }) => {
  // The provider's own pages: its letters and its icon.
  complaints.expect(/fonts\.googleapis\.com/, /favicon\.ico/);
  test.slow(); // every step is a page that is loaded whole
  const nodes = await lab.nodes(1);
  const console = await lab.consoleWithProvider(grants, [vera], { name: 'jobs', nodes });
  await page.goto(`${console.url}/waits`);
  await expect(page).toHaveURL(/\/sign-in\?next=/);
  await expect(page.getByLabel('Password')).toBeVisible();

  await page.getByRole('link', { name: 'Sign in with Example login' }).click();
  await page.getByRole('link', { name: 'Cancel' }).click();
  await expect(page.getByRole('alert')).toHaveText(/The sign-in was cancelled/);

  await page.getByRole('link', { name: 'Sign in with Example login' }).click();
  await atProvider(page, 'alice');
  await expect(page).toHaveURL(`${console.url}/waits`);
  await isLive(page);
  await page.getByText('alice').click();
  await expect(page.getByText('operator')).toBeVisible();

  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await expect(page.getByText('You are signed out here.')).toBeVisible();
  await page.getByRole('link', { name: 'Sign out there, too' }).click();
  await page.getByRole('button', { name: 'Yes, sign me out' }).click();
  await expect(page).toHaveURL(/\/sign-in(\?|$)/);

  // The provider has forgotten her: the name is asked for again.
  await page.getByRole('link', { name: 'Sign in with Example login' }).click();
  await atProvider(page, 'nobody');
  await expect(page.getByRole('alert')).toHaveText(/no role in this console is given to you/);
});

test('signing in with the provider works without any script', async ({ browser, lab, complaints }) => {
  // The provider's own pages: its letters and its icon.
  complaints.expect(/fonts\.googleapis\.com/, /favicon\.ico/);
  const nodes = await lab.nodes(1);
  const console = await lab.consoleWithProvider(grants, [], { name: 'jobs', nodes });
  await take(nodes, 'lock:report', 'token', 600_000);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'zh-CN' });
  const page = await context.newPage();
  await page.goto(console.url);
  await expect(page.getByRole('textbox')).toHaveCount(0);
  await page.getByRole('link', { name: '用 Example login 登录' }).click();
  await atProvider(page, 'alice');
  await expect(page).toHaveURL(`${console.url}/`);
  await expect(page.getByText('alice')).toBeVisible();
  await context.close();
});
