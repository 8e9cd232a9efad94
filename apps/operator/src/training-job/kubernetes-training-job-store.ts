// A little over 400 lines: every read and write that the reconciler makes of the cluster, each of them a few lines.
import {
  API_GROUP_VERSION,
  FINALIZER,
  POD_FINALIZER,
  SCHEDULING_GATE,
  type Checkpoint,
  type CheckpointResourceStatus,
  type ObjectReference,
  type Placement,
  type PlacementSpec,
  type TrainingJob,
  type TrainingJobStatus,
  type ReadReferences,
} from '@coxswain/api-types';
import type { NodeCondition } from '@coxswain/health';
import {
  isAlreadyExists,
  isConflict,
  isDeniedByAdmission,
  isDryRunUnsupported,
  isInvalid,
  isNotFound,
  type Clock,
  type KubeClient,
  type KubeObject,
  type Replacement,
} from '@coxswain/kube';
import {
  type LiveRead,
  type NodeCensus,
  type NodeNotice,
  type NodeState,
  type ObservedPod,
  type PodReference,
  withReadableStatus,
} from '@coxswain/lifecycle';
import type { PodDemand } from '@coxswain/scheduling';
import type { CachedPod } from '../cluster/cached-pod.ts';
import { childLabels, type ClusterCache } from '../cluster/cluster-cache.ts';
import { checkpointsPath, placementsPath, podsPath, trainingJobsPath } from '../cluster/paths.ts';
import { ComputeDomains } from './compute-domains.ts';
import { type PlacesOf, toPlacement } from './placement-manifest.ts';
import { JobReads } from './job-reads.ts';
import { readPodWarning } from './pod-event-reads.ts';
import { checkQuotas } from './quota-reads.ts';
import { readReferences } from './reference-reads.ts';
import {
  type ComputeDomainName,
  type DamagedCheckpoint,
  inspectionOf,
  type NewCheckpoint,
  type TrainingJobStore,
} from './training-job-store.ts';

/** Field manager of everything that the operator applies. */
export const FIELD_MANAGER = 'coxswain-operator';

type JobObject = TrainingJob & KubeObject;
type Merge = Readonly<Record<string, unknown>>;

/** The store over the Kubernetes API. `client` must refuse writes when this process does not lead. */
export class KubernetesTrainingJobStore implements TrainingJobStore {
  readonly #client: KubeClient;
  readonly #cache: ClusterCache;
  readonly #reads: JobReads;
  readonly #domains: ComputeDomains;
  readonly #placesOf: PlacesOf;

  constructor(options: {
    readonly client: KubeClient;
    readonly cache: ClusterCache;
    readonly clock: Pick<Clock, 'now'>;
    readonly placesOf?: PlacesOf;
  }) {
    this.#client = options.client;
    this.#cache = options.cache;
    this.#reads = new JobReads({ ...options, now: () => options.clock.now() });
    this.#domains = new ComputeDomains(options.client);
    this.#placesOf = options.placesOf ?? ((): undefined => undefined);
  }

  findJob(key: string): TrainingJob | undefined {
    return this.#reads.findJob(key);
  }

  podsOf(job: TrainingJob): readonly ObservedPod[] {
    return this.#reads.podsOf(job);
  }

  placementsOf(job: TrainingJob): readonly Placement[] {
    return this.#reads.placementsOf(job);
  }

  checkpointsOf(job: TrainingJob): readonly Checkpoint[] {
    return this.#reads.checkpointsOf(job);
  }

  nodeStates(names: readonly string[], namespace?: string): ReadonlyMap<string, NodeState> {
    return this.#reads.nodeStates(names, namespace);
  }

  readLive(job: TrainingJob, what: LiveRead): Promise<ReadonlyMap<string, NodeState>> {
    return this.#reads.readLive(job, what);
  }

  readCheckpoints(job: TrainingJob): Promise<void> {
    return this.#reads.readCheckpoints(job);
  }

  readPodWarning(job: TrainingJob, pod: PodReference): Promise<string | undefined> {
    return readPodWarning(this.#client, job.metadata.namespace, pod);
  }

  readReferences(job: TrainingJob, references: readonly ObjectReference[]): Promise<ReadReferences> {
    return readReferences(this.#client, job.metadata.namespace, references);
  }

  keptPlacementOf(job: TrainingJob): PlacementSpec | undefined {
    return this.#cache.placements.keptOf(job);
  }

  nodeCensus(): NodeCensus {
    return this.#cache.nodeCensus.now;
  }

  bootIdOf(node: string): string | undefined {
    return this.#cache.nodes.get(node)?.bootId;
  }

  readySinceOf(node: string): string | undefined {
    return this.#cache.nodes.get(node)?.readySince;
  }

  nodeConditionsOf(node: string): readonly NodeCondition[] {
    return this.#cache.nodes.get(node)?.conditions ?? [];
  }

  noticeOf(node: string, namespace?: string): NodeNotice | undefined {
    return this.#reads.noticeOf(node, namespace);
  }

  comingNoticeOf(node: string, namespace?: string): NodeNotice | undefined {
    return this.#reads.comingNoticeOf(node, namespace);
  }

  async writeStatus(job: TrainingJob, status: TrainingJobStatus): Promise<TrainingJob> {
    const { name, namespace } = job.metadata;
    const path = trainingJobsPath({ namespace, name });
    // The resourceVersion makes this a compare-and-set, so that a changed spec is reconciled first.
    const body = { ...job, metadata: versionOf(job), status };
    return this.#updatingJob(job, () => this.#client.replace(path, body, { subresource: 'status' }));
  }

  async addFinalizer(job: TrainingJob): Promise<void> {
    const finalizers = job.metadata.finalizers ?? [];
    if (!finalizers.includes(FINALIZER)) await this.#setFinalizers(job, [...finalizers, FINALIZER]);
  }

  async removeFinalizer(job: TrainingJob): Promise<void> {
    const finalizers = job.metadata.finalizers ?? [];
    if (!finalizers.includes(FINALIZER)) return;
    await this.#setFinalizers(
      job,
      finalizers.filter((finalizer) => finalizer !== FINALIZER),
    );
  }

  async createPlacement(
    job: TrainingJob,
    placement: { readonly name: string; readonly spec: PlacementSpec; readonly ofClaim?: true },
  ): Promise<void> {
    const { namespace, uid } = job.metadata;
    const { name, spec } = placement;
    const body = toPlacement(job, placement, this.#placesOf(spec.nodes));
    try {
      const created = await this.#client.create<Placement & KubeObject>(placementsPath({ namespace }), body);
      this.#cache.placements.remember(uid, created);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      // Created by us with a lost response, by an earlier leader, or by another program; its hash shows which.
      await this.#reads.readPlacement(job, name);
    }
  }

  async deletePlacement(job: TrainingJob, placement: PodReference): Promise<void> {
    const path = placementsPath({ namespace: job.metadata.namespace, name: placement.name });
    try {
      await this.#deleteIfPresent(job, path, placement);
    } catch (error) {
      if (!isConflict(error)) throw error;
      const live = await this.#reads.readOrUndefined(path);
      if (live?.metadata.uid === placement.uid) return;
    }
    this.#cache.placements.rememberGone(placement.uid);
  }

  async probePod(
    job: TrainingJob,
    manifest: Record<string, unknown>,
    { computeDomain, gang }: { readonly computeDomain: ComputeDomainName | undefined; readonly gang: PodDemand },
  ): Promise<void> {
    // First, because a job that waits for its quota asks again and again, and the answer of one list is enough.
    await checkQuotas(this.#client, job.metadata.namespace, gang);
    if (computeDomain !== undefined) await this.#domains.create(job, computeDomain, { dryRun: true });
    try {
      await this.#client.create<KubeObject>(podsPath({ namespace: job.metadata.namespace }), manifest, {
        dryRun: true,
      });
    } catch (error) {
      // A taken name is handled when the pod is created, and a webhook may not support dry runs.
      if (!isAlreadyExists(error) && !isDryRunUnsupported(error)) throw error;
    }
  }

  async createPod(job: TrainingJob, manifest: Record<string, unknown>): Promise<void> {
    const { namespace } = job.metadata;
    try {
      this.#reads.rememberPod(
        job,
        await this.#client.create<KubeObject>(podsPath({ namespace }), manifest, ofGang(job)),
      );
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      await this.#reads.readPod(job, (manifest['metadata'] as { readonly name: string }).name);
    }
  }

  createComputeDomain(job: TrainingJob, domain: ComputeDomainName): Promise<void> {
    return this.#domains.create(job, domain);
  }

  deleteComputeDomain(job: TrainingJob, name: string): Promise<void> {
    return this.#domains.delete(job, name);
  }

  async liftGate(job: TrainingJob, pod: PodReference): Promise<void> {
    const gate = `/spec/schedulingGates/${this.#gangFacts(job, pod)?.gatePosition ?? 0}`;
    await this.#removeFromPod(job, pod, { value: `${gate}/name`, is: SCHEDULING_GATE, entry: gate });
  }

  async releasePod(job: TrainingJob, pod: PodReference): Promise<void> {
    const entry = `/metadata/finalizers/${this.#gangFacts(job, pod)?.finalizerPosition ?? 0}`;
    await this.#removeFromPod(job, pod, { value: entry, is: POD_FINALIZER, entry });
  }

  #gangFacts(job: TrainingJob, pod: PodReference): CachedPod['gang'] {
    return this.#cache.pods.get(`${job.metadata.namespace}/${pod.name}`, pod.uid)?.gang;
  }

  /** Removes an entry from one of the pod's lists, if the pod has that UID and the entry has the expected value. */
  async #removeFromPod(
    job: TrainingJob,
    pod: PodReference,
    what: { readonly value: string; readonly is: string; readonly entry: string },
  ): Promise<void> {
    const path = podsPath({ namespace: job.metadata.namespace, name: pod.name });
    const patch = [
      { op: 'test', path: '/metadata/uid', value: pod.uid },
      { op: 'test', path: what.value, value: what.is },
      { op: 'remove', path: what.entry },
    ];
    try {
      this.#reads.rememberPod(job, await this.#client.patch<KubeObject>(path, patch, { type: 'json', ...ofGang(job) }));
    } catch (error) {
      if (isNotFound(error)) return this.#cache.pods.rememberGone(pod.uid);
      // A policy answers 422 too, and then the entry stays.
      if (!isInvalid(error) || isDeniedByAdmission(error)) throw error;
      // Removed already, or the list has changed, or another pod bears the name: only the server knows.
      await this.#reads.readPod(job, pod.name);
    }
  }

  async deletePod(
    job: TrainingJob,
    pod: PodReference & { readonly gracePeriodSeconds: number },
  ): Promise<'deleted' | 'changed'> {
    const path = podsPath({ namespace: job.metadata.namespace, name: pod.name });
    let answer: unknown;
    try {
      answer = await this.#deleteIfPresent(job, path, pod);
    } catch (error) {
      if (!isConflict(error)) throw error;
      // It has changed since, or the name belongs to another UID by now: only the server knows which.
      await this.#reads.readPod(job, pod.name);
      return this.#reads.podsOf(job).some(({ uid }) => uid === pod.uid) ? 'changed' : 'deleted';
    }
    const left = answer as Partial<KubeObject> | undefined;
    const { deletionGracePeriodSeconds = 0, finalizers = [] } = left?.metadata ?? {};
    // Without a grace period (never bound, or already ended) and without finalizers the pod is gone, and the response is its last state.
    const stays = left?.kind === 'Pod' && (deletionGracePeriodSeconds > 0 || finalizers.length > 0);
    if (stays) this.#reads.rememberPod(job, left as KubeObject);
    else this.#cache.pods.rememberGone(pod.uid);
    return 'deleted';
  }

  async markCheckpointDamaged(job: TrainingJob, damaged: DamagedCheckpoint): Promise<void> {
    const { message, condemnation, ...checkpoint } = damaged;
    await this.markCheckpoint(job, { ...checkpoint, status: { state: 'Damaged', message, condemnation } });
  }

  async markCheckpoint(
    job: TrainingJob,
    { name, uid, status }: PodReference & { readonly status: CheckpointResourceStatus },
  ): Promise<void> {
    const path = checkpointsPath({ namespace: job.metadata.namespace, name });
    const seen = this.checkpointsOf(job).find((checkpoint) => checkpoint.metadata.uid === uid);
    const current = (seen ?? (await this.#client.get(path))) as Checkpoint & KubeObject;
    // Retention alone ends a deletion: files can be missing.
    if (current.status?.deletion !== undefined) return;
    const wanted = { ...current, metadata: { ...current.metadata, uid } };
    await this.#writeCheckpointStatus(job, wanted, { ...inspectionOf(current.status ?? {}), ...status });
  }

  async deleteCheckpoint(job: TrainingJob, checkpoint: PodReference): Promise<void> {
    const path = checkpointsPath({ namespace: job.metadata.namespace, name: checkpoint.name });
    try {
      await this.#deleteIfPresent(job, path, checkpoint);
    } catch (error) {
      if (!isConflict(error)) throw error;
      const live = await this.#reads.readOrUndefined(path);
      if (live?.metadata.uid === checkpoint.uid)
        return this.#cache.checkpoints.remember(job.metadata.uid, live as Checkpoint & KubeObject);
    }
    this.#cache.checkpoints.rememberGone(checkpoint.uid);
  }

  async createCheckpoint(job: Pick<TrainingJob, 'metadata'>, checkpoint: NewCheckpoint): Promise<void> {
    const { namespace, uid } = job.metadata;
    const { name } = checkpoint;
    const existing = await this.#createOrRead(job, checkpoint);
    if (existing.spec.jobUid !== uid) {
      throw new Error(`Checkpoint ${namespace}/${name} exists and belongs to another job; it is not changed`);
    }
    // Damaged stays damaged: a repeated report is no proof of repair.
    if (existing.status?.state === undefined) {
      await this.#writeCheckpointStatus(job, existing, {
        ...inspectionOf(checkpoint),
        state: 'Complete',
      });
    } else {
      this.#cache.checkpoints.remember(uid, existing);
    }
  }

  async #createOrRead(
    job: Pick<TrainingJob, 'metadata'>,
    { name, spec }: NewCheckpoint,
  ): Promise<Checkpoint & KubeObject> {
    const { namespace } = job.metadata;
    const body = {
      apiVersion: API_GROUP_VERSION,
      kind: 'Checkpoint',
      // No owner: a checkpoint outlives its job.
      metadata: { name, namespace, labels: childLabels(job, spec.epoch) },
      spec,
    };
    try {
      return await this.#client.create<Checkpoint & KubeObject>(checkpointsPath({ namespace }), body, ofGang(job));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return this.#client.get<Checkpoint & KubeObject>(checkpointsPath({ namespace, name }), ofGang(job));
    }
  }

  async #writeCheckpointStatus(
    job: Pick<TrainingJob, 'metadata'>,
    checkpoint: Checkpoint & KubeObject,
    status: NonNullable<Checkpoint['status']>,
  ): Promise<void> {
    const { namespace, name } = checkpoint.metadata;
    const path = checkpointsPath({ namespace, name });
    const body = { ...checkpoint, metadata: versionOf(checkpoint), status };
    try {
      this.#cache.checkpoints.remember(
        job.metadata.uid,
        await this.#client.replace(path, body, { subresource: 'status', ...ofGang(job) }),
      );
    } catch (error) {
      // The cached version is old, so read the object for the next reconcile.
      const live = isConflict(error) ? await this.#reads.readOrUndefined(path) : undefined;
      if (live !== undefined) this.#cache.checkpoints.remember(job.metadata.uid, live as Checkpoint & KubeObject);
      throw error;
    }
  }

  async #setFinalizers(job: TrainingJob, finalizers: readonly string[]): Promise<void> {
    const { name, namespace, uid, resourceVersion } = job.metadata;
    const body: Merge = { metadata: { uid, resourceVersion, finalizers } };
    const path = trainingJobsPath({ namespace, name });
    await this.#updatingJob(job, () => this.#client.patch<JobObject>(path, body, { type: 'merge' }));
  }

  /** Reads the newest state after a conflict, for the next reconcile. */
  async #updatingJob(job: TrainingJob, write: () => Promise<JobObject>): Promise<TrainingJob> {
    const { name, namespace, uid } = job.metadata;
    try {
      const written = await write();
      const isLast = written.metadata.deletionTimestamp !== undefined && written.metadata.finalizers === undefined;
      if (isLast) this.#cache.jobs.rememberGone(uid);
      else this.#cache.jobs.remember(uid, written);
      return written;
    } catch (error) {
      if (isNotFound(error)) this.#cache.jobs.rememberGone(uid);
      if (isConflict(error)) {
        const live = await this.#reads.readOrUndefined(trainingJobsPath({ namespace, name }));
        if (live?.metadata.uid === uid) this.#cache.jobs.remember(uid, withReadableStatus(live as JobObject));
      }
      throw error;
    }
  }

  async #deleteIfPresent(
    job: TrainingJob,
    path: string,
    target: PodReference & { readonly gracePeriodSeconds?: number },
  ): Promise<unknown> {
    const { uid, resourceVersion, gracePeriodSeconds } = target;
    try {
      return await this.#client.delete(path, {
        uid,
        turnOf: job.metadata.uid,
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
      });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

/** As much of metadata as a replacement is based on. */
function versionOf({ metadata }: TrainingJob | Checkpoint): Replacement['metadata'] {
  const { name, namespace, uid, resourceVersion = '' } = metadata;
  return { name, uid, resourceVersion, ...(namespace === undefined ? {} : { namespace }) };
}

/** Options that share a lane fairly among jobs, because a gang has thousands of pods and its launchers decide when to record checkpoints. */
function ofGang(job: Pick<TrainingJob, 'metadata'>): { readonly lane: 'bulk'; readonly turnOf: string } {
  return { lane: 'bulk', turnOf: job.metadata.uid };
}
