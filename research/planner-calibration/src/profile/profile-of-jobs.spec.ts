import { type MeasuredJob, profileOfJobs } from './profile-of-jobs.ts';

const job = (engine: string, ratio: number): MeasuredJob => ({ engine, predictedMs: 100, measuredMs: 100 * ratio });
const factorsOf = (...jobs: MeasuredJob[]): Record<string, number> =>
  Object.fromEntries(profileOfJobs('here', jobs).engines.map(({ engine, factor }) => [engine, factor]));

describe('a profile of jobs', () => {
  it('says nothing where no job was measured', () => {
    expect(profileOfJobs('here', []).profile).toBeUndefined();
  });

  it('leaves jobs out whose times are none', () => {
    expect(profileOfJobs('here', [{ engine: 'a', predictedMs: 0, measuredMs: 5 }]).profile).toBeUndefined();
  });

  it('gives each family of engines a factor of its own', () => {
    const factors = factorsOf(job('megatron-lm 0.15', 1.2), job('megatron-lm 0.16', 1.2), job('torchtitan', 0.8));
    expect(factors['megatron-lm']).toBeCloseTo(1.2, 1);
    expect(factors['torchtitan']).toBeCloseTo(0.82, 1);
  });

  it('believes many jobs more than one', () => {
    const [one, many] = [factorsOf(job('a', 2)), factorsOf(...Array.from({ length: 20 }, () => job('a', 2)))];
    expect(one['a']).toBeLessThan(many['a'] ?? 0);
    expect(many['a']).toBeCloseTo(2, 1);
  });

  it('tells how far off each job is by the others, and nothing of that for a single one', () => {
    const [alone] = profileOfJobs('here', [job('a', 1.5)]).engines;
    expect(alone?.medianLeftOutPct).toBeUndefined();
    const [several] = profileOfJobs('here', [job('a', 1.5), job('a', 1.5), job('a', 1.5)]).engines;
    expect(several?.medianBeforePct).toBeCloseTo(33.3, 1);
    expect(several?.medianLeftOutPct).toBeLessThan(5);
  });
});
