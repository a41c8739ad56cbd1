// Every page, dialog and state in both languages, light and dark, on a phone, a desk and a wall: nothing sticks out, nothing keeps
// anybody out, and in Chinese nothing is left in English.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { englishIn, everywhere, type Locale, mispunctuatedIn, sticksOut, troubled } from './everywhere';
import { expect, open, test } from './fixtures';

const WIDTHS = [390, 1440, 2560];

async function keepsOut(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join(' | ')}`);
}

/** Looks at what is there in every width. The themes take turns, in each language the other way round. */
async function look(page: Page, locale: Locale, where: string) {
  for (const [nth, width] of WIDTHS.entries()) {
    const colorScheme = (nth % 2 === 0) === (locale === 'en-GB') ? 'light' : 'dark';
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 1000 });
    const place = `${where}, ${width} wide, ${colorScheme}`;
    expect.soft(await sticksOut(page), `${place}, scrolls sideways`).toBeLessThanOrEqual(0);
    expect.soft(await keepsOut(page), place).toEqual([]);
  }
  if (locale === 'zh-CN') {
    expect.soft(await englishIn(page), `${where} has English left in it`).toEqual([]);
    expect.soft(await mispunctuatedIn(page), `${where} has signs of English in Chinese`).toEqual([]);
  }
  await page.setViewportSize({ width: 1440, height: 1000 });
}

for (const locale of ['en-GB', 'zh-CN'] as const) {
  test.describe(locale, () => {
    test.use({ locale, reducedMotion: 'reduce', viewport: { width: 1440, height: 1000 } });

    test('every page, dialog and state', async ({ page, lab }) => {
      test.setTimeout(600_000);
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
