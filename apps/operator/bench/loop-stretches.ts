/**
 * Loaded into the operator before its program (`--import`): appends how long the event loop was held at a time, in ms of CPU time of its thread, to the
 * file that {@link STRETCHES_FILE} names. Time in which another process of a busy machine had the core does not count. Each figure may be too large by
 * what the loop does between two ticks.
 */
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Name of the variable; shared with the program that reads the file. */
export const STRETCHES_FILE = 'COXSWAIN_BENCH_STRETCHES_FILE';

const TICK_MS = 5;
/** Shorter stretches are not written. */
const FROM_MS = 15;

const file = process.env[STRETCHES_FILE];
// Threads inherit what is loaded before the program.
if (isMainThread && file !== undefined) {
  let lastMs = cpuMs();
  setInterval(() => {
    const heldMs = cpuMs() - lastMs;
    if (heldMs >= FROM_MS) appendFileSync(file, `${heldMs.toFixed(1)}\n`);
    lastMs = cpuMs();
  }, TICK_MS).unref();
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
