import { narrower } from './narrower.ts';
import { referredName, resolve, typesOf, valuesOf, variantsOf, type NamedSchemas, type Schema } from './schema.ts';

/**
 * Who depends on a schema: users write values of it, or read them. A value that was taken must still be taken; a field that was there to read must
 * still be there. New words of an enumeration break no reader: clients must take words that they do not know.
 */
export type Direction = 'written' | 'read';

/** Two documents. References of each lead into its own named schemas. */
export interface ComparedDocuments {
  readonly before: NamedSchemas;
  readonly after: NamedSchemas;
}

/** Compares schemas of two documents. Each named schema is compared once for each direction, however often it is used. */
export class SchemaComparison {
  readonly #named: ComparedDocuments;
  readonly #compared = new Map<string, readonly string[]>();

  constructor(named: ComparedDocuments) {
    this.#named = named;
  }

  /** A sentence for each difference that breaks users; `path` names the schema. */
  changes(
    before: Schema,
    after: Schema,
    where: { readonly path: string; readonly direction: Direction },
  ): readonly string[] {
    const names = [referredName(before), referredName(after)];
    const [name] = names;
    if (name === undefined || names[1] === undefined) return this.#changes(before, after, where);
    const key = [where.direction, ...names].join(' ');
    const known = this.#compared.get(key);
    if (known !== undefined) return known;
    this.#compared.set(key, []); // A schema may lead to itself.
    const found = this.#changes(before, after, { ...where, path: `${name} (${where.direction})` });
    this.#compared.set(key, found);
    return found;
  }

  #changes(
    before: Schema,
    after: Schema,
    where: { readonly path: string; readonly direction: Direction },
  ): readonly string[] {
    const old = variantsOf(resolve(before, this.#named.before), this.#named.before);
    const now = variantsOf(resolve(after, this.#named.after), this.#named.after);
    const compare = (one: Schema, other: Schema): readonly string[] => this.#plainChanges(one, other, where);
    if (old.length === 1 && now.length === 1) return compare(old[0] ?? {}, now[0] ?? {});
    // What was written must fit one of today. What is read today must fit one of then, unless it is of a new kind.
    return where.direction === 'written'
      ? old.flatMap((one) => fewest(alike(now, one).map((other) => compare(one, other))))
      : now.flatMap((other) =>
          isNewKind(old, other) ? [] : fewest(alike(old, other).map((one) => compare(one, other))),
        );
  }

  /** Without unions. */
  #plainChanges(
    before: Schema,
    after: Schema,
    { path, direction }: { readonly path: string; readonly direction: Direction },
  ): readonly string[] {
    const own = direction === 'written' ? narrower(before, after) : wider(before, after);
    const { items, additionalProperties } = before;
    return [
      ...own.map((what) => `${path}: ${what}`),
      ...this.#fieldChanges(before, after, { path, direction }),
      ...(items === undefined || after.items === undefined
        ? []
        : this.changes(items, after.items, { path: `${path}[]`, direction })),
      ...(typeof additionalProperties !== 'object' || typeof after.additionalProperties !== 'object'
        ? []
        : this.changes(additionalProperties, after.additionalProperties, { path: `${path}{}`, direction })),
    ];
  }

  #fieldChanges(
    before: Schema,
    after: Schema,
    { path, direction }: { readonly path: string; readonly direction: Direction },
  ): readonly string[] {
    const [old, now] = [before.properties ?? {}, after.properties ?? {}];
    const [needed, neededNow] = [before.required ?? [], after.required ?? []];
    const kept = Object.entries(old).flatMap(([name, field]) => {
      const its = now[name];
      const at = `${path}.${name}`;
      return its === undefined ? [`${at}: is gone`] : this.changes(field, its, { path: at, direction });
    });
    const more = neededNow.filter((name) => !needed.includes(name)).map((name) => `${path}.${name}: is required now`);
    const fewer = needed
      .filter((name) => name in now && !neededNow.includes(name))
      .map((name) => `${path}.${name}: was always there, and is no longer`);
    return [...kept, ...(direction === 'written' ? more : fewer)];
  }
}

/** What a reader may now find that it never found. */
function wider(before: Schema, after: Schema): readonly string[] {
  const [old, now] = [typesOf(before), typesOf(after)];
  if (old === undefined) return [];
  if (now === undefined) return [`was ${old.join(' or ')}, and may now be of any type`];
  const gained = now.filter((type) => !old.includes(type) && !(type === 'integer' && old.includes('number')));
  return gained.length === 0 ? [] : [`was ${old.join(' or ')}, and is now ${now.join(' or ')}`];
}

/** Those of the same kind; all where none is. */
function alike(candidates: readonly Schema[], schema: Schema): readonly Schema[] {
  const same = candidates.filter((candidate) => !haveOtherWords(candidate, schema));
  return same.length === 0 ? candidates : same;
}

function isNewKind(known: readonly Schema[], schema: Schema): boolean {
  return known.every((one) => haveOtherWords(one, schema));
}

/** Whether a field tells values of the two apart, such as `kind: a` and `kind: b`. */
function haveOtherWords(one: Schema, other: Schema): boolean {
  return Object.entries(one.properties ?? {}).some(([name, field]) => {
    const [words, others] = [valuesOf(field), valuesOf(other.properties?.[name] ?? {})];
    return words !== undefined && others !== undefined && !words.some((word) => others.includes(word));
  });
}

function fewest(candidates: readonly (readonly string[])[]): readonly string[] {
  return candidates.reduce((best, one) => (one.length < best.length ? one : best));
}
