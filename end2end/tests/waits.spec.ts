// Who waits for whom: nobody, one through this console, and two Redisson threads that wait for one another.
import AxeBuilder from '@axe-core/playwright';
import { expect, isLive, type Node, open, test } from './fixtures';

/** A Redisson thread that has one fair lock and stands in the queue of another. */
async function hasAndWants(node: Node, thread: number, has: string, wants: string) {
  const field = `6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:${thread}`;
  await node.redis.hset(has, field, 1);
  await node.redis.pexpire(has, 600_000);
  await node.redis.rpush(`redisson_lock_queue:{${wants}}`, field);
}

test('a deadlock shows up, and goes away when one gives up', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes: [node] });
  await open(page, console);
  await page.getByRole('link', { name: 'Waits' }).click();
  await expect(page.getByRole('heading', { name: 'No waiting observed' })).toBeVisible();

  await hasAndWants(node, 1, 'lock:a', 'lock:b');
  await hasAndWants(node, 2, 'lock:b', 'lock:a');
  await hasAndWants(node, 3, 'lock:c', 'lock:a');
  const tree = page.getByRole('list', { name: 'Locks that block others' });
  await expect(tree.getByText('deadlock').first()).toBeVisible({ timeout: 15_000 });
  await expect(tree.getByRole('link', { name: 'lock:a' }).first()).toBeVisible();
  await expect(tree).toContainText('as above: the circle is closed');
  await expect(tree).toContainText('6d1f5a0e thread 3');

  await node.redis.del('redisson_lock_queue:{lock:b}');
  await expect(tree.getByText('deadlock')).toHaveCount(0, { timeout: 15_000 });
  await expect(tree).toContainText('6d1f5a0e thread 2');
  await tree.getByRole('link', { name: 'lock:a' }).first().click();
  await expect(page.getByRole('region', { name: 'History' })).toContainText('6d1f5a0e thread 1');
});

test('a search shows the chains it is about, and stays in the address', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes: [node] });
  await hasAndWants(node, 1, 'lock:a', 'lock:b');
  await hasAndWants(node, 2, 'lock:b', 'lock:apart');
  await hasAndWants(node, 3, 'lock:other', 'lock:last');
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
  await isLive(page);
  await expect(tree.getByRole('link', { name: 'lock:b' }).first()).toBeVisible();
  await page.getByRole('searchbox').fill('no such thing');
  await expect(page.getByRole('heading', { name: 'Nothing found' })).toBeVisible();
  await page.getByRole('link', { name: 'Show all' }).click();
  await expect(tree.getByRole('link', { name: 'lock:last' }).first()).toBeVisible();
});

test('a deadlock is drawn as a circle with the shortest way out of it, and can be filtered for', async ({ page, lab }) => {
  const [node] = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes: [node] });
  // 1 has a and waits for b and c, which 2 and 3 have; both wait for a.
  await hasAndWants(node, 1, 'lock:a', 'lock:b');
  await hasAndWants(node, 1, 'lock:a', 'lock:c');
  await hasAndWants(node, 2, 'lock:b', 'lock:a');
  await hasAndWants(node, 3, 'lock:c', 'lock:a');
  await hasAndWants(node, 4, 'lock:d', 'lock:apart');
  await hasAndWants(node, 5, 'lock:apart', 'lock:never-taken');
  await open(page, console, '/waits');
  const tree = page.getByRole('list', { name: 'Locks that block others' });
  const out = tree.getByText(/^Shortest way out: release /);
  await expect(out).toContainText('lock:a. 3 waiters get on, and no circle is left.', { timeout: 30_000 });
  await expect(tree.getByText(/^The circle: /)).toContainText('waits for');
  await expect(tree.getByText('known from: the queue on the nodes').first()).toBeVisible();
  await expect(tree).toContainText('lock:apart');
  await page.getByRole('link', { name: 'Deadlocks' }).click();
  await expect(page).toHaveURL(/only=deadlocks/);
  await expect(tree).not.toContainText('lock:apart');
  await page.getByRole('link', { name: 'Through this console' }).click();
  await expect(page.getByRole('heading', { name: 'Nothing found' })).toBeVisible();
  await page.getByRole('link', { name: 'Show all' }).click();
  await out.getByRole('link', { name: 'lock:a' }).click();
  await expect(page).toHaveURL(/locks\/lock%3Aa/);
});

test.describe('in Chinese on a phone', () => {
  test.use({ locale: 'zh-CN', viewport: { width: 390, height: 844 } });

  test('waits are told in Chinese, first what could be seen, then a deadlock, and nothing overflows', async ({ page, lab }) => {
    const [node] = await lab.nodes(1);
    const console = await lab.console({ name: 'orders', nodes: [node] });
    await page.goto(`${console.url}/waits`);
    await expect(page.getByRole('heading', { name: '没有观察到等待' })).toBeVisible();
    await expect(page.getByRole('heading', { name: '能看到的' })).toBeVisible();
    await hasAndWants(node, 1, 'lock:a', 'lock:b');
    await hasAndWants(node, 2, 'lock:b', 'lock:a');
    await expect(page.getByText(/^最短的出路：释放/)).toBeVisible({ timeout: 30_000 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`)).toEqual([]);
  });
});
