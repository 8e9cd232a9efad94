import { aTrainingJob } from '@coxswain/api-types/testing';
import type { Verdict } from '@coxswain/health';
import { HealthController } from './health-controller.ts';
import type { HealthReport } from '../ingest/health-reports.ts';

const NOW = new Date('2026-01-01T00:20:00Z');
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

function aSetup(nodes = 4, knowsPhases = true, slowEndsToday = 0) {
  const warned: string[] = [];
  let passedMs = 0;
  const controller = new HealthController({
    now: () => new Date(NOW.getTime() + passedMs),
    warn: ({ verdict }) => void warned.push(verdict.kind),
    nodesOf: () => nodes,
    knowsPhases: () => knowsPhases,
    slowEndsToday: () => slowEndsToday,
  });
  const receive = (verdict: Verdict, run: Partial<HealthReport> = {}): readonly string[] =>
    controller.receive([{ jobUid: 'job-1', epoch: 1, incarnation: 1, verdict, ...run }]);
  const pass = (ms: number): void => void (passedMs += ms);
  return { controller, receive, warned, pass };
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
    [
      'a process that a signal stopped ends the gang free of charge, and blames no node',
      { evidence: { waitedForMs: 61_000, cause: 'stopped' } },
      4,
      [{ ...GANG, blamesNobody: true }],
    ],
    [
      'a stopped process ends nothing where no rank reports a wait',
      { evidence: { stoodMs: 1, cause: 'stopped' } },
      4,
      [],
    ],
    ['a gang that does nothing is only reported', { kind: 'notTraining', action: 'advise' }, 4, []],
    ['so many at once have a cause in common', { ranks: many }, 4, [GANG]],
    [
      'of a large gang a few more may be to blame',
      { ranks: many },
      200,
      many.map((rank) => ({ ...RANK_3, about: { kind: 'rank', rank } })),
    ],
  ])('%s', (_what, verdict, nodes, culprits) => {
    const { controller, receive } = aSetup(nodes);
    expect(receive(aVerdict(verdict))).toEqual(['job-1']);
    expect(controller.ofJob(JOB)).toMatchObject(culprits);
    expect(controller.ofJob(JOB)).toHaveLength(culprits.length);
    expect(controller.findingsOf(JOB)).toHaveLength(1);
  });

  it('a standing is that of the newest run, until it trains or the job is gone', () => {
    const { controller } = aSetup();
    const run = { jobUid: 'job-1', epoch: 1, incarnation: 1 };
    const standing = { reason: 'NotTraining', message: 'Idle.', isStarting: false } as const;
    expect(controller.receiveStandings([{ ...run, incarnation: 2, standing }])).toEqual(['job-1']);
    expect(controller.receiveStandings([{ ...run, standing: null }])).toEqual([]);
    expect(controller.standingOf(JOB)).toEqual({ epoch: 1, incarnation: 2, ...standing });
    expect(controller.receiveStandings([{ ...run, incarnation: 2, standing: null }])).toEqual(['job-1']);
    expect(controller.standingOf(JOB)).toBeUndefined();
    expect(controller.receiveStandings([{ ...run, incarnation: 2, standing: null }])).toEqual([]);
    controller.receiveStandings([{ ...run, epoch: 2, standing }]);
    controller.forget('job-1');
    expect(controller.standingOf(JOB)).toBeUndefined();
  });

  const SLOW: Partial<Verdict> = { kind: 'slowRank', ranks: [3], nodes: ['b'], evidence: { slowdown: 0.5 } };
  const ofNodes = (count: number): readonly string[] => many.slice(0, count).map((node) => `node-${node}`);
  it.each<[string, Partial<Verdict>, number, number]>([
    ['that has cost as much as a restart is replaced', {}, 0, 1],
    ['that was only named is left alone', { action: 'advise' }, 0, 0],
    ['is left alone in a job that lost three gangs in a day', {}, 3, 0],
    ['with all others of its node is one node', { ranks: many.slice(0, 8) }, 0, 8],
    ['among many nodes is no cause', { ranks: many, nodes: ofNodes(5) }, 0, 0],
  ])('a slow rank %s', (_what, verdict, slowEndsToday, culprits) => {
    const { controller, receive } = aSetup(4, true, slowEndsToday);
    receive(aVerdict({ ...SLOW, ...verdict }));
    expect([controller.ofJob(JOB).length, controller.findingsOf(JOB).map(({ kind }) => kind)]).toEqual([
      culprits,
      ['SlowRank'],
    ]);
  });

  it.each<[string, Partial<Verdict>]>([
    ['a loss that is bad', { kind: 'badLoss', action: 'stop', ranks: [] }],
    ['an uneven pipeline', { kind: 'stageImbalance', action: 'advise', ranks: [] }],
    ['a job that is slow as a whole', { kind: 'slowJob', action: 'none', ranks: [] }],
    ['a slow link', { kind: 'slowLink', action: 'advise' }],
    ['storage that all wait for', { kind: 'sharedDataStall', action: 'advise', ranks: [] }],
  ])('of %s people are told, and nothing ends', (_what, verdict) => {
    const { controller, receive } = aSetup();
    receive(aVerdict({ evidence: {}, ...verdict }));
    expect([controller.ofJob(JOB).length, controller.findingsOf(JOB).length]).toEqual([0, 1]);
  });

  it('of ranks that share one node, that many are named and the gang is not', () => {
    const { controller, receive } = aSetup();
    receive(aVerdict({ ranks: many.slice(0, 8), nodes: ['b'] }));
    expect(controller.ofJob(JOB)).toHaveLength(8);
  });

  it.each<[string, string, number]>([
    ['a rank that lives is told of, and left alone', 'rankMissing', 0],
    ['a rank that has fallen silent is to blame', 'noTelemetry', 1],
  ])('of a program of which nobody knows when it evaluates, %s', (_what, cause, culprits) => {
    const { controller, receive } = aSetup(4, false);
    receive(aVerdict({ evidence: { waitedForMs: 61_000, cause } }));
    expect([controller.ofJob(JOB).length, controller.findingsOf(JOB).length]).toEqual([culprits, 1]);
  });

  it('says the node, where there is one', () => {
    const { controller, receive } = aSetup();
    receive(aVerdict({ node: 'node-b' }));
    expect(controller.ofJob(JOB)[0]?.message).toBe('Others wait for rank 3. Node node-b.');
  });

  it('is of one run alone: a later one begins without blame, and what is said late of an earlier one is nothing', () => {
    const { controller, receive } = aSetup();
    receive(aVerdict());
    receive(aVerdict({ ranks: [1] }), { incarnation: 2 });
    expect(receive(aVerdict(), { incarnation: 1 })).toEqual([]);
    expect(controller.ofJob(JOB)).toMatchObject([{ incarnation: 2, about: { rank: 1 } }]);
    expect(controller.findingsOf(JOB)).toMatchObject([{ incarnation: 2, ranks: [1] }]);
    controller.forget('job-1');
    expect(controller.ofJob(JOB)).toEqual([]);
  });
});

describe('evidence that is read again', () => {
  const SLOW: Partial<Verdict> = { kind: 'slowRank', ranks: [3], nodes: ['b'], evidence: { slowdown: 0.5 } };
  const GROUNDS = { step: 100, ranks: [{ rank: 3 }], judgedAtMs: 1 };
  const READ = { jobUid: 'job-1', epoch: 1, incarnation: 1, step: 100, ranks: [{ rank: 3 }], slowRanks: [3] };

  it('confirms a verdict at that time', () => {
    const { controller, receive, pass } = aSetup();
    receive(aVerdict(SLOW), { grounds: GROUNDS });
    pass(90_000);
    controller.receiveEvidence('job-1', READ);
    expect(controller.ofJob(JOB)).toMatchObject([{ cause: 'slow', readAt: '2026-01-01T00:21:30.000Z' }]);
  });

  it('ends the incident of a rank that is slow no more', () => {
    const { controller, receive } = aSetup();
    receive(aVerdict(SLOW), { grounds: GROUNDS });
    controller.receiveEvidence('job-1', { ...READ, slowRanks: [] });
    expect(controller.ofJob(JOB)).toEqual([]);
    expect(controller.findingsOf(JOB).at(-1)).toMatchObject({ kind: 'SlowRank', overAt: NOW.toISOString() });
  });

  it.each<[string, Partial<Verdict>]>([
    ['a hang', {}],
    ['a slow rank', SLOW],
  ])('of lost telemetry neither confirms nor refutes %s, and the hold says why', (_what, verdict) => {
    const { controller, receive } = aSetup();
    receive(aVerdict(verdict), { grounds: GROUNDS });
    controller.receiveEvidence('job-1', { ...READ, ranks: [], slowRanks: [], isLost: true });
    expect(controller.ofJob(JOB)).toMatchObject([{ held: expect.stringMatching(/^its detectors have ended/) }]);
    receive(aVerdict(verdict), { incarnation: 2 });
    expect(controller.ofJob(JOB)[0]?.held).toBeUndefined();
  });
});

describe('what is told of a verdict', () => {
  it.each<[string, Partial<Verdict>, object]>([
    [
      'a hang, with what it stands on',
      {},
      { kind: 'Hang', ranks: [3], evidence: { waitedForMs: 61_000, confidence: 0.9 } },
    ],
    ['uneven stages', { kind: 'stageImbalance', ranks: [] }, { kind: 'Imbalance' }],
    [
      'what a slow rank adds to each step',
      { kind: 'slowRank', evidence: { computeMs: 150, usualMs: 100 } },
      { kind: 'SlowRank', costMsPerStep: 50 },
    ],
    [
      'what a slow job adds to each step; nobody is to do anything',
      { kind: 'slowJob', action: 'none', evidence: { stepMs: 120, usualStepMs: 100 } },
      { kind: 'SlowJob', costMsPerStep: 20, isHarmless: true },
    ],
    [
      'a broken save, by its step',
      { kind: 'brokenSave', action: 'advise', ranks: [], evidence: { step: 20 } },
      { kind: 'CheckpointTrouble', subject: 's20' },
    ],
  ])('is %s', (_what, verdict, finding) => {
    const { controller, receive, warned } = aSetup();
    receive(aVerdict(verdict));
    expect(controller.findingsOf(JOB)).toMatchObject([
      { ...finding, epoch: 1, incarnation: 1, noticedAt: NOW.toISOString() },
    ]);
    expect(warned).toEqual([]);
  });

  it('is no incident where nothing is heard: nobody knows how those ranks are', () => {
    const { controller, receive, warned } = aSetup();
    expect(receive(aVerdict({ kind: 'blind', action: 'none' }))).toEqual([]);
    expect([controller.findingsOf(JOB), warned]).toEqual([[], ['blind']]);
  });

  it('is bounded: of a run the newest are kept', () => {
    const { controller, receive } = aSetup();
    for (let rank = 0; rank < 40; rank += 1) receive(aVerdict({ kind: 'slowRank', ranks: [rank] }));
    expect(controller.findingsOf(JOB).map(({ ranks }) => ranks[0])).toEqual(
      Array.from({ length: 16 }, (_, index) => 24 + index),
    );
  });
});
