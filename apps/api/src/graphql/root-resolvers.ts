import type { Principal } from '../auth/principal.ts';
import type { ItemBudget } from './query-limits.ts';

/** Made anew for every request. */
export interface GraphqlContext {
  readonly principal: Principal;
  readonly budget: ItemBudget;
}

type Resolver<Args> = (root: unknown, args: Args, context: GraphqlContext) => unknown;

/** Resolvers of a root type by field. */
export type FieldResolvers = Readonly<Record<string, Resolver<never>>>;

/**
 * What a feature adds to the schema: fields of the root types. Each resolver parses with the schema of the REST body or query and calls one
 * method of the service that REST calls too, which decides who may do what, so the two cannot differ. A field that the schema lacks fails
 * at start.
 */
export interface RootResolvers {
  readonly queries?: FieldResolvers;
  readonly mutations?: FieldResolvers;
}

/** A resolver whose arguments have a type; the schema has checked them. */
export const resolver = <Args>(resolve: Resolver<Args>): Resolver<Args> => resolve;

/** In GraphQL null says the same as leaving out; the schemas of REST know only the latter. */
export function present(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(present);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined);
  return Object.fromEntries(entries.map(([key, inner]) => [key, present(inner)]));
}
