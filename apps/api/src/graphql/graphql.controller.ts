import { Body, Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Caller } from '../auth/auth.guard.ts';
import type { Denials } from '../auth/denials.ts';
import type { Principal } from '../auth/principal.ts';
import { originOf } from '../auth/request-origin.ts';
import { isStopMutation } from '../auth/stops.ts';
import { abortOnDisconnect } from '../http/client-disconnect.ts';
import { InsteadOfIdempotencyKey } from '../http/idempotency-key.guard.ts';
import { Answers } from '../http/openapi.ts';
import { DENIALS } from '../infrastructure/tokens.ts';
import { AnswerTurns } from '../limits/answer-turns.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { GraphqlEngine } from './graphql-engine.ts';
import { GraphqlAnswer, GraphqlRequest } from './graphql-request.ts';

/** GraphQL is a route like every other: the same guard authenticates, the same body limits hold. There are no subscriptions; see the event stream. */
@Controller('graphql')
export class GraphqlController {
  readonly #engine: GraphqlEngine;
  readonly #limits: ProjectLimits;
  readonly #denials: Denials;
  readonly #answers: AnswerTurns;

  constructor(
    @Inject(GraphqlEngine) engine: GraphqlEngine,
    @Inject(ProjectLimits) limits: ProjectLimits,
    @Inject(DENIALS) denials: Denials,
    @Inject(AnswerTurns) answers: AnswerTurns,
  ) {
    this.#denials = denials;
    this.#answers = answers;
    this.#engine = engine;
    this.#limits = limits;
  }

  @Post()
  @HttpCode(200)
  @InsteadOfIdempotencyKey('Give the mutation its argument idempotencyKey')
  @Answers({
    status: 200,
    schema: GraphqlAnswer,
    summary: 'GraphQL over the same services; the role must allow what is asked',
    others: [
      {
        status: 400,
        description: 'Nothing ran: the document or its variables are not valid, or cost too much.',
        contentType: 'application/json',
        schema: GraphqlAnswer,
      },
    ],
  })
  async run(
    @Caller() principal: Principal,
    @Body({ schema: GraphqlRequest }) body: GraphqlRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const gone = abortOnDisconnect(reply.raw);
    const outcome = await this.#engine.run(body, {
      principal,
      requestId: request.id,
      gone,
      inTurn: (cost, build) => this.#answers.build(principal, { cost, gone }, build),
      // The guard has counted one; each further field asks as much as another request of REST.
      charge: ({ fields, isMutation }) => {
        this.#limits.charge(principal, Math.max(0, fields.length - 1));
        if (!isMutation) return;
        const stops = fields.filter(isStopMutation).length;
        this.#limits.chargeWrites(principal, { writes: fields.length - stops, stops });
      },
      note: (error, field) =>
        this.#denials.note(error, { principal, origin: originOf(request), object: `graphql:${field}` }),
    });
    if (outcome.kind === 'ran') return outcome.result;
    void reply.status(400);
    return { errors: outcome.errors };
  }
}
