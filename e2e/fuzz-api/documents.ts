/** What does a fuzzer ask of GraphQL? Made from the schema alone. */
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import type { Dice } from '../support/random.ts';
import { type Ids, SUSPENDED, type Tenants, type Who } from './tenants.ts';
import { HOSTILE_TEXTS } from './values.ts';

/** A document with its variables, and whom it comes from. */
export interface GraphqlAsk {
  /** `query job`, `mutation createJob`. */
  readonly operation: string;
  readonly body: string;
  readonly who: Who;
}

interface Root {
  readonly kind: 'query' | 'mutation';
  readonly field: GraphQLField<unknown, unknown>;
}

const MAX_DEPTH = 5;

/** Makes documents, one root field after the other. `examples`: bodies of REST by the name of their type. */
export class GraphqlRequests {
  readonly #roots: readonly Root[];
  readonly #dice: Dice;
  readonly #tenants: Tenants;
  readonly #examples: ReadonlyMap<string, unknown>;
  #turn = 0;

  constructor(
    schema: GraphQLSchema,
    parts: { readonly dice: Dice; readonly tenants: Tenants; readonly examples: ReadonlyMap<string, unknown> },
  ) {
    this.#dice = parts.dice;
    this.#tenants = parts.tenants;
    this.#examples = parts.examples;
    this.#roots = (['query', 'mutation'] as const).flatMap((kind) => {
      const type = kind === 'query' ? schema.getQueryType() : schema.getMutationType();
      return Object.values(type?.getFields() ?? {}).map((field) => ({ kind, field }));
    });
  }

  /** The name of every operation there is. */
  get operations(): readonly string[] {
    return this.#roots.map(({ kind, field }) => `${kind} ${field.name}`);
  }

  next(): GraphqlAsk {
    const dice = this.#dice;
    const root = this.#roots[this.#turn++ % this.#roots.length];
    if (root === undefined) throw new Error('the schema has no root');
    if (root.field.name === 'createPlan' && !dice.chance(0.1)) return this.next();
    const isWell = dice.chance(0.55);
    const ids = !isWell && dice.chance(0.4) ? this.#tenants.foreign : this.#tenants.own;
    const who = this.#who(root, isWell);
    const variables: Record<string, unknown> = {};
    const declared: string[] = [];
    const given = root.field.args.flatMap((argument) => {
      const value = this.#argument(argument, { ids, isWell, of: root.field.name });
      if (value === undefined) return [];
      variables[argument.name] = value;
      declared.push(`$${argument.name}: ${String(argument.type)}`);
      return [`${argument.name}: $${argument.name}`];
    });
    const call = `${root.field.name}${given.length === 0 ? '' : `(${given.join(', ')})`}`;
    const selection = this.#selection(getNamedType(root.field.type), 0);
    const query = `${root.kind}${declared.length === 0 ? '' : `(${declared.join(', ')})`} { ${call} ${selection} }`;
    const text = isWell ? query : this.#spoiled(query);
    return { operation: `${root.kind} ${root.field.name}`, body: JSON.stringify({ query: text, variables }), who };
  }

  #who({ field }: Root, isWell: boolean): Who {
    const { members, administrator } = this.#tenants;
    // What administrators of the cluster alone may do, and they see everything.
    if (isWell && /^(?:createProject$|fabric)/.test(field.name)) return administrator;
    return isWell ? (members.find(({ role }) => role === 'admin') ?? administrator) : this.#dice.pick(members);
  }

  #argument(
    argument: GraphQLArgument,
    { ids, isWell, of }: { readonly ids: Ids; readonly isWell: boolean; readonly of: string },
  ): unknown {
    const dice = this.#dice;
    const { name, type } = argument;
    if (!isNonNullType(type) && dice.chance(0.6)) return undefined;
    if (!isWell && dice.chance(0.15)) return dice.pick([...HOSTILE_TEXTS, -1, 1e308, null, [], {}, true]);
    if (name === 'project' || (name === 'name' && of === 'project')) {
      return !isWell && dice.chance(0.5) ? this.#tenants.foreign.project : this.#tenants.own.project;
    }
    if (name === 'snapshotId') return this.#tenants.own.anyOf('/snapshots', dice) ?? 'none';
    if (name === 'id' || name === 'jobId') return ids.anyOf(collectionOf(of, name), dice) ?? 'none';
    if (name === 'pageToken') return undefined;
    if (name === 'idempotencyKey') return `key-${dice.below(1e9)}`;
    if (isInputObjectType(getNamedType(type))) return this.#input(getNamedType(type).name, isWell);
    return this.#scalar(type);
  }

  #input(typeName: string, isWell: boolean): unknown {
    const dice = this.#dice;
    const example = this.#examples.get(typeName) ?? {};
    const named = `n${dice.below(1e9).toString(36)}`;
    const value: Record<string, unknown> = { ...example };
    if ('name' in value) value['name'] = named;
    if ('namespaces' in value) value['namespaces'] = [named];
    if (isWell) return value;
    const key = dice.pick([...Object.keys(value), 'unknown']);
    return { ...value, [key]: dice.pick([...HOSTILE_TEXTS, -1, null, [], {}]) };
  }

  #scalar(type: GraphQLInputType): unknown {
    const dice = this.#dice;
    const inner = isNonNullType(type) ? type.ofType : type;
    if (isListType(inner)) return [];
    if (isEnumType(inner)) return dice.pick(inner.getValues()).name;
    switch (String(inner)) {
      case 'Int':
      case 'SafeInt':
        return 1 + dice.below(20);
      case 'Float':
        return dice.below(100) / 10;
      case 'JSON':
        return { [`n${dice.below(9)}`]: 'word' };
      case 'Boolean':
        return dice.chance(0.5);
      default:
        return `n${dice.below(1e6)}`;
    }
  }

  #selection(type: GraphQLNamedType, depth: number): string {
    if (!isObjectType(type)) return '';
    const dice = this.#dice;
    const fields = Object.values(type.getFields()).filter(
      (field) => !isObjectType(getNamedType(field.type)) || (depth < MAX_DEPTH && dice.chance(0.5)),
    );
    const chosen = fields.filter(() => dice.chance(0.7)).slice(0, 30);
    const parts = chosen.map((field) => `${field.name} ${this.#selection(getNamedType(field.type), depth + 1)}`);
    return `{ __typename ${parts.join(' ')} }`;
  }

  /** Sometimes a document that is none any more. */
  #spoiled(query: string): string {
    const dice = this.#dice;
    if (dice.chance(0.6)) return query;
    const at = dice.below(query.length);
    return dice.pick([
      query.slice(0, at),
      query.slice(0, at) + dice.pick(HOSTILE_TEXTS) + query.slice(at),
      query.replace('{', `{ ${'a: __typename '.repeat(20)}`),
      query.replace('__typename', '...F') + ' fragment F on Query { ...F }',
      '{'.repeat(5_000),
      `${query} ${query}`,
      `{ ${Array.from({ length: 12 }, (_, index) => `a${index}: whoAmI { name }`).join(' ')} }`,
    ]);
  }
}

/** Which things an id of a root field names. */
function collectionOf(field: string, argument: string): string {
  if (field === 'resumeJob') return SUSPENDED;
  if (argument === 'jobId' || /job/i.test(field)) return '/jobs';
  if (/groupRole/i.test(field)) return '/group-roles';
  if (/token/i.test(field)) return '/tokens';
  if (/layout/i.test(field)) return '/layouts';
  if (/webhook/i.test(field)) return '/webhooks';
  if (/^fabric/.test(field)) return '/snapshots';
  return /plan/i.test(field) ? '/plans' : '/jobs';
}
