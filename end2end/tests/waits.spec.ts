// The page of waits: the wait-for graph, deadlocks, search and filters.
import AxeBuilder from '@axe-core/playwright';
import { expect, open, type RedisNode, test, waitUntilLive } from './fixtures';

/** Adds a Redisson thread that holds one fair lock and waits in the queue of another. */
async function addThread(node: RedisNode, thread: number, held: string, wanted: string) {
  const field = `6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:${thread}`;
  await node.redis.hset(held, field, 1);
  await node.redis.pexpire(held, 600_000);
  await node.redis.rpush(`redisson_lock_queue:{${wanted}}`, field);
}

test('a deadlock is shown until one of its waiters leaves the queue', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes: [node] });
  await open(page, console);
  await page.getByRole('link', { name: 'Waits' }).click();
  await expect(page.getByRole('heading', { name: 'No waits observed' })).toBeVisible();

  await addThread(node, 1, 'lock:a', 'lock:b');
  await addThread(node, 2, 'lock:b', 'lock:a');
  await addThread(node, 3, 'lock:c', 'lock:a');
  const tree = page.getByRole('list', { name: 'Locks that block others' });
  await expect(tree.getByText('deadlock').first()).toBeVisible({ timeout: 15_000 });
  await expect(tree.getByRole('link', { name: 'lock:a' }).first()).toBeVisible();
  await expect(tree).toContainText('shown above: closes the cycle');
  await expect(tree).toContainText('6d1f5a0e thread 3');

  await node.redis.del('redisson_lock_queue:{lock:b}');
  await expect(tree.getByText('deadlock')).toHaveCount(0, { timeout: 15_000 });
  await expect(tree).toContainText('6d1f5a0e thread 2');
  await tree.getByRole('link', { name: 'lock:a' }).first().click();
  await expect(page.getByRole('region', { name: 'History' })).toContainText('6d1f5a0e thread 1');
});

test('a search filters the wait chains and is part of the URL', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes: [node] });
  await addThread(node, 1, 'lock:a', 'lock:b');
  await addThread(node, 2, 'lock:b', 'lock:apart');
  await addThread(node, 3, 'lock:other', 'lock:last');
  await node.redis.hset('lock:last', '6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:4', 1);
  await node.redis.pexpire('lock:last', 600_000);
  await open(page, console, '/waits');
  const tree = page.getByRole('list', { name: 'Locks that block others' });
  await expect(tree.getByRole('link', { name: 'lock:last' }).first()).toBeVisible({ timeout: 15_000 });
  await page.getByRole('searchbox').fill('thread 1');
  await expect(page).toHaveURL(/q=thread%201/);
  await expect(tree.getByRole('link', { name: 'lock:b' }).first()).toBeVisible();
  await expect(tree.getByRole('link', { name: 'lock:last' })).toHaveCount(0);
  await page.reload();
  await waitUntilLive(page);
  await expect(tree.getByRole('link', { name: 'lock:b' }).first()).toBeVisible();
  await page.getByRole('searchbox').fill('no such thing');
  await expect(page.getByRole('heading', { name: 'No matching waits' })).toBeVisible();
  await page.getByRole('link', { name: 'Show all' }).click();
  await expect(tree.getByRole('link', { name: 'lock:last' }).first()).toBeVisible();
});

test('a deadlock is shown with its cycle and the release that resolves it, and can be filtered', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes: [node] });
  // Thread 1 holds a and waits for b and c, which threads 2 and 3 hold; both wait for a.
  await addThread(node, 1, 'lock:a', 'lock:b');
  await addThread(node, 1, 'lock:a', 'lock:c');
  await addThread(node, 2, 'lock:b', 'lock:a');
  await addThread(node, 3, 'lock:c', 'lock:a');
  await addThread(node, 4, 'lock:d', 'lock:apart');
  await addThread(node, 5, 'lock:apart', 'lock:never-taken');
  await open(page, console, '/waits');
  const tree = page.getByRole('list', { name: 'Locks that block others' });
  const graph = page.getByRole('region', { name: 'Wait-for graph' });
  const suggestion = graph.getByText(/^Suggested release: /);
  await expect(suggestion).toContainText('lock:a. 3 waiters can continue; the deadlock is resolved.', { timeout: 30_000 });
  await expect(graph.getByText(/^Cycle: /)).toContainText('waits for');
  // The lock to release is marked in the picture. The parts of the graph are drawn apart.
  await expect(graph.getByRole('group', { name: 'Wait-for graph' })).toHaveCount(2);
  await expect(graph.getByRole('link', { name: /^lock:a\s*Suggested release/ })).toBeVisible();
  await graph.getByRole('link', { name: /thread 4/ }).click();
  await expect(page).toHaveURL(/q=[0-9a-f]{16}/);
  await expect(graph.getByRole('link', { name: /lock:apart/ })).toBeVisible();
  await expect(suggestion).toHaveCount(0);
  await page.goBack();
  await expect(tree.getByText('source: queue in Redis').first()).toBeVisible();
  await expect(tree).toContainText('lock:apart');
  await page.getByRole('link', { name: 'Deadlocks' }).click();
  await expect(page).toHaveURL(/only=deadlocks/);
  await expect(tree).not.toContainText('lock:apart');
  await page.getByRole('link', { name: 'This console' }).click();
  await expect(page.getByRole('heading', { name: 'No matching waits' })).toBeVisible();
  await page.getByRole('link', { name: 'Show all' }).click();
  await suggestion.getByRole('link', { name: 'lock:a' }).click();
  await expect(page).toHaveURL(/locks\/lock%3Aa/);
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('the graph is drawn by the server', async ({ page, servers }) => {
    const [node] = await servers.startNodes(1);
    const console = await servers.startConsole({ name: 'orders', nodes: [node] });
    await addThread(node, 1, 'lock:a', 'lock:b');
    await addThread(node, 2, 'lock:b', 'lock:a');
    const graph = page.getByRole('group', { name: 'Wait-for graph' });
    await expect(async () => {
      await page.goto(`${console.url}/waits`);
      await expect(graph.getByRole('link', { name: /lock:a/ })).toBeVisible({ timeout: 1_000 });
    }).toPass();
    await graph.getByRole('link', { name: /lock:b/ }).click();
    await expect(page).toHaveURL(/locks\/lock%3Ab/);
  });
});

test.describe('in Chinese on a phone', () => {
  test.use({ locale: 'zh-CN', viewport: { width: 390, height: 844 } });

  test('an empty page and a deadlock are in Chinese, and nothing overflows', async ({ page, servers }) => {
    const [node] = await servers.startNodes(1);
    const console = await servers.startConsole({ name: 'orders', nodes: [node] });
    await page.goto(`${console.url}/waits`);
    await expect(page.getByRole('heading', { name: '未观测到等待' })).toBeVisible();
    await expect(page.getByRole('heading', { name: '可见的等待者', exact: true })).toBeVisible();
    await addThread(node, 1, 'lock:a', 'lock:b');
    await addThread(node, 2, 'lock:b', 'lock:a');
    await expect(page.getByText(/^建议释放：/)).toBeVisible({ timeout: 30_000 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`)).toEqual([]);
  });
});
