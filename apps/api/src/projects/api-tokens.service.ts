import { randomUUID } from 'node:crypto';
import type { ApiToken, ApiTokenCreate, ApiTokenCreated, ApiTokenList } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { type Database, firstOf } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import type { Action } from '../auth/roles.ts';
import { freshToken } from '../auth/token-format.ts';
import { isUuid } from '../http/ids.ts';
import { recordAudit } from '../auth/audit.ts';
import { CLOCK, CLUSTER, type Cluster, DATABASE, type WallClock } from '../infrastructure/tokens.ts';
import { requireProject } from '../auth/project-scope.ts';

interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly role: ApiToken['role'];
  readonly prefix: string;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
}

/** API tokens of a project: made once, shown once, revoked for good. */
@Injectable()
export class ApiTokensService {
  readonly #database: Database;
  readonly #cluster: Cluster;
  readonly #clock: WallClock;

  constructor(
    @Inject(DATABASE) database: Database,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(CLOCK) clock: WallClock,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#clock = clock;
  }

  async create(principal: Principal, projectName: string, request: ApiTokenCreate): Promise<ApiTokenCreated> {
    const project = await this.#require(principal, projectName, 'token.write');
    const expiresAt = this.#expiryOf(request);
    const fresh = freshToken();
    const row = await this.#database.transaction(async (sql) => {
      const made = await sql.query<TokenRow>(
        `INSERT INTO api_tokens (id, project_id, name, role, prefix, secret_sha256, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING *`,
        [randomUUID(), project.id, request.name, request.role, fresh.prefix, fresh.secretSha256, expiresAt],
      );
      const target = `${projectName}/${request.name}`;
      await recordAudit(sql, principal, { action: 'token.create', target, projectId: project.id });
      return firstOf(made);
    });
    if (row === undefined) throw new Error('INSERT … RETURNING gave no row');
    return { ...toApiToken(row), token: fresh.token };
  }

  async list(principal: Principal, projectName: string): Promise<ApiTokenList> {
    const project = await this.#require(principal, projectName, 'token.read');
    const found = await this.#database.query<TokenRow>(
      'SELECT * FROM api_tokens WHERE project_id = $1 AND revoked_at IS NULL ORDER BY created_at, id LIMIT 500',
      [project.id],
    );
    return { items: found.rows.map(toApiToken) };
  }

  /** Takes effect everywhere within 2 s. */
  async revoke(principal: Principal, projectName: string, tokenId: string): Promise<void> {
    const project = await this.#require(principal, projectName, 'token.write');
    await this.#database.transaction(async (sql) => {
      const revoked = await sql.query(
        'UPDATE api_tokens SET revoked_at = now() WHERE id = $1 AND project_id = $2 AND revoked_at IS NULL',
        [isUuid(tokenId) ? tokenId : null, project.id],
      );
      if (revoked.affected === 0) throw new DomainError('NOT_FOUND', `project "${projectName}" has no such token`);
      const target = `${projectName}/${tokenId}`;
      await recordAudit(sql, principal, { action: 'token.revoke', target, projectId: project.id });
    });
  }

  #require(
    principal: Principal,
    project: string,
    action: Action,
  ): Promise<{ readonly id: string; readonly name: string }> {
    return requireProject(this.#database, { clusterId: this.#cluster.id, principal, project, action });
  }

  #expiryOf(request: ApiTokenCreate): Date | null {
    if (request.expiresAt === undefined) return null;
    const expiry = new Date(request.expiresAt);
    if (Number.isNaN(expiry.getTime()) || expiry <= this.#clock.now()) {
      const detail = 'must be a time in the future such as 2030-01-31T00:00:00Z';
      throw new DomainError('INVALID_REQUEST', `expiresAt ${detail}`, [{ pointer: '/expiresAt', detail }]);
    }
    return expiry;
  }
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
  };
}
