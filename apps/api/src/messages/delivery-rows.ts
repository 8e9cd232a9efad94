/** Which message is to be sent next, and what has become of it? */
import { type Database, firstOf } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import type { AfterAttempt } from './retry-rules.ts';

/** An endpoint belongs to one attempt for so long at most: longer than an attempt takes, so that one whose process died is tried again. */
export const LEASE_S = 60;

/** One message to one endpoint, which nobody else sends meanwhile. */
export interface ClaimedMessage {
  readonly id: string;
  /** With the one that is to come. */
  readonly attempts: number;
  readonly body: string;
  readonly webhook_id: string;
  readonly project_id: string;
  readonly url: string;
  readonly sealed_secret: string;
  /** Null: none, or good no more. */
  readonly sealed_previous_secret: string | null;
  readonly failures: number;
  readonly failing_since: Date | null;
}

/**
 * Takes the endpoint that was served longest ago and has a message that is due, and the oldest such message of it. The attempt counts from now on, whatever
 * becomes of this process. The lock lets others queue messages meanwhile. One attempt at a time for each endpoint, over all replicas; endpoints of `busyProjects` are left for later.
 */
export async function claimMessage(
  database: Database,
  cluster: Cluster,
  busyProjects: readonly string[],
): Promise<ClaimedMessage | undefined> {
  return firstOf(await database.query<ClaimedMessage>(CLAIM, [cluster.id, busyProjects, LEASE_S]));
}

/** The condition is checked again in the update: between the read and the lock another replica may have sent the message. */
const CLAIM = `
  WITH chosen AS (
    SELECT w.id FROM webhooks w
     WHERE w.cluster_id = $1 AND w.disabled_at IS NULL AND (w.leased_until IS NULL OR w.leased_until < now()) AND w.project_id <> ALL ($2::uuid[])
       AND EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.state = 'waiting' AND d.next_attempt_at <= now())
     ORDER BY w.served_at NULLS FIRST, w.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
  ), due AS (
    SELECT d.id FROM webhook_deliveries d JOIN chosen ON chosen.id = d.webhook_id
     WHERE d.state = 'waiting' AND d.next_attempt_at <= now() ORDER BY d.created_at, d.id LIMIT 1
  ), claimed AS (
    UPDATE webhook_deliveries d SET attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => $3)
      FROM due WHERE d.id = due.id AND d.state = 'waiting' AND d.next_attempt_at <= now() RETURNING d.id, d.webhook_id, d.attempts, d.body
  ), leased AS (
    UPDATE webhooks w SET leased_until = now() + make_interval(secs => $3), served_at = now()
      FROM claimed WHERE w.id = claimed.webhook_id RETURNING w.*
  )
  SELECT c.id, c.attempts, c.body, l.id AS webhook_id, l.project_id, l.url, l.sealed_secret,
         CASE WHEN l.previous_secret_until > now() THEN l.sealed_previous_secret END AS sealed_previous_secret, l.failures, l.failing_since
    FROM claimed c JOIN leased l ON l.id = c.webhook_id`;

/**
 * Records what came of an attempt and gives the endpoint back. False where a later attempt has begun, as after a pause that was longer than the lease, or where
 * the endpoint is gone: then nothing is written. A message that has ended keeps its history, and no text.
 */
export async function recordAttempt(
  database: Database,
  { id, attempts, webhook_id: webhookId }: ClaimedMessage,
  { message, endpoint, outcome }: AfterAttempt & { readonly outcome: string },
): Promise<boolean> {
  const waitMs = message.state === 'waiting' ? message.waitMs : null;
  return database.transaction(async (sql) => {
    const recorded = await sql.query(
      `UPDATE webhook_deliveries
          SET state = $3, last_outcome = $4, body = CASE WHEN $3 = 'waiting' THEN body ELSE '' END, ended_at = CASE WHEN $3 = 'waiting' THEN NULL ELSE now() END,
              next_attempt_at = now() + make_interval(secs => coalesce($5::double precision, 0) / 1000)
        WHERE id = $1 AND attempts = $2 AND state = 'waiting'`,
      [id, attempts, message.state, outcome, waitMs],
    );
    if (recorded.affected === 0) return false;
    await sql.query(
      `UPDATE webhooks
          SET leased_until = NULL, failures = $2, failing_since = $3, disabled_reason = coalesce(disabled_reason, $4),
              disabled_at = CASE WHEN $4::text IS NULL THEN disabled_at ELSE coalesce(disabled_at, now()) END
        WHERE id = $1`,
      [webhookId, endpoint.failures, endpoint.failingSince, endpoint.disabledReason],
    );
    return true;
  });
}

/** Of each endpoint so many that have ended are kept, and nothing for longer: also what waits for an endpoint that is disabled. */
export const MOST_KEPT_OF_ENDPOINT = 1_000;
/** Days after which a message is removed, whether or not it was delivered. */
export const KEPT_DAYS = 7;

/** Removes some of what is kept no longer; gives how many, and fewer than `most` when none is left. */
export async function removeOldDeliveries(database: Database, cluster: Cluster, most: number): Promise<number> {
  const { affected } = await database.query(
    `DELETE FROM webhook_deliveries WHERE id IN (
       SELECT old.id FROM webhooks w CROSS JOIN LATERAL (
         (SELECT d.id FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.state <> 'waiting' ORDER BY d.created_at DESC, d.id DESC OFFSET $3)
         UNION
         (SELECT d.id FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.created_at < now() - make_interval(days => $2))
       ) AS old WHERE w.cluster_id = $1 LIMIT $4)`,
    [cluster.id, KEPT_DAYS, MOST_KEPT_OF_ENDPOINT, most],
  );
  return affected;
}
