/** What does an attempt record of its restore? */
import type { Attempt, Checkpoint } from '@coxswain/api-types';
import { aLayout } from '@coxswain/layout/testing';
import { recordOf } from '../record/job-record.ts';
import { aCheckpoint } from '../testing/index.ts';
import { aJob, anAttempt, aStatus } from '../testing/jobs.ts';
import { lossBeforeRestore, restoreOf } from './record-restore.ts';

type Holds = NonNullable<NonNullable<Checkpoint['status']>['contents']>['holds'];

const FROM = { checkpoint: 'save-20', step: 20 };
const dp2 = aLayout({ dataParallelDegree: 2 });
const AT = '2026-01-01T00:19:00Z';

function aSave(format: string, holds: Holds | undefined): Checkpoint {
  const saved = aCheckpoint(aJob(), { spec: { format, layout: aLayout({ dataParallelDegree: 4 }) } });
  const contents = holds === undefined ? {} : { contents: { holds, degrees: { dataParallelDegree: 4 } } };
  const status = { state: 'Complete', ...contents } as unknown as NonNullable<Checkpoint['status']>;
  return { ...saved, metadata: { ...saved.metadata, name: 'save-20' }, status };
}

describe('the first step after a restore records', () => {
  it.each<[what: string, save: Checkpoint, notKept: readonly RegExp[]]>([
    [
      'that a loader position by rank is lost on fewer ranks',
      aSave('dcp', { randomStates: true, dataLoader: true }),
      [/position in the data is stored for 4 data-parallel ranks, and 2 go on/],
    ],
    [
      'that nothing says what was kept',
      aSave('dcp', undefined),
      [
        /^Its files say no degrees/,
        /^Nothing in its files shows whether they hold random states and the position in the data\.$/,
      ],
    ],
    ['nothing if nothing is lost', aSave('torch_dist', { randomStates: true }), []],
  ])('%s', (_what, save, notKept) => {
    const attempt = anAttempt({ resumedFrom: FROM, layout: dp2, restore: { lossBefore: 2, stepBefore: 35 } });
    const { restore } = restoreOf(attempt, { step: 21, loss: 2.5 }, { checkpoints: [save] });
    expect(restore).toMatchObject({ lossBefore: 2, stepBefore: 35, lossAfter: 2.5, stepAfter: 21 });
    expect(restore?.notKept).toEqual(notKept.map((each) => expect.stringMatching(each) as string));
  });

  it('that DeepSpeed seeds random states anew and keeps no position, at the layout that saved', () => {
    const attempt = anAttempt({ resumedFrom: FROM, layout: aLayout({ dataParallelDegree: 4 }) });
    const save = aSave('deepspeed', { randomStates: false, dataLoader: false });
    expect(restoreOf(attempt, { step: 21 }, { checkpoints: [save] }).restore).toEqual({
      notKept: [
        expect.stringMatching(/generators are seeded anew/) as string,
        expect.stringMatching(/^It holds no position in the data/) as string,
      ],
    });
  });

  it('nothing for a run from scratch, and no words on a checkpoint whose object is gone', () => {
    expect(restoreOf(anAttempt(), { step: 1, loss: 3 }, { checkpoints: [] })).toEqual({});
    const gone = restoreOf(anAttempt({ resumedFrom: FROM }), { step: 21, loss: NaN }, { checkpoints: [] });
    expect(gone).toEqual({ restore: {} });
  });
});

describe('the loss before a restore', () => {
  it.each<[what: string, about: { attempt?: Partial<Attempt>; loss?: number }, want: Attempt['restore']]>([
    ['is the last one that was reported', { loss: 2 }, { lossBefore: 2, stepBefore: 35 }],
    [
      'is that of the run before if the last run reported none',
      { attempt: { restore: { lossBefore: 3, stepBefore: 9 } } },
      { lossBefore: 3, stepBefore: 9 },
    ],
    [
      'is the first one after the restore before, if that is all there is',
      { attempt: { restore: { lossBefore: 3, stepBefore: 9, lossAfter: 4, stepAfter: 8 } } },
      { lossBefore: 4, stepBefore: 8 },
    ],
    ['is unknown if none was ever reported', {}, undefined],
  ])('%s', (_what, { attempt = {}, loss }, want) => {
    const progress = loss === undefined ? {} : { progress: { step: 35, loss, reportedAt: AT } };
    const record = recordOf(aJob({ status: aStatus({ attempts: [anAttempt(attempt)], ...progress }) }));
    expect(lossBeforeRestore(record).restore).toEqual(want);
  });
});
