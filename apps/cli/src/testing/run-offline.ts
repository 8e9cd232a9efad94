import { Writable } from 'node:stream';
import { main } from '../main.ts';
import type { CliContext } from '../session/session.ts';

/** What one command line printed, and its exit code. */
export interface OfflineOutcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs one command line; no server is there to be asked. */
export async function runOffline(context: Partial<CliContext>, ...argv: readonly string[]): Promise<OfflineOutcome> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await main(argv, {
    env: {},
    now: () => new Date('2026-01-01T00:00:00Z'),
    print: (line) => out.push(line),
    printError: (line) => err.push(line),
    stdout: new Writable(),
    widthColumns: 120,
    pause: () => new Promise(() => undefined),
    signal: new AbortController().signal,
    ...context,
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}
