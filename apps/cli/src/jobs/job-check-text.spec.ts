import type { JobCheck } from '@coxswain/api-types';
import { checkText, isInTheWay } from './job-check-text.ts';

const waits = {
  reason: 'WaitingForCapacity',
  field: 'spec.gpus',
  value: '4',
  rule: 'Needs 4 GPUs; 2 of 16 GPUs are free.',
  change: 'None is needed if you wait for GPUs.',
  effect: 'Waits',
} as const;
const never = {
  reason: 'ObjectMissing',
  field: 'spec.data.claimName',
  value: 'corpse',
  rule: 'PersistentVolumeClaim corpse does not exist.',
  change: 'Create corpse.',
  effect: 'NeedsChange',
} as const;
const verdict = { reason: 'WaitingForCapacity', condition: 'Placed', sentence: waits.rule, change: null, object: null };
const check = (more: Partial<JobCheck>): JobCheck => ({
  ...{ verdict, obstacles: [waits], checked: ['spec'], notChecked: [], gpusWanted: 4 },
  gpus: { total: 16, free: 2, types: [] },
  ...more,
});

describe('the check of a job', () => {
  it.each<[string, Partial<JobCheck>, boolean]>([
    ['lets a job pass that nothing stops', { verdict: null, obstacles: [] }, false],
    ['lets a job pass that only waits', {}, false],
    ['stops a job that needs a change, though it waits too', { obstacles: [never, waits] }, true],
    ['of an earlier API lets a job pass that only waits', { obstacles: undefined }, false],
    [
      'of an earlier API stops a job that is larger than the cluster',
      { obstacles: undefined, gpus: { total: 2, free: 2, types: [] } },
      true,
    ],
    [
      'of an earlier API stops a job that lacks an object',
      { obstacles: undefined, verdict: { ...verdict, reason: 'ObjectMissing' } },
      true,
    ],
  ])('%s', (_sentence, more, want) => {
    expect(isInTheWay(check(more))).toBe(want);
  });

  it('prints each obstacle with field, value, rule and what to do', () => {
    const text = checkText(check({ obstacles: [never, waits], verdict: { ...verdict, reason: 'ObjectMissing' } }));
    expect(text.split('\n').slice(0, 7)).toEqual([
      'The job would not start as it is: ObjectMissing',
      '- spec.data.claimName: corpse (needs a change)',
      '  PersistentVolumeClaim corpse does not exist.',
      '  What to do: Create corpse.',
      '- spec.gpus: 4 (waits)',
      '  Needs 4 GPUs; 2 of 16 GPUs are free.',
      '  What to do: None is needed if you wait for GPUs.',
    ]);
  });

  it('warns of a wait', () => {
    expect(checkText(check({}))).toMatch(/^Warning: WaitingForCapacity\n- spec.gpus: 4 \(waits\)/);
  });
});
