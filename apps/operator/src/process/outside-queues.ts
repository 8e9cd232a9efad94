/** What jobs and other programs of the cluster ask of each other: nodes of an autoscaler, quota of Kueue, and drains of nodes. */
import type { TrainingJob } from '@coxswain/api-types';
import type { Clock, KubeClient } from '@coxswain/kube';
import type { ClusterScheduler } from '@coxswain/scheduling';
import type { Logger } from '@coxswain/telemetry';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { BY_UID } from '../cluster/indexes.ts';
import type { Config } from '../config/config.ts';
import { DrainController } from '../drains/drain-controller.ts';
import { KueueController } from '../kueue/kueue-controller.ts';
import { NodeRequests } from '../training-job/node-requests.ts';
import type { ReconcilerOptions } from '../training-job/training-job.reconciler.ts';

/** Parts of all. `client` must reject writes while this process does not lead. */
export interface OutsideQueuesParts {
  readonly config: Pick<Config, 'provisioningClass' | 'followsKueue' | 'answersDrainsIn'>;
  readonly client: KubeClient;
  readonly cache: ClusterCache;
  readonly scheduler: Pick<ClusterScheduler, 'waitingJobs'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Queues the job of that key for a reconcile. */
  readonly wake: (key: string) => void;
}

/** These controllers, which run until a signal aborts. */
export class OutsideQueues {
  readonly #nodeRequests: NodeRequests;
  /** Absent: the administrator has not turned it on, and labels of Kueue on jobs mean nothing. */
  readonly #kueue: KueueController | undefined;
  /** Absent: the administrator has not turned it on. */
  readonly #drains: DrainController | undefined;

  constructor({ config, client, cache, scheduler, clock, log, wake }: OutsideQueuesParts) {
    this.#nodeRequests = new NodeRequests({
      client,
      scheduler,
      clock,
      className: config.provisioningClass,
      onNews: wake,
      onError: (error) => log.warn({ err: error }, 'a ProvisioningRequest could not be written; the operator retries'),
    });
    if (config.answersDrainsIn !== undefined)
      this.#drains = new DrainController({
        namespace: config.answersDrainsIn,
        client,
        cache,
        clock,
        wake,
        onProblem: (problem, what) => log.warn(problem === undefined ? {} : { err: problem }, what),
      });
    if (!config.followsKueue) return;
    const byUid = (uid: string): TrainingJob | undefined => {
      const cached = cache.jobs.cached.byIndex(BY_UID, uid)[0];
      return cached === undefined ? undefined : cache.jobs.newest(cached);
    };
    const kueue = new KueueController({
      client,
      clock,
      jobs: { list: () => cache.jobs.cached.list(), byUid },
      onNews: wake,
      onError: (error) =>
        log.warn({ err: error }, 'a Workload of Kueue could not be read or written; the operator retries'),
    });
    cache.jobs.cached.onChange(({ kind, object }) =>
      kind === 'deleted' ? kueue.forget(object.metadata.uid) : kueue.jobChanged(object),
    );
    this.#kueue = kueue;
  }

  /** What the reconciler reads and asks. */
  get views(): Pick<ReconcilerOptions, 'nodeRequestOf' | 'kueue'> {
    return {
      nodeRequestOf: (job) => this.#nodeRequests.stateOf(job.metadata.uid ?? ''),
      ...(this.#kueue === undefined ? {} : { kueue: this.#kueue }),
    };
  }

  /** Reads what is to be drained, so that no gang is placed there. Never rejects. */
  async prepare(): Promise<void> {
    await this.#drains?.reconcile().catch(() => undefined);
  }

  /** Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#nodeRequests.run(signal), this.#kueue?.run(signal), this.#drains?.run(signal)]);
  }
}
