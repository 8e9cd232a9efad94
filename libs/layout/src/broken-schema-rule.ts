/** Messages for values that a schema rejects. */
import type { z } from 'zod';
import { describeIssue } from './describe-issue.ts';

/** Longest part of a rejected value that a message repeats, in characters. */
const MOST_SHOWN = 60;

/**
 * The value and the rule that it breaks, as a message that follows the name of the field. zod's own messages omit the value. Parse with `reportInput`.
 */
export function brokenSchemaRule(issue: z.core.$ZodIssue): string {
  if (issue.code === 'custom' || issue.code === 'unrecognized_keys') return issue.message;
  if (issue.input === undefined) return 'is required';
  return `is ${shown(issue.input)}; ${ruleOf(issue)}`;
}

function ruleOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_small' && COUNTED.has(issue.origin))
    return `it must be ${issue.inclusive === true ? 'at least' : 'more than'} ${issue.minimum}`;
  if (issue.code === 'too_big' && COUNTED.has(issue.origin))
    return `it must be ${issue.inclusive === true ? 'at most' : 'less than'} ${issue.maximum}`;
  const rule = describeIssue(issue);
  // A schema's own sentence stands as it is.
  return rule === issue.message ? rule : `it ${rule}`;
}

/** Types whose bounds are values. Bounds of texts and lists are lengths. */
const COUNTED: ReadonlySet<string> = new Set(['number', 'int', 'bigint']);

function shown(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : inJson(value);
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}

/** An object from YAML may contain itself, which JSON cannot represent. */
function inJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    return 'an object that contains itself';
  }
}
