import { randomUUID } from 'node:crypto';
import type { ApiToken, ApiTokenCreate, ApiTokenCreated, ApiTokenList, ApiTokenRotate } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { type Database, firstOf, type Sql } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import type { Action } from '../auth/roles.ts';
import { expiryOf } from '../auth/token-expiry.ts';
import { freshToken } from '../auth/token-format.ts';
import type { Config } from '../config/config.ts';
import { isUuid } from '../http/ids.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { recordAudit } from '../auth/audit.ts';
import { CLOCK, CLUSTER, type Cluster, CONFIG, DATABASE, type WallClock } from '../infrastructure/tokens.ts';
import { requireProject } from '../auth/project-scope.ts';

interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly role: ApiToken['role'];
  readonly prefix: string;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
  readonly rotated_from: string | null;
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
}

/** Most tokens of one answer. */
export const MAX_LISTED_TOKENS = 500;

/** API tokens of a project: made once, shown once, good until they expire or are revoked. */
@Injectable()
export class ApiTokensService {
  readonly #database: Database;
  readonly #cluster: Cluster;
  readonly #clock: WallClock;
  readonly #lifetimeDays: number;
  readonly #limits: ProjectLimits;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(DATABASE) database: Database,
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
    const project = await this.#require(principal, projectName, 'token.write');
    const { name, role } = request;
    const expiresAt = this.#expiryOf(request);
    return this.#database.transaction(async (sql) => {
      await this.#limits.requireRoom(sql, project, 'tokens');
      const made = await insertToken(sql, { projectId: project.id, name, role, expiresAt, rotatedFrom: null });
      const target = `${projectName}/${name}`;
      const detail = { id: made.id, role, expiresAt: made.expiresAt };
      await recordAudit(sql, principal, { action: 'token.create', target, projectId: project.id, detail });
      return made;
    });
  }

  /**
   * Makes a successor of the same name and role. The old token is good for `overlapSeconds` more, never longer than it was: whoever uses it has
   * that long to change over. One whose successor was lost on the way can be rotated again.
   */
  async rotate(principal: Principal, address: TokenAddress, request: ApiTokenRotate): Promise<ApiTokenCreated> {
    const project = await this.#require(principal, address.project, 'token.write');
    const expiresAt = this.#expiryOf(request);
    return this.#database.transaction(async (sql) => {
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
      const made = await insertToken(sql, { projectId: project.id, name, role, expiresAt, rotatedFrom });
      const target = `${address.project}/${rotatedFrom}`;
      const detail = { successor: made.id, overlapSeconds: request.overlapSeconds, expiresAt: made.expiresAt };
      await recordAudit(sql, principal, { action: 'token.rotate', target, projectId: project.id, detail });
      return made;
    });
  }

  /** Those that are good and those that expired in the last week, newest first. */
  async list(principal: Principal, projectName: string): Promise<ApiTokenList> {
    const project = await this.#require(principal, projectName, 'token.read');
    const found = await this.#database.query<TokenRow>(
      `SELECT * FROM api_tokens
        WHERE project_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now() - interval '7 days')
        ORDER BY created_at DESC, id LIMIT ${MAX_LISTED_TOKENS}`,
      [project.id],
    );
    return { items: found.rows.map(toApiToken) };
  }

  /** Takes effect everywhere within 2 s. */
  async revoke(principal: Principal, { project: projectName, tokenId }: TokenAddress): Promise<void> {
    const project = await this.#require(principal, projectName, 'token.write');
    await this.#database.transaction(async (sql) => {
      const revoked = await sql.query(
        'UPDATE api_tokens SET revoked_at = now() WHERE id = $1 AND project_id = $2 AND revoked_at IS NULL',
        [uuidOrNull(tokenId), project.id],
      );
      if (revoked.affected === 0) throw noSuchToken(projectName);
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

  #expiryOf(wish: ApiTokenCreate | ApiTokenRotate): Date | null {
    return expiryOf(wish, { now: this.#clock.now(), lifetimeDays: this.#lifetimeDays });
  }
}

async function insertToken(sql: Sql, wanted: NewToken): Promise<ApiTokenCreated> {
  const fresh = freshToken();
  const made = await sql.query<TokenRow>(
    `INSERT INTO api_tokens (id, project_id, name, role, prefix, secret_sha256, expires_at, rotated_from)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING *`,
    [
      randomUUID(),
      wanted.projectId,
      wanted.name,
      wanted.role,
      fresh.prefix,
      fresh.secretSha256,
      wanted.expiresAt,
      wanted.rotatedFrom,
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
