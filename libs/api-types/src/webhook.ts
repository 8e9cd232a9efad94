/** Webhooks of a project: endpoints, events and messages. */
import { z } from 'zod';
import type { CONDITION_REASONS, ConditionType } from './conditions.ts';
import { Incident } from './incident.ts';
import { EXAMPLE_WEBHOOK, EXAMPLE_WEBHOOK_ROTATION } from './request-examples.ts';
import { JobFailure } from './job-failure.ts';
import { Job } from './rest.ts';
import { DEFAULT_OVERLAP_SECONDS } from './api-token.ts';

const timestamp = z.string().meta({ format: 'date-time' });
const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Events that an endpoint can receive. */
export const WEBHOOK_EVENTS = {
  'incident.opened': 'Something went wrong with a job, or was noticed.',
  'incident.acted': 'Something was done about an incident: ranks are started again, or the job is given up.',
  'incident.closed': 'An incident ended; its outcome names the result.',
  'job.needsPerson': 'A job needs an action of a person to continue; the condition names it.',
  'job.ended': 'A job is complete, failed or cancelled, or it was refused or deleted before.',
} as const satisfies Record<string, string>;
/** Name of an event. */
export type WebhookEvent = keyof typeof WEBHOOK_EVENTS;

/** Sent on request alone, to any endpoint. */
export const WEBHOOK_TEST = 'webhook.test';
const EVENT_NAMES = Object.keys(WEBHOOK_EVENTS) as [WebhookEvent, ...WebhookEvent[]];

/** Reasons of conditions that are not as they should be, and that only a person changes. */
export const PERSON_REASONS: Readonly<
  Partial<{ [T in ConditionType]: readonly (keyof (typeof CONDITION_REASONS)[T])[] }>
> = {
  Accepted: ['SpecInvalid', 'NoLayoutFits', 'LayoutInvalid', 'EngineRefused', 'RuntimeRefused'],
  Placed: ['CheckpointsUnusable', 'PodsRefused', 'ObjectMissing', 'PriorityClassMissing'],
  Running: ['ImageUnavailable', 'SecretMissing', 'PodStuck', 'Denied'],
};

/** Forms in which messages to an endpoint are written. */
const WEBHOOK_FORMS = ['Standard', 'Slack', 'Email'] as const;
/** Form in which messages to an endpoint are written. */
export type WebhookForm = (typeof WEBHOOK_FORMS)[number];
const form = z
  .enum(WEBHOOK_FORMS)
  .describe(
    'Standard: JSON as Standard Webhooks lays it out. Slack: a text for an incoming webhook of Slack. Email: a mail; the form of every mailto: URL.',
  );

const MAX_WEBHOOK_URL = 2_048;

/** Body of the request that creates a webhook. */
export const WebhookCreate = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .max(MAX_WEBHOOK_URL)
      .describe(
        'Where messages are sent: https, without user, password and fragment, at a public address; or mailto: and one mail address.',
      ),
    events: z
      .array(z.enum(EVENT_NAMES))
      .min(1)
      .max(EVENT_NAMES.length)
      .default([...EVENT_NAMES])
      .describe('Absent: all.'),
    form: form.default('Standard'),
  })
  .meta({ id: 'WebhookCreate', examples: [EXAMPLE_WEBHOOK] });
export type WebhookCreate = z.infer<typeof WebhookCreate>;
/** {@link WebhookCreate} as callers write it, without defaults. */
export type WebhookCreateInput = z.input<typeof WebhookCreate>;

/** Body of the request that rotates the secret of a webhook. */
export const WebhookRotate = z
  .strictObject({
    overlapSeconds: z
      .int()
      .min(0)
      .max(7 * 86_400)
      .default(DEFAULT_OVERLAP_SECONDS)
      .describe('For how long messages are signed with the old secret too; 0: not at all.'),
  })
  .meta({ id: 'WebhookRotate', examples: [EXAMPLE_WEBHOOK_ROTATION] });
export type WebhookRotate = z.infer<typeof WebhookRotate>;
/** {@link WebhookRotate} as callers write it, without defaults. */
export type WebhookRotateInput = z.input<typeof WebhookRotate>;

/** An endpoint that receives events, without its secret. */
export const Webhook = z
  .object({
    id: z.uuid(),
    url: z.string(),
    events: z.array(z.enum(EVENT_NAMES)),
    form,
    state: z.enum(['active', 'disabled']).describe('disabled: nothing is sent until it is enabled again.'),
    disabledReason: z.string().nullable(),
    failures: counter.describe('Attempts in a row that failed, of all messages together.'),
    failingSince: timestamp.nullable(),
    waiting: counter.describe('Messages that have not arrived and are tried again.'),
    leftOut: counter.describe('Messages that were never queued, because too many waited.'),
    previousSecretUntil: timestamp.nullable().describe('Until then messages are signed with the secret before, too.'),
    createdAt: timestamp,
  })
  .meta({ id: 'Webhook' });
export type Webhook = z.infer<typeof Webhook>;

/** A new webhook with its secret. */
export const WebhookCreated = Webhook.extend({
  secret: z.string().describe('`whsec_` and base64. Shown once.'),
}).meta({ id: 'WebhookCreated' });
export type WebhookCreated = z.infer<typeof WebhookCreated>;

/** A page of webhooks. */
export const WebhookList = z.object({ items: z.array(Webhook) }).meta({ id: 'WebhookList' });
export type WebhookList = z.infer<typeof WebhookList>;

/** A message to an endpoint and the result of its delivery. */
export const WebhookDelivery = z
  .object({
    id: z.string().describe('As the header `webhook-id` has it: the same in each attempt.'),
    event: z.string(),
    state: z.enum(['waiting', 'delivered', 'failed']),
    attempts: counter,
    nextAttemptAt: timestamp.nullable().describe('null: it has ended.'),
    lastOutcome: z
      .string()
      .nullable()
      .describe('Of the last attempt: a status of HTTP, or why there was none. Never what the endpoint wrote.'),
    createdAt: timestamp,
    endedAt: timestamp.nullable(),
  })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;

/** A page of deliveries. */
export const WebhookDeliveryList = z
  .object({ items: z.array(WebhookDelivery).describe('Newest first, at most 200.') })
  .meta({ id: 'WebhookDeliveryList' });
export type WebhookDeliveryList = z.infer<typeof WebhookDeliveryList>;

const ofJob = {
  project: z.string(),
  job: z.object({ id: z.uuid(), name: z.string(), namespace: z.string() }),
};

/** The body of a message, as Standard Webhooks lays it out. */
export const WebhookMessage = z
  .discriminatedUnion('type', [
    z.object({
      type: z.enum(['incident.opened', 'incident.acted', 'incident.closed']),
      timestamp: timestamp.describe('When the API received it.'),
      data: z.object({ ...ofJob, incident: Incident }),
    }),
    z.object({
      type: z.literal('job.needsPerson'),
      timestamp,
      data: z.object({ ...ofJob, condition: z.object({ type: z.string(), reason: z.string(), message: z.string() }) }),
    }),
    z.object({
      type: z.literal('job.ended'),
      timestamp,
      data: z.object({
        ...ofJob,
        state: Job.shape.state,
        summary: z.string(),
        failure: JobFailure.nullable()
          .optional()
          .describe('Why it failed: verdict, place, last lines and advice. null: it did not fail.'),
      }),
    }),
    z.object({
      type: z.literal(WEBHOOK_TEST),
      timestamp,
      data: z.object({ project: z.string(), message: z.string() }),
    }),
  ])
  .meta({ id: 'WebhookMessage' });
export type WebhookMessage = z.infer<typeof WebhookMessage>;
