import { type Attempt, CONTAINERS, LABELS, type PlacementSpec, ranksOfPod } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import {
  isNotFound,
  isRetryable,
  isUnauthorizedVerb,
  type KubeClient,
  type KubeObject,
  KubeApiError,
  resourcePath,
} from '@coxswain/kube';
import { firstOf, type Sql } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { sentenceOf } from '../cluster/resources.ts';
import { CLUSTER, type Cluster, KUBE } from '../infrastructure/tokens.ts';
import type { JobRow } from '../jobs/job-row.ts';
import { type JobAddress, JobsService } from '../jobs/jobs.service.ts';
import { afterWaiting } from '../limits/request-cpu.ts';
import { recordedPlacement } from '../jobs/recorded-placement.ts';
import { recordedEnd } from './recorded-end.ts';

/** Which log, and how much of it. */
export interface LogRequest {
  readonly rank: number;
  /** Absent: the newest that was placed. */
  readonly attempt?: number | undefined;
  readonly tailLines?: number | undefined;
  readonly follow: boolean;
}

/** Most bytes of a log that is not followed: what a kubelet keeps of one, several times over. */
const MAX_LOG_BYTES = 67_108_864;

/** A log, or what an attempt recorded in its place. */
export interface OpenedLog {
  readonly source: 'pod' | 'attempt';
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** Logs of a job's pods, through the Kubernetes API: ours never talks to pods. */
@Injectable()
export class JobLogsService {
  readonly #cluster: Cluster;
  readonly #kube: KubeClient;
  readonly #jobs: JobsService;

  constructor(
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(KUBE) kube: KubeClient,
    @Inject(JobsService) jobs: JobsService,
  ) {
    this.#cluster = cluster;
    this.#kube = kube;
    this.#jobs = jobs;
  }

  /**
   * The log of the pod that holds the rank, in that attempt or the newest one; where the pod is gone, what the attempt recorded of its end. NOT_FOUND when
   * there is neither, with since when.
   */
  async open(
    principal: Principal,
    address: JobAddress,
    request: LogRequest & { readonly signal: AbortSignal },
  ): Promise<OpenedLog> {
    const { rank } = request;
    const { row, recorded, attempt } = await this.#jobs.reading(principal, address, async (sql, job) => {
      const placed = await recordedPlacement(sql, this.#cluster, job, request.attempt);
      return {
        row: job,
        recorded: placed,
        attempt: placed?.attempt ?? (await this.#attempt(sql, job, request.attempt)),
      };
    });
    const podIndex = recorded === undefined ? undefined : podIndexOf(recorded.spec, rank);
    try {
      if (podIndex === undefined) return inPlaceOfLog(attempt, rank);
      const pod = await this.#pod({ namespace: row.namespace, uid: row.uid ?? '', epoch: attempt.epoch, podIndex });
      if (pod === undefined) return inPlaceOfLog(attempt, rank);
      const opening = this.#kube.requestStream(`${podPath(row.namespace, pod)}/log`, {
        query: {
          container: CONTAINERS.trainer,
          tailLines: request.tailLines,
          follow: request.follow,
          limitBytes: request.follow ? undefined : MAX_LOG_BYTES,
        },
        signal: request.signal,
        accept: '*/*',
      });
      const { body } = await afterWaiting(opening);
      return { source: 'pod', body };
    } catch (error) {
      if (isNotFound(error)) return inPlaceOfLog(attempt, rank);
      if (isRetryable(error))
        throw new DomainError('UNAVAILABLE', 'the cluster does not answer at the moment; try again in a second');
      if (isUnauthorizedVerb(error)) {
        const detail = `the API may not read pods in namespace "${row.namespace}"; an administrator can add it to api.namespaces of the chart`;
        throw new DomainError('CONFLICT', `the log cannot be read: ${detail}`);
      }
      if (error instanceof KubeApiError)
        throw new DomainError('CONFLICT', `the log cannot be read now: ${sentenceOf(error)}`);
      throw error;
    }
  }

  /** Of an attempt whose placement is not known. */
  async #attempt(sql: Sql, row: JobRow, epoch: number | undefined): Promise<Attempt> {
    const found = await sql.query<{ attempt: Attempt; newest: number }>(
      `SELECT attempt, epoch AS newest FROM attempts
        WHERE cluster_id = $1 AND job_uid = $2 ORDER BY epoch = $3 DESC, epoch DESC LIMIT 1`,
      [this.#cluster.id, row.uid, epoch ?? null],
    );
    const known = firstOf(found);
    if (known !== undefined && (epoch === undefined || known.newest === epoch)) return known.attempt;
    const detail =
      known === undefined
        ? `job "${row.name}" has not been placed yet; there are no logs`
        : `job "${row.name}" has no attempt ${epoch}; its newest is ${known.newest}`;
    throw new DomainError('NOT_FOUND', detail);
  }

  /** By labels, not by name: labels say whose a pod is. */
  async #pod(wanted: { namespace: string; uid: string; epoch: number; podIndex: number }): Promise<string | undefined> {
    const labelSelector = [
      `${LABELS.jobUid}=${wanted.uid}`,
      `${LABELS.epoch}=${wanted.epoch}`,
      `${LABELS.podIndex}=${wanted.podIndex}`,
    ].join(',');
    const collection = resourcePath({ group: '', version: 'v1', plural: 'pods', namespace: wanted.namespace });
    const pods = await afterWaiting(this.#kube.list<KubeObject>(collection, { labelSelector, limit: 2 }));
    return pods.items[0]?.metadata.name;
  }
}

function inPlaceOfLog(attempt: Attempt, rank: number): OpenedLog {
  return { source: 'attempt', body: [Buffer.from(recordedEnd(attempt, rank))] };
}

function podIndexOf(placement: PlacementSpec, rank: number): number {
  const podIndex = placement.nodes.findIndex((_node, index) => ranksOfPod(placement, index).includes(rank));
  if (podIndex >= 0) return podIndex;
  const detail = `rank ${rank} does not exist; the attempt has ranks 0 to ${placement.worldSize - 1}`;
  throw new DomainError('NOT_FOUND', detail);
}

function podPath(namespace: string, name: string): string {
  return resourcePath({ group: '', version: 'v1', plural: 'pods', namespace, name });
}
