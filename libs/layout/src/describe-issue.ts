/** What zod finds wrong with a value, in a sentence that follows the path of the field. */
import type { z } from 'zod';

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};
/** Beginnings of the sentences that zod writes. Any other sentence is one of the schema. */
const SENTENCES_OF_ZOD =
  /^(?:Invalid (?:input|option): expected|Too small: expected|Too big: expected|Invalid string: must match pattern)/;
/** What a bound counts. */
const COUNTED: Readonly<Record<string, string>> = { string: 'characters', array: 'items', set: 'items' };

/** The sentence of the schema if it has one. It does not repeat the value, which may be a credential. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  if (!SENTENCES_OF_ZOD.test(issue.message)) return issue.message;
  if (issue.code === 'invalid_type') {
    const wanted = TYPES[issue.expected] ?? issue.expected;
    // A field that is not there and one of another type look alike without the input.
    return /received undefined$/.test(issue.message)
      ? `is missing; give ${wanted}`
      : `must be ${wanted}, not ${receivedIn(issue)}`;
  }
  if (issue.code === 'invalid_value') return `must be ${oneOf(issue.values.map((value) => JSON.stringify(value)))}`;
  if (issue.code === 'invalid_format') return `must match ${issue.pattern ?? issue.format}`;
  if (issue.code === 'too_small') return `must ${boundOf(issue.origin, 'at least', issue.minimum)}`;
  if (issue.code === 'too_big') return `must ${boundOf(issue.origin, 'at most', issue.maximum)}`;
  return issue.message;
}

function oneOf(values: readonly string[]): string {
  return values.length === 1 ? String(values[0]) : `one of ${values.join(', ')}`;
}

function receivedIn({ input, message }: z.core.$ZodIssue): string {
  if (typeof input === 'number' && !Number.isInteger(input)) return String(input);
  const received = /received (\w+)$/.exec(message)?.[1] ?? '';
  return TYPES[received] ?? (received === '' ? 'this' : received);
}

function boundOf(origin: string, words: string, bound: number | bigint): string {
  const counted = COUNTED[origin];
  const number = bound.toLocaleString('en');
  if (counted === undefined) return `be ${words} ${number}`;
  if (words === 'at least' && Number(bound) === 1) return 'not be empty';
  return `have ${words} ${number} ${counted}`;
}
