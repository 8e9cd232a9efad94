/** Which ended pods stay, so that their logs can be read? */
import { type Facts, isTerminal } from '../observation/facts.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { isQuotaOfPodObjects } from '../observation/pod-quotas.ts';
import { hasRunNothing } from '../failure/restart-budget.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

/** Failed attempts whose ended pods are kept. */
const KEPT_ATTEMPTS = 2;

/**
 * Ended pods that go. Those of the current attempt stay, and those of the last two attempts that failed. If fewer failed, those of the
 * attempt before stay too. An ended pod holds no GPU and counts against no quota of compute or `pods`, but against `count/pods`: where
 * that quota has stopped an attempt of this job, or just now of any job of the namespace, no ended pods stay in the way of the next one.
 */
export function podsToTidy(record: JobRecord, facts: Facts): readonly ObservedPod[] {
  const kept = keptEpochs(record, facts);
  return facts.pods.filter(
    (pod) =>
      isTerminal(pod) && pod.epoch <= record.epoch && !kept.has(pod.epoch) && pod.deletionTimestamp === undefined,
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

function isQuotaInTheWay({ attempts }: JobRecord, { observed: { podProbe } }: Facts): boolean {
  if (podProbe?.kind === 'refused' && isQuotaOfPodObjects(podProbe.message)) return true;
  return attempts.some(({ reason, message = '' }) => reason === 'PodsRefused' && isQuotaOfPodObjects(message));
}
