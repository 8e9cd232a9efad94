import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@coxswain/persistence';
import type { Logger, Metrics } from '@coxswain/telemetry';
import type { MailSettings } from '../config/mail-config.ts';
import type { Cluster, WallClock } from '../infrastructure/tokens.ts';
import type { Email } from '../webhooks/email-text.ts';
import { recipientOf } from '../webhooks/mail-rules.ts';
import { messageIdOf } from '../webhooks/message-id.ts';
import type { CallRules } from '../webhooks/url-rules.ts';
import { unsealSecret } from '../webhooks/webhook-secrets.ts';
import { type ClaimedMessage, claimMessage, recordAttempt } from './delivery-rows.ts';
import { postMessage, type Resolve } from './post-message.ts';
import { afterAttempt, type Answer, answerWords } from './retry-rules.ts';
import { sendMail } from './send-mail.ts';
import { signedHeaders } from './signature.ts';

/** Of one process at a time, and of them for one project: slow receivers of one leave places to others. */
export const MOST_ATTEMPTS_AT_ONCE = 16;
/** Attempts of one process for the endpoints of one project at a time. */
export const MOST_ATTEMPTS_OF_PROJECT = 4;
/** A message leaves at most so late. */
const POLL_MS = 1_000;

/** What carries messages needs. */
export interface CarrierParts {
  readonly database: Database;
  readonly cluster: Cluster;
  /** Unseals secrets. */
  readonly key: Uint8Array;
  readonly rules: CallRules;
  /** Absent: this installation sends no mail. */
  readonly mail?: MailSettings | undefined;
  readonly clock: WallClock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly random?: () => number;
  readonly resolve?: Resolve;
}

/**
 * Sends the messages that wait in the table, until it is closed; any number of processes may do so beside it. A message whose sender died is sent again when
 * its lease is over, under the same id: it arrives at least once.
 */
export class MessageCarrier {
  readonly #parts: CarrierParts;
  readonly #stop = new AbortController();
  readonly #underWay = new Map<Promise<void>, string>();
  readonly #count: (outcome: 'delivered' | 'failed' | 'disabled') => void;
  #running: Promise<void> | undefined;

  constructor(parts: CarrierParts) {
    this.#parts = parts;
    const attempts = parts.metrics.counter({
      name: 'coxswain_api_webhook_attempts_total',
      help: 'Attempts to send a message to an endpoint, by outcome; disabled: the endpoint was given up with it.',
      labelNames: ['outcome'],
    });
    for (const outcome of ['delivered', 'failed', 'disabled'] as const) attempts.inc({ outcome }, 0);
    this.#count = (outcome) => attempts.inc({ outcome });
  }

  start(): void {
    this.#running = this.#loop();
  }

  /** Ends attempts under way; they count, and are made again later. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await Promise.all(this.#underWay.keys());
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const hasFound = await this.#next().catch((error: Error) => {
        this.#parts.logger.warn({ reason: error.message }, 'messages to endpoints could not be read; trying again');
        return false;
      });
      if (!hasFound || this.#underWay.size >= MOST_ATTEMPTS_AT_ONCE) await this.#pause(signal);
    }
  }

  /** Waits until an attempt ends, because its endpoint may have more messages; or, if another attempt fits, for the polling interval. */
  async #pause(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const isFull = this.#underWay.size >= MOST_ATTEMPTS_AT_ONCE;
    const poll = delay(POLL_MS, undefined, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => undefined);
    await Promise.race([...this.#underWay.keys(), ...(isFull ? [] : [poll])]);
    over.abort();
  }

  /** Begins one attempt; false when nothing is due. */
  async #next(): Promise<boolean> {
    const { database, cluster } = this.#parts;
    const claimed = await claimMessage(database, cluster, this.#busyProjects());
    if (claimed === undefined) return false;
    const attempt = this.#attempt(claimed)
      .catch((error: Error) =>
        this.#parts.logger.warn({ reason: error.message }, 'what came of a message was not recorded; it is sent again'),
      )
      .finally(() => this.#underWay.delete(attempt));
    this.#underWay.set(attempt, claimed.project_id);
    return true;
  }

  #busyProjects(): readonly string[] {
    const counts = new Map<string, number>();
    for (const project of this.#underWay.values()) counts.set(project, (counts.get(project) ?? 0) + 1);
    return [...counts].filter(([, attempts]) => attempts >= MOST_ATTEMPTS_OF_PROJECT).map(([project]) => project);
  }

  async #attempt(claimed: ClaimedMessage): Promise<void> {
    const { database, clock, logger, random = Math.random } = this.#parts;
    const answer = await this.#send(claimed);
    const endpoint = { failures: claimed.failures, failingSince: claimed.failing_since };
    const { attempts } = claimed;
    const after = afterAttempt({ attempts, answer, endpoint }, { now: clock.now(), random: random() });
    if (!(await recordAttempt(database, claimed, { ...after, outcome: answerWords(answer) }))) return;
    this.#count(after.message.state === 'delivered' ? 'delivered' : 'failed');
    const { disabledReason } = after.endpoint;
    if (disabledReason === null) return;
    this.#count('disabled');
    const { webhook_id: webhook, project_id: project } = claimed;
    logger.warn(
      { webhook, project, reason: disabledReason },
      'an endpoint is disabled: nothing is sent to it until somebody enables it',
    );
  }

  async #send(claimed: ClaimedMessage): Promise<Answer> {
    const { clock, mail, rules, resolve } = this.#parts;
    const to = recipientOf(claimed.url);
    if (to !== undefined) {
      if (mail === undefined) return { trouble: 'this installation sends no mail any more' };
      const email = JSON.parse(claimed.body) as Email;
      return sendMail({ to, id: messageIdOf(claimed.id), email }, mail, {
        now: clock.now(),
        signal: this.#stop.signal,
      });
    }
    const secrets = await this.#secretsOf(claimed);
    if (secrets.length === 0) return { trouble: 'its secret cannot be read here; rotate it' };
    const id = messageIdOf(claimed.id);
    const timestampS = Math.floor(clock.now().getTime() / 1000);
    const { url, body } = claimed;
    const headers = { 'user-agent': 'coxswain-webhooks', ...signedHeaders({ id, timestampS, body }, secrets) };
    const options = { rules, signal: this.#stop.signal, ...(resolve === undefined ? {} : { resolve }) };
    return postMessage({ url, headers, body }, options);
  }

  /** The one that counts first. */
  async #secretsOf(claimed: ClaimedMessage): Promise<readonly string[]> {
    const { key, clock } = this.#parts;
    const { webhook_id: webhookId, sealed_secret: newest, sealed_previous_secret: previous } = claimed;
    const sealed = previous === null ? [newest] : [newest, previous];
    const opened = await Promise.all(sealed.map((one) => unsealSecret(one, { webhookId, key, now: clock.now() })));
    return opened.filter((secret) => secret !== undefined);
  }
}
