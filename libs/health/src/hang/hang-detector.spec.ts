import { gangOf } from '../gang/gang.ts';
import { HEALTH_SETTINGS } from '../settings.ts';
import { generateTrace } from '../testing/generate-trace.ts';
import { HOSTILE, SCENARIOS } from '../testing/scenario.ts';
import type { TraceSize } from '../testing/trace-size.ts';
import type { Verdict } from '../verdict/verdict.ts';
import { HangDetector } from './hang-detector.ts';

const SMALL = {
  layout: { tensorParallelDegree: 2, pipelineParallelDegree: 2, dataParallelDegree: 4 },
  microBatches: 4,
  ranksPerNode: 4,
  durationMs: 600_000,
  onsetMs: 250_000,
};

/** One copy of the model for each node. */
const SPREAD = {
  ...SMALL,
  layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 12 },
  ranksPerNode: 1,
};

function judged(
  name: string,
  seed: number,
  size: TraceSize = SMALL,
  nodeOf: (name: string) => string = (name) => name,
): { readonly verdicts: readonly Verdict[]; readonly ranks: readonly number[] } {
  const scenario = [...SCENARIOS, ...HOSTILE].find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  const { header, records, truth } = generateTrace(scenario, seed, size);
  const nodes = header.nodes.map((one) => ({ ...one, node: nodeOf(one.node) }));
  const gang = gangOf({ ...header, nodes });
  const detector = new HangDetector(gang, HEALTH_SETTINGS);
  const verdicts: Verdict[] = [];
  for (const record of records) {
    if (record.kind === 'group') gang.declare(record);
    else verdicts.push(...detector.observe(record));
  }
  return { verdicts, ranks: truth.ranks[0] ?? [] };
}

describe('a job that stands still', () => {
  it.each([
    ['silent hang', 'hang', 'rankMissing'],
    ['frozen process', 'hang', 'noTelemetry'],
    ['skipped collective', 'desync', 'skippedCollective'],
    ['silent hang, hosts ahead of GPUs', 'hang', 'rankMissing'],
    ['silent hang, a fifth of reports lost', 'hang', 'rankMissing'],
    ['silent hang, reports up to 8 s late', 'hang', 'rankMissing'],
  ])('by a %s is told as %s of the right rank (%s), first as advice, then to be acted on', (name, kind, cause) => {
    for (const seed of [1, 2, 3]) {
      const { verdicts, ranks } = judged(name, seed);
      const reported = verdicts.filter((verdict) => verdict.kind !== 'blind');
      expect(reported.map((verdict) => [verdict.kind, verdict.ranks, verdict.evidence['cause']])).toEqual([
        [kind, ranks, cause],
        [kind, ranks, cause],
      ]);
      expect(reported[0]?.action).toBe('advise');
      expect(reported[1]?.action).toBe(kind === 'hang' ? 'evict' : 'stop');
    }
  });

  it('by a silent hang, a fifth of reports lost, names nobody who was lost with them', () => {
    const large = { ...SMALL, layout: { tensorParallelDegree: 2, pipelineParallelDegree: 4, dataParallelDegree: 8 } };
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const { verdicts, ranks } = judged('silent hang, a fifth of reports lost', seed, large);
      const reported = verdicts.filter((verdict) => verdict.kind !== 'blind');
      expect(reported.map((verdict) => verdict.ranks)).toEqual([ranks, ranks]);
    }
  });

  it('by a rank that left a call out and ran on is told as such, and nothing is ended for it', () => {
    for (const seed of [1, 2]) {
      const { verdicts, ranks } = judged('skipped collective, hosts ahead of GPUs', seed);
      expect(verdicts.map((one) => [one.kind, one.ranks, one.action])).toEqual([['desync', ranks, 'advise']]);
    }
  });

  it('by a rank that hangs in a save is told when saves take five times as long as ever before', () => {
    const { verdicts, ranks } = judged('hang while saving', 1);
    expect(verdicts.map((verdict) => [verdict.ranks, verdict.action, verdict.evidence['phase']])).toEqual([
      [ranks, 'evict', 'saving'],
    ]);
  });

  it('by a dead link blames no rank, and names the group', () => {
    const { verdicts } = judged('dead link', 1);
    expect(verdicts.map(({ kind, ranks, action }) => [kind, ranks, action])).toEqual([
      ['networkHang', [], 'advise'],
      ['networkHang', [], 'advise'],
    ]);
    expect(verdicts[0]?.group).toMatch(/^data-/);
  });

  it.each([
    ['of sixteen ranks on four nodes', SMALL, 2, /^node-000\d, node-000\d$/],
    ['of twelve ranks on nodes of their own', SPREAD, 12, /^undefined$/],
  ])(
    '%s by a dead link says on how many nodes the group is, and on which where they are few',
    (_of, size, nodes, names) => {
      const { verdicts } = judged('dead link', 1, size);
      expect(verdicts).toHaveLength(2);
      for (const { nodes: blamed, evidence } of verdicts) {
        expect([blamed, evidence['groupNodes']]).toEqual([[], nodes]);
        expect(String(evidence['groupNodeNames'])).toMatch(names);
      }
    },
  );

  it('by a dead link names no nodes where an incident would cut their names', () => {
    const { verdicts } = judged('dead link', 1, SMALL, (name) => name.padEnd(200, 'x'));
    expect(verdicts.map(({ evidence }) => [evidence['groupNodes'], evidence['groupNodeNames']])).toEqual([
      [2, undefined],
      [2, undefined],
    ]);
  });

  it.each(['link that heals after 90 s', 'link between stages, heals after 90 s'])(
    'for a while (%s) is told and ends nothing, and is over when it goes on',
    (name) => {
      const { verdicts } = judged(name, 1);
      expect(verdicts.map(({ kind, action }) => [kind, action])).toEqual([
        ['networkHang', 'advise'],
        ['networkHang', 'advise'],
      ]);
    },
  );
});

describe('a job that goes on', () => {
  it.each([
    'clean',
    'clean, noise 3 %',
    'slow compute 50 %',
    'clean, a fifth of reports lost',
    'clean, reports up to 8 s late',
  ])('is not said to hang (%s)', (name) => {
    for (const seed of [1, 2]) expect(judged(name, seed).verdicts.filter(({ kind }) => kind !== 'blind')).toEqual([]);
  });
});
