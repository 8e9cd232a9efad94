import { typesOf, valuesOf, type Schema } from './schema.ts';

/** What a value that was allowed may now be rejected for, by the keywords of this schema alone. */
export function narrower(before: Schema, after: Schema): readonly string[] {
  return [
    ...lostTypes(before, after),
    ...lostValues(before, after),
    ...RISING.flatMap((keyword) => bound(before, after, { keyword, isNarrower: (old = -Infinity, now) => now > old })),
    ...FALLING.flatMap((keyword) => bound(before, after, { keyword, isNarrower: (old = Infinity, now) => now < old })),
    ...EXACT.flatMap((keyword) => changed(before, after, keyword)),
    ...newRules(before, after),
    ...(before.additionalProperties !== false && after.additionalProperties === false
      ? ['rejects unknown fields now']
      : []),
    ...changedDefault(before, after),
  ];
}

const RISING = ['minimum', 'minLength', 'minItems', 'minProperties'] as const;
const FALLING = ['maximum', 'maxLength', 'maxItems', 'maxProperties'] as const;
/** Whether another value of these is narrower is not judged: each change is one. */
const EXACT = ['pattern', 'format', 'multipleOf', 'uniqueItems', 'exclusiveMinimum', 'exclusiveMaximum'] as const;

function lostTypes(before: Schema, after: Schema): readonly string[] {
  const now = typesOf(after);
  if (now === undefined) return [];
  const old = typesOf(before);
  if (old === undefined) return [`was of any type, and is now ${now.join(' or ')}`];
  const lost = old.filter((type) => !now.includes(type) && !(type === 'integer' && now.includes('number')));
  return lost.length === 0 ? [] : [`was ${old.join(' or ')}, and is now ${now.join(' or ')}`];
}

function lostValues(before: Schema, after: Schema): readonly string[] {
  const [old, now] = [valuesOf(before), valuesOf(after)];
  if (now === undefined) return [];
  if (old === undefined) return [`had any value of its type, and now only ${list(now)}`];
  const lost = old.filter((value) => !now.includes(value));
  return lost.length === 0 ? [] : [`no longer has the value ${list(lost)}`];
}

function bound(
  before: Schema,
  after: Schema,
  rule: { readonly keyword: string; readonly isNarrower: (old: number | undefined, now: number) => boolean },
): readonly string[] {
  const [old, now] = [before[rule.keyword], after[rule.keyword]] as readonly (number | undefined)[];
  return now !== undefined && rule.isNarrower(old, now)
    ? [`${rule.keyword} was ${old ?? 'not set'}, and is now ${now}`]
    : [];
}

function changed(before: Schema, after: Schema, keyword: string): readonly string[] {
  const [old, now] = [before[keyword], after[keyword]];
  if (now === undefined || now === false || now === old) return [];
  return [`${keyword} was ${old === undefined ? 'not set' : JSON.stringify(old)}, and is now ${JSON.stringify(now)}`];
}

interface Rule {
  readonly rule: string;
}

/** CEL rules of a resource definition. Another text is another rule. */
function newRules(before: Schema, after: Schema): readonly string[] {
  const rulesOf = (schema: Schema): readonly string[] =>
    ((schema['x-kubernetes-validations'] ?? []) as readonly Rule[]).map(({ rule }) => rule);
  const old = rulesOf(before);
  return rulesOf(after).flatMap((rule) => (old.includes(rule) ? [] : [`has a new rule: ${rule}`]));
}

function changedDefault(before: Schema, after: Schema): readonly string[] {
  const [old, now] = [before.default, after.default].map((value) => JSON.stringify(value));
  if (old === undefined || old === now) return [];
  return [`default was ${old}, and is now ${now ?? 'not set'}`];
}

function list(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ');
}
