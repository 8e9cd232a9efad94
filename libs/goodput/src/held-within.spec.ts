import { costSoFar } from './cost-rows.ts';
import type { AttemptHistory, JobHistory, RunHistory } from './history.ts';
import { jobGoodput } from './job-goodput.ts';

const HOUR_MS = 3_600_000;
const OCTOBER_MS = Date.UTC(2026, 9, 1);

/** Eight GPUs that trained from one hour after the begin of October to another. */
function attempt(epoch: number, [from, to]: readonly [number, number], standbyGpus = 0): AttemptHistory {
  const [heldFromMs, heldToMs] = [OCTOBER_MS + from * HOUR_MS, OCTOBER_MS + to * HOUR_MS];
  const steps = { firstStepMs: heldFromMs, lastStepMs: heldToMs, firstStep: 1, lastStep: 10, resumedFromStep: 0 };
  const run: RunHistory = {
    ...{ incarnation: 1, runningMs: heldFromMs, restoredMs: undefined, marks: {}, ...steps, endedMs: heldToMs },
    ...{ end: 'stopped', recovery: 'programRecovery', stepMs: undefined, hasSaved: true, slowMs: undefined },
  };
  const standbys = standbyGpus === 0 ? [] : [{ gpus: standbyGpus, toMs: undefined }];
  const none = { heldBeyond: [], wasSuspended: false, lacksRuns: false, saves: undefined };
  return { epoch, gpus: 8, heldFromMs, heldToMs, standbys, runs: [run], ...none };
}

function goodputOf(attempts: readonly AttemptHistory[]): ReturnType<typeof jobGoodput> {
  const asOfMs = attempts.at(-1)?.heldToMs ?? OCTOBER_MS;
  const history: JobHistory = {
    createdMs: OCTOBER_MS,
    asOfMs,
    observedMs: asOfMs,
    isFinished: true,
    saveStops: [],
    attempts,
  };
  return jobGoodput(history, 0);
}

const every30Minutes = (hours: number): readonly AttemptHistory[] =>
  Array.from({ length: 1_000 }, (_, index) => attempt(index + 1, [index / 2, index / 2 + hours]));

it.each<[string, readonly AttemptHistory[], Readonly<Record<string, number>>]>([
  ['a job without attempts', [], {}],
  ['a job with standbys', [attempt(1, [0, 100], 8)], { '2026-10': 1_600 }],
  ['1000 attempts of 12 minutes', every30Minutes(0.2), { '2026-10': 1_600 }],
  ['1000 attempts of 18 minutes', every30Minutes(0.3), { '2026-10': 2_400 }],
  [
    'a job over three months',
    [attempt(1, [700, 1_600])],
    { '2026-10': 44 * 8, '2026-11': 720 * 8, '2026-12': 136 * 8 },
  ],
])('the GPU-hours of %s are in months, and cost there what they cost so far', (_sentence, attempts, want) => {
  const goodput = goodputOf(attempts);
  const months = (goodput.months ?? []).map(({ month, gpuSeconds }) => [month, Math.round(gpuSeconds) / 3_600]);
  expect(Object.fromEntries(months)).toEqual(want);
  const sum = Object.values(want).reduce((all, hours) => all + hours, 0);
  const prices = { currency: 'USD', perGpuHour: { default: 1 } };
  expect(costSoFar(goodput, { gpuType: undefined, prices })?.amount).toBeCloseTo(sum, 2);
});
