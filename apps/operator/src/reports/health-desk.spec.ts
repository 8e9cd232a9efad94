import { aTrainingJob } from '@coxswain/api-types/testing';
import type { Verdict } from '@coxswain/health';
import { HealthDesk } from './health-desk.ts';
import type { HealthWord } from './health-watch.ts';

const JOB = aTrainingJob({ metadata: { uid: 'job-1' } });

function aVerdict(changes: Partial<Verdict> = {}): Verdict {
  return {
    kind: 'hang',
    atMs: 1,
    ranks: [3],
    message: 'Others wait for rank 3.',
    evidence: { waitedForMs: 61_000, cause: 'rankMissing' },
    confidence: 0.9,
    action: 'evict',
    nodes: [],
    falseAlarmsPerDay: null,
    ...changes,
  };
}

function aDesk(nodes = 4, knowsPhases = true, condemnedToday = 0) {
  const told: string[] = [];
  const desk = new HealthDesk({
    tell: ({ verdict }) => void told.push(verdict.kind),
    nodesOf: () => nodes,
    knowsPhases: () => knowsPhases,
    condemnedToday: () => condemnedToday,
  });
  const hear = (verdict: Verdict, run: Partial<HealthWord> = {}): readonly string[] =>
    desk.hear([{ jobUid: 'job-1', epoch: 1, incarnation: 1, verdict, ...run }]);
  return { desk, hear, told };
}

const RANK_3 = { epoch: 1, incarnation: 1, about: { kind: 'rank', rank: 3 } };
const GANG = { epoch: 1, incarnation: 1, about: { kind: 'gang' } };
const many = Array.from({ length: 16 }, (_, rank) => rank);

describe('what follows from a verdict', () => {
  it.each<[string, Partial<Verdict>, number, readonly object[]]>([
    ['a rank that others wait for is to blame', {}, 4, [RANK_3]],
    ['advice ends nothing', { action: 'advise' }, 4, []],
    ['steps that do not come, of an engine that says no more, end nothing', { evidence: { stoodMs: 1 } }, 4, []],
    [
      'a fault of the program ends the gang, and blames no node',
      { kind: 'desync', action: 'stop', ranks: [1] },
      4,
      [GANG],
    ],
    ['so many at once have a cause in common', { ranks: many }, 4, [GANG]],
    [
      'of a large gang a few more may be to blame',
      { ranks: many },
      200,
      many.map((rank) => ({ ...RANK_3, about: { kind: 'rank', rank } })),
    ],
  ])('%s', (_what, verdict, nodes, culprits) => {
    const { desk, hear, told } = aDesk(nodes);
    expect(hear(aVerdict(verdict))).toEqual(culprits.length === 0 ? [] : ['job-1']);
    expect(desk.ofJob(JOB)).toMatchObject(culprits);
    expect(desk.ofJob(JOB)).toHaveLength(culprits.length);
    expect(told).toHaveLength(1);
  });

  const SLOW: Partial<Verdict> = { kind: 'slowRank', ranks: [3], nodes: ['b'], evidence: { slowdown: 0.5 } };
  const ofNodes = (count: number): readonly string[] => many.slice(0, count).map((node) => `node-${node}`);
  it.each<[string, Partial<Verdict>, number, number]>([
    ['that has cost as much as a restart is replaced', {}, 0, 1],
    ['that was only named is left alone', { action: 'advise' }, 0, 0],
    ['is left alone in a job that lost three gangs in a day', {}, 3, 0],
    ['with all others of its node is one node', { ranks: many.slice(0, 8) }, 0, 8],
    ['among many nodes is no cause', { ranks: many, nodes: ofNodes(5) }, 0, 0],
  ])('a slow rank %s', (_what, verdict, condemnedToday, culprits) => {
    const { desk, hear, told } = aDesk(4, true, condemnedToday);
    hear(aVerdict({ ...SLOW, ...verdict }));
    expect([desk.ofJob(JOB).length, told]).toEqual([culprits, ['slowRank']]);
  });

  it.each<[string, Partial<Verdict>]>([
    ['a loss that is bad', { kind: 'badLoss', action: 'stop', ranks: [] }],
    ['an uneven pipeline', { kind: 'stageImbalance', action: 'advise', ranks: [] }],
    ['a job that is slow as a whole', { kind: 'slowJob', action: 'none', ranks: [] }],
    ['a slow link', { kind: 'slowLink', action: 'advise' }],
    ['storage that all wait for', { kind: 'sharedDataStall', action: 'advise', ranks: [] }],
  ])('of %s people are told, and nothing ends', (_what, verdict) => {
    const { desk, hear, told } = aDesk();
    hear(aVerdict({ evidence: {}, ...verdict }));
    expect([desk.ofJob(JOB).length, told.length]).toEqual([0, 1]);
  });

  it('of ranks that share one node, that many are named and the gang is not', () => {
    const { desk, hear } = aDesk();
    hear(aVerdict({ ranks: many.slice(0, 8), nodes: ['b'] }));
    expect(desk.ofJob(JOB)).toHaveLength(8);
  });

  it.each<[string, string, number]>([
    ['a rank that lives is told of, and left alone', 'rankMissing', 0],
    ['a rank that has fallen silent is to blame', 'noTelemetry', 1],
  ])('of a program of which nobody knows when it evaluates, %s', (_what, cause, culprits) => {
    const { desk, hear, told } = aDesk(4, false);
    hear(aVerdict({ evidence: { waitedForMs: 61_000, cause } }));
    expect([desk.ofJob(JOB).length, told.length]).toEqual([culprits, 1]);
  });

  it('says the node, where there is one', () => {
    const { desk, hear } = aDesk();
    hear(aVerdict({ node: 'node-b' }));
    expect(desk.ofJob(JOB)[0]?.message).toBe('Others wait for rank 3. Node node-b.');
  });

  it('is of one run alone: a later one begins without blame, and what is said late of an earlier one is nothing', () => {
    const { desk, hear, told } = aDesk();
    hear(aVerdict());
    hear(aVerdict({ ranks: [1] }), { incarnation: 2 });
    expect(hear(aVerdict(), { incarnation: 1 })).toEqual([]);
    expect(desk.ofJob(JOB)).toMatchObject([{ incarnation: 2, about: { rank: 1 } }]);
    expect(told).toHaveLength(2);
    desk.forget('job-1');
    expect(desk.ofJob(JOB)).toEqual([]);
  });
});
