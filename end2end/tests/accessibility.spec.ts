// What assistive technology finds on the pages: their outline, the names of tables, dialogs and charts; and pages that are zoomed,
// printed, or shown in somebody's own colours.
import { closeDialog, everyState, sticksOut } from './everywhere';
import { expect, lockPath, open, take, test } from './fixtures';

const PAGES = ['/', '/owners', '/nodes', '/waits', '/mine', '/audit', '/help', '/nowhere'];

test('a page has the same outline everywhere, and one main heading', async ({ page, lab, complaints }) => {
  complaints.expect(/status of 404/);
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  for (const path of PAGES) {
    await open(page, console, path);
    await expect(page.locator('body')).toMatchAriaSnapshot(`
      - link "Skip to the content"
      - banner:
        - link "Lockkeeper"
        - navigation "Pages":
          - link "Locks"
          - link "Owners"
          - link "Nodes"
          - link "Waits"
          - link "Mine"
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

test('a screen reader hears what each table, dialog and chart is', async ({ page, lab }) => {
  const { console, nodes } = await everyState(lab);
  await open(page, console, '/?sort=key');
  const table = page.getByRole('table', { name: 'Locks' });
  // The rows that are there, not only those that are drawn, and the header.
  await expect(table).toHaveAttribute('aria-rowcount', '5');
  await expect(table).toMatchAriaSnapshot(`
    - table "Locks":
      - rowgroup:
        - row:
          - columnheader "Select all that are shown":
            - checkbox "Select all that are shown"
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
  await expect(page.getByRole('region', { name: 'What each node answers' }).getByRole('table')).toBeVisible();
  const chart = page.getByRole('img', { name: 'Lease over time' });
  await expect(chart).toHaveAccessibleDescription(/left/);
  await expect(page.getByRole('region', { name: 'History' }).getByRole('list', { name: 'Holds, the latest first' })).toBeVisible();
  await page.getByRole('button', { name: 'Force release…' }).click();
  await expect(page.getByRole('dialog')).toHaveAccessibleName(/^Release lock:held on 3 nodes of orders \(production\)\?/);
  await closeDialog(page);

  // A format that says who it is.
  for (const { redis } of nodes) await redis.hset('lock:thread', '6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:1', 1);
  await open(page, console, '/owners');
  await expect(page.getByRole('table', { name: 'Owners' })).toBeVisible();
  await open(page, console, '/nodes');
  await expect(page.getByRole('article', { name: 'b' }).getByRole('img', { name: /^Last hour: / })).toBeVisible();
  await open(page, console, '/mine');
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  await expect(page.getByRole('dialog', { name: 'Acquire a lock' })).toBeVisible();
  await closeDialog(page);
  await page.keyboard.press('Control+k');
  await expect(page.getByRole('dialog', { name: 'Go to, find, do' }).getByRole('listbox', { name: 'Results' })).toBeVisible();
});

test('the keyboard reaches the content at once, and every control shows where it is', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await take(nodes, 'lock:a', 'token', 60_000);
  await open(page, console);
  await page.keyboard.press('Tab');
  const skip = page.getByRole('link', { name: 'Skip to the content' });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('main')).toBeFocused();
});

test('the chosen theme is there before the first paint and is remembered', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
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

  test('every page still fits, and a lock can be released', async ({ page, lab, complaints }) => {
    complaints.expect(/status of 404/);
    const { console, nodes } = await everyState(lab);
    for (const path of [...PAGES, lockPath('orders', 'lock:split')]) {
      await open(page, console, path);
      expect(await sticksOut(page), `${path} scrolls sideways`).toBeLessThanOrEqual(0);
    }
    await open(page, console, lockPath('orders', 'lock:no-expiry'));
    await page.getByRole('button', { name: 'Force release…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('nobody needs it');
    await dialog.getByLabel("Type the lock's name to confirm").fill('lock:no-expiry');
    const release = dialog.getByRole('button', { name: 'Release', exact: true });
    await release.scrollIntoViewIfNeeded();
    await expect(release).toBeInViewport({ ratio: 1 });
    await release.click();
    await expect(dialog).toContainText('Released on 3 of 3 nodes');
    expect(await nodes[0].redis.exists('lock:no-expiry')).toBe(0);
  });
});

test('on paper there is the list and nothing to press, and somebody’s own colours hide nothing', async ({ page, lab }) => {
  const { console } = await everyState(lab);
  await open(page, console);
  await page.emulateMedia({ media: 'print' });
  // A sheet of A4 at 96 pixels an inch, without its margins.
  await page.setViewportSize({ width: 717, height: 1046 });
  await expect(page.getByRole('navigation', { name: 'Pages' })).toBeHidden();
  await expect(page.getByRole('main').locator('button:visible:not(th button)')).toHaveCount(0);
  for (const name of ['lock:held', 'lock:no-expiry', 'lock:partial', 'lock:split']) {
    await expect(page.getByRole('link', { name, exact: true })).toBeVisible();
  }
  expect(await sticksOut(page)).toBeLessThanOrEqual(0);
  // Turned round there is room for columns, whose headings say what they are.
  await page.setViewportSize({ width: 1046, height: 717 });
  for (const heading of ['Verdict', 'Owner', 'Lease']) {
    await expect(page.getByRole('columnheader', { name: heading }).getByText(heading)).toBeVisible();
  }
  await page.emulateMedia({ media: 'screen', forcedColors: 'active' });
  await page.setViewportSize({ width: 1280, height: 800 });
  await expect(page.getByRole('link', { name: 'lock:split', exact: true })).toBeVisible();
  await expect(page.getByText('split').first()).toBeVisible();
});
