// What a browser downloads before the first page works, file by file as it came over the wire, and how long it takes on a processor of a
// quarter of this one's speed; then what each further page and dialog adds. `make measure-ui` runs it on the release build.
import { expect, isLive, take, test } from '../tests/fixtures';

const SLOWER = Number(process.env.SLOWER ?? 4);
const RUNS = Number(process.env.RUNS ?? 5);
const PAGES = ['/owners', '/nodes', '/waits', '/mine', '/audit', '/help'];

const median = (numbers: number[]) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

test('the weight of the first page', async ({ browser, lab }) => {
  test.setTimeout(300_000);
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  for (let n = 0; n < 50; n++) await take(nodes, `lock:invoice:${n}`, `token-${n}`, 3_600_000);
  const total = () => fetch(`${console.url}/api/v1/locks?limit=1`).then(async (answer) => (await answer.json()).total);
  await expect.poll(total).toBe(50);

  const interactive: number[] = [];
  const painted: number[] = [];
  let files: Record<string, number> = {};
  const further: Record<string, number> = {};
  for (let run = 0; run <= RUNS; run++) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-GB' });
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    // Telling every request costs time of its own.
    if (run === 0) await cdp.send('Network.enable');
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
    const names = new Map<string, string>();
    const weights: Record<string, number> = {};
    cdp.on('Network.requestWillBeSent', ({ requestId, request }) => names.set(requestId, new URL(request.url).pathname));
    cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const name = names.get(requestId)?.split('/').pop() || 'the page';
      weights[name] = (weights[name] ?? 0) + encodedDataLength;
    });
    // It is interactive once it answers to a key: `/` goes to the search. The first run is weighed instead.
    if (run > 0) await page.addInitScript(() => {
      const knock = () => {
        if (document.activeElement?.matches('input')) {
          Object.assign(window, { interactive: performance.now() });
        } else {
          document.body?.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }));
          setTimeout(knock, 5);
        }
      };
      knock();
    });
    await page.goto(console.url);
    await isLive(page);
    painted.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0));
    if (run > 0) {
      interactive.push(await page.waitForFunction(() => (window as any).interactive).then((handle) => handle.jsonValue()));
    } else {
      files = { ...weights };
      for (const path of PAGES) {
        const before = Object.values(weights).reduce((sum, bytes) => sum + bytes, 0);
        await page.goto(console.url + path);
        await isLive(page);
        await page.waitForLoadState('load');
        further[path] = Object.values(weights).reduce((sum, bytes) => sum + bytes, 0) - before;
      }
    }
    await context.close();
  }
  const kB = (weights: Record<string, number>) =>
    Object.fromEntries(Object.entries(weights).map(([name, bytes]) => [name, Math.round(bytes / 100) / 10]));
  const told = {
    firstPageKB: { ...kB(files), sum: Math.round(Object.values(files).reduce((sum, bytes) => sum + bytes, 0) / 1_000) },
    furtherPagesKB: kB(further),
    slowerTimes: SLOWER,
    firstPaintMs: Math.round(median(painted)),
    interactiveMs: { median: Math.round(median(interactive)), slowest: Math.round(Math.max(...interactive)) },
  };
  process.stdout.write(`${JSON.stringify(told, null, 2)}\n`);
  expect.soft(median(interactive), 'ms until the page answers to a key, half of the times').toBeLessThan(1_500);
});
