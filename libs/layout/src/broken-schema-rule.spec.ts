import { z } from 'zod';
import { brokenSchemaRule } from './broken-schema-rule.ts';

const LOOP: { self?: unknown } = {};
LOOP.self = LOOP;

describe('what is wrong with a value', () => {
  it.each<[z.ZodType, unknown, string]>([
    [z.int().min(1), 0, 'is 0; it must be at least 1'],
    [z.int().max(8), 9, 'is 9; it must be at most 8'],
    [z.number().positive(), 0, 'is 0; it must be more than 0'],
    [z.number().lt(1), 1, 'is 1; it must be less than 1'],
    [z.number(), undefined, 'is required'],
    [z.number(), '8', 'is "8"; it must be a number, not a string'],
    [z.number(), LOOP, 'is an object that contains itself; it must be a number, not an object'],
    [z.array(z.int()).min(1), [], 'is []; it must not be empty'],
    [z.string().max(2), 'x'.repeat(99), `is "${'x'.repeat(59)}…; it must have at most 2 characters`],
    [z.int().refine(() => false, 'nothing is right'), 1, 'nothing is right'],
  ])('%#', (schema, value, sentence) => {
    const { error } = schema.safeParse(value, { reportInput: true });
    expect(error?.issues.map(brokenSchemaRule)).toEqual([sentence]);
  });
});
