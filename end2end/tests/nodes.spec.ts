// How nodes are and were: one dies, and the page shows since when, for how long, why that matters and what helps.
import AxeBuilder from '@axe-core/playwright';
import { expect, isLive, open, test } from './fixtures';

test('a node that dies shows in its last hour, among the changes of its state, and as a finding with its fix', async ({ page, lab }) => {
  const nodes = await lab.nodes(3);
  const console = await lab.console({ name: 'orders', nodes });
  await open(page, console, '/nodes');
  const card = page.getByRole('article', { name: 'c', exact: true });
  await expect(card.getByRole('img', { name: /^Last hour: up in \d+ min/ })).toBeVisible();
  await expect(card.getByRole('meter', { name: /^Scan budget: / })).toBeVisible();
  await expect(card).toContainText('may forget locks when restarted');

  await nodes[2].kill();
  await expect(card).toContainText('Check that the server runs');
  // The history is asked for every ten seconds.
  await expect(card.getByRole('img', { name: /away in \d+ min/ })).toBeVisible({ timeout: 30_000 });
  await card.getByText('As a table').click();
  await expect(card.getByRole('table').getByRole('row').nth(1)).toContainText(/up and down|down/);
  await card.getByText('Changes of state').click();
  await expect(card.getByRole('listitem').filter({ hasText: 'down: ' }).first()).toBeVisible();

  const findings = page.getByRole('group', { name: 'Findings in orders' });
  const gone = findings.locator('details').filter({ hasText: 'node-unreachable' });
  await expect(gone).toContainText('Node c is not to be had', { timeout: 30_000 });
  await expect(gone.getByText('Why it matters for locks')).toBeVisible();
  await expect(gone.getByText('Check that the server runs and can be reached from here, and its address')).toBeVisible();

  await nodes[2].start();
  await expect(card.getByText('up', { exact: true })).toBeVisible({ timeout: 30_000 });
  await expect(gone).toBeHidden({ timeout: 30_000 });
});

test('groups and nodes are found by name and by state, and the search stays in the address', async ({ page, lab }) => {
  const [first, second] = await lab.nodes(2);
  await second.kill();
  const console = await lab.console({ name: 'orders', nodes: [first] }, { name: 'jobs', nodes: [second] });
  await open(page, console, '/nodes');
  await expect(page.getByRole('region', { name: 'orders' })).toBeVisible();
  await page.getByRole('searchbox').fill('down');
  await expect(page).toHaveURL(/\/nodes\?q=down/);
  await expect(page.getByRole('region', { name: 'orders' })).toHaveCount(0);
  await expect(page.getByRole('region', { name: 'jobs' })).toBeVisible();
  await page.reload();
  await isLive(page);
  await expect(page.getByRole('region', { name: 'jobs' })).toBeVisible();
  await expect(page.getByRole('region', { name: 'orders' })).toHaveCount(0);
  await page.getByRole('searchbox').fill('no such thing');
  await page.getByRole('link', { name: 'Show all' }).click();
  await expect(page.getByRole('region', { name: 'orders' })).toBeVisible();
});

test.describe('in Chinese on a phone', () => {
  test.use({ locale: 'zh-CN', viewport: { width: 390, height: 844 } });

  test('the page of nodes, its findings and what helps are Chinese, and nothing overflows', async ({ page, lab }) => {
    const nodes = await lab.nodes(3);
    await nodes[2].kill();
    const console = await lab.console({ name: 'orders', nodes, environment: 'production' });
    await page.goto(`${console.url}/nodes`);
    const findings = page.getByRole('group', { name: 'orders 的体检结果' });
    await expect(findings.getByRole('heading')).toContainText('不适合：1 个错误');
    const gone = findings.locator('details').filter({ hasText: 'node-unreachable' });
    await expect(gone).toContainText('节点 c 无法使用。');
    await expect(gone).toContainText('怎么办：检查服务器是否在运行');
    await expect(page.getByRole('article', { name: 'c', exact: true })).toContainText('请检查服务器是否在运行');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`)).toEqual([]);
  });
});

for (const javaScriptEnabled of [true, false]) {
  test.describe(`on a phone ${javaScriptEnabled ? 'with' : 'without'} a script`, () => {
    test.use({ viewport: { width: 390, height: 844 }, javaScriptEnabled });

    test('state, feed and the worst finding of each node come first, and the rest unfolds', async ({ page, lab }) => {
      const nodes = await lab.nodes(3);
      await nodes[1].redis.config('SET', 'maxmemory', '100mb');
      await nodes[1].redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
      const console = await lab.console({ name: 'orders', nodes });
      const card = page.getByRole('article', { name: 'b', exact: true });
      // Without a script the page has to be loaded again for news.
      await expect(async () => {
        await page.goto(`${console.url}/nodes`);
        await expect(card.getByText('up', { exact: true }).first()).toBeVisible({ timeout: 3_000 });
        await expect(card.getByText('tracking')).toBeVisible({ timeout: 3_000 });
        await expect(card.getByText('Node b throws keys away')).toBeVisible({ timeout: 3_000 });
      }).toPass();
      const { height } = (await card.boundingBox())!;
      expect(height).toBeLessThan(260);
      const hour = card.getByRole('img', { name: /^Last hour: / });
      await expect(hour).toBeHidden();
      await expect(card.getByRole('meter')).toBeHidden();
      await card.getByText('Last hour, scan and details').click();
      await expect(hour).toBeVisible();
      await expect(card.getByRole('meter')).toBeVisible();
      await expect(card.getByText('Persistence')).toBeVisible();
      const findings = page.getByRole('group', { name: 'Findings in orders' });
      await expect(findings.getByText('evicts-locks')).toBeVisible();
    });
  });
}
