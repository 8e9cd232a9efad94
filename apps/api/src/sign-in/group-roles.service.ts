import { randomUUID } from 'node:crypto';
import type { GroupKind, GroupRole, GroupRoleCreate, GroupRoleList } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { firstOf, type ScopedSql, type Sql, type TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { recordAudit } from '../auth/audit.ts';
import type { Principal } from '../auth/principal.ts';
import { ALL_PROJECTS, inScope, projectIdOf, type ProjectScope } from '../auth/project-scope.ts';
import type { Config } from '../config/config.ts';
import { runIdempotently } from '../http/idempotency.ts';
import { isUuid } from '../http/ids.ts';
import { CLUSTER, type Cluster, CONFIG, TENANT_DATABASE } from '../infrastructure/tokens.ts';

interface GroupRoleRow {
  readonly id: string;
  readonly kind: GroupRole['kind'];
  /** Empty: the cluster says who is who. */
  readonly issuer: string;
  readonly group_name: string;
  readonly role: GroupRole['role'];
  readonly created_at: Date;
}

/** A role that is to be given. */
interface Grant {
  readonly project: string;
  readonly request: GroupRoleCreate;
  readonly key: string | undefined;
}

/** Most groups that have a role in one project, or in the cluster. */
export const MAX_GROUP_ROLES = 500;

/** What groups of the issuer, and accounts of Kubernetes, are: in a project, as its administrators say, or in the cluster (project "-"), as those of the cluster say. */
@Injectable()
export class GroupRolesService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #issuer: string | undefined;
  readonly #letsAccountsIn: boolean;

  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(CONFIG) config: Config,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#issuer = config.signIn?.issuerUrl;
    this.#letsAccountsIn = config.serviceAccountAudience !== undefined;
  }

  /** By group. */
  list(principal: Principal, project: string): Promise<GroupRoleList> {
    return this.#in(principal, { project, action: 'group.read' }, async (sql, scope) => {
      const found = await sql.query<GroupRoleRow>(
        `SELECT * FROM group_roles WHERE cluster_id = $1 AND project_id IS NOT DISTINCT FROM $2 ORDER BY group_name, kind, id LIMIT ${MAX_GROUP_ROLES}`,
        [this.#cluster.id, projectIdOf(scope)],
      );
      return { items: found.rows.map((row) => toGroupRole(row, scope)) };
    });
  }

  /** A group has one role in a project: another one takes its place. Holds for those who are signed in within seconds. */
  grant(principal: Principal, wanted: Grant): Promise<GroupRole> {
    const { project, request, key } = wanted;
    return this.#in(principal, { project, action: 'group.write' }, (sql, scope) =>
      runIdempotently(sql, { principal, key, request: { grantGroupRole: project, request } }, () =>
        this.#grant(sql, { principal, scope, ...wanted }),
      ),
    );
  }

  async #grant(
    sql: Sql,
    { principal, scope, project, request }: Grant & { readonly principal: Principal; readonly scope: ProjectScope },
  ): Promise<GroupRole> {
    requireFitting(request, scope);
    requireName(request);
    const place = [this.#cluster.id, projectIdOf(scope)];
    await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 5))', [place.join('/')]);
    const named = [...place, this.#issuerOf(request.kind), request.group, request.kind];
    await sql.query(
      'DELETE FROM group_roles WHERE cluster_id = $1 AND project_id IS NOT DISTINCT FROM $2 AND issuer = $3 AND group_name = $4 AND kind = $5',
      named,
    );
    await requireRoom(sql, place);
    const made = await sql.query<GroupRoleRow>(
      `INSERT INTO group_roles (cluster_id, project_id, issuer, group_name, kind, role, id) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING *`,
      [...named, request.role, randomUUID()],
    );
    const row = firstOf(made);
    if (row === undefined) throw new Error('INSERT … RETURNING gave no row');
    await recordAudit(sql, principal, { ...about(row, scope, project), action: 'group.grant' });
    return toGroupRole(row, scope);
  }

  /** Takes effect everywhere within 2 s. */
  revoke(principal: Principal, project: string, groupRoleId: string): Promise<void> {
    return this.#in(principal, { project, action: 'group.write' }, async (sql, scope) => {
      const gone = await sql.query<GroupRoleRow>(
        'DELETE FROM group_roles WHERE id = $1 AND cluster_id = $2 AND project_id IS NOT DISTINCT FROM $3 RETURNING *',
        [isUuid(groupRoleId) ? groupRoleId : null, this.#cluster.id, projectIdOf(scope)],
      );
      const row = firstOf(gone);
      if (row === undefined) {
        const how = `GET /v1/projects/${project}/group-roles lists those there are`;
        throw new DomainError('NOT_FOUND', `there is no such role of a group; ${how}`);
      }
      await recordAudit(sql, principal, { ...about(row, scope, project), action: 'group.revoke' });
    });
  }

  #in<T>(
    principal: Principal,
    wanted: { readonly project: string; readonly action: 'group.read' | 'group.write' },
    work: (sql: ScopedSql, scope: ProjectScope) => Promise<T>,
  ): Promise<T> {
    return inScope(this.#database, { clusterId: this.#cluster.id, principal, ...wanted }, work);
  }

  #issuerOf(kind: GroupKind): string {
    if (kind === 'group') {
      if (this.#issuer !== undefined) return this.#issuer;
      const how = 'COXSWAIN_OIDC_ISSUER_URL, in the chart api.oidc.issuerUrl';
      throw new DomainError('INVALID_REQUEST', `no issuer of accounts is configured (${how})`);
    }
    if (this.#letsAccountsIn) return '';
    const how = 'COXSWAIN_SERVICE_ACCOUNTS, in the chart api.serviceAccounts.enabled';
    throw new DomainError('INVALID_REQUEST', `accounts of Kubernetes are not let in here (${how})`);
  }
}

async function requireRoom(sql: Sql, place: readonly (string | null)[]): Promise<void> {
  const found = await sql.query<{ n: number }>(
    'SELECT count(*)::integer AS n FROM group_roles WHERE cluster_id = $1 AND project_id IS NOT DISTINCT FROM $2',
    place,
  );
  if ((firstOf(found)?.n ?? 0) < MAX_GROUP_ROLES) return;
  throw new DomainError('CONFLICT', `${MAX_GROUP_ROLES} groups have a role here, which is the most; revoke one first`);
}

function requireFitting({ role }: GroupRoleCreate, scope: ProjectScope): void {
  if ((role === 'clusterAdmin') === (scope.kind === 'cluster')) return;
  const detail =
    scope.kind === 'cluster'
      ? `in the cluster (project "${ALL_PROJECTS}") a group can be clusterAdmin alone; name a project for ${role}`
      : `clusterAdmin is a role in the cluster; name project "${ALL_PROJECTS}" for it`;
  throw new DomainError('INVALID_REQUEST', `role: ${detail}`, [{ pointer: '/role', detail }]);
}

/** Forms of names. A role for a name that no account can have would never apply to anyone. */
const NAMES: Readonly<Partial<Record<GroupKind, { readonly form: RegExp; readonly meant: string }>>> = {
  kubernetesGroup: {
    form: /^system:serviceaccounts(:[a-z0-9-]{1,63})?$/,
    meant: 'system:serviceaccounts:NAMESPACE, or system:serviceaccounts for those of every namespace',
  },
  serviceAccount: {
    form: /^system:serviceaccount:[a-z0-9-]{1,63}:[a-z0-9.-]{1,253}$/,
    meant: 'system:serviceaccount:NAMESPACE:NAME',
  },
};

function requireName({ kind, group }: GroupRoleCreate): void {
  const { form, meant } = NAMES[kind] ?? {};
  if (form === undefined || form.test(group)) return;
  const detail = `must be ${meant} where kind is ${kind}, not ${JSON.stringify(group)}`;
  throw new DomainError('INVALID_REQUEST', `group: ${detail}`, [{ pointer: '/group', detail }]);
}

function about({ id, kind, group_name, role }: GroupRoleRow, scope: ProjectScope, project: string) {
  return { target: `${project}/${group_name}`, projectId: projectIdOf(scope), detail: { id, kind, role } };
}

function toGroupRole(row: GroupRoleRow, scope: ProjectScope): GroupRole {
  return {
    id: row.id,
    kind: row.kind,
    issuer: row.issuer === '' ? null : row.issuer,
    group: row.group_name,
    project: scope.kind === 'project' ? scope.name : null,
    role: row.role,
    createdAt: row.created_at.toISOString(),
  };
}
