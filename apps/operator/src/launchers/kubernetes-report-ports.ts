import { checkpointName, incarnationOf, saveDirectoryOf } from '@coxswain/checkpoint';
import {
  ANNOTATIONS,
  formatRanks,
  ranksOfPod,
  recordedLocation,
  seatedPlacement,
  type Attempt,
  type Checkpoint,
  type Placement,
  type PlacementSpec,
  type TrainingJob,
  stepsOf,
  podName,
} from '@coxswain/api-types';
import { isNotFound, keyOf, type CurrentLeader, type KubeClient, type KubeObject } from '@coxswain/kube';
import { isBeyondTraining, isFenced, progressOf } from '@coxswain/lifecycle';
import { isRecordedPlacement } from '@coxswain/scheduling';
import { toCachedPod, type CachedPod } from '../cluster/cached-pod.ts';
import { type ClusterCache } from '../cluster/cluster-cache.ts';
import { BY_JOB, BY_UID } from '../cluster/indexes.ts';
import { placementsPath, podsPath, trainingJobsPath } from '../cluster/paths.ts';
import type { TrainingJobStore } from '../training-job/training-job-store.ts';
import { CheckpointQuota } from './checkpoint-quota.ts';
import type { GangRoster } from '../ingest/health-reports.ts';
import type { NewestEpoch } from '../ingest/ingest-messages.ts';
import type { NewestGang } from './launcher-controller.ts';
import type { ReportingPod, ReportPorts, SavedByRanks } from '../ingest/session-ports.ts';

type PodIdentity = Parameters<ReportPorts['findPod']>[0];

interface PlaceOfPod {
  readonly gang: NonNullable<CachedPod['gang']>;
  readonly job: TrainingJob;
  readonly attempt: Attempt;
}

/** Options of {@link KubernetesReportPorts}. */
export interface KubernetesReportPortsOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly cache: ClusterCache;
  readonly store: Pick<TrainingJobStore, 'createCheckpoint'>;
  /** This replica's term as leader; undefined on a follower. */
  readonly term: () => number | undefined;
  readonly currentLeader: () => CurrentLeader | undefined;
  /** Number of Checkpoint objects kept for each job (`operator.checkpoints.kept`). */
  readonly checkpointsKept: number;
  readonly clock: { monotonicMs(): number };
}

/** Answers questions of the ingest thread from the cache, and from the API server if the cache may lag. */
export class KubernetesReportPorts {
  readonly #options: KubernetesReportPortsOptions;
  readonly #quota: CheckpointQuota;

  constructor(options: KubernetesReportPortsOptions) {
    this.#options = options;
    this.#quota = new CheckpointQuota({ kept: options.checkpointsKept, clock: options.clock });
  }

  leadership(): ReturnType<ReportPorts['leadership']> {
    const term = this.#options.term();
    if (term !== undefined) return { leading: true, term };
    const leaderUrl = this.#options.currentLeader()?.annotations[ANNOTATIONS.reportUrl];
    return leaderUrl === undefined ? { leading: false } : { leading: false, leaderUrl };
  }

  async findPod(pod: PodIdentity): Promise<ReportingPod | 'unknown' | 'unavailable'> {
    try {
      const placed = this.#placeOf(await this.#podOf(pod));
      if (placed === undefined) return 'unknown';
      const { gang, job, attempt } = placed;
      const placement = await this.#placementOf(job, attempt);
      if (typeof placement === 'string') return placement;
      const seated = seatedPlacement(placement, attempt);
      const ranks = ranksOfPod(seated, gang.podIndex);
      const totalSteps = stepsOf(job.spec);
      return {
        namespace: pod.namespace,
        jobName: job.metadata.name,
        jobUid: gang.jobUid,
        epoch: gang.epoch,
        podIndex: gang.podIndex,
        ranks,
        ...seatingOf(attempt, gang.podIndex),
        ...(totalSteps === undefined ? {} : { totalSteps }),
      };
    } catch {
      return 'unavailable';
    }
  }

  /** Whether the cache shows that pod as one of a gang. Also correct on a follower. */
  isKnownPod(pod: PodIdentity): boolean {
    return this.#placeOf(this.#cachedPodOf(pod)) !== undefined;
  }

  /** The job's newest attempt according to the cache; an undefined epoch means that the job does not exist. */
  newestEpoch(jobUid: string): Omit<NewestEpoch, 'jobUid'> {
    const job = this.#jobOf(jobUid);
    if (job === undefined) return { epoch: undefined, isFenced: false, incarnation: 1 };
    const epoch = job.status?.epoch ?? 0;
    const { incarnation = 1, earlySave } = attemptOf(job, epoch) ?? {};
    const asked = earlySave === undefined ? {} : { saveRequest: earlySave.request };
    return { epoch, isFenced: isFencedIn(job, epoch), incarnation, ...asked };
  }

  /** The job's newest attempt with its placement, if the cache has both, or 'gone'. For callers that retry. */
  newestGang(jobUid: string): NewestGang | 'gone' | undefined {
    const job = this.#jobOf(jobUid);
    if (job === undefined) return 'gone';
    const attempt = attemptOf(job, job.status?.epoch ?? 0);
    const placement = attempt && this.#cachedPlacementOf(job, attempt);
    if (attempt === undefined || placement === undefined) return undefined;
    const podUidOf = (podIndex: number): string | undefined => {
      const name = nameOfPod(job, attempt, podIndex);
      return this.#options.cache.pods.cached.get(keyOf({ metadata: { ...job.metadata, name } }))?.metadata.uid;
    };
    return { job, attempt, placement: seatedPlacement(placement, attempt), podUidOf };
  }

  /** Roster of the job's newest gang according to the cache; undefined if the attempt has ended. */
  roster(jobUid: string): GangRoster | undefined {
    const gang = this.newestGang(jobUid);
    if (gang === undefined || gang === 'gone') return undefined;
    const { job, attempt, placement } = gang;
    if (attempt.endedAt !== undefined) return undefined;
    const { namespace = '' } = job.metadata;
    const nodes = placement.nodes.map((node, podIndex) => ({
      node,
      ranks: formatRanks(ranksOfPod(placement, podIndex)),
    }));
    return { namespace, epoch: attempt.epoch, layout: attempt.layout, nodes };
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#quota.forget(jobUid);
  }

  /**
   * Records a checkpoint. Reads the attempt from the API server, because a new leader may have recorded a later one. Throws before any request if
   * checkpoints come too fast or are too many; the launcher retries.
   */
  async recordCheckpoint(pod: ReportingPod, saved: SavedByRanks): Promise<'recorded' | 'stale' | 'unwanted'> {
    const { namespace, jobName, jobUid, epoch } = pod;
    const { step, format, bytes, files, manifestSha256, verification, contents, progress } = saved;
    const seen = this.#jobOf(jobUid);
    // No state is kept for a deleted job.
    if (seen === undefined) throw new Error(`the job ${namespace}/${jobName} of UID ${jobUid} is not in the cache`);
    if (isBeyondTraining(seen.spec, step)) return 'unwanted';
    this.#quota.take(jobUid);
    const path = trainingJobsPath({ namespace, name: jobName });
    const job = await this.#getOrUndefined<TrainingJob & KubeObject>(path, jobUid);
    if (job === undefined || job.metadata.uid !== jobUid || (job.status?.epoch ?? 0) !== epoch) return 'stale';
    if (isFencedIn(job, epoch)) return 'stale';
    const fence = { epoch, incarnation: saved.incarnation };
    const directory = saveDirectoryOf(job, fence);
    const place = job.spec.checkpoint;
    if (directory === undefined || place === undefined) return 'unwanted';
    // The layout comes from the status, because the Placement may have been deleted.
    const attempt = attemptOf(job, epoch);
    if (attempt === undefined) throw new Error(`attempt ${epoch} of job ${namespace}/${jobName} is not in its status`);
    const { layout, incarnation = 1 } = attempt;
    // A later incarnation was started by a leader of this release, even if an operator of the previous release wrote the status since.
    if (saved.incarnation < incarnation) return 'unwanted';
    const name = checkpointName(job.metadata, { ...fence, step });
    const others = this.#checkpointsOf(pod);
    // An existing object is a repeated report.
    if (!others.some(({ metadata }) => metadata.name === name)) this.#quota.check(others.length);
    await this.#options.store.createCheckpoint(job, {
      name,
      spec: {
        jobName,
        jobUid,
        epoch,
        ...incarnationOf(fence),
        step,
        ...recordedLocation(place),
        path: `${directory}/${saved.directory}`,
        layout,
        format,
        bytes,
        files,
        manifestSha256,
      },
      // Only the operator says what a worker found.
      ...(verification === undefined ? {} : { verification: { ...verification, by: 'Launcher' } }),
      ...(contents === undefined ? {} : { contents }),
      ...(progress === undefined ? {} : { progress: progressOf(progress, this.#baseOf(pod, attempt)) }),
    });
    return 'recorded';
  }

  /** The checkpoint that the attempt began from, of any job of the namespace. */
  #baseOf({ namespace }: ReportingPod, { resumedFrom }: Attempt): Checkpoint | undefined {
    if (resumedFrom === undefined) return undefined;
    const { checkpoints } = this.#options.cache;
    const key = keyOf({ metadata: { namespace, name: resumedFrom.checkpoint } } as KubeObject);
    const cached = checkpoints.cached.get(key);
    return cached && checkpoints.newest(cached);
  }

  #cachedPodOf(pod: PodIdentity): CachedPod | undefined {
    const cached = this.#options.cache.pods.cached.get(keyOf({ metadata: pod }));
    return cached?.metadata.uid === pod.uid ? cached : undefined;
  }

  async #podOf(pod: PodIdentity): Promise<CachedPod | undefined> {
    const cached = this.#cachedPodOf(pod);
    if (cached !== undefined) return cached;
    const live = await this.#getOrUndefined<KubeObject>(podsPath(pod));
    return live?.metadata.uid === pod.uid ? toCachedPod(live) : undefined;
  }

  /**
   * Job and attempt of a pod. Any creator of pods may write labels and owners, so the pod must also have the unique name that the recorded attempt gives
   * it.
   */
  #placeOf(pod: CachedPod | undefined): PlaceOfPod | undefined {
    const gang = pod?.gang;
    if (pod === undefined || gang === undefined || gang.ownerUid !== gang.jobUid) return undefined;
    const job = this.#jobOf(gang.jobUid);
    const attempt = job && attemptOf(job, gang.epoch);
    if (job === undefined || attempt === undefined) return undefined;
    const { namespace, name } = pod.metadata;
    const isOurs = namespace === job.metadata.namespace && name === nameOfPod(job, attempt, gang.podIndex);
    return isOurs ? { gang, job, attempt } : undefined;
  }

  #checkpointsOf({ jobUid, namespace }: ReportingPod): readonly Checkpoint[] {
    const { checkpoints } = this.#options.cache;
    const known = checkpoints.view(jobUid, checkpoints.cached.byIndex(BY_JOB, jobUid));
    return known.filter(({ metadata }) => metadata.namespace === namespace);
  }

  #jobOf(jobUid: string): TrainingJob | undefined {
    const { jobs } = this.#options.cache;
    const cached = jobs.cached.byIndex(BY_UID, jobUid)[0];
    return cached === undefined ? undefined : jobs.newest(cached);
  }

  /**
   * The placement that the status records. If it was deleted while its gang runs, the copy in memory is used until it is created again; without one the
   * launcher retries.
   */
  async #placementOf(job: TrainingJob, attempt: Attempt): Promise<PlacementSpec | 'unknown' | 'unavailable'> {
    const cached = this.#cachedPlacementOf(job, attempt);
    if (cached !== undefined) return cached;
    const { uid, namespace } = job.metadata;
    const path = placementsPath({ namespace, name: attempt.placement });
    const live = await this.#getOrUndefined<Placement>(path);
    if (live?.spec.jobUid === uid && isRecordedPlacement(live, attempt)) return live.spec;
    return attempt.stage === 'Ended' ? 'unknown' : 'unavailable';
  }

  #cachedPlacementOf(job: TrainingJob, attempt: Attempt): PlacementSpec | undefined {
    const { placements } = this.#options.cache;
    const cached = placements.ofJob(job).find(({ spec, metadata }) => {
      return spec.jobUid === job.metadata.uid && isRecordedPlacement({ spec, metadata }, attempt);
    });
    const kept = placements.keptOf(job);
    return cached?.spec ?? (kept?.epoch === attempt.epoch ? kept : undefined);
  }

  async #getOrUndefined<T>(path: string, turnOf?: string): Promise<T | undefined> {
    try {
      // Connecting pods use a lane of their own, because there may be thousands and decisions must not wait for them.
      return await this.#options.client.get<T>(path, { lane: 'identity', ...(turnOf === undefined ? {} : { turnOf }) });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

/** What a session must know of a gang with standbys, whose pods do not hold the same ranks for ever. */
function seatingOf(
  { standbys, incarnation = 1, replacements = [] }: Attempt,
  podIndex: number,
): Pick<ReportingPod, 'ranksSince' | 'isReplaced'> {
  if (standbys === undefined) return {};
  const isReplaced = replacements.some((one) => one.podIndex === podIndex);
  return { ranksSince: incarnation, ...(isReplaced ? { isReplaced } : {}) };
}

function isFencedIn(job: TrainingJob | undefined, epoch: number): boolean {
  const attempt = job && attemptOf(job, epoch);
  return attempt !== undefined && isFenced(attempt);
}

function attemptOf(job: TrainingJob, epoch: number): Attempt | undefined {
  return job.status?.attempts?.findLast((one) => one.epoch === epoch);
}

function nameOfPod(job: TrainingJob, { epoch, placement }: Attempt, podIndex: number): string {
  return podName(job.metadata, { epoch, podIndex, placement });
}
