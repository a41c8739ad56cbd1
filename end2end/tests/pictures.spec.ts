// What pages look like, compared with the pictures in end2end/pictures: a broken layout, a lost column or a page without its style
// is seen here. `make baselines` takes the pictures anew; whoever does so looks at them.
import { execFileSync } from 'node:child_process';
import type { Page } from '@playwright/test';
import { everyState } from './everywhere';
import { expect, lockPath, open, test } from './fixtures';

/** The letters of the pictures. With others everything stands elsewhere, and there is nothing to compare. */
const FONTS = { 'system-ui': 'DejaVuSans.ttf', monospace: 'DejaVuSansMono.ttf' };
const CHINESE = { 'system-ui:lang=zh-cn': 'wqy-microhei.ttc' };

function letters(family: string) {
  try {
    return execFileSync('fc-match', ['--format', '%{file|basename}', family]).toString();
  } catch {
    return 'none that fc-match tells of';
  }
}

/** Skips what was pictured with other letters. */
function hasLetters(fonts: Record<string, string>) {
  for (const [family, file] of Object.entries(fonts)) {
    test.skip(letters(family) !== file, `the pictures were taken with ${file} for ${family}; here it is ${letters(family)}`);
  }
}

test.beforeEach(({ complaints }) => {
  hasLetters(FONTS);
  // A page that was stopped has lost its icon.
  complaints.expect(/favicon\.ico/);
});

/** Everything drawn that follows the time. */
const FOLLOWS_TIME = ['svg[viewBox="0 0 100 6"]', 'svg[viewBox="0 0 40 12"]', 'meter', 'progress'];

/** Stops the page: what is seen stays, without its program, and what is different each time becomes the same. */
async function still(page: Page, hidden: string[]) {
  await page.evaluate(() => {
    const copy = document.documentElement.cloneNode(true) as HTMLElement;
    for (const program of copy.querySelectorAll('script, link[rel="modulepreload"], link[rel="preload"]')) program.remove();
    const same: [RegExp, string | ((found: string) => string)][] = [
      [/\d{4}-\d\d-\d\d/g, '2026-01-02'],
      [/\b\d\d:\d\d(:\d\d(\.\d+)?)?/g, '03:04:05'],
      [/(\d+(\.\d+)? (ms|s|min|h|d)\b( (?=\d))?)+/g, '7 s'],
      [/(\d+(\.\d+)? (毫秒|秒|分钟|分|小时|天) ?)+/g, '7 秒'],
      [/[+−-]7 s/g, '7 s'],
      [/127\.0\.0\.1:\d+/g, '127.0.0.1:6379'],
      [/(?<![\d.])\d+\.\d+\.\d+(?![\d.])/g, '7.0.0'],
      [/\b[0-9a-f]{8}-\d+\b/g, 'a1b2c3d4-7'],
      [/\b[0-9a-f]{4}( [0-9a-f]{4}){3}\b/g, 'a1b2 c3d4 e5f6 a7b8'],
      [/\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b/g, (found) => '0123456789abcdef'.repeat(3).slice(0, found.length)],
      [/\d[\d.]* %/g, '7 %'],
      [/\bpass \d+: \d+ keys\b/g, 'pass 7: 7 keys'],
      [/\b\d+ (?=matched|keys a call)/g, '7 '],
      // A vote is over when enough nodes have answered; who was late is different each time.
      [/^not known$/, 'not there'],
      [/^had not answered yet$/, 'held by 01234567'],
    ];
    const texts = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode as Text;
      text.data = same.reduce((text, [what, by]) => text.replace(what, by as string), text.data);
    }
    document.documentElement.replaceWith(copy);
    for (const dialog of copy.querySelectorAll<HTMLDialogElement>('dialog[open]')) {
      dialog.removeAttribute('open');
      dialog.showModal();
    }
  });
  await page.addStyleTag({ content: `${hidden.join(', ')} { visibility: hidden }` });
}

const BOTH = [
  [1440, 780],
  [390, 720],
];

async function isAsPictured(page: Page, name: string, sizes = BOTH, hidden = [...FOLLOWS_TIME, 'figure svg']) {
  await still(page, hidden);
  for (const [width, height] of sizes) {
    await page.setViewportSize({ width, height });
    // What a theme changes is seen on the wide one.
    for (const colorScheme of width < 1000 ? (['light'] as const) : (['light', 'dark'] as const)) {
      await page.emulateMedia({ colorScheme });
      await expect.soft(page).toHaveScreenshot(`${name}-${width}-${colorScheme}.png`);
    }
  }
  await page.setViewportSize({ width: 1440, height: 780 });
}

test.use({ reducedMotion: 'reduce', viewport: { width: 1440, height: 780 }, bypassCSP: true });

test('pages and dialogs look as they did', async ({ page, lab, complaints }) => {
  complaints.expect(/status of 404/);
  test.setTimeout(600_000);
  const { console, guarded, nodes } = await everyState(lab);
  // A thread that has one lock and stands in the line for another.
  const threads = [0, 1].map((thread) => `6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:${thread}`);
  for (const { redis } of nodes) {
    for (const [nth, thread] of threads.entries()) {
      await redis.hset(`lock:thread-${nth}`, thread, 1);
      await redis.pexpire(`lock:thread-${nth}`, 600_000);
    }
    await redis.rpush('redisson_lock_queue:{lock:thread-0}', threads[1]);
  }
  await open(page, console, '/?sort=key');
  await expect(page.getByRole('table', { name: 'Locks' })).toHaveAttribute('aria-rowcount', '7');
  await isAsPictured(page, 'locks');
  await open(page, console, '/?q=nothing');
  await isAsPictured(page, 'nothing-found');
  await open(page, console, lockPath('orders', 'lock:split'));
  await isAsPictured(page, 'lock');
  await open(page, console, lockPath('orders', 'lock:no-expiry'));
  await page.getByRole('button', { name: 'Force release…' }).click();
  await expect(page.getByRole('dialog').getByRole('button', { name: 'Cancel' })).toBeFocused();
  await isAsPictured(page, 'release');
  await open(page, console, '/owners');
  await expect(page.getByRole('table', { name: 'Owners' })).toBeVisible();
  await isAsPictured(page, 'owners');
  await open(page, console, '/nodes');
  await isAsPictured(page, 'nodes');

  await open(page, console, '/mine');
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  const acquire = page.getByRole('dialog', { name: 'Acquire a lock' });
  await expect(acquire).toBeVisible();
  await acquire.getByRole('button', { name: 'Acquire', exact: true }).click();
  await expect(page.getByRole('article')).toContainText('lock:test');
  await isAsPictured(page, 'mine');
  await open(page, console, '/audit');
  await page.getByText('More', { exact: true }).first().click();
  await isAsPictured(page, 'audit');

  await open(page, console, '/waits');
  await expect(page.getByRole('list', { name: 'Locks that block others' })).toBeVisible();
  await isAsPictured(page, 'waits');

  await page.goto(`${guarded.url}/sign-in?why=wrong`);
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
  await isAsPictured(page, 'sign-in');
  await open(page, console, '/help');
  await isAsPictured(page, 'help');
  await open(page, console, '/nowhere');
  await isAsPictured(page, 'nowhere');
});

test.describe('in Chinese', () => {
  test.use({ locale: 'zh-CN' });

  test('the overview looks as it did', async ({ page, lab }) => {
    hasLetters(CHINESE);
    const { console } = await everyState(lab);
    await page.goto(`${console.url}/?sort=key`);
    await expect(page.getByText(/^实时，\d/)).toBeVisible({ timeout: 90_000 });
    await expect(page.locator('tr.lock-row')).toHaveCount(4);
    // Until each group was gone over once, the page says so.
    await expect(page.getByText('扫描尚未结束')).toHaveCount(0, { timeout: 30_000 });
    await isAsPictured(page, 'locks-chinese');
  });
});

test('the parts of the kit look as they did', async ({ page, lab }) => {
  const console = await lab.console({ name: 'jobs', nodes: await lab.nodes(1) });
  await open(page, console, '/kit');
  // Its charts show the same each time.
  await isAsPictured(page, 'kit', [[1440, 2600]], FOLLOWS_TIME);
});
