// Somebody without a mouse finds the stuck lock, understands it, releases it, and finds that in the audit.
import type { Locator, Page } from '@playwright/test';
import { expect, open, row, take, test } from './fixtures';

/** Tab by tab, until it has the focus; it is seen to have it. */
async function tabTo(page: Page, target: Locator) {
  for (let tabs = 0; tabs < 60; tabs++) {
    if (await target.evaluate((element) => element === document.activeElement)) break;
    await page.keyboard.press('Tab');
  }
  await expect(target).toBeFocused();
  const isSeen = await target.evaluate((element) => {
    const style = getComputedStyle(element);
    return style.outlineStyle !== 'none' || style.boxShadow !== 'none';
  });
  expect(isSeen, 'the focus is seen').toBe(true);
}

test('the stuck lock is found, released, and found in the audit without a mouse', async ({ page, lab }) => {
  const nodes = await lab.nodes(3);
  const console = await lab.console({ name: 'orders', nodes, environment: 'production' });
  for (const name of ['a', 'b']) await take(nodes, `lock:busy:${name}`, `${name}-token-`.repeat(4), 600_000);
  await take(nodes, 'lock:nightly-report', 'stuck-'.repeat(5));
  await open(page, console);
  await expect(row(page, 'lock:busy:b')).toBeVisible();

  // The first row needs attention; j goes there, Enter opens it.
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'lock:nightly-report' })).toBeVisible();
  await expect(page.getByText('It does not expire by itself.')).toBeVisible();

  const open_dialog = page.getByRole('button', { name: 'Force release…' });
  await tabTo(page, open_dialog);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await tabTo(page, dialog.getByLabel('Reason'));
  await page.keyboard.type('the report has hung since midnight');
  await tabTo(page, dialog.getByLabel("Type the lock's name to confirm"));
  await page.keyboard.type('lock:nightly-report');
  await tabTo(page, dialog.getByRole('button', { name: 'Release', exact: true }));
  await page.keyboard.press('Enter');
  await expect(dialog.getByRole('list', { name: 'What happened on each node' }).getByRole('listitem')).toHaveText([/released/, /released/, /released/]);
  for (const node of nodes) expect(await node.redis.exists('lock:nightly-report')).toBe(0);

  await tabTo(page, dialog.getByRole('link', { name: 'Find it in the audit' }));
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/audit\?/);
  await expect(page.getByText('the report has hung since midnight')).toBeVisible();
  await tabTo(page, page.getByText('More', { exact: true }).first());
  await page.keyboard.press('Enter');
  await expect(page.getByRole('table', { name: 'What happened on each node' }).getByRole('row').nth(1)).toContainText('gone');
});

test('a dialog keeps the focus inside and gives it back', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes });
  await open(page, console, '/mine');
  const opener = page.getByRole('button', { name: 'Acquire a lock' });
  await tabTo(page, opener);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Acquire a lock' });
  await expect(dialog).toBeVisible();
  for (let tabs = 0; tabs < 25; tabs++) {
    await page.keyboard.press('Tab');
    // The browser's own controls take their turn between the last and the first of the dialog.
    const inside = await dialog.evaluate((element) => element.contains(document.activeElement) || document.activeElement === document.body);
    expect(inside, `after ${tabs + 1} tabs`).toBe(true);
  }
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  await expect(opener).toBeFocused();
});
