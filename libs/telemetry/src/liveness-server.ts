import { Worker } from 'node:worker_threads';
import type { Heartbeat } from './liveness-verdict.ts';
import type { LivenessThreadStart } from './liveness-worker.ts';

const WORKER = new URL('./liveness-worker.ts', import.meta.url);
const BEAT_MS = 1_000;
const HEAP_MIB = 16;

/** Where to listen, and what counts as alive. */
export interface LivenessOptions extends Omit<LivenessThreadStart, 'first'> {
  /** Why the process must be restarted although its event loop runs. Absent: never. */
  readonly hungReasons?: () => readonly string[];
  /** The thread ended: the port answers nothing from here on. */
  readonly onDeath: (reason: Error) => void;
}

/** The port for liveness probes. */
export interface LivenessServer {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Serves `/healthz` from a thread of its own, so that nothing that the event loop does can hold the answer up. The main thread sends a heartbeat each
 * second. The answer is 503 if none has come for `maxStallMs`, or if the last one had reasons. Rejects when the port is taken.
 */
export async function startLivenessServer(options: LivenessOptions): Promise<LivenessServer> {
  const { listenHost, listenPort, maxStallMs, hungReasons, onDeath } = options;
  const beat = (): Heartbeat => ({ hungReasons: hungReasons?.() ?? [] });
  const thread = new Worker(WORKER, {
    workerData: { listenHost, listenPort, maxStallMs, first: beat() } satisfies LivenessThreadStart,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    // Flags of a test runner or profiler are for the main thread only.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const port = await listening(thread);
  const beating = setInterval(() => thread.postMessage(beat()), BEAT_MS);
  beating.unref();
  thread.unref();
  let isStopping = false;
  thread.on('error', onDeath);
  thread.on('exit', () => {
    clearInterval(beating);
    if (!isStopping) onDeath(new Error('the thread that answers liveness probes has ended'));
  });
  return {
    port,
    stop: async () => {
      isStopping = true;
      await thread.terminate();
    },
  };
}

function listening(thread: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    thread.once('error', reject);
    thread.once('message', ({ port }: { readonly port: number }) => {
      thread.off('error', reject);
      resolve(port);
    });
  });
}
