import { Module } from '@nestjs/common';
import { WebhooksController } from './webhooks.controller.ts';
import { WebhooksResolvers } from './webhooks.resolvers.ts';
import { WebhooksService } from './webhooks.service.ts';

/** Endpoints that receive the events of their project's jobs. */
@Module({
  controllers: [WebhooksController],
  providers: [WebhooksService, WebhooksResolvers],
  exports: [WebhooksResolvers],
})
export class WebhooksModule {}
