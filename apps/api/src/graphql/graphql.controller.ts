import { Body, Controller, HttpCode, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { GraphqlEngine, GraphqlRequest } from './graphql-engine.ts';
import { toGraphqlError } from './graphql-errors.ts';

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
    @Res() reply: FastifyReply,
  ): Promise<void> {
    try {
      const { data, errors } = await this.#engine.run(body, { principal });
      await reply.send({ data: data ?? null, ...(errors === undefined ? {} : { errors: errors.map(toGraphqlError) }) });
    } catch (error) {
      // The document itself was refused: nothing ran.
      const { errors } = error as { readonly errors?: readonly unknown[] };
      if (!Array.isArray(errors)) throw error;
      await reply.status(400).send({ errors: errors.map(toGraphqlError) });
    }
  }
}
