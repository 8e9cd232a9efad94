import { setTimeout as delay } from 'node:timers/promises';
import type { Sql } from '@coxswain/persistence';
import type { Logger, Metrics } from '@coxswain/telemetry';
import { HOUR_MS, MINUTE_MS } from '@coxswain/units';
import type { AuditReceiver } from '../config/audit-config.ts';
import type { Cluster, WallClock } from '../infrastructure/tokens.ts';
import { postMessage } from '../messages/post-message.ts';
import { type Answer, answerWords, hasArrived, waitMs } from '../messages/retry-rules.ts';
import { signedHeaders } from '../messages/signature.ts';
import { batchId, syslogFrames, webhookBody } from './audit-message.ts';
import { type AuditBatch, enableOutbox, nextBatch, removeBatch } from './audit-outbox.ts';
import { sendSyslog } from './send-syslog.ts';

/** Between two looks for entries, and the longest wait after a failed attempt. */
const PAUSES = { idleMs: 2_000, longestMs: 5 * MINUTE_MS };
/** The administrator of the installation chooses the receiver, and it is inside the network as a rule. */
const ANY_ADDRESS = { allowsHttp: false, allowedRanges: ['0.0.0.0/0', '::/0'] };

/** What pushing the audit needs. */
export interface PusherParts {
  readonly database: Sql;
  readonly cluster: Cluster;
  /** Undefined: entries are not queued. */
  readonly receiver: AuditReceiver | undefined;
  readonly clock: WallClock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly random?: () => number;
  /** Default: {@link PAUSES}. */
  readonly pauses?: { readonly idleMs: number; readonly longestMs: number };
}

/** Sends entries of the audit to the receiver of the installation, one batch after the other. One replica does it at a time. */
export class AuditPusher {
  readonly #parts: PusherParts;
  readonly #count: (batch: AuditBatch, outcome: 'delivered' | 'failed') => void;
  /** Of the batch that is being sent. */
  #oldestAtMs: number | undefined;
  #isReady = false;
  #failures = 0;

  constructor(parts: PusherParts) {
    this.#parts = parts;
    const { metrics, clock } = parts;
    const attempts = metrics.counter({
      name: 'coxswain_api_audit_push_attempts_total',
      help: 'Attempts to send a batch of audit entries to the receiver of the installation, by outcome.',
      labelNames: ['outcome'],
    });
    const entries = metrics.counter({
      name: 'coxswain_api_audit_pushed_entries_total',
      help: 'Audit entries by what became of them; dropped: removed by retention before the receiver took them.',
      labelNames: ['outcome'],
    });
    metrics.gauge({
      name: 'coxswain_api_audit_push_oldest_seconds',
      help: 'Age of the oldest audit entry that the receiver has not taken; 0: none, or another replica sends.',
      collect: () => (this.#oldestAtMs === undefined ? 0 : (clock.now().getTime() - this.#oldestAtMs) / 1000),
    });
    for (const outcome of ['delivered', 'failed']) attempts.inc({ outcome }, 0);
    for (const outcome of ['delivered', 'dropped']) entries.inc({ outcome }, 0);
    this.#count = (batch, outcome) => {
      attempts.inc({ outcome });
      if (outcome === 'failed') return;
      entries.inc({ outcome }, batch.entries.length);
      entries.inc({ outcome: 'dropped' }, batch.dropped);
    };
  }

  /** Sends until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    // Another replica may have had other settings since this one sent last.
    this.#isReady = false;
    this.#failures = 0;
    while (!signal.aborted) {
      const pauseMs = await this.#step(signal).catch((error: Error) => {
        this.#parts.logger.warn({ reason: error.message }, 'audit entries could not be read; trying again');
        return PAUSES.idleMs;
      });
      if (pauseMs > 0) await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    this.#oldestAtMs = undefined;
  }

  /** Gives the time until the next step. */
  async #step(signal: AbortSignal): Promise<number> {
    const { receiver, database, cluster, pauses = PAUSES, random = Math.random } = this.#parts;
    if (!this.#isReady) await enableOutbox(database, cluster, receiver !== undefined);
    this.#isReady = true;
    if (receiver === undefined) return HOUR_MS;
    const found = await this.#pushNext(receiver, signal);
    if (found === 'idle' || found === 'delivered') {
      this.#failures = 0;
      return found === 'idle' ? pauses.idleMs : 0;
    }
    this.#failures += 1;
    return Math.min(pauses.longestMs, waitMs(this.#failures, random(), found));
  }

  async #pushNext(receiver: AuditReceiver, signal: AbortSignal): Promise<'idle' | 'delivered' | Answer> {
    const { database, cluster, clock, logger } = this.#parts;
    const batch = await nextBatch(database, cluster);
    this.#oldestAtMs = batch === undefined ? undefined : Date.parse(batch.entries[0]?.at ?? clock.now().toISOString());
    if (batch === undefined) return 'idle';
    const trouble = await this.#send(batch, receiver, signal);
    if (trouble === undefined) {
      await removeBatch(database, cluster, batch);
      this.#count(batch, 'delivered');
      return 'delivered';
    }
    if (signal.aborted) return trouble;
    this.#count(batch, 'failed');
    const { firstSequence, lastSequence } = batch;
    const facts = { reason: answerWords(trouble), firstSequence, lastSequence };
    logger.warn(facts, 'the receiver has not taken entries of the audit; they are sent again');
    return trouble;
  }

  /** Undefined: the receiver has the batch. */
  async #send(batch: AuditBatch, receiver: AuditReceiver, signal: AbortSignal): Promise<Answer | undefined> {
    const { cluster, clock } = this.#parts;
    const sending = { cluster: cluster.name, now: clock.now() };
    if (receiver.form === 'syslog') return sendSyslog(syslogFrames(batch, sending), receiver, { signal });
    const { url, secret, authorization, tls } = receiver;
    const body = webhookBody(batch, sending);
    const timestampS = Math.floor(sending.now.getTime() / 1000);
    const headers = {
      'user-agent': 'coxswain-audit',
      ...signedHeaders({ id: batchId(batch), timestampS, body }, [secret]),
      ...(authorization === undefined ? {} : { authorization }),
    };
    const answer = await postMessage({ url, headers, body }, { rules: ANY_ADDRESS, signal, tls });
    return hasArrived(answer) ? undefined : answer;
  }
}
