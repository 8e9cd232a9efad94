import { RankTiming } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { z } from 'zod';
import { ranksOfSet } from './rank-set.ts';
import { MAX_TRACE_LINE_CHARACTERS, TraceHeader, TraceRecord } from './records.ts';

/** A line of a trace that was read, or why it is wrong. */
export type LineOutcome<T> =
  { readonly kind: 'read'; readonly value: T } | { readonly kind: 'wrong'; readonly message: string };

/** Reads the first line of a trace. If it is wrong, the message names field, value and what would be right. */
export function readHeader(line: string): LineOutcome<TraceHeader> {
  const outcome = readAs(TraceHeader, line);
  if (outcome.kind === 'wrong') {
    return wrong(`${outcome.message} A trace begins with its header: {"kind":"header","version":1,"layout":...}.`);
  }
  return outcome;
}

/** Reads any further line. {@link unknownRank} checks ranks against the layout. */
export function readRecord(line: string): LineOutcome<TraceRecord> {
  return readAs(TraceRecord, line);
}

/** The first rank of a record that the layout does not have. */
export function unknownRank({ layout }: TraceHeader, record: TraceRecord): number | undefined {
  if (record.kind === 'tick') return undefined;
  const ranks = worldSize(layout);
  if (record.kind === 'group') return ranksOfSet(record.ranks).find((rank) => rank >= ranks);
  return record.ranks.find(({ rank }) => rank >= ranks)?.rank;
}

function readAs<T>(schema: z.ZodType<T>, line: string): LineOutcome<T> {
  if (line.length > MAX_TRACE_LINE_CHARACTERS) {
    return wrong(`The line has ${line.length} characters; at most ${MAX_TRACE_LINE_CHARACTERS} are allowed.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return wrong(`The line is not JSON: ${(error as Error).message}.`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return { kind: 'read', value: parsed.data };
  const [issue] = [...issuesOfTimings(value), ...parsed.error.issues];
  const field = issue === undefined || issue.path.length === 0 ? 'The record' : `Field ${issue.path.join('.')}`;
  return wrong(`${field}: ${issue?.message ?? 'invalid'}.`);
}

const Timings = z.object({ kind: z.literal('step'), ranks: z.array(RankTiming) });

/** Timings of ranks arrive by the thousand and have a fast check that finds no cause; the schema then finds it. */
function issuesOfTimings(value: unknown): readonly z.core.$ZodIssue[] {
  const parsed = Timings.safeParse(value);
  return parsed.success ? [] : parsed.error.issues.filter(({ path }) => path[0] === 'ranks' && path.length > 1);
}

function wrong(message: string): { readonly kind: 'wrong'; readonly message: string } {
  return { kind: 'wrong', message };
}
