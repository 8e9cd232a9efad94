import { createHash, randomUUID } from 'node:crypto';
import {
  columnsOf,
  fabricChanges,
  mayRecord,
  type RecordedBefore,
  type RecordedNode,
  snapshotChunks,
} from '@coxswain/fabric';
import { type Database, firstOf, type Sql, storableJson } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import { type FabricCounts, nodesOfSnapshot } from './snapshot-rows.ts';

/** A fabric, cut and digested: two that say the same of each node have the same digest. */
export interface DigestedFabric {
  readonly sha256: string;
  readonly chunks: readonly {
    readonly sha256: string;
    readonly nodes: readonly RecordedNode[];
    readonly text: string;
  }[];
  readonly counts: FabricCounts;
}

interface NewestRow {
  readonly id: string;
  readonly sha256: string;
  readonly ms_since: number;
  readonly added_bytes: number;
  readonly in_last_hour: number;
  readonly in_last_day: number;
}

/** Chunks of one statement. */
const CHUNKS_AT_ONCE = 64;

/** Cuts nodes into chunks and computes the digest of each chunk and of the whole fabric. */
export function digested(nodes: readonly RecordedNode[]): DigestedFabric {
  const chunks = snapshotChunks(nodes).map((members) => {
    const text = storableJson(columnsOf(members));
    return { sha256: sha256(text), nodes: members, text };
  });
  return { sha256: sha256(chunks.map((chunk) => chunk.sha256).join()), chunks, counts: countsOf(nodes) };
}

/** Snapshots of the fabric of one cluster. What two processes write at once is written in turn, and what is there already is not written again. */
export class SnapshotStore {
  readonly #database: Database;
  readonly #cluster: Cluster;

  constructor(database: Database, cluster: Cluster) {
    this.#database = database;
    this.#cluster = cluster;
  }

  /** Digest of the newest one. */
  async newest(): Promise<string | undefined> {
    return (await this.#newest(this.#database))?.sha256;
  }

  /** The newest one was found again. */
  async seeAgain(sha: string): Promise<void> {
    await this.#database.query(
      `UPDATE fabric_snapshots SET seen_until = now()
        WHERE id = (SELECT id FROM fabric_snapshots WHERE cluster_id = $1 ORDER BY taken_at DESC, id DESC LIMIT 1) AND sha256 = decode($2, 'hex')`,
      [this.#cluster.id, sha],
    );
  }

  /** False where another one may not be recorded yet. */
  async record(fabric: DigestedFabric, unrecordedLooks: number): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      await lockSnapshots(sql, this.#cluster);
      const newest = await this.#newest(sql);
      if (newest?.sha256 === fabric.sha256) return true;
      if (newest !== undefined && !mayRecord(pastOf(newest))) return false;
      const addedBytes = await this.#addChunks(sql, fabric);
      const id = randomUUID();
      // To the millisecond, as the API shows it: a query for that time finds this snapshot.
      await sql.query(
        `INSERT INTO fabric_snapshots (id, cluster_id, taken_at, seen_until, sha256, chunks, added_bytes, unrecorded_looks, counts)
         SELECT $1, $2, now.at, now.at, decode($3, 'hex'), ARRAY(SELECT decode(hex, 'hex') FROM unnest($4::text[]) AS hex), $5, $6, $7
           FROM date_trunc('milliseconds', clock_timestamp()) AS now (at)`,
        [
          id,
          this.#cluster.id,
          fabric.sha256,
          fabric.chunks.map((chunk) => chunk.sha256),
          addedBytes,
          unrecordedLooks,
          storableJson(fabric.counts),
        ],
      );
      if (newest !== undefined) await this.#countChanges(sql, newest.id, id);
      return true;
    });
  }

  async #newest(sql: Sql): Promise<NewestRow | undefined> {
    const found = await sql.query<NewestRow>(
      `SELECT id, encode(sha256, 'hex') AS sha256, added_bytes, (extract(epoch FROM clock_timestamp() - taken_at) * 1000)::float8 AS ms_since,
              (SELECT count(*)::integer FROM fabric_snapshots WHERE cluster_id = $1 AND taken_at > clock_timestamp() - interval '1 hour') AS in_last_hour,
              (SELECT count(*)::integer FROM fabric_snapshots WHERE cluster_id = $1 AND taken_at > clock_timestamp() - interval '1 day') AS in_last_day
         FROM fabric_snapshots WHERE cluster_id = $1 ORDER BY taken_at DESC, id DESC LIMIT 1`,
      [this.#cluster.id],
    );
    return firstOf(found);
  }

  /** Gives how many bytes of JSON were not there yet. */
  async #addChunks(sql: Sql, { chunks }: DigestedFabric): Promise<number> {
    const known = await sql.query<{ sha256: string }>(
      `SELECT encode(c.sha256, 'hex') AS sha256 FROM unnest($2::text[]) AS hex
         JOIN fabric_chunks c ON c.cluster_id = $1 AND c.sha256 = decode(hex, 'hex')`,
      [this.#cluster.id, chunks.map((chunk) => chunk.sha256)],
    );
    const there = new Set(known.rows.map((row) => row.sha256));
    const added = chunks.filter((chunk) => !there.has(chunk.sha256));
    for (let index = 0; index < added.length; index += CHUNKS_AT_ONCE) {
      const some = added.slice(index, index + CHUNKS_AT_ONCE);
      await sql.query(
        `INSERT INTO fabric_chunks (cluster_id, sha256, nodes)
         SELECT $1, decode(hex, 'hex'), nodes::jsonb FROM unnest($2::text[], $3::text[]) AS chunk (hex, nodes) ON CONFLICT DO NOTHING`,
        [this.#cluster.id, some.map((chunk) => chunk.sha256), some.map(({ text }) => text)],
      );
    }
    return added.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  }

  async #countChanges(sql: Sql, beforeId: string, id: string): Promise<void> {
    const before = await nodesOfSnapshot(sql, this.#cluster, { id: beforeId, except: id });
    const after = await nodesOfSnapshot(sql, this.#cluster, { id, except: beforeId });
    const { came, gone, changed } = fabricChanges(before, after);
    await sql.query('UPDATE fabric_snapshots SET changes = $2 WHERE id = $1', [
      id,
      storableJson({ came, gone, changed }),
    ]);
  }
}

/** Until the end of the transaction nobody else writes or removes snapshots of that cluster: a chunk goes only when no snapshot names it. */
export async function lockSnapshots(sql: Sql, cluster: Cluster): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`coxswain/fabric/${cluster.id}`]);
}

function pastOf(row: NewestRow): RecordedBefore {
  return {
    msSinceLast: row.ms_since,
    lastBytes: row.added_bytes,
    inLastHour: row.in_last_hour,
    inLastDay: row.in_last_day,
  };
}

function countsOf(nodes: readonly RecordedNode[]): FabricCounts {
  const domains = Map.groupBy(nodes, ({ place }) => place.nvlinkDomain);
  return {
    nodes: nodes.length,
    gpus: nodes.reduce((sum, { gpus }) => sum + gpus, 0),
    islands: new Set(nodes.map(({ place }) => place.island)).size,
    nvlinkDomains: [...domains].filter(([domain, members]) => domain !== null && members.length > 1).length,
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
