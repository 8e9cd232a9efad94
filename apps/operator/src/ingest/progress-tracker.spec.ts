import { ProgressBoard } from '../launchers/progress-board.ts';
import { ProgressTracker } from './progress-tracker.ts';

/** As it is shown: what the tracker learned, as the board was told of it. */
function shown(tracker: ProgressTracker, totalSteps?: number) {
  const board = new ProgressBoard();
  for (const steps of tracker.takeChanged()) board.take(steps, 0);
  const progress = board.progressOf('job-1', 0, totalSteps);
  if (progress === undefined) return undefined;
  const { ageMs: _, ...shownProgress } = progress;
  return shownProgress;
}

describe('progress', () => {
  const gang = { jobUid: 'job-1', epoch: 3, incarnation: 1 };
  const report = { at: '2026-01-01T00:00:00.000Z', loss: 2, tokens: 1000, stepTimeMs: 100 };

  it('is as old as its newest step, however often the step is told', () => {
    const tracker = new ProgressTracker();
    const board = new ProgressBoard();
    const told = (step: number, atMs: number): number | undefined => {
      tracker.recordStep(gang, { ...report, step });
      for (const steps of tracker.takeChanged()) board.take(steps, atMs);
      return board.progressOf('job-1', 10_000)?.ageMs;
    };
    expect([told(10, 1_000), told(10, 2_000), told(11, 3_000)]).toEqual([9_000, 9_000, 7_000]);
  });

  it('is the newest step with a pace and a forecast', () => {
    const tracker = new ProgressTracker();
    tracker.recordStep(gang, { ...report, step: 10 });
    const atMs = Date.parse(report.at);
    expect(shown(tracker, 110)).toEqual({
      epoch: 3,
      step: 10,
      first: { step: 10, atMs },
      stepAtMs: atMs,
      loss: 2,
      tokensPerSecond: 10_000,
      etaSeconds: 10,
    });
  });

  it.each([
    [2.345_678_9, 2.3457],
    [0.000_123_456_7, 0.000_123_46],
    [-11.25, -11.25],
  ])('shows a loss of %d as %d: five digits fit into a column', (loss, want) => {
    const tracker = new ProgressTracker();
    tracker.recordStep(gang, { ...report, loss, step: 10 });
    expect(shown(tracker)?.loss).toBe(want);
  });

  it('says which incarnation made it, of every one but the first', () => {
    const tracker = new ProgressTracker();
    tracker.recordStep(gang, { ...report, step: 10 });
    expect(shown(tracker)).not.toHaveProperty('incarnation');
    tracker.recordStep({ ...gang, incarnation: 2 }, { ...report, step: 6 });
    expect(shown(tracker)).toMatchObject({ epoch: 3, incarnation: 2, step: 6 });
    tracker.recordStep({ ...gang, epoch: 4 }, { ...report, step: 7 });
    expect(shown(tracker)).not.toHaveProperty('incarnation');
  });

  it('never goes back within an incarnation, and leaves an earlier one no say', () => {
    const tracker = new ProgressTracker();
    tracker.recordStep(gang, { ...report, step: 10 });
    tracker.recordStep(gang, { ...report, step: 9 });
    tracker.recordStep({ ...gang, epoch: 2 }, { ...report, step: 50 });
    expect(shown(tracker)).toMatchObject({ epoch: 3, step: 10 });
    tracker.recordStep({ ...gang, incarnation: 2 }, { ...report, step: 6 });
    tracker.recordStep(gang, { ...report, step: 11 });
    expect(shown(tracker)).toMatchObject({ epoch: 3, incarnation: 2, step: 6 });
    tracker.recordStep({ ...gang, epoch: 4 }, { ...report, step: 5 });
    expect(shown(tracker)).toMatchObject({ epoch: 4, step: 5 });
  });

  it('keeps a loss that only one of the gang’s pods knows', () => {
    const tracker = new ProgressTracker();
    tracker.recordStep(gang, { ...report, step: 10 });
    tracker.recordStep(gang, { ...report, step: 10, loss: null, tokens: null });
    expect(shown(tracker)).toMatchObject({ loss: 2, tokensPerSecond: 10_000 });
  });

  it('keeps the last loss over steps without one, and not over one whose loss is no number', () => {
    const tracker = new ProgressTracker();
    tracker.recordStep(gang, { ...report, step: 10 });
    tracker.recordStep(gang, { ...report, step: 11, loss: null });
    expect(shown(tracker)).toMatchObject({ step: 11, loss: 2 });
    tracker.recordStep(gang, { ...report, step: 12, loss: null, notFinite: { loss: 'NaN' } });
    expect(shown(tracker)).not.toHaveProperty('loss');
  });

  it('tells what of its time was in steps, of those that were not told as of the one that was', () => {
    const tracker = new ProgressTracker();
    const step = (at: number, number: number): void => {
      tracker.recordStep(gang, { ...report, at: new Date(at).toISOString(), step: number });
    };
    step(50_000, 10);
    expect(shown(tracker)).not.toHaveProperty('pace');
    step(50_100, 11);
    step(60_000, 14);
    // Another pod of the gang.
    step(60_001, 14);
    expect(shown(tracker)).toMatchObject({ pace: { fromStep: 10, elapsedMs: 10_000, inStepsMs: 400 } });
  });
});
