import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { ExecutionResult } from 'graphql';
import mercurius from 'mercurius';
import { z } from 'zod';
import { JobHistoryService } from '../jobs/job-history.service.ts';
import { JobsService } from '../jobs/jobs.service.ts';
import { LayoutsService } from '../layouts/layouts.service.ts';
import { ApiTokensService } from '../projects/api-tokens.service.ts';
import { ProjectsService } from '../projects/projects.service.ts';
import { MAX_QUERY_DEPTH, tooMuch } from './query-limits.ts';
import { createResolvers, type GraphqlContext, type GraphqlServices } from './resolvers.ts';

export const GraphqlRequest = z
  .strictObject({
    query: z.string().min(1).max(15_000),
    variables: z.record(z.string(), z.unknown()).nullish(),
    operationName: z.string().max(200).nullish(),
  })
  .meta({ id: 'GraphqlRequest' });
export type GraphqlRequest = z.infer<typeof GraphqlRequest>;

/** Runs GraphQL documents by Mercurius, over the committed schema and the services of REST. */
@Injectable()
export class GraphqlEngine {
  readonly #services: GraphqlServices;
  #fastify: FastifyInstance | undefined;

  constructor(
    @Inject(ProjectsService) projects: ProjectsService,
    @Inject(ApiTokensService) tokens: ApiTokensService,
    @Inject(JobsService) jobs: JobsService,
    @Inject(JobHistoryService) history: JobHistoryService,
    @Inject(LayoutsService) layouts: LayoutsService,
  ) {
    this.#services = { projects, tokens, jobs, history, layouts };
  }

  /** Registers Mercurius without routes of its own: ours is a controller, behind the same guard as every other. */
  async start(fastify: FastifyInstance): Promise<void> {
    // Beside the sources, where the generator writes it; the same path from src and from dist.
    const schema = readFileSync(resolve(import.meta.dirname, '../../src/graphql/schema.generated.graphql'), 'utf8');
    await fastify.register(mercurius, {
      schema,
      resolvers: createResolvers(this.#services) as never,
      routes: false,
      graphiql: false,
      subscription: false,
      allowBatchedQueries: false,
      jit: 5,
      queryDepth: MAX_QUERY_DEPTH,
      validationRules: [tooMuch],
    });
    this.#fastify = fastify;
  }

  /** Rejects with `errors` when the document is refused before anything ran. */
  run(request: GraphqlRequest, context: GraphqlContext): Promise<ExecutionResult> {
    if (this.#fastify === undefined) throw new Error('the GraphQL engine was not started');
    const { query, variables, operationName } = request;
    return this.#fastify.graphql(query, { ...context }, variables ?? {}, operationName ?? undefined);
  }
}
