import type { GraphQLResolveInfo } from 'graphql';
import type { Principal } from '../auth/principal.ts';

/** Made anew for every request. */
export interface GraphqlContext {
  readonly principal: Principal;
}

/** A field of a root type: how it is answered, and how many rows that can be. */
export interface RootField<Args> {
  readonly resolve: (args: Args, context: GraphqlContext, info: GraphQLResolveInfo) => unknown;
  /** Most rows that an answer to these arguments can have. They have their types, and are not yet held against a rule. Absent: one. */
  readonly rows?: ((args: Args) => number) | undefined;
}

/** Fields of a root type by name. */
export type RootFields = Readonly<Record<string, RootField<never>>>;

/**
 * What a feature adds to the schema: fields of the root types. Each resolver parses with the schema of the REST body or query and calls one
 * method of the service that REST calls too, which decides who may do what, so the two cannot differ. A field that the schema lacks fails
 * at start.
 */
export interface RootResolvers {
  readonly queries?: RootFields;
  readonly mutations?: RootFields;
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
