import { randomUUID } from 'node:crypto';
import {
  type AttemptPrediction,
  AttemptPrediction as AttemptPredictionSchema,
  type MeasuredPrediction,
  type PlanAccuracy,
  type PlanList,
  type PlanSummary,
  type StoredPlan,
} from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { type ParallelLayout, worldSize } from '@coxswain/layout';
import { type Database, firstOf, type Sql } from '@coxswain/persistence';
import { PLANNER_VERSION } from '@coxswain/planner';
import type { PlannerThread } from '@coxswain/planner-thread';
import type { PlanAnswer, PlanRequest } from '@coxswain/planner/types';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import type { Action } from '../auth/roles.ts';
import { isUuid } from '../http/ids.ts';
import { fittingPage } from '../http/page-bytes.ts';
import { PageTokens } from '../http/page-token.ts';
import { recordAudit } from '../auth/audit.ts';
import { CLUSTER, type Cluster, DATABASE, PAGE_TOKENS, PLANNER } from '../infrastructure/tokens.ts';
import { answeredBefore, withIdempotencyKey, type RepeatableRequest } from '../http/idempotency.ts';
import { ALL_PROJECTS, projectIdOf, requireProject, requireScope, type ScopeQuestion } from '../auth/project-scope.ts';
import { accuracyGroups, accuracyOf, errorPctOf } from './accuracy.ts';
import type { PlansQuery } from './plan-queries.ts';

interface PlanRow {
  readonly id: string;
  readonly project_name: string;
  readonly request: PlanRequest;
  readonly answer: PlanAnswer;
  readonly planner_version: string;
  readonly created_at: Date;
}

interface SummaryRow {
  readonly id: string;
  readonly project_name: string;
  readonly planner_version: string;
  readonly created_at: Date;
  readonly created_at_text: string;
  readonly model: string | null;
  readonly model_name: string | null;
  readonly gpu: string;
  readonly gpus: number;
  /** Null: no layout fits. */
  readonly layout: ParallelLayout | null;
  readonly step_time_s: number | null;
}

interface MeasuredRow {
  readonly job_id: string;
  readonly project_name: string | null;
  readonly name: string;
  readonly engine: string | null;
  readonly epoch: number;
  readonly layout: ParallelLayout;
  readonly prediction: unknown;
  readonly started_at: string;
  readonly median_step_ms: number;
  readonly steps: number;
}

/** Fewer measured steps say too little to judge a prediction by. */
const LEAST_MEASURED_STEPS = 5;
const MAX_JUDGED = 10_000;
/** Most predictions of one answer. */
export const MAX_LISTED = 500;

/** What if: plans that nobody runs, kept with their answers; and how far plans of jobs were from what was measured. */
@Injectable()
export class PlansService {
  readonly #database: Database;
  readonly #cluster: Cluster;
  readonly #pageTokens: PageTokens;
  readonly #planner: PlannerThread;

  constructor(
    @Inject(DATABASE) database: Database,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(PAGE_TOKENS) pageTokens: PageTokens,
    @Inject(PLANNER) planner: PlannerThread,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#pageTokens = pageTokens;
    this.#planner = planner;
  }

  /** Plans and keeps the answer. The search runs before the transaction that stores it, so that it holds no connection. */
  async create(
    principal: Principal,
    asked: { readonly project?: string | undefined; readonly request: PlanRequest; readonly key?: string | undefined },
  ): Promise<StoredPlan> {
    const { request, key } = asked;
    const project = await requireProject(this.#database, this.#question(principal, asked.project, 'plan.write'));
    const repeatable: RepeatableRequest | undefined =
      key === undefined ? undefined : { principal, key, request: { plan: project.name, request } };
    if (repeatable !== undefined) {
      const before = await answeredBefore<StoredPlan>(this.#database, repeatable);
      if (before !== undefined) return before;
    }
    const answer = await this.#planner.ask({ kind: 'plan', request }, { tenant: project.id });
    return this.#database.transaction((sql) => {
      const work = (): Promise<StoredPlan> => this.#insert(sql, { principal, project, request, answer });
      return repeatable === undefined ? work() : withIdempotencyKey(sql, repeatable, work);
    });
  }

  async get(principal: Principal, planId: string): Promise<StoredPlan> {
    const scope = await requireScope(this.#database, this.#question(principal, undefined, 'plan.read'));
    const found = await this.#database.query<PlanRow>(
      `SELECT pl.*, p.name AS project_name FROM plans pl JOIN projects p ON p.id = pl.project_id
        WHERE pl.id = $1 AND p.cluster_id = $2 AND ($3::uuid IS NULL OR p.id = $3)`,
      [isUuid(planId) ? planId : null, this.#cluster.id, projectIdOf(scope)],
    );
    const row = firstOf(found);
    if (row !== undefined) return toStoredPlan(row);
    throw new DomainError('NOT_FOUND', `there is no plan ${JSON.stringify(planId.slice(0, 63))} that you may see`);
  }

  /** Newest first. */
  async list(principal: Principal, query: PlansQuery): Promise<PlanList> {
    const scope = await requireScope(this.#database, this.#question(principal, query.project, 'plan.read'));
    const tokenScope = `plans/${projectIdOf(scope) ?? ALL_PROJECTS}`;
    const after = query.pageToken === undefined ? undefined : this.#pageTokens.read(tokenScope, query.pageToken);
    const found = await this.#database.query<SummaryRow>(
      // No more of questions and answers than a summary says: both can be large.
      `SELECT pl.id, pl.planner_version, pl.created_at, p.name AS project_name, pl.created_at::text AS created_at_text,
              pl.request ->> 'model' AS model, pl.request -> 'modelShape' ->> 'name' AS model_name,
              pl.request -> 'cluster' ->> 'gpu' AS gpu, (pl.request -> 'cluster' ->> 'gpus')::integer AS gpus,
              pl.answer -> 'best' -> 'layout' AS layout,
              (pl.answer -> 'best' -> 'prediction' ->> 'stepTimeS')::float8 AS step_time_s
         FROM plans pl JOIN projects p ON p.id = pl.project_id
        WHERE p.cluster_id = $1 AND ($2::uuid IS NULL OR p.id = $2)
          AND ($3::timestamptz IS NULL OR (pl.created_at, pl.id) < ($3::timestamptz, $4::uuid))
        ORDER BY pl.created_at DESC, pl.id DESC LIMIT $5`,
      [this.#cluster.id, projectIdOf(scope), after?.createdAt ?? null, after?.id ?? null, query.pageSize + 1],
    );
    const rows = found.rows.slice(0, query.pageSize);
    const items = [...fittingPage(rows.map(toSummary))];
    const last = rows[items.length - 1];
    if (items.length === found.rows.length || last === undefined) return { items };
    const position = { createdAt: last.created_at_text, id: last.id };
    return { items, nextPageToken: this.#pageTokens.write(tokenScope, position) };
  }

  /** Prediction against measurement, over all jobs of the scope, deleted ones included. */
  async accuracy(principal: Principal, project: string | undefined): Promise<PlanAccuracy> {
    const scope = await requireScope(this.#database, this.#question(principal, project, 'plan.read'));
    const found = await this.#database.query<MeasuredRow>(
      `SELECT * FROM (
         SELECT DISTINCT ON (j.id, a.attempt -> 'layout')
                j.id AS job_id, p.name AS project_name, j.name, j.spec -> 'engine' ->> 'name' AS engine, a.epoch,
                a.attempt -> 'layout' AS layout, a.attempt -> 'prediction' AS prediction,
                a.attempt ->> 'startedAt' AS started_at, m.median_step_ms, m.steps
           FROM jobs j
           JOIN attempts a ON a.cluster_id = j.cluster_id AND a.job_uid = j.uid
           JOIN measured_step_times m ON m.cluster_id = a.cluster_id AND m.job_uid = a.job_uid AND m.epoch = a.epoch
           LEFT JOIN projects p ON p.id = j.project_id
          WHERE j.cluster_id = $1 AND ($2::uuid IS NULL OR j.project_id = $2)
            AND jsonb_exists(a.attempt, 'prediction') AND m.steps >= $3 AND m.median_step_ms > 0
          ORDER BY j.id, a.attempt -> 'layout', a.epoch DESC
       ) AS judged ORDER BY started_at DESC, job_id LIMIT $4`,
      [this.#cluster.id, projectIdOf(scope), LEAST_MEASURED_STEPS, MAX_JUDGED],
    );
    const judged = found.rows.flatMap(toMeasuredPrediction);
    return {
      overall: accuracyOf(judged.map(({ errorPct }) => errorPct)),
      groups: [...accuracyGroups(judged)],
      items: judged.slice(0, MAX_LISTED),
    };
  }

  async #insert(
    sql: Sql,
    plan: {
      readonly principal: Principal;
      readonly project: { readonly id: string; readonly name: string };
      readonly request: PlanRequest;
      readonly answer: PlanAnswer;
    },
  ): Promise<StoredPlan> {
    const { principal, project, request, answer } = plan;
    const id = randomUUID();
    const made = await sql.query<{ created_at: Date }>(
      `INSERT INTO plans (id, project_id, request, answer, planner_version) VALUES ($1, $2, $3, $4, $5) RETURNING created_at`,
      [id, project.id, JSON.stringify(request), JSON.stringify(answer), PLANNER_VERSION],
    );
    await recordAudit(sql, principal, { action: 'plan.create', target: id, projectId: project.id });
    const createdAt = (firstOf(made)?.created_at ?? new Date(0)).toISOString();
    return { id, project: project.name, request, answer, plannerVersion: PLANNER_VERSION, createdAt };
  }

  /** A token stands for its own project unless it says otherwise; an administrator's for every project. */
  #question(principal: Principal, project: string | undefined, action: Action): ScopeQuestion {
    const named = project ?? principal.project?.name ?? ALL_PROJECTS;
    return { clusterId: this.#cluster.id, principal, project: named, action };
  }
}

function toStoredPlan(row: PlanRow): StoredPlan {
  return {
    id: row.id,
    project: row.project_name,
    request: row.request,
    answer: row.answer,
    plannerVersion: row.planner_version,
    createdAt: row.created_at.toISOString(),
  };
}

function toSummary(row: SummaryRow): PlanSummary {
  return {
    id: row.id,
    project: row.project_name,
    model: row.model ?? row.model_name,
    gpu: row.gpu,
    gpus: row.gpus,
    layout: row.layout,
    predictedStepMs: row.step_time_s === null ? null : row.step_time_s * 1000,
    plannerVersion: row.planner_version,
    createdAt: row.created_at.toISOString(),
  };
}

/** Attempts are what the cluster holds, and whoever may write a status there may write nonsense: that is left out. */
function toMeasuredPrediction(row: MeasuredRow): readonly MeasuredPrediction[] {
  const parsed = AttemptPredictionSchema.safeParse(row.prediction);
  if (!parsed.success) return [];
  const prediction: AttemptPrediction = parsed.data;
  return [
    {
      jobId: row.job_id,
      project: row.project_name,
      name: row.name,
      engine: row.engine ?? 'unknown',
      gpuType: prediction.gpuType,
      gpus: worldSize(row.layout),
      epoch: row.epoch,
      layout: row.layout,
      microBatchSize: prediction.microBatchSize,
      predictedMs: prediction.stepMs,
      measuredMs: row.median_step_ms,
      measuredSteps: row.steps,
      errorPct: errorPctOf(prediction.stepMs, row.median_step_ms),
      plannerVersion: prediction.plannerVersion,
      startedAt: row.started_at,
    },
  ];
}
