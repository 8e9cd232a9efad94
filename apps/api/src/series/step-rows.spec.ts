import type { StepFrame } from '@coxswain/api-types';
import { aStepFrame } from './testing/a-step-frame.ts';
import { latestPerRank, mergeSteps } from './step-rows.ts';

describe('the rows of steps', () => {
  it('are one per step of an attempt of a job', () => {
    const frames = [
      aStepFrame({ step: 1 }),
      aStepFrame({ step: 2 }),
      aStepFrame({ step: 2, epoch: 2 }),
      aStepFrame({ step: 2, jobUid: 'other' }),
      aStepFrame({ step: 2 }),
    ];
    expect(mergeSteps(frames).map(({ jobUid, epoch, step }) => `${jobUid}/${epoch}/${step}`)).toEqual([
      'uid/1/1',
      'uid/1/2',
      'uid/2/2',
      'other/1/2',
    ]);
  });

  it.each<[string, Partial<StepFrame>, Partial<StepFrame>, Partial<StepFrame>]>([
    ['what one pod knows fills what another does not', { loss: null }, { loss: 4.5 }, { loss: 4.5 }],
    [
      'what is known is not taken back',
      { loss: 4.5, tokens: 10 },
      { loss: null, tokens: null },
      { loss: 4.5, tokens: 10 },
    ],
    ['the first to know is believed', { gradNorm: 1 }, { gradNorm: 2 }, { gradNorm: 1 }],
    ['a loss of 0 is a loss', { loss: 0 }, { loss: 4.5 }, { loss: 0 }],
    ['the slowest pod decides how long it took', { stepTimeMs: 200 }, { stepTimeMs: 90 }, { stepTimeMs: 200 }],
    ['the slowest pod decides, in either order', { stepTimeMs: 90 }, { stepTimeMs: 200 }, { stepTimeMs: 200 }],
    [
      'it was when it was first told',
      { at: '2026-01-01T00:00:00Z' },
      { at: '2026-01-01T00:00:09Z' },
      { at: '2026-01-01T00:00:00Z' },
    ],
  ])('%s', (_sentence, one, other, want) => {
    const rows = mergeSteps([aStepFrame(one), aStepFrame(other)]);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject(want);
  });

  it('hold nothing of who said it: that is no column', () => {
    expect(Object.keys(mergeSteps([aStepFrame()])[0] ?? {}).sort()).toEqual([
      'at',
      'epoch',
      'gradNorm',
      'jobUid',
      'learningRate',
      'loss',
      'step',
      'stepTimeMs',
      'tokens',
    ]);
  });
});

describe('the last step of a rank', () => {
  const ranks = [{ rank: 0, stepTimeMs: 90, timingsMs: { forward: 40 } }];
  it.each<[string, readonly Partial<StepFrame>[], object]>([
    ['is the highest of the batch', [{ step: 5 }, { step: 6 }], { epoch: 1, step: 6 }],
    ['is the highest, however the frames come', [{ step: 6 }, { step: 5 }], { epoch: 1, step: 6 }],
    ['is of the newest attempt, though it is lower', [{ step: 9 }, { epoch: 2, step: 5 }], { epoch: 2, step: 5 }],
    ['is of the newest attempt, however the frames come', [{ epoch: 2, step: 5 }, { step: 9 }], { epoch: 2, step: 5 }],
    [
      'is told later, though it is lower, where the ranks were started again in their pods',
      [{ step: 60 }, { step: 41, at: '2026-01-01T00:05:00Z' }],
      { epoch: 1, step: 41 },
    ],
    [
      'is the highest, though its time is earlier, where another operator’s clock is behind',
      [{ step: 6, at: '2026-01-01T01:00:00Z' }, { step: 7 }],
      { epoch: 1, step: 7 },
    ],
  ])('%s', (_sentence, frames, want) => {
    const rows = latestPerRank(frames.map((frame) => aStepFrame({ ranks, ...frame })));
    expect(rows).toMatchObject([{ rank: 0, timingsMs: { forward: 40 }, ...want }]);
  });

  it('is one for each rank of each job', () => {
    const two = [0, 1].map((rank) => ({ rank, stepTimeMs: 1, timingsMs: {} }));
    const frames = [aStepFrame({ ranks: two }), aStepFrame({ ranks: two, jobUid: 'other' }), aStepFrame({ ranks: [] })];
    expect(latestPerRank(frames).map(({ jobUid, rank }) => [jobUid, rank])).toEqual([
      ['uid', 0],
      ['uid', 1],
      ['other', 0],
      ['other', 1],
    ]);
  });
});
