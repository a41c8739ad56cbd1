// Takes a lock with node-redlock again and again, and shows itself to the witness (src/tests/support/witness.rs).
// Arguments: the servers' ports with commas, the witness's port, the lock, this client's name, how often, the package
// (redlock is version 5, redlock4 is version 4).
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";

const require = createRequire(import.meta.url);
const [ports, witnessPort, key, name, rounds, package_] = process.argv.slice(2);
const { default: Redis } = require("ioredis");
const module_ = require(package_);
const Redlock = module_.default ?? module_;

const servers = ports.split(",").map((port) => new Redis(Number(port)));
const redlock = new Redlock(servers, { retryCount: -1, retryDelay: 20, retryJitter: 20 });
redlock.on("error", () => {}); // version 5 tells every time that the lock is taken
const witness = new Redis(Number(witnessPort));

await witness.rpush("ready", name);
await witness.blpop("go", 60);
for (let n = 0; n < Number(rounds); n++) {
    // Version 5 leaves what a failed try took until its lease ends: a short one.
    const lock = await (package_ === "redlock" ? redlock.acquire([key], 2_000) : redlock.lock(key, 2_000));
    if ((await witness.rpush("inside", name)) > 1) {
        await witness.rpush("overlaps", (await witness.lrange("inside", 0, -1)).join(" "));
    }
    await pause(Math.random() * 2);
    await witness.lrem("inside", 0, name);
    await witness.rpush("turns", name);
    await (package_ === "redlock" ? lock.release() : lock.unlock());
    await pause(Math.random() * 10);
}
process.exit(0);
