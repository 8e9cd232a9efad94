/** Did the whole job become slower, and stay slower? A lasting change of step time names no rank. */
import type { HealthSettings } from '../settings.ts';
import type { RecordOf } from '../trace/records.ts';
import type { VerdictDraft } from '../verdict/verdict.ts';
import { median, spreadOf } from './robust.ts';

const BASE_STEPS = 100;
/** Share of the compared steps that must be longer than usual, so that a few very long steps do not count. */
const MOST_STEPS = 0.9;
/** A step this far before the newest one was made by restarted ranks. */
const BEGAN_ANEW_STEPS = 2;
const SIGMA_OF_MAD = 1.4826;

/** Judges the step times of a job as they arrive. */
export function slowJob({ slow }: HealthSettings): (record: RecordOf<'step'>) => readonly VerdictDraft[] {
  let newest = -1;
  let behind = 0;
  let times: number[] = [];
  const isNew = (step: number): boolean => {
    // An overtaken report is a single earlier step; restarted ranks continue from there.
    behind = step < newest - BEGAN_ANEW_STEPS ? behind + 1 : 0;
    if (behind > BASE_STEPS) newest = -1;
    if (step <= newest) return false;
    newest = step;
    return true;
  };
  return ({ step, atMs, ranks }) => {
    const [first] = ranks;
    if (first === undefined || !isNew(step)) return [];
    const { saving = 0, evaluation = 0 } = first.timingsMs;
    times.push(first.stepTimeMs - saving - evaluation);
    if (times.length > BASE_STEPS + slow.jobSteps) times.shift();
    if (times.length < 2 * slow.jobSteps) return [];
    const before = times.slice(0, -slow.jobSteps);
    const last = times.slice(-slow.jobSteps);
    const nowMs = median(last);
    const usual = spreadOf(before, slow.epsilon);
    // If steps vary, a median of 20 is itself uncertain.
    const error = (SIGMA_OF_MAD * 1.2533 * usual.mad) / Math.sqrt(Math.min(last.length, before.length));
    const least = usual.median + Math.max(slow.jobExcess * usual.median, slow.z * error);
    const longer = last.filter((time) => time > usual.median).length;
    if (nowMs <= least || longer < MOST_STEPS * last.length) return [];
    times = last;
    return [
      {
        kind: 'slowJob',
        atMs,
        ranks: [],
        message: `Steps take ${percent(nowMs / usual.median - 1)} longer since ${slow.jobSteps} steps. This alone does not show which rank is the cause.`,
        evidence: { usualStepMs: Math.round(usual.median), stepMs: Math.round(nowMs), steps: slow.jobSteps },
        confidence: 0.9,
        action: 'none',
      },
    ];
  };
}

/** `12 %` */
export function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}
