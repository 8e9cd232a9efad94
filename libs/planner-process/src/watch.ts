/**
 * A thread beside the search, which is a busy loop and sees nothing: ends the process when it holds more memory than it may (the bound of V8's heap
 * counts no arrays of numbers, and is passed while the heap is collected), and when its parent has gone. Between two questions nothing grows, and the
 * process itself hears of its parent's end.
 */
import { parentPort, workerData } from 'node:worker_threads';

/** What the thread is given. */
export interface Watched {
  readonly parentPid: number;
  /** Most resident memory of the process; Infinity: no bound. */
  readonly mostMib: number;
}

const MIB = 2 ** 20;
/** What grows a gigabyte a second is seen 50 MiB too late. */
const CHECK_INTERVAL_MS = 50;

const { parentPid, mostMib } = workerData as Watched;
let looks: NodeJS.Timeout | undefined;

parentPort?.on('message', (search: 'begins' | 'ends') => {
  clearInterval(looks);
  if (search === 'begins') looks = setInterval(look, CHECK_INTERVAL_MS);
});

function look(): void {
  if (process.ppid === parentPid && process.memoryUsage.rss() <= mostMib * MIB) return;
  process.kill(process.pid, 'SIGKILL');
}
