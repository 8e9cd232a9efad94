import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { DomainError } from '@coxswain/domain-error';
import type { Logger, Metrics } from '@coxswain/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import {
  buildSchema,
  type DocumentNode,
  execute,
  type ExecutionResult,
  getOperationAST,
  getVariableValues,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLObjectType,
  type GraphQLSchema,
  isObjectType,
  Kind,
  OperationTypeNode,
  parse,
  validate,
} from 'graphql';
import type { Principal } from '../auth/principal.ts';
import { LOGGER, METRICS } from '../infrastructure/tokens.ts';
import { LimitExceeded } from '../limits/limit-exceeded.ts';
import { batched } from './batched.ts';
import { DocumentCache } from './document-cache.ts';
import { toGraphqlErrors } from './graphql-errors.ts';
import type { GraphqlRequest } from './graphql-request.ts';
import { requireComparable } from './query-comparisons.ts';
import { type AffordedQuery, type RelationsOfTypes, requireAffordable } from './query-cost.ts';
import { MAX_TOKENS, requireModest } from './query-limits.ts';
import type { GraphqlContext, Relation, RootField, RootResolvers } from './root-resolvers.ts';
import { SafeInt } from './safe-int.ts';

/** Who asks, and the id under which a failure of ours is recorded. */
export interface GraphqlCaller {
  readonly principal: Principal;
  readonly requestId: string;
  /** Aborts if the client disconnects before the answer. */
  readonly gone: AbortSignal;
  /** Called with the root fields before they are resolved; throws if they are too many at the moment. */
  readonly charge?: (asked: { readonly fields: readonly string[]; readonly isMutation: boolean }) => void;
  /** Runs what builds an answer of that cost, when it has its turn. */
  readonly inTurn?: <T>(cost: number, build: () => Promise<T>) => Promise<T>;
  /** Called with every failure of a field, whatever the answer is. */
  readonly note?: (error: unknown, field: string) => void;
}

/** `refused`: nothing ran. */
export type GraphqlOutcome =
  | { readonly kind: 'ran'; readonly result: ExecutionResult }
  | { readonly kind: 'refused'; readonly errors: readonly GraphQLFormattedError[] };

type Variables = Readonly<Record<string, unknown>>;

/** The most faults reported for a document or its variables; validation stops there. */
const MAX_FAULTS = 20;

/**
 * Runs GraphQL documents over the committed schema and what the features resolve. Everything that a document costs is bounded before anything
 * is fetched: its size and shape, then what it can be answered with; and documents that are kept are bounded in bytes.
 */
@Injectable()
export class GraphqlEngine {
  readonly #logger: Logger;
  readonly #documents = new DocumentCache();
  #schema: GraphQLSchema | undefined;
  #rootFields: ReadonlyMap<GraphQLObjectType, ReadonlyMap<string, RootField<never>>> = new Map();
  #relations: RelationsOfTypes = new Map();

  constructor(@Inject(LOGGER) logger: Logger, @Inject(METRICS) metrics: Metrics) {
    this.#logger = logger;
    metrics.gauge({
      name: 'coxswain_api_graphql_cache_bytes',
      help: 'Memory of the GraphQL documents that are kept parsed, as it is estimated.',
      collect: () => this.#documents.bytes,
    });
  }

  /** Lets the features answer the schema's root fields and relations. */
  start(features: readonly RootResolvers[]): void {
    // Beside the sources, where the generator writes it; the same path from src and from dist.
    const text = readFileSync(resolve(import.meta.dirname, '../../src/graphql/schema.generated.graphql'), 'utf8');
    const schema = buildSchema(text);
    Object.assign(schema.getType('SafeInt') ?? {}, SafeInt);
    this.#rootFields = new Map(
      ([OperationTypeNode.QUERY, OperationTypeNode.MUTATION] as const).flatMap((operation) => {
        const type = schema.getRootType(operation);
        if (type === undefined || type === null) return [];
        const key = operation === OperationTypeNode.QUERY ? 'queries' : 'mutations';
        return [[type, attach(type, Object.assign({}, ...features.map((feature) => feature[key])))] as const];
      }),
    );
    this.#relations = relationsOf(schema, features);
    this.#schema = schema;
  }

  /** Rejects only when something is wrong with us, or the project has asked too often. */
  async run({ query, variables, operationName }: GraphqlRequest, caller: GraphqlCaller): Promise<GraphqlOutcome> {
    const schema = this.#schema;
    if (schema === undefined) throw new Error('the GraphQL engine was not started');
    try {
      const document = this.#documents.get(query) ?? this.#prepare(schema, query);
      const { fields, cost } = this.#requireAffordable(schema, document, { variables: variables ?? {}, operationName });
      const isMutation = getOperationAST(document, operationName)?.operation === OperationTypeNode.MUTATION;
      caller.charge?.({ fields, isMutation });
      const answer = async (): Promise<ExecutionResult> =>
        execute({
          schema,
          document,
          contextValue: { principal: caller.principal, gone: caller.gone } satisfies GraphqlContext,
          variableValues: variables ?? {},
          operationName,
        });
      const result = await (caller.inTurn === undefined ? answer() : caller.inTurn(cost, answer));
      return this.#outcome(result, caller);
    } catch (error) {
      // An answer of its own, with the time to wait.
      if (error instanceof LimitExceeded) throw error;
      if (error instanceof DomainError || error instanceof GraphQLError || error instanceof RangeError) {
        return { kind: 'refused', errors: this.#answered([error], caller) };
      }
      if (error instanceof AggregateError) return { kind: 'refused', errors: this.#answered(error.errors, caller) };
      throw error;
    }
  }

  /** The document that was found valid; throws what is wrong with it. */
  #prepare(schema: GraphQLSchema, text: string): DocumentNode {
    const document = parse(text, { maxTokens: MAX_TOKENS });
    requireModest(document);
    requireComparable(document);
    const faults = validate(schema, document, undefined, { maxErrors: MAX_FAULTS });
    if (faults.length > 0) throw new AggregateError(faults);
    this.#documents.keep(text, document);
    return document;
  }

  #requireAffordable(
    schema: GraphQLSchema,
    document: DocumentNode,
    { variables, operationName }: { readonly variables: Variables; readonly operationName: string | null | undefined },
  ): AffordedQuery {
    const operation = getOperationAST(document, operationName);
    const rootType =
      operation === null || operation === undefined ? undefined : schema.getRootType(operation.operation);
    // Execution says what is wrong with an operation that is not there.
    if (operation === null || operation === undefined || rootType === undefined || rootType === null)
      return { fields: [], cost: 0 };
    const given = getVariableValues(schema, operation.variableDefinitions ?? [], variables, { maxErrors: MAX_FAULTS });
    if (given.errors !== undefined) throw new AggregateError(given.errors);
    const fragments = new Map(
      document.definitions.flatMap((definition) =>
        definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition] as const] : [],
      ),
    );
    const rootFields = this.#rootFields.get(rootType) ?? new Map<string, RootField<never>>();
    return requireAffordable({
      operation,
      fragments,
      variables: given.coerced,
      rootType,
      rootFields,
      relations: this.#relations,
    });
  }

  /** Without data nothing has run: the operation is not there. */
  #outcome(result: ExecutionResult, caller: GraphqlCaller): GraphqlOutcome {
    const { data, errors } = result;
    if (errors === undefined) return { kind: 'ran', result };
    const answered = this.#answered(errors, caller);
    if (data === undefined) return { kind: 'refused', errors: answered };
    return { kind: 'ran', result: { data, errors: answered as never } };
  }

  #answered(errors: readonly unknown[], { requestId, note }: GraphqlCaller): readonly GraphQLFormattedError[] {
    for (const error of errors) if (error instanceof GraphQLError) note?.(error.originalError, fieldOf(error));
    return toGraphqlErrors(errors, (error) => this.#logger.error({ requestId, err: error }, 'GraphQL request failed'));
  }
}

/** The name that the schema has for it: an alias is the asker's. */
function fieldOf({ nodes }: GraphQLError): string {
  const node = nodes?.[0];
  return node?.kind === Kind.FIELD ? node.name.value : '';
}

/** Gives each field of the type its resolver. */
function attach(
  type: GraphQLObjectType,
  fields: Readonly<Record<string, RootField<never>>>,
): ReadonlyMap<string, RootField<never>> {
  const known = type.getFields();
  for (const [name, { resolve: answer }] of Object.entries(fields)) {
    const field = known[name];
    if (field === undefined) throw new Error(`a feature answers ${type.name}.${name}, which the schema does not have`);
    field.resolve = (_root, args, context: GraphqlContext, info) => answer(args as never, context, info);
  }
  return new Map(Object.entries(fields));
}

/** Gives each relation its resolver. */
function relationsOf(schema: GraphQLSchema, features: readonly RootResolvers[]): RelationsOfTypes {
  const found = new Map<GraphQLObjectType, ReadonlyMap<string, Relation<never, never>>>();
  for (const [typeName, relations] of features.flatMap((feature) => Object.entries(feature.relations ?? {}))) {
    const type = schema.getType(typeName);
    if (!isObjectType(type)) throw new Error(`a feature answers for ${typeName}, which the schema does not have`);
    for (const [name, relation] of Object.entries(relations)) {
      const field = type.getFields()[name];
      if (field === undefined) throw new Error(`a feature answers ${typeName}.${name}, which the schema does not have`);
      field.resolve = batched(relation);
    }
    found.set(type, new Map([...(found.get(type) ?? []), ...Object.entries(relations)]));
  }
  return found;
}
