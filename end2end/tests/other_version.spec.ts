// The console is restarted with another version, or lets somebody out, while a page is open.
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Console, expect, isLive, take, test } from './fixtures';

/** A proxy before the console that has it say another build from some moment on, as one after an upgrade does. */
async function upgradable(console: Console) {
  const said = { build: '', pings: 0 };
  const server: Server = createServer((asked, answer) => {
    const { host: _, 'accept-encoding': __, ...headers } = asked.headers;
    const onward = request(console.url + asked.url, { method: asked.method, headers }, (told) => {
      answer.writeHead(told.statusCode!, told.headers);
      told.on('data', (part: Buffer) => {
        const isStream = asked.url!.startsWith('/api/v1/events');
        if (isStream && part.includes('"build"')) said.pings += 1;
        answer.write(isStream && said.build ? part.toString().replace(/"build":"[^"]*"/, `"build":"${said.build}"`) : part);
      });
      told.on('end', () => answer.end());
    });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    asked.pipe(onward);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const end = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, said, end };
}

test('a page of an older version offers to be loaded again, and loses nothing that is typed', async ({ page, lab, complaints }) => {
  // The proxy ends while the page is open.
  complaints.expect(/net::ERR_/);
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await take(nodes, 'lock:a', 'token', 600_000);
  const proxy = await upgradable(console);
  try {
    await page.goto(proxy.url);
    await isLive(page);
    await page.locator('#search').fill('lock:a');
    const notice = page.getByRole('alert').filter({ hasText: 'restarted with another version' });
    await expect(notice).toHaveCount(0);
    // The build that is heard first is the one that the page takes for its own.
    await expect.poll(() => proxy.said.pings).toBeGreaterThan(0);
    proxy.said.build = '99.0.0+abcdef';
    await expect(notice).toBeVisible({ timeout: 30_000 });
    await expect(page.locator('#search')).toHaveValue('lock:a');
    await notice.getByRole('button', { name: 'Load again' }).click();
    await isLive(page);
    await expect(notice).toHaveCount(0);
    await expect(page.locator('#search')).toHaveValue('lock:a');
  } finally {
    proxy.end();
  }
});

test('a page is given the files of its own build and of no other', async ({ lab }) => {
  const console = await lab.console({ name: 'jobs', nodes: await lab.nodes(1) });
  const page = await fetch(console.url).then((answer) => answer.text());
  const own = /\/build\/\w+\/pkg\/lockkeeper\.js/.exec(page)![0];
  const status = (path: string) => fetch(console.url + path).then((answer) => answer.status);
  expect(await status(own)).toBe(200);
  expect(await status(own.replace(/build\/\w+/, 'build/000000000000'))).toBe(404);
});

test('a page whose program cannot start says so, and can be read', async ({ page, lab, complaints }) => {
  complaints.expect(/net::ERR_FAILED/, /Failed to fetch/);
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  await take(nodes, 'lock:a', 'token', 600_000);
  await expect.poll(() => fetch(`${console.url}/api/v1/locks`).then((answer) => answer.text())).toContain('lock:a');
  await page.route('**/*.wasm', (route) => route.abort());
  await page.goto(console.url);
  await expect(page.getByRole('alert').filter({ hasText: 'This page has stopped working' })).toBeVisible({ timeout: 30_000 });
  await expect(page.getByRole('link', { name: 'lock:a' })).toBeVisible();
});

test('new attention is counted in the title, marked on the icon, and told to whoever asked for it', async ({ browser, lab }) => {
  const nodes = await lab.nodes(1);
  const console = await lab.console({ name: 'jobs', nodes });
  const context = await browser.newContext({ permissions: ['notifications'], locale: 'en-GB' });
  const page = await context.newPage();
  await page.addInitScript(() => {
    const told: string[] = [];
    Object.assign(window, { told });
    const Real = window.Notification;
    window.Notification = new Proxy(Real, {
      construct(target, given) {
        told.push(given[0]);
        return Reflect.construct(target, given);
      },
    });
  });
  await page.goto(console.url);
  await isLive(page);
  await expect(page).toHaveTitle('Locks · Lockkeeper');
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Tell me of new attention' }).click();
  await expect(page.getByRole('button', { name: 'Stop telling me' })).toBeVisible();

  // Somebody looks elsewhere.
  await page.evaluate(() => Object.defineProperty(document, 'hasFocus', { value: () => false, configurable: true }));
  await take(nodes, 'lock:stuck', 'token');
  await expect(page).toHaveTitle('(1) Locks · Lockkeeper', { timeout: 30_000 });
  await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', '/favicon-attention.svg');
  expect(await page.evaluate(() => (window as unknown as { told: string[] }).told)).toEqual(['1 lock needs attention']);

  // And back.
  await page.evaluate(() => {
    Object.defineProperty(document, 'hasFocus', { value: () => true, configurable: true });
    window.dispatchEvent(new Event('focus'));
  });
  await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', '/favicon.svg');
  await nodes[0].redis.del('lock:stuck');
  await expect(page).toHaveTitle('Locks · Lockkeeper');
  await context.close();
});
