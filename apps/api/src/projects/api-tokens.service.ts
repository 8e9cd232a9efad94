import { randomUUID } from 'node:crypto';
import type { ApiToken, ApiTokenCreate, ApiTokenCreated, ApiTokenList, ApiTokenRotate } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { firstOf, type ScopedSql, type Sql, type TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import type { Action } from '../auth/roles.ts';
import { expiryOf } from '../auth/token-expiry.ts';
import { addServicePrincipal } from '../auth/principal-rows.ts';
import { freshToken } from '../auth/token-format.ts';
import type { Config } from '../config/config.ts';
import { isUuid } from '../http/ids.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { recordAudit } from '../auth/audit.ts';
import { CLOCK, CLUSTER, type Cluster, CONFIG, TENANT_DATABASE, type WallClock } from '../infrastructure/tokens.ts';
import { type AllowedProject, inProject } from '../auth/project-scope.ts';

interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly role: ApiToken['role'];
  readonly prefix: string;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
  readonly rotated_from: string | null;
  readonly principal_id: string | null;
}

/** A token as its URL names it. */
export interface TokenAddress {
  readonly project: string;
  readonly tokenId: string;
}

/** A token that is to be made. */
interface NewToken {
  readonly projectId: string;
  readonly name: string;
  readonly role: ApiToken['role'];
  readonly expiresAt: Date | null;
  readonly rotatedFrom: string | null;
  /** Whose it is. */
  readonly principalId: string;
}

/** Most tokens of one answer. */
export const MAX_LISTED_TOKENS = 500;

/** API tokens of a project: made once, shown once, good until they expire or are revoked. */
@Injectable()
export class ApiTokensService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #clock: WallClock;
  readonly #lifetimeDays: number;
  readonly #limits: ProjectLimits;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(CLOCK) clock: WallClock,
    @Inject(CONFIG) config: Config,
    @Inject(ProjectLimits) limits: ProjectLimits,
  ) {
    this.#limits = limits;
    this.#lifetimeDays = config.tokenLifetimeDays;
    this.#database = database;
    this.#cluster = cluster;
    this.#clock = clock;
  }

  async create(principal: Principal, projectName: string, request: ApiTokenCreate): Promise<ApiTokenCreated> {
    const { name, role } = request;
    const expiresAt = this.#expiryOf(request);
    return this.#in(principal, { project: projectName, action: 'token.write' }, async (sql, project) => {
      await this.#limits.requireRoom(sql, project, 'tokens');
      const principalId = await addServicePrincipal(sql, { name, projectId: project.id });
      const wanted = { projectId: project.id, name, role, expiresAt, rotatedFrom: null, principalId };
      const made = await insertToken(sql, wanted);
      const target = `${projectName}/${name}`;
      const detail = { id: made.id, role, expiresAt: made.expiresAt };
      await recordAudit(sql, principal, { action: 'token.create', target, projectId: project.id, detail });
      return made;
    });
  }

  /**
   * Creates a successor of the same name and role, for the same principal. The old token stays valid for `overlapSeconds`, but never longer than
   * before, so that its users can change over. If the successor was lost, the token can be rotated again.
   */
  async rotate(principal: Principal, address: TokenAddress, request: ApiTokenRotate): Promise<ApiTokenCreated> {
    const expiresAt = this.#expiryOf(request);
    return this.#in(principal, { project: address.project, action: 'token.write' }, async (sql, project) => {
      const old = firstOf(
        await sql.query<TokenRow>(
          `UPDATE api_tokens SET expires_at = least(expires_at, now() + make_interval(secs => $3))
            WHERE id = $1 AND project_id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) RETURNING *`,
          [uuidOrNull(address.tokenId), project.id, request.overlapSeconds],
        ),
      );
      if (old === undefined) throw noSuchToken(address.project);
      // The old one is good for a while yet: a project at its limit must be able to change over.
      await this.#limits.requireRoom(sql, project, 'tokens', { times: 2 });
      const { name, role, id: rotatedFrom } = old;
      const principalId =
        old.principal_id ?? (await addServicePrincipal(sql, { id: old.id, name, projectId: project.id }));
      const made = await insertToken(sql, { projectId: project.id, name, role, expiresAt, rotatedFrom, principalId });
      const target = `${address.project}/${rotatedFrom}`;
      const detail = { successor: made.id, overlapSeconds: request.overlapSeconds, expiresAt: made.expiresAt };
      await recordAudit(sql, principal, { action: 'token.rotate', target, projectId: project.id, detail });
      return made;
    });
  }

  /** Those that are good and those that expired in the last week, newest first. */
  async list(principal: Principal, projectName: string): Promise<ApiTokenList> {
    const found = await this.#in(principal, { project: projectName, action: 'token.read' }, (sql, project) =>
      sql.query<TokenRow>(
        `SELECT * FROM api_tokens
          WHERE project_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now() - interval '7 days')
          ORDER BY created_at DESC, id LIMIT ${MAX_LISTED_TOKENS}`,
        [project.id],
      ),
    );
    return { items: found.rows.map(toApiToken) };
  }

  /** Takes effect everywhere within 2 s. */
  async revoke(principal: Principal, { project: projectName, tokenId }: TokenAddress): Promise<void> {
    await this.#in(principal, { project: projectName, action: 'token.write' }, async (sql, project) => {
      const revoked = await sql.query(
        'UPDATE api_tokens SET revoked_at = now() WHERE id = $1 AND project_id = $2 AND revoked_at IS NULL',
        [uuidOrNull(tokenId), project.id],
      );
      if (revoked.affected === 0) throw noSuchToken(projectName);
      const target = `${projectName}/${tokenId}`;
      await recordAudit(sql, principal, { action: 'token.revoke', target, projectId: project.id });
    });
  }

  #in<T>(
    principal: Principal,
    wanted: { readonly project: string; readonly action: Action },
    work: (sql: ScopedSql, project: AllowedProject) => Promise<T>,
  ): Promise<T> {
    return inProject(this.#database, { clusterId: this.#cluster.id, principal, ...wanted }, work);
  }

  #expiryOf(wish: ApiTokenCreate | ApiTokenRotate): Date | null {
    return expiryOf(wish, { now: this.#clock.now(), lifetimeDays: this.#lifetimeDays });
  }
}

async function insertToken(sql: Sql, wanted: NewToken): Promise<ApiTokenCreated> {
  const fresh = freshToken();
  const made = await sql.query<TokenRow>(
    `INSERT INTO api_tokens (id, project_id, name, role, prefix, secret_sha256, expires_at, rotated_from, principal_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING *`,
    [
      randomUUID(),
      wanted.projectId,
      wanted.name,
      wanted.role,
      fresh.prefix,
      fresh.secretSha256,
      wanted.expiresAt,
      wanted.rotatedFrom,
      wanted.principalId,
    ],
  );
  const row = firstOf(made);
  if (row === undefined) throw new Error('INSERT … RETURNING gave no row');
  return { ...toApiToken(row), token: fresh.token };
}

function uuidOrNull(text: string): string | null {
  return isUuid(text) ? text : null;
}

function noSuchToken(project: string): DomainError {
  return new DomainError(
    'NOT_FOUND',
    `project "${project}" has no such token, or it is good no more; GET /v1/projects/${project}/tokens lists those there are`,
  );
}

function toApiToken(row: TokenRow): ApiToken {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    prefix: row.prefix,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at?.toISOString() ?? null,
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
    rotatedFrom: row.rotated_from,
  };
}
