/**
 * Which GPUs are promised to pods that are not bound yet? A placement promises its GPUs from the moment at which it is reserved, before status
 * records it, until its pods are bound or its attempt is told to stop.
 */
import {
  type Attempt,
  effectiveLayout,
  gpuCount,
  type Placement,
  type PlacementSpec,
  ranksOfPod,
  type TrainingJob,
  podName,
} from '@coxswain/api-types';
import { isRecordedPlacement, placementSha256 } from './recorded-placement.ts';
import type { AdmissionView } from '../scheduler-view.ts';

/** How far a kind may lag behind another: for so long what this process wrote counts although the view does not tell of it. */
const MOST_LAG_MS = 300_000;

/** GPUs that this process holds for a job. */
export interface Reservation {
  readonly placement: PlacementSpec;
  /** Monotonic. */
  readonly sinceMs: number;
}

export class Promises {
  readonly #view: AdmissionView;
  /** What status is to record or records, and is to be created; by job UID. */
  readonly #reserved = new Map<string, Reservation>();
  /** What this process has created: it lasts as long as its attempt, whatever a view that lags shows. */
  readonly #created = new Map<string, Reservation>();

  constructor(view: AdmissionView) {
    this.#view = view;
  }

  /** Nobody else's promise is asked here: the caller has seen that it fits. */
  reserve(placement: PlacementSpec): void {
    this.#reserved.set(placement.jobUid, { placement, sinceMs: this.#view.monotonicMs() });
  }

  /** The reserved placement exists. */
  created(jobUid: string): void {
    const reservation = this.#reserved.get(jobUid);
    if (reservation === undefined) return;
    this.#reserved.delete(jobUid);
    this.#created.set(jobUid, reservation);
  }

  /** Gives up what is reserved; what was created stays. */
  release(jobUid: string): void {
    this.#reserved.delete(jobUid);
  }

  forget(jobUid: string): void {
    this.#reserved.delete(jobUid);
    this.#created.delete(jobUid);
  }

  reservedFor(jobUid: string): PlacementSpec | undefined {
    this.#dropDead(jobUid);
    return (this.#reserved.get(jobUid) ?? this.#created.get(jobUid))?.placement;
  }

  reservations(): readonly Reservation[] {
    for (const jobUid of [...this.#created.keys(), ...this.#reserved.keys()]) this.#dropDead(jobUid);
    return [...this.#created.values(), ...this.#reserved.values()];
  }

  /** What is promised to others than that job. */
  toOthersThan(jobUid: string): readonly PlacementSpec[] {
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

  /** Adds GPUs of the placement's pods that are not bound yet. */
  addUnbound(placement: PlacementSpec, used: Map<string, number>): void {
    const owner = this.#view.job(placement.jobUid);
    const settled = owner === undefined ? NONE : this.#view.settledPods(owner);
    const job = { name: placement.jobName, uid: placement.jobUid };
    const { epoch } = placement;
    // Before status records it, it has no pods.
    const recorded = owner?.status?.attempts?.findLast((attempt) => attempt.epoch === epoch)?.placement;
    placement.nodes.forEach((node, podIndex) => {
      if (settled.has(podName(job, { epoch, podIndex, placement: recorded }))) return;
      used.set(node, (used.get(node) ?? 0) + ranksOfPod(placement, podIndex).length);
    });
  }

  /** Reservations die with their jobs, and what was created with its attempt. */
  #dropDead(jobUid: string): void {
    const created = this.#created.get(jobUid);
    if (this.#view.job(jobUid) === undefined) this.forget(jobUid);
    else if (created !== undefined && !this.#stands(created)) this.#created.delete(jobUid);
  }

  #stands({ placement, sinceMs }: Reservation): boolean {
    const job = this.#view.job(placement.jobUid);
    if (job === undefined) return false;
    const attempt = job.status?.attempts?.at(-1);
    if (attempt === undefined || attempt.epoch < placement.epoch)
      return this.#view.monotonicMs() - sinceMs < MOST_LAG_MS;
    const isSame = attempt.placementSha256 === undefined || attempt.placementSha256 === placementSha256(placement);
    return attempt.epoch === placement.epoch && isSame && isUnderWay(attempt);
  }

  /**
   * Whether pods of this placement may still be made: it is the one that the status of its job records, of an attempt that has not been told to
   * stop, and has no more ranks than the job asks for. Any other one is left over, or a stranger's, and holds nothing.
   */
  #isActive(placement: Placement): boolean {
    const job = this.#view.job(placement.spec.jobUid);
    if (job === undefined || job.metadata.namespace !== placement.metadata.namespace) return false;
    const attempt = promisingAttempt(job);
    if (attempt === undefined) return false;
    const asked = gpuCount(effectiveLayout(job.spec, job.status?.plan), job.spec.gpus);
    return placement.spec.worldSize <= asked && isRecordedPlacement(placement, attempt);
  }
}

const NONE: ReadonlySet<string> = new Set();

/** The job's attempt whose pods may still be made or bound. */
export function promisingAttempt({ status }: Pick<TrainingJob, 'status'>): Attempt | undefined {
  const attempt = status?.attempts?.at(-1);
  return attempt !== undefined && attempt.epoch === status?.epoch && isUnderWay(attempt) ? attempt : undefined;
}

function isUnderWay({ stage }: Attempt): boolean {
  return stage === 'Creating' || stage === 'Released';
}
