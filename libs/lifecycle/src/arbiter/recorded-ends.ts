/** Which ends of attempts were unrequested, and for which cause, as the status of jobs records them? */
import type { Attempt, TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import type { EndCause, GrantedEnd } from './judge-ends.ts';

/** Identifies a run of ranks. */
export function runOf({ epoch, incarnation = 1 }: Pick<Attempt, 'epoch' | 'incarnation'>): string {
  return `e${epoch}i${incarnation}`;
}

const CAUSE_OF_REASON: Partial<Readonly<Record<NonNullable<Attempt['reason']>, EndCause>>> = {
  Condemned: 'hang',
  Hung: 'hang',
  NodeLeaving: 'leaving',
  GpusFree: 'growth',
  MadeRoom: 'room',
};

/** The cause of an attempt's unrequested end; undefined: it goes on, or ended for another reason. */
export function endCauseOf(
  { epoch, outcome, reason }: Pick<Attempt, 'epoch' | 'outcome' | 'reason'>,
  { incidents = [] }: Pick<TrainingJobStatus, 'incidents'>,
): EndCause | undefined {
  const cause = outcome === undefined || reason === undefined ? undefined : CAUSE_OF_REASON[reason];
  if (reason !== 'Condemned' || cause === undefined) return cause;
  const isSlow = incidents.some(
    (one) => one.kind === 'SlowRank' && one.epoch === epoch && one.action === 'RestartedElsewhere',
  );
  return isSlow ? 'slow' : cause;
}

/** Number of the job's attempts that ended for that cause since that time, in milliseconds since 1970. */
export function countEnds(
  { attempts = [], ...status }: Pick<TrainingJobStatus, 'attempts' | 'incidents'>,
  { cause, sinceMs }: { readonly cause: EndCause; readonly sinceMs: number },
): number {
  return attempts.filter((attempt) => endedAtMs(attempt) >= sinceMs && endCauseOf(attempt, status) === cause).length;
}

/** Ends since that time, as the job's status records them. Another leader may have granted them. */
export function recordedEnds({ metadata, status }: TrainingJob, sinceMs: number): readonly GrantedEnd[] {
  return (status?.attempts ?? []).slice(-2).flatMap((attempt) => {
    const atMs = endedAtMs(attempt);
    const cause = atMs >= sinceMs ? endCauseOf(attempt, status ?? {}) : undefined;
    if (cause === undefined) return [];
    const { uid: jobUid, namespace = '' } = metadata;
    const neededGpus = attempt.epoch === status?.epoch ? gpusElsewhere(attempt) : 0;
    return [{ jobUid, namespace, run: runOf(attempt), cause, nodes: [], atMs, neededGpus, blames: cause !== 'room' }];
  });
}

/** GPUs that a gang which made room takes on other nodes at once. One that waits takes none. */
function gpusElsewhere({ forClaim, layout }: Attempt): number {
  return forClaim?.wayOut === 'Move' ? worldSize(layout) : 0;
}

/** NaN: it has not ended. */
function endedAtMs({ stoppingAt, endedAt }: Pick<Attempt, 'stoppingAt' | 'endedAt'>): number {
  return Date.parse(stoppingAt ?? endedAt ?? '');
}

/**
 * Whether the run goes on, ended for that cause, or ended for another reason; undefined: the job does not record the run. Ranks restart in their pods
 * only after failures of their own.
 */
export function fateOf(
  { run, cause }: Pick<GrantedEnd, 'run' | 'cause'>,
  { status }: Pick<TrainingJob, 'status'>,
): 'goesOn' | 'ended' | 'endedOtherwise' | undefined {
  const attempt = status?.attempts?.find(({ epoch }) => epoch === epochOf(run));
  if (attempt === undefined) return undefined;
  if (runOf(attempt) !== run) return 'endedOtherwise';
  if (attempt.outcome === undefined) return 'goesOn';
  return endCauseOf(attempt, status ?? {}) === cause ? 'ended' : 'endedOtherwise';
}

/** Epoch of a run. */
export function epochOf(run: string): number {
  return Number(/^e(\d+)/.exec(run)?.[1] ?? 0);
}
