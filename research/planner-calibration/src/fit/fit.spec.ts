import type { RunFacts } from '@coxswain/planner';
import { constantsFor, predictStepTime, type Calibration } from '@coxswain/planner/calibration';
import { interpretRow, readRows } from '../rows/index.ts';
import { csvOf } from '../testing/invented-rows.ts';
import { fit, unfitted, type FitOptions, type FitRow } from './fit.ts';

const OPTIONS: FitOptions = {
  fittedOn: 'invented rows',
  iterations: 20,
  sd: { gpus: 0.3, siblings: 0.1, families: 0.3, stacks: 0.3 },
  releasesMove: ['compute'],
  noise: 0.02,
  freedom: 3,
};

/** Runs of two GPU types and two releases of one engine, of several sizes. */
const RUNS: readonly RunFacts[] = readRows(
  csvOf(
    ['A100-SXM4-80GB', 'H100-SXM5-80GB'].flatMap((gpu, g) =>
      ['2021', '2022'].flatMap((release, r) =>
        [1, 2, 4, 8].map((mbs) => ({
          id: `invented-${g}${r}${mbs}`,
          gpu,
          engine: `Megatron-LM (${release})`,
          mbs: String(mbs),
          gbs: '64',
        })),
      ),
    ),
  ),
).flatMap((row) => {
  const read = interpretRow(row);
  return 'run' in read ? [read.run] : [];
});

const secondsOf = (run: RunFacts, calibration: Calibration): number =>
  predictStepTime(run, constantsFor(calibration, run.cluster.gpu.silicon, run.stack)).stepTimeS;

/** What would be measured if one GPU type were `factor` slower at matrix products. */
function measuredWith(calibration: Calibration): readonly FitRow[] {
  return RUNS.map((run) => ({ run, measuredS: secondsOf(run, calibration), weight: 1 }));
}

const worstError = (rows: readonly FitRow[], calibration: Calibration): number =>
  Math.max(...rows.map(({ run, measuredS }) => Math.abs(secondsOf(run, calibration) / measuredS - 1)));

describe('a fit', () => {
  const slowGpu: Calibration = { ...unfitted(), gpus: { ga100: { compute: 1.3 } } };

  it('has runs to learn from', () => {
    expect(RUNS).toHaveLength(16);
  });

  it('changes nothing where the start explains everything', () => {
    const fitted = fit(measuredWith(unfitted()), OPTIONS);
    expect(worstError(measuredWith(unfitted()), fitted)).toBeLessThan(1e-6);
  });

  it('finds that one GPU type is slower, and blames the GPU for it', () => {
    const rows = measuredWith(slowGpu);
    const fitted = fit(rows, OPTIONS);
    expect(worstError(rows, fitted)).toBeLessThan(0.02);
    expect(fitted.gpus['ga100']?.compute ?? 1).toBeGreaterThan(fitted.gpus['gh100']?.compute ?? 1);
  });

  it('takes a chip that it never saw for its sibling', () => {
    const gpu = (run: RunFacts): RunFacts['cluster']['gpu'] => ({ ...run.cluster.gpu, silicon: 'gb100' });
    const runs = RUNS.filter((run) => run.cluster.gpu.silicon === 'gh100').map((run) => ({
      ...run,
      cluster: { ...run.cluster, gpu: gpu(run) },
    }));
    const slow: Calibration = { ...unfitted(), gpus: { gb100: { compute: 1.3 } } };
    const fitted = fit(
      runs.map((run) => ({ run, measuredS: secondsOf(run, slow), weight: 1 })),
      OPTIONS,
    );
    const { gb100 = {}, gb110 = {} } = fitted.gpus;
    expect(gb110.compute ?? 1).toBeGreaterThan(1);
    expect(gb110.compute ?? 1).toBeLessThanOrEqual(gb100.compute ?? 1);
  });

  it('gives the same constants for the same rows', () => {
    const rows = measuredWith(slowGpu);
    expect(fit(rows, OPTIONS)).toEqual(fit(rows, OPTIONS));
  });

  it('is not led astray by one wild row', () => {
    const rows = measuredWith(slowGpu).map((row, index) =>
      index === 0 ? { ...row, measuredS: row.measuredS * 10 } : row,
    );
    expect(worstError(rows.slice(1), fit(rows, OPTIONS))).toBeLessThan(0.05);
  });

  it('reports an objective that never grows', () => {
    const objectives: number[] = [];
    fit(measuredWith(slowGpu), { ...OPTIONS, onIteration: (_iteration, objective) => objectives.push(objective) });
    expect([...objectives].sort((a, b) => b - a)).toEqual(objectives);
  });
});
