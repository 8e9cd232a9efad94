/**
 * What a batch script of a user would run, as far as it can be known without running it: its commands with variables and arrays replaced. A here-document,
 * a condition or a loop is passed over and not executed. `shell-words.ts` reads scripts whose text is kept as it is; this file reads scripts that are replaced.
 */
import { arithmetic } from './shell-arithmetic.ts';
import { scanScript, type RawCommand, type RawWord } from './shell-scan.ts';

/** Stands before what only a running shell knows: `␦NAME`, `␦(command)`. */
export const UNKNOWN = '\uE000';

/** A command of a script, with variables replaced. */
export interface ScriptCommand {
  readonly words: readonly string[];
  /** Variables that stood before the command. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** In which compound command it stands. */
  readonly within: 'script' | 'branch' | 'loop' | 'function';
  readonly joinedBy: string;
  readonly hereDocument?: string;
}

/** The script as far as it was read. */
export interface ReadScript {
  readonly commands: readonly ScriptCommand[];
  readonly variables: ReadonlyMap<string, Value>;
  /** Variables that later programs see. */
  readonly exported: ReadonlySet<string>;
  /** Assignments inside of a condition or a loop, as written: whether they happen is not known. */
  readonly conditional: readonly string[];
}

/** A variable of the shell: a text, or the items of an array. */
export type Value = string | readonly string[];

const DECLARATIONS = new Set(['export', 'declare', 'local', 'readonly', 'typeset']);
/** A blank inside of a command that is not run: no word ends there. */
const BLANK = '\uE001';
/** Longest value and most words of a command: a few lines of a script can double a value without end. */
const MAX_VALUE = 65_536;
const MAX_WORDS = 4096;

/** Reads a script. `known` are variables that are set before it. */
export function readScript(script: string, known: ReadonlyMap<string, Value> = new Map()): ReadScript {
  const variables = new Map(known);
  const exported = new Set<string>();
  const commands: ScriptCommand[] = [];
  const conditional: string[] = [];
  /** Values of branches: a variable that two branches set otherwise is not known. */
  const chosen = new Map<string, string>();
  for (const command of scanScript(script)) {
    const { assignments, rest } = splitAssignments(command);
    const isConditional = command.within === 'branch' || command.within === 'loop';
    const set = (word: RawWord): string | undefined => {
      if (!isConditional) return assign(word, variables, false);
      conditional.push(word.raw.replaceAll(/\s+/g, ' ').slice(0, 120));
      const name = assignedName(word) ?? '';
      const value = textOf(valueOf(word, variables));
      const isOther = chosen.has(name) && chosen.get(name) !== value && variables.get(name) === chosen.get(name);
      if (isOther) variables.set(name, `${UNKNOWN}${name}`);
      else if (!variables.has(name)) chosen.set(name, value);
      return assign(word, variables, true);
    };
    if (rest.length === 0) {
      for (const word of assignments) set(word);
      continue;
    }
    const defaults = isConditional ? rest.flatMap((word) => defaultSet(word, variables, chosen)) : [];
    for (const word of defaults) set(word);
    if (defaults.length > 0 && rest[0]?.raw === ':') continue;
    const [first] = fields(rest[0] ?? EMPTY, variables);
    if (first !== undefined && DECLARATIONS.has(first)) {
      for (const word of rest.slice(1)) {
        const name = assignedName(word) === undefined ? word.raw : set(word);
        if (first === 'export' && name !== undefined) exported.add(name);
      }
      continue;
    }
    const words = rest.flatMap((word) => fields(word, variables)).slice(0, MAX_WORDS);
    const env = assignments.flatMap((word) => {
      const name = assignedName(word);
      return name === undefined ? [] : [{ name, value: textOf(valueOf(word, variables)) }];
    });
    commands.push({
      words,
      env,
      within: command.within,
      joinedBy: command.joinedBy,
      ...(command.hereDocument === undefined ? {} : { hereDocument: command.hereDocument }),
    });
  }
  return { commands, variables, exported, conditional };
}

/** `: "${NAME:=value}"` as the assignment that it is where the variable has no value from before the condition. */
function defaultSet(
  { raw }: RawWord,
  variables: ReadonlyMap<string, Value>,
  chosen: ReadonlyMap<string, string>,
): readonly RawWord[] {
  const [, name = '', value = ''] = /^"?\$\{(\w+):?=([^]*)\}"?$/.exec(raw) ?? [];
  if (name === '' || (variables.has(name) && !chosen.has(name))) return [];
  return [{ raw: `${name}=${value}`, segments: [{ text: `${name}=${value}`, quote: 'double' }] }];
}

const EMPTY: RawWord = { raw: '', segments: [] };
const ASSIGNED = /^([A-Za-z_]\w*)(?:\[[^\]]*\])?(\+?)=/;

function assignedName(word: RawWord): string | undefined {
  return ASSIGNED.exec(word.raw)?.[1];
}

function splitAssignments({ words }: RawCommand): {
  readonly assignments: readonly RawWord[];
  readonly rest: readonly RawWord[];
} {
  const end = words.findIndex((word) => assignedName(word) === undefined);
  const count = end < 0 ? words.length : end;
  return { assignments: words.slice(0, count), rest: words.slice(count) };
}

/** Sets the variable of `NAME=value`; inside a branch only if it has no value yet, because the branch may not be taken. */
function assign(word: RawWord, variables: Map<string, Value>, isConditional: boolean): string | undefined {
  const [, name, plus] = ASSIGNED.exec(word.raw) ?? [];
  if (name === undefined) return undefined;
  const value = valueOf(word, variables);
  const before = variables.get(name);
  if (plus === '+') {
    if (!isConditional) variables.set(name, joined(before, value));
  } else if (!isConditional || before === undefined) variables.set(name, value);
  return name;
}

function joined(before: Value | undefined, value: Value): Value {
  if (before === undefined) return value;
  if (typeof before === 'string' && typeof value === 'string') return bounded(before + value);
  const items = [before, value].flatMap((one) => (typeof one === 'string' ? [one] : one));
  return items.slice(0, MAX_WORDS);
}

function valueOf(word: RawWord, variables: Map<string, Value>): Value {
  if (word.items !== undefined) return word.items.flatMap((item) => fields(item, variables)).slice(0, MAX_WORDS);
  const [first, ...rest] = word.segments;
  const text = first === undefined ? '' : first.text.replace(ASSIGNED, '');
  const value = { raw: word.raw, segments: first === undefined ? [] : [{ ...first, text }, ...rest] };
  return bounded(value.segments.map((segment) => expanded(segment, variables).join(' ')).join(''));
}

function bounded(text: string): string {
  return text.length > MAX_VALUE ? `${UNKNOWN}(a value of more than ${MAX_VALUE} characters)` : text;
}

/** The text of a variable: an array without an index is its first item. */
export function textOf(value: Value): string {
  return typeof value === 'string' ? value : (value[0] ?? '');
}

/** The words that a word becomes: unquoted variables are split at blanks, and `"${ARRAY[@]}"` becomes one word for each item. */
function fields(word: RawWord, variables: Map<string, Value>): readonly string[] {
  const done: string[] = [];
  let current: string | undefined;
  for (const segment of word.segments) {
    const texts = expanded(segment, variables);
    const parts =
      segment.quote === 'none' ? texts.flatMap((text) => splitText(text, segment.text.includes('$'))) : texts;
    if (segment.quote !== 'none' && parts.length === 0 && !segment.text.includes('@')) current ??= '';
    parts.forEach((part, index) => {
      if (index > 0 && current !== undefined) {
        done.push(current);
        current = undefined;
      }
      current = bounded((current ?? '') + part);
    });
  }
  return current === undefined ? done : [...done, current];
}

function splitText(text: string, isReplaced: boolean): readonly string[] {
  if (!isReplaced) return [text];
  return text.split(/\s+/).filter((part) => part !== '');
}

interface Segment {
  readonly text: string;
  readonly quote: 'none' | 'single' | 'double';
}

/** One text, or several for an array that is quoted with `@`. */
function expanded({ text, quote }: Segment, variables: Map<string, Value>): readonly string[] {
  if (quote === 'single') return [text];
  const whole = /^\$\{(\w+)\[([@*])\]\}$/.exec(text);
  const value = whole === null ? undefined : variables.get(whole[1] ?? '');
  if (value !== undefined) {
    const items = typeof value === 'string' ? [value] : value;
    return quote === 'double' && whole?.[2] === '*' ? [items.join(' ')] : items;
  }
  return [replacedText(text, variables)];
}

const EXPANSION =
  /\\([$`"\\])|\$\(\(((?:[^()]|\([^()]*\))*)\)\)|\$\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)|`([^`]*)`|\$\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}|\$([A-Za-z_]\w*|[0-9@*#?])/g;

function replacedText(text: string, variables: Map<string, Value>): string {
  return bounded(
    text.replaceAll(EXPANSION, (whole: string, ...groups: (string | undefined)[]) => {
      const [escaped, sum, command, ticks, braced, name] = groups;
      if (escaped !== undefined) return escaped;
      if (sum !== undefined)
        return arithmetic(sum, (one) => numberText(variables.get(one))) ?? `${UNKNOWN}((${unsplit(sum)}))`;
      if (command !== undefined || ticks !== undefined)
        return `${UNKNOWN}(${unsplit(replacedText(command ?? ticks ?? '', variables))})`;
      if (name !== undefined) return variableText(name, variables) ?? `${UNKNOWN}${name}`;
      return bracedText(braced ?? '', variables) ?? `${UNKNOWN}{${unsplit(braced ?? whole)}}`;
    }),
  );
}

/** What only the running shell knows stays one word. */
function unsplit(text: string): string {
  return text.replaceAll(/\s/g, BLANK);
}

function numberText(value: Value | undefined): string | undefined {
  return value === undefined ? undefined : textOf(value);
}

function variableText(name: string, variables: ReadonlyMap<string, Value>): string | undefined {
  const value = variables.get(name);
  return value === undefined ? undefined : textOf(value);
}

/** `NAME`, `NAME:-default`, `NAME:=default`, `NAME[@]`, `#NAME[@]`; undefined for other forms. */
function bracedText(inside: string, variables: Map<string, Value>): string | undefined {
  const [, count, name = '', index, operator, fallback = ''] =
    /^(#?)(\w+)(\[[^\]]*\])?(?:(:?[-=?+])([^]*))?$/.exec(inside) ?? [];
  if (name === '') return undefined;
  const value = variables.get(name);
  if (count === '#') return Array.isArray(value) ? String(value.length) : undefined;
  const text = value === undefined ? undefined : itemText(value, index);
  if (operator?.endsWith('+') === true)
    return text === undefined || text === '' ? '' : replacedText(unquotedDefault(fallback), variables);
  if (text !== undefined && (text !== '' || operator?.startsWith(':') !== true)) return text;
  if (operator === undefined || operator.endsWith('?')) return text;
  const byDefault = replacedText(unquotedDefault(fallback), variables);
  if (operator.endsWith('=')) variables.set(name, byDefault);
  return byDefault;
}

function itemText(value: Value, index: string | undefined): string | undefined {
  if (typeof value === 'string') return value;
  if (index === '[@]' || index === '[*]') return value.join(' ');
  return index === undefined ? value[0] : value[Number(index.slice(1, -1))];
}

function unquotedDefault(text: string): string {
  return text.replaceAll(/^(["'])([^]*)\1$/g, '$2');
}

/** Names of variables that only the running shell knows, in what {@link readScript} returned; commands as `$(…)`. */
export function unknownsIn(text: string): readonly string[] {
  const form = new RegExp(`${UNKNOWN}(?:\\{?(\\w+)|(\\([^]*?\\)))`, 'g');
  return [...text.matchAll(form)].map(([, name, command]) => name ?? shellText(`${UNKNOWN}${command ?? ''}`));
}

/** The word as a shell that runs later would be given it. */
export function shellText(text: string): string {
  return text.replaceAll(UNKNOWN, '$').replaceAll(BLANK, ' ');
}
