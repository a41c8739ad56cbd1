// Acquires and releases a lock repeatedly with node-redisson. While it holds the lock, it
// increments a counter and prints its value: the number of current holders. Arguments: port of the
// server, lock, number of rounds, lease in milliseconds.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { Redisson, TimeUnit } = require("node-redisson");

const [port, name, rounds, lease] = process.argv.slice(2);
const redisson = new Redisson({ redis: { options: { host: "127.0.0.1", port: Number(port) } } });
const lock = redisson.getLock(name);
for (let n = 0; n < Number(rounds); n++) {
  await lock.lock(BigInt(lease), TimeUnit.MILLISECONDS);
  console.log(await redisson.redis.incr("inside"));
  await redisson.redis.decr("inside");
  await lock.unlock();
}
process.exit(0);
