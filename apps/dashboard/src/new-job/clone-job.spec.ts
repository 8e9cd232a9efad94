import { JobCreate, TrainingJobSpec, type TrainingJobSpecInput } from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { cloneRequest, nextName } from './clone-job.ts';
import { STARTS } from './starts.ts';

const full = (spec: TrainingJobSpecInput) => ({ ...aJob(), spec: TrainingJobSpec.parse(spec) });

describe('the name of a clone', () => {
  it.each([
    ['llama', 'llama-2'],
    ['llama-2', 'llama-3'],
    ['llama-9', 'llama-10'],
    ['tiny-gpt-1a5e', 'tiny-gpt-1a5e-2'],
    ['run-007', 'run-007-2'],
    ['2', '2-2'],
    ['a'.repeat(63), `${'a'.repeat(61)}-2`],
    [`${'a'.repeat(60)}-bc`, `${'a'.repeat(60)}-2`],
  ])('of %s is %s', (name, want) => {
    expect(nextName(name)).toBe(want);
  });
});

describe('a clone', () => {
  it.each(STARTS)('of "$title" is what a person wrote, without what the API filled in', ({ request }) => {
    expect(cloneRequest(full(request.spec))['spec']).toEqual(request.spec);
  });

  it('runs at once, and from its own beginning', () => {
    const job = aJob({ spec: { suspend: true, cancel: true, resumeFrom: { from: 'a-e1-s20', request: '2' } } });
    expect(Object.keys(cloneRequest(job)['spec'] as object)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(suspend|cancel|resumeFrom)$/)]),
    );
  });

  it('keeps values that differ from defaults, and means the same job', () => {
    const spec: TrainingJobSpecInput = {
      ...STARTS[0].request.spec,
      restartPolicy: { maxRestarts: 7 },
      terminationGracePeriodSeconds: 90,
      training: { steps: 10, globalBatchSize: 8, warmupSteps: 5 },
    };
    const request = cloneRequest(full(spec));
    expect(request['spec']).toEqual(spec);
    expect(JobCreate.parse(request).spec).toEqual(TrainingJobSpec.parse(spec));
  });

  it('keeps namespace and labels', () => {
    expect(cloneRequest(aJob({ namespace: 'lab', labels: { team: 'vision' } }))).toMatchObject({
      name: 'tiny-gpt-2',
      namespace: 'lab',
      labels: { team: 'vision' },
    });
    expect(cloneRequest(aJob())).not.toHaveProperty('labels');
  });

  it('leaves a spec of a newer release as it is', () => {
    const job = { ...aJob(), spec: { gpus: 4, future: { a: 1 } } as never };
    expect(cloneRequest(job)['spec']).toEqual({ gpus: 4, future: { a: 1 } });
  });
});
