// Lock services beside Redis for the browser tests: real servers, and real clients that hold and wait
// for locks.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect, findFreePort, stopProcess, type TestServers } from './fixtures';

/** An unprivileged user: PostgreSQL refuses to run as root. */
const UNPRIVILEGED_UID = 65_534;
const POSTGRES = '/usr/lib/postgresql/15/bin';
const JARS = '/usr/share/java';
/** The Python environment with the lock libraries that the tests use. */
const PYTHON = join(process.env.XDG_CACHE_HOME ?? join(process.env.HOME ?? '', '.cache'), 'lockkeeper/tools/lock-clients/bin/python');

/** A lock service with a group in the console's configuration. */
export interface LockService {
  /** The fields of its `[[group]]`, in TOML. */
  settings: string[];
  /** Starts a client that acquires a lock, or waits for it. */
  startClient(name: string): ChildProcess;
}

/** An etcd member, in which a process can hold several locks with one lease. */
export interface EtcdService extends LockService {
  /** Writes the keys of mutexes with these names with one lease, as a session of Go's `concurrency` does. */
  holdWithOneLease(names: string[]): Promise<void>;
}

/** A PostgreSQL server, whose clients can hold a lock while they run a statement. */
export interface PostgresService extends LockService {
  /** Starts a client that holds the lock of `startClient` in a transaction and another one in its session, and runs a statement. */
  startBusyClient(name: string): ChildProcess;
  /** The number of open connections of a client. */
  countConnections(name: string): number;
}

/** Starts one etcd member. Its clients run `etcdctl lock jobs/report`. */
export async function startEtcd(servers: TestServers): Promise<EtcdService> {
  const [port, peer] = [await findFreePort(), await findFreePort()];
  const url = `http://127.0.0.1:${port}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  const folder = servers.subfolder('etcd');
  servers.stopAtEnd(
    spawn(
      'etcd',
      ['--data-dir', folder, '--listen-client-urls', url, '--advertise-client-urls', url, '--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl, '--initial-cluster', `default=${peerUrl}`],
      { stdio: 'ignore' },
    ),
  );
  await expect.poll(() => fetch(`${url}/health`).then((response) => response.ok, () => false)).toBe(true);
  const startClient = () => servers.stopAtEnd(spawn('etcdctl', [`--endpoints=${url}`, 'lock', 'jobs/report', '--ttl', '600'], { stdio: 'ignore' }));
  const call = async (path: string, body: object) => {
    const response = await fetch(`${url}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) });
    expect(response.ok).toBe(true);
    return (await response.json()) as { ID?: string };
  };
  const holdWithOneLease = async (names: string[]) => {
    const { ID: lease } = await call('lease/grant', { TTL: 600 });
    for (const name of names) {
      const key = Buffer.from(`${name}/${BigInt(lease ?? 0).toString(16)}`).toString('base64');
      await call('kv/put', { key, lease });
    }
  };
  return { settings: ['kind = "etcd"', `endpoints = ["${url}"]`, 'prefixes = ["jobs/"]'], startClient, holdWithOneLease };
}

/** Starts one ZooKeeper server. Its clients acquire `/locks/report` with kazoo. */
export async function startZookeeper(servers: TestServers): Promise<LockService> {
  const port = await findFreePort();
  const folder = servers.subfolder('zookeeper');
  const config = [
    'tickTime=500',
    `dataDir=${folder}`,
    `clientPort=${port}`,
    'clientPortAddress=127.0.0.1',
    'admin.enableServer=false',
    'preAllocSize=64',
  ];
  writeFileSync(join(folder, 'zoo.cfg'), config.join('\n'));
  const jars = ['zookeeper.jar', 'slf4j-simple.jar'].map((jar) => join(JARS, jar));
  const java = ['-Xms16m', '-Xmx96m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', jars.join(delimiter)];
  servers.stopAtEnd(spawn('java', [...java, 'org.apache.zookeeper.server.quorum.QuorumPeerMain', join(folder, 'zoo.cfg')], { stdio: 'ignore' }));
  const script = [
    'import sys, time',
    'from kazoo.client import KazooClient',
    `client = KazooClient(hosts="127.0.0.1:${port}", timeout=10)`,
    'client.start(timeout=30)',
    'lock = client.Lock("/locks/report", sys.argv[1])',
    'lock.acquire()',
    'time.sleep(600)',
  ];
  const startClient = (name: string) => servers.stopAtEnd(spawn(PYTHON, ['-c', script.join('\n'), name], { stdio: 'ignore' }));
  return { settings: ['kind = "zookeeper"', `servers = ["127.0.0.1:${port}"]`, 'roots = ["/locks"]'], startClient };
}

/** Starts one PostgreSQL server. Its clients acquire the advisory lock 4242. */
export async function startPostgres(servers: TestServers): Promise<PostgresService> {
  const port = await findFreePort();
  const folder = servers.subfolder('postgres');
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    chownSync(folder, UNPRIVILEGED_UID, UNPRIVILEGED_UID);
    // The folder of the test is only accessible to root.
    chmodSync(dirname(folder), 0o711);
  }
  const user = isRoot ? { uid: UNPRIVILEGED_UID, gid: UNPRIVILEGED_UID } : {};
  const options = { cwd: folder, stdio: 'ignore', ...user } as const;
  execFileSync(join(POSTGRES, 'initdb'), ['-D', folder, '-U', 'lockkeeper', '--auth=trust', '--no-sync', '--locale=C', '-E', 'UTF8'], options);
  const settings = ['listen_addresses=127.0.0.1', 'fsync=off', `unix_socket_directories=${folder}`].flatMap((setting) => ['-c', setting]);
  // SIGQUIT is the immediate shutdown: it also ends the child processes.
  servers.stopAtEnd(spawn(join(POSTGRES, 'postgres'), ['-D', folder, '-p', `${port}`, ...settings], options), 'SIGQUIT');
  const url = `postgres://lockkeeper@127.0.0.1:${port}/postgres`;
  const isReady = () => {
    try {
      execFileSync(join(POSTGRES, 'pg_isready'), ['-q', '-d', url]);
      return true;
    } catch {
      return false;
    }
  };
  await expect.poll(isReady).toBe(true);
  const run = (name: string, sql: string) => {
    const client = spawn(join(POSTGRES, 'psql'), [`${url}?application_name=${name}`], { stdio: ['pipe', 'ignore', 'ignore'] });
    // The session keeps its locks until its input ends.
    client.stdin.write(`${sql}\n`);
    client.stdin.on('error', () => {});
    return servers.stopAtEnd(client);
  };
  const startClient = (name: string) => run(name, 'SELECT pg_advisory_lock(4242);');
  const startBusyClient = (name: string) =>
    run(name, 'SELECT pg_advisory_lock(7); BEGIN; SELECT pg_advisory_xact_lock(4242); SELECT pg_sleep(600);');
  const countConnections = (name: string) => {
    const sql = `SELECT count(*) FROM pg_stat_activity WHERE application_name = '${name}'`;
    return Number(execFileSync(join(POSTGRES, 'psql'), ['-At', '-c', sql, url], { encoding: 'utf8' }));
  };
  return { startBusyClient, countConnections, settings: ['kind = "postgres"', `url = "${url}"`, 'advisory_names = [{ key = 4242, name = "report" }]'], startClient };
}
