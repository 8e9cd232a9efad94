import { generateTrace } from '../testing/generate-trace.ts';
import { HOSTILE, type Scenario, SCENARIOS } from '../testing/scenario.ts';
import type { TraceRecord } from '../trace/records.ts';
import type { Verdict } from '../verdict/verdict.ts';
import { watchHealth } from './watch-health.ts';

const SMALL = {
  layout: { tensorParallelDegree: 2, pipelineParallelDegree: 4, dataParallelDegree: 8 },
  microBatches: 8,
  ranksPerNode: 8,
  durationMs: 900_000,
  onsetMs: 300_000,
};

/** What is so, and blames nobody. */
const STATEMENTS: readonly string[] = ['blind', 'slowJob'];

function judged(
  scenario: Scenario,
  seed = 1,
): { readonly verdicts: readonly Verdict[]; readonly blamed: readonly number[] } {
  const { header, records, truth } = generateTrace(scenario, seed, SMALL);
  const watch = watchHealth(header);
  const verdicts: Verdict[] = [];
  for (const record of records) verdicts.push(...watch.observe(record));
  return { verdicts, blamed: truth.ranks.flat() };
}

const named = (name: string): Scenario => {
  const scenario = [...SCENARIOS, ...HOSTILE].find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  return scenario;
};

describe('of a generated trace', () => {
  it.each([
    'slow compute 10 %',
    'slow compute 50 %',
    'slow link',
    'data stall of a host',
    'data stall of storage',
    'uneven pipeline',
    'collection pauses',
    'sequence imbalance, lengths told',
    'sequence imbalance, not told',
  ])('the fault is named, and nothing else (%s)', (name) => {
    const scenario = named(name);
    const { verdicts, blamed } = judged(scenario);
    const findings = verdicts.filter(({ kind }) => !STATEMENTS.includes(kind));
    expect(findings.length).toBeGreaterThan(0);
    expect(new Set(findings.map(({ kind }) => kind))).toEqual(new Set(scenario.expected));
    expect(findings.flatMap(({ ranks }) => ranks).filter((rank) => !blamed.includes(rank))).toEqual([]);
  });

  it.each(['clean', 'clean, noise 3 %', 'uniformly slow'])('nobody is blamed (%s)', (name) => {
    for (const seed of [1, 2]) {
      const findings = judged(named(name), seed).verdicts.filter(({ kind }) => !STATEMENTS.includes(kind));
      expect(findings).toEqual([]);
    }
  });
});

describe('a loss', () => {
  const step = (number: number, loss: number | 'NaN'): TraceRecord => ({
    kind: 'step',
    atMs: 100 * number,
    step: number,
    loss,
    gradNorm: null,
    ranks: [],
  });
  const { header } = generateTrace(named('clean'), 1, { ...SMALL, durationMs: 5_000, onsetMs: 1_000 });

  it.each<[string, number | 'NaN', boolean]>([
    ['that is no number', 'NaN', true],
    ['that jumps to six times what it was', 12, true],
    ['that triples', 6, false],
  ])('%s is told, or not', (_what, last, isReported) => {
    const watch = watchHealth(header);
    for (let number = 1; number <= 30; number += 1) expect(watch.observe(step(number, 2))).toEqual([]);
    expect(watch.observe(step(31, last)).map(({ kind, action }) => [kind, action])).toEqual(
      isReported ? [['badLoss', 'stop']] : [],
    );
  });
});
