// A page whose console was upgraded, or whose program cannot start; and notifications of new locks
// that need attention.
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { acquireLock, type Console, expect, test, waitUntilLive } from './fixtures';

/** Starts a proxy that can replace the build in the console's event stream, as after an upgrade. */
async function startUpgradeProxy(console: Console) {
  const stream = { build: '', pings: 0 };
  const server: Server = createServer((incoming, response) => {
    const { host: _, 'accept-encoding': __, ...headers } = incoming.headers;
    const outgoing = request(console.url + incoming.url, { method: incoming.method, headers }, (upstream) => {
      response.writeHead(upstream.statusCode!, upstream.headers);
      upstream.on('data', (chunk: Buffer) => {
        const isStream = incoming.url!.startsWith('/api/v1/events');
        if (isStream && chunk.includes('"build"')) stream.pings += 1;
        response.write(isStream && stream.build ? chunk.toString().replace(/"build":"[^"]*"/, `"build":"${stream.build}"`) : chunk);
      });
      upstream.on('end', () => response.end());
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, stream, stop };
}

test('a page of an older version offers to reload and keeps its input', async ({ page, servers, browserErrors }) => {
  // The proxy stops while the page is open.
  browserErrors.allow(/net::ERR_/);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:a', 'token', 600_000);
  const proxy = await startUpgradeProxy(console);
  try {
    await page.goto(proxy.url);
    await waitUntilLive(page);
    await page.locator('#search').fill('lock:a');
    const notice = page.getByRole('alert').filter({ hasText: 'restarted with another version' });
    await expect(notice).toHaveCount(0);
    // The page remembers the first build that the stream reports.
    await expect.poll(() => proxy.stream.pings).toBeGreaterThan(0);
    proxy.stream.build = '99.0.0+abcdef';
    await expect(notice).toBeVisible({ timeout: 30_000 });
    await expect(page.locator('#search')).toHaveValue('lock:a');
    await notice.getByRole('button', { name: 'Reload' }).click();
    await waitUntilLive(page);
    await expect(notice).toHaveCount(0);
    await expect(page.locator('#search')).toHaveValue('lock:a');
  } finally {
    proxy.stop();
  }
});

test('the console serves the files of its own build only', async ({ servers }) => {
  const console = await servers.startConsole({ name: 'jobs', nodes: await servers.startNodes(1) });
  const page = await fetch(console.url).then((response) => response.text());
  const file = /\/build\/\w+\/pkg\/lockkeeper\.js/.exec(page)![0];
  const status = (path: string) => fetch(console.url + path).then((response) => response.status);
  expect(await status(file)).toBe(200);
  expect(await status(file.replace(/build\/\w+/, 'build/000000000000'))).toBe(404);
});

test('a page whose program cannot start reports it and stays readable', async ({ page, servers, browserErrors }) => {
  browserErrors.allow(/net::ERR_FAILED/, /Failed to fetch/);
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  await acquireLock(nodes, 'lock:a', 'token', 600_000);
  await expect.poll(() => fetch(`${console.url}/api/v1/locks`).then((response) => response.text())).toContain('lock:a');
  await page.route('**/*.wasm', (route) => route.abort());
  await page.goto(console.url);
  await expect(page.getByRole('alert').filter({ hasText: 'The page crashed' })).toBeVisible({ timeout: 30_000 });
  await expect(page.getByRole('link', { name: 'lock:a' })).toBeVisible();
});

test('new locks that need attention are counted in the title, marked on the icon and sent as a notification', async ({ browser, servers }) => {
  const nodes = await servers.startNodes(1);
  const console = await servers.startConsole({ name: 'jobs', nodes });
  const context = await browser.newContext({ permissions: ['notifications'], locale: 'en-GB' });
  const page = await context.newPage();
  await page.addInitScript(() => {
    const notifications: string[] = [];
    Object.assign(window, { notifications });
    window.Notification = new Proxy(window.Notification, {
      construct(target, args) {
        notifications.push(args[0]);
        return Reflect.construct(target, args);
      },
    });
  });
  await page.goto(console.url);
  await waitUntilLive(page);
  await expect(page).toHaveTitle('Locks · Lockkeeper');
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Enable notifications' }).click();
  await expect(page.getByRole('button', { name: 'Disable notifications' })).toBeVisible();

  // The window loses the focus.
  await page.evaluate(() => Object.defineProperty(document, 'hasFocus', { value: () => false, configurable: true }));
  await acquireLock(nodes, 'lock:stuck', 'token');
  await expect(page).toHaveTitle('(1) Locks · Lockkeeper', { timeout: 30_000 });
  await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', '/favicon-attention.svg');
  expect(await page.evaluate(() => (window as unknown as { notifications: string[] }).notifications)).toEqual(['1 lock needs attention']);

  // The window gets the focus back.
  await page.evaluate(() => {
    Object.defineProperty(document, 'hasFocus', { value: () => true, configurable: true });
    window.dispatchEvent(new Event('focus'));
  });
  await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', '/favicon.svg');
  await nodes[0].redis.del('lock:stuck');
  await expect(page).toHaveTitle('Locks · Lockkeeper');
  await context.close();
});
