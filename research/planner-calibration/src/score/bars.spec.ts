import { CALIBRATION } from '@coxswain/planner/calibration';
import { filesOrRepository, readMeasurements } from '../rows/measurement-files.ts';
import { plannerPredictor } from './predictor.ts';
import { scoreRows } from './score-rows.ts';
import { summaryOf, type Summary } from './summary.ts';

/** The shipped constants on the published runs of the repository: a change of model, rules or constants that loses accuracy fails here. */
const [published, singleNode] = filesOrRepository([]).map((file) =>
  summaryOf(scoreRows(readMeasurements([file]).rows, plannerPredictor(CALIBRATION), new Set(['A', 'B']))),
) as [Summary, Summary];

describe('on the published runs of the repository', () => {
  it.each<[string, number | null, number]>([
    ['step times of dense models, median |error| in %', published.dense.medianAbsPct, 3.5],
    ['step times of dense models, 90th percentile', published.dense.p90AbsPct, 12],
    ['step times of models with experts, median', published.moe.medianAbsPct, 4],
    ['step times of models with experts, 90th percentile', published.moe.p90AbsPct, 17],
    ['step times on one node, median', singleNode.dense.medianAbsPct, 3.5],
    ['step times on one node, 90th percentile', singleNode.dense.p90AbsPct, 13],
    ['memory of all kinds, median', published.memory.medianAbsPct, 2],
    ['runs that ran out of memory and are said to fit', published.memory.falseFits, 0],
    ['share of runs that ran and are said not to fit', published.memory.falseDoesNotFit / published.memory.ran, 0.02],
    ['regret of the layout predicted fastest, median in %', published.regret.medianPct, 1],
  ])('%s: %d is at most %d', (_what, got, most) => {
    expect(got).not.toBeNull();
    expect(got).toBeLessThanOrEqual(most);
  });

  it.each([
    ['published', published],
    ['single-node', singleNode],
  ] as const)('at least nine in ten %s rows with a full layout are predicted', (_which, { unpredicted }) => {
    expect(unpredicted.fullLayoutPredicted / unpredicted.fullLayout).toBeGreaterThan(0.9);
  });

  it('rows labelled out of memory are among them', () => {
    expect(published.memory.outOfMemory).toBeGreaterThan(5);
  });
});
