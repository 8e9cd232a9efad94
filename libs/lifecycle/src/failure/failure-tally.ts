/** How far has a job come from failure to failure, and what have its budgets paid? All of it is kept in status. */
import { type CrashBlame, type FailureBudget, type FailureTally, MAX_BUDGET } from '@coxswain/api-types';

/** A run of ranks that failed. */
export interface FailedRun {
  /** The step that it began after; 0 from scratch. */
  readonly fromStep: number;
  /** The newest step that it reported. */
  readonly reachedStep?: number | undefined;
  /** Step of the newest checkpoint that the job can resume from now. */
  readonly checkpointStep?: number | undefined;
  /** How long every rank of it ran, in milliseconds. */
  readonly ranMs: number;
  /** Fingerprint of an exception that is the program's own; undefined: it is none. */
  readonly fingerprint?: string | undefined;
  /** Nodes whose ranks raised that exception. */
  readonly nodes?: readonly string[];
  readonly blame: CrashBlame;
}

/** A longer run without reported steps may well have trained, so jobs that never report steps are not judged by them. */
const SHORT_RUN_MS = 600_000;

/** Blames that do not count as missing progress of the job. */
const OTHERS: readonly CrashBlame[] = ['node', 'network', 'storage', 'cluster', 'environment'];

/** Nodes of a traceback that status keeps: a second one shows that the first is not to blame. */
const MAX_NODES = 2;

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

/** The repeated traceback. A trained step clears it; failures that others are blamed for leave it unchanged. */
function tracebackAfter(
  { traceback }: FailureTally,
  { reachedStep = 0, fromStep, fingerprint, nodes = [], blame }: FailedRun,
  isUnseen: boolean,
): FailureTally['traceback'] {
  if (reachedStep > fromStep || isUnseen) return undefined;
  if (fingerprint === undefined || blame !== 'program') return traceback;
  const isSame = traceback?.fingerprint === fingerprint;
  const all = [...new Set([...((isSame ? traceback.nodes : undefined) ?? []), ...nodes])].slice(0, MAX_NODES);
  return { fingerprint, times: isSame ? traceback.times + 1 : 1, ...(all.length === 0 ? {} : { nodes: all }) };
}

/** Restarts left in the budget. Times in the future count as within the window, because clocks differ. */
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

/** The tally after that budget paid for a restart. More than `MAX_BUDGET` times, the largest budget, are not kept. */
export function withSpent(tally: FailureTally, blame: CrashBlame, now: Date): FailureTally {
  const others = (tally.spent ?? []).filter((one) => one.blame !== blame);
  const { total = 0, times = [] } = tally.spent?.find((one) => one.blame === blame) ?? {};
  return {
    ...tally,
    spent: [...others, { blame, total: total + 1, times: [...times, now.toISOString()].slice(-MAX_BUDGET) }],
  };
}

/** The tally after a user sends the job back to an older step: the progress made before no longer counts. */
export function sentBack(tally: FailureTally | undefined): FailureTally | undefined {
  if (tally === undefined) return undefined;
  const { spent, sinceCheckpoint } = tally;
  return { withoutProgress: 0, sinceCheckpoint, ...(spent === undefined ? {} : { spent }) };
}

function largest(...steps: readonly (number | undefined)[]): number | undefined {
  const known = steps.filter((step) => step !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
