/** What ranks told of their steps within a window, in bounded memory: of each rank the newest 32 steps. */
import type { RecordOf, RankWork } from '../trace/records.ts';

export const KEPT_STEPS = 32;

/** Parts of a step in which a rank does not compute. All others are its own work. */
const NO_COMPUTE: ReadonlySet<string> = new Set(['communication', 'data', 'saving', 'evaluation']);

export type WorkKind = 'squaredTokens' | 'expertTokens';

export interface StepWindow {
  readonly ranks: number;
  /** Steps that any rank told. */
  readonly steps: () => number;
  /** Compute of a rank in each step that it told, by the step modulo {@link KEPT_STEPS}; NaN where it told none. */
  readonly computeMs: Float32Array;
  /** Of that step as the same rank told it; NaN where unknown. Undefined: nobody told any. */
  readonly work: (kind: WorkKind) => Float32Array | undefined;
  /** Which step is in each place; -1 for none. */
  readonly stepAt: Int32Array;
  /** Sums over the window. */
  readonly dataMs: Float64Array;
  readonly stepMs: Float64Array;
  readonly add: (record: RecordOf<'step'>) => void;
  readonly clear: () => void;
}

export function stepWindow(ranks: number): StepWindow {
  const computeMs = new Float32Array(ranks * KEPT_STEPS).fill(NaN);
  const works = new Map<WorkKind, Float32Array>();
  const stepAt = new Int32Array(KEPT_STEPS).fill(-1);
  const dataMs = new Float64Array(ranks);
  const stepMs = new Float64Array(ranks);
  let told = 0;
  const placeOf = (step: number): number | undefined => {
    const place = step % KEPT_STEPS;
    const there = stepAt[place] ?? -1;
    if (there > step) return undefined;
    if (there < step) {
      stepAt[place] = step;
      told += 1;
      for (const values of [computeMs, ...works.values()]) {
        for (let rank = 0; rank < ranks; rank += 1) values[rank * KEPT_STEPS + place] = NaN;
      }
    }
    return place;
  };
  const addWork = (work: RankWork, kind: WorkKind, place: number): void => {
    const amount = work[kind];
    if (amount === undefined || work.rank >= ranks) return;
    const values = works.get(kind) ?? new Float32Array(ranks * KEPT_STEPS).fill(NaN);
    works.set(kind, values);
    values[work.rank * KEPT_STEPS + place] = amount;
  };
  return {
    ranks,
    computeMs,
    stepAt,
    dataMs,
    stepMs,
    steps: () => told,
    work: (kind) => works.get(kind),
    add: (record) => {
      const place = placeOf(record.step);
      if (place === undefined) return;
      for (const { rank, stepTimeMs, timingsMs } of record.ranks) {
        if (rank >= ranks || (timingsMs['saving'] ?? 0) > 0 || (timingsMs['evaluation'] ?? 0) > 0) continue;
        dataMs[rank] = (dataMs[rank] ?? 0) + (timingsMs['data'] ?? 0);
        stepMs[rank] = (stepMs[rank] ?? 0) + stepTimeMs;
        const compute = computeOf(timingsMs);
        if (compute > 0) computeMs[rank * KEPT_STEPS + place] = compute;
      }
      for (const work of record.work ?? []) {
        addWork(work, 'squaredTokens', place);
        addWork(work, 'expertTokens', place);
      }
    },
    clear: () => {
      told = 0;
      for (const values of [computeMs, ...works.values()]) values.fill(NaN);
      stepAt.fill(-1);
      dataMs.fill(0);
      stepMs.fill(0);
    },
  };
}

function computeOf(timingsMs: Readonly<Record<string, number>>): number {
  let sum = 0;
  for (const part in timingsMs) if (!NO_COMPUTE.has(part)) sum += timingsMs[part] ?? 0;
  return sum;
}
