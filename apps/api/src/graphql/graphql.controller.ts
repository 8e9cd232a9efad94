import { Body, Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { GraphqlEngine } from './graphql-engine.ts';
import { GraphqlRequest } from './graphql-request.ts';

/** GraphQL is a route like every other: the same guard authenticates, the same body limits hold. There are no subscriptions; see the event stream. */
@Controller('graphql')
export class GraphqlController {
  readonly #engine: GraphqlEngine;
  readonly #limits: ProjectLimits;

  constructor(@Inject(GraphqlEngine) engine: GraphqlEngine, @Inject(ProjectLimits) limits: ProjectLimits) {
    this.#engine = engine;
    this.#limits = limits;
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
    const outcome = await this.#engine.run(body, {
      principal,
      requestId: request.id,
      // The guard has counted one; each further field asks as much as another request of REST.
      charge: (fields) => this.#limits.charge(principal, Math.max(0, fields - 1)),
    });
    if (outcome.kind === 'ran') return outcome.result;
    void reply.status(400);
    return { errors: outcome.errors };
  }
}
