import { describeExpectedStart, minuteOf } from '../epoch/expected-start.ts';
import type { JobRecord } from '../record/job-record.ts';
import type { DerivedJobEvent } from './derived-job-event.ts';

/** When nodes were first held for the job, and when its start moved later. Each is reported once. */
export function startExpected({ expectedStart, epoch }: JobRecord): readonly DerivedJobEvent[] {
  if (expectedStart === undefined) return [];
  const { moved, movedAt, promisedAt, at } = expectedStart;
  const { moved: _, ...first } = expectedStart;
  const about = { type: 'StartExpected', severity: 'info', epoch: epoch + 1 } as const;
  const key = `StartExpected/${promisedAt}`;
  const held = { ...about, at: promisedAt, key, message: describeExpectedStart(first) };
  if (moved === undefined || movedAt === undefined) return [held];
  const message = `The job is now expected to start at ${minuteOf(at)}. ${moved}`;
  return [held, { ...about, at: movedAt, key: `${key}/${movedAt}`, message }];
}
