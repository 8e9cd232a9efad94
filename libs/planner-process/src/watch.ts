/**
 * A thread that watches the search, which is a busy loop. It kills the process if its memory exceeds the limit or if its parent has ended. V8's own limit counts
 * no typed arrays and can be exceeded during garbage collection. Between questions the process itself observes the end of its parent.
 */
import { parentPort, workerData } from 'node:worker_threads';

/** Inputs of the thread. */
export interface Watched {
  readonly parentPid: number;
  /** Limit of resident memory in MiB; Infinity: no limit. */
  readonly mostMib: number;
}

const MIB = 2 ** 20;
/** Memory is checked every 50 ms, so a process that grows by 1 GB/s can exceed its limit by 50 MiB. */
const CHECK_INTERVAL_MS = 50;

const { parentPid, mostMib } = workerData as Watched;
let checks: NodeJS.Timeout | undefined;

parentPort?.on('message', (search: 'begins' | 'ends') => {
  clearInterval(checks);
  if (search === 'begins') checks = setInterval(checkMemory, CHECK_INTERVAL_MS);
});

function checkMemory(): void {
  if (process.ppid === parentPid && process.memoryUsage.rss() <= mostMib * MIB) return;
  process.kill(process.pid, 'SIGKILL');
}
