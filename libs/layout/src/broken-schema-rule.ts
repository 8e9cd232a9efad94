/** What is wrong with a value that a schema refuses? */
import type { z } from 'zod';

/** Characters of a wrong value that are repeated. */
const MOST_SHOWN = 60;

/**
 * The value and the rule it breaks, to be read after the field's name: schema messages leave the value out, and call what is missing
 * undefined. The schema must have been asked with `reportInput`.
 */
export function brokenSchemaRule(issue: z.core.$ZodIssue): string {
  if (issue.code === 'custom' || issue.code === 'unrecognized_keys') return issue.message;
  if (issue.input === undefined) return 'is needed and not given';
  return `is ${shown(issue.input)}; ${ruleOf(issue)}`;
}

function ruleOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_small' && COUNTED.has(issue.origin))
    return `it must be ${issue.inclusive === true ? 'at least' : 'more than'} ${issue.minimum}`;
  if (issue.code === 'too_big' && COUNTED.has(issue.origin))
    return `it must be ${issue.inclusive === true ? 'at most' : 'less than'} ${issue.maximum}`;
  return issue.message;
}

/** Of texts and lists, bounds are those of their length: the schema's message says so. */
const COUNTED: ReadonlySet<string> = new Set(['number', 'int', 'bigint']);

function shown(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : inJson(value);
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}

/** Objects of YAML may hold themselves, which JSON cannot say. */
function inJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    return 'an object that holds itself';
  }
}
