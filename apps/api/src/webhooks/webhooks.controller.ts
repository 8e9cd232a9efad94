import {
  Webhook,
  WebhookCreate,
  WebhookCreated,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookList,
  WebhookRotate,
} from '@coxswain/api-types';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { InsteadOfIdempotencyKey } from '../http/idempotency-key.guard.ts';
import { Answers } from '../http/openapi.ts';
import { type WebhookAddress, WebhooksService } from './webhooks.service.ts';

const Rotate = WebhookRotate.prefault({});

/** REST routes for the endpoints of a project, their secrets, deliveries and test messages. */
@Controller('v1/projects/:project/webhooks')
export class WebhooksController {
  readonly #webhooks: WebhooksService;

  constructor(@Inject(WebhooksService) webhooks: WebhooksService) {
    this.#webhooks = webhooks;
  }

  @Get()
  @Answers({
    status: 200,
    schema: WebhookList,
    summary: 'Endpoints that receive the events of a project’s jobs, newest first; secrets are never returned',
  })
  list(@Caller() caller: Principal, @Param('project') project: string): Promise<WebhookList> {
    return this.#webhooks.list(caller, project);
  }

  @Post()
  @InsteadOfIdempotencyKey(
    'A secret is shown once: list the webhooks to see whether the first request made one, and delete that',
  )
  @Answers({ status: 201, schema: WebhookCreated, summary: 'Add an endpoint; its signing secret is shown this once' })
  create(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Body({ schema: WebhookCreate }) request: WebhookCreate,
  ): Promise<WebhookCreated> {
    return this.#webhooks.create(caller, project, request);
  }

  @Delete(':webhookId')
  @HttpCode(204)
  @Answers({ status: 204, summary: 'Remove an endpoint, with what waits for it' })
  async remove(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Param('webhookId') webhookId: string,
  ): Promise<void> {
    await this.#webhooks.remove(caller, { project, webhookId });
  }

  @Post(':webhookId/rotate')
  @InsteadOfIdempotencyKey('A secret is shown once: where the answer was lost, rotate again')
  @Answers({
    status: 201,
    schema: WebhookCreated,
    summary: 'Make another signing secret; messages carry the signature of the old one too for a while',
  })
  rotate(
    @Caller() caller: Principal,
    @Param() { project, webhookId }: WebhookAddress,
    @Body({ schema: Rotate }) request: WebhookRotate,
  ): Promise<WebhookCreated> {
    return this.#webhooks.rotate(caller, { project, webhookId }, request);
  }

  @Post(':webhookId/enable')
  @HttpCode(200)
  @InsteadOfIdempotencyKey('An endpoint that is enabled stays as it is: send the request again without the header')
  @Answers({ status: 200, schema: Webhook, summary: 'Send to an endpoint again that was disabled' })
  enable(@Caller() caller: Principal, @Param() { project, webhookId }: WebhookAddress): Promise<Webhook> {
    return this.#webhooks.enable(caller, { project, webhookId });
  }

  @Post(':webhookId/test')
  @HttpCode(202)
  @InsteadOfIdempotencyKey('Another message that tells of nothing does no harm: send the request without the header')
  @Answers({
    status: 202,
    schema: WebhookDelivery,
    summary: 'Send a message that tells of nothing',
    refusals: ['CONFLICT'],
  })
  test(@Caller() caller: Principal, @Param() { project, webhookId }: WebhookAddress): Promise<WebhookDelivery> {
    return this.#webhooks.test(caller, { project, webhookId });
  }

  @Get(':webhookId/deliveries')
  @Answers({ status: 200, schema: WebhookDeliveryList, summary: 'What was sent to an endpoint, newest first' })
  deliveries(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Param('webhookId') webhookId: string,
  ): Promise<WebhookDeliveryList> {
    return this.#webhooks.deliveries(caller, { project, webhookId });
  }
}
