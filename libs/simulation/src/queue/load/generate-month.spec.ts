import { generateMonth, JOB_CLASSES } from './generate-month.ts';
import { ACME } from './published-loads.ts';

const MONTH = { nodes: 512, gpusPerNode: 8, days: 30, seed: 1 };
const HOUR_MS = 3_600_000;

describe('a generated month', () => {
  const jobs = generateMonth(MONTH);
  const nodeHours = (of: typeof jobs): number => of.reduce((sum, { pods, runMs }) => sum + (pods * runMs) / HOUR_MS, 0);

  it('is the same each time, and another one for another seed', () => {
    const day = (seed: number) => generateMonth({ ...MONTH, days: 1, seed });
    expect(day(1)).toEqual(day(1));
    expect(day(2)).not.toEqual(day(1));
  });

  it('asks for 0.8 of the node time, in the shares of its classes', () => {
    const all = 512 * 30 * 24;
    expect(nodeHours(jobs) / all).toBeCloseTo(0.8, 2);
    for (const { nodeTime, sizes } of JOB_CLASSES)
      expect(nodeHours(jobs.filter(({ pods }) => sizes.includes(pods))) / all / 0.8).toBeCloseTo(nodeTime, 2);
  });

  it('has run times whose mean over GPUs is about that of Acme', () => {
    const mean = nodeHours(jobs) / jobs.reduce((sum, { pods }) => sum + pods, 0);
    expect(mean).toBeGreaterThan(0.75 * ACME.meanGpuHours);
    expect(mean).toBeLessThan(1.25 * ACME.meanGpuHours);
  });

  it('orders jobs by submission, within its days', () => {
    const times = jobs.map(({ submitMs }) => submitMs);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect([times[0] ?? -1, times.at(-1) ?? Infinity].every((at) => at >= 0 && at < 30 * 24 * HOUR_MS)).toBe(true);
  });

  it('knows no end of a tenth of the jobs, and predicts the others too late where they end early', () => {
    const known = jobs.filter(({ predicted }) => predicted !== undefined);
    expect(1 - known.length / jobs.length).toBeCloseTo(0.1, 1);
    const late = known.filter(({ predicted, runMs }) => (predicted?.runMs ?? 0) > 2 * runMs);
    expect(late.length / known.length).toBeGreaterThan(0.15);
  });

  it('has jobs that state a tenth of what they need where liars are asked for', () => {
    const statesTooLittle = ({ predicted, runMs }: (typeof jobs)[number]): boolean =>
      (predicted?.latestMs ?? Infinity) < runMs / 3;
    const liars = generateMonth({ ...MONTH, days: 3, liars: 0.2 });
    expect(jobs.filter(statesTooLittle)).toEqual([]);
    expect(liars.filter(statesTooLittle).length / liars.length).toBeGreaterThan(0.05);
  });
});
