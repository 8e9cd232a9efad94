import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { Span } from './results.ts';

/** Our own programs; what Kubernetes and PostgreSQL say is rarely why a test of ours fails. */
const LOGS = '*/logs/{operator,operator-*,api,worker,nodes}.log';
const LINE_CHARACTERS = 240;

const Entry = z.looseObject({
  level: z.string(),
  time: z.string(),
  msg: z.string().default(''),
  reason: z.string().optional().catch(undefined),
  err: z.looseObject({ message: z.string() }).optional().catch(undefined),
});

/**
 * What programs complained about while a test file ran, newest last: `operator-0 17:16:20.118 warn the lease could not be read: ...`.
 * `runs` is the folder in which test files make a folder for everything they start. Test files run one after the other, so the time
 * shows which folder belongs to which file.
 */
export function complaintsDuring(runs: string, span: Span, most: number): readonly string[] {
  if (!existsSync(runs)) return [];
  return globSync(LOGS, { cwd: runs })
    .filter((path) => isWithin(statSync(join(runs, path, '../..')).birthtimeMs, span))
    .flatMap((path) => {
      const lines = readFileSync(join(runs, path), 'utf8').split('\n');
      return lines.flatMap((line) => complaint(line, basename(path, '.log')) ?? []);
    })
    .toSorted((left, right) => left.time.localeCompare(right.time))
    .slice(-most)
    .map(({ text }) => text.slice(0, LINE_CHARACTERS));
}

function isWithin(ms: number, { startMs, endMs }: Span): boolean {
  return startMs <= ms && ms <= endMs;
}

function complaint(line: string, program: string): { readonly time: string; readonly text: string } | undefined {
  const parsed = parseEntry(line);
  if (parsed === undefined || ['trace', 'debug', 'info'].includes(parsed.level)) return undefined;
  const { level, time, msg, reason, err } = parsed;
  const why = err?.message ?? reason;
  return { time, text: `${program} ${time.slice(11, -1)} ${level} ${msg}${why === undefined ? '' : `: ${why}`}` };
}

function parseEntry(line: string): z.infer<typeof Entry> | undefined {
  try {
    return Entry.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
