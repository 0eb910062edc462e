// A worker over HTTP in Node, without dependencies: runs a function for each message, several at once.
//     TENURE=http://127.0.0.1:8383 TOKEN=tnr_… node worker.mjs acme-tasks ./tasks.mjs
// tasks.mjs exports a function for each task: `export async function resize(payload, { signal, progress }) { … }`. What it
// returns is the result. If it throws, the message is tried again; an error with `permanent: true` is never tried again.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { resolve } from "node:path";

const [queue, file] = process.argv.slice(2);
const tasks = await import(resolve(file));
const slots = Number(process.env.SLOTS ?? 10), lease = Number(process.env.LEASE ?? 30);
const consumer = `${hostname()}-${process.pid}`.replace(/[^\w.-]/g, "-").slice(-64).replace(/^\W+/, "");
const headers = { "Content-Type": "application/json", ...(process.env.TOKEN && { Authorization: `Bearer ${process.env.TOKEN}` }) };
const running = new Map(); // token → { stop, progress }
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
let isStopping = false;

/** Posts until the server has answered. What it refuses is an error. */
async function post(route, body, signal) {
  for (;;) {
    try {
      const answer = await fetch(`${process.env.TENURE ?? "http://127.0.0.1:8383"}/api/v1/${route}`, { method: "POST", headers, body: JSON.stringify(body), signal });
      if (answer.ok) return await answer.json();
      const problem = await answer.json();
      if (answer.status < 500 && answer.status !== 429) throw Object.assign(new Error(problem.detail), { permanent: true });
      console.error(`${route}: ${problem.detail}`);
    } catch (error) {
      if (error.permanent || signal?.aborted) throw error;
      console.error(`${route}: ${error.cause?.message ?? error.message}`);
    }
    await pause(1);
  }
}

/** Says what became of one message, until the store has taken it. */
async function settle(verb, entry) {
  for (;;) {
    const { leases: [told] } = await post(`leases/${verb}`, { leases: [entry] });
    if (told.outcome !== "failed") return told;
    await pause(1);
  }
}

async function work(message) {
  const { token, task, payload } = message, stop = new AbortController(), mine = { stop };
  running.set(token, mine);
  try {
    if (!Object.hasOwn(tasks, task)) return void (await settle("give-back", { token, delay_seconds: 30, reason: `no task ${task} here` }));
    const progress = (fraction, note = "") => { mine.progress = { fraction, note }; };
    const result = await tasks[task](payload, { message, signal: stop.signal, progress });
    await settle("ack", { token, result: result ?? null });
  } catch (error) {
    if (stop.signal.aborted) return; // lost or cancelled: nothing may be said of it
    const said = { token, reason: String(error.message).slice(0, 4000), error: error.name, traceback: error.stack };
    await settle(error.permanent ? "dead-letter" : "nack", said);
  } finally {
    running.delete(token);
  }
}

/** The heartbeat: one request for all that runs. */
async function beat() {
  for (;;) {
    await pause(lease / 3);
    if (!running.size) continue;
    const entries = [...running].map(([token, { progress }]) => ({ token, progress }));
    const { leases } = await post("leases/touch", { leases: entries });
    leases.forEach(({ outcome }, place) => {
      if (outcome === "lost" || outcome === "cancelled") running.get(entries[place].token)?.stop.abort(new Error(outcome));
    });
  }
}

const polling = new AbortController();
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => { isStopping = true; polling.abort(); });
beat();
while (!isStopping) {
  const want = slots - running.size;
  if (want < 1) { await pause(0.05); continue; }
  const ask = { queues: [queue], want, wait: 20, lease_seconds: lease, consumer, request_id: randomUUID() };
  const { messages } = await post("lease", ask, polling.signal).catch((error) => { if (isStopping) return { messages: [] }; throw error; });
  messages.forEach(work);
}
while (running.size) await pause(0.05); // what runs comes to its end
process.exit(0);
