import { Body, Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { GraphqlEngine } from './graphql-engine.ts';
import { GraphqlRequest } from './graphql-request.ts';

/** GraphQL is a route like every other: the same guard authenticates, the same body limits hold. There are no subscriptions; see the event stream. */
@Controller('graphql')
export class GraphqlController {
  readonly #engine: GraphqlEngine;

  constructor(@Inject(GraphqlEngine) engine: GraphqlEngine) {
    this.#engine = engine;
  }

  @Post()
  @HttpCode(200)
  @Answers({ status: 200, contentType: 'application/json', summary: 'GraphQL over the same services' })
  async run(
    @Caller() principal: Principal,
    @Body({ schema: GraphqlRequest }) body: GraphqlRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const outcome = await this.#engine.run(body, { principal, requestId: request.id });
    if (outcome.kind === 'ran') return outcome.result;
    void reply.status(400);
    return { errors: outcome.errors };
  }
}
