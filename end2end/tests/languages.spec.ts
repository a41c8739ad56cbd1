// The language of the console: that of the browser, or the one selected in the settings.
import { acquireLock, expect, open, test } from './fixtures';

test('selecting a language in the settings keeps the page and the choice', async ({ page, servers, browserErrors }) => {
  browserErrors.allow(/status of 404/);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:a', 'token', 600_000);
  await open(page, console, '/?q=lock%3Aa&sort=key');
  await expect(page.locator('html')).toHaveAttribute('lang', 'en');
  await page.getByRole('button', { name: 'Settings' }).click();
  await expect(page.getByRole('button', { name: 'English' })).toHaveAttribute('aria-pressed', 'true');
  await page.getByRole('button', { name: '简体中文' }).click();
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN');
  await expect(page).toHaveURL(`${console.url}/?q=lock%3Aa&sort=key`);
  await expect(page.getByText(/^实时(，|$)/)).toBeVisible({ timeout: 30_000 });
  await page.goto(`${console.url}/nowhere`);
  await expect(page.getByRole('heading', { name: '此地址没有对应的页面' })).toBeVisible();
  await expect(page.getByRole('navigation', { name: '页面' })).toContainText('持有者');
});

test.describe('with a Chinese browser', () => {
  test.use({ locale: 'zh-CN' });

  test('the console is in Chinese without JavaScript too', async ({ browser, servers }) => {
    const nodes = await servers.startNodes(1);
    const user = { name: 'vera', password: 'correct horse battery', role: 'viewer' as const };
    const console = await servers.startConsoleWithUsers([user], { name: 'jobs', nodes });
    const context = await browser.newContext({ javaScriptEnabled: false, locale: 'zh-CN' });
    const page = await context.newPage();
    await page.goto(console.url);
    await expect(page.getByRole('heading', { name: '登录' })).toBeVisible();
    await page.getByRole('button', { name: '设置' }).click();
    await page.getByRole('button', { name: 'English' }).click();
    await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
    await page.getByLabel('Name').fill(user.name);
    await page.getByLabel('Password').fill(user.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByRole('navigation', { name: 'Pages' })).toContainText('Owners');
    await context.close();
  });
});
