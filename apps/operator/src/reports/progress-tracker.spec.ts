import { ProgressTracker } from './progress-tracker.ts';

describe('progress', () => {
  const gang = { jobUid: 'job-1', epoch: 3 };
  const report = { loss: 2, tokens: 1000, stepTimeMs: 100 };

  it('is the newest step with a pace and a forecast', () => {
    const tracker = new ProgressTracker();
    tracker.recordStep(gang, { ...report, step: 10 });
    expect(tracker.progressOf('job-1', 110)).toEqual({
      epoch: 3,
      step: 10,
      loss: 2,
      tokensPerSecond: 10_000,
      etaSeconds: 10,
    });
  });

  it('never goes back within an epoch, and leaves an earlier epoch no say', () => {
    const tracker = new ProgressTracker();
    tracker.recordStep(gang, { ...report, step: 10 });
    tracker.recordStep(gang, { ...report, step: 9 });
    tracker.recordStep({ ...gang, epoch: 2 }, { ...report, step: 50 });
    expect(tracker.progressOf('job-1')).toMatchObject({ epoch: 3, step: 10 });
    tracker.recordStep({ ...gang, epoch: 4 }, { ...report, step: 5 });
    expect(tracker.progressOf('job-1')).toMatchObject({ epoch: 4, step: 5 });
  });

  it('keeps a loss that only one of the gang’s pods knows', () => {
    const tracker = new ProgressTracker();
    tracker.recordStep(gang, { ...report, step: 10 });
    tracker.recordStep(gang, { step: 10, loss: null, tokens: null, stepTimeMs: 100 });
    expect(tracker.progressOf('job-1')).toMatchObject({ loss: 2, tokensPerSecond: 10_000 });
  });
});
