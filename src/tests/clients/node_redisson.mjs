// Acquires a reentrant lock twice with node-redisson, and prints its key and hash field. Argument:
// port of the server.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { Redisson } = require("node-redisson");

const redisson = new Redisson({ redis: { options: { host: "127.0.0.1", port: Number(process.argv[2]) } } });
const lock = redisson.getLock("order:42");
await lock.lock();
await lock.lock();
console.log("order:42", lock.getClientName(lock.clientId));
process.exit(0);
