// Fixtures of the browser tests. Each test starts its own Redis servers and consoles on free ports;
// they are stopped when the test ends.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type BrowserContext, type Locator, type Page, test as base, expect } from '@playwright/test';
import Redis from 'ioredis';

const target = process.env.CARGO_TARGET_DIR ?? resolve(__dirname, '../../target');
/**
 * The environment of a console. Its state directory belongs to the test: state of another test
 * names nodes on other ports.
 */
const environment = (folder: string) => ({ ...process.env, STATE_DIRECTORY: undefined, XDG_STATE_HOME: join(folder, 'state') });
const binary = process.env.LOCKKEEPER_BIN ?? join(target, 'debug/lockkeeper');

/** A `redis-server` process and a client of it. */
export class RedisNode {
  redis!: Redis;
  private server?: ChildProcess;

  constructor(
    readonly name: string,
    readonly port: number,
    private readonly folder: string,
  ) {}

  async start() {
    const options = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', this.folder];
    this.server = spawn('redis-server', options, { stdio: 'ignore' });
    this.redis = new Redis({ port: this.port, host: '127.0.0.1', retryStrategy: () => 50, maxRetriesPerRequest: 100 });
    this.redis.on('error', () => {});
    await this.redis.ping();
  }

  /** Ends the server with `SIGKILL`, as a crash does. */
  async kill() {
    this.redis.disconnect();
    await stopProcess(this.server);
  }
}

/** A `lockkeeper serve` process. */
export class Console {
  private server?: ChildProcess;

  constructor(
    readonly url: string,
    private readonly config: string,
  ) {}

  async start() {
    const server = spawn(binary, ['serve', '--config', this.config, '--log', 'warn'], {
      env: environment(dirname(this.config)),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('exit', (status) => reject(new Error(`lockkeeper exited with status ${status}`)));
      server.stdout!.on('data', (text: Buffer) => text.includes('Lockkeeper is at') && resolve());
    });
    await expect.poll(() => fetch(`${this.url}/readyz`).then((response) => response.status)).toBe(200);
  }

  async stop() {
    await stopProcess(this.server, 'SIGTERM');
  }
}

/** A `[[group]]` of the configuration. */
export interface Group {
  name: string;
  nodes: RedisNode[];
  environment?: 'production' | 'staging' | 'development';
  keys?: string[];
  readOnly?: boolean;
}

/** A `[[user]]` of the configuration, with the password in plain text. */
export interface User {
  name: string;
  password: string;
  role: 'viewer' | 'operator' | 'admin';
  groups?: string[];
  keys?: string[];
}

/** Starts the Redis servers, consoles and providers of a test, and stops all of them. */
export class TestServers {
  private readonly cleanups: (() => Promise<void>)[] = [];

  constructor(private readonly folder: string) {}

  /** Starts Redis servers named a, b, c, … */
  async startNodes(count: number): Promise<RedisNode[]> {
    const nodes = await Promise.all(
      Array.from({ length: count }, async (_, index) => new RedisNode(String.fromCharCode(97 + index), await findFreePort(), this.folder)),
    );
    for (const node of nodes) this.cleanups.push(() => node.kill());
    await Promise.all(nodes.map((node) => node.start()));
    return nodes;
  }

  /** Starts a console without sign-in. */
  async startConsole(...groups: Group[]): Promise<Console> {
    return this.startConsoleWithUsers([], ...groups);
  }

  /** Starts a console with local users. */
  async startConsoleWithUsers(users: User[], ...groups: Group[]): Promise<Console> {
    return this.startConsoleWithSettings(async () => users.map(userToToml).join('\n'), ...groups);
  }

  /**
   * Starts an OpenID Connect provider, and a console that accepts its users and these local users.
   * `roleMappings` is TOML.
   */
  async startConsoleWithOidc(roleMappings: string, users: User[], ...groups: Group[]): Promise<Console> {
    return this.startConsoleWithSettings(
      async (url) => [await this.startOidcProvider(url), roleMappings, ...users.map(userToToml)].join('\n'),
      ...groups,
    );
  }

  /**
   * Starts an OpenID Connect provider. Returns the `[sign_in.oidc]` table for a console with this
   * URL.
   */
  private async startOidcProvider(url: string): Promise<string> {
    const options = { redirect_uris: [`${url}/sign-in/callback`], post_logout_redirect_uris: [`${url}/sign-in`] };
    const script = resolve(__dirname, '../../src/tests/clients/oidc_provider.mjs');
    const provider = spawn('node', [script, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'ignore'] });
    this.cleanups.push(() => stopProcess(provider));
    const [output] = await once(provider.stdout, 'data');
    return [
      '[sign_in.oidc]',
      `issuer = "http://127.0.0.1:${String(output).split('\n')[0]}"`,
      'client_id = "lockkeeper"',
      'client_secret = "a secret of the client, and not a short one"',
      `public_url = "${url}"`,
      'scopes = ["profile", "groups"]',
      'label = "Example login"',
    ].join('\n');
  }

  /** Starts a console with one group of another service than Redis. `fields` is TOML. */
  async startConsoleForService(name: string, fields: string[]): Promise<Console> {
    return this.startConsoleWithSettings(async () => ['[[group]]', `name = "${name}"`, ...fields].join('\n'));
  }

  /** A new folder of the test. */
  subfolder(name: string): string {
    return mkdtempSync(join(this.folder, `${name}-`));
  }

  /** Stops a process at the end of the test. */
  stopAtEnd<Child extends ChildProcess>(child: Child, signal: NodeJS.Signals = 'SIGKILL'): Child {
    this.cleanups.push(() => stopProcess(child, signal));
    return child;
  }

  /** Starts a console with further settings, which may depend on its URL. */
  private async startConsoleWithSettings(settings: (url: string) => Promise<string>, ...groups: Group[]): Promise<Console> {
    if (!existsSync(binary)) throw new Error(`${binary} does not exist. Build it first.`);
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}`;
    const config = join(this.folder, `lockkeeper-${port}.toml`);
    const storage = `[storage]\nurl = ${JSON.stringify(`sqlite:${join(this.folder, `storage-${port}.db`)}`)}`;
    await writeFile(config, [`listen = "127.0.0.1:${port}"`, storage, ...groups.map(groupToToml), await settings(url)].join('\n'));
    const console = new Console(url, config);
    this.cleanups.push(() => console.stop());
    await console.start();
    return console;
  }

  /**
   * Starts `lockkeeper demo --redis-only`: a console, six Redis servers, and clients that change locks all the
   * time. Returns its URL.
   */
  async startDemo(): Promise<string> {
    const demo = spawn(binary, ['demo', '--redis-only', '--listen', '127.0.0.1:0', '--log', 'warn'], {
      env: environment(this.folder),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.cleanups.push(() => stopProcess(demo, 'SIGTERM'));
    const url = await new Promise<string>((resolve, reject) => {
      let output = '';
      demo.once('exit', (status) => reject(new Error(`lockkeeper demo exited with status ${status}`)));
      demo.stdout!.on('data', (text: Buffer) => {
        output += text;
        const address = /Lockkeeper is at (\S+)/.exec(output);
        if (address) resolve(address[1]);
      });
    });
    await expect.poll(() => fetch(`${url}/readyz`).then((response) => response.status)).toBe(200);
    return url;
  }

  async stop() {
    await Promise.all(this.cleanups.map((cleanup) => cleanup()));
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Collects the errors in the browser consoles of a test, failed requests included. */
export class BrowserErrors {
  private readonly recorded: string[] = [];
  private readonly allowed: RegExp[] = [];
  private isStopped = false;

  /**
   * Allows errors that the test causes: it stops the console, opens a missing page, or makes a
   * request fail.
   */
  allow(...patterns: RegExp[]) {
    this.allowed.push(...patterns);
  }

  /**
   * Allows responses of a server function with this status. `name` is part of a regular expression.
   */
  allowFailedCall(name: string, status: number) {
    this.allow(new RegExp(`status of ${status} .*/_fn/${name}\\d+\\)$`));
  }

  /** Records the errors of every page of a browser context. */
  listen(context: BrowserContext) {
    context.on('console', (message) => {
      if (message.type() === 'error') this.record(`${message.text()} (${message.location().url})`);
    });
    context.on('weberror', (error) => this.record(String(error.error())));
  }

  /**
   * Stops recording. Called before the servers stop: requests that open pages send afterwards fail.
   */
  stop() {
    this.isStopped = true;
  }

  private record(error: string) {
    if (!this.isStopped) this.recorded.push(error);
  }

  /** The recorded errors that no pattern allows. */
  get unexpected() {
    return this.recorded.filter((error) => !this.allowed.some((pattern) => pattern.test(error)));
  }
}

export const test = base.extend<{ servers: TestServers; browserErrors: BrowserErrors }>({
  // Every test fails if the browser console shows an error that the test does not allow.
  browserErrors: [
    async ({ browser, context }, use) => {
      const browserErrors = new BrowserErrors();
      browserErrors.listen(context);
      // Errors in contexts that the test creates are recorded too.
      const newContext = browser.newContext.bind(browser);
      browser.newContext = async (options) => {
        const context = await newContext(options);
        browserErrors.listen(context);
        return context;
      };
      await use(browserErrors);
      browser.newContext = newContext;
      expect(browserErrors.unexpected, 'the browser console shows no error').toEqual([]);
    },
    { auto: true },
  ],
  servers: async ({ browserErrors }, use) => {
    const servers = new TestServers(await mkdtemp(join(tmpdir(), 'lockkeeper-end2end-')));
    try {
      await use(servers);
    } finally {
      browserErrors.stop();
      await servers.stop();
    }
  },
});

export { expect };

/** Opens a page and waits until it is interactive and receives live updates. */
export async function open(page: Page, console: Console, path = '/') {
  await page.goto(console.url + path);
  await waitUntilLive(page);
}

/** Waits until the page receives live updates. */
export async function waitUntilLive(page: Page) {
  await expect(page.getByText(/^live(, \d|$)/)).toBeVisible({ timeout: 90_000 });
}

/**
 * Writes a lock as a Redlock client does: the same value on every node. Without `ms` the key does
 * not expire.
 */
export async function acquireLock(nodes: RedisNode[], key: string | Buffer, value: string | Buffer, ms?: number) {
  const set = (node: RedisNode) => (ms === undefined ? node.redis.set(key, value) : node.redis.set(key, value, 'PX', ms));
  await Promise.all(nodes.map(set));
}

/** The row of a lock in the lock list. */
export function row(page: Page, name: string) {
  return page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
}

/** The links to locks in a row or rows, which also link to owners. */
export function lockLinks(rows: Locator) {
  return rows.locator('a[href*="/locks"]');
}

/** The path of a lock's page. */
export function lockPath(group: string, key: string | Buffer) {
  const bytes = [...Buffer.from(key)].map((byte) => {
    const char = String.fromCharCode(byte);
    return /[A-Za-z0-9._~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  });
  return `/groups/${encodeURIComponent(group)}/locks/${bytes.join('')}`;
}

function groupToToml(group: Group) {
  const nodes = group.nodes.map((node) => `  { name = "${node.name}", url = "redis://127.0.0.1:${node.port}" },`);
  return [
    '[[group]]',
    `name = "${group.name}"`,
    `environment = "${group.environment ?? 'development'}"`,
    `keys = ${JSON.stringify(group.keys ?? ['lock:*'])}`,
    `read_only = ${group.readOnly ?? false}`,
    // On a busy machine a server does not get to reply within the default of 500 ms.
    'command_timeout = "2s"',
    'node = [',
    ...nodes,
    ']',
  ].join('\n');
}

function userToToml(user: User) {
  const hash = execFileSync(binary, ['hash-password'], { input: `${user.password}\n` }).toString().trim();
  const lines = ['[[user]]', `name = ${JSON.stringify(user.name)}`, `role = "${user.role}"`, `password_hash = "${hash}"`];
  if (user.groups) lines.push(`groups = ${JSON.stringify(user.groups)}`);
  if (user.keys) lines.push(`keys = ${JSON.stringify(user.keys)}`);
  return lines.join('\n');
}

const FIRST_PORT = 11_000;
const PORTS_PER_WORKER = 4_000;
let nextPort = Math.floor(Math.random() * PORTS_PER_WORKER);

/**
 * A free port. Each worker has its own range, below the ephemeral ports, which outgoing connections
 * occupy at any time.
 */
export async function findFreePort(): Promise<number> {
  const first = FIRST_PORT + PORTS_PER_WORKER * Number(process.env.TEST_PARALLEL_INDEX ?? 0);
  for (;;) {
    const port = first + (nextPort++ % PORTS_PER_WORKER);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

export async function stopProcess(child: ChildProcess | undefined, signal: NodeJS.Signals = 'SIGKILL') {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
