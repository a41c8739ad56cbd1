// Somebody asks whether the set-up is fit for locking, does what the doctor says, and sees the finding go.
import { expect, open, test } from './fixtures';

test('an eviction policy that drops locks is found, explained and gone after its fix', async ({ page, lab }) => {
  const nodes = await lab.nodes(3);
  await nodes[1].redis.config('SET', 'maxmemory', '100mb');
  await nodes[1].redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  const console = await lab.console({ name: 'orders', nodes, environment: 'production' });
  await open(page, console, '/nodes');
  const findings = page.getByRole('group', { name: 'Findings in orders' });
  await expect(findings.getByRole('heading')).toContainText('not fit: 1 error');

  const eviction = findings.locator('details').filter({ hasText: 'evicts-locks' });
  await expect(eviction).toContainText('Node b throws keys away');
  await expect(eviction.getByText('b: maxmemory:104857600, maxmemory_policy:allkeys-lru')).toBeVisible();
  const command = await eviction.locator('pre').innerText();
  expect(command).toBe('CONFIG SET maxmemory-policy noeviction');

  const restarts = findings.locator('details').filter({ hasText: 'forgets-locks' });
  await expect(restarts.getByText('What helps')).toBeHidden();
  await restarts.locator('summary').click();
  await expect(restarts.getByText('What helps')).toBeVisible();

  const [verb, ...words] = command.split(' ');
  await nodes[1].redis.call(verb, ...words);
  await expect(eviction).toBeHidden({ timeout: 30_000 });
  await expect(findings.getByRole('heading')).toContainText('fit, ');
  await expect(findings.getByRole('heading')).not.toContainText('not fit');
});
