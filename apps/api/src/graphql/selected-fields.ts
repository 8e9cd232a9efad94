import { type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';

/** Whether a field of the items of a list is asked for. One that a condition leaves out counts as asked for. */
export function isItemFieldAsked(
  { fieldNodes, fragments }: Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>,
  field: string,
): boolean {
  const below = (sets: readonly SelectionSetNode[], name: string): readonly SelectionSetNode[] | undefined => {
    const found = sets.flatMap((set) => fieldsOf(set)).filter((node) => node.name.value === name);
    return found.length === 0 ? undefined : found.flatMap(({ selectionSet }) => selectionSet ?? []);
  };
  const fieldsOf = (set: SelectionSetNode): readonly (typeof fieldNodes)[number][] =>
    set.selections.flatMap((selection) => {
      if (selection.kind === Kind.FIELD) return [selection];
      const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments[selection.name.value];
      return inner === undefined ? [] : fieldsOf(inner.selectionSet);
    });
  const roots = fieldNodes.flatMap(({ selectionSet }) => selectionSet ?? []);
  return below(below(roots, 'items') ?? [], field) !== undefined;
}
