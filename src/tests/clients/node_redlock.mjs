// Acquires a lock on two keys with node-redlock and prints their names and tokens. Arguments: port
// of the server, package (`redlock` is version 5, `redlock4` is version 4).
import { createRequire } from "node:module";

// The ES module of version 5 is not declared as one; require() finds the CommonJS build.
const require = createRequire(import.meta.url);
const [port, name] = process.argv.slice(2);
const { default: Redis } = require("ioredis");
const package_ = require(name);
const Redlock = package_.default ?? package_;

const redis = new Redis(Number(port));
const redlock = new Redlock([redis]);
const keys = ["{a}res1", "{a}res2"];
const acquire = (redlock.acquire ?? redlock.lock).bind(redlock);
const lock = await acquire(keys, 300_000);
for (const key of keys) console.log(key, lock.value);
process.exit(0);
