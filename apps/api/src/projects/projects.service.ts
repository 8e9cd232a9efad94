import { randomUUID } from 'node:crypto';
import type { Project, ProjectCreate, ProjectList } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { type Database, isUniqueViolation } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { requireAction } from '../auth/roles.ts';
import { recordAudit } from '../auth/audit.ts';
import type { Config } from '../config/config.ts';
import { CLUSTER, type Cluster, CONFIG, DATABASE } from '../infrastructure/tokens.ts';
import { requireProject } from '../auth/project-scope.ts';
import { adoptJobs } from '../jobs/job-table.ts';
import { namespaceProblem, type NamespaceRules } from './namespace-rules.ts';

interface ProjectRow {
  readonly id: string;
  readonly name: string;
  readonly created_at: Date;
  readonly namespaces: readonly string[] | null;
}

const SELECT_PROJECT = `
  SELECT p.id, p.name, p.created_at,
         (SELECT array_agg(n.namespace ORDER BY n.position) FROM project_namespaces n WHERE n.project_id = p.id) AS namespaces
    FROM projects p`;

/** Most projects of one answer. */
export const MAX_LISTED_PROJECTS = 500;

/** Projects and the namespaces they own. */
@Injectable()
export class ProjectsService {
  readonly #database: Database;
  readonly #cluster: Cluster;
  readonly #rules: NamespaceRules;

  constructor(@Inject(DATABASE) database: Database, @Inject(CLUSTER) cluster: Cluster, @Inject(CONFIG) config: Config) {
    this.#rules = config.namespaces;
    this.#database = database;
    this.#cluster = cluster;
  }

  /** Makes a project; jobs that are already in its namespaces become its own. NAME_TAKEN for a name or namespace that is owned. */
  async create(principal: Principal, request: ProjectCreate): Promise<Project> {
    requireAction(principal, 'project.create');
    const namespaces = [...new Set(request.namespaces)];
    this.#requireAllowed(request.namespaces);
    try {
      const id = await this.#database.transaction(async (sql) => {
        const fresh = randomUUID();
        const key = [fresh, this.#cluster.id];
        await sql.query('INSERT INTO projects (id, cluster_id, name) VALUES ($1, $2, $3)', [...key, request.name]);
        await sql.query(
          `INSERT INTO project_namespaces (project_id, cluster_id, namespace, position)
           SELECT $1, $2, namespace, position FROM unnest($3::text[]) WITH ORDINALITY AS given (namespace, position)`,
          [...key, namespaces],
        );
        await adoptJobs(sql, this.#cluster, { id: fresh, namespaces });
        await recordAudit(sql, principal, { action: 'project.create', target: request.name, projectId: fresh });
        return fresh;
      });
      return await this.#one('p.id = $1', [id]);
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

  /** Those that the principal may see: its own, or all. */
  async list(principal: Principal): Promise<ProjectList> {
    requireAction(principal, 'project.read');
    const found = await this.#database.query<ProjectRow>(
      `${SELECT_PROJECT} WHERE p.cluster_id = $1 AND ($2::uuid IS NULL OR p.id = $2) ORDER BY p.name LIMIT ${MAX_LISTED_PROJECTS}`,
      [this.#cluster.id, principal.project?.id ?? null],
    );
    return { items: found.rows.map(toProject) };
  }

  async get(principal: Principal, name: string): Promise<Project> {
    const question = { clusterId: this.#cluster.id, principal, project: name, action: 'project.read' } as const;
    const project = await requireProject(this.#database, question);
    return this.#one('p.id = $1', [project.id]);
  }

  #requireAllowed(namespaces: readonly string[]): void {
    const violations = namespaces.flatMap((namespace, index) => {
      const problem = namespaceProblem(namespace, this.#rules);
      return problem === undefined ? [] : [{ pointer: `/namespaces/${index}`, detail: `${namespace}: ${problem}` }];
    });
    const [first] = violations;
    if (first !== undefined) throw new DomainError('INVALID_REQUEST', `namespaces: ${first.detail}`, violations);
  }

  async #one(condition: string, parameters: readonly unknown[]): Promise<Project> {
    const row = (await this.#database.query<ProjectRow>(`${SELECT_PROJECT} WHERE ${condition}`, parameters)).rows[0];
    if (row === undefined) throw new DomainError('NOT_FOUND', 'the project does not exist any more');
    return toProject(row);
  }
}

function toProject(row: ProjectRow): Project {
  return { name: row.name, namespaces: [...(row.namespaces ?? [])], createdAt: row.created_at.toISOString() };
}
