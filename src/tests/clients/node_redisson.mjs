// Takes a lock twice with node-redisson, prints its name and the hash field, and leaves it there.
// Argument: the server's port.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { Redisson } = require("node-redisson");

const redisson = new Redisson({ redis: { options: { host: "127.0.0.1", port: Number(process.argv[2]) } } });
const lock = redisson.getLock("order:42");
await lock.lock();
await lock.lock();
console.log("order:42", lock.getClientName(lock.clientId));
process.exit(0);
