/** Reads an answer of the API, also of a newer release than this one. */
import type { z } from 'zod';

/** The answer, or the place at which this release does not understand it. */
type ReadAnswer<T> = { readonly isRead: true; readonly answer: T } | { readonly isRead: false; readonly at: string };

/** What a name means; the name itself if this release does not know it. */
export function meaningOf(meanings: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(meanings, name) ? (meanings[name] ?? name) : name;
}

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** A name that a list of this release lacks, and one that the list has. */
interface UnknownName {
  readonly path: Path;
  readonly known: unknown;
}

/**
 * Parses an answer. Names only grow: a newer server may use a name that the lists of this release lack, such as a crash class or a limit. Such a name stays as
 * it is. Everything else is checked. So callers cannot rely on a list for every name that they get.
 */
export function readAnswer<S extends z.ZodType>(schema: S, answer: unknown): ReadAnswer<z.output<S>> {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return { isRead: true, answer: parsed.data };
  const issues = parsed.error.issues.filter((issue) => !isOfSpec(issue));
  // A spec that was made in the cluster is what the cluster let pass; one that we would have refused must not hide all others of its list.
  if (issues.length === 0) return { isRead: true, answer: answer as z.output<S> };
  const wrong = issues.find((issue) => unknownNameOf(issue, answer) === undefined);
  if (wrong !== undefined) return { isRead: false, at: wrong.path.join('.') };
  const unknown = issues.flatMap((issue) => unknownNameOf(issue, answer) ?? []);
  return readWithout(schema, answer, unknown);
}

/** Reads the answer with known names in the place of unknown ones, so that defaults of other fields are set, and puts the unknown ones back. */
function readWithout<S extends z.ZodType>(
  schema: S,
  answer: unknown,
  unknown: readonly UnknownName[],
): ReadAnswer<z.output<S>> {
  const understood = structuredClone(answer);
  for (const { path, known } of unknown) put(understood, path, known);
  const parsed = schema.safeParse(understood);
  const rest = parsed.error?.issues.find((issue) => !isOfSpec(issue));
  if (rest !== undefined) return { isRead: false, at: rest.path.join('.') };
  const read = parsed.data ?? understood;
  for (const { path } of unknown) put(read, path, valueAt(answer, path));
  return { isRead: true, answer: read as z.output<S> };
}

function isOfSpec({ path }: Issue): boolean {
  return path.includes('spec');
}

function unknownNameOf(issue: Issue, answer: unknown): UnknownName | undefined {
  const known = knownNameOf(issue);
  if (known === undefined || typeof valueAt(answer, issue.path) !== 'string') return undefined;
  return { path: issue.path, known };
}

/** A name of the list that lacks the value; of several lists, one of the first. undefined: the value is wrong in another way. */
function knownNameOf(issue: Issue): unknown {
  if (issue.code === 'invalid_value') return issue.values[0];
  if (issue.code !== 'invalid_union') return undefined;
  const isList = (branch: readonly Issue[]): boolean =>
    branch.every(({ code, path }) => code === 'invalid_value' && path.length === 0);
  const [first] = issue.errors[0] ?? [];
  return issue.errors.every(isList) && first?.code === 'invalid_value' ? first.values[0] : undefined;
}

type Fields = Record<PropertyKey, unknown>;

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? (inner as Fields)[key] : undefined),
    value,
  );
}

function put(value: unknown, path: Path, to: unknown): void {
  const place = valueAt(value, path.slice(0, -1));
  const key = path.at(-1);
  if (key !== undefined && typeof place === 'object' && place !== null) (place as Fields)[key] = to;
}
