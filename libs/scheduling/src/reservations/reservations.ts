/**
 * Which GPUs are reserved for pods that are not bound yet? A placement reserves its GPUs before status records it, and until its pods are bound
 * or its attempt begins to stop.
 */
import {
  type Attempt,
  effectiveLayout,
  gpuCount,
  gpusOfPod,
  hasRanks,
  type Placement,
  type PlacementSpec,
  type TrainingJob,
  podName,
  seatedPlacement,
} from '@coxswain/api-types';
import { isClaimedPlacement } from './recorded-claim.ts';
import { isRecordedPlacement, placementSha256 } from './recorded-placement.ts';
import type { SchedulerView } from '../scheduler-view.ts';

/** How far one kind of object may lag behind another. For this long a write of this process counts although the view does not show it. */
const MAX_LAG_MS = 300_000;

/** GPUs that this process holds for a job. */
export interface Reservation {
  readonly placement: PlacementSpec;
  /** Milliseconds of the monotonic clock. */
  readonly sinceMs: number;
}

/** The reservations of this process, and those of recorded placements in the view. */
export class Reservations {
  readonly #view: SchedulerView;
  /** Placements that are to be recorded in status and created, by job UID. */
  readonly #reserved = new Map<string, Reservation>();
  /** Placements that this process has created, by job UID. Each lasts as long as its attempt, even if the view lags. */
  readonly #created = new Map<string, Reservation>();

  constructor(view: SchedulerView) {
    this.#view = view;
  }

  /** Reserves the placement's GPUs. The caller has checked that they are free. */
  reserve(placement: PlacementSpec): void {
    this.#reserved.set(placement.jobUid, { placement, sinceMs: this.#view.monotonicMs() });
  }

  /** Records that the reserved placement was created. */
  markCreated(jobUid: string): void {
    const reservation = this.#reserved.get(jobUid);
    if (reservation === undefined) return;
    this.#reserved.delete(jobUid);
    this.#created.set(jobUid, reservation);
  }

  /** Releases the job's reservation unless its placement was created. */
  release(jobUid: string): void {
    this.#reserved.delete(jobUid);
  }

  /** Drops every reservation of the job. */
  forget(jobUid: string): void {
    this.#reserved.delete(jobUid);
    this.#created.delete(jobUid);
  }

  /** The placement that is reserved for the job; undefined: none. */
  reservedFor(jobUid: string): PlacementSpec | undefined {
    this.#dropEnded(jobUid);
    return (this.#reserved.get(jobUid) ?? this.#created.get(jobUid))?.placement;
  }

  /** Every reservation of this process that still holds. */
  reservations(): readonly Reservation[] {
    for (const jobUid of [...this.#created.keys(), ...this.#reserved.keys()]) this.#dropEnded(jobUid);
    return [...this.#created.values(), ...this.#reserved.values()];
  }

  /** Jobs whose reserved attempt no status records yet, oldest reservation first. */
  unrecorded(): readonly TrainingJob[] {
    return this.reservations()
      .toSorted((one, other) => one.sinceMs - other.sinceMs)
      .flatMap(({ placement }) => {
        const job = this.#view.job(placement.jobUid);
        return job === undefined || (job.status?.epoch ?? 0) >= placement.epoch ? [] : [job];
      });
  }

  /** Placements of other jobs that hold GPUs, reserved by this process or recorded in status. */
  ofOthersThan(jobUid: string): readonly PlacementSpec[] {
    const isOther = (placement: PlacementSpec): boolean => placement.jobUid !== jobUid;
    const own = this.reservations().map(({ placement }) => placement);
    const byJob = new Map(own.map((placement) => [placement.jobUid, placement]));
    const isOwn = (seen: PlacementSpec): boolean => {
      const held = byJob.get(seen.jobUid);
      return held !== undefined && placementSha256(held) === placementSha256(seen);
    };
    const recorded = this.#view
      .placements()
      .filter((one) => isOther(one.spec) && this.#isActive(one) && !isOwn(one.spec))
      .map(({ spec }) => spec);
    return [...recorded, ...own.filter(isOther)];
  }

  /** Adds to `used` the GPUs of the placement's pods that are not bound yet. */
  addUnbound(placement: PlacementSpec, used: Map<string, number>): void {
    const owner = this.#view.job(placement.jobUid);
    const settled = owner === undefined ? NONE : this.#view.settledPods(owner);
    const { epoch } = placement;
    // A placement that status does not record yet has no pods.
    const attempt = owner?.status?.attempts?.findLast((one) => one.epoch === epoch);
    const names = settled.size === 0 ? [] : podNames(placement, attempt?.placement);
    const gone = settled.size === 0 ? NO_INDICES : this.#goneWithoutRanks(owner, { attempt, placement, names });
    const sizes = podSizes(placement);
    placement.nodes.forEach((node, podIndex) => {
      if (settled.has(names[podIndex] ?? '') || gone.has(podIndex)) return;
      used.set(node, (used.get(node) ?? 0) + (sizes[podIndex] ?? 0));
    });
  }

  /**
   * Pods of a released gang that hold no ranks and were deleted: none of them is created again. Only gangs with standbys have such pods. Before a pod is
   * bound or has ended, nothing was deleted.
   */
  #goneWithoutRanks(
    owner: TrainingJob | undefined,
    gang: {
      readonly attempt: Attempt | undefined;
      readonly placement: PlacementSpec;
      readonly names: readonly string[];
    },
  ): ReadonlySet<number> {
    const { attempt, placement, names } = gang;
    if (owner === undefined || attempt?.stage !== 'Released' || attempt.standbys === undefined) return NO_INDICES;
    const seated = seatedPlacement(placement, attempt);
    const isGone = (podIndex: number): boolean =>
      !hasRanks(seated, podIndex) && this.#view.hasPod?.(owner, names[podIndex] ?? '') === false;
    return new Set([...placement.nodes.keys()].filter((podIndex) => isGone(podIndex)));
  }

  /** Drops what is reserved for a job that is gone, and what was created for an attempt that is over. */
  #dropEnded(jobUid: string): void {
    const created = this.#created.get(jobUid);
    if (this.#view.job(jobUid) === undefined) this.forget(jobUid);
    else if (created !== undefined && !this.#isHeld(created)) this.#created.delete(jobUid);
  }

  #isHeld({ placement, sinceMs }: Reservation): boolean {
    const job = this.#view.job(placement.jobUid);
    if (job === undefined) return false;
    const attempt = job.status?.attempts?.at(-1);
    if (attempt === undefined || attempt.epoch < placement.epoch)
      return this.#view.monotonicMs() - sinceMs < MAX_LAG_MS;
    const isSame = attempt.placementSha256 === undefined || attempt.placementSha256 === placementSha256(placement);
    return attempt.epoch === placement.epoch && isSame && isUnderWay(attempt);
  }

  /**
   * Whether pods of this placement may still be created: its job's status records it, its attempt is not stopping, and it has no more ranks
   * than the job asks for. The same holds for one that a standing claim records. Any other placement is left over or forged, and holds no GPUs.
   */
  #isActive(placement: Placement): boolean {
    const job = this.#view.job(placement.spec.jobUid);
    if (job === undefined || job.metadata.namespace !== placement.metadata.namespace) return false;
    if (isClaimedPlacement(placement, job)) return true;
    const attempt = attemptHoldingReservation(job);
    if (attempt === undefined) return false;
    const requested = gpuCount(effectiveLayout(job.spec, job.status?.plan), job.spec.gpus);
    return placement.spec.worldSize <= requested && isRecordedPlacement(placement, attempt);
  }
}

const NONE: ReadonlySet<string> = new Set();
const NO_INDICES: ReadonlySet<number> = new Set();

/** A placement never changes, one of a large gang is long, and it is read whenever used GPUs are counted while its pods start. */
const knownNames = new WeakMap<PlacementSpec, { readonly recorded: string | undefined; readonly names: string[] }>();

/** Names of the pods of a placement, under the name by which status records it. */
function podNames(placement: PlacementSpec, recorded: string | undefined): readonly string[] {
  const known = knownNames.get(placement);
  if (known !== undefined && known.recorded === recorded) return known.names;
  const { jobName, jobUid, epoch } = placement;
  const job = { name: jobName, uid: jobUid };
  const names = placement.nodes.map((_, podIndex) => podName(job, { epoch, podIndex, placement: recorded }));
  knownNames.set(placement, { recorded, names });
  return names;
}

const knownSizes = new WeakMap<PlacementSpec, readonly number[]>();

/** GPUs that each pod of a placement requests. */
function podSizes(placement: PlacementSpec): readonly number[] {
  const known = knownSizes.get(placement);
  if (known !== undefined) return known;
  const sizes = placement.nodes.map((_, podIndex) => gpusOfPod(placement, podIndex));
  knownSizes.set(placement, sizes);
  return sizes;
}

/** The job's attempt whose pods may still be created or bound. */
export function attemptHoldingReservation({ status }: Pick<TrainingJob, 'status'>): Attempt | undefined {
  const attempt = status?.attempts?.at(-1);
  return attempt !== undefined && attempt.epoch === status?.epoch && isUnderWay(attempt) ? attempt : undefined;
}

function isUnderWay({ stage }: Attempt): boolean {
  return stage === 'Creating' || stage === 'Released';
}
