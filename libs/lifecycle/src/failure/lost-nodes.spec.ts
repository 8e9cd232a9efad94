import type { TerminationCause, TrainingJob } from '@coxswain/api-types';
import { decide } from '../decide/decide.ts';
import type { NodeState, Observed } from '../observation/observed.ts';
import { aCapacity, aNode, anExit, aPlacement, aPod } from '../testing/index.ts';
import { aRunningJob, anAttempt, NOW, settled, summaryOfCondition } from '../testing/jobs.ts';
import { DEFAULT_TIMEOUTS } from '../observation/timeouts.ts';

const { nodeGraceMs } = DEFAULT_TIMEOUTS;
/** A gang that has run for a while on node-a and node-b, with what is seen of its nodes. */
const gang = (states: Readonly<Record<string, NodeState>>, observed: Partial<Observed> = {}): Observed =>
  aRunningJob({
    status: { attempts: [anAttempt({ runningAt: '2026-01-01T00:19:10Z' })] },
    observed: {
      nodeStates: new Map(Object.entries(states)),
      nodeCensus: () => ({ nodes: 16, notReady: Object.keys(states).length }),
      ...observed,
    },
  });
const lasting = (entries: Readonly<Record<string, number>>): ReadonlyMap<string, number> =>
  new Map(Object.entries(entries));
const reportAges = (entries: Readonly<Record<number, number>>): ReadonlyMap<string, number> =>
  new Map(Object.entries(entries).map(([podIndex, ms]) => [`uid-of-tiny-gpt-3f1c2b9e-e1-${podIndex}`, ms]));
const attemptAfter = (observed: Observed) => decide(observed, NOW).status.attempts?.at(-1);
const aFullGrace = lasting({ 'notReady/node-b': nodeGraceMs });
const outage = { nodeCensus: () => ({ nodes: 16, notReady: 9 }) };

describe('a healthy gang on a node that is not ready', () => {
  it.each<[string, Observed]>([
    [
      'for less than the grace',
      gang({ 'node-b': 'notReady' }, { elapsedMs: lasting({ 'notReady/node-b': nodeGraceMs - 1 }) }),
    ],
    ['seen so for the first time', gang({ 'node-b': 'notReady' })],
    [
      'while its launcher reports',
      gang({ 'node-b': 'notReady' }, { elapsedMs: aFullGrace, reportAgesMs: reportAges({ 1: 29_999 }) }),
    ],
    [
      'with most nodes of the cluster',
      gang({ 'node-b': 'notReady' }, { elapsedMs: lasting({ 'notReady/node-b/held': nodeGraceMs }), ...outage }),
    ],
    [
      'when most nodes have come back and its own is among the last: the grace begins anew',
      gang({ 'node-b': 'notReady' }, { elapsedMs: lasting({ 'notReady/node-b/held': 1e9 }) }),
    ],
    [
      'whose launcher fell silent, while the gang makes steps, which all ranks do together',
      gang(
        { 'node-b': 'notReady' },
        { reportAgesMs: reportAges({ 0: 1_000, 1: 60_000 }), progress: { epoch: 1, step: 40, ageMs: 20_000 } },
      ),
    ],
    [
      'whose launcher fell silent, like all others of the gang',
      gang({ 'node-b': 'notReady' }, { reportAgesMs: reportAges({ 0: 40_000, 1: 40_000 }) }),
    ],
    [
      'whose launcher fell silent, like many of several gangs',
      gang(
        { 'node-b': 'notReady' },
        {
          reportAgesMs: reportAges({ 0: 1_000, 1: 40_000 }),
          hearing: () => ({ launchers: 20, silent: 8, silentGangs: 3 }),
        },
      ),
    ],
    [
      'with every node of a small cluster',
      gang({ 'node-b': 'notReady' }, { elapsedMs: aFullGrace, nodeCensus: () => ({ nodes: 2, notReady: 2 }) }),
    ],
  ])('is left alone %s', (_sentence, observed) => {
    expect(attemptAfter(observed)).toMatchObject({ stage: 'Released' });
    const { actions, status } = settled(observed);
    expect(actions).toEqual([]);
    expect(summaryOfCondition(status, 'Running')).toBe('True/NodesInDoubt');
    expect(status.summary).toContain('Node node-b is not ready');
  });

  it('says in its conditions what is thought of it, in words that do not change as more nodes follow', () => {
    const one = settled(gang({ 'node-b': 'notReady' })).status.summary;
    const many = (notReady: number): string | undefined =>
      settled(gang({ 'node-b': 'notReady' }, { nodeCensus: () => ({ nodes: 16, notReady }) })).status.summary;
    expect(one).toContain(
      'the gang keeps running as long as the launcher there reports or steps come, and otherwise for at most 120 s',
    );
    expect(many(9)).toContain('the connection to the API server is the likelier cause');
    expect(many(9)).toBe(many(16));
  });

  it('is looked at again when the grace is over, and when its launcher would be silent', () => {
    const notReady = gang({ 'node-b': 'notReady' }, { elapsedMs: lasting({ 'notReady/node-b': 20_000 }) });
    expect(settled(notReady)).toMatchObject({ timed: ['notReady/node-b'], requeueAfterMs: nodeGraceMs - 20_000 });
    const reports = { ...notReady, elapsedMs: aFullGrace, reportAgesMs: reportAges({ 1: 12_000 }) };
    expect(settled(reports).requeueAfterMs).toBe(18_000);
  });
});

describe('a node is lost', () => {
  const lostB = { stage: 'Stopping', reason: 'NodeLost', charged: false };
  it.each<[string, Observed]>([
    [
      'after the grace, with a launcher that was never heard',
      gang({ 'node-b': 'notReady' }, { elapsedMs: aFullGrace }),
    ],
    [
      'after the grace, with a launcher that went silent, though its peers report',
      gang({ 'node-b': 'notReady' }, { elapsedMs: aFullGrace, reportAgesMs: reportAges({ 0: 1_000, 1: 30_000 }) }),
    ],
    [
      'at once, with a launcher that was heard and has been silent for 30 s',
      gang({ 'node-b': 'notReady' }, { reportAgesMs: reportAges({ 0: 1_000, 1: 30_000 }) }),
    ],
    [
      'at once, though a step came shortly before its launcher fell silent',
      gang(
        { 'node-b': 'notReady' },
        { reportAgesMs: reportAges({ 0: 1_000, 1: 40_000 }), progress: { epoch: 1, step: 40, ageMs: 30_000 } },
      ),
    ],
    ['at once when its Node does not exist', gang({ 'node-b': 'gone' })],
    [
      'after the grace, though two of the three nodes of a small cluster are not ready',
      gang({ 'node-b': 'notReady' }, { elapsedMs: aFullGrace, nodeCensus: () => ({ nodes: 3, notReady: 2 }) }),
    ],
  ])('%s', (_sentence, observed) => {
    expect(attemptAfter(observed)).toMatchObject(lostB);
    expect(settled(observed).status.avoidedNodes).toMatchObject([{ node: 'node-b', reason: 'NodeLost', epoch: 1 }]);
  });

  it('at once when a rank fails beside it: there is no healthy gang to be spared', () => {
    const failing = gang({ 'node-b': 'notReady' }, outage);
    const pods = failing.pods.map((pod) =>
      pod.podIndex === 0 ? { ...pod, phase: 'Failed' as const, exit: anExit() } : pod,
    );
    expect(attemptAfter({ ...failing, pods })).toMatchObject(lostB);
  });

  it('but is not blamed for the rank of another while its launcher reports', () => {
    const failing = gang({ 'node-b': 'notReady' }, { reportAgesMs: reportAges({ 1: 5_000 }) });
    const pods = failing.pods.map((pod) =>
      pod.podIndex === 0 ? { ...pod, phase: 'Failed' as const, exit: anExit() } : pod,
    );
    expect(attemptAfter({ ...failing, pods })).toMatchObject({ reason: 'EngineFailed', charged: true });
  });

  describe('that is still ready', () => {
    const lostPeer: TerminationCause = {
      version: 1,
      node: 'node-a',
      message: 'rank 0 ended with exit code 1',
      unreportedCheckpoints: [],
      kind: 'engineFailed',
      epoch: 1,
      incarnation: 1,
      rank: 0,
      exitCode: 1,
      lastLines: ['RuntimeError: Connection closed by peer [10.0.0.2]:4711'],
    };
    /** Rank 0 lost a peer so long ago; the launcher of node-b was heard so long ago. */
    const peerLost = (sinceMs: number, silentMs: number, observed: Partial<Observed> = {}): Observed => {
      const running = gang({}, observed);
      return {
        ...running,
        elapsedMs: lasting({ 'e1i1/origin': sinceMs }),
        reportAgesMs: reportAges({ 0: 1_000, 1: silentMs }),
        launchers: new Map([
          ['uid-of-tiny-gpt-3f1c2b9e-e1-0', { epoch: 1, incarnation: 1, state: 'reaped', cause: lostPeer }],
        ]),
        ...observed,
      };
    };

    it('when its launcher has been silent for 30 s and a rank lost a peer', () => {
      const { status } = settled(peerLost(25_000, 30_000));
      expect(status.attempts?.at(-1)).toMatchObject({
        ...lostB,
        message: 'Lost node node-b (its launcher is silent, and its peers lost their connection to it).',
      });
      expect(status.avoidedNodes).toMatchObject([{ node: 'node-b', reason: 'NodeLost' }]);
    });

    it.each<[string, readonly [number, number], Partial<Observed>, 'waits' | 'EngineFailed']>([
      ['it is asked again while its launcher was not heard since', [6_000, 12_000], {}, 'waits'],
      [
        'the rank failed by itself, as far as anybody knows, once its launcher is heard',
        [6_000, 1_000],
        {},
        'EngineFailed',
      ],
      [
        'no node is blamed where many launchers of several gangs are silent',
        [31_000, 40_000],
        { hearing: () => ({ launchers: 20, silent: 8, silentGangs: 3 }) },
        'EngineFailed',
      ],
    ])('%s', (_sentence, [sinceMs, silentMs], observed, want) => {
      const decision = settled(peerLost(sinceMs, silentMs, observed));
      const attempt = decision.status.attempts?.at(-1);
      expect(attempt?.stage === 'Released' ? 'waits' : attempt?.reason).toBe(want);
      if (want === 'waits') expect(decision.requeueAfterMs).toBe(2_000);
      else expect(decision.status.avoidedNodes ?? []).toEqual([]);
    });
  });

  it('together with all that went not ready since, which is one failure: a rack', () => {
    const observed = gang(
      { 'node-a': 'notReady', 'node-b': 'notReady' },
      { elapsedMs: lasting({ 'notReady/node-b': nodeGraceMs, 'notReady/node-a': 5_000 }) },
    );
    const { status } = settled(observed);
    expect(status.attempts?.at(-1)?.message).toBe('Lost nodes node-a (not ready), node-b (not ready).');
    expect(status.avoidedNodes?.map(({ node }) => node)).toEqual(['node-a', 'node-b']);
  });

  it.each<[string, string, Partial<Observed>, boolean]>([
    [
      'a launcher is heard and no step came for five minutes',
      'e1/stalled/40',
      { reportAgesMs: reportAges({ 0: 1_000 }) },
      true,
    ],
    ['an earlier step is what was waited for', 'e1/stalled/39', { reportAgesMs: reportAges({ 0: 1_000 }) }, false],
  ])('in an outage when %s', (_sentence, key, more, want) => {
    const progress = { epoch: 1, step: 40 };
    const elapsedMs = lasting({ 'notReady/node-b/held': nodeGraceMs, [key]: 300_000 });
    const observed = gang({ 'node-b': 'notReady' }, { ...outage, elapsedMs, progress, ...more });
    expect(attemptAfter(observed)?.stage === 'Stopping').toBe(want);
  });

  it('and no step is waited for while nobody is heard', () => {
    const held = gang({ 'node-b': 'notReady' }, outage);
    const node = 'notReady/node-b/held';
    expect(settled(held).timed).toEqual([node]);
    expect(settled({ ...held, reportAgesMs: reportAges({ 0: 1_000 }) }).timed).toEqual([node, 'e1/stalled/none']);
  });

  it.each([
    ['another job’s', (job: TrainingJob) => [aPod(job), aPod(job, { podIndex: 1, phase: 'Succeeded' as const })]],
  ])('means nothing where no pod of the gang is left to run on it', (_sentence, pods) => {
    const observed = aRunningJob({ pods, observed: { nodeStates: new Map([['node-b', 'gone']]) } });
    expect(attemptAfter(observed)).toMatchObject({ stage: 'Released' });
  });
});

describe('an avoided node', () => {
  const since = '2026-01-01T00:10:00Z';
  const restarting = (capacityNodes: readonly string[], observed: Partial<Observed> = {}): Observed => {
    const attempt = anAttempt({
      stage: 'Ended',
      outcome: 'Failed',
      reason: 'NodeLost',
      charged: false,
      answer: 'Restart',
    });
    const avoided = { node: 'node-b', reason: 'NodeLost', epoch: 1, since, bootId: 'first' } as const;
    const seen = aRunningJob({ status: { attempts: [attempt], avoidedNodes: [avoided] }, pods: () => [] });
    const capacity = () => aCapacity(capacityNodes.map((name) => aNode({ name })));
    return { ...seen, placements: [aPlacement(seen.job)], capacity, bootIdOf: () => 'first', ...observed };
  };
  const nodesOf = (observed: Observed): readonly string[] =>
    settled(observed).actions.flatMap((action) => (action.kind === 'createPlacement' ? action.spec.nodes : []));

  it.each<[string, Observed, readonly string[]]>([
    ['is not used while others hold the gang', restarting(['node-a', 'node-b', 'node-c']), ['node-a', 'node-c']],
    ['is used again rather than waited for', restarting(['node-a', 'node-b']), ['node-a', 'node-b']],
    [
      'is used again when it was booted anew',
      restarting(['node-a', 'node-b', 'node-c'], { bootIdOf: () => 'second' }),
      ['node-a', 'node-b'],
    ],
    [
      'is used again after an hour, as this process counts it',
      restarting(['node-a', 'node-b', 'node-c'], { elapsedMs: lasting({ [`avoided/node-b/${since}`]: 3_600_000 }) }),
      ['node-a', 'node-b'],
    ],
    [
      'is not used for as long as its Node is not there to say which boot it is',
      restarting(['node-a', 'node-b', 'node-c'], { bootIdOf: () => undefined }),
      ['node-a', 'node-c'],
    ],
  ])('%s', (_sentence, observed, want) => {
    expect(nodesOf(observed)).toEqual(want);
  });

  it('is one of at most 64', () => {
    const nodes = Array.from({ length: 80 }, (_, index) => `node-${index}`);
    const observed = aRunningJob({
      pods: (job) => nodes.map((nodeName, podIndex) => aPod(job, { podIndex, nodeName })),
      observed: { nodeStates: new Map(nodes.map((node) => [node, 'gone'])) },
    });
    const seen = { ...observed, placements: [aPlacement(observed.job, { nodes, worldSize: 160 })] };
    const { status } = settled(seen);
    expect(status.avoidedNodes).toHaveLength(64);
    expect(status.attempts?.at(-1)?.message).toContain('and 72 more.');
  });
});
