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
import { firstOf, type Sql, type TenantDatabase } from '@coxswain/persistence';
import { PLANNER_VERSION } from '@coxswain/planner';
import type { PlanAnswer, PlanRequest } from '@coxswain/planner/types';
import { SECOND_MS } from '@coxswain/units';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import type { Action } from '../auth/roles.ts';
import { isUuid } from '../http/ids.ts';
import { fittingPage } from '../http/page-bytes.ts';
import { PageTokens } from '../http/page-token.ts';
import { recordAudit } from '../auth/audit.ts';
import { CLUSTER, type Cluster, PAGE_TOKENS, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { storedAnswerOf, type Created, createIdempotently, type OptionallyRepeatable } from '../http/idempotency.ts';
import {
  inProject,
  inScope,
  ALL_PROJECTS,
  projectIdOf,
  type ProjectScope,
  type ScopeQuestion,
} from '../auth/project-scope.ts';
import { accuracyGroups, accuracyOf, errorPctOf } from './accuracy.ts';
import type { PlansQuery } from './plan-queries.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { ProjectPlanner } from './project-planner.ts';

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
  /** Null as well in answers that were kept before there were intervals. */
  readonly step_low_s: number | null;
  readonly step_high_s: number | null;
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

/** A plan as its URL names it. */
export interface PlanAddress {
  readonly project: string;
  readonly planId: string;
}

/** Fewer measured steps say too little to judge a prediction by. */
const LEAST_MEASURED_STEPS = 5;
const MAX_JUDGED = 10_000;
/** Most predictions of one answer. */
export const MAX_LISTED = 500;

/** What if: plans that nobody runs, kept with their answers; and how far plans of jobs were from what was measured. */
@Injectable()
export class PlansService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #pageTokens: PageTokens;
  readonly #planner: ProjectPlanner;
  readonly #limits: ProjectLimits;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(PAGE_TOKENS) pageTokens: PageTokens,
    @Inject(ProjectPlanner) planner: ProjectPlanner,
    @Inject(ProjectLimits) limits: ProjectLimits,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#pageTokens = pageTokens;
    this.#planner = planner;
    this.#limits = limits;
  }

  /** Plans and keeps the answer. The search runs before the transaction that stores it, so that it holds no connection. */
  async create(
    principal: Principal,
    asked: {
      readonly project: string;
      readonly request: PlanRequest;
      readonly key?: string | undefined;
      /** Nobody waits for the answer any more: the search is ended. */
      readonly gone: AbortSignal;
    },
  ): Promise<StoredPlan> {
    const { request, key, gone } = asked;
    const question = this.#question(principal, asked.project, 'plan.write');
    const repeatableIn = ({ name }: { readonly name: string }): OptionallyRepeatable => ({
      principal,
      key,
      request: { plan: name, request },
    });
    const { project, before } = await inProject(this.#database, question, async (sql, project) => ({
      project,
      before: await this.#madeBefore(sql, project.id, repeatableIn(project)),
    }));
    if (before !== undefined) return before;
    const answer = await this.#planner.plan(project, request, gone);
    return inProject(this.#database, question, (sql, project) =>
      createIdempotently(sql, repeatableIn(project), {
        make: () => this.#insert(sql, { principal, project, request, answer }),
        find: (planId) => this.#find(sql, { planId, projectId: project.id }),
      }),
    );
  }

  /** What a repetition is answered. A plan that was forgotten meanwhile is made anew: it is no worse than the first. */
  async #madeBefore(
    sql: Sql,
    projectId: string,
    { key, ...repeatable }: OptionallyRepeatable,
  ): Promise<StoredPlan | undefined> {
    const made = key === undefined ? undefined : await storedAnswerOf<Created>(sql, { ...repeatable, key });
    return made === undefined ? undefined : this.#find(sql, { planId: made.id, projectId });
  }

  async get(principal: Principal, { project, planId }: PlanAddress): Promise<StoredPlan> {
    const found = await inScope(this.#database, this.#question(principal, project, 'plan.read'), (sql, scope) =>
      this.#find(sql, { planId, projectId: projectIdOf(scope) }),
    );
    if (found !== undefined) return found;
    throw new DomainError(
      'NOT_FOUND',
      `project ${JSON.stringify(project)} has no plan ${JSON.stringify(planId.slice(0, 63))}`,
    );
  }

  /** Of a project, or (null) of any. */
  async #find(
    sql: Sql,
    { planId, projectId }: { readonly planId: string; readonly projectId: string | null },
  ): Promise<StoredPlan | undefined> {
    const found = await sql.query<PlanRow>(
      `SELECT pl.*, p.name AS project_name FROM plans pl JOIN projects p ON p.id = pl.project_id
        WHERE pl.id = $1 AND p.cluster_id = $2 AND ($3::uuid IS NULL OR p.id = $3)`,
      [isUuid(planId) ? planId : null, this.#cluster.id, projectId],
    );
    const row = firstOf(found);
    return row === undefined ? undefined : toStoredPlan(row);
  }

  /** Newest first. */
  async list(principal: Principal, query: PlansQuery & { readonly project: string }): Promise<PlanList> {
    const question = this.#listing(principal, query.project);
    return inScope(this.#database, question, (sql, scope) => this.#listIn(sql, scope, query));
  }

  async #listIn(sql: Sql, scope: ProjectScope, query: PlansQuery): Promise<PlanList> {
    const tokenScope = `plans/${projectIdOf(scope) ?? ALL_PROJECTS}`;
    const after = query.pageToken === undefined ? undefined : this.#pageTokens.read(tokenScope, query.pageToken);
    const found = await sql.query<SummaryRow>(
      // No more of questions and answers than a summary says: both can be large.
      `SELECT pl.id, pl.planner_version, pl.created_at, p.name AS project_name, pl.created_at::text AS created_at_text,
              pl.request ->> 'model' AS model, pl.request -> 'modelShape' ->> 'name' AS model_name,
              pl.request -> 'cluster' ->> 'gpu' AS gpu, (pl.request -> 'cluster' ->> 'gpus')::integer AS gpus,
              pl.answer -> 'best' -> 'layout' AS layout,
              (pl.answer -> 'best' -> 'prediction' ->> 'stepTimeS')::float8 AS step_time_s,
              (pl.answer -> 'best' -> 'prediction' -> 'interval' ->> 'lowS')::float8 AS step_low_s,
              (pl.answer -> 'best' -> 'prediction' -> 'interval' ->> 'highS')::float8 AS step_high_s
         FROM plans pl JOIN projects p ON p.id = pl.project_id
        WHERE p.cluster_id = $1 AND ($2::uuid IS NULL OR p.id = $2)
          AND ($3::timestamptz IS NULL OR (pl.created_at, pl.id) < ($3::timestamptz, $4::uuid))
        ORDER BY pl.created_at DESC, pl.id DESC LIMIT $5`,
      [this.#cluster.id, projectIdOf(scope), after?.key ?? null, after?.id ?? null, query.pageSize + 1],
    );
    const rows = found.rows.slice(0, query.pageSize);
    const items = [...fittingPage(rows.map(toSummary))];
    const last = rows[items.length - 1];
    if (items.length === found.rows.length || last === undefined) return { items };
    const position = { key: last.created_at_text, id: last.id };
    return { items, nextPageToken: this.#pageTokens.write(tokenScope, position) };
  }

  /** Prediction against measurement, over all jobs of the scope, deleted ones included. */
  async accuracy(principal: Principal, project: string): Promise<PlanAccuracy> {
    const found = await inScope(this.#database, this.#listing(principal, project), (sql, scope) =>
      sql.query<MeasuredRow>(
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
      ),
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
    await this.#forgetOldest(sql, project.id);
    await recordAudit(sql, principal, { action: 'plan.create', target: id, projectId: project.id });
    const createdAt = (firstOf(made)?.created_at ?? new Date(0)).toISOString();
    return { id, project: project.name, request, answer, plannerVersion: PLANNER_VERSION, createdAt };
  }

  /** An old plan can be asked for again, so that no project has to tidy up to go on. */
  async #forgetOldest(sql: Sql, projectId: string): Promise<void> {
    const kept = this.#limits.mostStoredPlans;
    if (kept === 0) return;
    await sql.query(
      `DELETE FROM plans WHERE project_id = $1 AND id IN (
         SELECT id FROM plans WHERE project_id = $1 ORDER BY created_at DESC, id DESC OFFSET $2)`,
      [projectId, kept],
    );
  }

  #listing(principal: Principal, project: string): ScopeQuestion {
    return { ...this.#question(principal, project, 'plan.read'), work: 'list' };
  }

  #question(principal: Principal, project: string, action: Action): ScopeQuestion {
    return { clusterId: this.#cluster.id, principal, project, action };
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
    predictedStepMs: row.step_time_s === null ? null : row.step_time_s * SECOND_MS,
    ...intervalOf(row),
    plannerVersion: row.planner_version,
    createdAt: row.created_at.toISOString(),
  };
}

function intervalOf(row: SummaryRow): Pick<PlanSummary, 'predictedStepLowMs' | 'predictedStepHighMs'> {
  const { step_low_s: lowS, step_high_s: highS } = row;
  if (lowS === null || highS === null) return {};
  return { predictedStepLowMs: lowS * SECOND_MS, predictedStepHighMs: highS * SECOND_MS };
}

/** Attempts come from the cluster, where users who can write a status can write invalid data; invalid attempts are left out. */
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
