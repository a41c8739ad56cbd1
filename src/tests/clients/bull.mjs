// Has a worker take a job with BullMQ or Bull, prints the lock's name and its token, and leaves while the job runs.
// Arguments: the server's port, the package (bullmq or bull).
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const [port, name] = process.argv.slice(2);
const connection = { host: "127.0.0.1", port: Number(port) };
let take;
const job = new Promise((resolve) => (take = resolve));
const never = new Promise(() => {});

if (name === "bullmq") {
  const { Queue, Worker } = require("bullmq");
  await new Queue("mail", { connection }).add("welcome", { to: 7 });
  new Worker("mail", (job, token) => (take([job.id, token]), never), { connection });
} else {
  const Queue = require("bull");
  const queue = new Queue("mail", { redis: connection });
  await queue.add({ to: 7 });
  queue.process((job) => (take([job.id, queue.token]), never));
}
const [id, token] = await job;
console.log(`bull:mail:${id}:lock`, token);
process.exit(0);
