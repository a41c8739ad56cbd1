// The tasks of an operator at night, each on the shortest path that the console offers. A test counts
// what the operator does (clicks, keys and filled fields), checks the number, and prints it with the
// time until the answer is on the screen.
import { type Locator, type Page, type TestInfo } from '@playwright/test';
import { expect, lockLinks, open, row, test, waitUntilLive } from './fixtures';

/** Counts the actions of an operator in one task. */
class Operator {
  private actions = 0;
  private readonly startedAt = Date.now();

  constructor(
    private readonly page: Page,
    private readonly testInfo: TestInfo,
  ) {}

  async click(target: Locator) {
    this.actions += 1;
    await target.click();
  }

  async fill(field: Locator, text: string) {
    this.actions += 1;
    await field.fill(text);
  }

  async press(key: string) {
    this.actions += 1;
    await this.page.keyboard.press(key);
  }

  /** Types into the element that has the focus. */
  async type(text: string) {
    this.actions += 1;
    await this.page.keyboard.type(text);
  }

  /** Checks and prints the number of actions. */
  finish(maximum: number) {
    const seconds = ((Date.now() - this.startedAt) / 1_000).toFixed(1);
    process.stdout.write(`${this.testInfo.title}: ${this.actions} actions, ${seconds} s\n`);
    expect(this.actions).toBeLessThanOrEqual(maximum);
  }
}

const visibleOnFirstScreen = (target: Locator) => expect(target).toBeInViewport();
const searchBox = (page: Page) => page.getByRole('combobox', { name: 'Search locks' });

test.describe('on a screen of 1440 by 900 pixels', () => {
  test.use({ viewport: { width: 1440, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'] });

  test('1: a hanging job is found by a fragment of its name, judged and released', async ({ page, servers }, testInfo) => {
    const url = await servers.startDemo();
    await page.goto(url);
    await waitUntilLive(page);
    const operator = new Operator(page, testInfo);
    await operator.press('/');
    await operator.type('ledg');
    await operator.press('Enter');
    await expect(page.getByRole('heading', { level: 1, name: 'lock:ledger:close' })).toBeVisible();
    // The judgement is on the first screen, before the dialog is opened.
    const advice = page.getByRole('region', { name: 'If you release it now' });
    await expect(advice).toContainText('Assume that the owner is alive');
    await visibleOnFirstScreen(advice.getByText('Assume that the owner is alive'));
    await operator.click(page.getByRole('button', { name: 'Force release…' }));
    const dialog = page.getByRole('dialog');
    await operator.fill(dialog.getByLabel('Reason'), 'the job hangs, and its owner was stopped');
    await operator.fill(dialog.getByLabel("Type the lock's name to confirm"), 'lock:ledger:close');
    await operator.click(dialog.getByRole('button', { name: 'Release', exact: true }));
    await expect(dialog.getByRole('list', { name: 'Result per node' }).getByRole('listitem')).toHaveText(Array(5).fill(/released|was absent/));
    // On a majority of the nodes: one on which the lease had ended before does not change that.
    await expect(dialog.getByRole('heading', { name: 'Released lock:ledger:close' })).toBeVisible();
    operator.finish(7);
  });

  test('2: contended locks and those who want them are on the first screen', async ({ page, servers }, testInfo) => {
    const url = await servers.startDemo();
    await page.goto(url);
    await waitUntilLive(page);
    await expect(row(page, 'lock:invoice:1842').or(page.getByRole('link', { name: /^Contended/ })).first()).toBeVisible();
    const operator = new Operator(page, testInfo);
    await operator.click(page.getByRole('navigation', { name: 'Filters' }).getByRole('link', { name: /^Contended/ }));
    await expect(page).toHaveURL(/flag=contended&sort=contention/);
    await operator.click(lockLinks(page.getByRole('row')).first());
    const wanted = page.getByRole('region', { name: 'Who wants it' });
    await expect(wanted).toBeVisible();
    await visibleOnFirstScreen(wanted);
    operator.finish(2);
  });

  test('3: everything that a host holds is one page', async ({ page, servers }, testInfo) => {
    const url = await servers.startDemo();
    await page.goto(`${url}/owners`);
    await waitUntilLive(page);
    const owners = page.getByRole('table', { name: 'Owners' });
    // This owner never releases its lock. Others in the demo hold theirs for seconds at a time.
    const owner = owners.getByRole('link', { name: '02:42:ac:11:00:07', exact: true });
    await expect(owner).toBeVisible();
    const operator = new Operator(page, testInfo);
    await operator.click(owner);
    await expect(page).toHaveURL(/\/owners\/./);
    await visibleOnFirstScreen(page.getByRole('table', { name: 'Locks held now' }).getByRole('row').nth(1));
    operator.finish(1);
  });

  test('4: a test lock is acquired, extended and released', async ({ page, servers }, testInfo) => {
    const nodes = await servers.startNodes(3);
    const console = await servers.startConsole({ name: 'orders', nodes });
    await open(page, console, '/mine');
    const operator = new Operator(page, testInfo);
    await operator.click(page.getByRole('button', { name: 'Acquire a lock' }));
    await operator.fill(page.getByRole('dialog').getByLabel('Label (optional)'), 'alice');
    await operator.click(page.getByRole('dialog').getByRole('button', { name: 'Acquire', exact: true }));
    const card = page.getByRole('article');
    await expect(card).toContainText('alice');
    await operator.click(card.getByRole('button', { name: /^Extend to/ }));
    await operator.click(page.getByRole('button', { name: 'Release' }));
    await expect(page.getByRole('status', { name: 'Result' })).toContainText('released');
    operator.finish(5);
  });

  test('5: the first screen says what the failure of a node means', async ({ page, servers }, testInfo) => {
    const nodes = await servers.startNodes(5);
    const console = await servers.startConsole({ name: 'orders', nodes });
    await open(page, console);
    await expect(page.getByText('can lose 2 more')).toBeVisible();
    const operator = new Operator(page, testInfo);
    await nodes[2].kill();
    await visibleOnFirstScreen(page.getByText(/^Node c of orders has been down for /));
    await visibleOnFirstScreen(page.getByText('4 of 5 up, quorum 3: locks work; one more failure is tolerated.'));
    await visibleOnFirstScreen(page.getByText('can lose 1 more'));
    operator.finish(0);
  });

  test('6: a filtered view is shared as a link', async ({ page, browser, servers }, testInfo) => {
    const url = await servers.startDemo();
    await page.goto(url);
    await waitUntilLive(page);
    const operator = new Operator(page, testInfo);
    await operator.press('/');
    await operator.type('lock:i');
    await expect(page).toHaveURL(/q=lock%3Ai/);
    await operator.click(page.getByRole('button', { name: 'Copy link' }));
    await expect(page.getByText('copied', { exact: true })).toBeVisible();
    operator.finish(3);
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const other = await (await browser.newContext()).newPage();
    await other.goto(link);
    await expect(other.getByRole('combobox', { name: 'Search locks' })).toHaveValue('lock:i');
  });

  test('7: a lock is found and its release is prepared with the keyboard only', async ({ page, servers }, testInfo) => {
    const url = await servers.startDemo();
    await page.goto(url);
    await waitUntilLive(page);
    const operator = new Operator(page, testInfo);
    await operator.press('/');
    await operator.type('nightly-rep');
    await expect(lockLinks(page.getByRole('row'))).toHaveText(['lock:nightly-report']);
    await expect(searchBox(page)).toBeFocused();
    await operator.press('Enter');
    await expect(page.getByRole('heading', { level: 1, name: 'lock:nightly-report' })).toBeVisible();
    await operator.press('Control+k');
    await operator.type('force release');
    await operator.press('Enter');
    await expect(page.getByRole('dialog').getByRole('button', { name: 'Cancel' })).toBeFocused();
    operator.finish(6);
  });
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });

  test('8: the lock that needs attention is judged without scrolling', async ({ page, servers }, testInfo) => {
    const url = await servers.startDemo();
    await page.goto(url);
    await waitUntilLive(page);
    const cards = page.getByRole('table', { name: 'Locks' }).getByRole('row');
    await expect(cards.nth(4)).toBeVisible();
    await visibleOnFirstScreen(cards.nth(4));
    const operator = new Operator(page, testInfo);
    await operator.click(lockLinks(cards.nth(1)));
    const advice = page.getByRole('region', { name: 'If you release it now' });
    await visibleOnFirstScreen(advice.getByRole('heading').first());
    operator.finish(1);
  });
});
