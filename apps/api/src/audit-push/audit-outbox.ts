/** Which entries of the audit has the receiver not taken yet, and in which order are they sent? */
import type { AuditEntry } from '@coxswain/api-types';
import type { Sql } from '@coxswain/persistence';
import { type AuditRow, toAuditEntry } from '../audit/audit-row.ts';
import type { Cluster } from '../infrastructure/tokens.ts';

/** Most entries of a batch. An entry has at most 16 KiB, and 600 bytes as a rule. */
export const MOST_OF_BATCH = 100;
/** Bound of the entries of a batch, as JSON. Many receivers accept 64 KiB by default. One entry is always sent. */
const MOST_BYTES = 48 * 1024;
/** What an entry may have beyond its row: its number and the name of its project, without the ids of cluster and project. */
const BYTES_BESIDE_ROW = 64;
/** An entry that the receiver refuses alone for so long is dropped. A weekday: an administrator can mend the receiver before. */
const REFUSED_HOURS = 24;

/** Entries that are sent at once. The batch stays the same until the receiver has taken it. */
export interface AuditBatch {
  /** Id of the sequence; another one after the database was made anew. */
  readonly stream: string;
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** Entries of these numbers that were not sent: retention removed them, or the receiver refused them. */
  readonly dropped: number;
  readonly entries: readonly (AuditEntry & { readonly sequence: number })[];
}

/** A batch with what the receiver does not get. */
export interface QueuedBatch {
  readonly batch: AuditBatch;
  /** When its oldest entry was written. It stays when retention removes the entry. */
  readonly queuedAt: Date;
}

/** Begins or ends the queueing of new entries. What is queued stays so. */
export async function enableOutbox(sql: Sql, cluster: Cluster, isEnabled: boolean): Promise<void> {
  await sql.query(
    isEnabled
      ? `INSERT INTO audit_receivers (cluster_id, is_enabled) VALUES ($1, true)
         ON CONFLICT (cluster_id) DO UPDATE SET is_enabled = true WHERE NOT audit_receivers.is_enabled`
      : 'UPDATE audit_receivers SET is_enabled = false WHERE cluster_id = $1 AND is_enabled',
    [cluster.id],
  );
}

/**
 * The first entries, at most `most`, of those that were numbered and not taken; without any, the oldest entries, which get their numbers now. Undefined: none waits. Numbers
 * are given when entries are sent and not when they are written: a transaction that commits late may have a smaller id than one whose entries were sent.
 */
export async function nextBatch(sql: Sql, cluster: Cluster, most: number): Promise<QueuedBatch | undefined> {
  await sql.query(NUMBER, [cluster.id, MOST_OF_BATCH, MOST_BYTES, BYTES_BESIDE_ROW]);
  const { rows } = await sql.query<BatchRow>(BATCH, [cluster.id, most]);
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const kept = rows.filter((row): row is BatchRow & AuditRow => row.id !== null);
  const batch = {
    stream: first.stream,
    firstSequence: Number(first.sequence),
    lastSequence: Number(last.sequence),
    dropped: rows.length - kept.length,
    entries: kept.map((row) => ({ sequence: Number(row.sequence), ...toAuditEntry(row) })),
  };
  return { batch, queuedAt: first.queued_at };
}

interface Queued {
  readonly stream: string;
  readonly sequence: string;
  readonly queued_at: Date;
}
type BatchRow = Queued & ({ readonly id: null } | AuditRow);

const NUMBER = `
  WITH chosen AS (
    SELECT audit_id FROM audit_outbox
     WHERE cluster_id = $1 AND sequence IS NULL AND NOT EXISTS (SELECT FROM audit_outbox WHERE cluster_id = $1 AND sequence IS NOT NULL)
     ORDER BY audit_id LIMIT $2 FOR UPDATE
  ), sized AS (
    SELECT c.audit_id, row_number() OVER upto AS place, sum(coalesce(octet_length(row_to_json(a)::text), 0) + $4::integer) OVER upto AS bytes
      FROM chosen c LEFT JOIN audit a ON a.id = c.audit_id WINDOW upto AS (ORDER BY c.audit_id)
  ), numbered AS (
    SELECT audit_id, place FROM sized WHERE place = 1 OR bytes <= $3
  ), receiver AS (
    UPDATE audit_receivers SET last_sequence = last_sequence + (SELECT count(*) FROM numbered)
     WHERE cluster_id = $1 AND EXISTS (SELECT FROM numbered) RETURNING last_sequence
  )
  UPDATE audit_outbox o SET sequence = r.last_sequence - (SELECT count(*) FROM numbered) + n.place
    FROM numbered n CROSS JOIN receiver r WHERE o.cluster_id = $1 AND o.audit_id = n.audit_id`;

const BATCH = `
  SELECT a.*, p.name AS project, r.stream, o.sequence, o.queued_at
    FROM audit_outbox o
    JOIN audit_receivers r ON r.cluster_id = o.cluster_id
    LEFT JOIN audit a ON a.id = o.audit_id AND o.dropped_at IS NULL
    LEFT JOIN projects p ON p.id = a.project_id
   WHERE o.cluster_id = $1 AND o.sequence IS NOT NULL ORDER BY o.sequence LIMIT $2`;

/** The receiver has taken it. */
export async function removeBatch(sql: Sql, cluster: Cluster, batch: AuditBatch): Promise<void> {
  await sql.query('DELETE FROM audit_outbox WHERE cluster_id = $1 AND sequence BETWEEN $2 AND $3', [
    cluster.id,
    batch.firstSequence,
    batch.lastSequence,
  ]);
}

/** Entries that were dropped since the last call, also those without a number yet. */
export async function countDropped(sql: Sql, cluster: Cluster): Promise<number> {
  const { affected } = await sql.query(
    `UPDATE audit_outbox SET is_drop_counted = true
      WHERE cluster_id = $1 AND dropped_at IS NOT NULL AND NOT is_drop_counted`,
    [cluster.id],
  );
  return affected;
}

/** The receiver refused the only entry of a batch. Whether it has done so for {@link REFUSED_HOURS}: then the entry is dropped. */
export async function refuseEntry(
  sql: Sql,
  cluster: Cluster,
  { sequence, now }: { readonly sequence: number; readonly now: Date },
): Promise<boolean> {
  const { rows } = await sql.query<{ is_dropped: boolean }>(
    `UPDATE audit_outbox
        SET refused_at = coalesce(refused_at, $3), dropped_at = CASE WHEN refused_at <= $3::timestamptz - make_interval(hours => $4) THEN $3 END
      WHERE cluster_id = $1 AND sequence = $2 AND dropped_at IS NULL RETURNING dropped_at IS NOT NULL AS is_dropped`,
    [cluster.id, sequence, now.toISOString(), REFUSED_HOURS],
  );
  return rows[0]?.is_dropped ?? false;
}
