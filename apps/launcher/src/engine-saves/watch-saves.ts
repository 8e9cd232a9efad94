/** The program of the process that watches the saves of an engine. */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { HashBudget } from './hash-budget.ts';
import { SaveScanner, type ScanResult, type WatchedSaves } from './save-scanner.ts';

/** The subcommand that watches. Only a launcher calls it, so the help does not list it. */
export const WATCH_SAVES = 'watch-saves';
/** Time between scans. */
const POLL_MS = 2_000;
const PROGRESS_MS = 100;

/** A line to the watching process: the ranks are gone, scan once more, and hash for `hashMs` at most. */
export interface LastScan {
  readonly hashMs: number;
}

/** A line from the watching process. An empty line shows that the file system answers. */
export type WatchLine = ScanResult | { readonly kind: 'done' };

/** Scans until the ranks are gone, and once more. Exits at once if the launcher is gone. */
export async function watchSaves(
  question: string,
  { input, write }: { readonly input: Readable; readonly write: (text: string) => Promise<void> },
): Promise<void> {
  const over = new AbortController();
  let budget = new HashBudget();
  let last: LastScan | undefined;
  const lines = createInterface({ input });
  lines.on('line', (line) => {
    last = JSON.parse(line) as LastScan;
    budget.cutTo(last.hashMs);
    over.abort();
  });
  // The launcher is gone.
  lines.on('close', () => process.exit(0));
  const scanner = new SaveScanner(JSON.parse(question) as WatchedSaves, {
    budget: () => (budget = new HashBudget(last === undefined ? {} : { mostMs: last.hashMs })),
    onAnswer: atMostEvery(PROGRESS_MS, () => void write('\n')),
  });
  const send = async (results: readonly WatchLine[]): Promise<void> => {
    for (const result of results) await write(`${JSON.stringify(result)}\n`);
  };
  while (!over.signal.aborted) {
    await send(await scanner.scan({ isLast: false }));
    await delay(POLL_MS, undefined, { signal: over.signal }).catch(() => undefined);
  }
  await send(await scanner.scan({ isLast: true }));
  await send([{ kind: 'done' }]);
  lines.removeAllListeners('close');
  lines.close();
}

function atMostEvery(ms: number, act: () => void): () => void {
  let lastMs = -Infinity;
  return () => {
    if (performance.now() - lastMs < ms) return;
    lastMs = performance.now();
    act();
  };
}
