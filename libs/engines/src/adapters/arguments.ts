/** Checks the arguments of a user against the options of an engine and against the fields of the job. */
import { nearestWord } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';

/** The options of one release, each with its {@link OptionKind}. */
export interface OptionSchema {
  readonly release: string;
  readonly options: Readonly<Record<string, string>>;
}

/** What decides whether an argument of the user can stay. */
export interface ArgumentRules {
  readonly engine: string;
  readonly schema: OptionSchema;
  /** The field of the job that sets the option; undefined if the user may set it. */
  readonly ownerOf: (option: string) => string | undefined;
  /** An option that the schema lacks belongs to the user’s own script. */
  readonly takesUnknown: boolean;
  /** argparse's default: the beginning of one option's name is that option. */
  readonly takesBeginnings?: boolean;
}

/** The refusal of the first argument that cannot stay; undefined if all can. */
export function argumentRefusal(args: readonly string[], rules: ArgumentRules): EngineRefusal | undefined {
  let at = 0;
  while (at < args.length) {
    const found = read(args, at, rules);
    if ('refusal' in found) return found.refusal;
    at = found.next;
  }
  return undefined;
}

type Found = { readonly next: number } | { readonly refusal: EngineRefusal };

function read(args: readonly string[], at: number, rules: ArgumentRules): Found {
  const argument = args[at] ?? '';
  if (!argument.startsWith('--')) {
    const why = `engine.args holds "${argument}", which belongs to no option`;
    return { refusal: refusal('argument-is-an-option', why, 'write options as --name value, or --name=value') };
  }
  const written = argument.slice(2).split('=', 1)[0] ?? '';
  const option = optionOf(written, rules.schema);
  const owner = rules.ownerOf(option ?? normal(written));
  if (owner !== undefined) {
    const why = `engine.args holds --${written}, which ${owner} sets`;
    return { refusal: refusal('argument-is-said-by-the-job', why, insteadOf(owner)) };
  }
  if (option === undefined && rules.takesBeginnings === true) {
    const refused = begunRefusal(written, Object.keys(rules.schema.options), rules.ownerOf);
    if (refused !== undefined) return { refusal: refused };
  }
  if (option === undefined && !rules.takesUnknown) return { refusal: unknown(written, rules) };
  const isWhole = argument.includes('=');
  return { next: isWhole ? at + 1 : afterValues(args, at + 1, option && rules.schema.options[option]) };
}

/**
 * Refuses a prefix that argparse completes to an option that the job sets. argparse does so if only one option has the prefix
 * and the script declares no option of that name.
 */
export function begunRefusal(
  written: string,
  options: readonly string[],
  ownerOf: ArgumentRules['ownerOf'],
): EngineRefusal | undefined {
  const begun = options.filter((option) => option.startsWith(normal(written)) && option !== normal(written));
  const [option = '', second] = begun;
  const owner = second === undefined ? ownerOf(option) : undefined;
  if (owner === undefined) return undefined;
  const why = `engine.args holds --${written}, which argparse reads as --${option}, and ${owner} sets that option`;
  return refusal(
    'argument-is-whole',
    why,
    `${insteadOf(owner)}; an option of the script's own by that name goes into engine.command`,
  );
}

/**
 * Refuses an option in the command that the job sets. It would precede the rendered arguments, and take effect wherever these
 * leave it out.
 */
export function commandRefusal(
  command: readonly string[],
  ownerOf: ArgumentRules['ownerOf'],
): EngineRefusal | undefined {
  for (const word of command.slice(1)) {
    const [written = ''] = word.split('=', 1);
    const owner = written.startsWith('--') ? ownerOf(normal(written.slice(2))) : undefined;
    if (owner === undefined) continue;
    return {
      rule: 'argument-is-said-by-the-job',
      field: 'engine.command',
      why: `engine.command holds ${written}, which ${owner} sets`,
      fallback: insteadOf(owner),
    };
  }
  return undefined;
}

/** An owner that is no field of the job is nothing to set. */
export function insteadOf(owner: string): string {
  return /^[a-zA-Z.]+$/.test(owner) ? `leave it out, and set ${owner}` : 'leave it out';
}

/** Parts of a name can be joined by hyphens or underscores. */
function normal(written: string): string {
  return written.replaceAll('-', '_');
}

function optionOf(written: string, { options }: OptionSchema): string | undefined {
  const name = normal(written);
  if (Object.hasOwn(options, name)) return name;
  const positive = name.replace(/(^|\.)no_([^.]+)$/, '$1$2');
  return options[positive] === 'flag' ? positive : undefined;
}

function afterValues(args: readonly string[], from: number, kind: string | undefined): number {
  if (kind === 'flag') return from;
  if (kind === 'value') return from + 1;
  const next = args.findIndex((argument, index) => index >= from && argument.startsWith('--'));
  return next === -1 ? args.length : next;
}

function unknown(written: string, { engine, schema }: ArgumentRules): EngineRefusal {
  const nearest = nearestWord(Object.keys(schema.options), normal(written));
  const instead = nearest === undefined ? '' : `did you mean --${nearest.replaceAll('_', '-')}? `;
  const why = `engine.args holds --${written}, which ${engine} ${schema.release} does not know`;
  return refusal(
    'argument-is-known',
    why,
    `${instead}an option of your fork goes into engine.options, which passes it through`,
  );
}

function refusal(rule: string, why: string, fallback: string): EngineRefusal {
  return { rule, field: 'engine.args', why, fallback };
}
