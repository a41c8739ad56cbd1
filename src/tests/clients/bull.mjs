// Starts a worker of BullMQ or Bull that runs a job, prints the key and token of the job's lock,
// and exits while the job runs. Arguments: port of the server, package (bullmq or bull).
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const [port, name] = process.argv.slice(2);
const connection = { host: "127.0.0.1", port: Number(port) };
let started;
const job = new Promise((resolve) => (started = resolve));
const never = new Promise(() => {});

if (name === "bullmq") {
  const { Queue, Worker } = require("bullmq");
  await new Queue("mail", { connection }).add("welcome", { to: 7 });
  new Worker("mail", (job, token) => (started([job.id, token]), never), { connection });
} else {
  const Queue = require("bull");
  const queue = new Queue("mail", { redis: connection });
  await queue.add({ to: 7 });
  queue.process((job) => (started([job.id, queue.token]), never));
}
const [id, token] = await job;
console.log(`bull:mail:${id}:lock`, token);
process.exit(0);
