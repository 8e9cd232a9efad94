import { aLayout } from '@coxswain/layout/testing';
import { effectiveLayout, effectiveSpec, type JobPlan, JobCreate, specOfEpoch, TrainingJobSpec } from './index.ts';
import { aJobSpec, aPlannedJobSpec } from './testing/index.ts';

const planned: JobPlan = {
  chosenBy: 'Planner',
  gpus: 4,
  fabric: 'a fabric',
  layout: aLayout({ dataParallelDegree: 4 }),
  microBatchSize: 2,
  plannerVersion: '1',
  plannedAt: '2026-01-01T00:00:00Z',
};

const EFA = 'ClusterTrainingRuntime efa';
const onEfa = aPlannedJobSpec({ runtimeRef: { name: 'efa' } });

describe('what a job runs on', () => {
  it.each([
    ['the layout of the user', aJobSpec(), planned, aJobSpec().layout],
    ['the planned layout', aPlannedJobSpec(), planned, planned.layout],
    ['nothing before the planner has chosen', aPlannedJobSpec(), undefined, undefined],
    ['the planned layout on the nodes of its runtime', onEfa, { ...planned, runtime: EFA }, planned.layout],
    ['nothing while the plan is for the nodes of another runtime', onEfa, { ...planned, runtime: 'x' }, undefined],
    ['nothing while the plan is for any nodes, and a runtime is named', onEfa, planned, undefined],
    [
      'nothing while the plan is for a runtime, and none is named',
      aPlannedJobSpec(),
      { ...planned, runtime: EFA },
      undefined,
    ],
    ['nothing while the plan is for another number of GPUs', aPlannedJobSpec({ gpus: 8 }), planned, undefined],
    [
      'nothing after the plan of a layout that is no longer asked for',
      aPlannedJobSpec(),
      { ...planned, chosenBy: 'User' as const },
      undefined,
    ],
  ] as const)('is %s', (_sentence, spec, plan, want) => {
    expect(effectiveLayout(spec, plan)).toEqual(want);
  });

  it('takes its micro-batch from the plan, where the user gave none', () => {
    expect(effectiveSpec(aPlannedJobSpec(), planned)?.training?.microBatchSize).toBe(2);
    expect(effectiveSpec(aJobSpec(), undefined)?.training?.microBatchSize).toBe(1);
    expect(effectiveSpec(aPlannedJobSpec(), planned)).not.toHaveProperty('gpus');
  });

  it('is in one epoch what its placement says', () => {
    const spec = specOfEpoch(aPlannedJobSpec(), { layout: aLayout(), microBatchSize: 4 });
    expect([spec.layout, spec.training?.microBatchSize]).toEqual([aLayout(), 4]);
  });
});

describe('a job spec', () => {
  const { layout, ...rest } = aJobSpec();
  it.each([
    ['a layout', { ...rest, layout }, true],
    ['gpus', { ...rest, gpus: 4 }, true],
    ['both', { ...rest, layout, gpus: 4 }, false],
    ['neither', rest, false],
    ['gpus and no model', { ...rest, gpus: 4, model: undefined }, false],
  ] as const)('with %s is valid: %s', (_what, spec, want) => {
    expect(TrainingJobSpec.safeParse(spec).success).toBe(want);
  });

  it('may say "layout: auto" in a request, which is as leaving it out', () => {
    const request = { name: 'a', spec: { ...rest, layout: 'auto', gpus: 4 } };
    expect(JobCreate.parse(request).spec).toMatchObject({ gpus: 4 });
    expect(JobCreate.parse(request).spec).not.toHaveProperty('layout');
  });
});
