// What every story needs: Redis servers and a console of its own on free ports, all gone when the story ends.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type BrowserContext, type Page, test as base, expect } from '@playwright/test';
import Redis from 'ioredis';

const target = process.env.CARGO_TARGET_DIR ?? resolve(__dirname, '../../target');
/** What a console keeps beside its configuration is the story's own, too: nodes of another one, on other ports, would be new to it. */
const keeping = (folder: string) => ({ ...process.env, STATE_DIRECTORY: undefined, XDG_STATE_HOME: join(folder, 'state') });
const binary = process.env.LOCKKEEPER_BIN ?? join(target, 'debug/lockkeeper');

/** One redis-server. */
export class Node {
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

  /** Ends it the way a crash does. */
  async kill() {
    this.redis.disconnect();
    await end(this.server);
  }
}

/** One running console. */
export class Console {
  private server?: ChildProcess;

  constructor(
    readonly url: string,
    private readonly config: string,
  ) {}

  async start() {
    const server = spawn(binary, ['serve', '--config', this.config, '--log', 'warn'], {
      env: keeping(dirname(this.config)),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.server = server;
    await new Promise<void>((ready, failed) => {
      server.once('exit', (status) => failed(new Error(`lockkeeper ended with status ${status}`)));
      server.stdout!.on('data', (text: Buffer) => text.includes('Lockkeeper is at') && ready());
    });
    await expect.poll(() => fetch(`${this.url}/readyz`).then((answer) => answer.status)).toBe(200);
  }

  async stop() {
    await end(this.server, 'SIGTERM');
  }
}

/** What a group is in the configuration. */
export interface Group {
  name: string;
  nodes: Node[];
  environment?: 'production' | 'staging' | 'development';
  keys?: string[];
  readOnly?: boolean;
}

/** Somebody who may come in. */
export interface User {
  name: string;
  password: string;
  role: 'viewer' | 'operator' | 'admin';
  groups?: string[];
  keys?: string[];
}

/** Starts what a story asks for, and ends all of it. */
export class Lab {
  private readonly ends: (() => Promise<void>)[] = [];

  constructor(private readonly folder: string) {}

  /** So many Redis servers, named a, b, c, … */
  async nodes(count: number): Promise<Node[]> {
    const nodes = await Promise.all(
      Array.from({ length: count }, async (_, nth) => new Node(String.fromCharCode(97 + nth), await freePort(), this.folder)),
    );
    for (const node of nodes) this.ends.push(() => node.kill());
    await Promise.all(nodes.map((node) => node.start()));
    return nodes;
  }

  /** A console on these groups. */
  async console(...groups: Group[]): Promise<Console> {
    return this.consoleFor([], ...groups);
  }

  /** A console on these groups for these people. */
  async consoleFor(users: User[], ...groups: Group[]): Promise<Console> {
    return this.consoleAs(async () => users.map(userAsToml).join('\n'), ...groups);
  }

  /** A console on these groups for whoever comes from a provider, and for these people. */
  async consoleWithProvider(grants: string, users: User[], ...groups: Group[]): Promise<Console> {
    return this.consoleAs(async (url) => [await this.provider(url), grants, ...users.map(userAsToml)].join('\n'), ...groups);
  }

  /** Starts an OpenID Connect provider; answers the table of the configuration for the console that will be at this address. */
  private async provider(url: string): Promise<string> {
    const options = { redirect_uris: [`${url}/sign-in/back`], post_logout_redirect_uris: [`${url}/sign-in`] };
    const script = resolve(__dirname, '../../src/tests/clients/oidc_provider.mjs');
    const provider = spawn('node', [script, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'ignore'] });
    this.ends.push(() => end(provider));
    const [said] = await once(provider.stdout, 'data');
    return [
      '[sign_in.oidc]',
      `issuer = "http://127.0.0.1:${String(said).split('\n')[0]}"`,
      'client_id = "lockkeeper"',
      'client_secret = "a secret of the client, and not a short one"',
      `console_url = "${url}"`,
      'scopes = ["profile", "groups"]',
      'label = "Example login"',
    ].join('\n');
  }

  /** A console on these groups, with whatever else its configuration says for the address that it will be at. */
  private async consoleAs(settings: (url: string) => Promise<string>, ...groups: Group[]): Promise<Console> {
    if (!existsSync(binary)) throw new Error(`${binary} is not there: build it first`);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const config = join(this.folder, `lockkeeper-${port}.toml`);
    const audit = `[storage]\nurl = ${JSON.stringify(`sqlite:${join(this.folder, `storage-${port}.db`)}`)}`;
    await writeFile(config, [`listen = "127.0.0.1:${port}"`, audit, ...groups.map(asToml), await settings(url)].join('\n'));
    const console = new Console(url, config);
    this.ends.push(() => console.stop());
    await console.start();
    return console;
  }

  /** The demo: a console, six servers, and clients on them that change something all the time. */
  async demo(): Promise<string> {
    const demo = spawn(binary, ['demo', '--listen', '127.0.0.1:0', '--log', 'warn'], {
      env: keeping(this.folder),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.ends.push(() => end(demo, 'SIGTERM'));
    const url = await new Promise<string>((ready, failed) => {
      let said = '';
      demo.once('exit', (status) => failed(new Error(`lockkeeper demo ended with status ${status}`)));
      demo.stdout!.on('data', (text: Buffer) => {
        said += text;
        const at = /Lockkeeper is at (\S+)/.exec(said);
        if (at) ready(at[1]);
      });
    });
    await expect.poll(() => fetch(`${url}/readyz`).then((answer) => answer.status)).toBe(200);
    return url;
  }

  async end() {
    await Promise.all(this.ends.map((end) => end()));
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** What the browsers of a story complain about: whatever their console shows as an error, a request that failed included. */
export class Complaints {
  private readonly heard: string[] = [];
  private readonly expected: RegExp[] = [];
  private isOver = false;

  /** Errors that belong to the story: it stops the console, asks for what is not there, or has a request answered with an error. */
  expect(...patterns: RegExp[]) {
    this.expected.push(...patterns);
  }

  /** The same of a function of the server that answers with such an error. */
  expectRefusal(name: string, status: number) {
    this.expect(new RegExp(`status of ${status} .*/_fn/${name}\\d+\\)$`));
  }

  /** Listens to every page of a browser's context. */
  listen(context: BrowserContext) {
    context.on('console', (message) => {
      if (message.type() === 'error') this.note(`${message.text()} (${message.location().url})`);
    });
    context.on('weberror', (error) => this.note(String(error.error())));
  }

  /** The story is over: what a page still asks for finds no console. */
  end() {
    this.isOver = true;
  }

  private note(complaint: string) {
    if (!this.isOver) this.heard.push(complaint);
  }

  /** Those that nobody expected. */
  get unexpected() {
    return this.heard.filter((complaint) => !this.expected.some((pattern) => pattern.test(complaint)));
  }
}

export const test = base.extend<{ lab: Lab; complaints: Complaints }>({
  // Whatever is clicked in a story, the console of the browser stays empty.
  complaints: [
    async ({ browser, context }, use) => {
      const complaints = new Complaints();
      complaints.listen(context);
      // Contexts that a story makes by itself are listened to as well.
      const newContext = browser.newContext.bind(browser);
      browser.newContext = async (options) => {
        const context = await newContext(options);
        complaints.listen(context);
        return context;
      };
      await use(complaints);
      browser.newContext = newContext;
      expect(complaints.unexpected, "the browser's console shows no error").toEqual([]);
    },
    { auto: true },
  ],
  lab: async ({ complaints }, use) => {
    const lab = new Lab(await mkdtemp(join(tmpdir(), 'lockkeeper-story-')));
    try {
      await use(lab);
    } finally {
      complaints.end();
      await lab.end();
    }
  },
});

export { expect };

/** Opens a page and waits until it is awake and hears the console. */
export async function open(page: Page, console: Console, path = '/') {
  await page.goto(console.url + path);
  await isLive(page);
}

/** Waits until the page hears the console. */
export async function isLive(page: Page) {
  await expect(page.getByText(/^live(, \d|$)/)).toBeVisible({ timeout: 90_000 });
}

/** Takes a lock the way any Redlock client does: the same value on every node. */
export async function take(nodes: Node[], key: string | Buffer, value: string | Buffer, ms?: number) {
  const set = (node: Node) => (ms === undefined ? node.redis.set(key, value) : node.redis.set(key, value, 'PX', ms));
  await Promise.all(nodes.map(set));
}

/** The row of a lock in the table. */
export function row(page: Page, name: string) {
  return page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
}

/** The path of a lock's page. */
export function lockPath(group: string, key: string | Buffer) {
  const bytes = [...Buffer.from(key)].map((byte) => {
    const char = String.fromCharCode(byte);
    return /[A-Za-z0-9._~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  });
  return `/groups/${encodeURIComponent(group)}/locks/${bytes.join('')}`;
}

function asToml(group: Group) {
  const nodes = group.nodes.map((node) => `  { name = "${node.name}", url = "redis://127.0.0.1:${node.port}" },`);
  return [
    '[[group]]',
    `name = "${group.name}"`,
    `environment = "${group.environment ?? 'development'}"`,
    `keys = ${JSON.stringify(group.keys ?? ['lock:*'])}`,
    `read_only = ${group.readOnly ?? false}`,
    'node = [',
    ...nodes,
    ']',
  ].join('\n');
}

function userAsToml(user: User) {
  const hash = execFileSync(binary, ['hash-password'], { input: `${user.password}\n` }).toString().trim();
  const lines = ['[[user]]', `name = ${JSON.stringify(user.name)}`, `role = "${user.role}"`, `password_hash = "${hash}"`];
  if (user.groups) lines.push(`groups = ${JSON.stringify(user.groups)}`);
  if (user.keys) lines.push(`keys = ${JSON.stringify(user.keys)}`);
  return lines.join('\n');
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals = 'SIGKILL') {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
