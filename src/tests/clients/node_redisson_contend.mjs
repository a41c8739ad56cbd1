// Takes one lock again and again with node-redisson, and counts itself in and out on another key while it has it.
// Arguments: the server's port, the lock, how often, the lease in milliseconds. Prints how many it met inside, each time.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { Redisson, TimeUnit } = require("node-redisson");

const [port, name, times, lease] = process.argv.slice(2);
const redisson = new Redisson({ redis: { options: { host: "127.0.0.1", port: Number(port) } } });
const lock = redisson.getLock(name);
for (let n = 0; n < Number(times); n++) {
  await lock.lock(BigInt(lease), TimeUnit.MILLISECONDS);
  console.log(await redisson.redis.incr("witness"));
  await redisson.redis.decr("witness");
  await lock.unlock();
}
process.exit(0);
