import type { GraphQLResolveInfo } from 'graphql';
import type { Principal } from '../auth/principal.ts';

/** Made anew for every request. */
export interface GraphqlContext {
  readonly principal: Principal;
  /** Aborts when nobody waits for the answer any more. */
  readonly gone: AbortSignal;
}

/** A field of a root type: how it is answered, and how many rows that can be. */
export interface RootField<Args> {
  readonly resolve: (args: Args, context: GraphqlContext, info: GraphQLResolveInfo) => unknown;
  /** Most rows that an answer to these arguments can have. They have their types, and are not yet held against a rule. Absent: one. */
  readonly rows?: ((args: Args) => number) | undefined;
}

/** Fields of a root type by name. */
export type RootFields = Readonly<Record<string, RootField<never>>>;

/** A field that is read beside the answer that it belongs to. */
export interface Relation<Parent, Args> {
  /** For all parents that ask with the same arguments at once: an answer for each, in their order. */
  readonly resolve: (
    parents: readonly Parent[],
    args: Args,
    context: GraphqlContext,
  ) => Promise<readonly (object | null)[]>;
  /** Most rows that the answer for one parent can have. */
  readonly rows: (args: Args) => number;
}

/** Relations by the name of their type, then by their own. */
export type Relations = Readonly<Record<string, Readonly<Record<string, Relation<never, never>>>>>;

/**
 * What a feature adds to the schema: fields of the root types, and relations of others. Each resolver parses with the schema of the REST body or query and calls one
 * method of the service that REST calls too, which decides who may do what, so the two cannot differ. A field that the schema lacks fails
 * at start.
 */
export interface RootResolvers {
  readonly queries?: RootFields;
  readonly mutations?: RootFields;
  readonly relations?: Relations;
}

/** A field that answers with one thing; the schema has checked the types of its arguments. */
export function one<Args>(resolve: RootField<Args>['resolve']): RootField<Args> {
  return { resolve };
}

/** A field that answers with a list of at most so many rows. */
export function list<Args>(rows: (args: Args) => number, resolve: RootField<Args>['resolve']): RootField<Args> {
  return { resolve, rows };
}

/** In GraphQL null says the same as leaving out; the schemas of REST know only the latter. */
export function present(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(present);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined);
  return Object.fromEntries(entries.map(([key, inner]) => [key, present(inner)]));
}
