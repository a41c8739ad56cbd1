// Does with node-redisson what it is told, a line each, and says what came of it, whichever is first. Argument: the server's port.
//   field K             the hash field that it writes      try K LEASE_MS    one try: true or false
//   lock K LEASE_MS     waits until it has it              unlock K          ok, or the error's name
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { Redisson, TimeUnit } = require("node-redisson");

const redisson = new Redisson({ redis: { options: { host: "127.0.0.1", port: Number(process.argv[2]) } } });
const locks = new Map();
const lockOf = (name) => locks.get(name) ?? locks.set(name, redisson.getLock(name)).get(name);

async function act(verb, name, lease) {
  const lock = lockOf(name);
  switch (verb) {
    case "field":
      return lock.getClientName(lock.clientId);
    case "try":
      return lock.tryLock(0n, BigInt(lease), TimeUnit.MILLISECONDS);
    case "lock":
      await lock.lock(BigInt(lease), TimeUnit.MILLISECONDS);
      return "locked";
    case "unlock":
      return lock.unlock().then(
        () => "ok",
        (error) => error.constructor.name,
      );
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  act(...line.split(" ")).then((came) => console.log(String(came)));
}
process.exit(0);
