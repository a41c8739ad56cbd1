// The lock list: live updates, leases, search, filters and sort order.
import { acquireLock, expect, lockLinks, open, row, test, waitUntilLive } from './fixtures';

test('a lock appears when it is acquired and counts down', async ({ page, servers }) => {
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await open(page, console);
  await expect(page.getByRole('heading', { name: 'No locks observed' })).toBeVisible();
  await expect(page.getByText('Patterns: lock:*')).toBeVisible();

  await acquireLock(nodes, 'lock:invoice:1842', 'a'.repeat(32), 55_000);
  const lock = row(page, 'lock:invoice:1842');
  await expect(lock).toBeVisible();
  await expect(lock).toContainText('held');
  await expect(lock.getByRole('img', { name: 'a holds, b holds, c holds' })).toBeVisible();

  const left = async () => parseInt(await lock.getByTitle('time until the lock expires').innerText());
  const first = await left();
  expect(first).toBeGreaterThan(20);
  await expect.poll(left).toBeLessThan(first - 1);

  await Promise.all(nodes.map((node) => node.redis.pexpire('lock:invoice:1842', 55_000)));
  await expect.poll(left).toBeGreaterThan(45);

  await Promise.all(nodes.map((node) => node.redis.del('lock:invoice:1842')));
  await expect(page.getByRole('heading', { name: 'No locks observed' })).toBeVisible();
});

test('the page of a lock follows its state until after its release', async ({ page, servers }) => {
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes.slice(0, 2), 'lock:payout:eu', 'b'.repeat(32), 60_000);
  await open(page, console);
  await page.getByRole('link', { name: 'lock:payout:eu' }).click();
  await expect(page.getByRole('heading', { name: 'lock:payout:eu' })).toBeVisible();
  await expect(page.getByText(/Held by .* on 2 of 3 nodes \(quorum: 2\)/)).toBeVisible();
  const matrix = page.getByRole('region', { name: 'State per node' });
  await expect(matrix.getByRole('row', { name: /^c absent/ })).toBeVisible();

  await nodes[1].redis.del('lock:payout:eu');
  await expect(page.getByText(/On 1 of 3 nodes; the quorum is 2/)).toBeVisible();

  await nodes[0].redis.del('lock:payout:eu');
  await expect(page.getByText(/No longer observed: released at/)).toBeVisible();
  await expect(page.getByRole('heading', { name: 'lock:payout:eu' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Force release…' })).toBeDisabled();

  await acquireLock(nodes, 'lock:payout:eu', 'c'.repeat(32), 10_000);
  await expect(page.getByText(/Held by .* on 3 of 3 nodes/)).toBeVisible();
  await expect(page.getByText(/No longer observed: expired at/)).toBeVisible();
});

test('the name of a lock can be copied from its row with mouse and keyboard', async ({ page, context, servers }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, 'lock:first', 'token', 600_000);
  await acquireLock(nodes, 'lock:%2F second', 'token', 600_000);
  await open(page, console, '/?sort=key');
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  const copy = (name: string) => row(page, name).getByRole('button', { name: 'Copy name' });
  await row(page, 'lock:%2F second').hover();
  // The mouse moves between press and release, and afterwards.
  const { x, y, width, height } = (await copy('lock:%2F second').boundingBox())!;
  const [left, top] = [x + width / 2, y + height / 2];
  await page.mouse.move(left, top);
  await page.mouse.down();
  await page.mouse.move(left + 2, top + 2, { steps: 4 });
  await page.mouse.up();
  await expect(row(page, 'lock:%2F second')).toContainText('copied');
  await page.mouse.move(left - 40, top, { steps: 8 });
  await page.evaluate(() => new Promise(requestAnimationFrame));
  await expect(row(page, 'lock:%2F second')).toContainText('copied');
  expect(await clipboard()).toBe('lock:%2F second');
  await row(page, 'lock:first').focus();
  // past the checkbox and the link of the row
  for (let n = 0; n < 3; n++) await page.keyboard.press('Tab');
  await expect(copy('lock:first')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(row(page, 'lock:first')).toContainText('copied');
  expect(await clipboard()).toBe('lock:first');
});

test('the lease bar is animated, restarts at a renewal, and moves in steps with reduced motion', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, 'lock:a', 'token', 60_000);
  await open(page, console);
  const bar = row(page, 'lock:a').locator('.lease-left');
  const durations = () => bar.evaluate((bar) => bar.getAnimations().map((animation) => Number(animation.effect!.getComputedTiming().duration)));
  await expect.poll(durations).toHaveLength(1);
  const [first] = await durations();
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThanOrEqual(60_000);
  const width = () => bar.evaluate((bar) => bar.getBoundingClientRect().width);
  const before = await width();
  await expect.poll(width).toBeLessThan(before);
  await nodes[0].redis.pexpire('lock:a', 110_000);
  await expect.poll(async () => (await durations())[0]).toBeGreaterThan(90_000);

  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.reload();
  await expect(page.getByText(/^live(, \d|$)/)).toBeVisible({ timeout: 30_000 });
  expect(await durations()).toEqual([]);
  const drawnWidth = () => bar.locator('rect').getAttribute('width').then(Number);
  const drawnBefore = await drawnWidth();
  await expect.poll(drawnWidth).toBeLessThan(drawnBefore);
});

test('search, filters and sort order are part of the URL and survive a reload', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  for (const [key, ms] of [['lock:a', 50_000], ['lock:b', 40_000], ['lock:c', undefined]] as const) {
    await acquireLock(nodes, key, `${key}-token`, ms);
  }
  await open(page, console);
  const names = () => lockLinks(page.getByRole('row')).allInnerTexts();
  await expect.poll(async () => (await names())[0]).toBe('lock:c'); // without expiry: needs attention

  await page.getByRole('button', { name: 'Lease' }).click();
  await expect.poll(names).toEqual(['lock:b', 'lock:a', 'lock:c']);
  await expect(page.getByRole('columnheader', { name: 'Lease' })).toHaveAttribute('aria-sort', 'ascending');
  await page.getByRole('button', { name: 'Lease' }).click();
  await expect(page).toHaveURL(/sort=lease&order=desc/);
  await page.reload();
  await expect.poll(names).toEqual(['lock:c', 'lock:a', 'lock:b']);
  await waitUntilLive(page);

  await page.getByRole('navigation', { name: 'Filters' }).getByRole('link', { name: /No expiry/ }).click();
  await expect(page).toHaveURL(/flag=no-expiry/);
  await expect.poll(names).toEqual(['lock:c']);
  await page.getByRole('combobox', { name: 'Search locks' }).fill('lock:a');
  await expect(page.getByRole('heading', { name: 'No matching locks' })).toBeVisible();
  await page.getByRole('link', { name: 'Clear filters' }).click();
  await expect.poll(names).toEqual(['lock:c', 'lock:a', 'lock:b']);
  await page.goBack();
  await expect(page.getByRole('heading', { name: 'No matching locks' })).toBeVisible();
});

test('rows do not move while the pointer is over them', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:m', 'token', 60_000);
  await open(page, console, '/?sort=key');
  await row(page, 'lock:m').hover();
  await acquireLock(nodes, 'lock:a', 'token', 60_000);
  await expect(page.getByText('Show 1 change')).toBeVisible();
  await expect(row(page, 'lock:a')).toHaveCount(0);
  await page.mouse.move(1, 1);
  await expect(row(page, 'lock:a')).toBeVisible();
});

test('a click on a row opens the lock, Space shows its details, and the search field leads to the rows', async ({ page, context, servers }) => {
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  for (const name of ['lock:a', 'lock:b']) await acquireLock(nodes, name, `${name}-token`, 600_000);
  await open(page, console, '/?sort=key');
  await expect(row(page, 'lock:b')).toBeVisible();
  const searchBox = page.getByRole('combobox', { name: 'Search locks' });
  await searchBox.focus();
  await page.keyboard.press('ArrowDown');
  await expect(row(page, 'lock:a')).toBeFocused();

  const details = page.getByRole('complementary', { name: 'Selected lock' });
  await page.keyboard.press('Space');
  await expect(details.getByRole('heading')).toContainText('lock:a');
  await expect(details).toContainText(/Held by .* on 3 of 3 nodes/);
  await page.keyboard.press('j');
  await expect(details.getByRole('heading')).toContainText('lock:b');
  await page.keyboard.press('Escape');
  await expect(details).toHaveCount(0);

  await searchBox.focus();
  await page.keyboard.press('Enter');
  await expect(row(page, 'lock:b')).toBeFocused();
  const cell = row(page, 'lock:a').locator('td.cell-held');
  const newPage = context.waitForEvent('page');
  await cell.click({ modifiers: ['ControlOrMeta'] });
  await expect((await newPage).getByRole('heading', { level: 1, name: 'lock:a' })).toBeVisible();
  await expect(page).toHaveURL(/\?sort=key$/);
  // A drag selects text.
  const { x, y, height } = (await cell.boundingBox())!;
  await page.mouse.move(x + 2, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + 40, y + height / 2, { steps: 4 });
  await page.mouse.up();
  await expect(page).toHaveURL(/\?sort=key$/);
  await cell.click();
  await expect(page.getByRole('heading', { level: 1, name: 'lock:a' })).toBeVisible();
});

test('the row of a lock that ended stays for ten seconds', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  for (const name of ['lock:a', 'lock:b']) await acquireLock(nodes, name, 'token', 600_000);
  await open(page, console, '/?sort=key');
  await expect(row(page, 'lock:b')).toBeVisible();
  await nodes[0].redis.del('lock:a');
  await expect(row(page, 'lock:a')).toContainText(/released \d/);
  await expect(page.getByText('1 lock', { exact: true })).toBeVisible();
  await expect(row(page, 'lock:a')).toHaveCount(0);
  await expect(row(page, 'lock:b')).toBeVisible();
});

test('contended locks are sorted by demand, and the summary names the reasons', async ({ page, servers }) => {
  const [node] = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes: [node] });
  await page.setViewportSize({ width: 1440, height: 900 });
  const thread = (n: number) => `6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:${n}`;
  for (const [name, waiters] of [['lock:a', 1], ['lock:b', 3]] as const) {
    await node.redis.hset(name, thread(0), 1);
    for (let n = 1; n <= waiters; n++) await node.redis.rpush(`redisson_lock_queue:{${name}}`, thread(n));
  }
  await open(page, console);
  await expect(page.getByRole('navigation', { name: 'Filters' })).toContainText('2 locks need attention');
  await page.getByRole('navigation', { name: 'Filters' }).getByRole('link', { name: /^Contended/ }).click();
  await expect(page).toHaveURL(/flag=contended&sort=contention/);
  const names = () => lockLinks(page.getByRole('row')).allInnerTexts();
  await expect.poll(names).toEqual(['lock:b', 'lock:a']);
  await expect(row(page, 'lock:b')).toContainText('3 waiting');
  const first = (await row(page, 'lock:b').boundingBox())!;
  expect(first.y).toBeLessThanOrEqual(240);
});

test('with four groups, calm or not, the first row is in the upper part of the screen', async ({ page, servers }) => {
  const nodes = await servers.startNodes(6);
  const [orders, others] = [nodes.slice(0, 3), nodes.slice(3)];
  const console = await servers.startConsole(
    { name: 'orders', nodes: orders, environment: 'production' },
    ...['background-jobs', 'inventory', 'payments'].map((name, index) => ({ name, nodes: [others[index]] })),
  );
  await page.setViewportSize({ width: 1440, height: 900 });
  await acquireLock(orders, 'lock:a', 'a'.repeat(32), 600_000);
  await open(page, console);
  const firstRow = async () => (await page.getByRole('table', { name: 'Locks' }).getByRole('row').nth(1).boundingBox())!.y;
  await expect(page.getByText('Nothing needs attention')).toBeVisible();
  await expect(page.getByText('first scan not completed yet')).toHaveCount(0);
  for (const group of ['orders', 'background-jobs', 'inventory', 'payments']) {
    const card = page.getByRole('link', { name: new RegExp(group) });
    await expect(card).toBeInViewport({ ratio: 1 });
    expect(await card.evaluate((card) => [...card.querySelectorAll('span')].some((text) => text.scrollWidth > text.clientWidth + 1)), `${group} is cut`).toBe(false);
  }
  await expect(page.getByRole('slider', { name: 'Slowest reply' })).toBeVisible();
  expect(await firstRow()).toBeLessThanOrEqual(240);

  await acquireLock(orders, 'lock:no-expiry', 'b'.repeat(32));
  await acquireLock(orders.slice(0, 1), 'lock:partial', 'c'.repeat(32), 600_000);
  for (const [index, node] of orders.entries()) await acquireLock([node], 'lock:split', `${index}`.repeat(32), 600_000);
  const thread = (n: number) => `6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:${n}`;
  await others[0].redis.hset('lock:wanted', thread(0), 1);
  await others[0].redis.pexpire('lock:wanted', 600_000);
  await others[0].redis.rpush('redisson_lock_queue:{lock:wanted}', thread(1));
  const filters = page.getByRole('navigation', { name: 'Filters' });
  for (const reason of [/^Split/, /^No expiry/, /^Partial/, /^Contended/]) await expect(filters.getByRole('link', { name: reason })).toBeVisible();
  await page.goto(`${console.url}/?sort=key`);
  await waitUntilLive(page);
  await expect(row(page, 'lock:a')).toBeVisible();
  expect(await firstRow()).toBeLessThanOrEqual(240);
});

test('the list becomes interactive while the first figures of the charts arrive', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:a', 'token', 600_000);
  const held = page.getByRole('figure').filter({ has: page.getByRole('button', { name: 'Held: Show as a table' }) });
  await page.setViewportSize({ width: 1440, height: 900 });
  // The first figure is recorded some seconds after the start. The page must not be rendered with it
  // and be loaded without it.
  await expect(async () => {
    await open(page, console);
    await expect(page.locator('#broken')).toBeHidden();
    await expect(held).toContainText('1', { timeout: 50 });
  }).toPass({ intervals: [10], timeout: 60_000 });
  for (let load = 0; load < 5; load++) await open(page, console);
  await expect(page.locator('#broken')).toBeHidden();
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('the list and the page of a lock are readable', async ({ page, servers }) => {
    const nodes = await servers.startNodes(1);
    const console = await servers.startConsole({ name: 'jobs', nodes });
    await acquireLock(nodes, 'lock:a', 'token', 60_000);
    await expect.poll(() => fetch(`${console.url}/api/v1/locks`).then((response) => response.text())).toContain('lock:a');
    await page.goto(console.url);
    await expect(row(page, 'lock:a')).toContainText('held');
    await page.getByRole('link', { name: 'lock:a' }).click();
    await expect(page.getByText(/Held by/)).toBeVisible();
    // Controls that need JavaScript are hidden.
    await expect(page.getByText('Force release…')).toBeHidden();
    await expect(page.getByText('connecting')).toBeHidden();
  });
});

test('flags in one row are readable at every width', async ({ page, servers }) => {
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes.slice(0, 2), 'lock:two-flags', 'a'.repeat(32));
  await acquireLock(nodes.slice(2), 'lock:two-flags', 'b'.repeat(32));
  const threads = [0, 1, 2].map((thread) => `6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:${thread}`);
  for (const { redis } of nodes) {
    await redis.hset('lock:waited-for', threads[0], 1);
    await redis.rpush('redisson_lock_queue:{lock:waited-for}', threads[1], threads[2]);
  }
  await open(page, console);
  await expect(row(page, 'lock:two-flags')).toContainText('no expiry');
  await expect(row(page, 'lock:two-flags')).toContainText('split');
  await expect(row(page, 'lock:waited-for')).toContainText('queue of 2');
  for (const density of ['normal', 'dense']) {
    await page.evaluate((density) => (document.documentElement.dataset.density = density), density);
    for (const width of [800, 1000, 1100, 1280, 1440, 1900]) {
      await page.setViewportSize({ width, height: 800 });
      // Badges outside their row, or truncated although they share a line with another badge.
      const unreadable = await page.getByRole('row').evaluateAll((rows) =>
        rows.flatMap((row) => {
          const cell = row.querySelector('td.cell-verdict > span');
          const badges = cell ? [...cell.querySelectorAll<HTMLElement>(':scope > [title]')] : [];
          const { top, bottom } = row.getBoundingClientRect();
          const right = cell?.getBoundingClientRect().right ?? 0;
          return badges
            .filter((badge) => {
              const box = badge.getBoundingClientRect();
              const isCut = badge.scrollWidth > badge.clientWidth && box.width < cell!.clientWidth - 1;
              return isCut || box.top < top || box.bottom > bottom || box.right > right + 1;
            })
            .map((badge) => badge.innerText);
        }),
      );
      expect(unreadable, `${density}, ${width} px wide`).toEqual([]);
    }
  }
});

test('in a window of 1280 pixels, neither an interval of renewals nor the name of a group is cut', async ({ page, servers }) => {
  const nodes = await servers.startNodes(3);
  const names = ['inventory', 'payments', 'scheduler', 'warehouse'];
  const groups = names.map((name) => ({ name, nodes, keys: [`${name}:*`], environment: 'production' as const }));
  const console = await servers.startConsole(...groups);
  await acquireLock(nodes, 'payments:lock', 'token', 60_000);
  await page.setViewportSize({ width: 1280, height: 800 });
  await open(page, console);

  const renewal = setInterval(() => void Promise.all(nodes.map((node) => node.redis.pexpire('payments:lock', 60_000))), 600);
  try {
    const interval = row(page, 'payments:lock').locator('.cell-renewals');
    await expect(interval).toContainText(/^\d{3} ms$/);
    expect(await interval.evaluate((cell) => cell.scrollWidth - cell.clientWidth)).toBeLessThanOrEqual(0);
  } finally {
    clearInterval(renewal);
  }

  for (const name of names) {
    const missing = page.locator('.group-card').getByText(name, { exact: true }).evaluate((element) => {
      const text = document.createRange();
      text.selectNodeContents(element);
      return text.getBoundingClientRect().width - element.getBoundingClientRect().width;
    });
    expect(await missing).toBeLessThanOrEqual(0);
    await expect(page.locator('.group-card', { hasText: name }).getByText('can lose 1 more')).toBeInViewport({ ratio: 1 });
  }
});
