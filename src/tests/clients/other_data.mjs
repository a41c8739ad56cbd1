// Writes what sessions, caches, queues and rate limiters store, and prints the number of keys of
// each shape as JSON. A shape is a library with its options and the kind of the value. No library
// holds a lock at the end. Argument: port of the server.
import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { default: KeyvRedis } = await import("@keyv/redis");
const { default: Keyv } = await import("keyv");
const { default: RedisStore } = await import("connect-redis");
const { Queue: BullQueue, FlowProducer, Worker } = require("bullmq");
const Bull = require("bull");
const Redis = require("ioredis");
const limiters = require("rate-limiter-flexible");
const session = require("express-session");

const port = Number(process.argv[2]);
const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
const client = new Redis(connection);
const counts = {};
const perKind = 45;
const perShape = 140;
// The console does not list possible locks if many keys share a prefix, so some shapes have few.
const fewOrMany = () => (Object.keys(counts).length % 3 ? perKind : 3);
// Seconds; none is shorter than the test.
const ttls = [240, 300, 900, 3600, 86_400, 1_209_600, undefined];
const ttl = (n) => ttls[n % ttls.length];

/** Calls `write` with numbers, and counts the keys that it adds. */
async function shape(name, write, count = perShape) {
  const before = await client.dbsize();
  for (let n = 0; n < count; n += 20) {
    const batch = Array.from({ length: Math.min(20, count - n) }, (_, i) => write(n + i));
    await Promise.all(batch);
  }
  counts[name] = (await client.dbsize()) - before;
}

const base64url = (value) => Buffer.from(value).toString("base64url");
const jwt = (n) => {
  const body = `${base64url('{"alg":"HS256"}')}.${base64url(JSON.stringify({ sub: n }))}`;
  return `${body}.${createHmac("sha256", "key").update(body).digest("base64url")}`;
};

// Names and values of cache entries.
const values = {
  code: ["otp:", (n) => String(100_000 + n * 61)],
  count: ["views:", (n) => n * 37],
  UUID: ["device:", () => randomUUID()],
  MD5: ["etag:", () => randomBytes(16).toString("hex")],
  "16 bytes in base64": ["csrf:", () => randomBytes(16).toString("base64")],
  "16 bytes in base64url": ["reset-token:", () => randomBytes(16).toString("base64url")],
  "32 bytes in base64": ["nonce:", () => randomBytes(32).toString("base64")],
  JWT: ["jwt:", jwt],
  page: ["page:", (n) => `<p>${n}</p>`.repeat(20)],
  object: ["lease:", (n) => ({ id: n, name: "Ada", roles: ["admin"] })],
  rows: ["door-lock:", (n) => [{ id: n }, { id: n + 1 }]],
};
const isText = (kind) => !["count", "object", "rows"].includes(kind);

// Keyv, which cache-manager uses too: in its JSON envelope, and with texts as they are.
for (const [name, options] of [
  ["Keyv", {}],
  ["Keyv without a prefix", { namespace: undefined, useKeyPrefix: false }],
  ["Keyv texts", { namespace: "texts", serialize: ({ value }) => value, deserialize: (value) => ({ value }) }],
]) {
  const keyv = new Keyv({ store: new KeyvRedis(`redis://127.0.0.1:${port}`), ...options });
  for (const [kind, [prefix, value]] of Object.entries(values)) {
    if (name === "Keyv texts" && !isText(kind)) continue;
    await shape(
      `${name}: ${kind}`,
      (n) => keyv.set(`${prefix}${n}`, value(n), ttl(n) && ttl(n) * 1000),
      fewOrMany(),
    );
  }
  await keyv.disconnect();
}

// express-session: connect-redis with its prefix and others, with JSON and with encoded data.
const encoded = { stringify: (data) => base64url(JSON.stringify(data)), parse: JSON.parse };
for (const [name, options] of [
  ["connect-redis", { ttl: 300 }],
  ["connect-redis with a prefix", { prefix: "shop:session:", ttl: 86_400 }],
  ["connect-redis encoded", { prefix: "app:sess:", serializer: encoded }],
  ["connect-redis forever", { prefix: "kept:session:", disableTTL: true }],
]) {
  const store = new RedisStore({ client, ...options });
  const handle = session({
    store,
    secret: "test",
    resave: false,
    saveUninitialized: true,
    cookie: { httpOnly: true },
  });
  const write = (n) =>
    new Promise((resolve, reject) => {
      const request = { headers: {}, url: "/", originalUrl: "/", connection: {} };
      handle(request, {}, () => {
        Object.assign(request.session, { user: n, csrf: randomUUID(), cart: [...Array(n % 4).keys()] });
        request.session.save((error) => (error ? reject(error) : resolve()));
      });
    });
  await shape(name, write, perKind);
}

// rate-limiter-flexible.
const { BurstyRateLimiter, RateLimiterRedis } = limiters;
const limiter = (options) => new RateLimiterRedis({ storeClient: client, ...options });
for (const [name, options] of [
  ["per second", { points: 10, duration: 300 }],
  ["per day", { keyPrefix: "login_fail_ip_per_day", points: 100, duration: 86_400, blockDuration: 86_400 }],
  ["forever", { keyPrefix: "quota", points: 100, duration: 0 }],
  ["blocked", { keyPrefix: "login", points: 1, duration: 300, blockDuration: 3600 }],
]) {
  const rates = limiter(options);
  for (const [kind, user] of [
    ["address", (n) => `10.0.${n}.7`],
    ["user", () => randomUUID()],
  ]) {
    const write = async (n) => {
      const name = user(n);
      await rates.consume(name);
      await rates.consume(name).catch(() => {});
    };
    await shape(`rate-limiter-flexible ${name} by ${kind}`, write, perKind);
  }
}
const burst = new BurstyRateLimiter(
  limiter({ keyPrefix: "steady", points: 2, duration: 300 }),
  limiter({ keyPrefix: "burst", points: 5, duration: 600 }),
);
await shape("rate-limiter-flexible bursts", async (n) => {
  for (let i = 0; i < 3; i += 1) await burst.consume(`10.0.${n}.7`);
});

// BullMQ: jobs that wait, are delayed, repeat, have parents, are done or failed. The workers have
// stopped at the end, so that no job is locked.
const queue = new BullQueue("mail", { connection, prefix: "bull" });
await shape("BullMQ jobs", (n) => queue.add("welcome", { to: n, token: randomUUID() }));
await shape("BullMQ jobs with ids", (n) =>
  queue.add("welcome", { to: n }, { jobId: randomUUID(), priority: 1 + (n % 3) }),
);
await shape("BullMQ delayed jobs", (n) => queue.add("welcome", { to: n }, { delay: 3_600_000 + n }));
await shape("BullMQ schedulers", (n) => queue.upsertJobScheduler(`digest-${n}`, { every: 3_600_000 }), perKind);
await shape("BullMQ deduplicated jobs", (n) =>
  queue.add("welcome", { to: n }, { jobId: randomUUID(), deduplication: { id: `user-${n}`, ttl: 300_000 } }),
);
const flows = new FlowProducer({ connection });
await shape(
  "BullMQ flows",
  (n) => {
    const children = [{ name: "child", queueName: "part", data: { n } }];
    return flows.add({ name: "parent", queueName: "flow", data: { n }, children });
  },
  perKind,
);
await queue.setGlobalRateLimit(100, 300_000);
for (const [name, process] of [
  ["completed", async (job) => (await job.log("sent"), { sent: job.id })],
  ["failed", async () => Promise.reject(new Error("no such user"))],
]) {
  await shape(`BullMQ ${name} jobs`, (n) => new BullQueue(name, { connection }).add("welcome", { to: n }), 20);
  const worker = new Worker(name, process, {
    connection,
    concurrency: 20,
    metrics: { maxDataPoints: 60 },
    limiter: { max: 100, duration: 300_000 },
  });
  const drained = once(worker, "drained");
  await shape(`BullMQ ${name}, by the worker`, () => drained, 1);
  await worker.close();
}

// Bull, its predecessor.
const bull = new Bull("resize", { redis: connection, prefix: "shop" });
await shape("Bull jobs", (n) => bull.add({ image: randomUUID(), width: n }));
await shape("Bull delayed jobs", (n) => bull.add({ width: n }, { delay: 3_600_000 + n, jobId: randomUUID() }));
await shape(
  "Bull repeated jobs",
  (n) => bull.add({ width: n }, { jobId: `r${n}`, repeat: { every: 3_600_000 } }),
  perKind,
);
const done = new Bull("done", { redis: connection, prefix: "shop" });
await shape("Bull finished jobs", (n) => done.add({ width: n }));
const drained = once(done, "drained");
done.process(20, (job) => (job.data.width % 4 ? Promise.resolve({ ok: true }) : Promise.reject(new Error("no image"))));
await shape("Bull worker", () => drained, 1);
await done.close();

// Data that expires soon is written last.
const soon = new Keyv({ store: new KeyvRedis(`redis://127.0.0.1:${port}`), namespace: "soon" });
await shape("Keyv, 30 s", (n) => soon.set(`user:${n}`, { id: n, token: randomUUID() }, 30_000));
const rates = limiter({ keyPrefix: "api", points: 10, duration: 30 });
await shape("rate-limiter-flexible, 30 s", (n) => rates.consume(`10.0.${n}.8`));

console.log(JSON.stringify(counts));
process.exit(0);
