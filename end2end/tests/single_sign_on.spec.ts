// Sign-in with an OpenID Connect provider.
import { type Page } from '@playwright/test';
import { acquireLock, expect, test, waitUntilLive } from './fixtures';

const roleMappings = '[[sign_in.oidc.role_mapping]]\nvalue = "sre"\nrole = "operator"\n';
const vera = { name: 'vera', password: 'correct horse battery', role: 'viewer' } as const;

async function signInAtProvider(page: Page, name: string) {
  await page.getByPlaceholder('Enter any login').fill(name);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

test('a user returns to the requested page after sign-in with the provider, and can sign out of the provider', async ({ page, servers, browserErrors }) => {
  // The provider's pages request fonts and an icon that are not available.
  browserErrors.allow(/fonts\.googleapis\.com/, /favicon\.ico/);
  // The page polls, also while the sign-out ends its session.
  browserErrors.allowFailedCall('waits', 401);
  test.slow(); // every step loads a whole page
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsoleWithOidc(roleMappings, [vera], { name: 'jobs', nodes });
  await page.goto(`${console.url}/waits`);
  await expect(page).toHaveURL(/\/sign-in\?next=/);
  await expect(page.getByLabel('Password')).toBeVisible();

  await page.getByRole('link', { name: 'Sign in with Example login' }).click();
  await page.getByRole('link', { name: 'Cancel' }).click();
  await expect(page.getByRole('alert')).toHaveText(/Sign-in was cancelled/);

  await page.getByRole('link', { name: 'Sign in with Example login' }).click();
  await signInAtProvider(page, 'alice');
  await expect(page).toHaveURL(`${console.url}/waits`);
  await waitUntilLive(page);
  await page.getByText('alice').click();
  await expect(page.getByText('operator')).toBeVisible();

  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await expect(page.getByText('You are signed out.')).toBeVisible();
  await page.getByRole('link', { name: 'Sign out there too' }).click();
  await page.getByRole('button', { name: 'Yes, sign me out' }).click();
  await expect(page).toHaveURL(/\/sign-in(\?|$)/);

  // The session at the provider has ended: it requires a sign-in again.
  await page.getByRole('link', { name: 'Sign in with Example login' }).click();
  await signInAtProvider(page, 'guest');
  await expect(page.getByRole('alert')).toHaveText(/no role in this console is assigned to you/);
});

test('sign-in with the provider works without JavaScript', async ({ browser, servers, browserErrors }) => {
  // The provider's pages request fonts and an icon that are not available.
  browserErrors.allow(/fonts\.googleapis\.com/, /favicon\.ico/);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsoleWithOidc(roleMappings, [], { name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:report', 'token', 600_000);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'zh-CN' });
  const page = await context.newPage();
  await page.goto(console.url);
  await expect(page.getByRole('textbox')).toHaveCount(0);
  await page.getByRole('link', { name: '使用 Example login 登录' }).click();
  await signInAtProvider(page, 'alice');
  await expect(page).toHaveURL(`${console.url}/`);
  await expect(page.getByText('alice')).toBeVisible();
  await context.close();
});
