/** A little over 400 lines: the whole port TrainingJobStore, in memory. */
import {
  API_GROUP_VERSION,
  FINALIZER,
  POD_FINALIZER,
  SCHEDULING_GATE,
  type Checkpoint,
  type CheckpointResourceStatus,
  type Placement,
  type PlacementSpec,
  type TrainingJob,
  type TrainingJobStatus,
  type ObjectReference,
  type ReadReferences,
} from '@coxswain/api-types';
import type { NodeCondition } from '@coxswain/health';
import { isAlreadyExists, isConflict, isNotFound, keyOf, NotLeadingError, type KubeObject } from '@coxswain/kube';
import {
  adoptedFor,
  comingNotice,
  dueNotice,
  type LiveRead,
  namedCheckpoints,
  type NodeCensus,
  type NodeNotice,
  type NodeState,
  SAVE_AHEAD_MS,
  type ObservedPod,
  type PodReference,
} from '@coxswain/lifecycle';
import { isRecordedPlacement } from '@coxswain/scheduling';
import { nodeStateOf, toCachedNode } from '../../cluster/cached-node.ts';
import { toCachedPod, toObservedPod, type CachedPod } from '../../cluster/cached-pod.ts';
import type { InMemoryCluster, Kind } from './in-memory-cluster.ts';
import { ownedBy } from '../owner.ts';
import {
  type ComputeDomainName,
  type DamagedCheckpoint,
  inspectionOf,
  type NewCheckpoint,
  type TrainingJobStore,
} from '../training-job-store.ts';

/** Of notices that say no time. */
const NO_TIME = new Date(0);

type Stored<T> = T & KubeObject;

/** A write of the store, as a test may watch it or let it fail. */
export interface StoreWrite {
  /** Method of the port and name of the object, such as `createPod tiny-e1-0`. */
  readonly what: string;
  /** Whether it is about to be done, or was done and the answer is on its way: what is thrown then is an answer that was lost. */
  readonly moment: 'before' | 'after';
}

/**
 * The port over a cluster in memory, for tests of what stands above it. It sees every change at once, and otherwise keeps what the
 * port promises: training-job-store.contract.ts holds it and the real store to the same sentences.
 */
export class InMemoryTrainingJobStore implements TrainingJobStore {
  /** Whether this process leads; what it writes while it does not is refused. */
  leads = true;
  onWrite: (write: StoreWrite) => void = () => undefined;
  /** Shown the name of each pod that is tried in a dry run; what it throws is what the cluster says. */
  onProbe: (name: string) => void = () => undefined;
  readonly #cluster: InMemoryCluster;
  /** Placements that this process made, by name. */
  readonly #made = new Map<string, Pick<Placement, 'metadata' | 'spec'>>();
  /** Claims and ConfigMaps that do not exist, as `namespace/name`; every other one does. */
  readonly missingObjects = new Set<string>();
  /** Pods and placements that were read for a job, by UID, whoever owns them. */
  readonly #readFor = new Map<string, string>();

  constructor(cluster: InMemoryCluster) {
    this.#cluster = cluster;
  }

  findJob(key: string): TrainingJob | undefined {
    return this.#cluster.get<Stored<TrainingJob>>('TrainingJob', key);
  }

  podsOf(job: TrainingJob): readonly ObservedPod[] {
    const { namespace, uid } = job.metadata;
    return this.#pods()
      .filter((pod) => pod.metadata.namespace === namespace)
      .filter((pod) => pod.gang?.jobUid === uid || this.#readFor.get(pod.metadata.uid ?? '') === uid)
      .map((pod) => toObservedPod(pod, uid));
  }

  placementsOf(job: TrainingJob): readonly Placement[] {
    const { uid } = job.metadata;
    const isRead = (one: Stored<Placement>): boolean => this.#readFor.get(one.metadata.uid ?? '') === uid;
    return this.#cluster.list<Stored<Placement>>('Placement').filter((one) => isOf(job, one) || isRead(one));
  }

  checkpointsOf(job: TrainingJob): readonly Checkpoint[] {
    const all = this.#cluster.list<Stored<Checkpoint>>('Checkpoint');
    const named = all.filter(
      ({ metadata }) => metadata.namespace === job.metadata.namespace && namedCheckpoints(job).includes(metadata.name),
    );
    return [...all.filter((one) => isOf(job, one)), ...adoptedFor(job, named)];
  }

  keptPlacementOf(job: TrainingJob): PlacementSpec | undefined {
    const attempt = job.status?.attempts?.at(-1);
    const made = this.#made.get(attempt?.placement ?? '');
    const isThere = this.placementsOf(job).some(({ metadata }) => metadata.name === attempt?.placement);
    if (made === undefined || attempt === undefined || attempt.stage === 'Ended' || isThere) return undefined;
    return isRecordedPlacement(made, attempt) ? made.spec : undefined;
  }

  nodeStates(names: readonly string[]): ReadonlyMap<string, NodeState> {
    const stateOf = (name: string): NodeState => {
      const node = this.#cluster.get('Node', name);
      return nodeStateOf(node === undefined ? undefined : toCachedNode(node), NO_TIME);
    };
    return new Map(names.map((name) => [name, stateOf(name)]));
  }

  nodeCensus(): NodeCensus {
    const nodes = this.#cluster.list('Node').map((node) => toCachedNode(node).facts);
    return { nodes: nodes.length, notReady: nodes.filter(({ ready }) => !ready).length };
  }

  bootIdOf(name: string): string | undefined {
    const node = this.#cluster.get('Node', name);
    return node === undefined ? undefined : toCachedNode(node).bootId;
  }

  readySinceOf(name: string): string | undefined {
    const node = this.#cluster.get('Node', name);
    return node === undefined ? undefined : toCachedNode(node).readySince;
  }

  nodeConditionsOf(name: string): readonly NodeCondition[] {
    const node = this.#cluster.get('Node', name);
    return node === undefined ? [] : toCachedNode(node).conditions;
  }

  noticeOf(name: string): NodeNotice | undefined {
    const node = this.#cluster.get('Node', name);
    return node === undefined ? undefined : dueNotice(toCachedNode(node).notices, NO_TIME);
  }

  comingNoticeOf(name: string): NodeNotice | undefined {
    const node = this.#cluster.get('Node', name);
    const notices = node === undefined ? [] : toCachedNode(node).notices;
    return comingNotice(notices, { now: NO_TIME, withinMs: SAVE_AHEAD_MS });
  }

  async readLive(job: TrainingJob, what: LiveRead): Promise<ReadonlyMap<string, NodeState>> {
    if (what.placement !== undefined) this.#showPlacement(job, what.placement);
    for (const name of what.podNames) this.#showPod(job, name);
    return this.nodeStates(what.nodes);
  }

  #showPlacement(job: TrainingJob, name: string): void {
    const placement = this.#cluster.get('Placement', childKey(job, name));
    if (placement?.metadata.uid !== undefined) this.#readFor.set(placement.metadata.uid, job.metadata.uid);
  }

  async readCheckpoints(): Promise<void> {
    // Nothing lags here.
  }

  #showPod(job: TrainingJob, name: string): void {
    const pod = this.#cluster.get('Pod', childKey(job, name));
    if (pod?.metadata.uid !== undefined) this.#readFor.set(pod.metadata.uid, job.metadata.uid);
  }

  async writeStatus(job: TrainingJob, status: TrainingJobStatus): Promise<TrainingJob> {
    return this.#updateJob('writeStatus', job, (current) => ({ ...current, status }));
  }

  async addFinalizer(job: TrainingJob): Promise<void> {
    const finalizers = job.metadata.finalizers ?? [];
    if (finalizers.includes(FINALIZER)) return;
    await this.#setFinalizers('addFinalizer', job, [...finalizers, FINALIZER]);
  }

  async removeFinalizer(job: TrainingJob): Promise<void> {
    const finalizers = job.metadata.finalizers ?? [];
    if (!finalizers.includes(FINALIZER)) return;
    const others = finalizers.filter((finalizer) => finalizer !== FINALIZER);
    await this.#setFinalizers('removeFinalizer', job, others);
  }

  async createPlacement(
    job: TrainingJob,
    placement: { readonly name: string; readonly spec: PlacementSpec },
  ): Promise<void> {
    const { name, spec } = placement;
    const draft = childOf(job, { kind: 'Placement', name, spec, ownerReferences: [ownedBy(job)] });
    const { existing, object } = this.#createOrGet<Stored<Placement>>('createPlacement', 'Placement', draft);
    this.#made.set(name, object);
    if (existing !== undefined) this.#showPlacement(job, name);
  }

  async deletePlacement(job: TrainingJob, placement: PodReference): Promise<void> {
    this.#deleteIfPresent('deletePlacement', 'Placement', { job, ...placement });
  }

  async readPodWarning(): Promise<string | undefined> {
    return undefined;
  }

  async readReferences({ metadata }: TrainingJob, references: readonly ObjectReference[]): Promise<ReadReferences> {
    const missing = references.filter(({ name }) => this.missingObjects.has(`${metadata.namespace}/${name}`));
    return { unusable: missing.map((reference) => ({ ...reference, problem: 'missing' })), ofOneNode: [] };
  }

  async probePod(_job: TrainingJob, manifest: Record<string, unknown>): Promise<void> {
    this.onProbe((manifest['metadata'] as { readonly name: string }).name);
    this.#cluster.validate('Pod', manifest as unknown as KubeObject);
  }

  async createComputeDomain(job: TrainingJob, { name, epoch }: ComputeDomainName): Promise<void> {
    const draft = childOf(job, { kind: 'ComputeDomain', name, spec: { epoch }, ownerReferences: [ownedBy(job)] });
    const { existing } = this.#createOrGet('createComputeDomain', 'ComputeDomain', draft);
    if (existing !== undefined && !isOwned(job, existing))
      throw new Error(`ComputeDomain ${name} belongs to another owner`);
  }

  async deleteComputeDomain(job: TrainingJob, name: string): Promise<void> {
    await this.#write(`deleteComputeDomain ${name}`, () => {
      const found = this.#cluster.get('ComputeDomain', childKey(job, name));
      if (found !== undefined && isOwned(job, found)) this.#cluster.delete('ComputeDomain', childKey(job, name));
    });
  }

  async createPod(job: TrainingJob, manifest: Record<string, unknown>): Promise<void> {
    const { existing } = this.#createOrGet('createPod', 'Pod', manifest);
    if (existing !== undefined) this.#showPod(job, existing.metadata.name);
  }

  async liftGate(job: TrainingJob, pod: PodReference): Promise<void> {
    await this.#write(`liftGate ${pod.name}`, () => {
      this.#changePod(job, pod, (current) => {
        const schedulingGates = (current.spec?.schedulingGates ?? []).filter(({ name }) => name !== SCHEDULING_GATE);
        return { ...current, spec: { ...current.spec, schedulingGates } };
      });
    });
    this.#showPod(job, pod.name);
  }

  async releasePod(job: TrainingJob, pod: PodReference): Promise<void> {
    await this.#write(`releasePod ${pod.name}`, () =>
      this.#changePod(job, pod, (current) => {
        const finalizers = (current.metadata.finalizers ?? []).filter((finalizer) => finalizer !== POD_FINALIZER);
        return { ...current, metadata: { ...current.metadata, finalizers } };
      }),
    );
  }

  /** A pod that is gone, or whose name another one bears, stays as it is. */
  #changePod(job: TrainingJob, pod: PodReference, change: (current: GatedPod) => GatedPod): void {
    try {
      this.#cluster.update('Pod', childKey(job, pod.name), { expects: { uid: pod.uid }, change });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  async deletePod(
    job: TrainingJob,
    pod: PodReference & { readonly gracePeriodSeconds: number },
  ): Promise<'deleted' | 'changed'> {
    const isDeleted = this.#deleteIfPresent('deletePod', 'Pod', { job, ...pod });
    this.#showPod(job, pod.name);
    const isThere = this.#cluster.get('Pod', childKey(job, pod.name))?.metadata.uid === pod.uid;
    return isDeleted || !isThere ? 'deleted' : 'changed';
  }

  async markCheckpointDamaged(job: TrainingJob, damaged: DamagedCheckpoint): Promise<void> {
    const { name, uid, message, condemnation } = damaged;
    this.#writeCheckpointStatus(job, { name, uid }, { state: 'Damaged', message, condemnation });
  }

  async markCheckpoint(
    job: TrainingJob,
    { name, uid, status }: PodReference & { readonly status: CheckpointResourceStatus },
  ): Promise<void> {
    this.#writeCheckpointStatus(job, { name, uid }, status);
  }

  async deleteCheckpoint(job: TrainingJob, checkpoint: PodReference): Promise<void> {
    this.#deleteIfPresent('deleteCheckpoint', 'Checkpoint', { job, ...checkpoint });
  }

  async createCheckpoint(job: Pick<TrainingJob, 'metadata'>, checkpoint: NewCheckpoint): Promise<void> {
    const { name, spec } = checkpoint;
    const draft = childOf(job, { kind: 'Checkpoint', name, spec });
    const { existing, object } = this.#createOrGet<Stored<Checkpoint>>('createCheckpoint', 'Checkpoint', draft);
    if (existing !== undefined && existing.spec.jobUid !== job.metadata.uid) {
      throw new Error(`Checkpoint ${name} exists and belongs to another job`);
    }
    if (object.status?.state === undefined) {
      this.#writeCheckpointStatus(
        job,
        { name, uid: object.metadata.uid },
        { ...inspectionOf(checkpoint), state: 'Complete' },
      );
    }
  }

  /** Every write passes here: it is refused when this process does not lead, and a test may let it fail on either side. */
  #write<T>(what: string, write: () => T): T {
    if (!this.leads) throw new NotLeadingError('another replica leads');
    this.onWrite({ what, moment: 'before' });
    const answer = write();
    this.onWrite({ what, moment: 'after' });
    return answer;
  }

  #updateJob(
    what: string,
    job: TrainingJob,
    change: (current: Stored<TrainingJob>) => Stored<TrainingJob>,
  ): TrainingJob {
    const { uid, resourceVersion = '' } = job.metadata;
    const call = { expects: { uid, resourceVersion }, change };
    return this.#write(`${what} ${job.metadata.name}`, () => this.#cluster.update('TrainingJob', keyOf(job), call));
  }

  async #setFinalizers(what: string, job: TrainingJob, finalizers: string[]): Promise<void> {
    this.#updateJob(what, job, (current) => ({ ...current, metadata: { ...current.metadata, finalizers } }));
  }

  #createOrGet<T extends KubeObject>(
    what: string,
    kind: Kind,
    draft: unknown,
  ): { readonly object: T; readonly existing?: T } {
    const key = keyOf(draft as KubeObject);
    return this.#write(`${what} ${(draft as KubeObject).metadata.name}`, () => {
      try {
        return { object: this.#cluster.create<T>(kind, draft) };
      } catch (error) {
        const existing = this.#cluster.get<T>(kind, key);
        if (!isAlreadyExists(error) || existing === undefined) throw error;
        return { object: existing, existing };
      }
    });
  }

  #deleteIfPresent(
    what: string,
    kind: Kind,
    target: PodReference & { readonly job: TrainingJob; readonly gracePeriodSeconds?: number },
  ): boolean {
    const { job, name, ...options } = target;
    return this.#write(`${what} ${name}`, () => {
      try {
        this.#cluster.delete(kind, childKey(job, name), options);
        return true;
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
        return false;
      }
    });
  }

  #writeCheckpointStatus(
    job: Pick<TrainingJob, 'metadata'>,
    { name, uid }: PodReference,
    status: NonNullable<Checkpoint['status']>,
  ): void {
    const change = (current: Stored<Checkpoint>): Stored<Checkpoint> => ({
      ...current,
      status: { ...inspectionOf(current.status ?? {}), ...status },
    });
    this.#write(`writeCheckpointStatus ${name}`, () =>
      this.#cluster.update('Checkpoint', childKey(job, name), { expects: { uid }, change }),
    );
  }

  #pods(): readonly CachedPod[] {
    return this.#cluster.list('Pod').map((pod) => toCachedPod(pod, { asGang: true }));
  }
}

type GatedPod = KubeObject & {
  readonly spec?: { readonly schedulingGates?: readonly { readonly name: string }[] };
};

function isOf(job: TrainingJob, { metadata, spec }: Placement | Checkpoint): boolean {
  return metadata.namespace === job.metadata.namespace && spec.jobUid === job.metadata.uid;
}

function childKey(job: Pick<TrainingJob, 'metadata'>, name: string): string {
  return keyOf({ metadata: { namespace: job.metadata.namespace ?? '', name } });
}

function isOwned(job: TrainingJob, { metadata }: KubeObject): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === job.metadata.uid) === true;
}

function childOf(
  job: Pick<TrainingJob, 'metadata'>,
  child: { readonly kind: Kind; readonly name: string; readonly spec: unknown; readonly ownerReferences?: unknown },
): Record<string, unknown> {
  const { kind, name, spec, ownerReferences } = child;
  const metadata = {
    name,
    namespace: job.metadata.namespace,
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
  };
  return { apiVersion: API_GROUP_VERSION, kind, metadata, spec };
}
