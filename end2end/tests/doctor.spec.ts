// The doctor: a finding is shown with its fix and disappears once the fix is applied.
import { expect, open, test } from './fixtures';

test('an eviction policy that can delete locks is found, explained and cleared by its fix', async ({ page, servers }) => {
  const nodes = await servers.startNodes(3);
  await nodes[1].redis.config('SET', 'maxmemory', '100mb');
  await nodes[1].redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  const console = await servers.startConsole({ name: 'orders', nodes, environment: 'production' });
  await open(page, console, '/nodes');
  const findings = page.getByRole('group', { name: 'Findings in orders' });
  await expect(findings.getByRole('heading')).toContainText('unhealthy: 1 error');

  const eviction = findings.locator('details').filter({ hasText: 'eviction-enabled' });
  await expect(eviction).toContainText('Node b evicts keys');
  await expect(eviction.getByText('b: maxmemory:104857600, maxmemory_policy:allkeys-lru')).toBeVisible();
  const command = await eviction.locator('pre').innerText();
  expect(command).toBe('CONFIG SET maxmemory-policy noeviction');

  const persistence = findings.locator('details').filter({ hasText: 'no-persistence' });
  await expect(persistence.getByText('Fix')).toBeHidden();
  await persistence.locator('summary').click();
  await expect(persistence.getByText('Fix')).toBeVisible();

  const [name, ...args] = command.split(' ');
  await nodes[1].redis.call(name, ...args);
  await expect(eviction).toBeHidden({ timeout: 30_000 });
  await expect(findings.getByRole('heading')).toContainText('healthy, ');
  await expect(findings.getByRole('heading')).not.toContainText('unhealthy');
});
