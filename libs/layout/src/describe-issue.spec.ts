import { z } from 'zod';
import { describeIssue } from './describe-issue.ts';

const sentence = (schema: z.ZodType, value: unknown): string => {
  const [issue] = schema.safeParse(value, { reportInput: true }).error?.issues ?? [];
  return issue === undefined ? '' : describeIssue(issue);
};

it.each<[string, z.ZodType, unknown, string]>([
  ['another type', z.number(), 'many', 'must be a number, not a string'],
  ['a part of a number', z.int(), 1.5, 'must be a whole number, not 1.5'],
  ['a list', z.object({}), [], 'must be an object, not a list'],
  ['a string in place of a list', z.array(z.string()), 'a', 'must be a list, not a string'],
  ['a word in place of a truth', z.boolean(), 'yes', 'must be true or false, not a string'],
  ['null', z.string(), null, 'must be a string, not null'],
  ['nothing', z.string(), undefined, 'is missing; give a string'],
  ['a number that is too small', z.int().min(1), 0, 'must be at least 1'],
  ['a number that is too large', z.int().max(131_072), 200_000, 'must be at most 131,072'],
  ['an empty string', z.string().min(1), '', 'must not be empty'],
  ['a string that is too short', z.string().min(3), 'a', 'must have at least 3 characters'],
  ['a list that is too long', z.array(z.int()).max(2), [1, 2, 3], 'must have at most 2 items'],
  ['a word that is none of them', z.enum(['a', 'b']), 'c', 'must be one of "a", "b"'],
  ['another word', z.literal('a'), 'c', 'must be "a"'],
  ['a text of another form', z.string().regex(/^a+$/), 'b', 'must match /^a+$/'],
  ['a value with a sentence of the schema', z.string().regex(/^a/, 'must begin with a'), 'b', 'must begin with a'],
])('%s is described', (_what, schema, value, want) => {
  expect(sentence(schema, value)).toBe(want);
});
