/**
 * What becomes of an attempt whose Placement is recorded and not there? It is recorded first and created afterwards, so a leader may die in
 * between, and its create may reach the server long after it. And whoever may delete Placements may delete that of a gang that trains well:
 * then it is made again, for its launchers are told their ranks from it.
 */
import type { Attempt, PlacementSpec } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { acceptanceOf } from './acceptance.ts';
import { type Facts, isUsable, placementOf, type UnwrittenPlacement } from '../observation/facts.ts';
import type { Failure } from '../failure/failure.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import { podsOf } from '../observation/gang.ts';
import { place, placementSpec } from './next-epoch.ts';
import { saveInterval } from './save-interval.ts';
import { placementSha256 } from '@coxswain/scheduling';
import { isRuntimeUnknown } from './runtime-standing.ts';
import type { UsablePoint } from '../failure/resume-point.ts';

/**
 * The recorded placement that is to be created (again): as this process reserved or saw it, or worked out again, where that gives the very same one.
 * Undefined where it exists, where its name is taken, where the cluster has changed since (its nodes take no pods, or their GPUs are taken), and where the
 * gang is stopping.
 */
export function unwrittenPlacement(record: JobRecord, facts: Facts): UnwrittenPlacement | undefined {
  const attempt = unplacedAttempt(record, facts);
  if (attempt === undefined || isTaken(facts, attempt)) return undefined;
  const isRecorded = (spec: PlacementSpec | undefined): boolean =>
    spec !== undefined && placementSha256(spec) === attempt.placementSha256;
  const { reserved, keptPlacement } = facts.observed;
  const known = [reserved, keptPlacement].find(isRecorded);
  if (known !== undefined && known !== reserved && isOutOfReach(facts, attempt, known)) return undefined;
  const spec = known ?? workedOutAgain(record, facts, attempt);
  return spec !== undefined && isRecorded(spec) ? { name: attempt.placement, spec } : undefined;
}

/** A gang that is not released holds no GPUs but those that are reserved for it: what cannot be reserved again would be waited for in vain. */
function isOutOfReach({ observed }: Facts, { stage }: Attempt, spec: PlacementSpec): boolean {
  return stage === 'Creating' && observed.isReservable?.(spec) === false;
}

/** Name of the recorded Placement that only a live read can tell of: it is not seen, and cannot be made again. */
export function missingPlacementName(record: JobRecord, facts: Facts): string | undefined {
  const attempt = unplacedAttempt(record, facts);
  // What runs has its ranks already, whatever becomes of the object.
  if (attempt?.stage !== 'Creating' || isTaken(facts, attempt)) return undefined;
  return unwrittenPlacement(record, facts) === undefined ? attempt.placement : undefined;
}

/** Whether the recorded Placement may be one that only the runtime is missing from. */
export function needsRuntime(record: JobRecord, facts: Facts): boolean {
  const attempt = unplacedAttempt(record, facts);
  return attempt !== undefined && !isTaken(facts, attempt) && unwrittenPlacement(record, facts) === undefined;
}

/** Why the attempt cannot go on with its placement. No gate of it was lifted, so nothing has run and nothing is charged. */
export function lostPlacement(record: JobRecord, facts: Facts): Failure | undefined {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Creating') return undefined;
  const placement = placementOf(facts, attempt.epoch);
  if (placement !== undefined) return overtakenBy(facts, attempt, placement.spec);
  if (isTaken(facts, attempt)) {
    return lost(
      `Placement ${attempt.placement} exists and is not the recorded one; it is left as it is, so delete it.`,
    );
  }
  if (!facts.isProven || missingPlacementName(record, facts) === undefined || isRuntimeUnknown(facts)) return undefined;
  return lost(`Placement ${attempt.placement} was recorded and is not there, and the free GPUs are others by now.`);
}

/**
 * What this process placed it reserved, which binds no pods but those of our jobs. A placement of an earlier leader may besides be seen late: until then
 * its GPUs were free for our jobs too.
 */
function overtakenBy({ observed }: Facts, { placement }: Attempt, spec: PlacementSpec): Failure | undefined {
  const taken = observed.takenNodes?.(spec) ?? [];
  if (taken.length === 0) return undefined;
  const more = taken.length > 1 ? ` and ${taken.length - 1} more` : '';
  return lost(
    `GPUs of Placement ${placement} went to others before its pods were released, on node ${taken[0]}${more}.`,
  );
}

/** The attempt that has a hash and no Placement. One of a release that recorded no hash was begun by its Placement. */
function unplacedAttempt(record: JobRecord, facts: Facts): Attempt | undefined {
  const attempt = liveAttempt(record);
  if (attempt === undefined || attempt.stage === 'Stopping' || attempt.placementSha256 === undefined) return undefined;
  return placementOf(facts, attempt.epoch) === undefined ? attempt : undefined;
}

/** One of which no more than the name is seen may be the recorded one: a live read tells. */
function isTaken(facts: Facts, attempt: Attempt): boolean {
  return facts.strangePlacements.some(({ metadata, spec }) => metadata.name === attempt.placement && isUsable(spec));
}

function workedOutAgain(record: JobRecord, facts: Facts, attempt: Attempt): PlacementSpec | undefined {
  const acceptance = acceptanceOf(record, facts);
  const from = recordedPoint(facts, attempt);
  if (acceptance.kind !== 'accepted' || from === undefined) return undefined;
  const { spec } = acceptance;
  const placing = { spec, epoch: attempt.epoch, from, saves: saveInterval(record, spec, attempt.epoch) };
  if (attempt.stage !== 'Creating')
    return readFromPods(facts, { ...placing, spec: { ...placing.spec, layout: attempt.layout } });
  const next = place(record, facts, placing);
  return next.kind === 'placing' ? next.spec : undefined;
}

/** Of a gang that has its nodes; undefined while some of its pods are not seen or not bound. */
function readFromPods(facts: Facts, placing: Parameters<typeof placementSpec>[1]): PlacementSpec | undefined {
  const pods = podsOf(facts, placing.epoch).toSorted((left, right) => left.podIndex - right.podIndex);
  const nodes = pods.flatMap(({ nodeName }) => nodeName ?? []);
  if (nodes.length === 0 || nodes.length < pods.length || pods.some(({ podIndex }, index) => podIndex !== index))
    return undefined;
  return placementSpec(facts, placing, {
    nodes,
    ranksPerPod: Math.ceil(worldSize(placing.spec.layout) / nodes.length),
  });
}

/** Where the attempt was to begin, whatever was saved or asked since; undefined where that checkpoint is not seen. */
function recordedPoint(facts: Facts, { resumedFrom }: Attempt): UsablePoint | undefined {
  if (resumedFrom === undefined) return { kind: 'scratch' };
  const checkpoint = facts.checkpoints.find(({ metadata }) => metadata.name === resumedFrom.checkpoint);
  return checkpoint === undefined ? undefined : { kind: 'checkpoint', checkpoint };
}

function lost(message: string): Failure {
  return { reason: 'PlacementLost', message, crash: { lastLines: [] } };
}
