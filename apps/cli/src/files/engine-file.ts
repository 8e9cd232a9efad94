/** The engine's own configuration file as options of a job: JSON, YAML or TOML. */
import { EngineOption } from '@coxswain/layout';
import { readFileSync } from 'node:fs';
import { CliError } from '../cli-error.ts';
import { fileError } from './file-error.ts';
import { readDocument } from './read-document.ts';
import { tomlDocument } from './toml-document.ts';

/** The options of a file, in its order, with their sections joined by dots. `auto` leaves a value to the engine and is no option. */
export function readEngineFile(path: string): readonly EngineOption[] {
  const document = path.endsWith('.toml') ? tomlDocument(textOf(path), path) : readDocument(path);
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new CliError(`${path} holds no options; expected names and values, such as a DeepSpeed configuration.`);
  const options = leavesOf(document);
  const wrong = options.find((option) => !EngineOption.safeParse(option).success);
  if (wrong !== undefined)
    throw new CliError(
      `${path} has ${wrong.name}, which cannot be an option of an engine: names have letters, digits, dots, hyphens and underscores, and values at most 4096 characters. Remove it from the file.`,
    );
  return options;
}

/** The engine with the options of the file. Throws a {@link CliError} that lists all options that it states otherwise. */
export function withEngineFile<E extends { readonly options?: readonly EngineOption[] | undefined }>(
  engine: E,
  path: string | undefined,
): E & { readonly options?: EngineOption[] } {
  const { options: own = [], ...rest } = engine;
  if (path === undefined) return { ...(engine as E & { readonly options?: EngineOption[] }) };
  const read = readEngineFile(path);
  const stated = new Map(own.map(({ name, value }) => [name, value]));
  const twice = read.filter(({ name, value }) => stated.has(name) && stated.get(name) !== value);
  if (twice.length > 0) {
    const lines = twice.map(
      ({ name, value }) => `  ${name}: ${stated.get(name) ?? ''} in the job, ${value} in ${path}`,
    );
    throw new CliError(`engine.options and ${path} disagree; remove one of each pair:\n${lines.join('\n')}`);
  }
  const added = read.filter(({ name }) => !stated.has(name));
  return { ...(rest as E), options: [...own, ...added] };
}

function leavesOf(value: object, before = ''): readonly EngineOption[] {
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]): readonly EngineOption[] => {
    const name = `${before}${key}`;
    if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) return leavesOf(inner, `${name}.`);
    if (inner === 'auto' || inner === undefined) return [];
    return [{ name, value: typeof inner === 'string' ? inner : JSON.stringify(inner) }];
  });
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw fileError('read', path, error);
  }
}
