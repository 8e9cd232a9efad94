import {
  type CheckpointDetail,
  type CheckpointPage,
  type CheckpointUses,
  type CheckpointVerification,
  MAX_LISTED_USES,
  type TensorGroup,
} from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import type { ParallelLayout } from '@coxswain/layout';
import { firstOf, type Sql, type TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { ALL_PROJECTS, inScope, projectIdOf, readingScope } from '../auth/project-scope.ts';
import { fittingPage } from '../http/page-bytes.ts';
import { PageTokens } from '../http/page-token.ts';
import { CLUSTER, type Cluster, PAGE_TOKENS, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { DESIRED, type DesiredColumns, desiredSpec } from '../jobs/job-row.ts';
import { judgeLoads } from '../jobs/resume-loads.ts';
import {
  catalogueQuery,
  type CatalogueRow,
  type CheckpointsQuery,
  ONE_CHECKPOINT,
  USES_OF_CHECKPOINT,
} from './checkpoint-queries.ts';
import { toCheckpointRecord } from './checkpoint-record.ts';

/** Which checkpoint. */
export interface CheckpointAddress {
  readonly project: string;
  readonly uid: string;
}

/** Checkpoints of a whole project, as the database mirrors them. The right to read a job includes them. */
@Injectable()
export class CheckpointCatalogueService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #pageTokens: PageTokens;

  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(PAGE_TOKENS) pageTokens: PageTokens,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#pageTokens = pageTokens;
  }

  /** Newest first; of `-` those of every namespace that the caller sees. */
  async list(principal: Principal, project: string, query: CheckpointsQuery): Promise<CheckpointPage> {
    const question = { clusterId: this.#cluster.id, principal, project, action: 'job.read', work: 'list' } as const;
    const { sql, scope } = await readingScope(this.#database, question);
    const projectId = projectIdOf(scope);
    const { pageSize, pageToken, ...filters } = query;
    const tokenScope = `checkpoints/${projectId ?? ALL_PROJECTS}/${JSON.stringify(filters)}`;
    const after = pageToken === undefined ? undefined : this.#pageTokens.read(tokenScope, pageToken);
    const wanted = { clusterId: this.#cluster.id, projectId, query: filters, after, rows: pageSize + 1 };
    const { text, parameters } = catalogueQuery(wanted);
    const found = await sql.query<CatalogueRow>(text, parameters);
    const rows = found.rows.slice(0, pageSize);
    const items = [...fittingPage(rows.map((row) => toCheckpointRecord(row, row.job_id)))];
    const last = rows[items.length - 1];
    if (items.length === found.rows.length || last === undefined) return { items };
    return { items, nextPageToken: this.#pageTokens.write(tokenScope, { key: last.at_text, id: last.uid }) };
  }

  /** NOT_FOUND if the project has no such checkpoint. One whose object was deleted is answered as it last was. */
  get(principal: Principal, address: CheckpointAddress): Promise<CheckpointDetail> {
    const question = { clusterId: this.#cluster.id, principal, project: address.project, action: 'job.read' } as const;
    return inScope(this.#database, question, async (sql, scope) => {
      const row = await findCheckpoint(sql, this.#cluster, { address, projectId: projectIdOf(scope) });
      const verifications = await this.#verifications(sql, row);
      const tensorGroups = await this.#groups(sql, row);
      const layout = row.job_id === null ? undefined : await layoutNow(sql, row.job_id);
      const loads = layout === undefined ? null : judgeLoads(row, layout);
      const usedBy = await this.#uses(sql, row, projectIdOf(scope));
      return { ...toCheckpointRecord(row, row.job_id), verifications, tensorGroups, loads, usedBy };
    });
  }

  async #uses(sql: Sql, row: CatalogueRow, projectId: string | null): Promise<CheckpointUses> {
    const { namespace, name, at_text: createdAt } = row;
    const { rows } = await sql.query<{ id: string; name: string; epoch: number; started_at: string; total: number }>(
      USES_OF_CHECKPOINT,
      [this.#cluster.id, projectId, namespace, name, createdAt, MAX_LISTED_USES],
    );
    return {
      total: rows[0]?.total ?? 0,
      attempts: rows.map((use) => ({
        jobId: use.id,
        jobName: use.name,
        epoch: use.epoch,
        startedAt: use.started_at,
      })),
    };
  }

  async #groups(sql: Sql, { uid, namespace, spec, contents }: CatalogueRow): Promise<TensorGroup[] | null> {
    const found = await sql.query<{ tensor_groups: TensorGroup[] }>(
      `SELECT tensor_groups FROM checkpoint_geometries WHERE cluster_id = $1 AND job_uid = $2 AND namespace = $3 AND geometry = $4`,
      [this.#cluster.id, spec.jobUid === '' ? uid : spec.jobUid, namespace, contents?.geometry ?? null],
    );
    return firstOf(found)?.tensor_groups ?? null;
  }

  async #verifications(sql: Sql, { uid }: CatalogueRow): Promise<CheckpointVerification[]> {
    const found = await sql.query<{ verification: CheckpointVerification }>(
      `SELECT verification FROM checkpoint_verifications WHERE cluster_id = $1 AND checkpoint_uid = $2
        ORDER BY verified_at DESC LIMIT 50`,
      [this.#cluster.id, uid],
    );
    return found.rows.map(({ verification }) => verification);
  }
}

/** The layout that a job has now, or would resume at; undefined: the planner has still to choose it. */
async function layoutNow(sql: Sql, jobId: string): Promise<ParallelLayout | undefined> {
  const job = firstOf(
    await sql.query<DesiredColumns & { readonly last_layout: ParallelLayout | null }>(
      `SELECT ${DESIRED}, (SELECT a.attempt->'layout' FROM attempts a WHERE a.cluster_id = jobs.cluster_id AND a.job_uid = jobs.uid
                            ORDER BY a.epoch DESC LIMIT 1) AS last_layout
         FROM jobs WHERE id = $1`,
      [jobId],
    ),
  );
  if (job === undefined) return undefined;
  const isChanged = job.desired_gpus !== null;
  return desiredSpec(job).layout ?? (isChanged ? undefined : (job.last_layout ?? undefined));
}

/** The row. NOT_FOUND if the project has none. */
export async function findCheckpoint(
  sql: Sql,
  cluster: Cluster,
  { address, projectId }: { readonly address: CheckpointAddress; readonly projectId: string | null },
): Promise<CatalogueRow> {
  const { project, uid } = address;
  const row = firstOf(await sql.query<CatalogueRow>(ONE_CHECKPOINT, [cluster.id, projectId, uid]));
  if (row !== undefined) return row;
  const named = `project ${JSON.stringify(project)} has no checkpoint ${JSON.stringify(uid.slice(0, 63))}`;
  throw new DomainError('NOT_FOUND', `${named}; its checkpoints are listed with their uid`);
}
