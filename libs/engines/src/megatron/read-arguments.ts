/**
 * Reads a command line as argparse does. Megatron-LM’s parser has allow_abbrev=False in every known release, so that no
 * abbreviation counts.
 */
import type { Option, OptionTable } from './option-table.ts';

interface ReadArgument {
  readonly flag: string;
  readonly dest: string;
  /** Of a switch: the value that it sets. */
  readonly values: readonly string[];
}

/** Why the parser would exit, and at which argument. */
export interface ArgumentProblem {
  readonly word: string;
  readonly kind: 'unknown' | 'stray' | 'arity' | 'value';
  readonly sentence: string;
  /** Of kind value: whether the option takes one of a list, to which a fork may add. */
  readonly isChoice?: boolean;
}

interface ReadArguments {
  /** In the order of the command line: of several with one dest the last one counts. */
  readonly read: readonly ReadArgument[];
  readonly problems: readonly ArgumentProblem[];
}

/** Reads arguments as the parser does. */
export function readArguments(words: readonly string[], table: OptionTable): ReadArguments {
  const read: ReadArgument[] = [];
  const problems: ArgumentProblem[] = [];
  for (let at = 0; at < words.length;) {
    const word = words[at] ?? '';
    const { flag, given } = split(word);
    const option = table.get(flag);
    const values = given ?? following(words.slice(at + 1), option);
    at += 1 + (given === undefined ? values.length : 0);
    const problem = option === undefined ? unreadable(word, flag) : problemOf(flag, { option, values });
    if (problem !== undefined) problems.push(problem);
    if (option !== undefined)
      read.push({ flag, dest: option.dest, values: option.arity === 0 ? [option.kind] : values });
  }
  return { read, problems };
}

function split(word: string): { readonly flag: string; readonly given?: readonly string[] } {
  const sign = word.indexOf('=');
  if (!word.startsWith('--') || sign < 0) return { flag: word };
  return { flag: word.slice(0, sign), given: [word.slice(sign + 1)] };
}

/** As many values as the option takes. A value cannot look like an option; a negative number can, because no option is one. */
function following(words: readonly string[], option: Option | undefined): readonly string[] {
  const arity = option?.arity ?? 0;
  const most = typeof arity === 'number' ? arity : arity === '?' ? 1 : Infinity;
  const end = words.findIndex((word) => looksLikeOption(word));
  return words.slice(0, Math.min(most, end < 0 ? words.length : end));
}

function looksLikeOption(word: string): boolean {
  return word.startsWith('-') && word.length > 1 && !/^-\d+$|^-\d*\.\d+$/.test(word);
}

function unreadable(word: string, flag: string): ArgumentProblem {
  if (looksLikeOption(word)) return { word: flag, kind: 'unknown', sentence: `${flag} is no option` };
  return { word, kind: 'stray', sentence: `"${word}" belongs to no option` };
}

function problemOf(
  flag: string,
  { option, values }: { readonly option: Option; readonly values: readonly string[] },
): ArgumentProblem | undefined {
  const takes = takenBy(option, values.length);
  if (takes !== undefined) return { word: flag, kind: 'arity', sentence: `${flag} takes ${takes}` };
  const wrong = values.find((value) => !isOf(option, value));
  if (wrong === undefined) return undefined;
  const wanted = option.kind === 'choice' ? `one of ${option.choices.join(', ')}` : `of type ${option.kind}`;
  return {
    word: flag,
    kind: 'value',
    isChoice: option.kind === 'choice',
    sentence: `${flag} ${wrong} is not ${wanted}`,
  };
}

/** What the option takes, where it is not as many as given. */
function takenBy({ arity }: Option, given: number): string | undefined {
  if (arity === '?' || arity === '*') return undefined;
  if (arity === '+') return given > 0 ? undefined : 'one value or more';
  if (arity === given) return undefined;
  return arity === 0 ? 'no value' : `${arity} ${arity === 1 ? 'value' : 'values'}`;
}

function isOf({ kind, choices }: Option, value: string): boolean {
  if (kind === 'choice') return choices.includes(value);
  if (kind === 'int') return /^\s*[+-]?\d+(_\d+)*\s*$/.test(value);
  return kind !== 'float' || /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$|^\s*[+-]?(inf|nan)\s*$/i.test(value);
}
