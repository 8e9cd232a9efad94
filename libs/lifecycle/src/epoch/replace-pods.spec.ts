// A little over 400 lines: one table of who holds ranks after a loss, and who does not.
import { type Attempt, NODE_LABELS, type PodReplacement, type TerminationCause } from '@coxswain/api-types';
import { placementSha256 } from '@coxswain/scheduling';
import { decide } from '../decide/decide.ts';
import { launcherOrders, membersOf } from '../launchers/launcher-orders.ts';
import { assignmentOf } from '../launchers/assignment.ts';
import type { Observed, ObservedPod } from '../observation/observed.ts';
import { referencesNow } from './next-epoch.ts';
import { factsOf } from '../observation/facts.ts';
import { keyOf } from '../observation/references.ts';
import type { ObservedLauncher } from '../observation/observed-launcher.ts';
import { aCapacity, aCheckpoint, anExit, aNode, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, kinds, NOW, settled } from '../testing/jobs.ts';

const RAN = '2026-01-01T00:11:00Z';
const job = aJob({ spec: { standby: 2 } });
/** Two pods of two ranks, and two standbys. */
const placement = aPlacement(job, { nodes: ['node-a', 'node-b', 'node-c', 'node-d'], ranks: ['0-1', '2-3', '', ''] });
const recorded = (more: Partial<Attempt> = {}): Attempt =>
  anAttempt({ runningAt: RAN, standbys: 2, standbyGpus: 4, placementSha256: placementSha256(placement.spec), ...more });
const pods = ['node-a', 'node-b', 'node-c', 'node-d'].map((nodeName, podIndex) => aPod(job, { podIndex, nodeName }));
const [first, second, third, fourth] = pods as [ObservedPod, ObservedPod, ObservedPod, ObservedPod];

const { nodeName: _, ...unboundThird } = third;
const unbound: ObservedPod = { ...unboundThird, running: false, phase: 'Pending' };

const reporting = (launcher: Partial<ObservedLauncher> = {}): ObservedLauncher => ({
  epoch: 1,
  incarnation: 1,
  state: 'running',
  ...launcher,
});
const LOST_PEER: TerminationCause = {
  version: 1,
  kind: 'engineFailed',
  epoch: 1,
  incarnation: 1,
  node: 'node-a',
  rank: 0,
  exitCode: 1,
  message: '',
  lastLines: ['torch.distributed.DistBackendError: Connection closed by peer'],
  lastStep: 45,
  unreportedCheckpoints: [],
};

/** Node-b is gone, as the API server says, unless `about` says otherwise. */
function lost(
  about: {
    readonly attempt?: Partial<Attempt>;
    readonly pods?: readonly ObservedPod[];
    readonly launchers?: readonly (readonly [ObservedPod, ObservedLauncher])[];
    readonly observed?: Partial<Observed>;
    readonly spec?: Parameters<typeof aJob>[0];
  } = {},
): Observed {
  const observed = aRunningJob({
    status: { attempts: [recorded(about.attempt)] },
    spec: { spec: { standby: 2, ...about.spec?.spec } },
    pods: () => about.pods ?? pods,
  });
  const launchers = about.launchers ?? pods.map((pod) => [pod, reporting()] as const);
  return {
    ...observed,
    placements: [placement],
    checkpoints: [aCheckpoint(job, { spec: { step: 40 } })],
    launchers: new Map(launchers.map(([{ uid }, launcher]) => [uid, launcher])),
    nodeStates: new Map([['node-b', 'gone']]),
    ...about.observed,
  };
}

const lastOf = (observed: Observed): Attempt | undefined => settled(observed).status.attempts?.at(-1);
const REPLACED: PodReplacement = { podIndex: 1, standby: 2, incarnation: 2, at: NOW.toISOString() };

describe('a pod that is lost while a standby waits', () => {
  it('loses its ranks to the standby: failure, seats, incarnation, checkpoint and avoided node in one write', () => {
    const { status } = decide(lost(), NOW);
    expect(status.attempts?.at(-1)).toMatchObject({
      epoch: 1,
      stage: 'Released',
      incarnation: 2,
      standbys: 2,
      replacements: [REPLACED],
      incarnations: [{ incarnation: 1, reason: 'NodeLost', charged: false }],
      resumedFrom: { step: 40 },
    });
    expect(status).toMatchObject({
      epoch: 1,
      restarts: { total: 1, charged: 0 },
      avoidedNodes: [{ node: 'node-b', reason: 'NodeLost' }],
    });
    expect(status.summary).toContain('restart in their pods and 1 standby (incarnation 2), from step 40');
  });

  it('is deleted, and no other pod is', () => {
    const { actions } = settled(lost());
    expect(kinds(actions)).toEqual(['deletePods']);
    expect(actions).toMatchObject([{ pods: [{ uid: second.uid }] }]);
  });

  it.each<[string, Parameters<typeof lost>[0], readonly PodReplacement[]]>([
    [
      'because its container was killed',
      {
        pods: [
          first,
          { ...second, phase: 'Failed', running: false, exit: anExit({}, { node: 'node-b', rank: 2 }) },
          third,
          fourth,
        ],
        observed: { nodeStates: new Map() },
      },
      [REPLACED],
    ],
    ['because somebody deleted it', { pods: [first, third, fourth], observed: { nodeStates: new Map() } }, [REPLACED]],
    [
      'because its node is silent and a peer lost its connection to it',
      {
        launchers: [
          [first, reporting({ state: 'reaped', cause: LOST_PEER })],
          [second, reporting()],
          [third, reporting()],
          [fourth, reporting()],
        ],
        observed: {
          nodeStates: new Map(),
          reportAgesMs: new Map([
            [first.uid, 1_000],
            [second.uid, 31_000],
            [third.uid, 1_000],
            [fourth.uid, 1_000],
          ]),
          elapsedMs: new Map([['e1i1/origin', 31_000]]),
        },
      },
      [REPLACED],
    ],
    [
      'together with another one',
      {
        observed: {
          nodeStates: new Map([
            ['node-a', 'gone'],
            ['node-b', 'gone'],
          ]),
        },
      },
      [
        { ...REPLACED, podIndex: 0 },
        { ...REPLACED, standby: 3 },
      ],
    ],
    [
      'after the first standby was lost too',
      {
        observed: {
          nodeStates: new Map([
            ['node-b', 'gone'],
            ['node-c', 'gone'],
          ]),
        },
      },
      [{ ...REPLACED, standby: 3 }],
    ],
    [
      'and a detector blames its node',
      {
        observed: {
          nodeStates: new Map(),
          verdicts: [{ epoch: 1, incarnation: 1, about: { kind: 'node', node: 'node-b' }, message: 'Slow.' }],
        },
      },
      [REPLACED],
    ],
  ])('%s', (_sentence, about, replacements) => {
    expect(lastOf(lost(about))).toMatchObject({ incarnation: 2, replacements });
  });
});

describe('while a gang starts', () => {
  const pulling: ObservedPod = { ...first, phase: 'Pending', running: false, pullsImage: true };
  const starting = { attempt: { runningAt: undefined }, pods: [pulling, second, third, fourth] };

  it('a pod that still pulls its image keeps its ranks if the node of another one is lost', () => {
    const { status, actions } = settled(lost(starting));
    expect(status.attempts?.at(-1)).toMatchObject({ incarnation: 2, replacements: [REPLACED] });
    expect(actions).toMatchObject([{ kind: 'deletePods', pods: [{ uid: second.uid }] }]);
  });

  it('it then has the time that an image may take, and not only that in which ranks end', () => {
    const attempt = { ...starting.attempt, incarnation: 2, replacements: [REPLACED] };
    const observed = { elapsedMs: new Map([['e1i2/reaping', 3_600_000]]) };
    const seen = lost({ ...starting, attempt: { ...attempt, resumedFrom: { checkpoint: 'c', step: 40 } }, observed });
    expect(lastOf(seen)).toMatchObject({ stage: 'Released', incarnation: 2 });
  });
});

describe('a new attempt answers, and no standby', () => {
  it.each<[string, Parameters<typeof lost>[0]]>([
    ['if the attempt has none', { attempt: { standbys: undefined, standbyGpus: undefined }, pods: [first, second] }],
    [
      'if more pods are lost than standbys wait',
      {
        observed: {
          nodeStates: new Map([
            ['node-a', 'gone'],
            ['node-b', 'gone'],
            ['node-c', 'gone'],
          ]),
        },
      },
    ],
    ['if no launcher of a standby reports', { launchers: [first, second].map((pod) => [pod, reporting()] as const) }],
    [
      'if the launchers of the standbys are silent',
      { observed: { reportAgesMs: new Map([third, fourth].map(({ uid }) => [uid, 40_000])) } },
    ],
    [
      'if the standbys have not started',
      { pods: [first, second, ...[third, fourth].map((pod) => ({ ...pod, running: false }))] },
    ],
    [
      'if preflight blamed the nodes of the standbys',
      {
        observed: {
          preflight: {
            epoch: 1,
            outcome: 'NodesNamed',
            tookMs: 1,
            notes: [],
            fingerprint: {},
            named: { nodes: ['node-c', 'node-d'], message: 'GPUs are missing.' },
          },
        },
      },
    ],
    ['if nothing was saved', { observed: { checkpoints: [] } }],
    [
      'if the image of the gang cannot be pulled',
      {
        attempt: { runningAt: undefined },
        pods: [first, third, fourth],
        observed: { nodeStates: new Map(), checkpoints: [] },
      },
    ],
  ])('%s', (_sentence, about) => {
    const attempt = lastOf(lost(about));
    expect(attempt).toMatchObject({ outcome: 'Failed' });
    expect(attempt?.replacements).toBeUndefined();
  });
});

describe('the loss of a standby', () => {
  it.each<[string, Parameters<typeof lost>[0]]>([
    ['whose node is gone', { observed: { nodeStates: new Map([['node-c', 'gone']]) } }],
    [
      'that failed',
      {
        pods: [first, second, { ...third, phase: 'Failed', running: false }, fourth],
        observed: { nodeStates: new Map() },
      },
    ],
    ['that somebody deleted', { pods: [first, second, fourth], observed: { nodeStates: new Map() } }],
    ['that never got a node', { pods: [first, second, unbound, fourth], observed: { nodeStates: new Map() } }],
  ])('%s, ends nothing', (sentence, about) => {
    const seen = lost(about);
    const { actions, status } = settled(seen);
    expect(actions).toEqual([]);
    const { lostStandbys, ...rest } = status.attempts?.at(-1) ?? {};
    expect(rest).toEqual(seen.job.status?.attempts?.at(-1));
    // A pod that starts may still wait. A node may come back, and does not count meanwhile.
    const isOut = sentence === 'that failed' || sentence === 'that somebody deleted';
    expect(lostStandbys).toEqual(isOut ? [{ podIndex: 2, at: NOW.toISOString() }] : undefined);
    expect(status.summary).toContain(sentence === 'that never got a node' ? '; 2 of 2 standbys' : '; 1 of 2 standbys');
  });

  it('that is recorded, is for good: the pod takes no place', () => {
    const attempt = { lostStandbys: [{ podIndex: 2, at: RAN }] };
    expect(lastOf(lost({ attempt }))).toMatchObject({ ...attempt, replacements: [{ ...REPLACED, standby: 3 }] });
  });

  it('that has taken a place, is answered by the next one', () => {
    const attempt = { incarnation: 2, replacements: [REPLACED], resumedFrom: { checkpoint: 'c', step: 40 } };
    const launchers = pods.map((pod) => [pod, reporting({ incarnation: 2 })] as const);
    const nodeStates = new Map([['node-c', 'gone' as const]]);
    expect(lastOf(lost({ attempt, launchers, pods: [first, third, fourth], observed: { nodeStates } }))).toMatchObject({
      incarnation: 3,
      replacements: [REPLACED, { ...REPLACED, podIndex: 2, standby: 3, incarnation: 3 }],
    });
  });
});

describe('a pod that lost its ranks', () => {
  const attempt = recorded({ incarnation: 2, replacements: [REPLACED], resumedFrom: undefined, runningAt: undefined });
  const seated = { ...placement.spec, ranks: ['0-1', '', '2-3', ''] };
  const ordersWith = (states: readonly ObservedLauncher[]) =>
    launcherOrders({
      attempt,
      ...membersOf(seated),
      isDue: true,
      launchers: new Map(states.map((state, podIndex) => [`pod-${podIndex}`, { ...state, podIndex }])),
    });

  it('and is silent is not waited for: the ranks begin when the pods with ranks have ended theirs', () => {
    const reaped = reporting({ state: 'reaped' });
    const orders = ordersWith([reaped, reporting(), reaped, reaped]);
    expect([...orders]).toEqual([
      ['pod-0', { kind: 'assign' }],
      ['pod-1', { kind: 'endRanks', epoch: 1, incarnation: 1 }],
      ['pod-2', { kind: 'assign' }],
      ['pod-3', { kind: 'assign' }],
    ]);
  });

  it('does not let ranks begin before their save in memory is recorded: standbys have none, and are not asked', () => {
    const saved = reporting({ state: 'reaped', memorySaves: [{ incarnation: 1, step: 45 }] });
    const again = recorded({ incarnation: 2, resumedFrom: { checkpoint: 'c', step: 40 } });
    const states = [saved, saved, reporting({ state: 'reaped' }), reporting({ state: 'reaped' })];
    const launchers = new Map(states.map((state, podIndex) => [`pod-${podIndex}`, { ...state, podIndex }]));
    const orders = (attempt: Attempt) =>
      launcherOrders({ attempt, ...membersOf(placement.spec), isDue: true, launchers });
    expect(orders(again).size).toBe(0);
    expect(orders({ ...again, memorySave: { incarnation: 1, step: 45 } }).size).toBe(4);
  });

  it('gets no ranks again when it is back, although the others begin', () => {
    const reaped = reporting({ state: 'reaped' });
    const orders = ordersWith([reaped, reaped, reaped, reporting()]);
    expect([...orders.keys()]).toEqual(['pod-0', 'pod-2', 'pod-3']);
  });

  it('never takes the place of another one, even if it is alive', () => {
    const { replacements } =
      lastOf(
        lost({
          attempt: { incarnation: 2, replacements: [REPLACED], resumedFrom: { checkpoint: 'c', step: 40 } },
          launchers: pods.map((pod) => [pod, reporting({ incarnation: 2 })] as const),
          observed: {
            nodeStates: new Map([
              ['node-a', 'gone'],
              ['node-d', 'gone'],
            ]),
          },
        }),
      ) ?? {};
    expect(replacements).toEqual([REPLACED]);
  });
});

describe('the assignment of a launcher', () => {
  const of = (attempt: Attempt, ranks: readonly string[], podIndex: number) =>
    assignmentOf({ job, attempt, placement: { ...placement.spec, ranks: [...ranks] } }, podIndex);

  it('of a standby has no ranks: it measures itself alone', () => {
    expect(of(recorded(), ['0-1', '2-3', '', ''], 2)).toMatchObject({ ranks: '', podIndex: 0, podCount: 1 });
  });

  it('of a standby that took a place has the ranks, the position and the size of the gang', () => {
    const attempt = recorded({ incarnation: 2, replacements: [REPLACED], resumedFrom: undefined });
    expect(of(attempt, ['0-1', '', '2-3', ''], 2)).toMatchObject({ ranks: '2-3', podIndex: 1, podCount: 2 });
    expect(of(attempt, ['0-1', '', '2-3', ''], 0)).toMatchObject({ ranks: '0-1', podIndex: 0, podCount: 2 });
  });
});

describe('a gang with standbys', () => {
  it('is complete when its ranks have finished: standbys are ended', () => {
    const finished = pods.map((pod, index) =>
      index < 2 ? { ...pod, phase: 'Succeeded' as const, running: false } : pod,
    );
    const seen = lost({ pods: finished, observed: { nodeStates: new Map() }, spec: { spec: { expects: 'Nothing' } } });
    const { status, actions } = settled(seen);
    expect(status.attempts?.at(-1)).toMatchObject({ stage: 'Stopping', outcome: 'Succeeded' });
    expect(actions).toMatchObject([{ kind: 'deletePods', pods: [{ uid: third.uid }, { uid: fourth.uid }] }]);
    const over = { ...seen, job: { ...seen.job, status }, pods: finished.slice(0, 2) };
    expect(settled(over).status).toMatchObject({ state: 'Complete' });
  });

  const labels = { [NODE_LABELS.nvlinkDomain]: '', [NODE_LABELS.nicIsland]: 'ib' };
  const nodes = ['a', 'b', 'c', 'd'].map((name) =>
    aNode({ name: `node-${name}`, labels: { ...labels, [NODE_LABELS.nvlinkDomain]: name } }),
  );
  const placed = (standby: number, free = nodes) => {
    const decision = settled(observe({ job: aJob({ spec: { standby } }), capacity: () => aCapacity(free) }));
    return { attempt: decision.status.attempts?.at(-1), spec: decision.reserve, summary: decision.status.summary };
  };

  it('is placed with standbys behind its pods', () => {
    const { spec, attempt } = placed(2);
    expect(spec?.nodes).toHaveLength(4);
    expect(spec?.ranks).toEqual(['0-1', '2-3', '', '']);
    expect(attempt).toMatchObject({ standbys: 2, standbyGpus: 4 });
  });

  const elsewhere = aNode({ name: 'node-x', labels: { [NODE_LABELS.nicIsland]: 'other' } });
  it.each<[string, Parameters<typeof placed>, number | undefined, string]>([
    ['none', [0], undefined, ''],
    [
      'as many as nodes are free, and says so',
      [2, nodes.slice(0, 3)],
      1,
      '1 of 2 standbys: no other such node is free.',
    ],
    ['none if no node is free, and begins', [2, nodes.slice(0, 2)], undefined, '0 of 2 standbys: no other such node'],
    ['none on nodes of another island', [1, [...nodes.slice(0, 2), elsewhere]], undefined, '0 of 1 standby: no other'],
  ])('has %s', (_sentence, asked, standbys, where) => {
    const { attempt } = placed(...asked);
    expect(attempt).toMatchObject({ epoch: 1, stage: 'Creating' });
    expect(attempt?.standbys).toBe(standbys);
    expect(attempt?.placedWhere ?? '').toContain(where);
  });

  const claim = { kind: 'PersistentVolumeClaim', name: 'saves', field: 'spec.checkpoint.claimName' } as const;
  it.each<[string, number, number | undefined, string]>([
    ['one node has no standby, because none could start', 1, undefined, '0 of 1 standby: one node alone can mount'],
    ['two nodes has one: its pods run with the claim too, or not at all', 2, 1, ''],
  ])('whose claim one node alone can mount, on %s', (_sentence, dataParallelDegree, standbys, where) => {
    const layout = { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree };
    const spec = { standby: 1, layout, checkpoint: { claimName: 'saves', path: 'runs', everySteps: 10 } };
    const seen = observe({ job: aJob({ spec }), capacity: () => aCapacity(nodes) });
    const key = keyOf(referencesNow(factsOf(seen)));
    const { status } = settled({ ...seen, references: { key, ageMs: 0, unusable: [], ofOneNode: [claim] } });
    const attempt = status.attempts?.at(-1);
    expect(attempt).toMatchObject({ epoch: 1, stage: 'Creating' });
    expect(attempt?.standbys).toBe(standbys);
    expect(attempt?.placedWhere ?? '').toContain(where);
  });
});
