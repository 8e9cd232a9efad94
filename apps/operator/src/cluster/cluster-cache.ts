import {
  LABELS,
  type Checkpoint,
  type DisruptionNoticeRule,
  type Placement,
  type TrainingJob,
} from '@coxswain/api-types';
import {
  InformerGroup,
  ObjectCache,
  OwnWrites,
  Reflector,
  WATCH_CHECK,
  type Clock,
  type KubeClient,
  type KubeMetrics,
  type KubeObject,
  type ReflectorOptions,
  type ReflectorProblem,
} from '@coxswain/kube';
import { namedCheckpoints, withReadableStatus } from '@coxswain/lifecycle';
import { type PriorityClassFacts, recordedClaim } from '@coxswain/scheduling';
import { CachedPlacements, toCachedPlacement } from './cached-placements.ts';
import { ALL_STARTING, BY_JOB, BY_NODE, BY_RESUME, BY_UID, BY_VICTIM, STARTING } from './indexes.ts';
import { toCachedNode, type CachedNode } from './cached-node.ts';
import { toCachedPod, type CachedPod } from './cached-pod.ts';
import { type CachedPriorityClass, toCachedPriorityClass } from './cached-priority-class.ts';
import { GpuUsage } from './gpu-usage.ts';
import { NodeCensus } from './node-census.ts';
import { StatedDrains } from './stated-drains.ts';
import { StatedFabric } from './stated-fabric.ts';
import {
  checkpointsPath,
  nodesPath,
  placementsPath,
  podsPath,
  priorityClassesPath,
  trainingJobsPath,
} from './paths.ts';

/** Jobs carry the commands of users: a missed change of one among 1,024 is found within 30 s. */
const JOB_PAGES = 16;

/** The last resort for a change that a watch lost in a collection that is larger than what the checks read. */
const RELIST_AFTER_MS = 3_600_000;

/** Everything that the operator reads of the cluster, kept current by one watch per kind, with our own writes laid over it. */
export interface ClusterCache {
  readonly jobs: OwnWrites<TrainingJob & KubeObject>;
  readonly placements: CachedPlacements;
  readonly checkpoints: OwnWrites<Checkpoint & KubeObject>;
  readonly pods: OwnWrites<CachedPod>;
  readonly nodes: ObjectCache<CachedNode>;
  readonly priorityClasses: ObjectCache<CachedPriorityClass>;
  /** Every PriorityClass of the cluster; undefined: they were not listed yet, which the operator may lack the right to do. */
  readonly priorityClassFacts: () => readonly PriorityClassFacts[] | undefined;
  /** Reduces a node that was read outside the watch. */
  readonly readNode: (node: KubeObject) => CachedNode;
  /** Facts about nodes from the Fabric resource and DRA drivers. */
  readonly stated: StatedFabric;
  /** What other programs ask to drain. */
  readonly drains: StatedDrains;
  readonly gpuUsage: GpuUsage;
  readonly nodeCensus: NodeCensus;
  readonly informers: InformerGroup;
}

/** A cache that is empty until its informers run. */
export function createClusterCache(options: {
  readonly client: Pick<KubeClient, 'get' | 'list' | 'requestStream'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: KubeMetrics;
  readonly onProblem: (problem: unknown) => void;
  /** Marks of nodes that announce that they go away. */
  readonly noticeRules?: readonly DisruptionNoticeRule[];
}): ClusterCache {
  const readNode = (node: KubeObject): CachedNode => toCachedNode(node, options.noticeRules);
  const { client, clock, random, metrics, onProblem } = options;
  const reflect = <T extends KubeObject>(
    collectionPath: string,
    {
      trim,
      known,
      pages = WATCH_CHECK.pages,
      ours,
    }: Pick<ReflectorOptions<T>, 'trim' | 'known'> & {
      readonly pages?: number;
      readonly ours?: () => { unseenForMs(): number };
    } = {},
  ): [ObjectCache<T>, Reflector<T>] => {
    const cache = new ObjectCache<T>({ onProblem, metrics });
    const onError = (problem: ReflectorProblem): void => onProblem(problem);
    // 10,240 pods of 20 kB: at most 247 MiB, by pages 347 (bench/first-look.bench.ts).
    const shared = { client, collectionPath, cache, clock, random, metrics, onError, listing: 'stream' as const };
    const unseenForMs = (): number => ours?.().unseenForMs() ?? 0;
    return [
      cache,
      new Reflector<T>({
        ...shared,
        check: { ...WATCH_CHECK, pages, unseenForMs },
        relistAfterMs: RELIST_AFTER_MS,
        ...(trim === undefined ? {} : { trim }),
        ...(known === undefined ? {} : { known }),
      }),
    ];
  };
  const [jobs, jobsReflector] = reflect<TrainingJob & KubeObject>(trainingJobsPath(), {
    trim: withReadableStatus,
    pages: JOB_PAGES,
    ours: () => jobsAndOurs,
  });
  const jobsAndOurs: OwnWrites<TrainingJob & KubeObject> = new OwnWrites(jobs, clock);
  const [placements, placementsReflector] = reflect<Placement & KubeObject>(placementsPath(), {
    trim: (placement) => toCachedPlacement(placement, jobsAndOurs),
  });
  const [checkpoints, checkpointsReflector] = reflect<Checkpoint & KubeObject>(checkpointsPath(), {
    ours: () => checkpointsAndOurs,
  });
  const checkpointsAndOurs: OwnWrites<Checkpoint & KubeObject> = new OwnWrites(checkpoints, clock);
  // One watch for all pods: a gang's for their state, everybody's for the GPUs that they hold.
  const [pods, podsReflector] = reflect<CachedPod>(podsPath(), {
    trim: (pod) => toCachedPod(pod),
    ours: () => podsAndOurs,
    // During the start of a gang every other event repeats the response to one of our writes and need not be parsed.
    known: (uid, resourceVersion): CachedPod | undefined => {
      const answered = podsAndOurs.answered(uid, resourceVersion);
      return answered?.gang?.ownerUid === undefined ? undefined : answered;
    },
  });
  const podsAndOurs: OwnWrites<CachedPod> = new OwnWrites(pods, clock);
  const [nodes, nodesReflector] = reflect<CachedNode>(nodesPath(), { trim: readNode });
  const [priorityClasses, classesReflector] = reflect<CachedPriorityClass>(priorityClassesPath(), {
    trim: toCachedPriorityClass,
  });
  jobs.addIndex(BY_UID, (job) => [job.metadata.uid]);
  jobs.addIndex(BY_VICTIM, (job) => recordedClaim(job)?.victims.map(({ uid }) => uid) ?? []);
  jobs.addIndex(BY_RESUME, (job) => namedCheckpoints(job).map((name) => `${job.metadata.namespace ?? ''}/${name}`));
  placements.addIndex(BY_JOB, (placement) => [placement.spec.jobUid]);
  checkpoints.addIndex(BY_JOB, (checkpoint) => [checkpoint.spec.jobUid]);
  pods.addIndex(BY_JOB, (pod) => (pod.gang === undefined ? [] : [pod.gang.jobUid]));
  // One that no node was found for may wait for hours without a change: others do not wait for it.
  pods.addIndex(STARTING, ({ gang, nodeName, terminal }) =>
    gang === undefined || gang.running || terminal
      ? []
      : [gang.jobUid, ...(nodeName === undefined ? [] : [ALL_STARTING])],
  );
  pods.addIndex(BY_NODE, (pod) => (pod.gang === undefined || pod.nodeName === undefined ? [] : [pod.nodeName]));
  return {
    jobs: jobsAndOurs,
    placements: new CachedPlacements({ cached: placements, jobs: jobsAndOurs, client, clock, onProblem }),
    checkpoints: checkpointsAndOurs,
    pods: podsAndOurs,
    nodes,
    priorityClasses,
    priorityClassFacts: () =>
      classesReflector.hasSynced() ? priorityClasses.list().map(({ facts }) => facts) : undefined,
    readNode,
    stated: new StatedFabric(nodes),
    drains: new StatedDrains(),
    gpuUsage: new GpuUsage(pods),
    nodeCensus: new NodeCensus(nodes),
    informers: new InformerGroup(
      [jobsReflector, placementsReflector, checkpointsReflector, podsReflector, nodesReflector],
      clock,
      // A chart of an earlier release does not grant it.
      [classesReflector],
    ),
  };
}

/** Labels that identify the children of a job's attempt. */
export function childLabels(job: Pick<TrainingJob, 'metadata'>, epoch: number): Readonly<Record<string, string>> {
  return {
    [LABELS.jobUid]: job.metadata.uid,
    [LABELS.jobName]: job.metadata.name,
    [LABELS.epoch]: String(epoch),
  };
}
