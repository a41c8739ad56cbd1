// The page of the kit is there while the console is worked on: who asks the executable that is shipped for it gets a plain answer.
import { expect, test } from './fixtures';

test('the executable that is shipped has no page of the kit', async ({ page, complaints, lab }) => {
  complaints.expect(/status of 404/);
  const console = await lab.console({ name: 'jobs', nodes: await lab.nodes(1) });
  for (const path of ['/kit', '/kit/']) {
    const answer = await page.goto(console.url + path);
    expect(answer?.status()).toBe(404);
    await expect(page.locator('body')).toHaveText('There is no such page.');
  }
});
