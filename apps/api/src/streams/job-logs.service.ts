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
import { KeptLogsService } from './kept-logs.service.ts';
import { concatenated, grepLines, lastLines, mergedLines } from './log-lines.ts';
import { recordedEnd } from './recorded-end.ts';

/** Which log, and how much of it. */
export interface LogRequest {
  readonly rank: number;
  /** Every rank of the attempt, in place of the one. */
  readonly allRanks: boolean;
  /** Lines since then. */
  readonly since?: string | undefined;
  /** Lines that contain this text. */
  readonly grep?: string | undefined;
  /** Absent: the newest that was placed. */
  readonly attempt?: number | undefined;
  readonly tailLines?: number | undefined;
  readonly follow: boolean;
  /** Only the headers are wanted: no pod is started for them. */
  readonly isHead: boolean;
}

/** Most pods whose logs are followed at the same time. */
const MAX_FOLLOWED_PODS = 32;
/** Most pods of an attempt. */
const MAX_PODS = 32_768;
/** Most bytes of a log that is not followed: what a kubelet keeps of one, several times over. */
const MAX_LOG_BYTES = 67_108_864;

type LogBody = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A log, or what an attempt recorded in its place. */
export interface OpenedLog {
  /** `kept`: beside the checkpoints. */
  readonly source: 'pod' | 'kept' | 'attempt';
  readonly body: LogBody;
}

/** Logs of a job's pods, through the Kubernetes API: ours never talks to pods. */
@Injectable()
export class JobLogsService {
  readonly #cluster: Cluster;
  readonly #kube: KubeClient;
  readonly #jobs: JobsService;
  readonly #kept: Pick<KeptLogsService, 'open'>;

  constructor(
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(KUBE) kube: KubeClient,
    @Inject(JobsService) jobs: JobsService,
    @Inject(KeptLogsService) kept: Pick<KeptLogsService, 'open'>,
  ) {
    this.#kept = kept;
    this.#cluster = cluster;
    this.#kube = kube;
    this.#jobs = jobs;
  }

  /**
   * The log of the pod that holds the rank, in that attempt or the newest one, or those of all pods; where a pod is gone, what is kept beside the checkpoints; else
   * what the attempt recorded of its end. NOT_FOUND when there is none of it, with since when.
   */
  async open(
    principal: Principal,
    address: JobAddress,
    request: LogRequest & { readonly signal: AbortSignal },
  ): Promise<OpenedLog> {
    const { rank, allRanks } = request;
    const { row, recorded, attempt } = await this.#jobs.reading(principal, address, async (sql, job) => {
      const placed = await recordedPlacement(sql, this.#cluster, job, request.attempt);
      return {
        row: job,
        recorded: placed,
        attempt: placed?.attempt ?? (await this.#attempt(sql, job, request.attempt)),
      };
    });
    const of: LogOf = { row, attempt, request };
    try {
      if (recorded === undefined) return await this.#gone(of);
      const wanted = allRanks ? podsByRank(recorded.spec) : [podIndexOf(recorded.spec, rank)];
      const pods = await this.#pods(of, wanted);
      if (pods.length >= wanted.length) return await this.#living(of, pods);
      return await this.#gone(of, { present: pods, podCount: wanted.length });
    } catch (error) {
      if (isNotFound(error)) return await this.#gone(of);
      throw refusalOf(error, row);
    }
  }

  /** Of pods that are there. */
  async #living({ row, request }: LogOf, pods: readonly string[]): Promise<OpenedLog> {
    const { tailLines, follow, since, grep, signal } = request;
    if (follow && pods.length > MAX_FOLLOWED_PODS)
      throw new DomainError(
        'CONFLICT',
        `the attempt has ${pods.length} pods, and at most ${MAX_FOLLOWED_PODS} can be followed at the same time: name a rank, or leave out follow`,
      );
    const open = async (pod: string): Promise<AsyncIterable<Uint8Array>> => {
      const query = {
        container: CONTAINERS.trainer,
        // Of chosen lines the last ones are not the chosen of the last ones.
        tailLines: grep === undefined ? tailLines : undefined,
        follow,
        sinceTime: since,
        limitBytes: follow ? undefined : Math.floor(MAX_LOG_BYTES / pods.length),
      };
      const opening = this.#kube.requestStream(`${podPath(row.namespace, pod)}/log`, { query, signal, accept: '*/*' });
      return (await afterWaiting(opening)).body;
    };
    const body =
      follow && pods.length > 1 ? mergedLines(await Promise.all(pods.map(open))) : await oneAfterTheOther(pods, open);
    return { source: 'pod', body: chosen(body, request) };
  }

  /** Of pods of which at least one is gone. */
  async #gone(of: LogOf, { present = [], podCount = 1 }: PodsThere = {}): Promise<OpenedLog> {
    const { row, attempt, request } = of;
    const { rank, allRanks, tailLines, grep, since, signal, isHead } = request;
    let why = 'the job is not in the cluster';
    if (row.uid !== null && !isHead) {
      const kept = await this.#kept.open(
        {
          jobUid: row.uid,
          attempt: attempt.epoch,
          ...(allRanks ? {} : { rank }),
          ...(since === undefined ? {} : { sinceMs: Date.parse(since) }),
          ...(grep === undefined ? {} : { grep }),
          ...(tailLines === undefined ? {} : { tailLines }),
          maxBytes: MAX_LOG_BYTES,
        },
        signal,
      );
      if (kept.kind === 'log') return { source: 'kept', body: kept.body };
      why = kept.why;
    }
    if (present.length > 0) {
      const gone = podCount - present.length;
      const { body } = await this.#living(of, present);
      const head = `# ${gone} of ${podCount} pods of attempt ${attempt.epoch} ${gone === 1 ? 'is' : 'are'} gone. A kept log is not shown: ${why}.\n`;
      return {
        source: 'pod',
        body: concatenated([[Buffer.from(head)], body].map((part) => () => Promise.resolve(part))),
      };
    }
    return { source: 'attempt', body: [Buffer.from(recordedEnd(attempt, rank, why))] };
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

  /** Names of those of these pods that are there. By labels, not by name: labels say whose a pod is. */
  async #pods({ row, attempt }: LogOf, wanted: readonly number[]): Promise<readonly string[]> {
    const podIndex = wanted.length === 1 ? wanted[0] : undefined;
    const labelSelector = [
      `${LABELS.jobUid}=${row.uid ?? ''}`,
      `${LABELS.epoch}=${attempt.epoch}`,
      ...(podIndex === undefined ? [] : [`${LABELS.podIndex}=${podIndex}`]),
    ].join(',');
    const collection = resourcePath({ group: '', version: 'v1', plural: 'pods', namespace: row.namespace });
    const limit = podIndex === undefined ? MAX_PODS : 2;
    const { items } = await afterWaiting(this.#kube.list<KubeObject>(collection, { labelSelector, limit }));
    const byIndex = new Map(items.map(({ metadata }) => [Number(metadata.labels?.[LABELS.podIndex]), metadata.name]));
    return wanted.flatMap((index) => byIndex.get(index) ?? []);
  }
}

/** Names of the pods that are there, of so many. */
interface PodsThere {
  readonly present?: readonly string[];
  readonly podCount?: number;
}

/** Whose log, and which lines of it. */
interface LogOf {
  readonly row: JobRow;
  readonly attempt: Attempt;
  readonly request: LogRequest & { readonly signal: AbortSignal };
}

/** The first is opened at once, so that an error is an answer. */
async function oneAfterTheOther(
  pods: readonly string[],
  open: (pod: string) => Promise<AsyncIterable<Uint8Array>>,
): Promise<AsyncIterable<Uint8Array>> {
  const [first = '', ...others] = pods;
  const body = await open(first);
  return concatenated([() => Promise.resolve(body), ...others.map((pod) => () => open(pod))]);
}

function chosen(body: AsyncIterable<Uint8Array>, { grep, tailLines, follow }: LogRequest): AsyncIterable<Uint8Array> {
  if (grep === undefined) return body;
  const lines = grepLines(body, grep);
  return tailLines === undefined || follow ? lines : lastLines(lines, tailLines);
}

function refusalOf(error: unknown, { namespace }: JobRow): unknown {
  if (isRetryable(error))
    return new DomainError('UNAVAILABLE', 'the cluster does not answer at the moment; try again in a second');
  if (isUnauthorizedVerb(error)) {
    const detail = `the API may not read pods in namespace "${namespace}"; an administrator can add it to api.namespaces of the chart`;
    return new DomainError('CONFLICT', `the log cannot be read: ${detail}`);
  }
  if (error instanceof KubeApiError)
    return new DomainError('CONFLICT', `the log cannot be read now: ${sentenceOf(error)}`);
  return error;
}

/** Pods that hold ranks, in the order of their ranks. One that lost its ranks to a standby may be on a node that does not answer. */
function podsByRank(placement: PlacementSpec): readonly number[] {
  const held = placement.nodes.flatMap((_node, podIndex) => {
    const [first] = ranksOfPod(placement, podIndex);
    return first === undefined ? [] : [{ podIndex, first }];
  });
  return held.toSorted((one, other) => one.first - other.first).map(({ podIndex }) => podIndex);
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
