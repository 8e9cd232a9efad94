import {
  type JobEvent,
  type JobEventList,
  type RankMap,
  type RankPlace,
  type StepList,
  NODE_LABELS,
  type PlacementSpec,
  ranksOfPod,
  TrainingJobSpec,
  podName,
} from '@coxswain/api-types';
import { coordinatesOfRank } from '@coxswain/layout';
import type { Sql } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { CurveReader, type CurveRequest } from '../curves/curve-reader.ts';
import { SeenNodes } from '../fabric/seen-nodes.ts';
import { CLUSTER, type Cluster } from '../infrastructure/tokens.ts';
import { desiredSpec, type JobRow } from './job-row.ts';
import { type JobAddress, JobsService } from './jobs.service.ts';
import { type PlacedJob, PlacedTraffic } from './placed-traffic.ts';
import { withSeenNodes } from './rank-nodes.ts';
import { recordedPlacement } from './recorded-placement.ts';
import { type AnsweredJob, RelatedRows, WHICH_JOBS } from './related-rows.ts';

/** Most events or steps of one answer. */
export const MAX_HISTORY = 10_000;

/** For what a map of ranks can do without. */
const PATIENCE_MS = 1_000;

/** A row of `job_events` as the driver gives it. */
export interface EventRow {
  readonly id: string;
  readonly type: string;
  readonly severity: JobEvent['severity'];
  readonly epoch: number | null;
  readonly message: string;
  readonly at: Date;
}

/** What a job has done and where: events, steps and ranks. Everybody who may read a job may read these. */
@Injectable()
export class JobHistoryService {
  readonly #cluster: Cluster;
  readonly #jobs: JobsService;
  readonly #nodes: SeenNodes;
  readonly #related: RelatedRows;
  readonly #traffic = new PlacedTraffic();

  constructor(
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(JobsService) jobs: JobsService,
    @Inject(SeenNodes) nodes: SeenNodes,
    @Inject(RelatedRows) related: RelatedRows,
  ) {
    this.#cluster = cluster;
    this.#jobs = jobs;
    this.#nodes = nodes;
    this.#related = related;
  }

  async events(principal: Principal, address: JobAddress, after: number): Promise<JobEventList> {
    return this.#jobs.reading(principal, address, async (sql, row) => ({
      items: [...(await this.#eventsAfter(sql, row.id, after))],
    }));
  }

  /** The loss curve: where attempts overlap, the newest epoch is what counts. */
  steps(principal: Principal, address: JobAddress, request: CurveRequest): Promise<StepList> {
    return this.#jobs.readingMany(principal, address, (sql, row) => this.#stepsOf(sql, row, request));
  }

  async #stepsOf(sql: Sql, row: JobRow, request: CurveRequest): Promise<StepList> {
    const items = row.uid === null ? [] : await new CurveReader(sql, this.#cluster).read(row.uid, request);
    const gaps = await sql.query<{ at: Date; missed_frames: string | null }>(
      `SELECT at, missed_frames FROM series_gaps
        WHERE cluster_id = $1 AND at >= $2 AND ($3::timestamptz IS NULL OR at <= $3) ORDER BY id LIMIT 1000`,
      [this.#cluster.id, row.created_at, row.finished_at],
    );
    return {
      items: [...items],
      gaps: gaps.rows.map(({ at, missed_frames: missed }) => ({
        at: at.toISOString(),
        missedFrames: missed === null ? null : Number(missed),
      })),
    };
  }

  /** Where each rank of the newest attempt is, from its placement; empty before the first. */
  async ranks(principal: Principal, address: JobAddress): Promise<RankMap> {
    const { map, job } = await this.#jobs.reading(principal, address, (sql, row) => this.#ranksOf(sql, row));
    if (map.items.length === 0) return map;
    const { fabric } = await this.#nodes.observe(PATIENCE_MS);
    return { ...withSeenNodes(map, fabric), bytesPerStep: job === undefined ? null : this.#traffic.of(job, fabric) };
  }

  async #ranksOf(sql: Sql, row: JobRow): Promise<{ readonly map: RankMap; readonly job?: PlacedJob | undefined }> {
    const recorded = await recordedPlacement(sql, this.#cluster, row);
    if (recorded === undefined || row.uid === null)
      return { map: { epoch: row.status.epoch ?? 0, items: [], nodes: [], bytesPerStep: null } };
    const { spec: placement } = recorded;
    const [labelsByNode, lastByRank] = await Promise.all([
      this.#nodeLabels(sql, placement),
      this.#lastSteps(sql, row, placement.epoch),
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
    // What an earlier version took and this one does not has no bytes.
    const { data: spec } = TrainingJobSpec.safeParse(desiredSpec(row));
    return {
      map: { epoch: placement.epoch, items, nodes: [], bytesPerStep: null },
      job: spec === undefined ? undefined : { uid: row.uid, spec, placement },
    };
  }

  /** The newest `limit` events of each of these jobs, oldest first, in one query of the database. */
  eventsOfJobs(principal: Principal, jobs: readonly AnsweredJob[], limit: number): Promise<readonly JobEventList[]> {
    return this.#related.perJob<EventRow, JobEvent>(principal, jobs, {
      query: (which) => [
        `SELECT j.id AS job_id, e.id, e.type, e.severity, e.epoch, e.message, e.at
           FROM jobs j CROSS JOIN LATERAL (SELECT * FROM job_events WHERE job_id = j.id ORDER BY id DESC LIMIT $4) AS e
          WHERE ${WHICH_JOBS} ORDER BY e.id`,
        [...which, limit],
      ],
      toItem: toJobEvent,
    });
  }

  /** Events after an id, oldest first. */
  async #eventsAfter(sql: Sql, jobId: string, after: number): Promise<readonly JobEvent[]> {
    const found = await sql.query<EventRow>(
      'SELECT id, type, severity, epoch, message, at FROM job_events WHERE job_id = $1 AND id > $2 ORDER BY id LIMIT $3',
      [jobId, after, MAX_HISTORY],
    );
    return found.rows.map(toJobEvent);
  }

  async #nodeLabels(sql: Sql, placement: PlacementSpec): Promise<Map<string, Readonly<Record<string, string>>>> {
    const found = await sql.query<{ name: string; labels: Record<string, string> }>(
      // A node that is gone keeps its labels for the map of a job that ran on it; one that came back counts as it is now.
      `SELECT DISTINCT ON (name) name, labels FROM nodes
        WHERE cluster_id = $1 AND name = ANY ($2::text[]) ORDER BY name, deleted_at DESC NULLS FIRST`,
      [this.#cluster.id, [...new Set(placement.nodes)]],
    );
    return new Map(found.rows.map(({ name, labels }) => [name, labels]));
  }

  async #lastSteps(
    sql: Sql,
    row: JobRow,
    epoch: number,
  ): Promise<Map<number, { readonly lastStep: number; readonly stepTimeMs: number }>> {
    const found = await sql.query<{ rank: number; step: string; step_time_ms: number }>(
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

/** An event as it is answered. */
export function toJobEvent({ id, type, severity, epoch, message, at }: EventRow): JobEvent {
  return { id: Number(id), type, severity, epoch, message, at: at.toISOString() };
}
