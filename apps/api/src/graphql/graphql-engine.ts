import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { DomainError } from '@coxswain/domain-error';
import type { Logger } from '@coxswain/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { DocumentNode, ExecutionResult, GraphQLFormattedError } from 'graphql';
import mercurius from 'mercurius';
import type { Principal } from '../auth/principal.ts';
import { LOGGER } from '../infrastructure/tokens.ts';
import { toGraphqlErrors } from './graphql-errors.ts';
import type { GraphqlRequest } from './graphql-request.ts';
import { ItemBudget, MAX_QUERY_DEPTH, MAX_TOKENS, requireModest } from './query-limits.ts';
import type { FieldResolvers, GraphqlContext, RootResolvers } from './root-resolvers.ts';
import { SafeInt } from './safe-int.ts';

/** Who asks, and the id under which a failure of ours is recorded. */
export interface GraphqlCaller {
  readonly principal: Principal;
  readonly requestId: string;
}

/** `refused`: nothing ran. */
export type GraphqlOutcome =
  | { readonly kind: 'ran'; readonly result: ExecutionResult }
  | { readonly kind: 'refused'; readonly errors: readonly GraphQLFormattedError[] };

/** A document is compiled when it is asked for the sixth time. */
const COMPILE_AFTER = 5;

/** Runs GraphQL documents by Mercurius, over the committed schema and what the features resolve. */
@Injectable()
export class GraphqlEngine {
  readonly #logger: Logger;
  #fastify: FastifyInstance | undefined;

  constructor(@Inject(LOGGER) logger: Logger) {
    this.#logger = logger;
  }

  /** Registers Mercurius without routes of its own: ours is a controller, behind the same guard as every other. */
  async start(fastify: FastifyInstance, features: readonly RootResolvers[]): Promise<void> {
    // Beside the sources, where the generator writes it; the same path from src and from dist.
    const schema = readFileSync(resolve(import.meta.dirname, '../../src/graphql/schema.generated.graphql'), 'utf8');
    await fastify.register(mercurius, {
      schema,
      resolvers: resolversOf(features) as never,
      routes: false,
      graphiql: false,
      subscription: false,
      allowBatchedQueries: false,
      // What ran and failed; what is refused before rejects with its errors as they are.
      errorFormatter: ({ data, errors }, context) => ({
        statusCode: 200,
        response: { data: data ?? null, errors: this.#answered(errors ?? [], requestIdOf(context)) as never },
      }),
      jit: COMPILE_AFTER,
      queryDepth: MAX_QUERY_DEPTH,
      graphql: { parseOptions: { maxTokens: MAX_TOKENS } },
    });
    fastify.graphql.addHook('preValidation', (_schema: unknown, document: DocumentNode) =>
      Promise.resolve(document).then(requireModest),
    );
    this.#fastify = fastify;
  }

  /** Rejects only when something is wrong with us. */
  async run(request: GraphqlRequest, caller: GraphqlCaller): Promise<GraphqlOutcome> {
    if (this.#fastify === undefined) throw new Error('the GraphQL engine was not started');
    const { variables, operationName } = request;
    try {
      const context: GraphqlCaller & GraphqlContext = { ...caller, budget: new ItemBudget() };
      const document = documentOf(request);
      const result = await this.#fastify.graphql(document, context, variables ?? {}, operationName ?? undefined);
      return hasRun(result) ? { kind: 'ran', result } : { kind: 'refused', errors: errorsOf(result) };
    } catch (error) {
      const { errors } = error as { readonly errors?: readonly unknown[] };
      if (error instanceof DomainError) return { kind: 'refused', errors: this.#answered([error], caller.requestId) };
      if (Array.isArray(errors)) return { kind: 'refused', errors: this.#answered(errors, caller.requestId) };
      throw error;
    }
  }

  #answered(errors: readonly unknown[], requestId: string): readonly GraphQLFormattedError[] {
    return toGraphqlErrors(errors, (error) => this.#logger.error({ requestId, err: error }, 'GraphQL request failed'));
  }
}

function resolversOf(features: readonly RootResolvers[]): Readonly<Record<string, unknown>> {
  const merged = (fields: readonly (FieldResolvers | undefined)[]): FieldResolvers => Object.assign({}, ...fields);
  return {
    SafeInt,
    Query: merged(features.map(({ queries }) => queries)),
    Mutation: merged(features.map(({ mutations }) => mutations)),
  };
}

/**
 * The text for Mercurius, which keeps parsed and compiled queries by their text. A compiled query is one operation, so the operation has to
 * be part of the text. A document written as a JSON syntax tree is refused: Mercurius would take it, without having checked its form.
 */
function documentOf({ query, operationName }: GraphqlRequest): string {
  if (/^\s*(\{\s*["}]|["[\d-]|(true|false|null)\s*$)/.test(query)) {
    throw new DomainError('INVALID_REQUEST', 'query must be a GraphQL document, such as { whoAmI { name } }');
  }
  return operationName === undefined || operationName === null ? query : `${query}\n# ${operationName}`;
}

/** Variables that do not fit and operations that are not there are mostly told by rejecting; a compiled query tells them as its result. */
function hasRun({ data, errors }: ExecutionResult): boolean {
  return (data ?? undefined) !== undefined || (errors ?? []).some((error) => error.path !== undefined);
}

/** Errors of a result have been through `errorFormatter`. */
function errorsOf(result: ExecutionResult): readonly GraphQLFormattedError[] {
  return (result.errors ?? []) as readonly GraphQLFormattedError[];
}

function requestIdOf(context: unknown): string {
  return (context as Partial<GraphqlCaller> | undefined)?.requestId ?? '';
}
