/** What the inputs of the form write into the YAML. */
import { locationOf, withLocation } from './checkpoint-location.ts';
import { fieldValue, type InputKind } from './form-inputs.ts';
import { canPlan, gpusInput, withPlannedLayout } from './gpus-input.ts';
import { readDraft } from './job-draft.ts';
import { plannedDuration } from './planned-duration.ts';
import { STARTS } from './starts.ts';
import { SubmissionKeys } from './submission-key.ts';

describe('what is typed', () => {
  it.each<[string, InputKind, string, unknown]>([
    ['is a text without spaces around it', 'text', ' a:1 ', 'a:1'],
    ['is a number', 'number', '16', 16],
    ['is a number with commas', 'number', '10,000', 10_000],
    ['is a text where it is no number, so that the rule of the field names it', 'number', '1O', '1O'],
    ['stays a text where the field is one', 'text', '16', '16'],
    ['leaves the field out if it is empty', 'number', ' ', undefined],
  ])('%s', (_sentence, kind, typed, want) => {
    expect(fieldValue(kind, typed)).toBe(want);
  });
});

describe('the location of checkpoints', () => {
  const claim = 'name: a\nspec:\n  checkpoint:\n    claimName: c\n    everySteps: 5\n';
  const bucket = 'name: a\nspec:\n  checkpoint:\n    everySteps: 5\n    bucket:\n      uri: ""\n';
  it.each([
    ['from a claim to a bucket', claim, 'bucket', bucket],
    [
      'from a bucket to a claim',
      bucket,
      'claim',
      'name: a\nspec:\n  checkpoint:\n    everySteps: 5\n    claimName: ""\n',
    ],
    [
      'from a claim to nowhere',
      'name: a\nspec:\n  gpus: 1\n  checkpoint:\n    claimName: c\n',
      'none',
      'name: a\nspec:\n  gpus: 1\n',
    ],
    [
      'from nowhere to a claim',
      'name: a\nspec:\n  gpus: 1\n',
      'claim',
      'name: a\nspec:\n  gpus: 1\n  checkpoint:\n    claimName: ""\n',
    ],
  ] as const)('changes %s, and nothing else', (_sentence, text, to, want) => {
    const changed = withLocation(text, to);
    expect(changed).toBe(want);
    expect(locationOf(readDraft(changed).request)).toBe(to);
  });
});

describe('the number of GPUs', () => {
  const layout = (degrees: object) => ({ spec: { layout: degrees } });
  it.each<[string, unknown, object]>([
    ['is that of the planner', { spec: { gpus: 4 } }, { field: 'spec.gpus' }],
    ['is that of the planner at first', { spec: {} }, { field: 'spec.gpus' }],
    [
      'is that of data-parallel ranks',
      layout({ tensorParallelDegree: 1, dataParallelDegree: 8 }),
      { field: 'spec.layout.dataParallelDegree' },
    ],
    [
      'follows from a layout',
      layout({ tensorParallelDegree: 2, dataParallelDegree: 4 }),
      { layout: 'tp2 x dp4', gpus: 8 },
    ],
    [
      'of a broken layout is that of data-parallel ranks',
      layout({ tensorParallelDegree: 'x' }),
      { field: 'spec.layout.dataParallelDegree' },
    ],
  ])('%s', (_sentence, request, want) => {
    expect(gpusInput(request)).toEqual(want);
  });

  it('stays when the layout is left to the planner', () => {
    const text =
      'name: a\nspec:\n  layout:\n    tensorParallelDegree: 2\n    dataParallelDegree: 4\n  model: {}\n  training: {}\n';
    const { request } = readDraft(text);
    expect(canPlan(request)).toBe(true);
    expect(withPlannedLayout(text, request)).toBe('name: a\nspec:\n  model: {}\n  training: {}\n  gpus: 8\n');
    expect(canPlan({ spec: {} })).toBe(false);
  });
});

it.each<[string, unknown, number | undefined]>([
  ['as long as its steps', STARTS[0].request, 2_000_000],
  ['unknown if it does not say how many', STARTS[1]?.request, undefined],
  ['unknown of a request with problems', {}, undefined],
])('a training is %s', (_sentence, request, want) => {
  expect(plannedDuration(request, 2_000)).toBe(want);
});

it('the same request has the same key, and another request another', () => {
  const keys = new SubmissionKeys();
  const first = keys.keyFor('a');
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect(keys.keyFor('a')).toBe(first);
  expect(keys.keyFor('b')).not.toBe(first);
});
