import { aJob, aStepPoint } from '@coxswain/api-types/testing';
import { withPoints } from './curve.ts';
import { liveProgress } from './live-progress.ts';

const curveTo = (step: number): ReturnType<typeof withPoints> =>
  withPoints(new Map(), [aStepPoint({ step: 1 }), aStepPoint({ step, loss: 2, stepTimeMs: 500 })]);
const written = {
  step: 40,
  totalSteps: 100,
  loss: 3,
  tokensPerSecond: 9,
  etaSeconds: 7,
  reportedAt: '2026-01-01T00:00:00Z',
};

describe('how far a job is', () => {
  it.each([
    ['is unknown before the first step', aJob(), new Map(), undefined],
    ['is what its newest step says', aJob(), curveTo(60), { step: 60, totalSteps: 100, loss: 2, etaSeconds: 20 }],
    [
      'is what is written when that is further',
      aJob({ progress: written }),
      curveTo(20),
      { step: 40, loss: 3, etaSeconds: 7 },
    ],
    [
      'is what its newest step says when that is further',
      aJob({ progress: written }),
      curveTo(60),
      { step: 60, loss: 2 },
    ],
    [
      'has no end in sight while it does not run',
      aJob({ state: 'Suspended' }),
      curveTo(60),
      { step: 60, etaSeconds: null },
    ],
    [
      'has no end in sight either if an end was written before it stopped',
      aJob({ state: 'Suspended', progress: written }),
      curveTo(20),
      { step: 40, loss: 3, etaSeconds: null },
    ],
    [
      'has no end in sight when it failed',
      aJob({ state: 'Failed', progress: written }),
      new Map(),
      { step: 40, etaSeconds: null },
    ],
  ])('%s', (_sentence, job, curve, want) => {
    const seen = liveProgress(job, curve);
    if (want === undefined) expect(seen).toBeUndefined();
    else expect(seen).toMatchObject(want);
  });

  it('has the loss of the newest step that has one', () => {
    const curve = withPoints(curveTo(60), [aStepPoint({ step: 61, loss: null })]);
    expect(liveProgress(aJob(), curve)).toMatchObject({ step: 61, loss: 2 });
  });

  it('needs no total: a command’s steps are its own business', () => {
    const job = aJob({
      spec: { engine: { name: 'command', image: 'x', command: ['x'] }, training: undefined, model: undefined },
    });
    expect(liveProgress(job, curveTo(60))).toMatchObject({ step: 60, totalSteps: null, etaSeconds: null });
  });
});
