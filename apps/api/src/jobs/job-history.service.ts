import type {
  CheckpointList,
  CheckpointRecord,
  JobEvent,
  JobEventList,
  RankMap,
  RankPlace,
  StepList,
  StepPoint,
} from '@coxswain/api-types';
import { NODE_LABELS, type PlacementSpec, ranksOfPod } from '@coxswain/api-types';
import { coordinatesOfRank } from '@coxswain/layout';
import { podName } from '@coxswain/lifecycle';
import { type Database, firstOf } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { CLUSTER, type Cluster, DATABASE } from '../infrastructure/tokens.ts';
import type { JobRow } from './job-row.ts';
import { type JobAddress, JobsService } from './jobs.service.ts';
import { recordedPlacement } from './recorded-placement.ts';

/** Most events or steps of one answer. */
export const MAX_HISTORY = 10_000;
/** Most checkpoints of one answer: the newest. */
export const MAX_LISTED_CHECKPOINTS = 1_000;

/** Which part of a loss curve. */
export interface StepsRequest {
  /** Absent: the newest epoch that has the step. */
  readonly epoch?: number | undefined;
  readonly fromStep: number;
  readonly limit: number;
}

interface StepRow {
  readonly epoch: number;
  readonly step: string;
  readonly loss: number | null;
  readonly tokens: string | null;
  readonly step_time_ms: number;
  readonly grad_norm: number | null;
  readonly at: Date;
  readonly change: string;
}

interface EventRow {
  readonly id: string;
  readonly type: string;
  readonly severity: JobEvent['severity'];
  readonly epoch: number | null;
  readonly message: string;
  readonly at: Date;
}

/** What a job has done and where: events, steps, ranks and checkpoints. Whoever may read the job may read these. */
@Injectable()
export class JobHistoryService {
  readonly #database: Database;
  readonly #cluster: Cluster;
  readonly #jobs: JobsService;

  constructor(
    @Inject(DATABASE) database: Database,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(JobsService) jobs: JobsService,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#jobs = jobs;
  }

  async events(principal: Principal, address: JobAddress, after: number): Promise<JobEventList> {
    const row = await this.#jobs.requireRow(principal, address);
    return { items: [...(await this.eventsAfter(row.id, after))] };
  }

  /** The loss curve: where attempts overlap, the newest epoch is what counts. */
  async steps(principal: Principal, address: JobAddress, request: StepsRequest): Promise<StepList> {
    const row = await this.#jobs.requireRow(principal, address);
    const found = await this.#database.query<StepRow>(
      `SELECT DISTINCT ON (step) epoch, step, loss, tokens, step_time_ms, grad_norm, at, change FROM steps
        WHERE cluster_id = $1 AND job_uid = $2 AND step >= $3 AND ($4::integer IS NULL OR epoch = $4)
        ORDER BY step, epoch DESC LIMIT $5`,
      [this.#cluster.id, row.uid, request.fromStep, request.epoch ?? null, request.limit],
    );
    const gaps = await this.#database.query<{ at: Date; missed_frames: string | null }>(
      `SELECT at, missed_frames FROM series_gaps
        WHERE cluster_id = $1 AND at >= $2 AND ($3::timestamptz IS NULL OR at <= $3) ORDER BY id LIMIT 1000`,
      [this.#cluster.id, row.created_at, row.finished_at],
    );
    return {
      items: found.rows.map(toStepPoint),
      gaps: gaps.rows.map(({ at, missed_frames: missed }) => ({
        at: at.toISOString(),
        missedFrames: missed === null ? null : Number(missed),
      })),
    };
  }

  /** Where each rank of the newest epoch is, from its placement; empty before the first. */
  async ranks(principal: Principal, address: JobAddress): Promise<RankMap> {
    const row = await this.#jobs.requireRow(principal, address);
    const recorded = await recordedPlacement(this.#database, this.#cluster, row);
    if (recorded === undefined || row.uid === null) return { epoch: row.status.epoch ?? 0, items: [] };
    const { spec: placement } = recorded;
    const [labelsByNode, lastByRank] = await Promise.all([
      this.#nodeLabels(placement),
      this.#lastSteps(row, placement.epoch),
    ]);
    const job = { name: row.name, uid: row.uid };
    const items = placement.nodes.flatMap((node, podIndex) => {
      const labels = labelsByNode.get(node) ?? {};
      return ranksOfPod(placement, podIndex).map((rank) => ({
        rank,
        podIndex,
        pod: podName(job, { epoch: placement.epoch, podIndex, placement: recorded.name }),
        node,
        ...positionOf(rank, placement),
        nvlinkDomain: labels[NODE_LABELS.nvlinkDomain] ?? null,
        island: labels[NODE_LABELS.nicIsland] ?? null,
        nicType: labels[NODE_LABELS.nicType] ?? null,
        lastStep: lastByRank.get(rank)?.lastStep ?? null,
        stepTimeMs: lastByRank.get(rank)?.stepTimeMs ?? null,
      }));
    });
    return { epoch: placement.epoch, items };
  }

  async checkpoints(principal: Principal, address: JobAddress): Promise<CheckpointList> {
    const row = await this.#jobs.requireRow(principal, address);
    const found = await this.#database.query<{
      uid: string;
      namespace: string;
      name: string;
      spec: Omit<CheckpointRecord, 'name' | 'uid' | 'namespace'>;
      state: CheckpointRecord['state'];
      message: string | null;
      created_at: Date;
      deleted_at: Date | null;
    }>(
      // A UID is no secret: an object of another namespace that carries it is somebody else’s.
      `SELECT * FROM (
         SELECT * FROM checkpoints WHERE cluster_id = $1 AND job_uid = $2 AND namespace = $3
          ORDER BY created_at DESC, name DESC LIMIT ${MAX_LISTED_CHECKPOINTS}
       ) AS newest ORDER BY created_at, name`,
      [this.#cluster.id, row.uid, row.namespace],
    );
    return {
      items: found.rows.map((checkpoint) => ({
        ...checkpoint.spec,
        name: checkpoint.name,
        uid: checkpoint.uid,
        namespace: checkpoint.namespace,
        jobId: row.id,
        state: checkpoint.state,
        message: checkpoint.message,
        createdAt: checkpoint.created_at.toISOString(),
        deletedAt: checkpoint.deleted_at?.toISOString() ?? null,
      })),
    };
  }

  /** For a stream that has been authorised: events after an id, oldest first. */
  async eventsAfter(jobId: string, after: number): Promise<readonly JobEvent[]> {
    const found = await this.#database.query<EventRow>(
      'SELECT id, type, severity, epoch, message, at FROM job_events WHERE job_id = $1 AND id > $2 ORDER BY id LIMIT $3',
      [jobId, after, MAX_HISTORY],
    );
    return found.rows.map((row) => ({ ...row, id: Number(row.id), at: row.at.toISOString() }));
  }

  /** For a stream that has been authorised: steps written or completed since a position, and the position after them. */
  async stepsChangedAfter(
    uid: string,
    position: string,
  ): Promise<{ readonly steps: readonly StepPoint[]; readonly position: string }> {
    const found = await this.#database.query<StepRow>(
      `SELECT epoch, step, loss, tokens, step_time_ms, grad_norm, at, change FROM steps
        WHERE cluster_id = $1 AND job_uid = $2 AND change > $3 ORDER BY change LIMIT 1000`,
      [this.#cluster.id, uid, position],
    );
    return { steps: found.rows.map(toStepPoint), position: found.rows.at(-1)?.change ?? position };
  }

  /** Where the steps of a job end now. */
  async stepsPosition(uid: string): Promise<string> {
    const found = await this.#database.query<{ change: string }>(
      'SELECT coalesce(max(change), 0) AS change FROM steps WHERE cluster_id = $1 AND job_uid = $2',
      [this.#cluster.id, uid],
    );
    return firstOf(found)?.change ?? '0';
  }

  async #nodeLabels(placement: PlacementSpec): Promise<Map<string, Readonly<Record<string, string>>>> {
    const found = await this.#database.query<{ name: string; labels: Record<string, string> }>(
      // A node that is gone keeps its labels for the map of a job that ran on it; one that came back counts as it is now.
      `SELECT DISTINCT ON (name) name, labels FROM nodes
        WHERE cluster_id = $1 AND name = ANY ($2::text[]) ORDER BY name, deleted_at DESC NULLS FIRST`,
      [this.#cluster.id, [...new Set(placement.nodes)]],
    );
    return new Map(found.rows.map(({ name, labels }) => [name, labels]));
  }

  async #lastSteps(
    row: JobRow,
    epoch: number,
  ): Promise<Map<number, { readonly lastStep: number; readonly stepTimeMs: number }>> {
    const found = await this.#database.query<{ rank: number; step: string; step_time_ms: number }>(
      'SELECT rank, step, step_time_ms FROM rank_steps WHERE cluster_id = $1 AND job_uid = $2 AND epoch = $3',
      [this.#cluster.id, row.uid, epoch],
    );
    return new Map(
      found.rows.map((last) => [last.rank, { lastStep: Number(last.step), stepTimeMs: last.step_time_ms }]),
    );
  }
}

function positionOf(
  rank: number,
  { layout }: PlacementSpec,
): Pick<RankPlace, 'tensorIndex' | 'contextIndex' | 'dataIndex' | 'pipelineIndex'> {
  const { tensorIndex, contextIndex, dataIndex, pipelineIndex } = coordinatesOfRank(layout, rank);
  return { tensorIndex, contextIndex, dataIndex, pipelineIndex };
}

function toStepPoint(row: StepRow): StepPoint {
  const tokens = row.tokens === null ? null : Number(row.tokens);
  return {
    epoch: row.epoch,
    step: Number(row.step),
    loss: row.loss,
    tokens,
    tokensPerSecond: tokens === null || row.step_time_ms <= 0 ? null : (tokens * 1000) / row.step_time_ms,
    stepTimeMs: row.step_time_ms,
    gradNorm: row.grad_norm,
    at: row.at.toISOString(),
  };
}
