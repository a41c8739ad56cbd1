// The release of a stuck lock with the keyboard only.
import type { Locator, Page } from '@playwright/test';
import { acquireLock, expect, open, row, test } from './fixtures';

/** Presses Tab until the target has the focus, and checks that the focus is visible. */
async function tabTo(page: Page, target: Locator) {
  for (let tabs = 0; tabs < 60; tabs++) {
    if (await target.evaluate((element) => element === document.activeElement)) break;
    await page.keyboard.press('Tab');
  }
  await expect(target).toBeFocused();
  const isVisible = await target.evaluate((element) => {
    const style = getComputedStyle(element);
    return style.outlineStyle !== 'none' || style.boxShadow !== 'none';
  });
  expect(isVisible, 'the focus is visible').toBe(true);
}

test('a stuck lock can be found, released and found in the audit log without a mouse', async ({ page, servers }) => {
  const nodes = await servers.startNodes(3);
  const console = await servers.startConsole({ name: 'orders', nodes, environment: 'production' });
  for (const name of ['a', 'b']) await acquireLock(nodes, `lock:busy:${name}`, `${name}-token-`.repeat(4), 600_000);
  await acquireLock(nodes, 'lock:nightly-report', 'stuck-'.repeat(5));
  await open(page, console);
  await expect(row(page, 'lock:busy:b')).toBeVisible();

  // The first row needs attention; `j` moves to it, Enter opens it.
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'lock:nightly-report' })).toBeVisible();
  await expect(page.getByText('Does not expire.')).toBeVisible();

  const openDialog = page.getByRole('button', { name: 'Force release…' });
  await tabTo(page, openDialog);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await tabTo(page, dialog.getByLabel('Reason'));
  await page.keyboard.type('the report has hung since midnight');
  await tabTo(page, dialog.getByLabel("Type the lock's name to confirm"));
  await page.keyboard.type('lock:nightly-report');
  await tabTo(page, dialog.getByRole('button', { name: 'Release', exact: true }));
  await page.keyboard.press('Enter');
  await expect(dialog.getByRole('list', { name: 'Result per node' }).getByRole('listitem')).toHaveText([/released/, /released/, /released/]);
  for (const node of nodes) expect(await node.redis.exists('lock:nightly-report')).toBe(0);

  await tabTo(page, dialog.getByRole('link', { name: 'View in audit log' }));
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/audit\?/);
  await expect(page.getByText('the report has hung since midnight')).toBeVisible();
  await tabTo(page, page.getByText('Details', { exact: true }).first());
  await page.keyboard.press('Enter');
  await expect(page.getByRole('table', { name: 'Result per node' }).getByRole('row').nth(1)).toContainText('absent');
});

test('a dialog traps the focus and returns it when it closes', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await open(page, console, '/mine');
  const opener = page.getByRole('button', { name: 'Acquire a lock' });
  await tabTo(page, opener);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Acquire a lock' });
  await expect(dialog).toBeVisible();
  for (let tabs = 0; tabs < 25; tabs++) {
    await page.keyboard.press('Tab');
    // The browser's own controls come between the last and the first element of the dialog.
    const isInside = await dialog.evaluate((element) => element.contains(document.activeElement) || document.activeElement === document.body);
    expect(isInside, `after ${tabs + 1} tabs`).toBe(true);
  }
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  await expect(opener).toBeFocused();
});
