// What the specs of every page share: a console on which something of everything is wrong, and the way through its pages,
// dialogs and states, in the words of each language.
import type { Page } from '@playwright/test';
import { type Console, expect, type Lab, lockPath, type Node, take } from './fixtures';

/** The labels that lead through the console. */
export const WORDS = {
  'en-GB': {
    live: /^live, \d/,
    unknown: 'unknown',
    down: 'down',
    scripts: 'Do the same from a script',
    forceRelease: 'Force release…',
    acquire: 'Acquire a lock',
    howLong: 'For how long',
    keep: 'Keep it',
    doAcquire: 'Acquire',
    kept: 'kept by the console',
    lost: 'Lost: another owner has it',
    select: (lock: string) => `Select ${lock}`,
    selected: 'Selected locks',
    release: 'Release…',
    wouldBe: 'would be released.',
    reason: 'Reason',
    because: 'the batch hangs',
    doRelease: 'Release 1',
    released: '1 released, 0 left alone',
    more: 'More',
    find: 'Find',
    owners: 'Owners',
    tryAgain: 'Try again',
    notLive: /^Not live: /,
  },
  'zh-CN': {
    live: /^实时，\d/,
    unknown: '未知',
    down: '宕机',
    scripts: '用脚本完成同样的操作',
    forceRelease: '强制释放…',
    acquire: '获取锁',
    howLong: '时长',
    keep: '保持：',
    doAcquire: '获取',
    kept: '由控制台保持',
    lost: '已丢失：另一个持有者有了它',
    select: (lock: string) => `选择 ${lock}`,
    selected: '已选择的锁',
    release: '释放…',
    wouldBe: '将释放 1 把',
    reason: '原因',
    because: '批处理卡住了',
    doRelease: '释放 1 把',
    released: '已释放 1 把，0 把未触碰',
    more: '更多',
    find: '查找',
    owners: '持有者',
    tryAgain: '重试',
    notLive: /^非实时：/,
  },
};

export type Locale = keyof typeof WORDS;

/** A console with something of everything, another one where people sign in, and their servers. */
export interface Troubled {
  console: Console;
  guarded: Console;
  nodes: Node[];
  single: Node;
}

/** Locks in every state on a group of three, beside a group that is only watched. */
export async function everyState(lab: Lab): Promise<Troubled> {
  const nodes = await lab.nodes(3);
  const [single] = await lab.nodes(1);
  const console = await lab.console(
    { name: 'orders', nodes, environment: 'production' },
    { name: 'jobs', nodes: [single], readOnly: true },
  );
  const guarded = await lab.consoleFor([{ name: 'vera', password: 'correct horse battery', role: 'viewer' }], { name: 'jobs', nodes: [single] });
  await take(nodes, 'lock:held', 'a'.repeat(32), 3_000_000);
  await take(nodes.slice(0, 1), 'lock:partial', 'b'.repeat(32), 3_000_000);
  await take(nodes, 'lock:no-expiry', 'c'.repeat(32));
  await take(nodes.slice(0, 1), 'lock:split', 'd'.repeat(32), 3_000_000);
  await take(nodes.slice(1, 2), 'lock:split', 'e'.repeat(32), 3_000_000);
  return { console, guarded, nodes, single };
}

/** Two threads of one client of Redisson's. */
const THREADS = [0, 1].map((thread) => `6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:${thread}`);

/** A lock for each of two threads, and one whose owner says on which host it is. */
async function takeByName(nodes: Node[]) {
  for (const { redis } of nodes) {
    for (const [nth, thread] of THREADS.entries()) {
      await redis.hset(`lock:thread-${nth}`, thread, 1);
      await redis.pexpire(`lock:thread-${nth}`, 600_000);
    }
    await redis.set('lock:nightly', 'ADDED:2026-01-02T03:04:05.000Z@web-2:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05', 'PX', 600_000);
  }
}

/** The thread that has the one lock stands in the line for the other. */
async function standInLine(nodes: Node[]) {
  for (const { redis } of nodes) await redis.rpush('redisson_lock_queue:{lock:thread-0}', THREADS[1]);
}

/** The same, with a node of the one group and the only one of the other down. */
export async function troubled(lab: Lab): Promise<Troubled> {
  const lot = await everyState(lab);
  await expect.poll(async () => (await (await fetch(`${lot.console.url}/api/v1/locks`)).json()).total).toBe(4);
  await lot.nodes[2].kill();
  await lot.single.kill();
  return lot;
}

/** Goes through every page, dialog and state of a console in trouble, and has each looked at. Ends with the console gone. */
export async function everywhere(page: Page, lot: Troubled, locale: Locale, look: (where: string) => Promise<void>) {
  const { console, guarded, nodes } = lot;
  const words = WORDS[locale];
  const at = async (path: string) => {
    await page.goto(console.url + path);
    await expect(page.getByText(words.live)).toBeVisible({ timeout: 90_000 });
  };
  const dialog = page.getByRole('dialog');
  const close = () => closeDialog(page);

  await at('/');
  await expect(page.getByText(words.unknown).first()).toBeVisible();
  await look('locks');
  await page.keyboard.press('Control+k');
  await expect(dialog.getByRole('option').first()).toBeVisible();
  await look('the palette');
  await close();
  await page.keyboard.press('?');
  await expect(dialog.getByRole('table')).toBeVisible();
  await look('the keys');
  await close();
  await page.getByRole('checkbox', { name: words.select('lock:held'), exact: true }).click();
  await page.getByRole('region', { name: words.selected }).getByRole('button', { name: words.release }).click();
  await expect(dialog).toContainText(words.wouldBe);
  await look('the bulk release');
  await dialog.getByLabel(words.reason, { exact: true }).fill(words.because);
  await dialog.getByLabel('“release 1”').fill('release 1');
  await dialog.getByRole('button', { name: words.doRelease, exact: true }).click();
  await expect(dialog.getByRole('status').first()).toContainText(words.released);
  await look('the report of a bulk release');
  await close();

  await at('/?q=nothing&verdict=held');
  await look('nothing found');
  await at('/?by=prefix');
  await expect(page.locator('#bundle-rows .bundle-link').first()).toBeVisible();
  await look('locks by prefix');
  await at(lockPath('orders', 'lock:split'));
  await page.getByText(words.scripts).click();
  await look('one lock');
  await page.getByRole('button', { name: words.forceRelease }).click();
  await expect(dialog).toBeVisible();
  await look('the release');
  await close();
  await at(lockPath('orders', 'lock:not-there'));
  await look('a lock that is not there');

  await at('/owners');
  await look('no owner with a name');
  await takeByName(nodes.slice(0, 2));
  await expect(page.getByRole('table').getByRole('link', { name: 'web-2', exact: true })).toBeVisible();
  await look('owners');
  await at('/nodes');
  await expect(page.getByRole('article', { name: 'c' })).toContainText(words.down);
  await look('nodes');
  await at('/waits');
  await look('nobody waits');
  await standInLine(nodes.slice(0, 2));
  await expect(page.getByRole('link', { name: 'lock:thread-0' }).first()).toBeVisible();
  await look('waits');
  await at('/mine');
  await look('nothing is mine');
  await page.getByRole('button', { name: words.acquire }).click();
  await look('the acquire dialog');
  await page.getByLabel(words.howLong).fill('30');
  await page.getByLabel(words.keep).check();
  await page.getByRole('button', { name: words.doAcquire, exact: true }).click();
  await expect(page.getByRole('article')).toContainText(words.kept);
  await look('mine');
  await nodes[0].redis.set('lock:test', 'somebody-else', 'KEEPTTL');
  await nodes[1].redis.set('lock:test', 'somebody-else', 'KEEPTTL');
  await expect(page.getByRole('article').getByRole('alert')).toContainText(words.lost);
  await look('a lock that was lost');
  await at('/audit');
  await page.getByText(words.more, { exact: true }).first().click();
  await look('the audit');
  await at('/help');
  await look('help');
  await at('/nowhere');
  await look('no such page');
  await page.goto(`${guarded.url}/sign-in?why=wrong`);
  await look('signing in');
  await page.goto(`${console.url}/sign-in`);
  await look('nobody has to sign in');

  await at('/');
  const fault = { code: 'internal', detail: 'the audit cannot be read: Permission denied (os error 13)' };
  await page.route('**/_fn/owners*', (route) => route.fulfill({ status: 500, json: fault }));
  await page.getByRole('banner').getByRole('link', { name: words.owners }).click();
  await expect(page.getByRole('button', { name: words.tryAgain })).toBeVisible();
  await look('an error');
  await console.stop();
  await expect(page.getByText(words.notLive)).toBeVisible({ timeout: 90_000 });
  await look('a console that is gone');
}

/** Closes what is open. A dialog is a step of the browser's history; afterwards that step is taken back too. */
export async function closeDialog(page: Page) {
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toBeHidden();
  await page.waitForFunction(() => typeof history.state !== 'string');
}

/** How far a page is wider than its window. */
export function sticksOut(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Badges, which are a word or two each, that do not show all of it. */
export function cutBadges(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const badges = [...document.querySelectorAll<HTMLElement>('span.inline-block.truncate.rounded.text-xs')];
    const isCut = (badge: HTMLElement) => badge.scrollWidth > badge.clientWidth;
    return badges.filter(isCut).map((badge) => `${badge.textContent}: ${badge.clientWidth} of ${badge.scrollWidth} px`);
  });
}

/** What stands alone in Latin letters on a Chinese page: what the test named, and what things are called by everybody. */
const SAME_IN_CHINESE = new Set('lockkeeper api json redis redlock redisson openapi utc ctrl esc enter csv url english plain orders jobs test ms'.split(' '));

/** English words that are neither names, nor code, nor quoted. */
export async function englishIn(page: Page): Promise<string[]> {
  const texts = await page.evaluate(() => {
    const skipped = 'code, pre, kbd, bdi, [lang="en"], .font-mono, script, style, noscript, input, textarea';
    const found: string[] = [document.title];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      if (!walker.currentNode.parentElement!.closest(skipped)) found.push(walker.currentNode.textContent!);
    }
    const told = ['title', 'aria-label', 'aria-description', 'placeholder', 'alt', 'data-label'];
    for (const element of document.querySelectorAll(told.map((name) => `[${name}]`).join())) {
      if (!element.closest('code, pre, kbd, bdi, [lang="en"]')) for (const name of told) found.push(element.getAttribute(name) ?? '');
    }
    return found;
  });
  const english = (text: string) => {
    // Quoted, typed, or a line for Redis; the name of a format; a fingerprint.
    const own = text.replaceAll(/“[^”]*”|`[^`]*`|（[^）]*[A-Z]{3}[^）]*）|\S+[:<>]\S+|\b[a-z]+(-[a-z]+)+\b|\b[0-9a-f]{8,}\b/g, ' ');
    const isMixed = /[\u4e00-\u9fff]/.test(own);
    const words = isMixed ? (own.match(/[A-Za-z]{2,}(?: [A-Za-z]{2,})+/g) ?? []).flatMap((run) => run.split(' ')) : (own.match(/[A-Za-z]{2,}/g) ?? []);
    return words.some((word) => !SAME_IN_CHINESE.has(word.toLowerCase()));
  };
  return [...new Set(texts.filter(english).map((text) => text.trim()))];
}

/** Where Chinese is written with the signs of English, with a space beside its own or between two words, or without one beside a figure. */
export async function mispunctuatedIn(page: Page): Promise<string[]> {
  const lines = await page.evaluate(() => {
    // Names, code and what somebody typed stand as they are: a letter in their place.
    const quoted = 'code, pre, kbd, bdi, [lang="en"], .font-mono, input, textarea, select';
    const lines: string[] = [document.title];
    let line = '';
    const end = () => {
      lines.push(line.replace(/\s+/g, ' ').trim());
      line = '';
    };
    const read = (element: Element) => {
      const { display } = getComputedStyle(element);
      if (display === 'none' || element.matches('script, style, noscript')) return;
      for (const name of ['title', 'aria-label', 'placeholder', 'data-label']) lines.push(element.getAttribute(name) ?? '');
      const isOfTheLine = display === 'inline' || display === 'contents';
      if (!isOfTheLine) end();
      if (element.matches(quoted)) line += 'x';
      else {
        for (const child of element.childNodes) {
          if (child instanceof Element) read(child);
          else if (child.nodeType === Node.TEXT_NODE) line += child.textContent;
        }
      }
      if (!isOfTheLine) end();
    };
    read(document.body);
    end();
    return lines;
  });
  // What stands in quotation marks is what it says, a call of a function is code, and the number before a title stands there in every
  // language. Code may stand apart from the sentence before it.
  const own = (line: string) => line.replaceAll(/“[^”]*”|`[^`]*`|\w+\(\)|^\(\d+\)/g, 'x');
  const wrong = /[\u4e00-\u9fff] ?[,;:!?()]|[,;:!?()] ?[\u4e00-\u9fff]| [，。：；？（）、]|[，。：；？（）、] (?!x)|[\u4e00-\u9fff] [\u4e00-\u9fff]|[\u4e00-\u9fff]\d|\d[\u4e00-\u9fff]/;
  return [...new Set(lines.filter((line) => wrong.test(own(line))))];
}
