import type { GraphqlContext, Relation } from './root-resolvers.ts';

/** Parents that ask the same in the same turn of one request. */
interface Batch {
  readonly parents: unknown[];
  readonly answers: Promise<readonly unknown[]>;
}

/**
 * The resolver of a relation for one parent, which asks for all of them at once: the items of a list are resolved in one turn, and what they
 * ask is answered after it. So a page of 500 jobs with their checkpoints is as many questions to the database as a page of one.
 */
export function batched(
  relation: Relation<never, never>,
): (parent: unknown, args: unknown, context: GraphqlContext) => Promise<unknown> {
  const openBatches = new WeakMap<GraphqlContext, Map<string, Batch>>();
  return async (parent, args, context) => {
    const open = openBatches.get(context) ?? new Map<string, Batch>();
    openBatches.set(context, open);
    const key = JSON.stringify(args);
    let batch = open.get(key);
    if (batch === undefined) {
      const parents: unknown[] = [];
      const answers = Promise.resolve().then(() => {
        open.delete(key);
        return relation.resolve(parents as never, args as never, context);
      });
      batch = { parents, answers };
      open.set(key, batch);
    }
    const index = batch.parents.push(parent) - 1;
    return (await batch.answers)[index];
  };
}
