import { WebhookCreate, WebhookRotate } from '@coxswain/api-types';
import { Inject, Injectable } from '@nestjs/common';
import { list, one, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { parse } from '../http/validation.ts';
import { MAX_LISTED_DELIVERIES, MAX_LISTED_WEBHOOKS, WebhooksService } from './webhooks.service.ts';

interface Addressed {
  readonly project: string;
  readonly id: string;
}

/** Endpoints by GraphQL. */
@Injectable()
export class WebhooksResolvers implements RootResolvers {
  readonly queries: RootFields;
  readonly mutations: RootFields;

  constructor(@Inject(WebhooksService) webhooks: WebhooksService) {
    this.queries = {
      webhooks: list<{ project: string }>(
        () => MAX_LISTED_WEBHOOKS,
        ({ project }, { principal }) => webhooks.list(principal, project),
      ),
      webhookDeliveries: list<Addressed>(
        () => MAX_LISTED_DELIVERIES,
        ({ project, id }, { principal }) => webhooks.deliveries(principal, { project, webhookId: id }),
      ),
    };
    this.mutations = {
      createWebhook: one<{ project: string; input: unknown }>(({ project, input }, { principal }) =>
        webhooks.create(principal, project, parse(WebhookCreate, present(input))),
      ),
      rotateWebhook: one<Addressed & { input?: unknown }>(({ project, id, input }, { principal }) =>
        webhooks.rotate(principal, { project, webhookId: id }, parse(WebhookRotate, present(input ?? {}))),
      ),
      enableWebhook: one<Addressed>(({ project, id }, { principal }) =>
        webhooks.enable(principal, { project, webhookId: id }),
      ),
      testWebhook: one<Addressed>(({ project, id }, { principal }) =>
        webhooks.test(principal, { project, webhookId: id }),
      ),
      removeWebhook: one<Addressed>(({ project, id }, { principal }) =>
        webhooks.remove(principal, { project, webhookId: id }).then(() => true),
      ),
    };
  }
}
