import { ApiProblem } from '@coxswain/api-client';
import type { JobCheck } from '@coxswain/api-types';
import { inputOf, problemsOfCheck, problemsOfFailure, problemsOfRequest } from './field-problems.ts';
import { INPUTS } from './form-inputs.ts';
import { readDraft } from './job-draft.ts';
import { STARTS, startText } from './starts.ts';

const WHOLE = STARTS[0].request;

describe('each start', () => {
  it.each(STARTS)('"$title" is a job without a problem', (start) => {
    const { request, problems } = readDraft(startText(start));
    expect(problems).toEqual([]);
    expect(problemsOfRequest(request)).toEqual([]);
  });
});

describe('problems of a request', () => {
  it('are all found at once, each with field, value and rule', () => {
    const request = {
      ...WHOLE,
      name: 'Tiny',
      spec: { ...WHOLE.spec, gpus: 'many', engine: { name: 'torchtitn', image: 'a' }, chekpoint: {} },
    };
    expect(problemsOfRequest(request).map(({ field, value }) => [field, value])).toEqual([
      ['name', 'Tiny'],
      ['spec.engine.name', 'torchtitn'],
      ['spec.gpus', 'many'],
      ['spec.chekpoint', undefined],
    ]);
    expect(problemsOfRequest(request)[1]?.rule).toMatch(/did you mean "torchtitan"\?$/);
  });

  it('do not repeat what may be a credential', () => {
    const engine = { name: 'command', image: 'a', command: ['a'], env: [{ name: '1', value: 'hunter2' }] };
    const [problem] = problemsOfRequest({ name: 'a', spec: { ...WHOLE.spec, engine } });
    expect(problem).toMatchObject({ field: 'spec.engine.env.0.name', value: undefined });
  });
});

describe('a refusal of the API', () => {
  const refusal = (code: string, violations: ApiProblem['violations'] = []) =>
    problemsOfFailure(WHOLE, new ApiProblem(400, code, 'the sentence', violations));
  it.each<[string, ReturnType<typeof refusal>, object]>([
    [
      'names the field with its value',
      refusal('INVALID_LAYOUT', [{ pointer: '/spec/gpus', detail: 'too many' }]),
      { field: 'spec.gpus', value: '4', rule: 'too many' },
    ],
    [
      'names keys with slashes',
      refusal('INVALID_REQUEST', [{ pointer: '/labels/a~1b~0c', detail: 'bad' }]),
      { field: 'labels.a/b~c', rule: 'bad' },
    ],
    ['of a name is at the name', refusal('NAME_TAKEN'), { field: 'name', value: 'tiny-gpt', rule: 'the sentence' }],
    ['without a field is one of the whole', refusal('RATE_LIMITED'), { field: '', rule: 'the sentence' }],
    ['of another kind too', problemsOfFailure(WHOLE, new Error('offline')), { field: '', rule: 'offline' }],
  ])('%s', (_sentence, problems, want) => {
    expect(problems).toMatchObject([want]);
  });
});

describe('the check of a job', () => {
  const check: JobCheck = { verdict: null, checked: [], notChecked: [], gpusWanted: 4, gpus: null };
  const verdict = { reason: 'x', condition: null, sentence: 'It waits.', change: 'Wait.', object: null };
  const obstacle = { reason: 'x', field: 'spec.gpus', value: '4', rule: 'r', change: 'c', effect: 'Waits' } as const;
  it.each<[string, Partial<JobCheck>, readonly object[]]>([
    ['without obstacles has no problem', { obstacles: [] }, []],
    ['has a problem per obstacle', { obstacles: [obstacle] }, [{ field: 'spec.gpus', rule: 'r', effect: 'Waits' }]],
    ['of an earlier API has its verdict', { verdict }, [{ field: '', rule: 'It waits.', change: 'Wait.' }]],
    ['of an earlier API may have none', {}, []],
  ])('%s', (_sentence, more, want) => {
    expect(problemsOfCheck({ ...check, ...more })).toMatchObject(want);
  });
});

describe('the input that shows a problem', () => {
  const inputs = INPUTS.map(({ field }) => field);
  it.each<[string, string, string | undefined]>([
    ['is that of the field', 'spec.engine.image', 'spec.engine.image'],
    ['is that of the field around it', 'spec.engine.command.0', 'spec.engine.command'],
    ['is that of the nearest field around it', 'spec.checkpoint.bucket.uri', 'spec.checkpoint.bucket.uri'],
    ['is that of a field farther around it', 'spec.checkpoint.retention.keep', 'spec.checkpoint'],
    ['is the first inside of the field', 'spec.model', 'spec.model.preset'],
    ['is the number of GPUs for a layout', 'spec.layout.tensorParallelDegree', 'spec.gpus'],
    ['is none for a field that only the YAML has', 'spec.failurePolicy', undefined],
    ['is none for the spec', 'spec', undefined],
    ['is none for the whole', '', undefined],
  ])('%s', (_sentence, field, want) => {
    expect(inputOf(field, inputs)).toBe(want);
  });
});
