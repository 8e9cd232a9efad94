/** Must a gang stop because its run has reached spec.maxRuntimeSeconds, and how does the job end then? */
import { describeReached, runtimeLeft } from '../disruption/max-runtime.ts';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt, type Terminal, withLastAttempt } from '../record/job-record.ts';
import { lastStepOf } from './last-step.ts';

/** Stops the gang for good. It saves and stops as for a cancel, so its outcome is the same and no budget is charged. */
export function recordMaxRuntime(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  const left = runtimeLeft(record, facts, now);
  if (attempt === undefined || attempt.stage === 'Stopping' || left === undefined || left.leftMs > 0) return record;
  return withLastAttempt(record, {
    stage: 'Stopping',
    stoppingAt: now.toISOString(),
    outcome: 'Cancelled',
    reason: 'MaxRuntimeReached',
    message: describeReached(left),
    charged: false,
    ...lastStepOf(record, facts),
  });
}

/** The final state of a job whose run has used its time and holds no GPU; undefined: it has time left, or did not run. */
export function terminalOfMaxRuntime(record: JobRecord, facts: Facts, now: Date): Terminal | undefined {
  const last = record.attempts.at(-1);
  if (last === undefined || last.outcome === 'Suspended') return undefined;
  const left = runtimeLeft(record, facts, now);
  const isReached = last.reason === 'MaxRuntimeReached';
  if (!isReached && (left === undefined || left.leftMs > 0)) return undefined;
  const reached = (isReached ? last.message : undefined) ?? (left === undefined ? '' : describeReached(left));
  const message = `${reached} ${describeCheckpoints(record)}`.trim();
  return { type: 'Failed', reason: 'MaxRuntimeReached', message };
}

function describeCheckpoints({ checkpoint }: JobRecord): string {
  if (checkpoint === undefined) return 'It has no checkpoint.';
  return `Its checkpoints stay; the newest is ${checkpoint.name} of step ${checkpoint.step}.`;
}
