/** Which ended pods stay, so that their logs can be read? */
import type { Attempt } from '@coxswain/api-types';
import { type Facts, isTerminal } from '../observation/facts.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { isQuotaOfPodObjects, limitOfPodObjects } from '../observation/pod-quotas.ts';
import { hasRunNothing } from '../failure/restart-budget.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

/** Failed attempts whose ended pods are kept. */
const KEPT_ATTEMPTS = 2;

/**
 * Ended pods that go. Those of the current attempt stay, and those of the last two attempts that failed. If fewer failed, those of the
 * attempt before stay too. An ended pod holds no GPU and counts against no quota of compute or `pods`, but against `count/pods`: where
 * that quota refuses pods of any job of the namespace, no ended pods stay in the way of the next gang. Where it has refused an attempt of this job before, and
 * has room for one pod beside a gang, the pod of the rank that failed last stays.
 */
export function podsToTidy(record: JobRecord, facts: Facts): readonly ObservedPod[] {
  const kept = keptEpochs(record, facts);
  const origin = keptOrigin(record, facts);
  return facts.pods.filter(
    (pod) =>
      isTerminal(pod) &&
      pod.epoch <= record.epoch &&
      !kept.has(pod.epoch) &&
      pod.name !== origin &&
      pod.deletionTimestamp === undefined,
  );
}

function keptEpochs(record: JobRecord, facts: Facts): ReadonlySet<number> {
  const { epoch, attempts, terminal } = record;
  const live = liveAttempt(record);
  const isShort = facts.observed.isShortOfPods === true || (terminal === undefined && isQuotaInTheWay(record, facts));
  if (isShort) return new Set(live === undefined ? [] : [live.epoch]);
  const failed = attempts.flatMap((one) => (one.outcome === 'Failed' && !hasRunNothing(one.reason) ? [one.epoch] : []));
  return new Set([epoch, ...[epoch - 1, ...failed].slice(-KEPT_ATTEMPTS)]);
}

function isQuotaInTheWay(record: JobRecord, { observed: { podProbe } }: Facts): boolean {
  if (podProbe?.kind === 'refused' && isQuotaOfPodObjects(podProbe.message)) return true;
  return refusals(record).length > 0;
}

/** Recorded attempts that a quota of pod objects refused, oldest first. */
function refusals({ attempts }: JobRecord): readonly Attempt[] {
  return attempts.filter(({ reason, message = '' }) => reason === 'PodsRefused' && isQuotaOfPodObjects(message));
}

/**
 * Name of the one pod that stays beside such a quota: that of the rank that failed first in the newest attempt that failed. It needs room: an attempt has run
 * since the refusal, the quota has a place more than a gang has pods, and it refuses nothing now. A second refusal shows that others use that place.
 */
function keptOrigin(record: JobRecord, { observed }: Facts): string | undefined {
  const [refusal, ...more] = refusals(record);
  if (refusal === undefined || more.length > 0 || observed.isShortOfPods === true) return undefined;
  if (observed.podProbe?.kind === 'refused') return undefined;
  const failed = record.attempts.findLast(({ outcome, reason }) => outcome === 'Failed' && !hasRunNothing(reason));
  if (failed === undefined || failed.epoch <= refusal.epoch) return undefined;
  const pods = observed.placements.find(({ spec }) => spec.epoch === failed.epoch)?.spec.nodes.length ?? Infinity;
  return limitOfPodObjects(refusal.message ?? '') > pods ? failed.origin?.pod : undefined;
}
