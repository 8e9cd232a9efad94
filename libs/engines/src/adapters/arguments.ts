/** Which arguments of the user's would an engine refuse, and which contradict what the job says? */
import { nearestWord } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';

export interface OptionSchema {
  readonly release: string;
  readonly options: Readonly<Record<string, string>>;
}

export interface ArgumentRules {
  readonly engine: string;
  readonly schema: OptionSchema;
  /** Whether the option is told by the job, and what of the job does; undefined where the user may. */
  readonly ownerOf: (option: string) => string | undefined;
  /** An option that the schema lacks is the user's own: somebody else declares it. */
  readonly takesUnknown: boolean;
  /** argparse's default: the beginning of one option's name is that option. */
  readonly takesBeginnings?: boolean;
}

/** Of the first argument that cannot stay; undefined where all may. */
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
    const why = `engine.args holds --${written}, which ${owner} says`;
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

/** Of a beginning that argparse would complete to an option that the job tells: it does so where one option alone begins like it, and the script declares none by that name. */
export function begunRefusal(
  written: string,
  options: readonly string[],
  ownerOf: ArgumentRules['ownerOf'],
): EngineRefusal | undefined {
  const begun = options.filter((option) => option.startsWith(normal(written)) && option !== normal(written));
  const [option = '', second] = begun;
  const owner = second === undefined ? ownerOf(option) : undefined;
  if (owner === undefined) return undefined;
  const why = `engine.args holds --${written}, which argparse reads as --${option}, and ${owner} says that`;
  return refusal(
    'argument-is-whole',
    why,
    `${insteadOf(owner)}; an option of the script's own by that name goes into engine.command`,
  );
}

/** Of an option in the command that the job tells: it would stand before what is rendered, and count where that says it by leaving it out. */
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
      why: `engine.command holds ${written}, which ${owner} says`,
      fallback: insteadOf(owner),
    };
  }
  return undefined;
}

/** An owner that is no field of the job is nothing to set. */
export function insteadOf(owner: string): string {
  return /^[a-zA-Z.]+$/.test(owner) ? `leave it out, and set ${owner}` : 'leave it out';
}

/** Words may be parted by a hyphen or an underscore. */
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
  const instead = nearest === undefined ? '' : `; did you mean --${nearest.replaceAll('_', '-')}?`;
  const why = `engine.args holds --${written}, which ${engine} ${schema.release} does not know`;
  return refusal('argument-is-known', why, `leave it out${instead}`);
}

function refusal(rule: string, why: string, fallback: string): EngineRefusal {
  return { rule, field: 'engine.args', why, fallback };
}
