// Every page, dialog and state in both languages, on a phone, a desk and a wall: nothing sticks out, nothing keeps anybody out, light
// or dark, and in Chinese nothing is left in English.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { cutBadges, englishIn, everywhere, type Locale, mispunctuatedIn, sticksOut, troubled } from './everywhere';
import { expect, open, test } from './fixtures';

const DESK = 1440;
const WIDTHS = [390, 2560, DESK];

/** What a theme changes. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];

async function keepsOut(page: Page, rules?: string[]): Promise<string[]> {
  const axe = new AxeBuilder({ page });
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join(' | ')}`);
}

/** Changes the theme, and waits until colours have come to rest: at most so long, for a page behind another draws nothing. */
async function paint(page: Page, colorScheme: 'light' | 'dark', atMost = 2_000) {
  await page.bringToFront();
  await page.emulateMedia({ colorScheme });
  await page.evaluate(async (atMost) => {
    const atRest = async () => {
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      const moving = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
      await Promise.allSettled(moving.map(({ finished }) => finished));
    };
    await Promise.race([atRest(), new Promise((over) => setTimeout(over, atMost))]);
  }, atMost);
}

/** Looks at what is there: whether it fits in every width, and what it says in Chinese. What keeps somebody out depends on neither. */
async function look(page: Page, locale: Locale, where: string) {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 1000 });
    await paint(page, 'light');
    const place = `${where}, ${width} wide`;
    expect.soft(await sticksOut(page), `${place}, scrolls sideways`).toBeLessThanOrEqual(0);
    expect.soft(await cutBadges(page), `${place}, badges are cut`).toEqual([]);
  }
  if (locale === 'zh-CN') {
    expect.soft(await englishIn(page), `${where} has English left in it`).toEqual([]);
    expect.soft(await mispunctuatedIn(page), `${where} has signs of English in Chinese`).toEqual([]);
  } else {
    expect.soft(await keepsOut(page), where).toEqual([]);
    await paint(page, 'dark');
    expect.soft(await keepsOut(page, OF_COLOURS), `${where}, dark`).toEqual([]);
    await paint(page, 'light');
  }
}

for (const locale of ['en-GB', 'zh-CN'] as const) {
  test.describe(locale, () => {
    test.use({ locale, reducedMotion: 'reduce', viewport: { width: DESK, height: 1000 } });

    test('every page, dialog and state', async ({ page, lab, complaints }) => {
      complaints.expect(/status of (404|500)/, /net::ERR_/);
      test.setTimeout(480_000);
      await everywhere(page, await troubled(lab), locale, (where) => look(page, locale, where));
    });
  });
}

test('the parts of the kit, each in all its states', async ({ page, lab }) => {
  test.skip(!!process.env.LOCKKEEPER_RELEASE, 'what is shipped does not show them');
  test.setTimeout(240_000);
  const console = await lab.console({ name: 'jobs', nodes: await lab.nodes(1) });
  await open(page, console, '/kit');
  await look(page, 'en-GB', 'kit');
  await page.getByRole('button', { name: 'Open the dialog' }).click();
  await expect(page.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await look(page, 'en-GB', 'dialog of the kit');
});
