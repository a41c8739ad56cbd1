// Every page in every language, theme and width: nothing sticks out, nothing keeps anybody out, and in Chinese nothing is left
// in English. Pictures of all of it are kept beside the results, to be looked at.
import AxeBuilder from '@axe-core/playwright';
import type { Page, TestInfo } from '@playwright/test';
import { expect, lockPath, take, test } from './fixtures';

const widths = [390, 1440, 2560];
const themes = ['light', 'dark'] as const;

/** What is there to see of the console, and what says that it is all there. */
const pages = [
  { name: 'locks', path: '/' },
  { name: 'filtered', path: '/?q=nothing&verdict=held' },
  { name: 'lock', path: lockPath('orders', 'lock:held') },
  { name: 'gone', path: lockPath('orders', 'lock:not-there') },
  { name: 'owners', path: '/owners' },
  { name: 'nodes', path: '/nodes' },
  { name: 'waits', path: '/waits' },
  { name: 'mine', path: '/mine' },
  { name: 'audit', path: '/audit' },
  { name: 'help', path: '/help', speaks: true },
  { name: 'sign-in', path: '/sign-in?why=wrong', speaks: true },
  { name: 'nowhere', path: '/nowhere', speaks: true },
];

/** Words in Latin letters that belong into a Chinese page: names, keys, units, what is typed. */
const LATIN =
  /^(lockkeeper|api|json|redis|valkey|sentinel|redlock|redisson|openapi|prometheus|ttl|sha-\d+|http|https|utc|ctrl|esc|enter|cli|pid|curl|id|csv|key|ok|javascript|english|q|ms|min|s|h|d|poll|feed|tracking|q)$/i;

/** Runs of English words outside of what is a name or code. */
async function englishIn(page: Page) {
  const runs = await page.evaluate(() => {
    const skipped = 'code, pre, kbd, bdi, option, [lang="en"], .font-mono, script, style, input, textarea, svg title';
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found: string[] = [];
    while (walker.nextNode()) {
      const parent = walker.currentNode.parentElement!;
      if (!parent.closest(skipped)) found.push(walker.currentNode.textContent!);
    }
    for (const element of document.querySelectorAll('[title], [aria-label], [placeholder]')) {
      if (element.closest(skipped)) continue;
      for (const name of ['title', 'aria-label', 'placeholder']) found.push(element.getAttribute(name) ?? '');
    }
    return found.flatMap((text) => text.match(/[A-Za-z][A-Za-z'’-]+(?:[ ,;]+[A-Za-z][A-Za-z'’-]+){2,}/g) ?? []);
  });
  return [...new Set(runs)].filter((run) => run.split(/[ ,;]+/).filter((word) => !LATIN.test(word)).length >= 3);
}

async function look(page: Page, info: TestInfo, where: string) {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 1000 });
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect.soft(overflow, `${where}, ${width} wide, scrolls sideways`).toBeLessThanOrEqual(0);
      await page.screenshot({ path: info.outputPath(`${where}-${width}-${colorScheme}.png`) });
      if (width !== 390) continue;
      const { violations } = await new AxeBuilder({ page }).analyze();
      const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join(' | ')}`);
      expect.soft(told, `${where}, ${colorScheme}`).toEqual([]);
    }
  }
}

for (const locale of ['en-GB', 'zh-CN']) {
  test(`every page in ${locale}`, async ({ browser, lab }, info) => {
    test.setTimeout(300_000);
    const nodes = await lab.nodes(3);
    const [single] = await lab.nodes(1);
    const console = await lab.console(
      { name: 'orders', nodes, environment: 'production' },
      { name: 'jobs', nodes: [single], readOnly: true },
    );
    await take(nodes, 'lock:held', 'a'.repeat(32), 600_000);
    await take(nodes.slice(0, 1), 'lock:partial', 'b'.repeat(32), 600_000);
    await take(nodes, 'lock:no-expiry', 'c'.repeat(32));
    await take(nodes.slice(0, 1), 'lock:split', 'd'.repeat(32), 600_000);
    await take(nodes.slice(1, 2), 'lock:split', 'e'.repeat(32), 600_000);
    const context = await browser.newContext({ locale, reducedMotion: 'reduce' });
    const page = await context.newPage();
    const live = locale === 'en-GB' ? /^live, \d/ : /^实时，\d/;
    for (const { name, path, speaks } of pages) {
      await page.goto(console.url + path);
      if (name !== 'sign-in') await expect(page.getByText(live)).toBeVisible({ timeout: 30_000 });
      await look(page, info, name);
      if (locale === 'zh-CN' && speaks) expect.soft(await englishIn(page), `${name} has English left in it`).toEqual([]);
    }
    await context.close();
  });
}

test('the parts of the kit, each in all its states', async ({ page, lab }, info) => {
  test.setTimeout(120_000);
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await page.goto(`${console.url}/kit`);
  await expect(page.getByText(/^live, \d/)).toBeVisible({ timeout: 30_000 });
  await look(page, info, 'kit');
  await page.getByRole('button', { name: 'Open the dialog' }).click();
  await expect(page.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await look(page, info, 'kit-dialog');
});

test('a page has the same outline everywhere, and can be zoomed, printed and seen in colours of one’s own', async ({ page, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await take(nodes, 'lock:a', 'token', 600_000);
  for (const path of ['/', '/owners', '/nodes', '/waits', '/mine', '/audit', '/help', '/nowhere']) {
    await page.goto(console.url + path);
    await expect(page.getByText(/^live, \d/)).toBeVisible({ timeout: 30_000 });
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
  await page.goto(console.url);
  await page.emulateMedia({ media: 'print' });
  await expect(page.getByRole('navigation', { name: 'Pages' })).toBeHidden();
  await expect(page.getByRole('link', { name: 'lock:a' })).toBeVisible();
  await page.emulateMedia({ media: 'screen', forcedColors: 'active' });
  await expect(page.getByRole('link', { name: 'lock:a' })).toBeVisible();
  // What 200 % makes of 1280 × 800.
  await page.emulateMedia({ forcedColors: 'none' });
  await page.setViewportSize({ width: 640, height: 400 });
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(overflow).toBeLessThanOrEqual(0);
});
