// A console with locks in every state, a tour of all its pages, dialogs and states in both
// languages, and the checks that several specs apply to a page.
import type { Page } from '@playwright/test';
import { acquireLock, type Console, expect, lockPath, type RedisNode, type TestServers } from './fixtures';

/** The labels that the tour looks up, in each language. */
export const LABELS = {
  'en-GB': {
    live: /^live(, \d|$)/,
    unknown: 'unknown',
    down: 'down',
    scripts: 'Use from a script',
    forceRelease: 'Force release…',
    acquire: 'Acquire a lock',
    lease: 'Lease',
    autoRenew: 'Auto-renew',
    confirmAcquire: 'Acquire',
    autoRenewed: 'auto-renewed by the console',
    lockLost: 'Lock lost: another owner holds the lock',
    select: (lock: string) => `Select ${lock}`,
    selectedLocks: 'Selected locks',
    release: 'Release…',
    preview: 'would be released.',
    reason: 'Reason',
    reasonText: 'the batch hangs',
    confirmRelease: 'Release 1',
    releaseResult: '1 released, 0 skipped',
    lane: /^Holds: /,
    details: 'Details',
    find: 'Find',
    owners: 'Owners',
    tryAgain: 'Try again',
    notLive: /^Not live: /,
  },
  'zh-CN': {
    live: /^实时(，\d|$)/,
    unknown: '未知',
    down: '宕机',
    scripts: '脚本调用',
    forceRelease: '强制释放…',
    acquire: '获取锁',
    lease: '租约时长',
    autoRenew: '自动续租',
    confirmAcquire: '获取',
    autoRenewed: '由控制台自动续租',
    lockLost: '锁已丢失：锁已由其他持有者',
    select: (lock: string) => `选择 ${lock}`,
    selectedLocks: '已选择的锁',
    release: '释放…',
    preview: '将释放 1 把',
    reason: '原因',
    reasonText: '批处理卡住了',
    confirmRelease: '释放 1 把',
    releaseResult: '已释放 1 把，已跳过 0 把',
    lane: /^持有次数：/,
    details: '详情',
    find: '查找',
    owners: '持有者',
    tryAgain: '重试',
    notLive: /^非实时：/,
  },
};

export type Locale = keyof typeof LABELS;

/** The consoles and nodes of the tour. */
export interface ConsoleSetup {
  /** A console without sign-in. */
  console: Console;
  /** A console with a local user, which requires sign-in. */
  consoleWithSignIn: Console;
  nodes: RedisNode[];
  /** The only node of the read-only group. */
  singleNode: RedisNode;
}

/** Starts a group of three nodes with a lock in every state, and a read-only group of one node. */
export async function startLocksInEveryState(servers: TestServers): Promise<ConsoleSetup> {
  const nodes = await servers.startNodes(3);
  const [singleNode] = await servers.startNodes(1);
  const console = await servers.startConsole(
    { name: 'orders', nodes, environment: 'production' },
    { name: 'jobs', nodes: [singleNode], readOnly: true },
  );
  const consoleWithSignIn = await servers.startConsoleWithUsers([{ name: 'vera', password: 'correct horse battery', role: 'viewer' }], { name: 'jobs', nodes: [singleNode] });
  await acquireLock(nodes, 'lock:held', 'a'.repeat(32), 3_000_000);
  await acquireLock(nodes.slice(0, 1), 'lock:partial', 'b'.repeat(32), 3_000_000);
  await acquireLock(nodes, 'lock:no-expiry', 'c'.repeat(32));
  await acquireLock(nodes.slice(0, 1), 'lock:split', 'd'.repeat(32), 3_000_000);
  await acquireLock(nodes.slice(1, 2), 'lock:split', 'e'.repeat(32), 3_000_000);
  return { console, consoleWithSignIn, nodes, singleNode };
}

/** Owner fields of two threads of one Redisson client. */
const THREADS = [0, 1].map((thread) => `6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:${thread}`);

/** Writes a Redisson lock for each thread, and a ShedLock lock whose owner names its host. */
async function acquireLabelledLocks(nodes: RedisNode[]) {
  for (const { redis } of nodes) {
    for (const [index, thread] of THREADS.entries()) {
      await redis.hset(`lock:thread-${index}`, thread, 1);
      await redis.pexpire(`lock:thread-${index}`, 600_000);
    }
    await redis.set('lock:nightly', 'ADDED:2026-01-02T03:04:05.000Z@web-2:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05', 'PX', 600_000);
  }
}

/** Adds the thread that holds the second lock to the wait queue of the first lock. */
async function addWaiter(nodes: RedisNode[]) {
  for (const { redis } of nodes) await redis.rpush('redisson_lock_queue:{lock:thread-0}', THREADS[1]);
}

/** Does the same, then kills one of the three nodes and the single node. */
export async function startDegradedConsole(servers: TestServers): Promise<ConsoleSetup> {
  const setup = await startLocksInEveryState(servers);
  await expect.poll(async () => (await (await fetch(`${setup.console.url}/api/v1/locks`)).json()).total).toBe(4);
  await setup.nodes[2].kill();
  await setup.singleNode.kill();
  return setup;
}

/**
 * Visits every page, dialog and state of a degraded console and calls `check` in each. Stops the
 * console at the end.
 */
export async function visitEveryPage(page: Page, setup: ConsoleSetup, locale: Locale, check: (where: string) => Promise<void>) {
  const { console, consoleWithSignIn, nodes } = setup;
  const labels = LABELS[locale];
  const visit = async (path: string) => {
    await page.goto(console.url + path);
    await expect(page.getByText(labels.live)).toBeVisible({ timeout: 90_000 });
  };
  const dialog = page.getByRole('dialog');
  const close = () => closeDialog(page);

  await visit('/');
  await expect(page.getByText(labels.unknown).first()).toBeVisible();
  await check('locks');
  await page.keyboard.press('Control+k');
  await expect(dialog.getByRole('option').first()).toBeVisible();
  await check('command palette');
  await close();
  await page.keyboard.press('?');
  await expect(dialog.getByRole('table')).toBeVisible();
  await check('keyboard shortcuts');
  await close();
  await page.getByRole('checkbox', { name: labels.select('lock:held'), exact: true }).click();
  await page.getByRole('region', { name: labels.selectedLocks }).getByRole('button', { name: labels.release }).click();
  await expect(dialog).toContainText(labels.preview);
  await check('bulk release');
  await dialog.getByLabel(labels.reason, { exact: true }).fill(labels.reasonText);
  await dialog.getByLabel('“release 1”').fill('release 1');
  await dialog.getByRole('button', { name: labels.confirmRelease, exact: true }).click();
  await expect(dialog.getByRole('status').first()).toContainText(labels.releaseResult);
  await check('bulk release result');
  await close();

  await visit('/?q=nothing&verdict=held');
  await check('no matching locks');
  await visit('/?group_by=prefix');
  await expect(page.locator('#bucket-rows .bucket-link').first()).toBeVisible();
  await check('locks grouped by prefix');
  await visit(lockPath('orders', 'lock:split'));
  await page.getByText(labels.scripts).click();
  await check('lock');
  await page.getByRole('button', { name: labels.forceRelease }).click();
  await expect(dialog).toBeVisible();
  await check('force release');
  await close();
  await visit(lockPath('orders', 'lock:not-there'));
  await check('unknown lock');

  await visit('/owners');
  await check('no labelled owners');
  await acquireLabelledLocks(nodes.slice(0, 2));
  await expect(page.getByRole('table').getByRole('link', { name: 'web-2', exact: true })).toBeVisible();
  await check('owners');
  await visit('/owners/web-2?range=15m');
  await expect(page.getByRole('img', { name: labels.lane }).first()).toBeVisible();
  await check('owner');
  await visit('/owners/no-such-host?from=2001-01-01T03:00&to=2001-01-01T04:00');
  await check('unknown owner');
  await visit('/nodes');
  await expect(page.getByRole('article', { name: 'c' })).toContainText(labels.down);
  await check('nodes');
  await visit('/waits');
  await check('no waits');
  await addWaiter(nodes.slice(0, 2));
  await expect(page.getByRole('link', { name: 'lock:thread-0' }).first()).toBeVisible();
  await check('waits');
  await visit('/activity?range=15m');
  await expect(page.getByRole('img', { name: labels.lane }).first()).toBeVisible();
  await check('activity');
  await visit('/activity?from=2001-01-01T03:00&to=2001-01-01T04:00&only=problems');
  await check('no recorded activity');
  await visit('/mine');
  await check('no locks of the user');
  await page.getByRole('button', { name: labels.acquire }).click();
  await check('acquire dialog');
  await page.getByLabel(labels.lease, { exact: true }).fill('30');
  await page.getByLabel(labels.autoRenew).check();
  await page.getByRole('button', { name: labels.confirmAcquire, exact: true }).click();
  await expect(page.getByRole('article')).toContainText(labels.autoRenewed);
  await check('my locks');
  await nodes[0].redis.set('lock:test', 'other-owner', 'KEEPTTL');
  await nodes[1].redis.set('lock:test', 'other-owner', 'KEEPTTL');
  await expect(page.getByRole('article').getByRole('alert')).toContainText(labels.lockLost);
  await check('lost lock');
  await visit('/audit');
  await page.getByText(labels.details, { exact: true }).first().click();
  await check('audit log');
  await visit('/help');
  await check('help');
  await visit('/nowhere');
  await check('page not found');
  await page.goto(`${consoleWithSignIn.url}/sign-in?why=wrong`);
  await check('sign-in');
  await page.goto(`${console.url}/sign-in`);
  await check('sign-in not required');

  await visit('/');
  const error = { code: 'internal', cause: { code: 'server-function', text: 'the audit cannot be read: Permission denied (os error 13)' } };
  await page.route('**/_fn/owners*', (route) => route.fulfill({ status: 500, json: error }));
  await page.getByRole('banner').getByRole('link', { name: labels.owners }).click();
  await expect(page.getByRole('button', { name: labels.tryAgain })).toBeVisible();
  await check('error response');
  await console.stop();
  await expect(page.getByText(labels.notLive)).toBeVisible({ timeout: 90_000 });
  await check('console unreachable');
}

/**
 * Closes the open dialog and waits until its entry is removed from the browser's history: going back would cancel a
 * navigation that starts meanwhile.
 */
export async function closeDialog(page: Page) {
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toBeHidden();
  await page.waitForFunction(() => typeof history.state !== 'string');
}

/** By how many pixels the page is wider than the window. */
export function horizontalOverflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Badges whose text is truncated. */
export function truncatedBadges(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const badges = [...document.querySelectorAll<HTMLElement>('span.inline-block.truncate.rounded.text-xs')];
    const isCut = (badge: HTMLElement) => badge.scrollWidth > badge.clientWidth;
    return badges.filter(isCut).map((badge) => `${badge.textContent}: ${badge.clientWidth} of ${badge.scrollWidth} px`);
  });
}

/**
 * Latin words allowed in Chinese text: names of products, formats and keys, and names that the
 * tests use.
 */
const UNTRANSLATED_WORDS = new Set('lockkeeper api json redis redlock redisson shedlock openapi utc ctrl esc enter csv url english plain orders jobs test ms curl'.split(' '));

/** Texts and attributes of the page with English words other than names, code and quotations. */
export async function untranslatedTexts(page: Page): Promise<string[]> {
  const texts = await page.evaluate(() => {
    const skipped = 'code, pre, kbd, bdi, [lang="en"], .font-mono, script, style, noscript, input, textarea';
    const found: string[] = [document.title];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      if (!walker.currentNode.parentElement!.closest(skipped)) found.push(walker.currentNode.textContent!);
    }
    const attributes = ['title', 'aria-label', 'aria-description', 'placeholder', 'alt', 'data-label'];
    for (const element of document.querySelectorAll(attributes.map((name) => `[${name}]`).join())) {
      if (!element.closest('code, pre, kbd, bdi, [lang="en"]')) for (const name of attributes) found.push(element.getAttribute(name) ?? '');
    }
    return found;
  });
  const isEnglish = (text: string) => {
    // Removes quotations, code, Redis commands, names of keys, hosts and formats, and fingerprints.
    const prose = text.replaceAll(/“[^”]*”|`[^`]*`|（[^）]*[A-Z]{3}[^）]*）|\S+[:<>]\S+|\b[a-z]+(-[a-z0-9]+)+\b|\b[0-9a-f]{8,}\b|\b[A-Z]{3,}( [A-Z]{3,})*\b/g, ' ');
    const hasChinese = /[\u4e00-\u9fff]/.test(prose);
    const words = hasChinese
      ? (prose.match(/[A-Za-z]{2,}(?: [A-Za-z]{2,})+/g) ?? []).flatMap((run) => run.split(' '))
      : (prose.match(/[A-Za-z]{2,}/g) ?? []);
    return words.some((word) => !UNTRANSLATED_WORDS.has(word.toLowerCase()));
  };
  return [...new Set(texts.filter(isEnglish).map((text) => text.trim()))];
}

/**
 * Lines of Chinese text with ASCII punctuation, a space beside full-width punctuation or between
 * Chinese characters, or a number without spaces around it.
 */
export async function punctuationErrors(page: Page): Promise<string[]> {
  const lines = await page.evaluate(() => {
    // Names, code and input fields are replaced with a letter: their content follows no rule of
    // punctuation.
    const verbatim = 'code, pre, kbd, bdi, [lang="en"], .font-mono, input, textarea, select';
    const lines: string[] = [document.title];
    let line = '';
    const endLine = () => {
      lines.push(line.replace(/\s+/g, ' ').trim());
      line = '';
    };
    const collect = (element: Element) => {
      const { display } = getComputedStyle(element);
      if (display === 'none' || element.matches('script, style, noscript')) return;
      for (const name of ['title', 'aria-label', 'placeholder', 'data-label']) lines.push(element.getAttribute(name) ?? '');
      const isInline = display === 'inline' || display === 'contents';
      if (!isInline) endLine();
      if (element.matches(verbatim)) line += 'x';
      else {
        for (const child of element.childNodes) {
          if (child instanceof Element) collect(child);
          else if (child.nodeType === Node.TEXT_NODE) line += child.textContent;
        }
      }
      if (!isInline) endLine();
    };
    collect(document.body);
    endLine();
    return lines;
  });
  // Quotations and function calls are verbatim too, and so is the number before a page title. Code
  // may be separated by a space from the sentence before it.
  const removeVerbatim = (line: string) => line.replaceAll(/“[^”]*”|`[^`]*`|\w+\(\)|^\(\d+\)/g, 'x');
  const error = /[\u4e00-\u9fff] ?[,;:!?()]|[,;:!?()] ?[\u4e00-\u9fff]| [，。：；？（）、]|[，。：；？（）、] (?!x)|[\u4e00-\u9fff] [\u4e00-\u9fff]|[\u4e00-\u9fff]\d|\d[\u4e00-\u9fff]/;
  return [...new Set(lines.filter((line) => error.test(removeVerbatim(line))))];
}
