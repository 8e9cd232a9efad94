/** Is the loss or the gradient norm not a number, or far from its median? */
import type { HealthSettings } from '../settings.ts';
import { median } from '../slow/robust.ts';
import type { TraceRecord } from '../trace/records.ts';
import { type Verdict, type VerdictDraft, verdictOf } from '../verdict/verdict.ts';

/** Judges loss and gradient norm of one run. */
export interface LossDetector {
  readonly observe: (record: Exclude<TraceRecord, { kind: 'group' }>) => readonly Verdict[];
}

type Field = 'loss' | 'gradNorm';
type Figure = number | 'NaN' | 'Infinity' | '-Infinity';

/** The history of one figure. */
interface Watched {
  readonly history: number[];
  /** Consecutive steps in which the figure was far off. */
  off: number;
}

/** Begins without history. */
export function lossDetector({ loss }: HealthSettings): LossDetector {
  const watched = { loss: aFigure(), gradNorm: aFigure() };
  let reportedStep = -1;
  const judge = (field: Field, value: Figure): number | undefined | 'well' => {
    const of = watched[field];
    const usual = of.history.length >= loss.leastHistory ? median(of.history) : undefined;
    if (isWell(value, of.history, usual, loss)) {
      of.off = 0;
      of.history.push(value);
      if (of.history.length > loss.history) of.history.shift();
      return 'well';
    }
    of.off += 1;
    // A gradient norm that jumps for one step is clipped, and loss scaling skips a step without a number. Both are normal unless they last.
    return of.off >= (field === 'loss' ? 1 : loss.normsInARow) ? usual : 'well';
  };
  return {
    observe: (record) => {
      if (record.kind !== 'step') return [];
      for (const field of ['loss', 'gradNorm'] as const) {
        const value = record[field];
        if (value === null) continue;
        const usual = judge(field, value);
        if (usual === 'well' || record.step <= reportedStep) continue;
        reportedStep = record.step;
        return [
          verdictOf(
            formatBadLoss({ field, value, usual, step: record.step, atMs: record.atMs }, loss),
            () => undefined,
          ),
        ];
      }
      return [];
    },
  };
}

function aFigure(): Watched {
  return { history: [], off: 0 };
}

/** Far off: more than a multiple of the median and outside the spread. Negative figures count by their magnitude. */
function isWell(
  value: Figure,
  history: readonly number[],
  usual: number | undefined,
  { jump, spread }: HealthSettings['loss'],
): value is number {
  if (typeof value !== 'number') return false;
  if (usual === undefined) return true;
  const mad = median(history.map((one) => Math.abs(one - usual)));
  return value <= usual + Math.max((jump - 1) * Math.abs(usual), spread * mad);
}

function formatBadLoss(
  about: {
    readonly field: Field;
    readonly value: Figure;
    readonly usual: number | undefined;
    readonly step: number;
    readonly atMs: number;
  },
  { jump }: HealthSettings['loss'],
): VerdictDraft {
  const { field, value, usual, step, atMs } = about;
  const isNumber = typeof value === 'number';
  const what = isNumber ? `more than ${jump} times its median ${usual?.toPrecision(4)}` : 'no number';
  return {
    kind: 'badLoss',
    atMs,
    ranks: [],
    message: `Step ${step}: ${field} is ${value}, ${what}. Suspend the job, and resume it from the last checkpoint.`,
    evidence: { field, value, step, ...(usual === undefined ? {} : { usual }) },
    confidence: isNumber ? 0.8 : 1,
    action: 'stop',
  };
}
