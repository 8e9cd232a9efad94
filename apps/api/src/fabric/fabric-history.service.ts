import type { FabricChanges, FabricSnapshotList, RecordedFabric } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { columnsOf, fabricChanges } from '@coxswain/fabric';
import { firstOf, type Sql, type TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { highestRoleOf, type Principal } from '../auth/principal.ts';
import { scopeOf } from '../auth/project-scope.ts';
import { requireAction } from '../auth/roles.ts';
import { isUuid } from '../http/ids.ts';
import { PageTokens } from '../http/page-token.ts';
import { CLUSTER, type Cluster, PAGE_TOKENS, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import type { ChangesQuery, SnapshotQuery } from './snapshot-queries.ts';
import { nodesOfSnapshot, SNAPSHOT_COLUMNS, type SnapshotRow, toSnapshot } from './snapshot-rows.ts';

/** What the fabric looked like, and what changed. As the fabric itself for administrators of the cluster. */
@Injectable()
export class FabricHistoryService {
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

  /** Newest first. */
  async list(principal: Principal, query: SnapshotQuery): Promise<FabricSnapshotList> {
    const { pageSize, pageToken, since, until } = query;
    const tokenScope = `fabric-snapshots/${JSON.stringify({ since, until })}`;
    const after = pageToken === undefined ? undefined : this.#pageTokens.read(tokenScope, pageToken);
    const found = await this.#reading(principal, (sql) =>
      sql.query<SnapshotRow>(NEWEST, [
        this.#cluster.id,
        since ?? null,
        until ?? null,
        after?.key ?? null,
        after?.id ?? null,
        pageSize + 1,
      ]),
    );
    const rows = found.rows.slice(0, pageSize);
    const items = rows.map(toSnapshot);
    const last = rows.at(-1);
    if (found.rows.length <= pageSize || last === undefined) return { items };
    return { items, nextPageToken: this.#pageTokens.write(tokenScope, { key: last.at_text, id: last.id }) };
  }

  /** NOT_FOUND also where it is kept no longer. */
  read(principal: Principal, id: string): Promise<RecordedFabric> {
    return this.#reading(principal, async (sql) => {
      const snapshot = toSnapshot(await this.#row(sql, id));
      const { places, hardware, nodes } = columnsOf(await nodesOfSnapshot(sql, this.#cluster, { id }));
      return { snapshot, places: [...places], hardware: [...hardware], nodes };
    });
  }

  /** What changed from `since` to that one, whichever of both is older. NOT_FOUND where one of them is not kept. */
  changes(principal: Principal, id: string, { since }: ChangesQuery): Promise<FabricChanges> {
    return this.#reading(principal, async (sql) => {
      const row = await this.#row(sql, id);
      const before = since === undefined ? await this.#before(sql, row) : await this.#row(sql, since);
      const [then, now] = [
        before === undefined ? [] : await nodesOfSnapshot(sql, this.#cluster, { id: before.id, except: id }),
        await nodesOfSnapshot(sql, this.#cluster, { id, except: before?.id }),
      ];
      const { changes, ...counts } = fabricChanges(then, now);
      return {
        before: before === undefined ? null : toSnapshot(before),
        after: toSnapshot(row),
        ...counts,
        changes: [...changes],
      };
    });
  }

  #reading<T>(principal: Principal, work: (sql: Sql) => Promise<T>): Promise<T> {
    requireAction(highestRoleOf(principal), 'fabric.read');
    return this.#database.within(scopeOf(principal, this.#cluster.id), work, 'list');
  }

  async #row(sql: Sql, id: string): Promise<SnapshotRow> {
    const found = await sql.query<SnapshotRow>(
      `SELECT ${SNAPSHOT_COLUMNS} FROM fabric_snapshots WHERE cluster_id = $1 AND id = $2`,
      [this.#cluster.id, isUuid(id) ? id : null],
    );
    const row = firstOf(found);
    if (row === undefined)
      throw new DomainError(
        'NOT_FOUND',
        `there is no snapshot "${id.slice(0, 64)}" of the fabric, or it is kept no longer; GET /v1/fabric/snapshots lists those that are`,
      );
    return row;
  }

  async #before(sql: Sql, { at_text: at, id }: SnapshotRow): Promise<SnapshotRow | undefined> {
    const found = await sql.query<SnapshotRow>(NEWEST, [this.#cluster.id, null, null, at, id, 1]);
    return firstOf(found);
  }
}

const NEWEST = `
  SELECT ${SNAPSHOT_COLUMNS} FROM fabric_snapshots
   WHERE cluster_id = $1 AND ($2::timestamptz IS NULL OR taken_at >= $2) AND ($3::timestamptz IS NULL OR taken_at <= $3)
     AND ($4::timestamptz IS NULL OR (taken_at, id) < ($4::timestamptz, $5::uuid))
   ORDER BY taken_at DESC, id DESC LIMIT $6`;
