/** How do changes of a job become messages to the webhook endpoints of its project? */
import type { WebhookMessage } from '@coxswain/api-types';
import { firstOf, type Sql } from '@coxswain/persistence';
import { messageText } from '../webhooks/message-text.ts';
import { emailText } from '../webhooks/email-text.ts';
import { slackText } from '../webhooks/slack-text.ts';
import type { JobNews } from './job-news.ts';

/** Messages of one endpoint that have not arrived; what comes then is counted and left out. */
export const MOST_WAITING_OF_ENDPOINT = 1_000;

interface SubscribedJobRow {
  readonly project_id: string;
  readonly project: string;
  readonly name: string;
  readonly namespace: string;
  readonly now: Date;
}

/**
 * Queues the messages in the transaction that records the change: both happen, or neither. Does nothing if no endpoint of the job’s project
 * subscribes to any of them.
 */
export async function queueWebhookMessages(sql: Sql, jobId: string, news: readonly JobNews[]): Promise<void> {
  if (news.length === 0) return;
  const of = firstOf(await sql.query<SubscribedJobRow>(WHO_LISTENS, [jobId, news.map(({ type }) => type)]));
  if (of === undefined) return;
  const messages = news.map((one) => messageOf(one, jobId, of));
  await sql.query(QUEUE, [
    of.project_id,
    messages.map(({ type }) => type),
    messages.map(messageText),
    MOST_WAITING_OF_ENDPOINT,
    messages.map(slackText),
    messages.map(emailText),
  ]);
}

const WHO_LISTENS = `
  SELECT p.id AS project_id, p.name AS project, j.name, j.namespace, now() AS now
    FROM jobs j JOIN projects p ON p.id = j.project_id
   WHERE j.id = $1 AND EXISTS (
     SELECT FROM webhooks w WHERE w.cluster_id = p.cluster_id AND w.project_id = p.id AND w.disabled_at IS NULL AND w.events && $2::text[])`;

/** The time of the clock, not of the transaction, orders what one transaction tells. */
const QUEUE = `
  WITH told AS (
    SELECT * FROM unnest($2::text[], $3::text[], $5::text[], $6::text[]) WITH ORDINALITY AS one (event, body, slack_body, mail_body, position)
  ), wanted AS (
    SELECT w.cluster_id, w.project_id, w.id AS webhook_id, t.event, t.position,
           CASE w.form WHEN 'Slack' THEN t.slack_body WHEN 'Email' THEN t.mail_body ELSE t.body END AS body,
           (SELECT count(*) FROM (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.state = 'waiting' LIMIT $4) AS counted) >= $4 AS is_full
      FROM webhooks w JOIN told t ON t.event = ANY (w.events)
     WHERE w.project_id = $1 AND w.disabled_at IS NULL
  ), left_out AS (
    UPDATE webhooks w SET left_out = w.left_out + f.messages
      FROM (SELECT webhook_id, count(*) AS messages FROM wanted WHERE is_full GROUP BY webhook_id) AS f WHERE w.id = f.webhook_id
  )
  INSERT INTO webhook_deliveries (cluster_id, project_id, webhook_id, event, body, created_at)
  SELECT cluster_id, project_id, webhook_id, event, body, clock_timestamp() FROM wanted WHERE NOT is_full ORDER BY position`;

function messageOf(news: JobNews, jobId: string, { project, name, namespace, now }: SubscribedJobRow): WebhookMessage {
  const { type, ...facts } = news;
  return {
    type,
    timestamp: now.toISOString(),
    data: { project, job: { id: jobId, name, namespace }, ...facts },
  } as WebhookMessage;
}
