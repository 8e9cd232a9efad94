import { DomainError } from '@coxswain/domain-error';
import { type DocumentNode, type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql';

/*
 * What may a document look like? Looked at before it is validated, because validation itself compares fields with each other. What it costs to
 * answer is another question (`query-cost.ts`).
 */

/** Deepest selection. Ours has 6 levels; the query by which tools read the schema has 15. */
export const MAX_QUERY_DEPTH = 16;
/** Most words and signs of a document. */
export const MAX_TOKENS = 3_000;
/** Most fields, those of a fragment counted each time it is spread. A whole plan has about 1,020, a whole job about 650. */
export const MAX_FIELDS = 1_500;
/** Most fields at the root: each costs at least one question to the database. */
export const MAX_ROOT_FIELDS = 10;
/** Most renamed fields: each can repeat a page of a list, or what is large in each of its items. */
export const MAX_ALIASES = 15;

/** What is selected somewhere, with everything below. */
interface Size {
  readonly fields: number;
  readonly aliases: number;
  readonly rootFields: number;
  readonly depth: number;
}

/** INVALID_REQUEST for a document that is too large. Linear in it: a fragment is measured once, however often it is spread. */
export function requireModest(document: DocumentNode): void {
  const { fields, aliases, rootFields, depth } = sizeOf(document);
  if (depth > MAX_QUERY_DEPTH) throw tooDeep();
  if (rootFields > MAX_ROOT_FIELDS) throw tooMany(rootFields, `fields at its root; at most ${MAX_ROOT_FIELDS}`);
  if (aliases > MAX_ALIASES) throw tooMany(aliases, `aliases; at most ${MAX_ALIASES}`);
  if (fields > MAX_FIELDS) throw tooMany(fields, `fields; at most ${MAX_FIELDS}`);
}

/** Also for a document so deep that its parser ran out of stack. */
export function tooDeep(): DomainError {
  const detail = `the query is nested more than ${MAX_QUERY_DEPTH} levels deep; ask in several requests`;
  return new DomainError('INVALID_REQUEST', detail);
}

function tooMany(count: number, what: string): DomainError {
  const shown = count > 1e6 ? 'over a million' : String(count);
  return new DomainError('INVALID_REQUEST', `the query has ${shown} ${what} are allowed, so ask in several requests`);
}

/** The sum over all operations of the document. */
function sizeOf(document: DocumentNode): Size {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const sizes = new Map<string, Size>();
  let total = NOTHING;
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION)
      total = sum(total, sizeOfSelection(definition.selectionSet, { fragments, sizes }));
  }
  return total;
}

const NOTHING: Size = { fields: 0, aliases: 0, rootFields: 0, depth: 0 };

/** Beside each other. */
function sum(a: Size, b: Size): Size {
  return {
    fields: a.fields + b.fields,
    aliases: a.aliases + b.aliases,
    rootFields: a.rootFields + b.rootFields,
    depth: Math.max(a.depth, b.depth),
  };
}

interface Known {
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly sizes: Map<string, Size>;
}

function sizeOfSelection(set: SelectionSetNode | undefined, known: Known): Size {
  let total = NOTHING;
  for (const selection of set?.selections ?? []) {
    if (selection.kind === Kind.FRAGMENT_SPREAD) {
      total = sum(total, sizeOfFragment(selection.name.value, known));
    } else if (selection.kind === Kind.INLINE_FRAGMENT) {
      const within = sizeOfSelection(selection.selectionSet, known);
      total = sum(total, { ...within, depth: within.depth + 1 });
    } else {
      const below = sizeOfSelection(selection.selectionSet, known);
      total = sum(total, {
        fields: below.fields + 1,
        aliases: below.aliases + (selection.alias === undefined ? 0 : 1),
        rootFields: 1,
        depth: below.depth + 1,
      });
    }
  }
  return total;
}

/** A fragment inside itself counts as nothing here: validation refuses it. */
function sizeOfFragment(name: string, known: Known): Size {
  const measured = known.sizes.get(name);
  if (measured !== undefined) return measured;
  known.sizes.set(name, NOTHING);
  const size = sizeOfSelection(known.fragments.get(name)?.selectionSet, known);
  known.sizes.set(name, size);
  return size;
}
