import { labelKeyProblem, labelValueProblem } from '@coxswain/api-types';

/** What a label selector asks of the labels of a job: all of these. */
export type LabelRequirement =
  | { readonly operator: 'in' | 'notIn'; readonly key: string; readonly values: readonly string[] }
  | { readonly operator: 'exists' | 'doesNotExist'; readonly key: string };

/** What a selector may hold: a query is made of it. */
export const MAX_SELECTOR_CHARACTERS = 1_024;
const MAX_REQUIREMENTS = 16;
const MAX_VALUES = 64;

const TOKEN = /\s*(?:(==|!=|[=!,()])|([^\s=!,()]+))/y;

/** A selector that cannot be read; the message says where. */
export class LabelSelectorError extends Error {}

/**
 * Reads a label selector as Kubernetes does: `team=x`, `team==x`, `team!=x`, `team in (x,y)`, `team notin (x,y)`, `team`, `!team`, with commas between them.
 * `!=` and `notin` hold for jobs without the label, too. Empty text asks nothing. LabelSelectorError for anything else.
 */
export function parseLabelSelector(text: string): readonly LabelRequirement[] {
  const reader = new Reader(text);
  if (reader.next() === undefined) return [];
  const requirements: LabelRequirement[] = [];
  do {
    requirements.push(requirementOf(reader));
    if (requirements.length > MAX_REQUIREMENTS) throw reader.wrong(`has more than ${MAX_REQUIREMENTS} requirements`);
  } while (reader.take(','));
  if (reader.next() !== undefined) throw reader.wrong('expected "," or the end');
  return requirements;
}

function requirementOf(reader: Reader): LabelRequirement {
  if (reader.take('!')) return { operator: 'doesNotExist', key: keyOf(reader) };
  const key = keyOf(reader);
  if (reader.take('=') || reader.take('==')) return { operator: 'in', key, values: [valueOf(reader)] };
  if (reader.take('!=')) return { operator: 'notIn', key, values: [valueOf(reader)] };
  if (reader.take('in')) return { operator: 'in', key, values: setOf(reader) };
  if (reader.take('notin')) return { operator: 'notIn', key, values: setOf(reader) };
  return { operator: 'exists', key };
}

function keyOf(reader: Reader): string {
  const key = reader.word();
  if (key === undefined) throw reader.wrong('expected a label key');
  const problem = labelKeyProblem(key);
  if (problem !== undefined) throw reader.wrong(problem);
  return key;
}

/** Nothing at all is the empty value, which a label may have. */
function valueOf(reader: Reader): string {
  const value = reader.word() ?? '';
  const problem = labelValueProblem(value);
  if (problem !== undefined) throw reader.wrong(problem);
  return value;
}

function setOf(reader: Reader): readonly string[] {
  if (!reader.take('(')) throw reader.wrong('expected "(" and values with commas between them');
  if (reader.next() === ')') throw reader.wrong('expected a value: a set is not empty');
  const values = [valueOf(reader)];
  while (reader.take(',')) {
    values.push(valueOf(reader));
    if (values.length > MAX_VALUES) throw reader.wrong(`has more than ${MAX_VALUES} values in one set`);
  }
  if (!reader.take(')')) throw reader.wrong('expected "," or ")"');
  return [...new Set(values)];
}

/** The tokens of a selector, one after the other. */
class Reader {
  readonly #tokens: readonly string[];
  #position = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  next(): string | undefined {
    return this.#tokens[this.#position];
  }

  take(token: string): boolean {
    if (this.next() !== token) return false;
    this.#position++;
    return true;
  }

  word(): string | undefined {
    const token = this.next();
    if (token === undefined || /^[=!,()]/.test(token)) return undefined;
    this.#position++;
    return token;
  }

  wrong(problem: string): LabelSelectorError {
    const at = this.#tokens.slice(0, this.#position).join(' ').slice(-80);
    return new LabelSelectorError(`${problem}${at === '' ? ' at its beginning' : ` after ${JSON.stringify(at)}`}`);
  }
}

function tokensOf(text: string): readonly string[] {
  if (text.length > MAX_SELECTOR_CHARACTERS) {
    throw new LabelSelectorError(`has ${text.length} characters; at most ${MAX_SELECTOR_CHARACTERS} are allowed`);
  }
  return [...text.trimEnd().matchAll(new RegExp(TOKEN, 'gy'))].map(([, sign, word]) => sign ?? word ?? '');
}
