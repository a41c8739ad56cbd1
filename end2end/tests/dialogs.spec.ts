// What happens to a person in the middle of a dialog: signed out, going back, another tab, odd names and owners.
import { createHash } from 'node:crypto';
import type { Locator, Page } from '@playwright/test';
import { closeDialog } from './everywhere';
import { type Console, expect, isLive, lockPath, open, take, test } from './fixtures';

const password = 'correct horse battery';
const key = 'lock:invoice:1842';

async function signIn(page: Page) {
  await page.getByLabel('Name', { exact: true }).fill('otto');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await isLive(page);
}

/** Waits until the console's own picture shows this owner: who opens the page before sees the change happen. */
async function sees(console: Console, token: string) {
  const print = createHash('sha256').update(token).digest('hex').slice(0, 16);
  await expect
    .poll(async () => {
      const { locks } = await (await fetch(`${console.url}/api/v1/locks`)).json();
      return locks[0]?.owner?.fingerprint;
    })
    .toBe(print);
}

async function dialogOf(page: Page, console: Console, name: string | Buffer) {
  await open(page, console, lockPath('orders', name));
  await page.getByRole('button', { name: 'Force release…' }).click();
  return page.getByRole('dialog');
}

test('who is signed out in the middle of a release finds reason and confirmation again', async ({ page, lab, complaints }) => {
  complaints.expectRefusal('\\w+', 401);
  const nodes = await lab.nodes(1);
  const console = await lab.consoleFor([{ name: 'otto', password, role: 'operator' }], { name: 'orders', nodes, environment: 'production' });
  await take(nodes, key, 'x'.repeat(32), 600_000);
  await page.goto(console.url);
  await signIn(page);
  const dialog = await dialogOf(page, console, key);
  await dialog.getByLabel('Reason').fill('the batch hangs');
  await dialog.getByLabel("Type the lock's name to confirm").fill(key);
  await page.context().clearCookies();
  await dialog.getByRole('button', { name: 'Release', exact: true }).click();
  const opened = page.context().waitForEvent('page');
  await dialog.getByRole('link', { name: 'Sign in' }).click();
  await signIn(await opened);
  await page.reload();
  await expect(dialog).toContainText('What you typed before is still here.');
  await expect(dialog.getByLabel('Reason')).toHaveValue('the batch hangs');
  await expect(dialog.getByLabel("Type the lock's name to confirm")).toHaveValue(key);
  await dialog.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(dialog).toContainText('Released on its node');
  expect(await nodes[0].redis.exists(key)).toBe(0);
  expect(await page.evaluate(() => Object.keys(sessionStorage).length)).toBe(0);
});

test('after another owner came meanwhile the reason is kept and the confirmation is not', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes, environment: 'production' });
  await take(nodes, key, 'x'.repeat(32), 600_000);
  const dialog = await dialogOf(page, console, key);
  await dialog.getByLabel('Reason').fill('the batch hangs');
  await dialog.getByLabel("Type the lock's name to confirm").fill(key);
  await page.goto('about:blank');
  await take(nodes, key, 'y'.repeat(32), 600_000);
  await sees(console, 'y'.repeat(32));
  await open(page, console, lockPath('orders', key));
  await expect(dialog).toContainText('The owner has changed since you typed it');
  await expect(dialog.getByLabel('Reason')).toHaveValue('the batch hangs');
  await expect(dialog.getByLabel("Type the lock's name to confirm")).toHaveValue('');
  await expect(dialog.getByRole('button', { name: 'Release', exact: true })).toBeDisabled();
});

test('the way back closes the dialog, forgets what was typed, and stays on the page', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes });
  await take(nodes, key, 'x'.repeat(32), 600_000);
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

test('of two tabs that release the same lock the second one says that it is gone', async ({ page, context, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes });
  await take(nodes, key, 'x'.repeat(32), 600_000);
  const mine = await dialogOf(page, console, key);
  await mine.getByLabel('Reason').fill('a test');
  const beside = await context.newPage();
  const theirs = await dialogOf(beside, console, key);
  await theirs.getByLabel('Reason').fill('the same');
  await theirs.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(theirs).toContainText('Released on its node');
  await page.bringToFront();
  await expect(mine).toContainText(/It was gone .* ago, before its lease ended, and not by this dialog\./);
  await expect(mine.getByRole('button', { name: 'Release', exact: true })).toBeDisabled();
});

test('a form to acquire is filled again after a new sign-in', async ({ page, lab, complaints }) => {
  complaints.expectRefusal('acquire', 401);
  const nodes = await lab.nodes(1);
  const console = await lab.consoleFor([{ name: 'otto', password, role: 'operator' }], { name: 'orders', nodes });
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

const odd: [string, string | Buffer][] = [
  ['ten thousand characters', `lock:${'x'.repeat(10_000)}:end`],
  ['text from right to left', 'lock:\u202etxt.exe'],
  ['emoji', 'lock:🔒👩‍👩‍👧'],
  ['control characters', 'lock:a\tb\u0007c'],
  ['markup', 'lock:<img src=x onerror="window.pwned=1">'],
];

for (const [what, name] of odd) {
  test(`a name and an owner with ${what} are shown as they are, and released after the owner was compared`, async ({ page, lab }) => {
    const nodes = await lab.nodes(1);
    const console = await lab.console({ name: 'orders', nodes, environment: 'production' });
    // What is long is taken for data, not for an owner.
    await take(nodes, name, name.length > 500 ? 'token' : name, 600_000);
    const dialog = await dialogOf(page, console, name);
    await expect(page.getByText(/^Held by/)).toBeVisible();
    const right = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(right).toBeLessThanOrEqual(0);
    await dialog.getByLabel('Reason').fill(`because of ${what} 🔒 <b>`);
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

/** Opens each dialog in turn and has it looked at; of those with an act, with the button that does it. */
async function eachDialog(page: Page, console: Console, look: (where: string, dialog: Locator, action: Locator) => Promise<void>) {
  const dialog = page.getByRole('dialog');
  const button = (name: string) => dialog.getByRole('button', { name, exact: true });
  await dialogOf(page, console, key);
  await look('force release', dialog, button('Release'));
  await closeDialog(page);
  await open(page, console);
  await page.getByRole('checkbox', { name: `Select ${key}`, exact: true }).click();
  await page.getByRole('region', { name: 'Selected locks' }).getByRole('button', { name: 'Release…' }).click();
  await expect(dialog).toContainText('would be released.');
  await look('bulk release', dialog, button('Release 1'));
  await closeDialog(page);
  await page.keyboard.press('?');
  await look('keys', dialog, button('Close'));
  await closeDialog(page);
  await open(page, console, '/mine');
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  await look('acquire', dialog, button('Acquire'));
  await closeDialog(page);
}

for (const [what, viewport] of Object.entries({
  'a window zoomed to 200 %': { width: 720, height: 450 },
  'a phone': { width: 390, height: 844 },
  'a phone on its side': { width: 844, height: 390 },
})) {
  test(`on ${what} a dialog keeps its title and its actions in sight while the rest scrolls`, async ({ page, lab }) => {
    await page.setViewportSize(viewport);
    const nodes = await lab.nodes(1);
    const console = await lab.console({ name: 'orders', nodes, environment: 'production' });
    await take(nodes, key, 'x'.repeat(32), 600_000);
    let scrolling = 0;
    await eachDialog(page, console, async (where, dialog, action) => {
      await expect(action).toBeVisible();
      const height = await dialog.evaluate((dialog) => dialog.scrollHeight - dialog.clientHeight);
      scrolling += height > 100 ? 1 : 0;
      for (const part of [0, 0.5, 1]) {
        await dialog.evaluate((dialog, top) => dialog.scrollTo({ top, behavior: 'instant' }), height * part);
        await expect(dialog.getByRole('heading', { level: 2 }), `the title of ${where}`).toBeInViewport({ ratio: 1 });
        await expect(action, `the action of ${where}`).toBeInViewport({ ratio: 1 });
      }
    });
    // A phone is high enough for all of them.
    expect(scrolling).toBeGreaterThanOrEqual(viewport.height < 500 ? 3 : 0);
  });
}

test('in a very low window all of a dialog scrolls, and all of it can be reached', async ({ page, lab }) => {
  await page.setViewportSize({ width: 640, height: 256 });
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes, environment: 'production' });
  await take(nodes, key, 'x'.repeat(32), 600_000);
  await eachDialog(page, console, async (where, dialog) => {
    const parts = dialog.locator('h2, p, label, input, select, button');
    await expect(parts.first()).toBeVisible();
    for (const part of await parts.all()) {
      if (!(await part.innerText()).trim() && !(await part.evaluate((part) => part.matches('input, select')))) continue;
      await part.scrollIntoViewIfNeeded();
      // Its middle is what is hit there: nothing lies on it.
      const isReached = await part.evaluate((part) => {
        const { left, top, width, height } = part.getBoundingClientRect();
        return part.contains(document.elementFromPoint(left + width / 2, top + height / 2));
      });
      expect(isReached, `${where}: ${await part.innerText()}`).toBe(true);
    }
  });
});

test('what went wrong is in sight wherever a dialog is scrolled to', async ({ page, lab, complaints }) => {
  complaints.expectRefusal('force_release', 500);
  await page.setViewportSize({ width: 720, height: 450 });
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'orders', nodes });
  await take(nodes, key, 'x'.repeat(32), 600_000);
  const dialog = await dialogOf(page, console, key);
  await dialog.getByLabel('Reason').fill('the batch hangs');
  await nodes[0].kill();
  await dialog.evaluate((dialog) => dialog.scrollTo({ top: 0, behavior: 'instant' }));
  await dialog.getByRole('button', { name: 'Release', exact: true }).click();
  await expect(dialog.getByText('Too few nodes took part')).toBeInViewport({ ratio: 1 });
  expect(await dialog.evaluate((dialog) => dialog.scrollTop)).toBe(0);
});
