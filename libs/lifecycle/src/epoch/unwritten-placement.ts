/**
 * What happens to an attempt whose recorded Placement does not exist? A Placement is recorded first and created afterwards, so a leader may
 * die in between, and its create may arrive much later. A user may also delete the Placement of a running gang. Then it is created again,
 * because its launchers get their ranks from it.
 */
import type { Attempt, PlacementSpec } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { acceptanceOf } from './acceptance.ts';
import { type Facts, isUsable, placementOf, type UnwrittenPlacement } from '../observation/facts.ts';
import type { Failure } from '../failure/failure.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import { allPodsOf } from '../observation/gang.ts';
import { place, placementSpec } from './next-epoch.ts';
import { saveInterval } from './save-interval.ts';
import { placementSha256 } from '@coxswain/scheduling';
import { isRuntimeUnknown } from './runtime-standing.ts';
import type { UsablePoint } from '../failure/resume-point.ts';

/**
 * The recorded placement that must be created (again): as this process reserved or observed it, or recomputed if that gives the same hash. undefined:
 * it exists, its name is taken, or the gang is stopping. Also undefined if the cluster has changed: its nodes are unschedulable, or their GPUs are
 * taken.
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

/** A gang that is not released holds only reserved GPUs, so a placement that cannot be reserved again would wait in vain. */
function isOutOfReach({ observed }: Facts, { stage }: Attempt, spec: PlacementSpec): boolean {
  return stage === 'Creating' && observed.isReservable?.(spec) === false;
}

/** Name of the recorded Placement that needs a live read: it is not observed and cannot be recreated. */
export function missingPlacementName(record: JobRecord, facts: Facts): string | undefined {
  const attempt = unplacedAttempt(record, facts);
  // A running gang has its ranks, so it does not need the object.
  if (attempt?.stage !== 'Creating' || isTaken(facts, attempt)) return undefined;
  return unwrittenPlacement(record, facts) === undefined ? attempt.placement : undefined;
}

/** Whether the recorded Placement might be recreated if the runtime were known. */
export function needsRuntime(record: JobRecord, facts: Facts): boolean {
  const attempt = unplacedAttempt(record, facts);
  return attempt !== undefined && !isTaken(facts, attempt) && unwrittenPlacement(record, facts) === undefined;
}

/** Why the attempt lost its placement; undefined: it has not. No gate was lifted, so nothing ran and nothing is charged. */
export function lostPlacement(record: JobRecord, facts: Facts): Failure | undefined {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Creating') return undefined;
  const placement = placementOf(facts, attempt.epoch);
  if (placement !== undefined) return overtakenBy(facts, attempt, placement.spec);
  const refusal = facts.refusedPods.get(attempt.placement);
  if (refusal !== undefined) {
    const message = `The cluster refuses Placement ${attempt.placement}: ${refusal}`;
    return { reason: 'PodsRefused', message, crash: { lastLines: [] } };
  }
  if (isTaken(facts, attempt)) {
    return lost(
      `Placement ${attempt.placement} exists and is not the recorded one. Coxswain does not change it: delete it.`,
    );
  }
  if (!facts.isProven || missingPlacementName(record, facts) === undefined || isRuntimeUnknown(facts)) return undefined;
  return lost(`Placement ${attempt.placement} was recorded and does not exist, and other GPUs are free now.`);
}

/**
 * Failure of a placement whose GPUs others took. A reservation binds only pods of our jobs. Besides, a placement of an earlier leader may
 * be observed late, after its GPUs were given to another job.
 */
function overtakenBy({ observed }: Facts, { placement }: Attempt, spec: PlacementSpec): Failure | undefined {
  const taken = observed.takenNodes?.(spec) ?? [];
  if (taken.length === 0) return undefined;
  const more = taken.length > 1 ? ` and ${taken.length - 1} more` : '';
  return lost(
    `Other pods took GPUs of Placement ${placement} before its own pods were released, on node ${taken[0]}${more}.`,
  );
}

/** The current attempt, if it has a hash and no Placement. In a release without hashes, creating the Placement started the attempt. */
function unplacedAttempt(record: JobRecord, facts: Facts): Attempt | undefined {
  const attempt = liveAttempt(record);
  if (attempt === undefined || attempt.stage === 'Stopping' || attempt.placementSha256 === undefined) return undefined;
  return placementOf(facts, attempt.epoch) === undefined ? attempt : undefined;
}

/** Whether another Placement has the recorded name. One that the cache shows incompletely may be the recorded one; a live read decides. */
function isTaken(facts: Facts, attempt: Attempt): boolean {
  return facts.unrecordedPlacements.some(({ metadata, spec }) => metadata.name === attempt.placement && isUsable(spec));
}

function workedOutAgain(record: JobRecord, facts: Facts, attempt: Attempt): PlacementSpec | undefined {
  const acceptance = acceptanceOf(record, facts);
  const from = recordedPoint(facts, attempt);
  if (acceptance.kind !== 'accepted' || from === undefined) return undefined;
  const { spec } = acceptance;
  const placing = { spec, epoch: attempt.epoch, from, saves: saveInterval(record, spec, attempt.epoch) };
  if (attempt.stage !== 'Creating')
    return readFromPods(facts, { ...placing, spec: { ...placing.spec, layout: attempt.layout } }, attempt);
  const next = place(record, facts, placing);
  return next.kind === 'placing' ? next.spec : undefined;
}

/** The placement of a gang as its pods show it; undefined while some are not observed or not bound. */
function readFromPods(
  facts: Facts,
  placing: Parameters<typeof placementSpec>[1],
  attempt: Attempt,
): PlacementSpec | undefined {
  const pods = allPodsOf(facts, placing.epoch).toSorted((left, right) => left.podIndex - right.podIndex);
  const nodes = pods.flatMap(({ nodeName }) => nodeName ?? []);
  if (nodes.length === 0 || nodes.length < pods.length || pods.some(({ podIndex }, index) => podIndex !== index))
    return undefined;
  const { standbys = 0 } = attempt;
  const members = nodes.length - standbys;
  return placementSpec(facts, placing, { nodes, ranksPerPod: Math.ceil(worldSize(placing.spec.layout) / members) });
}

/** The attempt's recorded starting point; undefined: that checkpoint is not observed. */
function recordedPoint(facts: Facts, { resumedFrom }: Attempt): UsablePoint | undefined {
  if (resumedFrom === undefined) return { kind: 'scratch' };
  const checkpoint = facts.checkpoints.find(({ metadata }) => metadata.name === resumedFrom.checkpoint);
  return checkpoint === undefined ? undefined : { kind: 'checkpoint', checkpoint };
}

function lost(message: string): Failure {
  return { reason: 'PlacementLost', message, crash: { lastLines: [] } };
}
