import { randomUUID } from 'node:crypto';
import type { Project, ProjectCreate, ProjectLimitList, ProjectList, ProjectPatch } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { isUniqueViolation, type Sql, type TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { runIdempotently } from '../http/idempotency.ts';
import { highestRoleOf, type Principal } from '../auth/principal.ts';
import { requireAction } from '../auth/roles.ts';
import { recordAudit } from '../auth/audit.ts';
import type { Config } from '../config/config.ts';
import { CLUSTER, type Cluster, CONFIG, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { inProject, scopeOf } from '../auth/project-scope.ts';
import { adoptJobs } from '../jobs/job-table.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { namespaceProblem, type NamespaceRules } from './namespace-rules.ts';

interface ProjectRow {
  readonly id: string;
  readonly name: string;
  readonly created_at: Date;
  readonly namespaces: readonly string[] | null;
  readonly priority_classes: readonly string[];
}

const SELECT_PROJECT = `
  SELECT p.id, p.name, p.created_at, p.priority_classes,
         (SELECT array_agg(n.namespace ORDER BY n.position) FROM project_namespaces n WHERE n.project_id = p.id) AS namespaces
    FROM projects p`;

/** Most projects of one answer. */
export const MAX_LISTED_PROJECTS = 500;

/** Projects and the namespaces they own. */
@Injectable()
export class ProjectsService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #rules: NamespaceRules;
  readonly #limits: ProjectLimits;

  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(CONFIG) config: Config,
    @Inject(ProjectLimits) limits: ProjectLimits,
  ) {
    this.#limits = limits;
    this.#rules = config.namespaces;
    this.#database = database;
    this.#cluster = cluster;
  }

  /** Makes a project; jobs that are already in its namespaces become its own. NAME_TAKEN for a name or namespace that is owned. */
  async create(principal: Principal, request: ProjectCreate, key?: string): Promise<Project> {
    requireAction(highestRoleOf(principal), 'project.create');
    const namespaces = [...new Set(request.namespaces)];
    this.#requireAllowed(request.namespaces);
    try {
      return await this.#database.within(scopeOf(principal, this.#cluster.id), (sql) =>
        runIdempotently(sql, { principal, key, request: { createProject: request } }, () =>
          this.#insert(sql, principal, { name: request.name, namespaces }),
        ),
      );
    } catch (error) {
      if (isUniqueViolation(error, 'projects_name')) {
        throw new DomainError('NAME_TAKEN', `a project named "${request.name}" exists already; choose another name`);
      }
      if (isUniqueViolation(error, 'project_namespaces_pkey')) {
        throw new DomainError(
          'NAME_TAKEN',
          `one of the namespaces ${namespaces.join(', ')} belongs to another project`,
        );
      }
      throw error;
    }
  }

  async #insert(sql: Sql, principal: Principal, { name, namespaces }: ProjectCreate): Promise<Project> {
    const id = randomUUID();
    const identity = [id, this.#cluster.id];
    await sql.query('INSERT INTO projects (id, cluster_id, name) VALUES ($1, $2, $3)', [...identity, name]);
    await sql.query(
      `INSERT INTO project_namespaces (project_id, cluster_id, namespace, position)
       SELECT $1, $2, namespace, position FROM unnest($3::text[]) WITH ORDINALITY AS given (namespace, position)`,
      [...identity, namespaces],
    );
    await adoptJobs(sql, this.#cluster, { id, namespaces });
    await recordAudit(sql, principal, { action: 'project.create', target: name, projectId: id });
    return oneProject(sql, id);
  }

  /** Those that the principal may see: its own, or all. */
  async list(principal: Principal): Promise<ProjectList> {
    requireAction(highestRoleOf(principal), 'project.read');
    const found = await this.#database.within(scopeOf(principal, this.#cluster.id), (sql) =>
      sql.query<ProjectRow>(
        `${SELECT_PROJECT} WHERE p.cluster_id = $1 AND ($2 OR p.id = ANY($3::uuid[])) ORDER BY p.name LIMIT ${MAX_LISTED_PROJECTS}`,
        [this.#cluster.id, principal.isClusterAdmin, principal.memberships.map(({ id }) => id)],
      ),
    );
    return { items: found.rows.map(toProject) };
  }

  async get(principal: Principal, name: string): Promise<Project> {
    const question = { clusterId: this.#cluster.id, principal, project: name, action: 'project.read' } as const;
    return inProject(this.#database, question, (sql, project) => oneProject(sql, project.id));
  }

  /** Changes settings of a project. What jobs that exist name stays. */
  async patch(principal: Principal, name: string, { priorityClasses }: ProjectPatch): Promise<Project> {
    const question = { clusterId: this.#cluster.id, principal, project: name, action: 'project.update' } as const;
    return inProject(this.#database, question, async (sql, { id }) => {
      const classes = [...new Set(priorityClasses)].toSorted();
      await sql.query('UPDATE projects SET priority_classes = $2 WHERE id = $1', [id, classes]);
      await recordAudit(sql, principal, { action: 'project.update', target: name, projectId: id });
      return oneProject(sql, id);
    });
  }

  /** What it may use of the API, and what of it is used. */
  async limits(principal: Principal, name: string): Promise<ProjectLimitList> {
    const question = {
      clusterId: this.#cluster.id,
      principal,
      project: name,
      action: 'project.read',
      work: 'list',
    } as const;
    return inProject(this.#database, question, async (sql, project) => ({
      items: await this.#limits.inUse(sql, project),
    }));
  }

  #requireAllowed(namespaces: readonly string[]): void {
    const violations = namespaces.flatMap((namespace, index) => {
      const problem = namespaceProblem(namespace, this.#rules);
      return problem === undefined ? [] : [{ pointer: `/namespaces/${index}`, detail: `${namespace}: ${problem}` }];
    });
    const [first] = violations;
    if (first !== undefined) throw new DomainError('INVALID_REQUEST', `namespaces: ${first.detail}`, violations);
  }
}

async function oneProject(sql: Sql, id: string): Promise<Project> {
  const row = (await sql.query<ProjectRow>(`${SELECT_PROJECT} WHERE p.id = $1`, [id])).rows[0];
  if (row === undefined) throw new DomainError('NOT_FOUND', 'the project does not exist any more');
  return toProject(row);
}

function toProject(row: ProjectRow): Project {
  return {
    name: row.name,
    namespaces: [...(row.namespaces ?? [])],
    createdAt: row.created_at.toISOString(),
    priorityClasses: [...row.priority_classes],
  };
}
