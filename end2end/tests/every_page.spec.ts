// Every page, dialog and state in both languages and in three widths: nothing overflows, light and
// dark pages are accessible, and Chinese pages have no untranslated text.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, open, test } from './fixtures';
import {
  horizontalOverflow,
  type Locale,
  punctuationErrors,
  startDegradedConsole,
  truncatedBadges,
  untranslatedTexts,
  visitEveryPage,
} from './page_tour';

const DESKTOP = 1440;
const WIDTHS = [390, 2560, DESKTOP];

/** The rules of axe whose result depends on the theme. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

async function accessibilityViolations(page: Page, rules?: string[]): Promise<string[]> {
  const axe = new AxeBuilder({ page });
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join(' | ')}`);
}

/**
 * Sets the theme and waits for the end of the colour transitions. The wait is limited, because a
 * page in a background tab is not rendered. A busy machine may draw no frame for seconds.
 */
async function setColorScheme(page: Page, colorScheme: 'light' | 'dark', timeout = 20_000) {
  await page.bringToFront();
  await page.emulateMedia({ colorScheme });
  await page.evaluate(async (timeout) => {
    const transitionsEnd = async () => {
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const transitions = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
      await Promise.allSettled(transitions.map(({ finished }) => finished));
    };
    await Promise.race([transitionsEnd(), new Promise((resolve) => setTimeout(resolve, timeout))]);
  }, timeout);
}

/**
 * Checks overflow in every width, and untranslated text in Chinese. Accessibility depends on
 * neither and is checked in English only.
 */
async function checkPage(page: Page, locale: Locale, where: string) {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 1000 });
    await setColorScheme(page, 'light');
    const step = `${where}, ${width} px wide`;
    expect.soft(await horizontalOverflow(page), `${step}: scrolls sideways`).toBeLessThanOrEqual(0);
    expect.soft(await truncatedBadges(page), `${step}: truncated badges`).toEqual([]);
  }
  if (locale === 'zh-CN') {
    expect.soft(await untranslatedTexts(page), `${where}: untranslated text`).toEqual([]);
    expect.soft(await punctuationErrors(page), `${where}: wrong punctuation`).toEqual([]);
  } else {
    expect.soft(await accessibilityViolations(page), `${where}: accessibility`).toEqual([]);
    await setColorScheme(page, 'dark');
    expect.soft(await accessibilityViolations(page, COLOUR_RULES), `${where}, dark: accessibility`).toEqual([]);
    await setColorScheme(page, 'light');
  }
}

for (const locale of ['en-GB', 'zh-CN'] as const) {
  test.describe(locale, () => {
    test.use({ locale, reducedMotion: 'reduce', viewport: { width: DESKTOP, height: 1000 } });

    test('every page, dialog and state fits, is accessible and is translated', async ({ page, servers, browserErrors }) => {
      browserErrors.allow(/status of (404|500)/, /net::ERR_/);
      test.setTimeout(480_000);
      await visitEveryPage(page, await startDegradedConsole(servers), locale, (where) => checkPage(page, locale, where));
    });
  });
}

test('the components of the kit fit and are accessible in all their states', async ({ page, servers }) => {
  test.skip(!!process.env.LOCKKEEPER_RELEASE, 'the release build has no kit page');
  test.setTimeout(240_000);
  const console = await servers.startConsole({ name: 'jobs', nodes: await servers.startNodes(1) });
  await open(page, console, '/kit');
  await checkPage(page, 'en-GB', 'kit');
  await page.getByRole('button', { name: 'Open the dialog' }).click();
  await expect(page.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await checkPage(page, 'en-GB', 'kit dialog');
});
