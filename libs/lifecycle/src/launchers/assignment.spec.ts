import { aPlacement } from '../testing/builders.ts';
import { aJob, anAttempt } from '../testing/jobs.ts';
import { assignmentOf, verifyWantedOf } from './assignment.ts';

const job = aJob();
const manifestSha256 = 'a'.repeat(64);
const resume = { checkpoint: 'c', step: 20, path: 'tiny/epoch-1/step-20', manifestSha256 };
const point = { step: 20, path: 'tiny/epoch-1/step-20', manifestSha256 };

describe('an assignment', () => {
  it('says the ranks of the pod, whatever they are, where it saves and where it begins', () => {
    const { spec: placement } = aPlacement(job, { epoch: 3, ranks: ['0,3', '1-2'], resume });
    expect(assignmentOf({ job, placement, attempt: anAttempt({ epoch: 3 }) }, 1)).toEqual({
      epoch: 3,
      incarnation: 1,
      podIndex: 1,
      podCount: 2,
      ranks: '1-2',
      worldSize: 4,
      saveDirectory: 'tiny-gpt-3f1c2b9e/epoch-3',
      resume: point,
      onFailure: 'wait',
    });
  });

  it('of ranks that an earlier release placed says them as well', () => {
    const { spec: placement } = aPlacement(job);
    const ranks = [0, 1].map((podIndex) => assignmentOf({ job, placement, attempt: anAttempt() }, podIndex)?.ranks);
    expect(ranks).toEqual(['0-1', '2-3']);
  });

  it('asks nobody to wait after a failure where the job wants new pods always', () => {
    const always = aJob({ spec: { restartPolicy: { inPlace: 'Never' } } });
    const { spec: placement } = aPlacement(always);
    const assignment = assignmentOf({ job: always, placement, attempt: anAttempt() }, 0);
    expect(assignment).not.toHaveProperty('onFailure');
  });

  it('of a spare says that it has none', () => {
    const { spec: placement } = aPlacement(job, { ranks: ['0-3', ''] });
    expect(assignmentOf({ job, placement, attempt: anAttempt() }, 1)).toMatchObject({ ranks: '' });
  });

  it('of a job that keeps no checkpoints names no directory', () => {
    const bare = aJob({ spec: { checkpoint: undefined } });
    const { spec: placement } = aPlacement(bare);
    expect(assignmentOf({ job: bare, placement, attempt: anAttempt() }, 0)).not.toHaveProperty('saveDirectory');
  });

  it.each([
    [
      'as the attempt records, not as its epoch was placed',
      { checkpoint: 'd', ...point, step: 40 },
      { ...point, step: 40 },
    ],
    ['from scratch where the attempt says so', undefined, undefined],
  ])('of a later incarnation begins %s', (_sentence, resumedFrom, want) => {
    const { spec: placement } = aPlacement(job, { resume });
    const attempt = anAttempt({ incarnation: 2, ...(resumedFrom === undefined ? {} : { resumedFrom }) });
    const assignment = assignmentOf({ job, placement, attempt }, 0);
    expect(assignment?.resume).toEqual(want);
    expect(assignment).toMatchObject({ incarnation: 2, saveDirectory: 'tiny-gpt-3f1c2b9e/epoch-1-2' });
  });

  it('is not given where the record does not say what to begin from', () => {
    const attempt = anAttempt({ incarnation: 2, resumedFrom: { checkpoint: 'c', step: 20 } });
    expect(assignmentOf({ job, placement: aPlacement(job).spec, attempt }, 0)).toBeUndefined();
  });
});

describe('the order to verify suspect checkpoints', () => {
  const { spec: placement } = aPlacement(job, { ranks: ['2-3', '0-1'] });
  const suspect = { checkpoint: 'c-40', path: 'tiny/epoch-1/step-40', manifestSha256, files: ['/c/rank-0.bin'] };
  const attempt = anAttempt({ incarnation: 2, passedOver: [{ ...suspect, step: 40, why: 'it could not be read' }] });

  it('goes to the pod of rank 0 alone, and names what to read', () => {
    const orders = [0, 1].map((podIndex) => verifyWantedOf({ placement, attempt }, podIndex));
    expect(orders).toEqual([undefined, { kind: 'verifyWanted', epoch: 1, incarnation: 2, checkpoints: [suspect] }]);
  });

  it('goes to nobody where nothing is passed over', () => {
    expect(verifyWantedOf({ placement, attempt: anAttempt() }, 1)).toBeUndefined();
  });
});
