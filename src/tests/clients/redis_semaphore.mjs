// Acquires a mutex, one permit and two permits at once with redis-semaphore, and prints their keys
// and identifiers. Argument: port of the server.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { default: Redis } = require("ioredis");
const { Mutex, MultiSemaphore, Semaphore } = require("redis-semaphore");

const redis = new Redis(Number(process.argv[2]));
const mutex = new Mutex(redis, "report");
const one = new Semaphore(redis, "gpu", 3);
const two = new MultiSemaphore(redis, "gpu", 3, 2);
for (const lock of [mutex, one, two]) await lock.acquire();
console.log("mutex:report", mutex.identifier);
console.log("semaphore:gpu", [one, two].map((lock) => lock.identifier).join(","));
process.exit(0);
