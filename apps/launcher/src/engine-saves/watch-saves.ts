/** What the process does that watches the saves of an engine. */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { HashBudget } from './hash-budget.ts';
import { SaveScanner, type ScanResult, type WatchedSaves } from './save-scanner.ts';

/** The subcommand that watches; not in the help, since nobody but a launcher asks it. */
export const WATCH_SAVES = 'watch-saves';
/** Between looks. */
const POLL_MS = 2_000;
const PROGRESS_MS = 100;

/** A line to the process that watches: the ranks are gone, look once more, and read for so long at most. */
export interface LastScan {
  readonly hashMs: number;
}

/** A line from it. An empty one says that the file system answers. */
export type WatchLine = ScanResult | { readonly kind: 'done' };

/** Looks until it is told that the ranks are gone, and once more; ends at once where whoever asked is gone. */
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
  // Nobody is left to be told.
  lines.on('close', () => process.exit(0));
  const scanner = new SaveScanner(JSON.parse(question) as WatchedSaves, {
    budget: () => (budget = new HashBudget(last === undefined ? {} : { mostMs: last.hashMs })),
    onAnswer: atMostEvery(PROGRESS_MS, () => void write('\n')),
  });
  const tell = async (results: readonly WatchLine[]): Promise<void> => {
    for (const result of results) await write(`${JSON.stringify(result)}\n`);
  };
  while (!over.signal.aborted) {
    await tell(await scanner.scan({ isLast: false }));
    await delay(POLL_MS, undefined, { signal: over.signal }).catch(() => undefined);
  }
  await tell(await scanner.scan({ isLast: true }));
  await tell([{ kind: 'done' }]);
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
