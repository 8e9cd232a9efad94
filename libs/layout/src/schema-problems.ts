/** What a schema rejects in a document, with the name that was probably meant. */
import { z } from 'zod';
import { describeIssue } from './describe-issue.ts';
import { nearestWord } from './nearest-word.ts';

type Path = readonly PropertyKey[];

/** One rejected field or value. */
export type SchemaProblem = { readonly path: Path } & (
  | {
      readonly kind: 'unknownKey';
      readonly key: string;
      /** Keys that the schema knows beside it. */
      readonly known: readonly string[];
      /** The key beside it that was probably meant. */
      readonly meant: string | undefined;
      /** Where the schema has a field of that name, if not here. */
      readonly elsewhere: Path | undefined;
    }
  | {
      readonly kind: 'notOneOf';
      readonly input: unknown;
      readonly words: readonly string[];
      readonly meant: string | undefined;
    }
  | { readonly kind: 'broken'; readonly issue: z.core.$ZodIssue }
);

/** The most problems that one answer describes: enough to correct a document, too few to fill a screen. */
export const MOST_PROBLEMS = 50;

/**
 * The first problems that `error` reports of a document of that schema. Parse with `reportInput`, so that values can be compared. A document may have as many unknown
 * fields as it has bytes, and each hint searches the schema: so problems beyond {@link MOST_PROBLEMS} are not described.
 */
export function schemaProblems(issues: readonly z.core.$ZodIssue[], schema: z.ZodType): readonly SchemaProblem[] {
  const first: SchemaProblem[] = [];
  for (const problem of problemsOfAll(issues, { schema, within: [], root: schema })) {
    if (first.push(problem) === MOST_PROBLEMS) break;
  }
  return first;
}

/** The problem in a sentence that follows the path of the field. */
export function describeProblem(problem: SchemaProblem): string {
  switch (problem.kind) {
    case 'unknownKey':
      return `unknown field ${shown(problem.key)}; ${hintFor(problem)}`;
    case 'notOneOf': {
      const { input, words, meant } = problem;
      const hint = meant === undefined ? '' : `; did you mean ${shown(meant)}?`;
      return `${input === undefined ? 'the value' : shown(input)} is not one of ${words.join(', ')}${hint}`;
    }
    case 'broken':
      return describeIssue(problem.issue);
  }
}

const MOST_SHOWN_CHARACTERS = 100;

function shown(value: unknown): string {
  return JSON.stringify(typeof value === 'string' ? value.slice(0, MOST_SHOWN_CHARACTERS) : value);
}

function hintFor({ meant, elsewhere }: Extract<SchemaProblem, { kind: 'unknownKey' }>): string {
  if (meant !== undefined) return `did you mean ${shown(meant)}?`;
  if (elsewhere !== undefined) return `did you mean ${elsewhere.map(String).join('.')}?`;
  return 'check its spelling or leave it out';
}

interface Place {
  readonly schema: z.ZodType;
  /** Path of the schema in the document. */
  readonly within: Path;
  readonly root: z.ZodType;
}

function* problemsOfAll(issues: readonly z.core.$ZodIssue[], place: Place): Generator<SchemaProblem, void, void> {
  for (const issue of issues) yield* problemsOf(issue, place);
}

/** Describes each problem when it is read. */
function* problemsOf(issue: z.core.$ZodIssue, { schema, within, root }: Place): Generator<SchemaProblem, void, void> {
  const path = [...within, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, issue.path);
    for (const key of issue.keys) {
      const meant = nearestWord(known, key);
      const elsewhere = meant === undefined ? pathOfField(root, key) : undefined;
      yield { kind: 'unknownKey', path, key, known, meant, elsewhere };
    }
  } else if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // The alternative of the right type is reported: an object with an error inside, rather than text in place of an object.
    const branches: readonly (readonly z.core.$ZodIssue[])[] = issue.errors;
    const inside = branches.find((branch) =>
      branch.some((one) => one.path.length > 0 || one.code === 'unrecognized_keys'),
    );
    const branch = inside ?? branches[0] ?? [];
    const option = optionsAt(schema, issue.path)[branches.indexOf(branch)] ?? schema;
    yield* problemsOfAll(branch, { schema: option, within: path, root });
  } else if (issue.code === 'invalid_value') {
    const words = issue.values.map(String);
    const { input } = issue;
    const meant = typeof input === 'string' ? nearestWord(words, input) : undefined;
    yield { kind: 'notOneOf', path, input, words, meant };
  } else yield { kind: 'broken', path, issue };
}

/** Keys that the schema allows at this path, in any of its alternatives. */
function keysAt(schema: z.ZodType, path: Path): readonly string[] {
  return [
    ...new Set(schemasAt(schema, path).flatMap((at) => (at instanceof z.ZodObject ? Object.keys(at.shape) : []))),
  ];
}

function optionsAt(schema: z.ZodType, path: Path): readonly z.ZodType[] {
  const [at] = path.reduce<readonly z.ZodType[]>(
    (all, step) => all.flatMap((one) => below(one, step)),
    [unwrapped(schema)],
  );
  return at instanceof z.ZodUnion ? (at.options as readonly z.ZodType[]) : [];
}

/** The schemas at this path; several if an alternative above or at it is not decided. */
function schemasAt(schema: z.ZodType, path: Path): readonly z.ZodType[] {
  return path.reduce<readonly z.ZodType[]>((all, step) => all.flatMap((one) => below(one, step)), alternatives(schema));
}

function below(schema: z.ZodType, step: PropertyKey): readonly z.ZodType[] {
  if (schema instanceof z.ZodObject) {
    const field = (schema.shape as Record<PropertyKey, z.ZodType | undefined>)[step];
    return field === undefined ? [] : alternatives(field);
  }
  if (schema instanceof z.ZodArray) return alternatives(schema.element as z.ZodType);
  return schema instanceof z.ZodRecord ? alternatives(schema.valueType as z.ZodType) : [];
}

function alternatives(schema: z.ZodType): readonly z.ZodType[] {
  const inner = unwrapped(schema);
  return inner instanceof z.ZodUnion
    ? [inner, ...(inner.options as readonly z.ZodType[]).flatMap(alternatives)]
    : [inner];
}

function unwrapped(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodPipe) {
    const { in: before, out: after } = schema;
    return unwrapped((before instanceof z.ZodTransform ? after : before) as z.ZodType);
  }
  const isWrapper =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodReadonly;
  return isWrapper ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}

/** Objects below this depth are not searched: a schema may contain itself. */
const MAX_DEPTH = 5;

/** Path of the first field of that exact name, from the outside in; undefined: the schema has none. */
function pathOfField(root: z.ZodType, name: string): Path | undefined {
  let level: readonly (readonly [Path, z.ZodType])[] = alternatives(root).map((schema) => [[], schema]);
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const found = level.find(([, schema]) => schema instanceof z.ZodObject && Object.hasOwn(schema.shape, name));
    if (found !== undefined) return [...found[0], name];
    level = level.flatMap(([path, schema]) =>
      schema instanceof z.ZodObject
        ? Object.keys(schema.shape).flatMap((key) => below(schema, key).map((one) => [[...path, key], one] as const))
        : [],
    );
  }
  return undefined;
}
