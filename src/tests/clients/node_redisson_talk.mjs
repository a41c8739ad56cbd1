// Runs commands from standard input with node-redisson, one per line, and prints each result when
// it is known. Argument: port of the server.
//   field K            prints the hash field of this client     try K LEASE_MS   one attempt: true or false
//   lock K LEASE_MS    waits until the lock is acquired         unlock K         ok, or the name of the error
//   listeners CHANNEL  how many listeners it has for a channel
import { once } from "node:events";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { Redisson, TimeUnit } = require("node-redisson");

const redisson = new Redisson({ redis: { options: { host: "127.0.0.1", port: Number(process.argv[2]) } } });
const locks = new Map();
const lockOf = (name) => locks.get(name) ?? locks.set(name, redisson.getLock(name)).get(name);

async function run(command, name, lease) {
  const lock = lockOf(name);
  switch (command) {
    case "field":
      return lock.getClientName(lock.clientId);
    case "try":
      return lock.tryLock(0n, BigInt(lease), TimeUnit.MILLISECONDS);
    case "lock":
      await lock.lock(BigInt(lease), TimeUnit.MILLISECONDS);
      return "locked";
    case "listeners":
      return redisson.commandExecutor.eventEmitter.listenerCount(name);
    case "unlock":
      return lock.unlock().then(
        () => "ok",
        (error) => error.constructor.name,
      );
  }
}

// ioredis can lose a subscription that is requested before the connection is ready.
const { subscribeRedis } = redisson.commandExecutor;
if (subscribeRedis.status !== "ready") await once(subscribeRedis, "ready");

for await (const line of createInterface({ input: process.stdin })) {
  run(...line.split(" ")).then((result) => console.log(String(result)));
}
process.exit(0);
