// Accessibility: the outline of pages, the accessible names of tables, dialogs and charts, and
// pages that are zoomed, printed or shown in forced colours.
import { acquireLock, expect, lockPath, open, test } from './fixtures';
import { closeDialog, horizontalOverflow, startLocksInEveryState } from './page_tour';

const PAGES = ['/', '/owners', '/owners/web-1', '/nodes', '/waits', '/activity', '/mine', '/audit', '/webhooks', '/help', '/nowhere'];

test('every page has the same outline and one main heading', async ({ page, servers, browserErrors }) => {
  browserErrors.allow(/status of 404/);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  for (const path of PAGES) {
    await open(page, console, path);
    await expect(page.locator('body')).toMatchAriaSnapshot(`
      - link "Skip to content"
      - banner:
        - link "Lockkeeper"
        - navigation "Pages":
          - link "Locks"
          - link "Owners"
          - link "Nodes"
          - link "Waits"
          - link "Activity"
          - link "My locks"
          - link "Audit"
        - button "Settings"
      - main
      - contentinfo:
        - link "Help"
        - link "API"
    `);
    expect(await page.getByRole('heading', { level: 1 }).count(), `${path} has one main heading`).toBe(1);
  }
});

for (const javaScriptEnabled of [true, false]) {
  test.describe(`on a phone ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, () => {
    test.use({ viewport: { width: 390, height: 844 }, javaScriptEnabled });
    test('pages without a tab are in a menu', async ({ page, servers }) => {
      const nodes = await servers.startNodes(1);
      const console = await servers.startConsole({ name: 'jobs', nodes });
      await page.goto(console.url);
      const pages = page.getByRole('navigation', { name: 'Pages' });
      await expect(pages.getByRole('link')).toHaveText(['Locks', 'Nodes', 'Waits', 'Activity']);
      await pages.getByText('Menu').click();
      for (const name of ['Owners', 'My locks', 'Audit']) await expect(pages.getByRole('link', { name })).toBeInViewport({ ratio: 1 });
      expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
      await pages.getByRole('link', { name: 'Audit' }).click();
      await expect(page.getByRole('heading', { level: 1, name: 'Audit log' })).toBeVisible();
      await expect(pages.getByRole('link')).toHaveText(['Locks', 'Nodes', 'Waits', 'Activity']);
    });
  });
}

test('every table, dialog and chart has an accessible name', async ({ page, servers }) => {
  const { console, nodes } = await startLocksInEveryState(servers);
  await open(page, console, '/?sort=key');
  const table = page.getByRole('table', { name: 'Locks' });
  // All rows and the header are counted, not only the rendered ones.
  await expect(table).toHaveAttribute('aria-rowcount', '5');
  await expect(table).toMatchAriaSnapshot(`
    - table "Locks":
      - rowgroup:
        - row:
          - columnheader "Select all shown":
            - checkbox "Select all shown"
          - columnheader "Verdict"
          - columnheader "Lock"
          - columnheader "Owner"
          - columnheader "Lease"
          - columnheader "Held"
          - columnheader "Renewals"
          - columnheader "Nodes"
  `);
  const split = table.getByRole('row').filter({ has: page.getByRole('link', { name: 'lock:split', exact: true }) });
  await expect(split.getByRole('img', { name: /\bb holds\b/ })).toBeVisible();
  await expect(split.getByRole('checkbox')).toHaveAccessibleName('Select lock:split');

  await open(page, console, lockPath('orders', 'lock:held'));
  await page.getByText(/3 of 3 nodes agree/).click();
  await expect(page.getByRole('region', { name: 'State per node' }).getByRole('table')).toBeVisible();
  const chart = page.getByRole('img', { name: 'Lease over time' });
  await expect(chart).toHaveAccessibleDescription(/left/);
  await expect(page.getByRole('region', { name: 'History' }).getByRole('list', { name: 'Holds, newest first' })).toBeVisible();
  await page.getByRole('button', { name: 'Force release…' }).click();
  await expect(page.getByRole('dialog')).toHaveAccessibleName(/^Release lock:held on 3 nodes of orders \(production\)\?/);
  await closeDialog(page);

  // Redisson's format names the owner.
  for (const { redis } of nodes) await redis.hset('lock:thread', '6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:1', 1);
  await open(page, console, '/owners');
  await expect(page.getByRole('table', { name: 'Owners' })).toBeVisible();
  await open(page, console, '/nodes');
  await expect(page.getByRole('article', { name: 'b' }).getByRole('img', { name: /^Last hour: up/ })).toBeVisible();
  await open(page, console, '/mine');
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  await expect(page.getByRole('dialog', { name: 'Acquire a lock' })).toBeVisible();
  await closeDialog(page);
  await page.keyboard.press('Control+k');
  await expect(page.getByRole('dialog', { name: 'Command palette' }).getByRole('listbox', { name: 'Results' })).toBeVisible();
});

test('the first tab stop is a link that moves the focus to the content', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:a', 'token', 60_000);
  await open(page, console);
  await page.keyboard.press('Tab');
  const skip = page.getByRole('link', { name: 'Skip to content' });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('main')).toBeFocused();
});

test('the selected theme is stored and applied before the first paint', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await open(page, console);
  const settings = page.getByRole('button', { name: 'Settings' });
  await settings.click();
  await page.getByLabel('Theme').selectOption('Dark');
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await page.goto(`${console.url}/nodes`, { waitUntil: 'commit' });
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await settings.click();
  await expect(page.getByLabel('Theme')).toHaveValue('dark');
  await page.getByLabel('Theme').selectOption('System theme');
  await expect(page.locator('html')).not.toHaveAttribute('data-theme', /./);
});

test.describe('zoomed to 200 %', () => {
  test.use({ viewport: { width: 720, height: 450 }, deviceScaleFactor: 2 });

  test('no page scrolls sideways, and a lock can be released', async ({ page, servers, browserErrors }) => {
    browserErrors.allow(/status of 404/);
    const { console, nodes } = await startLocksInEveryState(servers);
    for (const path of [...PAGES, lockPath('orders', 'lock:split')]) {
      await open(page, console, path);
      expect(await horizontalOverflow(page), `${path} scrolls sideways`).toBeLessThanOrEqual(0);
    }
    await open(page, console, lockPath('orders', 'lock:no-expiry'));
    await page.getByRole('button', { name: 'Force release…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('no longer needed');
    await dialog.getByLabel("Type the lock's name to confirm").fill('lock:no-expiry');
    const release = dialog.getByRole('button', { name: 'Release', exact: true });
    await release.scrollIntoViewIfNeeded();
    await expect(release).toBeInViewport({ ratio: 1 });
    await release.click();
    await expect(dialog).toContainText('Released on 3 of 3 nodes');
    expect(await nodes[0].redis.exists('lock:no-expiry')).toBe(0);
  });
});

test('the printed lock list has no controls, and forced colours hide nothing', async ({ page, servers }) => {
  const { console } = await startLocksInEveryState(servers);
  await open(page, console);
  await page.emulateMedia({ media: 'print' });
  // A4 portrait at 96 pixels per inch, without margins.
  await page.setViewportSize({ width: 717, height: 1046 });
  await expect(page.getByRole('navigation', { name: 'Pages' })).toBeHidden();
  await expect(page.getByRole('main').locator('button:visible:not(th button)')).toHaveCount(0);
  for (const name of ['lock:held', 'lock:no-expiry', 'lock:partial', 'lock:split']) {
    await expect(page.getByRole('link', { name, exact: true })).toBeVisible();
  }
  expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0);
  // A4 landscape is wide enough for columns with headings.
  await page.setViewportSize({ width: 1046, height: 717 });
  for (const heading of ['Verdict', 'Owner', 'Lease']) {
    await expect(page.getByRole('columnheader', { name: heading }).getByText(heading)).toBeVisible();
  }
  await page.emulateMedia({ media: 'screen', forcedColors: 'active' });
  await page.setViewportSize({ width: 1280, height: 800 });
  await expect(page.getByRole('link', { name: 'lock:split', exact: true })).toBeVisible();
  await expect(page.getByText('split').first()).toBeVisible();
});
