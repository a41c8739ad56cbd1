// The page of the component kit exists in development builds only.
import { expect, test } from './fixtures';

test('the release build has no kit page', async ({ page, browserErrors, servers }) => {
  browserErrors.allow(/status of 404/);
  const console = await servers.startConsole({ name: 'jobs', nodes: await servers.startNodes(1) });
  for (const path of ['/kit', '/kit/']) {
    const response = await page.goto(console.url + path);
    expect(response?.status()).toBe(404);
    await expect(page.locator('body')).toHaveText('Page not found.');
  }
});
