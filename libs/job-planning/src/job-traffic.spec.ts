import type { EffectiveSpec, TrainingJobSpecInput } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { jobTraffic } from './job-traffic.ts';

const spec = (more: Partial<TrainingJobSpecInput> = {}): EffectiveSpec => ({
  ...aJobSpec(more),
  layout: aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 }),
});

describe('what ranks of a job send each other', () => {
  it('is what the planner has for its model and batch', () => {
    const small = jobTraffic(spec());
    const large = jobTraffic(spec({ model: { ...aJobSpec().model, sequenceLength: 1024 } as never }));
    expect(small).toMatchObject({ source: 'planned' });
    const bytes = (traffic: typeof small): number => traffic?.byKind[0]?.bytesPerPair ?? 0;
    expect(bytes(large)).toBeGreaterThan(bytes(small));
  });

  it('is worked out once for a spec that is looked at again', () => {
    const one = spec();
    expect(jobTraffic({ ...one })).toBe(jobTraffic(one));
  });

  it.each<[string, Partial<TrainingJobSpecInput>]>([
    ['no model', { model: undefined }],
    ['a model that is not known', { model: { preset: 'no such model', sequenceLength: 128 } as never }],
  ])('is not known of %s', (_what, more) => {
    expect(jobTraffic(spec(more))).toBeUndefined();
  });
});
