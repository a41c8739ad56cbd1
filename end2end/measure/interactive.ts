// Measures when a page handles its first key.
import type { Page } from '@playwright/test';
import { waitUntilLive } from '../tests/fixtures';

/** By how much the CPU of the browser is slowed down for these measurements. */
export const CPU_SLOWDOWN = Number(process.env.SLOWER ?? 4);

/** The number of loads whose median is reported. */
export const RUNS = Number(process.env.RUNS ?? 5);

export const median = (numbers: number[]) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Slows down the CPU of a page. */
export async function slowDown(page: Page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
}

/**
 * Opens a page and returns the time in ms from the start of the navigation until the page handles a
 * key: `/` moves the focus to the search.
 */
export async function interactiveTime(page: Page, url: string): Promise<number> {
  await page.addInitScript(() => {
    const pressKey = () => {
      if (document.activeElement?.matches('input')) {
        Object.assign(window, { interactive: performance.now() });
      } else {
        document.body?.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }));
        setTimeout(pressKey, 5);
      }
    };
    pressKey();
  });
  await page.goto(url);
  await waitUntilLive(page);
  return page.waitForFunction(() => (window as any).interactive).then((handle) => handle.jsonValue());
}
