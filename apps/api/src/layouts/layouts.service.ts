import { randomUUID } from 'node:crypto';
import type { LayoutCreate, LayoutList, StoredLayout } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { MAX_WORLD_SIZE, worldSize } from '@coxswain/layout';
import { firstOf, isUniqueViolation, type Sql, type TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { createIdempotently } from '../http/idempotency.ts';
import { isUuid } from '../http/ids.ts';
import { recordAudit } from '../auth/audit.ts';
import { CLUSTER, type Cluster, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { inProject, inScope, projectIdOf } from '../auth/project-scope.ts';

interface LayoutRow {
  readonly id: string;
  readonly name: string | null;
  readonly layout: StoredLayout['layout'];
  readonly created_at: Date;
}

/** Most layouts of one answer. */
export const MAX_LISTED_LAYOUTS = 500;

/** Layouts that a project keeps under a name. */
@Injectable()
export class LayoutsService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #limits: ProjectLimits;

  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(ProjectLimits) limits: ProjectLimits,
  ) {
    this.#limits = limits;
    this.#database = database;
    this.#cluster = cluster;
  }

  async create(
    principal: Principal,
    asked: { readonly project: string; readonly request: LayoutCreate; readonly key: string | undefined },
  ): Promise<StoredLayout> {
    const { project: projectName, request, key } = asked;
    const question = { clusterId: this.#cluster.id, principal, project: projectName, action: 'layout.write' } as const;
    const ranks = worldSize(request.layout);
    if (ranks > MAX_WORLD_SIZE) {
      const detail = `the product of the degrees is ${ranks} GPUs; at most ${MAX_WORLD_SIZE} are supported`;
      throw new DomainError('INVALID_LAYOUT', detail, [{ pointer: '/layout', detail }]);
    }
    try {
      return await inProject(this.#database, question, (sql, project) =>
        createIdempotently(
          sql,
          { principal, key, request: { createLayout: projectName, request } },
          {
            make: () => this.#insert(sql, { principal, project, request }),
            find: (layoutId) => this.#find(sql, { layoutId, projectId: project.id }),
          },
        ),
      );
    } catch (error) {
      if (!isUniqueViolation(error, 'layouts_name')) throw error;
      throw new DomainError(
        'NAME_TAKEN',
        `a layout named "${request.name ?? ''}" exists in this project; choose another name`,
      );
    }
  }

  async #insert(
    sql: Sql,
    layout: {
      readonly principal: Principal;
      readonly project: { readonly id: string; readonly name: string };
      readonly request: LayoutCreate;
    },
  ): Promise<StoredLayout> {
    const { principal, project, request } = layout;
    await this.#limits.requireRoom(sql, project, 'layouts');
    const made = await sql.query<LayoutRow>(
      'INSERT INTO layouts (id, project_id, name, layout) VALUES ($1, $2, $3, $4) RETURNING *',
      [randomUUID(), project.id, request.name ?? null, JSON.stringify(request.layout)],
    );
    const row = made.rows[0];
    if (row === undefined) throw new Error('INSERT … RETURNING gave no row');
    const target = `${project.name}/${request.name ?? row.id}`;
    await recordAudit(sql, principal, { action: 'layout.create', target, projectId: project.id });
    return toStoredLayout(row);
  }

  async list(principal: Principal, project: string): Promise<LayoutList> {
    const question = { clusterId: this.#cluster.id, principal, project, action: 'layout.read', work: 'list' } as const;
    const found = await inScope(this.#database, question, (sql, scope) =>
      sql.query<LayoutRow>(
        `SELECT l.* FROM layouts l JOIN projects p ON p.id = l.project_id
          WHERE p.cluster_id = $1 AND ($2::uuid IS NULL OR p.id = $2) ORDER BY l.created_at DESC, l.id LIMIT ${MAX_LISTED_LAYOUTS}`,
        [this.#cluster.id, projectIdOf(scope)],
      ),
    );
    return { items: found.rows.map(toStoredLayout) };
  }

  async get(principal: Principal, project: string, layoutId: string): Promise<StoredLayout> {
    const question = { clusterId: this.#cluster.id, principal, project, action: 'layout.read' } as const;
    const found = await inScope(this.#database, question, (sql, scope) =>
      this.#find(sql, { layoutId, projectId: projectIdOf(scope) }),
    );
    if (found !== undefined) return found;
    throw new DomainError('NOT_FOUND', `project ${JSON.stringify(project)} has no such layout`);
  }

  /** Of a project, or (null) of any. */
  async #find(
    sql: Sql,
    { layoutId, projectId }: { readonly layoutId: string; readonly projectId: string | null },
  ): Promise<StoredLayout | undefined> {
    const found = await sql.query<LayoutRow>(
      `SELECT l.* FROM layouts l JOIN projects p ON p.id = l.project_id
        WHERE l.id = $1 AND p.cluster_id = $2 AND ($3::uuid IS NULL OR p.id = $3)`,
      [isUuid(layoutId) ? layoutId : null, this.#cluster.id, projectId],
    );
    const row = firstOf(found);
    return row === undefined ? undefined : toStoredLayout(row);
  }
}

function toStoredLayout(row: LayoutRow): StoredLayout {
  return {
    id: row.id,
    name: row.name,
    layout: row.layout,
    worldSize: worldSize(row.layout),
    createdAt: row.created_at.toISOString(),
  };
}
