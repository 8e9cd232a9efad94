/** What does a receiver of the audit get? */
import type { AuditBatch } from './audit-outbox.ts';

/** What the sender knows beside the batch. */
export interface Sending {
  /** Name of the cluster. */
  readonly cluster: string;
  readonly now: Date;
}

/** The same in each attempt. */
export function batchId({ stream, firstSequence, lastSequence }: AuditBatch): string {
  return `audit_${stream}_${firstSequence}_${lastSequence}`;
}

/** Body of a webhook. */
export function webhookBody(batch: AuditBatch, { cluster, now }: Sending): string {
  return JSON.stringify({ type: 'audit.entries', timestamp: now.toISOString(), data: { cluster, ...batch } });
}

/** Facility 13 (log audit) of RFC 5424, times 8. */
const FACILITY = 13 * 8;
const SEVERITY = { warning: 4, notice: 5, informational: 6 };
/** RFC 5424, 7.3.1: from 1 to this, and then again from 1. */
const MAX_SEQUENCE_ID = 2_147_483_647;

/** Messages of RFC 5424, each after the number of its bytes (RFC 6587, 3.4.1): one for each entry, and before them one if entries were dropped. */
export function syslogFrames(batch: AuditBatch, { cluster, now }: Sending): string {
  const { entries, stream, firstSequence, lastSequence, dropped } = batch;
  const lost = { stream, firstSequence, lastSequence, dropped };
  const frames = entries.map((entry) =>
    frameOf({
      severity: entry.outcome === 'denied' ? 'notice' : 'informational',
      at: entry.at,
      cluster,
      id: 'audit',
      sequence: entry.sequence,
      content: { stream, ...entry },
    }),
  );
  if (dropped === 0) return frames.join('');
  const at = now.toISOString();
  const first = {
    severity: 'warning',
    at,
    cluster,
    id: 'audit-dropped',
    sequence: firstSequence,
    content: lost,
  } as const;
  return [frameOf(first), ...frames].join('');
}

interface SyslogMessage {
  readonly severity: keyof typeof SEVERITY;
  readonly at: string;
  readonly cluster: string;
  readonly id: string;
  readonly sequence: number;
  readonly content: object;
}

function frameOf({ severity, at, cluster, id, sequence, content }: SyslogMessage): string {
  const sequenceId = ((sequence - 1) % MAX_SEQUENCE_ID) + 1;
  const head = `<${FACILITY + SEVERITY[severity]}>1 ${at} ${cluster} coxswain - ${id} [meta sequenceId="${sequenceId}"]`;
  const message = `${head} ${JSON.stringify(content)}`;
  return `${Buffer.byteLength(message)} ${message}`;
}
