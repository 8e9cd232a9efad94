import { CALIBRATION, constantsFor, predictStepTime } from '@coxswain/planner/calibration';
import { readMeasurements, filesOrRepository } from '../rows/measurement-files.ts';
import { againstPublished, publishedJobs } from './against-published.ts';

const { rows } = readMeasurements(filesOrRepository([]));

describe('published jobs', () => {
  const jobs = publishedJobs(rows);

  it("are those of NVIDIA's own lines, each job once", () => {
    expect(jobs.length).toBeGreaterThan(50);
    expect(jobs.every(({ run }) => /^(megatron-bridge|nemo)/.test(run.stack))).toBe(true);
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(jobs.length);
  });

  it('leave out adapters and dropped tokens, which compute something else', () => {
    expect(jobs.filter(({ run }) => run.loraRank > 0 || run.candidate.expertCapacity !== undefined)).toEqual([]);
  });

  it('are priced in the number formats that answers are: attention in 8 bits is part of no layout', () => {
    const quantised = jobs.filter(({ run }) => run.alsoIn8Bits?.attention === true);
    expect(quantised.length).toBeGreaterThan(0);
    for (const { run, publishedS } of quantised) {
      const constants = constantsFor(CALIBRATION, run.cluster.gpu.silicon, run.stack);
      expect(publishedS).toBeGreaterThan(predictStepTime(run, constants).stepTimeS);
    }
  });

  it('are compared by prediction: the answer to a small one is no more than a little behind, and what it lacks is named', () => {
    const small = jobs.find(({ run }) => run.cluster.gpus === 8 && run.model.experts === undefined);
    if (small === undefined) throw new Error('no dense job on 8 GPUs is among the rows');
    const { answeredS, behindPct, publishedS } = againstPublished(small);
    expect(answeredS).toBeGreaterThan(0);
    expect(behindPct).toBeCloseTo(100 * ((answeredS ?? 0) / publishedS - 1), 9);
    expect(behindPct).toBeLessThan(25);
  });
});
