// Dialogs that are interrupted by a sign-out, the back button or another tab; dialogs for unusual
// names; dialogs in small windows.
import { createHash } from 'node:crypto';
import type { Locator, Page } from '@playwright/test';
import { acquireLock, type Console, expect, lockPath, open, test, waitUntilLive } from './fixtures';
import { closeDialog } from './page_tour';

const password = 'correct horse battery';
const key = 'lock:invoice:1842';

async function signIn(page: Page) {
  await page.getByLabel('Username', { exact: true }).fill('otto');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await waitUntilLive(page);
}

/**
 * Waits until the console's index shows this owner, so that a page opened afterwards shows no
 * change of the owner.
 */
async function waitUntilOwnerIs(console: Console, token: string) {
  const fingerprint = createHash('sha256').update(token).digest('hex').slice(0, 16);
  await expect
    .poll(async () => {
      const { locks } = await (await fetch(`${console.url}/api/v1/locks`)).json();
      return locks[0]?.owner?.fingerprint;
    })
    .toBe(fingerprint);
}

async function openReleaseDialog(page: Page, console: Console, name: string | Buffer) {
  await open(page, console, lockPath('orders', name));
  await page.getByRole('button', { name: 'Force release…' }).click();
  return page.getByRole('dialog');
}

test('reason and confirmation survive a sign-out during a release', async ({ page, servers, browserErrors }) => {
  browserErrors.allowFailedCall('\\w+', 401);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsoleWithUsers([{ name: 'otto', password, role: 'operator' }], { name: 'orders', nodes, environment: 'production' });
  await acquireLock(nodes, key, 'x'.repeat(32), 600_000);
  await page.goto(console.url);
  await signIn(page);
  const dialog = await openReleaseDialog(page, console, key);
  await dialog.getByLabel('Reason').fill('the batch hangs');
  await dialog.getByLabel("Type the lock's name to confirm").fill(key);
  await page.context().clearCookies();
  await dialog.getByRole('button', { name: 'Release', exact: true }).click();
  const opened = page.context().waitForEvent('page');
  await dialog.getByRole('link', { name: 'Sign in' }).click();
  await signIn(await opened);
  await page.reload();
  await expect(dialog).toContainText('Your earlier input was restored.');
  await expect(dialog.getByLabel('Reason')).toHaveValue('the batch hangs');
  await expect(dialog.getByLabel("Type the lock's name to confirm")).toHaveValue(key);
  await dialog.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(dialog).toContainText('Released on its node');
  expect(await nodes[0].redis.exists(key)).toBe(0);
  expect(await page.evaluate(() => Object.keys(sessionStorage).length)).toBe(0);
});

test('after a change of the owner the reason is restored and the confirmation is not', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes, environment: 'production' });
  await acquireLock(nodes, key, 'x'.repeat(32), 600_000);
  const dialog = await openReleaseDialog(page, console, key);
  await dialog.getByLabel('Reason').fill('the batch hangs');
  await dialog.getByLabel("Type the lock's name to confirm").fill(key);
  await page.goto('about:blank');
  await acquireLock(nodes, key, 'y'.repeat(32), 600_000);
  await waitUntilOwnerIs(console, 'y'.repeat(32));
  await open(page, console, lockPath('orders', key));
  await expect(dialog).toContainText('The owner has changed since you entered it');
  await expect(dialog.getByLabel('Reason')).toHaveValue('the batch hangs');
  await expect(dialog.getByLabel("Type the lock's name to confirm")).toHaveValue('');
  await expect(dialog.getByRole('button', { name: 'Release', exact: true })).toBeDisabled();
});

test('the back button closes the dialog, discards its input and stays on the page', async ({ page, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, key, 'x'.repeat(32), 600_000);
  await open(page, console);
  await page.getByRole('link', { name: key }).click();
  await page.getByRole('button', { name: 'Force release…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('a test');
  await page.goBack();
  await expect(dialog).toBeHidden();
  await expect(page).toHaveURL(console.url + lockPath('orders', key));
  await expect(page.getByRole('button', { name: 'Force release…' })).toBeFocused();
  await page.getByRole('button', { name: 'Force release…' }).click();
  await expect(dialog.getByLabel('Reason')).toHaveValue('');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(dialog).toBeHidden();
  await page.goBack();
  await expect(page).toHaveURL(`${console.url}/`);
});

test('when two tabs release the same lock, the second one reports that it is already released', async ({ page, context, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, key, 'x'.repeat(32), 600_000);
  const first = await openReleaseDialog(page, console, key);
  await first.getByLabel('Reason').fill('a test');
  const otherPage = await context.newPage();
  const second = await openReleaseDialog(otherPage, console, key);
  await second.getByLabel('Reason').fill('the same');
  await second.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(second).toContainText('Released on its node');
  await page.bringToFront();
  await expect(first).toContainText(/The lock was released .* ago, before its lease ended and not by this dialog\./);
  await expect(first.getByRole('button', { name: 'Release', exact: true })).toBeDisabled();
});

test('the acquire dialog restores its input after a new sign-in', async ({ page, servers, browserErrors }) => {
  browserErrors.allowFailedCall('acquire', 401);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsoleWithUsers([{ name: 'otto', password, role: 'operator' }], { name: 'orders', nodes });
  await page.goto(`${console.url}/mine`);
  await signIn(page);
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  const dialog = page.getByRole('dialog', { name: 'Acquire a lock' });
  await dialog.getByLabel('Lock', { exact: true }).fill('lock:mine');
  await dialog.getByLabel('Unit').selectOption('minutes');
  await page.context().clearCookies();
  await dialog.getByRole('button', { name: 'Acquire', exact: true }).click();
  const opened = page.context().waitForEvent('page');
  await dialog.getByRole('link', { name: 'Sign in' }).click();
  await signIn(await opened);
  await page.reload();
  await expect(dialog.getByLabel('Lock', { exact: true })).toHaveValue('lock:mine');
  await expect(dialog.getByLabel('Unit')).toHaveValue('min');
  await dialog.getByRole('button', { name: 'Acquire', exact: true }).click();
  await expect(page.getByRole('article')).toContainText('lock:mine');
});

const unusual: [string, string | Buffer][] = [
  ['ten thousand characters', `lock:${'x'.repeat(10_000)}:end`],
  ['text from right to left', 'lock:\u202etxt.exe'],
  ['emoji', 'lock:🔒👩‍👩‍👧'],
  ['control characters', 'lock:a\tb\u0007c'],
  ['markup', 'lock:<img src=x onerror="window.pwned=1">'],
];

for (const [kind, name] of unusual) {
  test(`a name and an owner with ${kind} are displayed verbatim, and the lock can be released`, async ({ page, servers }) => {
    const nodes = await servers.startNodes(1);
    const console = await servers.startConsole({ name: 'orders', nodes, environment: 'production' });
    // A long value is recognised as data, not as an owner.
    await acquireLock(nodes, name, name.length > 500 ? 'token' : name, 600_000);
    const dialog = await openReleaseDialog(page, console, name);
    await expect(page.getByText(/^Held by/)).toBeVisible();
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(overflow).toBeLessThanOrEqual(0);
    await dialog.getByLabel('Reason').fill(`because of ${kind} 🔒 <b>`);
    const byName = dialog.getByLabel("Type the lock's name to confirm");
    const byOwner = dialog.getByLabel("Type the owner's fingerprint to confirm");
    await expect(byName.or(byOwner)).toBeVisible();
    if (await byName.count()) {
      await byName.fill(String(name));
    } else {
      const { owner } = await (await fetch(`${console.url}/api/v1/locks`)).json().then((list) => list.locks[0]);
      await byOwner.fill(owner.fingerprint);
    }
    await dialog.getByRole('button', { name: 'Release', exact: true }).click();
    await expect(dialog).toContainText('Released on its node');
    expect(await nodes[0].redis.exists(name)).toBe(0);
    expect(await page.evaluate('window.pwned')).toBeUndefined();
  });
}

/** Opens each dialog in turn and calls `check` with the dialog and its main button. */
async function forEachDialog(page: Page, console: Console, check: (where: string, dialog: Locator, action: Locator) => Promise<void>) {
  const dialog = page.getByRole('dialog');
  const button = (name: string) => dialog.getByRole('button', { name, exact: true });
  await openReleaseDialog(page, console, key);
  await check('force release', dialog, button('Release'));
  await closeDialog(page);
  await open(page, console);
  await page.getByRole('checkbox', { name: `Select ${key}`, exact: true }).click();
  await page.getByRole('region', { name: 'Selected locks' }).getByRole('button', { name: 'Release…' }).click();
  await expect(dialog).toContainText('would be released.');
  await check('bulk release', dialog, button('Release 1'));
  await closeDialog(page);
  await page.keyboard.press('?');
  await check('keyboard shortcuts', dialog, button('Close'));
  await closeDialog(page);
  await open(page, console, '/mine');
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  await check('acquire', dialog, button('Acquire'));
  await closeDialog(page);
}

for (const [device, viewport] of Object.entries({
  'a window zoomed to 200 %': { width: 720, height: 450 },
  'a phone': { width: 390, height: 844 },
  'a phone in landscape': { width: 844, height: 390 },
})) {
  test(`on ${device} the title and the buttons of a dialog stay visible while the rest scrolls`, async ({ page, servers }) => {
    await page.setViewportSize(viewport);
    const nodes = await servers.startNodes(1);
    const console = await servers.startConsole({ name: 'orders', nodes, environment: 'production' });
    await acquireLock(nodes, key, 'x'.repeat(32), 600_000);
    let scrollable = 0;
    await forEachDialog(page, console, async (where, dialog, action) => {
      await expect(action).toBeVisible();
      const height = await dialog.evaluate((dialog) => dialog.scrollHeight - dialog.clientHeight);
      scrollable += height > 100 ? 1 : 0;
      for (const position of [0, 0.5, 1]) {
        await dialog.evaluate((dialog, top) => dialog.scrollTo({ top, behavior: 'instant' }), height * position);
        await expect(dialog.getByRole('heading', { level: 2 }), `the title of ${where}`).toBeInViewport({ ratio: 1 });
        await expect(action, `the action of ${where}`).toBeInViewport({ ratio: 1 });
      }
    });
    // A phone in portrait shows every dialog without scrolling.
    expect(scrollable).toBeGreaterThanOrEqual(viewport.height < 500 ? 3 : 0);
  });
}

test('in a very low window the whole dialog scrolls, and every part of it can be reached', async ({ page, servers }) => {
  await page.setViewportSize({ width: 640, height: 256 });
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes, environment: 'production' });
  await acquireLock(nodes, key, 'x'.repeat(32), 600_000);
  await forEachDialog(page, console, async (where, dialog) => {
    const elements = dialog.locator('h2, p, label, input, select, button');
    await expect(elements.first()).toBeVisible();
    for (const element of await elements.all()) {
      if (!(await element.innerText()).trim() && !(await element.evaluate((element) => element.matches('input, select')))) continue;
      await element.scrollIntoViewIfNeeded();
      // Nothing covers the centre of the element.
      const isReachable = await element.evaluate((element) => {
        const { left, top, width, height } = element.getBoundingClientRect();
        return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
      });
      expect(isReachable, `${where}: ${await element.innerText()}`).toBe(true);
    }
  });
});

test('an error is visible at every scroll position of a dialog', async ({ page, servers, browserErrors }) => {
  browserErrors.allowFailedCall('force_release', 500);
  await page.setViewportSize({ width: 720, height: 450 });
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'orders', nodes });
  await acquireLock(nodes, key, 'x'.repeat(32), 600_000);
  const dialog = await openReleaseDialog(page, console, key);
  await dialog.getByLabel('Reason').fill('the batch hangs');
  await nodes[0].kill();
  await dialog.evaluate((dialog) => dialog.scrollTo({ top: 0, behavior: 'instant' }));
  await dialog.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(dialog.getByText('No quorum: 0 nodes replied')).toBeInViewport({ ratio: 1 });
  expect(await dialog.evaluate((dialog) => dialog.scrollTop)).toBe(0);
});
