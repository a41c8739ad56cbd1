// Compares pages with the screenshots in end2end/pictures, which shows a broken layout, a missing
// column or a missing style sheet. `make update-snapshots` takes the screenshots again; review them
// before committing.
import { execFileSync } from 'node:child_process';
import type { Page } from '@playwright/test';
import { expect, lockPath, open, test } from './fixtures';
import { startLocksInEveryState } from './page_tour';

/**
 * The fonts of the screenshots. Other fonts change the layout, so the screenshots cannot be
 * compared.
 */
const FONTS = { 'system-ui': 'DejaVuSans.ttf', monospace: 'DejaVuSansMono.ttf' };
const CHINESE_FONTS = { 'system-ui:lang=zh-cn': 'wqy-microhei.ttc' };

function fontFileOf(family: string) {
  try {
    return execFileSync('fc-match', ['--format', '%{file|basename}', family]).toString();
  } catch {
    return 'unknown to fc-match';
  }
}

/** Skips the test if a font differs from that of the screenshots. */
function skipWithoutFonts(fonts: Record<string, string>) {
  for (const [family, file] of Object.entries(fonts)) {
    test.skip(fontFileOf(family) !== file, `the screenshots were taken with ${file} for ${family}, but this machine has ${fontFileOf(family)}`);
  }
}

test.beforeEach(({ browserErrors }) => {
  skipWithoutFonts(FONTS);
  // A frozen page requests the default icon, which does not exist.
  browserErrors.allow(/favicon\.ico/);
});

/** Graphics that depend on the time. */
const TIME_DEPENDENT = ['svg[viewBox="0 0 100 6"]', 'svg[viewBox="0 0 40 12"]', 'svg[viewBox="0 0 300 24"]', 'figcaption span', 'meter', 'progress'];

/** Freezes the page: removes its scripts and replaces texts that differ between runs. */
async function freeze(page: Page, hidden: string[]) {
  await page.evaluate(() => {
    const copy = document.documentElement.cloneNode(true) as HTMLElement;
    for (const script of copy.querySelectorAll('script, link[rel="modulepreload"], link[rel="preload"]')) script.remove();
    const replacements: [RegExp, string | ((match: string) => string)][] = [
      [/\d{4}-\d\d-\d\d/g, '2026-01-02'],
      [/\b\d\d:\d\d(:\d\d(\.\d+)?)?/g, '03:04:05'],
      [/(\d+(\.\d+)? (ms|s|min|h|d)\b( (?=\d))?)+/g, '7 s'],
      [/(\d+(\.\d+)? (毫秒|秒|分钟|分|小时|天) ?)+/g, '7 秒'],
      [/[+−-]7 s/g, '7 s'],
      [/127\.0\.0\.1:\d+/g, '127.0.0.1:6379'],
      [/(?<![\d.])\d+\.\d+\.\d+(?![\d.])/g, '7.0.0'],
      [/\b[0-9a-f]{8}-\d+\b/g, 'a1b2c3d4-7'],
      [/\b[0-9a-f]{4}( [0-9a-f]{4}){3}\b/g, 'a1b2 c3d4 e5f6 a7b8'],
      [/\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b/g, (match) => '0123456789abcdef'.repeat(3).slice(0, match.length)],
      [/\d[\d.]* %/g, '7 %'],
      [/\bpass \d+: \d+ keys\b/g, 'pass 7: 7 keys'],
      [/\b\d+ (?=matched|keys per call)/g, '7 '],
      // A quorum round ends at the quorum; which node replies late differs between runs.
      [/^unknown$/, 'absent'],
      [/^no reply yet$/, 'held by 01234567'],
    ];
    const texts = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode as Text;
      text.data = replacements.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement as string), text.data);
    }
    document.documentElement.replaceWith(copy);
    for (const dialog of copy.querySelectorAll<HTMLDialogElement>('dialog[open]')) {
      dialog.removeAttribute('open');
      dialog.showModal();
      // Which element gets the focus here, and how far that scrolls, differs between builds.
      dialog.scrollTop = 0;
    }
  });
  await page.addStyleTag({ content: `${hidden.join(', ')} { visibility: hidden }` });
}

const SIZES = [
  [1440, 780],
  [390, 720],
];

async function expectScreenshots(page: Page, name: string, sizes = SIZES, hidden = [...TIME_DEPENDENT, 'figure svg']) {
  await freeze(page, hidden);
  for (const [width, height] of sizes) {
    await page.setViewportSize({ width, height });
    // The dark theme is compared in the wide window only.
    for (const colorScheme of width < 1000 ? (['light'] as const) : (['light', 'dark'] as const)) {
      await page.emulateMedia({ colorScheme });
      await expect.soft(page).toHaveScreenshot(`${name}-${width}-${colorScheme}.png`);
    }
  }
  await page.setViewportSize({ width: 1440, height: 780 });
}

test.use({ reducedMotion: 'reduce', viewport: { width: 1440, height: 780 }, bypassCSP: true });

test('pages and dialogs match their screenshots', async ({ page, servers, browserErrors }) => {
  browserErrors.allow(/status of 404/);
  test.setTimeout(600_000);
  const { console, consoleWithSignIn, nodes } = await startLocksInEveryState(servers);
  // The thread that holds the second lock waits for the first one.
  const threads = [0, 1].map((thread) => `6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:${thread}`);
  for (const { redis } of nodes) {
    for (const [index, thread] of threads.entries()) {
      await redis.hset(`lock:thread-${index}`, thread, 1);
      await redis.pexpire(`lock:thread-${index}`, 600_000);
    }
    await redis.rpush('redisson_lock_queue:{lock:thread-0}', threads[1]);
  }
  await open(page, console, '/?sort=key');
  await expect(page.getByRole('table', { name: 'Locks' })).toHaveAttribute('aria-rowcount', '7');
  await expectScreenshots(page, 'locks');
  await open(page, console, '/?q=nothing');
  await expectScreenshots(page, 'no-matches');
  await open(page, console, lockPath('orders', 'lock:split'));
  await expectScreenshots(page, 'lock');
  await open(page, console, lockPath('orders', 'lock:no-expiry'));
  await page.getByRole('button', { name: 'Force release…' }).click();
  await expect(page.getByRole('dialog').getByRole('button', { name: 'Cancel' })).toBeFocused();
  await expectScreenshots(page, 'force-release');
  await open(page, console, '/owners');
  await expect(page.getByRole('table', { name: 'Owners' })).toBeVisible();
  await expectScreenshots(page, 'owners');
  await open(page, console, '/nodes');
  await expectScreenshots(page, 'nodes');

  await open(page, console, '/mine');
  await page.getByRole('button', { name: 'Acquire a lock' }).click();
  const acquire = page.getByRole('dialog', { name: 'Acquire a lock' });
  await expect(acquire).toBeVisible();
  await acquire.getByRole('button', { name: 'Acquire', exact: true }).click();
  await expect(page.getByRole('article')).toContainText(/lock:test.*observed on/s);
  await expectScreenshots(page, 'my-locks');
  await open(page, console, '/audit');
  await page.getByText('Details', { exact: true }).first().click();
  await expectScreenshots(page, 'audit');

  await open(page, console, '/waits');
  await expect(page.getByRole('list', { name: 'Locks that block others' })).toBeVisible();
  await expectScreenshots(page, 'waits');

  await page.goto(`${consoleWithSignIn.url}/sign-in?why=wrong`);
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
  await expectScreenshots(page, 'sign-in');
  await open(page, console, '/help');
  await expectScreenshots(page, 'help');
  await open(page, console, '/nowhere');
  await expectScreenshots(page, 'not-found');
});

test.describe('in Chinese', () => {
  test.use({ locale: 'zh-CN' });

  test('the lock list matches its screenshots', async ({ page, servers }) => {
    skipWithoutFonts(CHINESE_FONTS);
    const { console } = await startLocksInEveryState(servers);
    await page.goto(`${console.url}/?sort=key`);
    await expect(page.getByText(/^实时(，\d|$)/)).toBeVisible({ timeout: 90_000 });
    await expect(page.locator('tr.lock-row')).toHaveCount(4);
    // The page shows a notice until the first scan pass of each group is complete.
    await expect(page.getByText('首轮扫描尚未完成')).toHaveCount(0, { timeout: 30_000 });
    await expectScreenshots(page, 'locks-zh-cn');
  });
});

test('the components of the kit match their screenshots', async ({ page, servers }) => {
  test.skip(!!process.env.LOCKKEEPER_RELEASE, 'the release build has no kit page');
  const console = await servers.startConsole({ name: 'jobs', nodes: await servers.startNodes(1) });
  await open(page, console, '/kit');
  // The charts of the kit have fixed data and are compared too.
  await expectScreenshots(page, 'kit', [[1440, 2600]], TIME_DEPENDENT);
});
