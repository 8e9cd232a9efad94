/** How far has a job come, failure by failure, and what have its budgets paid? Kept in status, and only ever asked of it. */
import { type CrashBlame, type FailureBudget, type FailureTally, MAX_BUDGET } from '@coxswain/api-types';

/** A run of ranks that failed. */
export interface FailedRun {
  /** Step that it began behind; 0 from scratch. */
  readonly fromStep: number;
  /** Newest step that it told. */
  readonly reachedStep?: number | undefined;
  /** Step of the newest checkpoint that the job could go on from now. */
  readonly checkpointStep?: number | undefined;
  /** How long every rank of it ran, in milliseconds. */
  readonly ranMs: number;
  /** What shows that it fails the same way again; of failures that the program is to blame for. */
  readonly fingerprint?: string | undefined;
  readonly blame: CrashBlame;
}

/** A run that told no step and lasted longer may well have trained: a job that never tells steps is not judged by them. */
const SHORT_RUN_MS = 600_000;

/** Whose failures say nothing of whether the job could get on. */
const OTHERS: readonly CrashBlame[] = ['node', 'network', 'cluster'];

const NONE: FailureTally = { withoutProgress: 0, sinceCheckpoint: 0 };

/** The tally with one more failure. */
export function withFailedRun(before: FailureTally = NONE, run: FailedRun): FailureTally {
  const { spent } = before;
  const furthestStep = largest(before.furthestStep, run.reachedStep);
  const checkpointStep = largest(before.checkpointStep, run.checkpointStep);
  const hasSaved = (run.checkpointStep ?? -1) > (before.checkpointStep ?? run.fromStep);
  const hasAdvanced = (run.reachedStep ?? 0) > Math.max(before.furthestStep ?? 0, run.fromStep);
  const isUnseen = furthestStep === undefined && checkpointStep === undefined && run.ranMs > SHORT_RUN_MS;
  const traceback = tracebackAfter(before, run, isUnseen);
  return {
    ...(furthestStep === undefined ? {} : { furthestStep }),
    ...(checkpointStep === undefined ? {} : { checkpointStep }),
    withoutProgress:
      hasSaved || hasAdvanced ? 0 : before.withoutProgress + (isUnseen || OTHERS.includes(run.blame) ? 0 : 1),
    sinceCheckpoint: hasSaved ? 1 : before.sinceCheckpoint + 1,
    ...(spent === undefined ? {} : { spent }),
    ...(traceback === undefined ? {} : { traceback }),
  };
}

/** Once a step is trained, what failed before it is over; what others did wrong in between changes nothing. */
function tracebackAfter(
  { traceback }: FailureTally,
  { reachedStep = 0, fromStep, fingerprint, blame }: FailedRun,
  isUnseen: boolean,
): FailureTally['traceback'] {
  if (reachedStep > fromStep || isUnseen) return undefined;
  if (fingerprint === undefined || blame !== 'program') return traceback;
  return { fingerprint, times: traceback?.fingerprint === fingerprint ? traceback.times + 1 : 1 };
}

/** What is left of the budget: of times in the future as much is spent as of those in its window, for clocks differ. */
export function leftOf(tally: FailureTally | undefined, budget: FailureBudget, now: Date): number {
  const spent = tally?.spent?.find(({ blame }) => blame === budget.blame);
  const { windowSeconds } = budget;
  const since = now.getTime() - 1000 * (windowSeconds ?? 0);
  const used =
    windowSeconds === undefined
      ? (spent?.total ?? 0)
      : (spent?.times.filter((time) => !(Date.parse(time) <= since)).length ?? 0);
  return Math.max(0, budget.maxRestarts - used);
}

/** The tally after that budget paid for a restart. Times beyond `MAX_BUDGET`, the largest a budget can be, tell nothing more. */
export function withSpent(tally: FailureTally, blame: CrashBlame, now: Date): FailureTally {
  const others = (tally.spent ?? []).filter((one) => one.blame !== blame);
  const { total = 0, times = [] } = tally.spent?.find((one) => one.blame === blame) ?? {};
  return {
    ...tally,
    spent: [...others, { blame, total: total + 1, times: [...times, now.toISOString()].slice(-MAX_BUDGET) }],
  };
}

/** The tally of a job that a person sends back to an older step: how far it had come before counts no more. */
export function sentBack(tally: FailureTally | undefined): FailureTally | undefined {
  if (tally === undefined) return undefined;
  const { spent, sinceCheckpoint } = tally;
  return { withoutProgress: 0, sinceCheckpoint, ...(spent === undefined ? {} : { spent }) };
}

function largest(...steps: readonly (number | undefined)[]): number | undefined {
  const known = steps.filter((step) => step !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
