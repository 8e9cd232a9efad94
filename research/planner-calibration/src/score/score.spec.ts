import { plannedMemory } from '../testing/invented-predictor.ts';
import { csvOf } from '../testing/invented-rows.ts';
import { readRows } from '../rows/index.ts';
import type { Predictor } from './predictor.ts';
import { reportLines } from './report.ts';
import { scoreRows, type ScoredRows } from './score-rows.ts';
import { summaryLine, summaryOf, type Summary } from './summary.ts';

const AB = new Set(['A', 'B']);
const MOE = { experts: '8', topk: '2', model: 'MoE-invented' };

/** Two seconds for every run with one pipeline stage, one for others. */
const invented: Predictor = { stepTimeS: (run) => (run.candidate.pipeline === 1 ? 2 : 1), memory: plannedMemory };

function scored(changes: readonly Readonly<Record<string, string>>[], predictor = invented): ScoredRows {
  return scoreRows(readRows(csvOf(changes)), predictor, AB);
}

function summary(changes: readonly Readonly<Record<string, string>>[], predictor = invented): Summary {
  return summaryOf(scored(changes, predictor));
}

describe('the score', () => {
  it('keeps dense models and mixtures of experts apart', () => {
    const { time, dense, moe } = summary([{ iter_time_s: '1' }, { iter_time_s: '2' }, { ...MOE, iter_time_s: '4' }]);
    expect([time.n, dense.n, moe.n]).toEqual([3, 2, 1]);
    expect([dense.medianAbsPct, moe.medianAbsPct]).toEqual([25, 75]);
    expect(dense.biasPct).toBe(-25);
  });

  it('counts only rows of the qualities asked for that hold an answer', () => {
    const changes = [{}, { quality: 'C' }, { iter_time_s: '' }, { iter_time_s: '', mem_per_gpu_gib: '2' }];
    const { time, memory, unpredicted } = summary(changes);
    expect([time.n, memory.n, unpredicted.n]).toEqual([1, 1, 0]);
  });

  it.each([
    ['peak allocated', 2],
    ['rank-0 peak allocated', 2],
    ['peak reserved', 4],
    ['nvidia-smi style GB as noted', 6],
    ['GPU memory GB as printed', 6],
    ['peak (paper prints GB)', 2],
    ['', 2],
  ])('compares memory of kind "%s" with %d GiB', (mem_kind, gib) => {
    expect(scored([{ mem_per_gpu_gib: '1', mem_kind }]).predicted[0]?.memory?.predicted).toBe(gib);
  });

  it('counts verdicts that are wrong', () => {
    const label = { iter_time_s: '', notes: 'OUT OF MEMORY (feasibility label)' };
    const changes = [label, { ...label, mbs: '8' }, { mbs: '8' }, { mbs: '1' }, { mbs: '2' }];
    expect(summary(changes).memory).toMatchObject({ outOfMemory: 2, falseFits: 1, ran: 3, falseDoesNotFit: 1 });
  });

  it('says how much slower the layout predicted fastest was than the best', () => {
    const changes = [
      { pp: '2', dp: '4', iter_time_s: '3' },
      { pp: '1', dp: '8', iter_time_s: '2' },
      { pp: '2', dp: '4', iter_time_s: '5' },
      { pp: '2', dp: '4', gbs: '128', iter_time_s: '9' },
    ];
    const { regret } = summary(changes);
    expect(regret).toMatchObject({ n: 1, layouts: 2 });
    expect(regret.medianPct).toBeCloseTo(100);
  });

  it('never compares layouts of different software or models', () => {
    const changes = [
      {},
      { pp: '1', dp: '8', engine: 'Megatron-LM (2022)' },
      { pp: '1', dp: '8', heads: '32', kv_heads: '32' },
    ];
    expect(summary(changes).regret).toMatchObject({ n: 0, meanPct: null });
  });

  it('counts reasons of rows that are not predicted', () => {
    const failing: Predictor = {
      ...invented,
      stepTimeS: (run) => {
        if (run.candidate.tensor === 1) throw new Error('too small');
        return run.candidate.tensor === 4 ? NaN : 1;
      },
    };
    const changes = [{ gpu: 'abacus' }, { gpu: 'abacus' }, { tp: '' }, { tp: '1', dp: '8' }, { tp: '4', dp: '2' }, {}];
    expect(summary(changes, failing).unpredicted).toEqual({
      n: 5,
      reasons: {
        'GPU "abacus" is not known': 2,
        'model: the predicted time is not a positive number': 1,
        'model: too small': 1,
        'tp is not published': 1,
      },
      fullLayout: 5,
      fullLayoutPredicted: 1,
    });
  });

  it('is one line of JSON, with nulls where nothing was predicted', () => {
    const line = summaryLine(summary([]));
    expect(line).not.toContain('\n');
    const nothing = {
      n: 0,
      medianAbsPct: null,
      meanAbsPct: null,
      biasPct: null,
      p90AbsPct: null,
      within10: null,
      within20: null,
    };
    expect(JSON.parse(line)).toEqual({
      time: nothing,
      memory: { ...nothing, outOfMemory: 0, falseFits: 0, ran: 0, falseDoesNotFit: 0 },
      dense: nothing,
      moe: nothing,
      regret: { n: 0, layouts: 0, medianPct: null, meanPct: null, p90Pct: null, worstPct: null },
      paired: { jobs: 0, pairs: 0, medianPct: null },
      unpredicted: { n: 0, reasons: {}, fullLayout: 0, fullLayoutPredicted: 0 },
    });
  });

  it('survives absurd measurements', () => {
    const { time } = summary([{ iter_time_s: '1e300' }, { iter_time_s: '1e-300' }]);
    expect(time.n).toBe(2);
    expect(JSON.parse(summaryLine(summary([{ iter_time_s: '5e-324' }])))).toHaveProperty('time.n', 1);
  });
});

describe('a prediction', () => {
  it('does not depend on what was measured, on the id or on the source', () => {
    const other = {
      id: 'other-9',
      source: 'elsewhere',
      iter_time_s: '77',
      mem_per_gpu_gib: '5',
      mem_kind: 'peak reserved',
    };
    const runs = [{}, other].map((change) => scored([change]).predicted[0]?.run);
    expect(runs[0]).toEqual(runs[1]);
  });
});

describe('the report', () => {
  it('shows groups, memory, regret, reasons, rules and the worst rows', () => {
    const rows = scored([
      { id: 'first-source-1' },
      { id: 'second-1', gpu: 'H100-SXM5-80GB', iter_time_s: '10', mem_per_gpu_gib: '2', mem_kind: 'peak allocated' },
      { id: 'second-2', tp: '' },
    ]);
    const files = new Map([['first-source-1', 'one.csv']]);
    const text = reportLines(rows, summaryOf(rows), {
      by: ['source', 'gpu', 'stack', 'kind', 'precision', 'file'],
      worst: 1,
      files,
    }).join('\n');
    for (const part of [
      'first-source',
      'h100-sxm5-80gb',
      'megatron-lm 2021',
      'dense',
      'one.csv',
      'peak allocated',
      'tp is not published',
      'flash attention by engine',
      'second-1',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toMatch(/second\s+1\s+90\.0/);
    expect(text).not.toMatch(/ $/m);
  });

  it('is readable when nothing was scored', () => {
    const rows = scored([]);
    expect(reportLines(rows, summaryOf(rows), { by: ['source'], worst: 5, files: new Map() }).join('\n')).toContain(
      'Not predicted: 0 rows.',
    );
  });
});
