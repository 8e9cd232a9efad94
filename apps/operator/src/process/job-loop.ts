import type { TrainingJob } from '@coxswain/api-types';
import type { NodeQuestion } from '@coxswain/scheduling';
import { BY_UID } from '../cluster/indexes.ts';
import { keyOf, Turns, WorkQueue, type Clock, type KubeMetrics, type QueuePriority } from '@coxswain/kube';
import { PlannerLanes, PlannerProcess } from '@coxswain/planner-process';
import type { Logger } from '@coxswain/telemetry';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { JobPlanner } from '../training-job/job-planner.ts';
import { searchForPromise } from '../training-job/promise-searches.ts';
import { NodeSearches, type NodeSearchesParts } from '../training-job/node-searches.ts';
import type { ReconcilerOptions, TrainingJobReconciler } from '../training-job/training-job.reconciler.ts';

/** Parts of the loop. */
export interface JobLoopParts {
  readonly cache: Pick<ClusterCache, 'jobs'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: KubeMetrics;
  /** Jobs reconciled at the same time. */
  readonly workers: number;
  readonly scheduler: NodeSearchesParts['scheduler'];
  /** Called once, with the parts that run beside this loop. */
  readonly reconciler: (
    beside: Pick<ReconcilerOptions, 'planner' | 'nodeSearches' | 'turns'>,
  ) => Pick<TrainingJobReconciler, 'reconcile' | 'forget' | 'unrecorded'>;
}

/** After a stop reconciles may finish for so long. */
const DRAIN_MS = 15_000;
/** Predictions and most layouts take less than the quick lane gives; one job whose search takes long delays only others of its kind. */
const LANES = { quick: { timeoutMs: 2_000, heapMib: 128 }, patient: { timeoutMs: 30_000, heapMib: 384 } };

/** Searches of nodes have a process of their own, so that none waits for a plan. A gang of 16,384 ranks on 10,240 nodes takes 3 s and 64 MiB. */
const NODE_SEARCHES = { timeoutMs: 30_000, heapMib: 128 };

/** The work of a leader: reconciles queued jobs, several at a time. */
export class JobLoop {
  readonly #parts: JobLoopParts;
  readonly #queue: WorkQueue;
  readonly #lanes = new PlannerLanes(LANES);
  readonly #nodeSearcher = new PlannerProcess({ limits: NODE_SEARCHES });
  readonly #planner: JobPlanner;
  readonly #nodeSearches: NodeSearches;
  #reconciler: Pick<TrainingJobReconciler, 'reconcile' | 'forget' | 'unrecorded'> | undefined;
  #runs = false;

  constructor(parts: JobLoopParts) {
    this.#parts = parts;
    const { clock, log, metrics, scheduler } = parts;
    this.#queue = new WorkQueue({
      clock,
      random: Math.random,
      name: 'trainingjobs',
      metrics,
      onError: ({ key, error, failures, quarantined }) =>
        log.warn({ job: key, err: error, failures, quarantined }, 'a job could not be reconciled'),
    });
    this.#planner = new JobPlanner({
      planner: this.#lanes,
      clock,
      onNews: (key) => this.wake(key, 'normal'),
      onFailure: (key, error) => log.warn({ job: key, err: error }, 'the planner failed for a job'),
    });
    this.#nodeSearches = new NodeSearches({
      searcher: this.#nodeSearcher,
      scheduler,
      clock,
      onNews: (key) => this.wake(key, 'normal'),
      onFailure: (key, error) => log.warn({ job: key, err: error }, 'the search for nodes failed for a job'),
    });
  }

  /** Queues the job of that key (`namespace/name`) for a reconcile. Ignored before `run`, which starts with every job. */
  wake(key: string, priority: QueuePriority): void {
    if (this.#runs) this.#queue.add(key, priority);
  }

  /** Searches nodes that are to be held for a waiting job. */
  findNodes(question: NodeQuestion): ReturnType<typeof searchForPromise> {
    const job = (uid: string): TrainingJob | undefined => this.#parts.cache.jobs.cached.byIndex(BY_UID, uid)[0];
    return searchForPromise(question, { searcher: this.#nodeSearcher, job });
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#planner.forget(jobUid);
    this.#nodeSearches.forget(jobUid);
    this.#reconciler?.forget(jobUid);
  }

  /** For how long reconciles have been under way without one that ended, in ms; 0 while there are none. */
  stalledMs(): number {
    return this.#queue.stats().stalledMs;
  }

  /** Jobs in quarantine because their reconciles failed repeatedly. */
  quarantined(): number {
    return this.#queue.stats().quarantined;
  }

  /** Jobs whose status the API server has not accepted for minutes. */
  unrecorded(): number {
    return this.#reconciler?.unrecorded() ?? 0;
  }

  /** Works until `signal` aborts and what was under way has ended or run out of time. Once per object. */
  async run(signal: AbortSignal): Promise<void> {
    const { cache, clock, workers } = this.#parts;
    const turns = new Turns(clock);
    const reconciler = this.#parts.reconciler({ planner: this.#planner, nodeSearches: this.#nodeSearches, turns });
    this.#reconciler = reconciler;
    this.#runs = true;
    // Jobs for which the leader before held nodes ask first: others must not take these nodes.
    for (const job of cache.jobs.cached.list())
      this.wake(keyOf(job), job.status?.expectedStart === undefined ? 'resync' : 'normal');
    try {
      await this.#queue.run({ workers, reconcile: (key) => reconciler.reconcile(key), signal, drainMs: DRAIN_MS });
    } finally {
      this.#runs = false;
      this.#planner.close();
      this.#nodeSearches.close();
      await Promise.all([this.#lanes.close(), this.#nodeSearcher.close()]);
    }
  }
}
