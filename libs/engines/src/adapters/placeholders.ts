/**
 * Fills placeholders in the arguments of a user’s script: `{layout.tensorParallelDegree}` is a field of the job, spelled as in
 * job.json. `{{` and `}}` are braces. A field with parts becomes JSON. `$(NAME)` is a variable of the rank, which its launcher
 * fills in.
 */
import { type EffectiveSpec, LAUNCHER_RANK_ENV, TORCH_RANK_ENV } from '@coxswain/api-types';
import { nearestWord } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';
import { literally, MAX_COMMAND_BYTES } from '../rendering.ts';
import type { Json } from './check.ts';
import { JOB_FILE, jobFields, type JobFields } from './job-file.ts';

const PLACEHOLDER =
  /\{\{|\}\}|\{([A-Za-z]+(?:\.[A-Za-z0-9]+)+|layout|model|training|data|checkpoint|initialWeights)\}/g;

/** Arguments without placeholders. */
export interface Filled {
  readonly args: readonly string[];
  /** Fields that the arguments mention. */
  readonly mentioned: readonly string[];
}

/** The arguments with their placeholders filled, ready for the launcher; or the refusal of a placeholder. */
export function filled(
  args: readonly string[],
  field: string,
  spec: EffectiveSpec,
): Filled | { readonly refusal: EngineRefusal } {
  const fields = jobFields(spec);
  const names = args.flatMap(namesIn);
  const unknown = names.find((name) => valueAt(fields, name) === undefined);
  if (unknown !== undefined) return { refusal: unknownField(unknown, field, fields) };
  const texts = new Map([...new Set(names)].map((name) => [name, shown(valueAt(fields, name))] as const));
  // Checked before the text is made: many mentions of {model} can ask for megabytes.
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

function valueAt(fields: JobFields, name: string): Json | undefined {
  let at: Json | undefined = fields;
  for (const part of name.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Readonly<Record<string, Json>>)[part];
  }
  return at;
}

function shown(value: Json | undefined): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function unknownField(name: string, field: string, fields: JobFields): EngineRefusal {
  const nearest = nearestWord(namesOf(fields), name);
  return {
    rule: 'placeholder-is-a-word',
    field,
    why: `${field} holds {${name}}, and the job has no such field`,
    fallback: `${nearest === undefined ? 'leave it out' : `use {${nearest}}`}, or write {{${name}}} for the text itself`,
  };
}

function tooLong(field: string, length: number): EngineRefusal {
  return {
    rule: 'rendering-fits-a-pod',
    field,
    why: `the fields that ${field} names come to ${length} characters, and a command can have ${MAX_COMMAND_BYTES} bytes`,
    fallback: `name single fields, such as {layout.tensorParallelDegree}, or read ${JOB_FILE} in COXSWAIN_ENGINE_FILES`,
  };
}

/** Dotted names of all fields. */
function namesOf(fields: Json, before = ''): readonly string[] {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return [];
  return Object.entries(fields).flatMap(([name, inner]) => [
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
