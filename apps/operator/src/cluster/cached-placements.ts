import { ANNOTATIONS, type Placement, type PlacementSpec, type TrainingJob } from '@coxswain/api-types';
import { keyOf, OwnWrites, type KubeClient, type KubeObject, type ObjectCache } from '@coxswain/kube';
import { isRecordedPlacement } from '@coxswain/scheduling';
import { BY_JOB, BY_UID } from './indexes.ts';
import { placementsPath } from './paths.ts';

type PlacementObject = Placement & KubeObject;
type JobObject = TrainingJob & KubeObject;

/** What the placements of a cluster are read with. */
export interface CachedPlacementsParts {
  readonly cached: ObjectCache<PlacementObject>;
  readonly jobs: OwnWrites<JobObject>;
  readonly client: Pick<KubeClient, 'get'>;
  readonly clock: { monotonicMs(): number };
  readonly onProblem: (problem: unknown) => void;
}

/**
 * Placements, of which only those that the status of their job records are kept whole: whoever may create them may create many and large ones, and
 * of a stranger's nobody needs more than its name. Kinds lag apart, so one that comes before the status that records it is read again then.
 */
export class CachedPlacements {
  readonly #parts: CachedPlacementsParts;
  readonly #own: OwnWrites<PlacementObject>;
  /** Those that were written or read by name, by UID, until they are gone: the watch may have brought no more than a stub of them. */
  readonly #whole = new Map<string, PlacementObject>();
  readonly #reading = new Set<string>();
  /** Those of gangs that are up which somebody deleted, by the UID of their job: what they say still holds, and they are made again from here. */
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

  /** What the watch brought, for changes. */
  get cached(): ObjectCache<PlacementObject> {
    return this.#parts.cached;
  }

  /** Those that say to be of that job, in its namespace: whole where they are recorded, else by name, job and epoch alone. */
  ofJob({ metadata: { uid, namespace } }: TrainingJob): readonly PlacementObject[] {
    const placements = this.#own.view(uid, this.cached.byIndex(BY_JOB, uid));
    return placements.filter(({ metadata }) => metadata.namespace === namespace).map((one) => this.#newest(one));
  }

  /** Every one that is kept whole, those included that somebody deleted under a gang that is up. */
  whole(): readonly PlacementObject[] {
    const there = this.#own
      .all()
      .map((one) => this.#newest(one))
      .filter(isWhole);
    return [...there, ...this.#kept.values()];
  }

  /** The one that status records of the attempt under way, where it was here and somebody deleted it; undefined while it is there. */
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

  /** Status records one of which only a stub is here. */
  #complete(job: JobObject): void {
    const { name: jobName, namespace, uid } = job.metadata;
    const attempt = job.status?.attempts?.at(-1);
    if (attempt === undefined || attempt.stage === 'Ended') return void this.#kept.delete(uid);
    const name = attempt.placement;
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
  const { name, namespace, uid, resourceVersion, deletionTimestamp, annotations } = placement.metadata;
  const isKept = isRecorded(placement, jobs);
  const places = isKept ? annotations?.[ANNOTATIONS.places] : undefined;
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(places === undefined ? {} : { annotations: { [ANNOTATIONS.places]: places } }),
  } as PlacementObject['metadata'];
  const { apiVersion, kind, spec } = placement;
  const { jobUid, epoch } = spec;
  // What lacks nodes is no placement for whoever reads it, and is nobody's then.
  const kept = isKept ? spec : ({ jobUid, epoch } as PlacementSpec);
  return { apiVersion, kind, metadata, spec: kept };
}

function isRecorded(placement: PlacementObject, jobs: OwnWrites<JobObject>): boolean {
  const cached = jobs.cached.byIndex(BY_UID, placement.spec.jobUid)[0];
  if (cached === undefined || cached.metadata.namespace !== placement.metadata.namespace) return false;
  const { status } = jobs.newest(cached);
  return (status?.attempts ?? []).some((attempt) => isRecordedPlacement(placement, attempt));
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
