import { DomainError } from '@coxswain/domain-error';
import {
  type FieldNode,
  type FragmentDefinitionNode,
  getArgumentValues,
  getNamedType,
  type GraphQLObjectType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import type { Relation, RootField } from './root-resolvers.ts';

/*
 * What does an operation cost to answer? Counted from its text and its variables, before anything is fetched: each row that a root field can
 * answer with counts for being read, and once more for each field that is asked of it. A relation has rows of its own for each row
 * that it belongs to, and these count alike.
 */

/** Largest cost of one request: the ranks of the largest job with all their fields, or eight loss curves of 10,000 steps with some fields. */
export const MAX_COST = 1_320_000;
/** What a row costs before anything is asked of it. */
export const ROW_COST = 10;
/** About as many types as the schema has: a client reads them all to learn it. */
const SCHEMA_ROWS = 300;

/** An operation that was found valid. */
export interface ValidOperation {
  readonly operation: OperationDefinitionNode;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** With their defaults, as execution sees them. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** The root type and what its fields can answer. */
  readonly rootType: GraphQLObjectType;
  readonly rootFields: ReadonlyMap<string, RootField<never>>;
  readonly relations: RelationsOfTypes;
}

/** Relations by the type that has them, then by name. */
export type RelationsOfTypes = ReadonlyMap<GraphQLObjectType, ReadonlyMap<string, Relation<never, never>>>;

/** The fields at the root, and the cost; INVALID_REQUEST, naming the dearest one, when the answer could be too large. */
export function requireAffordable(asked: ValidOperation): AffordedQuery {
  const nodes = rootFieldsOf(asked.operation.selectionSet, asked.fragments);
  const costs = nodes.map((node) => ({
    name: node.alias === undefined ? node.name.value : `${node.alias.value}: ${node.name.value}`,
    ...costOf(node, asked),
  }));
  const total = costs.reduce((sum, { cost }) => sum + cost, 0);
  if (total <= MAX_COST) return { fields: nodes.map(({ name }) => name.value), cost: total };
  const [dearest] = costs.toSorted((a, b) => b.cost - a.cost);
  const { name, rows, fields, cost } = dearest ?? { name: '', rows: 0, fields: 0, cost: 0 };
  throw new DomainError(
    'INVALID_REQUEST',
    `the query costs ${total}; at most ${MAX_COST} is allowed. ${name} costs ${cost}, as its ${rows} rows count ${ROW_COST} each and ${fields} more for what is asked of each: ask for fewer rows or fields, or in several requests`,
  );
}

/** What an operation asks for. */
export interface AffordedQuery {
  /** At the root, by the names that the schema has for them; each as often as it is asked for. */
  readonly fields: readonly string[];
  readonly cost: number;
}

interface Cost {
  readonly rows: number;
  readonly fields: number;
  readonly cost: number;
}

function costOf(node: FieldNode, asked: ValidOperation): Cost {
  const rows = rowsOf(node, asked);
  const fields = costOfRow(node.selectionSet, typeOf(asked.rootType, node), asked);
  return { rows, fields, cost: rows * (ROW_COST + fields) };
}

function rowsOf(node: FieldNode, { rootType, rootFields, variables }: ValidOperation): number {
  const name = node.name.value;
  if (name === '__schema') return SCHEMA_ROWS;
  const definition = rootType.getFields()[name];
  const rows = rootFields.get(name)?.rows;
  if (definition === undefined || rows === undefined) return 1;
  return Math.max(1, rows(getArgumentValues(definition, node, variables) as never));
}

/** Those of fragments included, each as often as it is asked for. Fields that a condition may leave out count. */
function rootFieldsOf(
  set: SelectionSetNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): readonly FieldNode[] {
  return set.selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection];
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
    return inner === undefined ? [] : rootFieldsOf(inner.selectionSet, fragments);
  });
}

/** What is asked of one row of a type. Bounded by what a document may hold at all (`query-limits.ts`). */
function costOfRow(
  set: SelectionSetNode | undefined,
  type: GraphQLObjectType | undefined,
  asked: ValidOperation,
): number {
  let cost = 0;
  for (const selection of set?.selections ?? []) {
    if (selection.kind === Kind.FIELD) cost += costOfField(selection, type, asked);
    // There are no interfaces or unions: a fragment is about the same type.
    else if (selection.kind === Kind.INLINE_FRAGMENT) cost += costOfRow(selection.selectionSet, type, asked);
    else cost += costOfRow(asked.fragments.get(selection.name.value)?.selectionSet, type, asked);
  }
  return cost;
}

function costOfField(node: FieldNode, type: GraphQLObjectType | undefined, asked: ValidOperation): number {
  const below = costOfRow(node.selectionSet, typeOf(type, node), asked);
  const definition = type?.getFields()[node.name.value];
  const relation = type === undefined ? undefined : asked.relations.get(type)?.get(node.name.value);
  if (definition === undefined || relation === undefined) return 1 + below;
  const rows = relation.rows(getArgumentValues(definition, node, asked.variables) as never);
  return Math.max(1, rows) * (ROW_COST + below);
}

/** What the answer to a field is made of; undefined for values, and for what the schema says of itself. */
function typeOf(parent: GraphQLObjectType | undefined, { name }: FieldNode): GraphQLObjectType | undefined {
  const definition = parent?.getFields()[name.value];
  const type = definition === undefined ? undefined : getNamedType(definition.type);
  return isObjectType(type) ? type : undefined;
}
