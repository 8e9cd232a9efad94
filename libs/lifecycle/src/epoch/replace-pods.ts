/** Which pods of a gang does a failure take away, and which standbys take their places? */
import { type Attempt, MAX_STANDBYS, type PodReplacement } from '@coxswain/api-types';
import type { Failure } from '../failure/failure.ts';
import { LAUNCHER_SILENCE_MS } from '../failure/lost-nodes.ts';
import { condemnedPod, verdictsOn } from '../failure/verdicts.ts';
import { type Facts, placementOf } from '../observation/facts.ts';
import { missingIndices, podsOf, standbysOf } from '../observation/gang.ts';
import { isAlive, isDoomed, launcherOf } from '../observation/incarnation.ts';
import type { ObservedPod } from '../observation/observed.ts';
import type { JobRecord } from '../record/job-record.ts';

/** A failure, and the nodes that the job avoids from now on. */
interface Lost {
  readonly failure: Failure;
  readonly avoid: Failure['avoid'];
}

/**
 * Failures after which a standby can take the place of a pod: its node, its pod or a device is gone or blamed. What most of a gang meets, such as an image
 * that cannot be pulled, a standby would meet too.
 */
const REPLACEABLE: readonly Failure['reason'][] = [
  'NodeLost',
  'PodLost',
  'Evicted',
  'EngineFailed',
  'LauncherFailed',
  'Condemned',
  'NotReaped',
];

/**
 * The pods that lose their ranks, and the standbys that get them. none: every pod stays. short: too few standbys can take over, so a new attempt must
 * answer. If a launcher has a later incarnation than the recorded one, only a new attempt is safe, because the next number may have been assigned before.
 */
export function replacementsFor(
  record: JobRecord,
  facts: Facts,
  { attempt, lost, now }: { readonly attempt: Attempt; readonly lost: Lost; readonly now: Date },
): readonly PodReplacement[] | 'none' | 'short' {
  if (podsOf(facts, attempt.epoch).some((pod) => isAhead(facts, pod, attempt))) return 'short';
  const gone = lostIndices(facts, attempt, lost);
  if (gone === 'unknown') return 'short';
  // Ranks do not restart in pods that stay if one of them has not started.
  if (gone.length === 0) return podsOf(facts, attempt.epoch).every((pod) => isAlive(facts, pod)) ? 'none' : 'short';
  if (!REPLACEABLE.includes(lost.failure.reason)) return 'short';
  const avoided = new Set([...record.avoidedNodes.map(({ node }) => node), ...(lost.avoid?.nodes ?? [])]);
  const ready = standbysOf(facts, attempt).filter((pod) => isReady(facts, pod, attempt) && !isOn(avoided, pod));
  const { incarnation = 1, replacements = [] } = attempt;
  if (ready.length < gone.length || replacements.length + gone.length > MAX_STANDBYS) return 'short';
  return gone.flatMap((podIndex, index) => {
    const standby = ready[index]?.podIndex;
    return standby === undefined ? [] : [{ podIndex, standby, incarnation: incarnation + 1, at: now.toISOString() }];
  });
}

/** Indices of the pods that cannot hold ranks any more, ascending; unknown: a detector blames the gang, and no pod of it. */
function lostIndices(facts: Facts, attempt: Attempt, { failure, avoid }: Lost): readonly number[] | 'unknown' {
  const nodes = new Set(
    [...(avoid?.nodes ?? []), ...(failure.reason === 'NodeLost' ? [failure.node ?? []] : [])].flat(),
  );
  const verdicts = verdictsOn(facts, attempt);
  if (verdicts.some(({ about, blamesNobody }) => about.kind === 'gang' || blamesNobody === true)) return 'unknown';
  const condemned = verdicts
    .map((verdict) => condemnedPod(facts, attempt, verdict))
    .filter((podIndex) => podIndex >= 0);
  // While a gang starts, a pod that still pulls its image is not lost.
  const isDead = attempt.runningAt === undefined ? isDoomed : (of: Facts, pod: ObservedPod) => !isAlive(of, pod);
  const dead = podsOf(facts, attempt.epoch).filter((pod) => isDead(facts, pod) || isOn(nodes, pod));
  const all = [...missingIndices(facts, attempt), ...dead.map(({ podIndex }) => podIndex), ...condemned];
  return [...new Set(all)].toSorted((one, other) => one - other);
}

/** Whether the standby can take ranks: its pod and node are alive, its launcher reports, and preflight did not blame its node. */
function isReady(facts: Facts, pod: ObservedPod, attempt: Attempt): boolean {
  const { preflight, reportAgesMs } = facts.observed;
  const isBlamed = preflight?.epoch === attempt.epoch && preflight.named.nodes.includes(pod.nodeName ?? '');
  const ageMs = reportAgesMs?.get(pod.uid) ?? 0;
  const launcher = launcherOf(facts, pod, attempt);
  const isThere = launcher !== undefined && ageMs < LAUNCHER_SILENCE_MS && !isAhead(facts, pod, attempt);
  return isThere && isAlive(facts, pod) && !isBlamed && placementOf(facts, attempt.epoch) !== undefined;
}

function isAhead(facts: Facts, pod: ObservedPod, attempt: Attempt): boolean {
  return (launcherOf(facts, pod, attempt)?.incarnation ?? 0) > (attempt.incarnation ?? 1);
}

function isOn(nodes: ReadonlySet<string>, { nodeName }: ObservedPod): boolean {
  return nodeName !== undefined && nodes.has(nodeName);
}
