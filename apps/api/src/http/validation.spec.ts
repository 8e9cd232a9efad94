import { DomainError } from '@coxswain/domain-error';
import { z } from 'zod';
import { parse, pointerOf, validationPipe } from './validation.ts';

const Body = z.strictObject({
  name: z.string().max(3),
  spec: z.strictObject({ steps: z.number().int().positive() }),
  items: z.array(z.string()).optional(),
  mode: z.enum(['strict', 'loose']).optional(),
});

function refusalOf(value: unknown): DomainError {
  try {
    parse(Body, value);
  } catch (error) {
    if (error instanceof DomainError) return error;
  }
  throw new Error('nothing was refused');
}

const good = { name: 'a', spec: { steps: 1 } };

describe('a body', () => {
  it('that is valid is given back as the schema understands it', () => {
    expect(parse(z.object({ pageSize: z.coerce.number().default(50) }), {})).toEqual({ pageSize: 50 });
  });

  it.each<[string, unknown, readonly string[]]>([
    ['an unknown field', { ...good, owner: 'me' }, ['/owner']],
    ['two unknown fields', { ...good, owner: 'me', team: 'us' }, ['/owner', '/team']],
    ['an unknown field deep inside', { ...good, spec: { steps: 1, heads: 4 } }, ['/spec/heads']],
    ['a wrong type', { ...good, spec: { steps: 'many' } }, ['/spec/steps']],
    ['a missing field', { name: 'a' }, ['/spec']],
    ['a wrong item of a list', { ...good, items: ['a', 1] }, ['/items/1']],
    ['nothing', undefined, ['']],
  ])('with %s is refused, and the pointer leads there', (_what, value, pointers) => {
    const refusal = refusalOf(value);
    expect(refusal.code).toBe('INVALID_REQUEST');
    expect(refusal.violations.map(({ pointer }) => pointer)).toEqual(pointers);
  });

  it('with one fault is told where and what; with more, how many more', () => {
    expect(refusalOf({ ...good, owner: 'me' }).message).toBe(
      '/owner: unknown field "owner"; check its spelling or leave it out',
    );
    expect(refusalOf({ ...good, a: 1, b: 2 }).message).toMatch(/^\/a: .*; 1 more in errors$/);
    expect(refusalOf(undefined).message).toMatch(/^the request: /);
  });

  it.each<[string, unknown, string]>([
    ['a field', { ...good, spec: { steps: 1, stpes: 2 } }, '/spec/stpes: unknown field "stpes"; did you mean "steps"?'],
    ['a field in the wrong object', { ...good, steps: 1 }, '/steps: unknown field "steps"; did you mean spec.steps?'],
    ['a word', { ...good, mode: 'strct' }, '/mode: "strct" is not one of strict, loose; did you mean "strict"?'],
  ])('with a typo in %s is refused with the nearest known name', (_what, value, want) => {
    expect(refusalOf(value).message).toBe(want);
  });

  it('is held against the schema of its route by the pipe', async () => {
    const metadata = { type: 'body', schema: Body } as const;
    await expect(validationPipe().transform({ ...good, nmae: 'b' }, metadata)).rejects.toThrow(
      '/nmae: unknown field "nmae"; did you mean "name"?',
    );
    await expect(validationPipe().transform(good, metadata)).resolves.toEqual(good);
  });

  it('with a thousand faults is told fifty', () => {
    const faults = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`field${index}`, 1]));
    expect(refusalOf({ ...good, ...faults }).violations).toHaveLength(50);
  });

  it('with a very long field name is told the beginning of it', () => {
    const [violation] = refusalOf({ ...good, ['x'.repeat(10_000)]: 1 }).violations;
    expect(JSON.stringify(violation).length).toBeLessThan(400);
  });
});

describe('a pointer', () => {
  it.each<[readonly PropertyKey[], string]>([
    [[], ''],
    [['spec', 'env', 0, 'name'], '/spec/env/0/name'],
    [['a/b', 'c~d'], '/a~1b/c~0d'],
    [['~1'], '/~01'],
  ])('to %j is %j', (path, want) => {
    expect(pointerOf(path)).toBe(want);
  });
});
