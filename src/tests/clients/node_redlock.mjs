// Takes a lock on two keys with node-redlock, prints each name and token, and leaves it there.
// Arguments: the server's port, the package (redlock is version 5, redlock4 is version 4).
import { createRequire } from "node:module";

// version 5 ships its ES module without saying that it is one; require() finds the other build
const require = createRequire(import.meta.url);
const [port, name] = process.argv.slice(2);
const { default: Redis } = require("ioredis");
const package_ = require(name);
const Redlock = package_.default ?? package_;

const redis = new Redis(Number(port));
const redlock = new Redlock([redis]);
const keys = ["{a}res1", "{a}res2"];
const take = (redlock.acquire ?? redlock.lock).bind(redlock);
const lock = await take(keys, 30_000);
for (const key of keys) console.log(key, lock.value);
process.exit(0);
