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
import {
  type AuditBatch,
  countDropped,
  enableOutbox,
  MOST_OF_BATCH,
  nextBatch,
  refuseEntry,
  removeBatch,
} from './audit-outbox.ts';
import { sendSyslog } from './send-syslog.ts';

/** Between two looks for entries, and the longest wait after a failed attempt. */
const PAUSES = { idleMs: 2_000, longestMs: 5 * MINUTE_MS };
/** The administrator of the installation chooses the receiver, and it is inside the network as a rule. */
const ANY_ADDRESS = { allowsHttp: false, allowedRanges: ['0.0.0.0/0', '::/0'] };

/** Status codes with which a receiver refuses the content of a message and not its sender. */
const REFUSES_CONTENT: readonly number[] = [400, 413, 422];

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
  readonly #countDropped: (entries: number) => void;
  /** When the oldest entry of the batch that is being sent was written. */
  #oldestAtMs: number | undefined;
  #isReady = false;
  #failures = 0;
  /** Most entries of a batch: fewer after the receiver refused a batch, until no entry waits. */
  #most = MOST_OF_BATCH;

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
      help: 'Audit entries by what became of them; dropped: removed by retention, or refused by the receiver for a day.',
      labelNames: ['outcome'],
    });
    metrics.gauge({
      name: 'coxswain_api_audit_push_oldest_seconds',
      help: 'Age of the oldest audit entry that the receiver has not taken; 0: none, or another replica sends.',
      collect: () =>
        this.#oldestAtMs === undefined ? 0 : Math.max(0, clock.now().getTime() - this.#oldestAtMs) / 1000,
    });
    for (const outcome of ['delivered', 'failed']) attempts.inc({ outcome }, 0);
    for (const outcome of ['delivered', 'dropped']) entries.inc({ outcome }, 0);
    this.#count = (batch, outcome) => {
      attempts.inc({ outcome });
      if (outcome === 'delivered') entries.inc({ outcome }, batch.entries.length);
    };
    this.#countDropped = (count) => entries.inc({ outcome: 'dropped' }, count);
  }

  /** Sends until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    // Another replica may have had other settings since this one sent last.
    this.#isReady = false;
    this.#failures = 0;
    this.#most = MOST_OF_BATCH;
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
    if (found === 'again') return 0;
    if (found === 'idle' || found === 'delivered') {
      this.#failures = 0;
      return found === 'idle' ? pauses.idleMs : 0;
    }
    this.#failures += 1;
    return Math.min(pauses.longestMs, waitMs(this.#failures, random(), found));
  }

  /** `again`: the receiver refused the batch, and the next attempt sends another one. */
  async #pushNext(receiver: AuditReceiver, signal: AbortSignal): Promise<'idle' | 'delivered' | 'again' | Answer> {
    const { database, cluster, logger } = this.#parts;
    this.#countDropped(await countDropped(database, cluster));
    const queued = await nextBatch(database, cluster, this.#most);
    this.#oldestAtMs = queued?.queuedAt.getTime();
    if (queued === undefined) {
      this.#most = MOST_OF_BATCH;
      return 'idle';
    }
    const { batch } = queued;
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
    const isRefused = 'status' in trouble && REFUSES_CONTENT.includes(trouble.status);
    return isRefused && (await this.#divide(batch)) ? 'again' : trouble;
  }

  /** Sends fewer entries at once, until the entry that the receiver refuses is alone, and drops that one after a day. False: the same batch is sent again. */
  async #divide({ entries, firstSequence, lastSequence }: AuditBatch): Promise<boolean> {
    const { database, cluster, clock, logger } = this.#parts;
    const [entry] = entries;
    const count = lastSequence - firstSequence + 1;
    if (count > 1) this.#most = Math.floor(count / 2);
    if (count > 1) return true;
    if (entry === undefined || !(await refuseEntry(database, cluster, { sequence: firstSequence, now: clock.now() })))
      return false;
    const facts = { sequence: firstSequence, id: entry.id };
    logger.error(facts, 'the receiver refused this entry of the audit for 24 hours; it is counted as dropped');
    return true;
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
