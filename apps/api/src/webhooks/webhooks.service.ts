import { randomUUID } from 'node:crypto';
import {
  type Webhook,
  WEBHOOK_TEST,
  type WebhookCreate,
  type WebhookCreated,
  type WebhookDelivery,
  type WebhookDeliveryList,
  type WebhookEvent,
  type WebhookForm,
  type WebhookList,
  type WebhookMessage,
  type WebhookRotate,
} from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { firstOf, type ScopedSql, type Sql, type TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { recordAudit } from '../auth/audit.ts';
import type { Principal } from '../auth/principal.ts';
import { type AllowedProject, inProject } from '../auth/project-scope.ts';
import type { Action } from '../auth/roles.ts';
import type { Config } from '../config/config.ts';
import type { MailRules } from '../config/mail-config.ts';
import { isUuid } from '../http/ids.ts';
import {
  CLOCK,
  CLUSTER,
  type Cluster,
  CONFIG,
  TENANT_DATABASE,
  type WallClock,
  WEBHOOK_KEY,
} from '../infrastructure/tokens.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { messageIdOf } from './message-id.ts';
import { messageText, testMessage } from './message-text.ts';
import { emailText } from './email-text.ts';
import { mailProblem, recipientOf } from './mail-rules.ts';
import { slackText } from './slack-text.ts';
import { type CallRules, hostOf, urlProblem } from './url-rules.ts';
import { freshSecret, sealSecret } from './webhook-secrets.ts';

/** An endpoint as its URL names it. */
export interface WebhookAddress {
  readonly project: string;
  readonly webhookId: string;
}

/** Most endpoints, and most messages, of one answer. */
export const MAX_LISTED_WEBHOOKS = 100;
/** Most deliveries of one answer. */
export const MAX_LISTED_DELIVERIES = 200;
/** Messages that somebody asked for and that have not arrived, at one endpoint. */
const MOST_WAITING_TESTS = 10;

const TEXT_OF_FORM: Readonly<Record<WebhookForm, (message: WebhookMessage) => string>> = {
  Standard: messageText,
  Slack: slackText,
  Email: emailText,
};

/** Endpoints of a project. Only its administrators manage them, because a URL may hold a secret of the receiver. */
@Injectable()
export class WebhooksService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #clock: WallClock;
  readonly #rules: CallRules;
  readonly #mail: MailRules | undefined;
  readonly #key: Uint8Array;
  readonly #limits: ProjectLimits;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(CLOCK) clock: WallClock,
    @Inject(CONFIG) config: Config,
    @Inject(WEBHOOK_KEY) key: Uint8Array,
    @Inject(ProjectLimits) limits: ProjectLimits,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#clock = clock;
    this.#rules = config.webhooks;
    this.#mail = config.mail;
    this.#key = key;
    this.#limits = limits;
  }

  async create(
    principal: Principal,
    projectName: string,
    { url, events, ...asked }: WebhookCreate,
  ): Promise<WebhookCreated> {
    const recipient = recipientOf(url);
    const form = recipient === undefined ? asked.form : 'Email';
    return this.#in(principal, { project: projectName, action: 'webhook.write' }, async (sql, project) => {
      if (form === 'Email' && recipient === undefined) throw unfit('must begin with mailto: for form Email');
      const problem = recipient === undefined ? urlProblem(url, this.#rules) : mailProblem(recipient, this.#mail);
      if (problem !== undefined) throw unfit(problem);
      await this.#limits.requireRoom(sql, project, 'webhooks');
      const [id, secret] = [randomUUID(), freshSecret()];
      const sealed = await sealSecret(secret, { webhookId: id, key: this.#key });
      await sql.query(
        'INSERT INTO webhooks (id, cluster_id, project_id, url, events, sealed_secret, form) VALUES ($1, $2, $3, $4, $5, $6, $7)',
        [id, this.#cluster.id, project.id, new URL(url).href, [...new Set(events)], sealed, form],
      );
      const detail = { host: recipient?.split('@').at(-1) ?? hostOf(new URL(url)), events: events.length };
      await this.#audit(sql, principal, { verb: 'create', id, project, detail });
      return { ...(await this.#find(sql, project, id)), secret };
    });
  }

  /** Newest first. */
  async list(principal: Principal, project: string): Promise<WebhookList> {
    return this.#in(principal, { project, action: 'webhook.read' }, async (sql, { id }) => {
      const found = await sql.query<WebhookRow>(
        `${SELECT} WHERE w.cluster_id = $1 AND w.project_id = $2 ORDER BY w.created_at DESC, w.id LIMIT ${MAX_LISTED_WEBHOOKS}`,
        [this.#cluster.id, id],
      );
      return { items: found.rows.map(toWebhook) };
    });
  }

  /** A second rotation in the time of the first forgets the oldest secret: two are good at most. */
  async rotate(
    principal: Principal,
    { project: name, webhookId }: WebhookAddress,
    { overlapSeconds }: WebhookRotate,
  ): Promise<WebhookCreated> {
    return this.#in(principal, { project: name, action: 'webhook.write' }, async (sql, project) => {
      const secret = freshSecret();
      const sealed = await sealSecret(secret, { webhookId, key: this.#key });
      const changed = await sql.query(
        `UPDATE webhooks SET sealed_previous_secret = sealed_secret, sealed_secret = $4, previous_secret_until = now() + make_interval(secs => $5)
          WHERE cluster_id = $1 AND project_id = $2 AND id = $3`,
        [...this.#keyOf(project, webhookId), sealed, overlapSeconds],
      );
      if (changed.affected === 0) throw noSuchWebhook(name);
      await this.#audit(sql, principal, { verb: 'rotate', id: webhookId, project, detail: { overlapSeconds } });
      return { ...(await this.#find(sql, project, webhookId)), secret };
    });
  }

  /** Counts anew, and sends what waits at once. One that is enabled stays so. */
  async enable(principal: Principal, { project: name, webhookId }: WebhookAddress): Promise<Webhook> {
    return this.#in(principal, { project: name, action: 'webhook.write' }, async (sql, project) => {
      const changed = await sql.query(
        `UPDATE webhooks SET disabled_at = NULL, disabled_reason = NULL, failures = 0, failing_since = NULL
          WHERE cluster_id = $1 AND project_id = $2 AND id = $3 AND disabled_at IS NOT NULL`,
        this.#keyOf(project, webhookId),
      );
      if (changed.affected > 0) await this.#audit(sql, principal, { verb: 'enable', id: webhookId, project });
      return this.#find(sql, project, webhookId);
    });
  }

  async remove(principal: Principal, { project: name, webhookId }: WebhookAddress): Promise<void> {
    await this.#in(principal, { project: name, action: 'webhook.write' }, async (sql, project) => {
      const removed = await sql.query(
        'DELETE FROM webhooks WHERE cluster_id = $1 AND project_id = $2 AND id = $3',
        this.#keyOf(project, webhookId),
      );
      if (removed.affected === 0) throw noSuchWebhook(name);
      await this.#audit(sql, principal, { verb: 'delete', id: webhookId, project });
    });
  }

  /** Queues a message that tells of nothing. */
  async test(principal: Principal, { project: name, webhookId }: WebhookAddress): Promise<WebhookDelivery> {
    return this.#in(principal, { project: name, action: 'webhook.write' }, async (sql, project) => {
      const { state, form } = await this.#find(sql, project, webhookId);
      if (state === 'disabled') throw new DomainError('CONFLICT', 'the endpoint is disabled; enable it first');
      const key = this.#keyOf(project, webhookId);
      const queued = await sql.query<DeliveryRow>(
        `INSERT INTO webhook_deliveries (cluster_id, project_id, webhook_id, event, body)
         SELECT $1, $2, $3, $4, $5
          WHERE (SELECT count(*) FROM webhook_deliveries WHERE webhook_id = $3 AND state = 'waiting' AND event = $4) < ${MOST_WAITING_TESTS}
         RETURNING *`,
        [...key, WEBHOOK_TEST, TEXT_OF_FORM[form](testMessage(name, this.#clock.now()))],
      );
      const row = firstOf(queued);
      if (row === undefined)
        throw new DomainError('CONFLICT', `${MOST_WAITING_TESTS} such messages wait already; look at the deliveries`);
      return toDelivery(row);
    });
  }

  /** Newest first. */
  async deliveries(principal: Principal, { project: name, webhookId }: WebhookAddress): Promise<WebhookDeliveryList> {
    return this.#in(principal, { project: name, action: 'webhook.read' }, async (sql, project) => {
      await this.#find(sql, project, webhookId);
      const found = await sql.query<DeliveryRow>(
        `SELECT * FROM webhook_deliveries WHERE cluster_id = $1 AND project_id = $2 AND webhook_id = $3
          ORDER BY created_at DESC, id DESC LIMIT ${MAX_LISTED_DELIVERIES}`,
        this.#keyOf(project, webhookId),
      );
      return { items: found.rows.map(toDelivery) };
    });
  }

  #keyOf(project: AllowedProject, webhookId: string): readonly (string | null)[] {
    return [this.#cluster.id, project.id, isUuid(webhookId) ? webhookId : null];
  }

  async #find(sql: Sql, project: AllowedProject, webhookId: string): Promise<Webhook> {
    const where = 'WHERE w.cluster_id = $1 AND w.project_id = $2 AND w.id = $3';
    const row = firstOf(await sql.query<WebhookRow>(`${SELECT} ${where}`, this.#keyOf(project, webhookId)));
    if (row === undefined) throw noSuchWebhook(project.name);
    return toWebhook(row);
  }

  #in<T>(
    principal: Principal,
    wanted: { readonly project: string; readonly action: Action },
    work: (sql: ScopedSql, project: AllowedProject) => Promise<T>,
  ): Promise<T> {
    return inProject(this.#database, { clusterId: this.#cluster.id, principal, ...wanted }, work);
  }

  #audit(
    sql: Sql,
    principal: Principal,
    done: {
      readonly verb: string;
      readonly id: string;
      readonly project: AllowedProject;
      readonly detail?: Readonly<Record<string, unknown>>;
    },
  ): Promise<void> {
    const { verb, id, project, detail } = done;
    const entry = { action: `webhook.${verb}`, target: `${project.name}/${id}`, projectId: project.id };
    return recordAudit(sql, principal, detail === undefined ? entry : { ...entry, detail });
  }
}

interface WebhookRow {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly form: WebhookForm;
  readonly failures: number;
  readonly failing_since: Date | null;
  readonly disabled_at: Date | null;
  readonly disabled_reason: string | null;
  readonly waiting: number;
  readonly left_out: string;
  readonly previous_until: Date | null;
  readonly created_at: Date;
}

interface DeliveryRow {
  readonly id: string;
  readonly event: string;
  readonly state: WebhookDelivery['state'];
  readonly attempts: number;
  readonly next_attempt_at: Date;
  readonly last_outcome: string | null;
  readonly created_at: Date;
  readonly ended_at: Date | null;
}

const SELECT = `
  SELECT w.id, w.url, w.events, w.form, w.failures, w.failing_since, w.disabled_at, w.disabled_reason, w.left_out, w.created_at,
         CASE WHEN w.previous_secret_until > now() THEN w.previous_secret_until END AS previous_until,
         (SELECT count(*)::integer FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.state = 'waiting') AS waiting
    FROM webhooks w`;

function toWebhook(row: WebhookRow): Webhook {
  return {
    id: row.id,
    url: row.url,
    events: [...row.events],
    form: row.form,
    state: row.disabled_at === null ? 'active' : 'disabled',
    disabledReason: row.disabled_reason,
    failures: row.failures,
    failingSince: row.failing_since?.toISOString() ?? null,
    waiting: row.waiting,
    leftOut: Number(row.left_out),
    previousSecretUntil: row.previous_until?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
  };
}

function toDelivery(row: DeliveryRow): WebhookDelivery {
  return {
    id: messageIdOf(row.id),
    event: row.event,
    state: row.state,
    attempts: row.attempts,
    nextAttemptAt: row.state === 'waiting' ? row.next_attempt_at.toISOString() : null,
    lastOutcome: row.last_outcome,
    createdAt: row.created_at.toISOString(),
    endedAt: row.ended_at?.toISOString() ?? null,
  };
}

function unfit(problem: string): DomainError {
  return new DomainError('INVALID_REQUEST', `url ${problem}`, [{ pointer: '/url', detail: problem }]);
}

function noSuchWebhook(project: string): DomainError {
  return new DomainError(
    'NOT_FOUND',
    `project "${project}" has no such webhook; GET /v1/projects/${project}/webhooks lists those there are`,
  );
}
