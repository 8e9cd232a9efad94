import { z } from 'zod';
import { describeProblem, MOST_PROBLEMS, schemaProblems } from './schema-problems.ts';

const Policy = z.strictObject({
  maxRestarts: z.number().optional(),
  inPlace: z.enum(['WhenPossible', 'Never']).optional(),
});
const Spec = z.strictObject({
  precision: z.enum(['bf16', 'fp32']).optional(),
  steps: z.number().optional(),
  restartPolicy: Policy.default({}),
  rules: z.array(z.strictObject({ action: z.enum(['Restart', 'Fail']) })).optional(),
  volumes: z.record(z.string(), z.strictObject({ claimName: z.string() })).optional(),
  data: z.union([z.string(), z.strictObject({ path: z.string() })]).optional(),
});
const Job = z.strictObject({ name: z.string(), spec: z.preprocess((value) => value, Spec) });

/** Each problem as `path: sentence`. */
function problemsOf(spec: object, name: unknown = 'a'): readonly string[] {
  const { error } = Job.safeParse({ name, spec }, { reportInput: true });
  return schemaProblems(error?.issues ?? [], Job).map((one) => `${one.path.join('.')}: ${describeProblem(one)}`);
}

describe('a document that its schema rejects', () => {
  it.each<[string, object, readonly string[]]>([
    ['a letter left out', { stps: 1 }, ['spec: unknown field "stps"; did you mean "steps"?']],
    ['two letters swapped', { stpes: 1 }, ['spec: unknown field "stpes"; did you mean "steps"?']],
    ['another case', { Steps: 1 }, ['spec: unknown field "Steps"; did you mean "steps"?']],
    [
      'a field of an object with a default',
      { restartPolicy: { maxRestart: 1 } },
      ['spec.restartPolicy: unknown field "maxRestart"; did you mean "maxRestarts"?'],
    ],
    [
      'a field in the wrong object',
      { maxRestarts: 1 },
      ['spec: unknown field "maxRestarts"; did you mean spec.restartPolicy.maxRestarts?'],
    ],
    [
      'a field of an item of a list',
      { rules: [{ action: 'Fail', acton: 1 }] },
      ['spec.rules.0: unknown field "acton"; did you mean "action"?'],
    ],
    [
      'a field of a value of a map',
      { volumes: { a: { claimName: 'c', claimNam: 'c' } } },
      ['spec.volumes.a: unknown field "claimNam"; did you mean "claimName"?'],
    ],
    [
      'a field of one of several alternatives',
      { data: { path: 'p', paht: 1 } },
      ['spec.data: unknown field "paht"; did you mean "path"?'],
    ],
    ['a word', { precision: 'bf61' }, ['spec.precision: "bf61" is not one of bf16, fp32; did you mean "bf16"?']],
    [
      'a word in another case',
      { restartPolicy: { inPlace: 'never' } },
      ['spec.restartPolicy.inPlace: "never" is not one of WhenPossible, Never; did you mean "Never"?'],
    ],
    [
      'several problems at once',
      { stps: 1, precision: 'fp23', rules: [{ action: 'Restrat' }] },
      [
        'spec.precision: "fp23" is not one of bf16, fp32; did you mean "fp32"?',
        'spec.rules.0.action: "Restrat" is not one of Restart, Fail; did you mean "Restart"?',
        'spec: unknown field "stps"; did you mean "steps"?',
      ],
    ],
    [
      'a distant name: no suggestion',
      { frobnicate: 1 },
      ['spec: unknown field "frobnicate"; check its spelling or leave it out'],
    ],
    ['a distant word: no suggestion', { precision: 'double' }, ['spec.precision: "double" is not one of bf16, fp32']],
    ['a number in place of a word: no suggestion', { precision: 16 }, ['spec.precision: 16 is not one of bf16, fp32']],
    ['a wrong type', { steps: 'many' }, ['spec.steps: must be a number, not a string']],
  ])('%s', (_what, spec, want) => {
    expect(problemsOf(spec)).toEqual(want);
  });

  it.each<[string, object]>([
    ['fields', Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`field${index}`, 1]))],
    ['items', { rules: Array.from({ length: 1_000 }, () => ({ action: 'Fail', acton: 1 })) }],
  ])('with very many unknown %s gets hints for the first of them only: each searches the schema', (_what, spec) => {
    const { error } = Job.safeParse({ name: 'a', spec }, { reportInput: true });
    let reads = 0;
    const counted = new Proxy(Job, {
      get: (schema, name) => {
        reads += 1;
        return Reflect.get(schema, name, schema) as unknown;
      },
    });
    expect(schemaProblems(error?.issues ?? [], counted)).toHaveLength(MOST_PROBLEMS);
    expect(reads).toBeLessThan(1_000);
  });

  it('cuts a name that is very long', () => {
    expect(problemsOf({ ['x'.repeat(10_000)]: 1 }).join('').length).toBeLessThan(300);
  });
});
