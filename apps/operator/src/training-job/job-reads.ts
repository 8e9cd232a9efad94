import { LABELS, type Checkpoint, type Placement, type TrainingJob } from '@coxswain/api-types';
import { isNotFound, keyOf, type KubeClient, type KubeList, type KubeObject } from '@coxswain/kube';
import {
  adoptedFor,
  comingNotice,
  dueNotice,
  namedCheckpoints,
  type LiveRead,
  type NodeNotice,
  type NodeState,
  type ObservedPod,
  SAVE_AHEAD_MS,
  windowNotices,
  withReadableStatus,
} from '@coxswain/lifecycle';
import { nodeStateOf, type CachedNode } from '../cluster/cached-node.ts';
import { type CachedPod, toCachedPod, toObservedPod } from '../cluster/cached-pod.ts';
import { toCachedPlacement } from '../cluster/cached-placements.ts';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { BY_JOB } from '../cluster/indexes.ts';
import { checkpointsPath, nodesPath, placementsPath, podsPath, trainingJobsPath } from '../cluster/paths.ts';

/** The objects of a job: from the cache with our own writes applied, or from the API server if the cache is not enough. */
export class JobReads {
  readonly #client: Pick<KubeClient, 'get' | 'list'>;
  readonly #cache: ClusterCache;
  readonly #now: () => Date;

  constructor(options: {
    readonly client: Pick<KubeClient, 'get' | 'list'>;
    readonly cache: ClusterCache;
    readonly now: () => Date;
  }) {
    this.#client = options.client;
    this.#cache = options.cache;
    this.#now = options.now;
  }

  findJob(key: string): TrainingJob | undefined {
    const cached = this.#cache.jobs.cached.get(key);
    if (cached === undefined || this.#cache.jobs.isGone(cached.metadata.uid)) return undefined;
    return this.#cache.jobs.newest(cached);
  }

  podsOf(job: TrainingJob): readonly ObservedPod[] {
    const { uid } = job.metadata;
    const pods = this.#cache.pods.view(uid, this.#cache.pods.cached.byIndex(BY_JOB, uid));
    return pods
      .filter((pod) => pod.metadata.namespace === job.metadata.namespace)
      .map((pod) => toObservedPod(pod, uid));
  }

  placementsOf(job: TrainingJob): readonly Placement[] {
    return this.#cache.placements.ofJob(job);
  }

  checkpointsOf(job: TrainingJob): readonly Checkpoint[] {
    const { uid, namespace } = job.metadata;
    const checkpoints = this.#cache.checkpoints.view(uid, this.#cache.checkpoints.cached.byIndex(BY_JOB, uid));
    // Labels and answers to writes can show one of another job.
    const own = checkpoints.filter(({ metadata, spec }) => metadata.namespace === namespace && spec.jobUid === uid);
    return [...own, ...adoptedFor(job, this.#named(job))];
  }

  /** Checkpoints that the job names, of any job. */
  #named(job: TrainingJob): readonly Checkpoint[] {
    const { checkpoints } = this.#cache;
    return namedCheckpoints(job).flatMap((name) => {
      const cached = checkpoints.cached.get(`${job.metadata.namespace ?? ''}/${name}`);
      return cached === undefined || checkpoints.isGone(cached.metadata.uid) ? [] : [checkpoints.newest(cached)];
    });
  }

  nodeStates(names: readonly string[], namespace?: string): ReadonlyMap<string, NodeState> {
    return new Map(names.map((name) => [name, this.#stateOf(this.#cache.nodes.get(name), namespace)]));
  }

  noticeOf(name: string, namespace?: string): NodeNotice | undefined {
    return dueNotice(this.#noticesOf(this.#cache.nodes.get(name), namespace), this.#now());
  }

  comingNoticeOf(name: string, namespace?: string): NodeNotice | undefined {
    const notices = this.#noticesOf(this.#cache.nodes.get(name), namespace);
    return comingNotice(notices, { now: this.#now(), withinMs: SAVE_AHEAD_MS });
  }

  #stateOf(node: CachedNode | undefined, namespace: string | undefined): NodeState {
    return nodeStateOf(node, this.#now(), this.#noticesOf(node, namespace));
  }

  /** What marks on the node, windows of the Fabric and DrainRequests say to jobs of that namespace. */
  #noticesOf(node: CachedNode | undefined, namespace: string | undefined): readonly NodeNotice[] {
    if (node === undefined) return [];
    const { stated, drains } = this.#cache;
    const asked = drains.noticesOf(node.metadata.name, namespace);
    return [...asked, ...node.notices, ...windowNotices(stated.windowsOf(node), namespace)];
  }

  async readLive(job: TrainingJob, what: LiveRead): Promise<ReadonlyMap<string, NodeState>> {
    const [nodes] = await Promise.all([
      Promise.all(
        what.nodes.map(
          async (name) => [name, this.#stateOf(await this.#readLiveNode(name), job.metadata.namespace)] as const,
        ),
      ),
      this.#readLiveJob(job.metadata),
      ...(what.jobs ?? []).map((other) => this.#readLiveJob(other)),
      this.#readLivePods(job, what.podNames),
      what.placement === undefined ? undefined : this.readPlacement(job, what.placement),
      what.allPlacements === true ? this.#readLivePlacements(job) : undefined,
    ]);
    return new Map(nodes);
  }

  async readCheckpoints(job: TrainingJob): Promise<void> {
    const { uid, namespace } = job.metadata;
    const before = this.checkpointsOf(job);
    const live = new Set<string>();
    await this.#readLiveJob(job.metadata);
    await this.#forEach<Checkpoint & KubeObject>({ of: job, path: checkpointsPath({ namespace }) }, (checkpoint) => {
      live.add(checkpoint.metadata.uid);
      this.#cache.checkpoints.remember(uid, checkpoint);
    });
    for (const { metadata } of before) if (!live.has(metadata.uid)) this.#cache.checkpoints.rememberGone(metadata.uid);
  }

  async #readLiveJob({
    name,
    namespace,
    uid,
  }: Pick<TrainingJob['metadata'], 'name' | 'namespace' | 'uid'>): Promise<void> {
    const live = await this.readOrUndefined(trainingJobsPath({ namespace, name }));
    if (live?.metadata.uid === uid)
      this.#cache.jobs.remember(uid, withReadableStatus(live as TrainingJob & KubeObject));
    else this.#cache.jobs.rememberGone(uid);
  }

  /** Every pod of the job, in pages, then those of `names` and those known before that were not among them: a label can be taken away. */
  async #readLivePods(job: TrainingJob, names: readonly string[]): Promise<void> {
    const before = this.podsOf(job).filter(({ ours }) => ours);
    const listed = new Map<string, string | undefined>();
    const take = (pod: KubeObject): void => {
      listed.set(pod.metadata.name, pod.metadata.uid);
      this.rememberPod(job, pod);
    };
    const path = podsPath({ namespace: job.metadata.namespace });
    await this.#forEach<KubeObject>({ of: job, path }, take);
    const unlisted = before.filter(({ name, uid }) => listed.get(name) !== uid);
    const wanted = new Set([...names, ...unlisted.map(({ name }) => name)].filter((name) => !listed.has(name)));
    if (wanted.size <= MOST_ASKED) await Promise.all([...wanted].map((name) => this.readPod(job, name)));
    else
      await this.#forEach<KubeObject>({ of: 'everybody', path }, (pod) =>
        wanted.has(pod.metadata.name) ? take(pod) : undefined,
      );
    for (const { name, uid } of unlisted) {
      if (listed.has(name) ? listed.get(name) !== uid : wanted.size > MOST_ASKED) this.#cache.pods.rememberGone(uid);
    }
  }

  /** Reduces placements as the watch does, because their creators may create many large ones. */
  async #readLivePlacements(job: TrainingJob): Promise<void> {
    const { namespace, uid } = job.metadata;
    const listing = { of: job, path: placementsPath({ namespace }), perPage: PLACEMENTS_PER_PAGE };
    await this.#forEach<Placement & KubeObject>(listing, (placement) =>
      this.#cache.placements.remember(uid, toCachedPlacement(placement, this.#cache.jobs)),
    );
  }

  async readPlacement(job: TrainingJob, name: string): Promise<void> {
    const { namespace, uid } = job.metadata;
    const found = await this.readOrUndefined(placementsPath({ namespace, name }));
    if (found !== undefined) this.#cache.placements.remember(uid, found as Placement & KubeObject);
  }

  /** Passes the objects with the job's UID label, or all objects, to `take`. Holds one page at a time, because whole pods of several gangs would not fit in memory. */
  async #forEach<T extends KubeObject>(
    { of, path, perPage = OBJECTS_PER_PAGE }: Listing,
    take: (object: T) => void,
  ): Promise<void> {
    const selector = of === 'everybody' ? {} : { labelSelector: `${LABELS.jobUid}=${of.metadata.uid}` };
    for (let next: string | undefined = ''; next !== undefined;) {
      const page: KubeList<T> = await this.#client.list(path, {
        ...selector,
        limit: perPage,
        ...(next === '' ? {} : { continue: next }),
      });
      for (const object of page.items) take(object);
      next = page.metadata.continue === '' ? undefined : page.metadata.continue;
    }
  }

  /** Reads the pod of that name, of any owner, and drops an earlier pod of that name. */
  async readPod(job: TrainingJob, name: string): Promise<void> {
    const pod = await this.readOrUndefined(podsPath({ namespace: job.metadata.namespace, name }));
    for (const known of this.podsOf(job)) {
      if (known.name === name && known.uid !== pod?.metadata.uid) this.#cache.pods.rememberGone(known.uid);
    }
    if (pod !== undefined) this.rememberPod(job, pod);
  }

  async readOrUndefined(path: string): Promise<KubeObject | undefined> {
    try {
      return await this.#client.get<KubeObject>(path);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #readLiveNode(name: string): Promise<CachedNode | undefined> {
    const node = await this.readOrUndefined(nodesPath(name));
    return node === undefined ? undefined : this.#cache.readNode(node);
  }

  rememberPod(job: TrainingJob, pod: KubeObject): void {
    const { uid = '', deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = pod.metadata;
    // The pod was already deleted and its last finalizer was removed, so the response is its last state.
    const isGone = deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0;
    if (isGone) this.#cache.pods.rememberGone(uid);
    else this.#cache.pods.remember(job.metadata.uid, this.#cachedAs(pod) ?? toCachedPod(pod, { asGang: true }));
  }

  /** The pod as the watch reduced it, if it is the same version: a live read of a large gang mostly shows what is known. */
  #cachedAs({ metadata }: KubeObject): CachedPod | undefined {
    const cached = this.#cache.pods.cached.get(keyOf({ metadata }));
    const isSame =
      cached?.metadata.uid === metadata.uid && cached?.metadata.resourceVersion === metadata.resourceVersion;
    return isSame && cached?.gang !== undefined ? cached : undefined;
  }
}

/** Missing pods that are read one by one; with more, one list of the namespace is cheaper. */
const MOST_ASKED = 16;

/**
 * A list of whole pods is up to 25 kB each, and a page is parsed in one stretch: 28 to 74 ms of CPU for 500 pods, 4 to 14 for 100. Each page costs a call of
 * a few milliseconds.
 */
const OBJECTS_PER_PAGE = 100;
/** A Placement may have 1.5 MB. */
const PLACEMENTS_PER_PAGE = 20;

interface Listing {
  readonly of: TrainingJob | 'everybody';
  readonly path: string;
  readonly perPage?: number;
}
