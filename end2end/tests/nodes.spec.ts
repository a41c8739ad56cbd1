// The page of nodes: state, state history, findings, search, and its layout on a phone.
import AxeBuilder from '@axe-core/playwright';
import { expect, open, test, waitUntilLive } from './fixtures';

test('an unreachable node is shown in the last hour, in its state changes and as a finding with a fix', async ({ page, servers }) => {
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await open(page, console, '/nodes');
  const card = page.getByRole('article', { name: 'c', exact: true });
  await expect(card.getByRole('img', { name: /^Last hour: up for \d+ min/ })).toBeVisible();
  await card.getByText('Details', { exact: true }).click();
  await expect(card.getByRole('meter', { name: /^Scan load: / })).toBeVisible();
  await expect(card).toContainText('may lose locks on restart');

  await nodes[2].kill();
  await expect(card).toContainText('Check that the server is running');
  // The page loads the history every ten seconds.
  await expect(card.getByRole('img', { name: /down for \d+ min/ }).first()).toBeVisible({ timeout: 30_000 });
  await card.getByText('As a table').click();
  await expect(card.getByRole('table').getByRole('row').nth(1)).toContainText(/down/);
  await card.getByText('State changes').click();
  await expect(card.getByRole('listitem').filter({ hasText: 'down: ' }).first()).toBeVisible();

  const findings = page.getByRole('group', { name: 'Findings in orders' });
  const unreachable = findings.locator('details').filter({ hasText: 'node-unreachable' });
  await expect(unreachable).toContainText('Node c is unreachable', { timeout: 30_000 });
  await expect(unreachable.getByText('Impact')).toBeVisible();
  await expect(unreachable.getByText('Check that the server is running and reachable from this machine')).toBeVisible();

  await nodes[2].start();
  await expect(card.getByText('up', { exact: true })).toBeVisible({ timeout: 30_000 });
  await expect(unreachable).toBeHidden({ timeout: 30_000 });
});

test('groups and nodes can be searched by name and state, and the search is part of the URL', async ({ page, servers }) => {
  const [first, second] = await servers.startNodes(2);
  await second.kill();
  const console = await servers.startConsole({ name: 'orders', nodes: [first] }, { name: 'jobs', nodes: [second] });
  await open(page, console, '/nodes');
  await expect(page.getByRole('region', { name: 'orders' })).toBeVisible();
  await page.getByRole('searchbox').fill('down');
  await expect(page).toHaveURL(/\/nodes\?q=down/);
  await expect(page.getByRole('region', { name: 'orders' })).toHaveCount(0);
  await expect(page.getByRole('region', { name: 'jobs' })).toBeVisible();
  await page.reload();
  await waitUntilLive(page);
  await expect(page.getByRole('region', { name: 'jobs' })).toBeVisible();
  await expect(page.getByRole('region', { name: 'orders' })).toHaveCount(0);
  await page.getByRole('searchbox').fill('no such thing');
  await page.getByRole('link', { name: 'Show all' }).click();
  await expect(page.getByRole('region', { name: 'orders' })).toBeVisible();
});

test.describe('in Chinese on a phone', () => {
  test.use({ locale: 'zh-CN', viewport: { width: 390, height: 844 } });

  test('nodes, findings and fixes are in Chinese, and nothing overflows', async ({ page, servers }) => {
    const nodes = await servers.startNodes(3);
    await nodes[2].kill();
    const console = await servers.startConsole({ name: 'orders', nodes, environment: 'production' });
    await page.goto(`${console.url}/nodes`);
    const findings = page.getByRole('group', { name: 'orders 的检查结果' });
    await expect(findings.getByRole('heading')).toContainText('不健康：1 个错误');
    const unreachable = findings.locator('details').filter({ hasText: 'node-unreachable' });
    await expect(unreachable).toContainText('节点 c 无法访问。');
    await expect(unreachable).toContainText('修复建议：检查服务器是否在运行');
    await expect(page.getByRole('article', { name: 'c', exact: true })).toContainText('请检查服务器是否正在运行');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`)).toEqual([]);
  });
});

for (const javaScriptEnabled of [true, false]) {
  test.describe(`on a phone ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, () => {
    test.use({ viewport: { width: 390, height: 844 }, javaScriptEnabled });

    test('each node shows its state, change feed and worst finding, and unfolds the rest', async ({ page, servers }) => {
      const nodes = await servers.startNodes(3);
      await nodes[1].redis.config('SET', 'maxmemory', '100mb');
      await nodes[1].redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
      const console = await servers.startConsole({ name: 'orders', nodes });
      const card = page.getByRole('article', { name: 'b', exact: true });
      // Without JavaScript the page must be reloaded for updates.
      await expect(async () => {
        await page.goto(`${console.url}/nodes`);
        await expect(card.getByText('up', { exact: true }).first()).toBeVisible({ timeout: 3_000 });
        await expect(card.getByText('tracking', { exact: true })).toBeVisible({ timeout: 3_000 });
        await expect(card.getByText('Node b evicts keys')).toBeVisible({ timeout: 3_000 });
      }).toPass();
      const { height } = (await card.boundingBox())!;
      expect(height).toBeLessThan(260);
      const lastHour = card.getByRole('img', { name: /^Last hour: / });
      await expect(lastHour).toBeHidden();
      await expect(card.getByRole('meter')).toBeHidden();
      await card.getByText('Last hour, scan and details').click();
      await expect(lastHour).toBeVisible();
      await expect(card.getByRole('meter')).toBeVisible();
      await expect(card.getByText('Persistence')).toBeVisible();
      const findings = page.getByRole('group', { name: 'Findings in orders' });
      await expect(findings.getByText('eviction-enabled')).toBeVisible();
    });
  });
}
