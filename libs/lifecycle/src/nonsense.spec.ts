import type { TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import { aCheckpoint, aPlacement, observe } from './testing/index.ts';
import { aJob, aRunningJob, kinds, settled, summaryOfCondition } from './testing/jobs.ts';

describe('nonsense in a resource', () => {
  const poison: readonly unknown[] = [
    null,
    7,
    'x',
    [],
    {},
    { epoch: 'two' },
    { attempts: [null, { epoch: -1 }], conditions: 'none' },
    { notBefore: 'never', restarts: { total: 1e99 } },
    { ['__proto__']: { epoch: 3 } },
  ];
  it.each(poison)('status %j counts as absent', (status) => {
    const job = { ...aJob(), status: status as TrainingJobStatus };
    expect(kinds(settled(observe({ job })).actions)).toEqual(['createPlacement']);
  });

  it.each(poison)('spec %j is refused in a sentence and nothing is done', (spec) => {
    const job = { ...aJob(), spec: spec as TrainingJob['spec'] };
    const { status, actions } = settled(observe({ job }));
    expect(summaryOfCondition(status, 'Accepted')).toBe('False/SpecInvalid');
    expect(actions).toEqual([]);
  });

  it.each(poison)('placements and checkpoints with spec %j are passed over', (spec) => {
    const job = aJob();
    const placement = { ...aPlacement(job), spec: spec as ReturnType<typeof aPlacement>['spec'] };
    const checkpoint = { ...aCheckpoint(job), spec: spec as ReturnType<typeof aCheckpoint>['spec'] };
    const { actions } = settled(observe({ job, placements: [placement], checkpoints: [checkpoint] }));
    expect(kinds(actions)).toEqual(['createPlacement']);
  });

  it('a spec that became unreadable does not stop a gang that runs', () => {
    const observed = aRunningJob({});
    const job = { ...observed.job, spec: {} as TrainingJob['spec'] };
    expect(settled({ ...observed, job }).actions).toEqual([]);
  });
});
