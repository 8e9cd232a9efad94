import { CONTAINERS, LABELS, ranksOfPod } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { isNotFound, isRetryable, type KubeClient, type KubeObject, KubeApiError, resourcePath } from '@coxswain/kube';
import type { Database } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { sentenceOf } from '../cluster/resources.ts';
import { CLUSTER, type Cluster, DATABASE, KUBE } from '../infrastructure/tokens.ts';
import { type JobAddress, JobsService } from '../jobs/jobs.service.ts';
import { recordedPlacement } from '../jobs/recorded-placement.ts';

/** Which log, and how much of it. */
export interface LogRequest {
  readonly rank: number;
  readonly tailLines?: number | undefined;
  readonly follow: boolean;
}

/** Logs of a job's pods, through the Kubernetes API: ours never talks to pods. */
@Injectable()
export class JobLogsService {
  readonly #database: Database;
  readonly #cluster: Cluster;
  readonly #kube: KubeClient;
  readonly #jobs: JobsService;

  constructor(
    @Inject(DATABASE) database: Database,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(KUBE) kube: KubeClient,
    @Inject(JobsService) jobs: JobsService,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#kube = kube;
    this.#jobs = jobs;
  }

  /** The log of the pod that holds the rank in the newest epoch; NOT_FOUND when it is gone or was never there. */
  async open(
    principal: Principal,
    address: JobAddress,
    request: LogRequest & { readonly signal: AbortSignal },
  ): Promise<AsyncIterable<Uint8Array>> {
    const row = await this.#jobs.requireRow(principal, address);
    const placement = (await recordedPlacement(this.#database, this.#cluster, row))?.spec;
    if (placement === undefined)
      throw new DomainError('NOT_FOUND', `job "${row.name}" has not been placed yet; there are no logs`);
    const podIndex = placement.nodes.findIndex((_node, index) => ranksOfPod(placement, index).includes(request.rank));
    if (podIndex < 0) {
      const detail = `rank ${request.rank} does not exist; the job has ranks 0 to ${placement.worldSize - 1}`;
      throw new DomainError('NOT_FOUND', detail);
    }
    try {
      const pod = await this.#pod({ namespace: row.namespace, uid: row.uid ?? '', epoch: placement.epoch, podIndex });
      const stream = await this.#kube.requestStream(`${podPath(row.namespace, pod)}/log`, {
        query: { container: CONTAINERS.trainer, tailLines: request.tailLines, follow: request.follow },
        signal: request.signal,
        accept: '*/*',
      });
      return stream.body;
    } catch (error) {
      if (isNotFound(error))
        throw new DomainError('NOT_FOUND', `the pod of rank ${request.rank} is gone, and its log with it`);
      if (isRetryable(error))
        throw new DomainError('UNAVAILABLE', 'the cluster does not answer at the moment; try again in a second');
      if (error instanceof KubeApiError)
        throw new DomainError('CONFLICT', `the log cannot be read now: ${sentenceOf(error)}`);
      throw error;
    }
  }

  /** By labels, not by name: labels say whose a pod is. */
  async #pod(wanted: { namespace: string; uid: string; epoch: number; podIndex: number }): Promise<string> {
    const labelSelector = [
      `${LABELS.jobUid}=${wanted.uid}`,
      `${LABELS.epoch}=${wanted.epoch}`,
      `${LABELS.podIndex}=${wanted.podIndex}`,
    ].join(',');
    const collection = resourcePath({ group: '', version: 'v1', plural: 'pods', namespace: wanted.namespace });
    const pods = await this.#kube.list<KubeObject>(collection, { labelSelector, limit: 2 });
    const pod = pods.items[0];
    if (pod === undefined) throw new KubeApiError({ status: 404, reason: 'NotFound', message: 'no such pod' });
    return pod.metadata.name;
  }
}

function podPath(namespace: string, name: string): string {
  return resourcePath({ group: '', version: 'v1', plural: 'pods', namespace, name });
}
