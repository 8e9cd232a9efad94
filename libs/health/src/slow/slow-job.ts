/** Did the whole job become slower, and stay so? A change of level over so many steps, which blames nobody. */
import type { HealthSettings } from '../settings.ts';
import type { RecordOf } from '../trace/records.ts';
import type { VerdictDraft } from '../verdict/verdict.ts';
import { median } from './robust.ts';

const BASE_STEPS = 100;

export function slowJob({ slow }: HealthSettings): (record: RecordOf<'step'>) => readonly VerdictDraft[] {
  let newest = -1;
  let times: number[] = [];
  return ({ step, atMs, ranks }) => {
    const [first] = ranks;
    if (step <= newest || first === undefined) return [];
    newest = step;
    const { saving = 0, evaluation = 0 } = first.timingsMs;
    times.push(first.stepTimeMs - saving - evaluation);
    if (times.length > BASE_STEPS + slow.jobSteps) times.shift();
    if (times.length < 2 * slow.jobSteps) return [];
    const usualMs = median(times.slice(0, -slow.jobSteps));
    const last = times.slice(-slow.jobSteps);
    if (!last.every((time) => time > (1 + slow.jobExcess) * usualMs)) return [];
    times = last;
    const nowMs = median(last);
    return [
      {
        kind: 'slowJob',
        atMs,
        ranks: [],
        message: `Steps take ${percent(nowMs / usualMs - 1)} longer since ${slow.jobSteps} steps. By itself this blames no rank.`,
        evidence: { usualStepMs: Math.round(usualMs), stepMs: Math.round(nowMs), steps: slow.jobSteps },
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
