/** Which entries of the audit has the receiver not taken yet, and in which order are they sent? */
import type { AuditEntry } from '@coxswain/api-types';
import type { Sql } from '@coxswain/persistence';
import { type AuditRow, toAuditEntry } from '../audit/audit-row.ts';
import type { Cluster } from '../infrastructure/tokens.ts';

/** Most entries of a batch. An entry has at most 16 KiB, and 600 bytes as a rule. */
export const MOST_OF_BATCH = 100;

/** Entries that are sent at once. The batch stays the same until the receiver has taken it. */
export interface AuditBatch {
  /** Id of the sequence; another one after the database was made anew. */
  readonly stream: string;
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** Entries of these numbers that retention removed before they were sent. */
  readonly dropped: number;
  readonly entries: readonly (AuditEntry & { readonly sequence: number })[];
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
 * The batch that was sent and not taken; without one, the oldest entries, which get their numbers now. Undefined: none waits. Numbers are given when entries are sent and not
 * when they are written: a transaction that commits late may have a smaller id than one whose entries were sent.
 */
export async function nextBatch(sql: Sql, cluster: Cluster): Promise<AuditBatch | undefined> {
  await sql.query(NUMBER, [cluster.id, MOST_OF_BATCH]);
  const { rows } = await sql.query<BatchRow>(BATCH, [cluster.id]);
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const kept = rows.filter((row): row is BatchRow & AuditRow => row.id !== null);
  return {
    stream: first.stream,
    firstSequence: Number(first.sequence),
    lastSequence: Number(last.sequence),
    dropped: rows.length - kept.length,
    entries: kept.map((row) => ({ sequence: Number(row.sequence), ...toAuditEntry(row) })),
  };
}

type BatchRow = { readonly stream: string; readonly sequence: string } & ({ readonly id: null } | AuditRow);

const NUMBER = `
  WITH chosen AS (
    SELECT audit_id FROM audit_outbox
     WHERE cluster_id = $1 AND sequence IS NULL AND NOT EXISTS (SELECT FROM audit_outbox WHERE cluster_id = $1 AND sequence IS NOT NULL)
     ORDER BY audit_id LIMIT $2 FOR UPDATE
  ), numbered AS (
    SELECT audit_id, row_number() OVER (ORDER BY audit_id) AS place FROM chosen
  ), receiver AS (
    UPDATE audit_receivers SET last_sequence = last_sequence + (SELECT count(*) FROM numbered)
     WHERE cluster_id = $1 AND EXISTS (SELECT FROM numbered) RETURNING last_sequence
  )
  UPDATE audit_outbox o SET sequence = r.last_sequence - (SELECT count(*) FROM numbered) + n.place
    FROM numbered n CROSS JOIN receiver r WHERE o.cluster_id = $1 AND o.audit_id = n.audit_id`;

const BATCH = `
  SELECT a.*, p.name AS project, r.stream, o.sequence
    FROM audit_outbox o
    JOIN audit_receivers r ON r.cluster_id = o.cluster_id
    LEFT JOIN audit a ON a.id = o.audit_id
    LEFT JOIN projects p ON p.id = a.project_id
   WHERE o.cluster_id = $1 AND o.sequence IS NOT NULL ORDER BY o.sequence`;

/** The receiver has taken it. */
export async function removeBatch(sql: Sql, cluster: Cluster, batch: AuditBatch): Promise<void> {
  await sql.query('DELETE FROM audit_outbox WHERE cluster_id = $1 AND sequence BETWEEN $2 AND $3', [
    cluster.id,
    batch.firstSequence,
    batch.lastSequence,
  ]);
}
