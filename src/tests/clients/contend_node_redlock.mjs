// Acquires and releases a lock repeatedly with node-redlock, and records each hold at the observer
// (src/tests/support/section_observer.rs). Arguments: ports of the servers separated by commas, port of the
// observer, lock, name of this client, number of rounds, package (`redlock` is version 5, `redlock4`
// is version 4).
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";

const require = createRequire(import.meta.url);
const [ports, observerPort, key, name, rounds, package_] = process.argv.slice(2);
const { default: Redis } = require("ioredis");
const module_ = require(package_);
const Redlock = module_.default ?? module_;

const servers = ports.split(",").map((port) => new Redis(Number(port)));
// After a failed attempt, version 5 keeps the keys that it has acquired until they expire. If it tried
// often, they would keep all clients from a quorum most of the time.
const retryDelay = package_ === "redlock" ? 200 : 20;
const redlock = new Redlock(servers, { retryCount: -1, retryDelay, retryJitter: retryDelay });
redlock.on("error", () => {}); // version 5 emits an error for every attempt on a held lock
const observer = new Redis(Number(observerPort));

await observer.rpush("ready", name);
await observer.blpop("go", 60);
for (let n = 0; n < Number(rounds); n++) {
    // Short, because of the keys that version 5 keeps.
    const lock = await (package_ === "redlock" ? redlock.acquire([key], 2_000) : redlock.lock(key, 2_000));
    if ((await observer.rpush("inside", name)) > 1) {
        await observer.rpush("overlaps", (await observer.lrange("inside", 0, -1)).join(" "));
    }
    await pause(Math.random() * 2);
    await observer.lrem("inside", 0, name);
    await observer.rpush("turns", name);
    await (package_ === "redlock" ? lock.release() : lock.unlock());
    await pause(Math.random() * 10);
}
process.exit(0);
