import { ANNOTATIONS, LABELS, type Placement, type PlacementSpec, type TrainingJob } from '@coxswain/api-types';
import { keyOf, OwnWrites, type KubeClient, type KubeObject, type ObjectCache } from '@coxswain/kube';
import { isRecordedPlacement, recordedClaim } from '@coxswain/scheduling';
import { BY_JOB, BY_UID } from './indexes.ts';
import { placementsPath } from './paths.ts';

type PlacementObject = Placement & KubeObject;
type JobObject = TrainingJob & KubeObject;

/** Parts of {@link CachedPlacements}. */
export interface CachedPlacementsParts {
  readonly cached: ObjectCache<PlacementObject>;
  readonly jobs: OwnWrites<JobObject>;
  readonly client: Pick<KubeClient, 'get'>;
  readonly clock: { monotonicMs(): number };
  readonly onProblem: (problem: unknown) => void;
}

/**
 * Cached placements. Only those that the status of their job records are kept whole; of others only name, job and epoch, because their creators may create
 * many large ones. A placement may arrive before the status that records it; it is then read again when the status arrives.
 */
export class CachedPlacements {
  readonly #parts: CachedPlacementsParts;
  readonly #own: OwnWrites<PlacementObject>;
  /** Those that were written or read by name, by UID, until they are gone: the watch may have brought no more than a stub of them. */
  readonly #whole = new Map<string, PlacementObject>();
  readonly #reading = new Set<string>();
  /** Deleted placements of running gangs, by job UID. They stay valid and are created again from this copy. */
  readonly #kept = new Map<string, PlacementObject>();

  constructor(parts: CachedPlacementsParts) {
    this.#parts = parts;
    this.#own = new OwnWrites(parts.cached, parts.clock);
    parts.cached.onChange(({ kind, object }) => {
      if (kind !== 'deleted') return this.#forgetKept(object);
      this.#keep(this.#newest(object));
      this.#whole.delete(object.metadata.uid ?? '');
    });
    parts.jobs.cached.onChange(({ kind, object }) => {
      if (kind === 'deleted') this.#kept.delete(object.metadata.uid);
      else this.#complete(object);
    });
  }

  /** The cache that the watch fills, for change events. */
  get cached(): ObjectCache<PlacementObject> {
    return this.#parts.cached;
  }

  /** Placements that claim that job in its namespace: whole if recorded, otherwise only name, job and epoch. */
  ofJob({ metadata: { uid, namespace } }: TrainingJob): readonly PlacementObject[] {
    const placements = this.#own.view(uid, this.cached.byIndex(BY_JOB, uid));
    return placements.filter(({ metadata }) => metadata.namespace === namespace).map((one) => this.#newest(one));
  }

  /** All placements that are kept whole, including deleted ones of running gangs. */
  whole(): readonly PlacementObject[] {
    const there = this.#own
      .all()
      .map((one) => this.#newest(one))
      .filter(isWhole);
    return [...there, ...this.#kept.values()];
  }

  /** The recorded placement of the current attempt, if it was deleted; undefined while it exists. */
  keptOf(job: TrainingJob): PlacementSpec | undefined {
    const { uid } = job.metadata;
    const kept = this.#kept.get(uid);
    return kept !== undefined && isOfGangUp(kept, job) ? kept.spec : undefined;
  }

  /** One as a write or a live read answered it, for the job of that UID. */
  remember(jobUid: string, placement: PlacementObject): void {
    const { uid } = placement.metadata;
    if (uid !== undefined && !this.#own.isGone(uid)) {
      this.#whole.set(uid, placement);
      this.#forgetKept(placement);
    }
    this.#own.remember(jobUid, placement);
  }

  rememberGone(uid: string): void {
    this.#whole.delete(uid);
    this.#own.rememberGone(uid);
  }

  #newest(placement: PlacementObject): PlacementObject {
    return isWhole(placement) ? placement : (this.#whole.get(placement.metadata.uid ?? '') ?? placement);
  }

  /** It is there again. */
  #forgetKept({ metadata, spec }: PlacementObject): void {
    if (this.#kept.get(spec.jobUid)?.metadata.name === metadata.name) this.#kept.delete(spec.jobUid);
  }

  #keep(placement: PlacementObject): void {
    const { jobUid } = placement.spec;
    const cached = this.#parts.jobs.cached.byIndex(BY_UID, jobUid)[0];
    if (cached === undefined || cached.metadata.namespace !== placement.metadata.namespace || !isWhole(placement))
      return;
    if (isOfGangUp(placement, this.#parts.jobs.newest(cached))) this.#kept.set(jobUid, placement);
  }

  /** Reads a placement again if the status records it and only a stub is cached. */
  #complete(job: JobObject): void {
    const { name: jobName, namespace, uid } = job.metadata;
    const attempt = job.status?.attempts?.at(-1);
    const isUp = attempt !== undefined && attempt.stage !== 'Ended';
    if (!isUp) this.#kept.delete(uid);
    const name = isUp ? attempt.placement : recordedClaim(job)?.placement;
    if (name === undefined) return;
    const key = keyOf({ metadata: { name, ...(namespace === undefined ? {} : { namespace }) } });
    const stub = this.cached.get(key);
    if (stub === undefined || isWhole(this.#newest(stub)) || this.#reading.has(key)) return;
    this.#reading.add(key);
    void this.#parts.client
      .get<PlacementObject>(placementsPath({ namespace, name }))
      .then((placement) => this.remember(uid, placement))
      .catch((error: unknown) => this.#parts.onProblem({ where: 'placement', job: jobName, error }))
      .finally(() => this.#reading.delete(key));
  }
}

/** The part of a placement that is kept: all of it where the status of its job records it. */
export function toCachedPlacement(placement: PlacementObject, jobs: OwnWrites<JobObject>): PlacementObject {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, annotations, labels } = placement.metadata;
  const isKept = isRecorded(placement, jobs);
  const places = isKept ? annotations?.[ANNOTATIONS.places] : undefined;
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(places === undefined ? {} : { annotations: { [ANNOTATIONS.places]: places } }),
    ...(labels?.[LABELS.claim] === undefined ? {} : { labels: { [LABELS.claim]: labels[LABELS.claim] } }),
  } as PlacementObject['metadata'];
  const { apiVersion, kind, spec } = placement;
  const { jobUid, epoch } = spec;
  // A placement without nodes is invalid and belongs to no job.
  const kept = isKept ? spec : ({ jobUid, epoch } as PlacementSpec);
  return { apiVersion, kind, metadata, spec: kept };
}

function isRecorded(placement: PlacementObject, jobs: OwnWrites<JobObject>): boolean {
  const cached = jobs.cached.byIndex(BY_UID, placement.spec.jobUid)[0];
  if (cached === undefined || cached.metadata.namespace !== placement.metadata.namespace) return false;
  const { status } = jobs.newest(cached);
  const recorded = [...(status?.attempts ?? []), status?.claim ?? []].flat();
  return recorded.some((one) => isRecordedPlacement(placement, one));
}

/** Whether it is the recorded one of an attempt that has not ended. */
function isOfGangUp(placement: Placement, { status }: TrainingJob): boolean {
  const attempt = status?.attempts?.at(-1);
  return (
    attempt !== undefined && attempt.stage !== 'Ended' && isWhole(placement) && isRecordedPlacement(placement, attempt)
  );
}

function isWhole({ spec }: Placement): boolean {
  return Array.isArray((spec as Partial<PlacementSpec>).nodes);
}
