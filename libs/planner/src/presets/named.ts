import { DomainError } from '@coxswain/domain-error';

/** An entry of a list that users select by name. */
export interface Named {
  readonly name: string;
  /** Other names of the entry. */
  readonly aliases: readonly string[];
}

/**
 * The entry with this name. Case, spaces, dashes and dots are ignored (`H100 SXM5 80GB` is `h100-sxm5-80gb`).
 * Throws INVALID_REQUEST with the nearest names; `what` is the noun for an entry, `field` the JSON pointer of the error.
 */
export function namedOf<T extends Named>(entries: readonly T[], name: string, what: string, field = ''): T {
  const wanted = essence(name);
  const found = entries.find((entry) => spellings(entry).includes(wanted));
  if (found !== undefined) return found;
  const detail = `${what} "${name}" is not known; nearest: ${nearestNames(entries, name).join(', ')}`;
  throw new DomainError('INVALID_REQUEST', `${detail}.`, [{ pointer: field, detail }]);
}

/** Names of the entries whose spelling is closest to `name`, best first. */
export function nearestNames(entries: readonly Named[], name: string, count = 4): readonly string[] {
  const wanted = essence(name);
  const ranked = entries.map((entry) => ({
    name: entry.name,
    distance: Math.min(...spellings(entry).map((spelling) => spellingDistance(wanted, spelling))),
  }));
  return ranked
    .sort((a, b) => a.distance - b.distance)
    .slice(0, count)
    .map((entry) => entry.name);
}

function spellings({ name, aliases }: Named): readonly string[] {
  return [name, ...aliases].map(essence);
}

function essence(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Edit distance in parts of the longer spelling; one spelling that starts with the other counts as close. */
function spellingDistance(a: string, b: string): number {
  if (a === '' || b === '') return 1;
  const longer = Math.max(a.length, b.length);
  const prefix = a.startsWith(b) || b.startsWith(a) ? 0.5 : 1;
  return (prefix * editDistance(a, b)) / longer;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...a].entries()) {
    const current = [row + 1];
    for (const [column, other] of [...b].entries()) {
      const replaced = (previous[column] ?? 0) + (letter === other ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous.at(-1) ?? 0;
}
