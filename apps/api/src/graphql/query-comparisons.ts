import { DomainError } from '@coxswain/domain-error';
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';

/*
 * How often does validation compare fields of a document with each other? The rule "overlapping fields can be merged" compares every two fields of
 * a selection set that have the same response name, and the fields of every two fragments that are spread there. So a document of 7 kB can cost
 * half a million comparisons. It also compares the arguments of both fields. All of it is counted here by one pass over the document, before validation runs.
 */

/** Most comparisons of a document. They take about a millisecond. */
export const MAX_COMPARISONS = 10_000;
/** Most selections that are counted, those of a fragment each time it is spread. A document with the most fields has about a thousand. */
export const MAX_VISITS = 10_000;
/** Most fragments: validation follows each of them from each operation and from each selection set. */
export const MAX_FRAGMENTS = 50;
/** Most operations: one of them runs. */
export const MAX_OPERATIONS = 10;

/** What counting a document took, and what it found. */
export interface ComparisonCount {
  /** Selections that were counted: the work of counting. */
  readonly visits: number;
  readonly comparisons: number;
}

/** INVALID_REQUEST for a document whose validation would compare too much. */
export function requireComparable(document: DocumentNode): void {
  const kinds = document.definitions.map(({ kind }) => kind);
  requireFew(kinds.filter((kind) => kind === Kind.OPERATION_DEFINITION).length, 'operations', MAX_OPERATIONS);
  requireFew(kinds.filter((kind) => kind === Kind.FRAGMENT_DEFINITION).length, 'fragments', MAX_FRAGMENTS);
  const { comparisons } = countComparisons(document);
  if (comparisons <= MAX_COMPARISONS) return;
  throw new DomainError(
    'INVALID_REQUEST',
    `the query repeats fields so often that checking it takes ${comparisons} comparisons; at most ${MAX_COMPARISONS} are allowed. Ask for each field once in a selection set, also across fragments, or ask in several requests`,
  );
}

function requireFew(count: number, what: string, most: number): void {
  if (count <= most) return;
  const detail = `the query has ${count} ${what}; at most ${most} are allowed, so ask in several requests`;
  throw new DomainError('INVALID_REQUEST', detail);
}

/**
 * An upper bound of the comparisons of fields. Each operation and each fragment counts by itself, because validation checks a fragment also where
 * nothing spreads it. Throws INVALID_REQUEST above {@link MAX_VISITS}.
 */
export function countComparisons(document: DocumentNode): ComparisonCount {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  const counter = new ComparisonCounter(fragments);
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION)
      counter.add([{ set: definition.selectionSet, within: undefined }]);
    if (definition.kind === Kind.FRAGMENT_DEFINITION)
      counter.add([{ set: definition.selectionSet, within: { name: definition.name.value, outer: undefined } }]);
  }
  return counter;
}

/** The fragments that a selection set lies in, innermost first. */
interface Enclosing {
  readonly name: string;
  readonly outer: Enclosing | undefined;
}

interface Selected {
  readonly set: SelectionSetNode;
  readonly within: Enclosing | undefined;
}

/** Fields of one response name in selection sets that are merged into one. */
interface Group {
  fields: number;
  /** Values in the arguments of these fields. */
  values: number;
  readonly below: Selected[];
}

/** Selection sets that are merged into one, as validation and execution merge them. */
interface MergedSet {
  readonly groups: Map<string, Group>;
  fields: number;
  spreads: number;
}

class ComparisonCounter implements ComparisonCount {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #values = new Map<FieldNode, number>();
  visits = 0;
  comparisons = 0;

  constructor(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
    this.#fragments = fragments;
  }

  add(selected: readonly Selected[]): void {
    const merged: MergedSet = { groups: new Map(), fields: 0, spreads: 0 };
    for (const one of selected) this.#collect(one, merged);
    // The fields of every spread are looked up among those of every other one, and among those of the set itself.
    this.comparisons += merged.fields * merged.spreads;
    for (const { fields, values, below } of merged.groups.values()) {
      // Each field's arguments are compared with those of every other one.
      this.comparisons += (fields * (fields - 1)) / 2 + (fields - 1) * values;
      if (below.length > 0) this.add(below);
    }
  }

  #collect({ set, within }: Selected, into: MergedSet): void {
    for (const selection of set.selections) {
      this.#visit();
      if (selection.kind === Kind.INLINE_FRAGMENT) {
        this.#collect({ set: selection.selectionSet, within }, into);
      } else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        into.spreads += 1;
        this.#spread(selection.name.value, within, into);
      } else {
        into.fields += 1;
        const name = selection.alias?.value ?? selection.name.value;
        const group = into.groups.get(name) ?? { fields: 0, values: 0, below: [] };
        into.groups.set(name, group);
        group.fields += 1;
        group.values += this.#valuesOf(selection);
        if (selection.selectionSet !== undefined) group.below.push({ set: selection.selectionSet, within });
      }
    }
  }

  /** Counted once for each field, however often its fragment is spread. */
  #valuesOf(field: FieldNode): number {
    const known = this.#values.get(field);
    if (known !== undefined) return known;
    const values = (field.arguments ?? []).reduce((sum, { value }) => sum + valuesIn(value), 0);
    this.#values.set(field, values);
    return values;
  }

  /** A fragment inside itself, or one that is missing, counts as nothing: validation rejects it. */
  #spread(name: string, within: Enclosing | undefined, into: MergedSet): void {
    const fragment = this.#fragments.get(name);
    if (fragment === undefined) return;
    for (let outer = within; outer !== undefined; outer = outer.outer) if (outer.name === name) return;
    this.#collect({ set: fragment.selectionSet, within: { name, outer: within } }, into);
  }

  #visit(): void {
    this.visits += 1;
    if (this.visits <= MAX_VISITS) return;
    const detail = `the query has more than ${MAX_VISITS} selections, those of a fragment counted each time it is spread; ask in several requests`;
    throw new DomainError('INVALID_REQUEST', detail);
  }
}

/** Of a document whose tokens are bounded, so its values are not deep. */
function valuesIn(value: ValueNode): number {
  if (value.kind === Kind.LIST) return value.values.reduce((sum, one) => sum + valuesIn(one), 1);
  if (value.kind === Kind.OBJECT) return value.fields.reduce((sum, field) => sum + valuesIn(field.value), 1);
  return 1;
}
