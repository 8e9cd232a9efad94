/**
 * Arguments of a script of the user's may hold `{layout.tensorParallelDegree}`: a word of the job, as job.json spells it. `{{` and `}}` are braces; a
 * part with words below it is JSON. `$(NAME)` is a variable of the rank, which its launcher puts there.
 */
import { type EffectiveSpec, LAUNCHER_RANK_ENV, TORCH_RANK_ENV } from '@coxswain/api-types';
import { nearestWord } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';
import { literally, MAX_COMMAND_BYTES } from '../rendering.ts';
import type { Json } from './check.ts';
import { JOB_FILE, jobWords, type JobWords } from './job-file.ts';

const PLACEHOLDER =
  /\{\{|\}\}|\{([A-Za-z]+(?:\.[A-Za-z0-9]+)+|layout|model|training|data|checkpoint|initialWeights)\}/g;

export interface Filled {
  readonly args: readonly string[];
  /** Words that stand in them. */
  readonly mentioned: readonly string[];
}

/** The arguments with words in place of their names, ready for the launcher; or why they cannot be. */
export function filled(
  args: readonly string[],
  field: string,
  spec: EffectiveSpec,
): Filled | { readonly refusal: EngineRefusal } {
  const words = jobWords(spec);
  const names = args.flatMap(namesIn);
  const unknown = names.find((name) => wordAt(words, name) === undefined);
  if (unknown !== undefined) return { refusal: unknownWord(unknown, field, words) };
  const texts = new Map([...new Set(names)].map((name) => [name, shown(wordAt(words, name))] as const));
  // Before it is made: whoever writes {model} often enough asks for as many megabytes as they like.
  const length = names.reduce((sum, name) => sum + (texts.get(name)?.length ?? 0), 0);
  if (length > MAX_COMMAND_BYTES) return { refusal: tooLong(field, length) };
  const text = (argument: string): string =>
    literally(
      argument.replaceAll(PLACEHOLDER, (whole, name: string | undefined) =>
        name === undefined ? whole.slice(1) : (texts.get(name) ?? ''),
      ),
    );
  return { args: args.map((argument) => withVariables(text(argument))), mentioned: names };
}

function namesIn(argument: string): readonly string[] {
  return [...argument.matchAll(PLACEHOLDER)].flatMap(([, name]) => name ?? []);
}

function wordAt(words: JobWords, name: string): Json | undefined {
  let at: Json | undefined = words;
  for (const part of name.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Readonly<Record<string, Json>>)[part];
  }
  return at;
}

function shown(value: Json | undefined): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function unknownWord(name: string, field: string, words: JobWords): EngineRefusal {
  const nearest = nearestWord(namesOf(words), name);
  return {
    rule: 'placeholder-is-a-word',
    field,
    why: `${field} holds {${name}}, and the job says no such word`,
    fallback: `${nearest === undefined ? 'leave it out' : `use {${nearest}}`}, or write {{${name}}} for the text itself`,
  };
}

function tooLong(field: string, length: number): EngineRefusal {
  return {
    rule: 'rendering-fits-a-pod',
    field,
    why: `the words that ${field} names come to ${length} characters, and a command may have ${MAX_COMMAND_BYTES} bytes`,
    fallback: `name single words, such as {layout.tensorParallelDegree}, or read ${JOB_FILE} in COXSWAIN_ENGINE_FILES`,
  };
}

/** Of every word, with dots. */
function namesOf(words: Json, before = ''): readonly string[] {
  if (typeof words !== 'object' || words === null || Array.isArray(words)) return [];
  return Object.entries(words).flatMap(([name, inner]) => [
    `${before}${name}`,
    ...namesOf(inner as Json, `${before}${name}.`),
  ]);
}

const VARIABLES = [...Object.keys(LAUNCHER_RANK_ENV), ...Object.keys(TORCH_RANK_ENV)];

/** Variables of the rank stay what the launcher replaces; every other dollar sign is one. */
function withVariables(text: string): string {
  return text.replaceAll(/\$\$\(([A-Z_0-9]+)\)/g, (whole, name: string) =>
    VARIABLES.includes(name) ? `$(${name})` : whole,
  );
}
