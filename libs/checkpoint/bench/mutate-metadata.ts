/**
 * `npm run campaign -- mutate-metadata [SAVES [SEED]]`: verifies saves of every fixture with one file changed. The exit code is 1 if one had no
 * verdict, took too long or made memory grow. The last line is one JSON object.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { MutatedSaves } from './mutated-saves.ts';

/** A save that takes longer has made the reader hang. */
const MAX_MS = 2000;
const MAX_RSS_BYTES = 512 << 20;
/** Saves between two reports of the thread that verifies. */
const REPORT_EVERY = 100;
/** Without a report for so long, the thread hangs: many times what {@link REPORT_EVERY} saves take. */
const SILENCE_MS = 60_000;

interface Report {
  readonly done: number;
  readonly slowestMs: number;
  readonly slowest: string;
  readonly verdicts: Readonly<Record<string, number>>;
  /** Why a save was not verified. */
  readonly error?: string;
}

/** Resolves with true when every save had a verdict, each soon, and memory stayed bounded. */
async function run([count = '100000', first = '0']: readonly string[]): Promise<boolean> {
  const [saves, seed] = [Number(count), Number(first)];
  if (!(saves > 0) || !Number.isSafeInteger(seed)) throw new Error('the arguments are a number of saves and a seed');
  const startMs = performance.now();
  const last = await supervised(saves, seed);
  const rssBytes = process.resourceUsage().maxRSS * 1024;
  const isWell =
    last?.error === undefined && last?.done === saves && last.slowestMs < MAX_MS && rssBytes < MAX_RSS_BYTES;
  const seconds = (performance.now() - startMs) / 1e3;
  process.stdout.write(`${JSON.stringify({ ...last, seconds, maxRssBytes: rssBytes, isWell })}\n`);
  return isWell;
}

/** The last report of the thread that verifies; undefined if there was none. A thread that hangs is ended. */
async function supervised(saves: number, seed: number): Promise<Report | undefined> {
  const worker = new Worker(import.meta.filename, { workerData: { saves, seed } });
  let last: Report | undefined;
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const hang = setTimeout(
    () => reject(new Error(`a save after ${String(seed + (last?.done ?? 0))} hangs`)),
    SILENCE_MS,
  );
  worker.on('message', (report: Report) => {
    last = report;
    hang.refresh();
  });
  worker.on('error', reject);
  worker.on('exit', () => resolve(undefined));
  try {
    await promise;
  } finally {
    clearTimeout(hang);
    await worker.terminate();
  }
  return last;
}

/** Verifies one save after the other, and reports. */
function verifyAll(saves: number, firstSeed: number): void {
  const mutated = new MutatedSaves();
  const verdicts: Record<string, number> = {};
  let slowestMs = 0;
  let slowest = '';
  for (let done = 1; done <= saves; done++) {
    const seed = firstSeed + done - 1;
    const startMs = performance.now();
    try {
      const { what, look } = mutated.verify(seed);
      verdicts[look.verdict] = (verdicts[look.verdict] ?? 0) + 1;
      const tookMs = performance.now() - startMs;
      if (tookMs > slowestMs) [slowestMs, slowest] = [tookMs, `seed ${String(seed)}: ${what}`];
    } catch (error) {
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      parentPort?.postMessage({ done, slowestMs, slowest, verdicts, error: `seed ${String(seed)}: ${reason}` });
      return;
    }
    if (done % REPORT_EVERY === 0 || done === saves)
      parentPort?.postMessage({ done, slowestMs, slowest, verdicts } satisfies Report);
  }
}

if (isMainThread) process.exitCode = (await run(process.argv.slice(2))) ? 0 : 1;
else {
  const { saves, seed } = workerData as { readonly saves: number; readonly seed: number };
  verifyAll(saves, seed);
}
