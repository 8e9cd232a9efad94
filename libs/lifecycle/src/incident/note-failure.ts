/** Which incident records a failure? */
import {
  type Attempt,
  type AttemptReason,
  type Incident,
  type IncidentAction,
  type IncidentKind,
  MAX_INCIDENT_EVIDENCE,
  type PlacementSpec,
  ranksOfPod,
} from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { meanStepMs } from '@coxswain/scheduling';
import { safeText } from '@coxswain/safe-text';
import type { FailedAttempt, Judged } from '../failure/judge-failure.ts';
import { hasRunNothing } from '../failure/restart-budget.ts';
import { type Facts, placementOf, podCount } from '../observation/facts.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import { STANDS_STILL } from '../record/incident-kinds.ts';
import { betweenMs, evidenceOf, isAdvice, isOfRun, isOpen, withEachIncident, withIncident } from './incident-record.ts';

/** Kinds of incidents by reason of failure. Reasons that are left out mean that nothing has run; those are reported as waits. */
const KIND_OF_REASON: Readonly<Partial<Record<AttemptReason, IncidentKind>>> = {
  NodeLost: 'NodeLost',
  PodLost: 'NodeLost',
  Evicted: 'Evicted',
  LimitExceeded: 'Evicted',
  CheckpointUnreadable: 'CheckpointTrouble',
  CheckpointIoError: 'CheckpointTrouble',
  Condemned: 'Hang',
  Hung: 'Hang',
  NothingTrained: 'NotTraining',
  TurnedAway: 'StartFailed',
  PodNeverRan: 'StartFailed',
  NotCreated: 'StartFailed',
  NotScheduled: 'StartFailed',
  NotStarted: 'StartFailed',
  SecretMissing: 'StartFailed',
  PreflightFailed: 'StartFailed',
};

/** A failure, its judgement, and whether the ranks restart in the same pods. */
export interface NotedFailure extends FailedAttempt {
  readonly judged: Pick<Judged, 'answer' | 'avoid' | 'judgement'>;
  readonly inPods: boolean;
}

/**
 * The record with the current attempt's failure as an incident. It belongs into the write that records the failure, so that it is recorded
 * once, across leaders. If detectors had reported the stall that led to it, that incident continues.
 */
export function withFailureNoted(
  record: JobRecord,
  failed: NotedFailure,
  { facts, now }: { readonly facts: Facts; readonly now: Date },
): JobRecord {
  const attempt = liveAttempt(record);
  const { reason } = failed.failure;
  if (attempt === undefined || hasRunNothing(reason)) return record;
  const at = now.toISOString();
  const action = actionOf(failed);
  const same = record.incidents.findLast((incident) => isOpen(incident) && isSameTrouble(incident, attempt, failed));
  const drafted = incidentOf(record, failed, { attempt, facts, at });
  const ended = withEachIncident(record, (incident) => {
    if (incident === same || !isOpen(incident)) return incident;
    return closedBy(incident, at);
  });
  // A run that failed before its first step repeats only steps that the run before it had lost.
  const lost = record.incidents.findLast((incident) => isOpen(incident) && !isAdvice(incident));
  const inherited = drafted.step === undefined && lost !== undefined ? lossOf(lost) : {};
  if (same === undefined) return withIncident(ended, { ...drafted, ...inherited, ...endOf(action, at) });
  return withEachIncident(ended, (incident) =>
    incident === same ? { ...joined(same, drafted), ...endOf(action, at) } : incident,
  );
}

function actionOf({ judged, inPods }: NotedFailure): IncidentAction {
  if (judged.answer === 'GiveUp') return 'GaveUp';
  if (inPods) return 'RestartedInPods';
  return judged.avoid === undefined ? 'RestartedInNewPods' : 'RestartedElsewhere';
}

/**
 * Whether the incident and the failure are the same. A stalled gang that then fails, fails because of the stall. A failure that could not
 * be answered in the same pods was counted before.
 */
function isSameTrouble(incident: Incident, attempt: Attempt, { failure }: FailedAttempt): boolean {
  if (!isAdvice(incident)) return failure.reason === 'NotReaped' && incident.action === 'RestartedInPods';
  if (!isOfRun(incident, attempt)) return false;
  if (STANDS_STILL.includes(incident.kind)) return true;
  const isNamed = failure.rank !== undefined && incident.ranks?.includes(failure.rank) === true;
  return failure.reason === 'Condemned' && (isNamed || incident.rank === failure.rank);
}

function closedBy(incident: Incident, at: string): Incident {
  if (isAdvice(incident)) return { ...incident, outcome: 'RunEnded', closedAt: at };
  const lostMs = betweenMs(incident.since ?? incident.noticedAt, at);
  return { ...incident, outcome: 'FailedAgain', closedAt: at, ...(lostMs === undefined ? {} : { lostMs }) };
}

function lossOf({ step, stepMs }: Incident): Pick<Incident, 'step' | 'stepMs'> {
  return { ...(step === undefined ? {} : { step }), ...(stepMs === undefined ? {} : { stepMs }) };
}

function endOf(action: IncidentAction, at: string): Partial<Incident> {
  return { action, ...(action === 'GaveUp' ? { outcome: 'GivenUp' as const, closedAt: at } : {}) };
}

/** Keeps the incident as first reported, and adds the end of the run as evidence. */
function joined(
  named: Incident,
  { evidence = [], class: kind, blame, step, stepMs, since, message }: Incident,
): Incident {
  const ends = evidence.map(({ name, value }) => ({ name: `end.${name}`, value }));
  const all = [...(named.evidence ?? []), { name: 'end', value: safeText(message, 256) }, ...ends];
  return {
    ...named,
    ...(kind === undefined ? {} : { class: kind }),
    ...(blame === undefined ? {} : { blame }),
    ...(step === undefined ? {} : { step }),
    ...(stepMs === undefined ? {} : { stepMs }),
    ...(named.since === undefined && since !== undefined ? { since } : {}),
    evidence: all.slice(0, MAX_INCIDENT_EVIDENCE),
  };
}

function incidentOf(
  record: JobRecord,
  { failure, lastStep, judged }: NotedFailure,
  { attempt, facts, at }: { readonly attempt: Attempt; readonly facts: Facts; readonly at: string },
): Incident {
  const { epoch, incarnation = 1, firstStep } = attempt;
  const { judgement } = judged;
  const since = firstStep === undefined ? attempt.startedAt : (record.progress?.reportedAt ?? firstStep.at);
  const stepMs = meanStepMs(attempt, since, lastStep);
  return {
    id: `${epoch}.${incarnation}`,
    kind: KIND_OF_REASON[failure.reason] ?? 'Crash',
    epoch,
    incarnation,
    noticedAt: at,
    since: chainedSince(record) ?? since,
    message: safeText(failure.message.split('\n', 1)[0] ?? '', 1_000),
    ...placeOf(facts, attempt, failure),
    class: judgement.class,
    blame: judgement.blame,
    evidence: [
      ...evidenceOf({
        reason: failure.reason,
        rule: judgement.rule,
        exitCode: failure.crash.exitCode,
        signal: failure.crash.signal,
        lastLine: failure.crash.lastLines.findLast((line) => line.trim() !== ''),
      }),
    ],
    gpus: worldSize(attempt.layout),
    ...(lastStep === undefined ? {} : { step: lastStep }),
    ...(stepMs === undefined ? {} : { stepMs }),
    action: 'None',
  };
}

/** Start of the cost: time that an earlier incident has counted does not count again. */
function chainedSince(record: JobRecord): string | undefined {
  const isWaiting = record.incidents.some((incident) => isOpen(incident) && !isAdvice(incident));
  const attempt = liveAttempt(record);
  if (!isWaiting || attempt === undefined) return undefined;
  return attempt.incarnations?.at(-1)?.endedAt ?? attempt.startedAt;
}

/** The rank that failed first, its node, and the index of its GPU in the pod. */
function placeOf(
  facts: Facts,
  attempt: Attempt,
  { rank, where }: FailedAttempt['failure'],
): Pick<Incident, 'rank' | 'node' | 'gpu'> {
  const placement = placementOf(facts, attempt.epoch)?.spec;
  const gpu = rank === undefined || placement === undefined ? -1 : indexInPod(placement, rank);
  return {
    ...(rank === undefined ? {} : { rank }),
    ...(where === undefined ? {} : { node: where }),
    ...(gpu < 0 ? {} : { gpu }),
  };
}

/** Index of the rank within its pod; -1: no pod has it. */
export function indexInPod(placement: PlacementSpec, rank: number): number {
  for (let podIndex = 0; podIndex < podCount(placement); podIndex += 1) {
    const index = ranksOfPod(placement, podIndex).indexOf(rank);
    if (index >= 0) return index;
  }
  return -1;
}
