// BullMQ: its worker and producer; asked like the Python peers (`handler/work.py`).
import { randomBytes } from "node:crypto";
import { openSync, readFileSync, writeSync } from "node:fs";
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";

const safe = process.env.PROOF_MODE === "safe";
const port = Number(process.env.PROOF_PORT);
const lease = Number(process.env.PROOF_LEASE ?? 5) * 1000;
const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
const trace = openSync(process.env.PROOF_TRACE ?? "/dev/null", "a");
// An id is known again while its job is kept.
const ended = { removeOnComplete: { age: 3600 }, removeOnFail: false, attempts: 5 };

const write = (line) => writeSync(trace, JSON.stringify({ ...line, pid: process.pid, at: Number(process.hrtime.bigint()) / 1e9 }) + "\n");

let done = 0;
let told = 0;
async function handle(job) {
  if (job.name === "noop") {
    done += 1;
    const now = performance.now();
    if (done % 50 === 1 || now > told + 50) {
      told = now;
      write({ done });
    }
    return;
  }
  const { id, kind, seconds } = job.data;
  const line = { id, run: randomBytes(8).toString("hex"), session: process.pid };
  write({ kind: "start", ...line });
  if (kind === "poison") process.kill(process.pid, "SIGKILL");
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  write({ kind: "end", ...line });
}

async function fill(queue, count) {
  for (let first = 0; first < count; first += 1000) {
    const length = Math.min(1000, count - first);
    await queue.addBulk(Array.from({ length }, () => ({ name: "noop", data: { n: 1 }, opts: { removeOnComplete: true } })));
  }
}

async function send(queue, messages) {
  await queue.addBulk(messages.map(([id, kind, seconds]) => ({ name: "work", data: { id, kind, seconds }, opts: { ...ended, jobId: id } })));
}

async function malform() {
  const redis = new Redis({ port });
  for (const [number, entry] of ["{not json", Buffer.from([0xff, 0])].entries()) {
    await redis.hset(`bull:proof:bad-${number}`, "name", "work", "data", entry, "opts", "{", "timestamp", "x");
    await redis.lpush("bull:proof:wait", `bad-${number}`);
  }
  await redis.lpush("bull:proof:wait", "never-was");
  await redis.quit();
}

const [, , asked, count] = process.argv;
if (asked === "worker") {
  const timing = safe ? { lockDuration: lease, stalledInterval: lease, maxStalledCount: 5 } : {};
  const worker = new Worker("proof", handle, { connection, concurrency: Number(process.env.PROOF_SLOTS), ...timing });
  worker.on("error", (error) => console.error(error.message));
} else {
  const queue = new Queue("proof", { connection });
  const began = process.hrtime.bigint();
  if (asked === "fill") await fill(queue, Number(count));
  else if (asked === "send") await send(queue, JSON.parse(readFileSync(0, "utf8")));
  else await malform();
  console.log(JSON.stringify({ seconds: Number(process.hrtime.bigint() - began) / 1e9 }));
  await queue.close();
}
