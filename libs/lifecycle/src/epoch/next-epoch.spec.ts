import type { NodeFacts } from '@coxswain/fabric';
import {
  type Condition,
  findCondition,
  type JobPlan,
  NODE_LABELS,
  type TrainingJobSpec,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import { aJobSpec, aPlannedJobSpec } from '@coxswain/api-types/testing';
import type { NodeSearch } from '@coxswain/job-planning';
import { decide } from '../decide/decide.ts';
import type { Observed, ObservedNodeSearch } from '../observation/observed.ts';
import { situationOf } from '../decide/situation.ts';
import { aCapacity, aCheckpoint, aNode, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aStatus, NOW } from '../testing/jobs.ts';

const ended = anAttempt({
  stage: 'Ended',
  outcome: 'Failed',
  reason: 'EngineFailed',
  charged: true,
  answer: 'Restart',
});
const restarting = (status: Partial<TrainingJobStatus> = {}, observed: Partial<Observed> = {}): Observed => {
  const job = aJob({ status: aStatus({ attempts: [ended], ...status }) });
  return observe({ job, placements: [aPlacement(job)], ...observed });
};
/** Five seconds, by the job's policy. */
const delayed = { notBefore: '2026-01-01T00:20:05Z' };
const after = (ms: number): ReadonlyMap<string, number> => new Map([['e1/delay', ms]]);
const next = (observed: Observed) => situationOf(observed, NOW).next;

describe('what stands between a job and its next epoch', () => {
  const job = aJob();
  it.each<readonly [string, Observed, string]>([
    ['nothing, where nodes are free', observe(), 'placing'],
    [
      'nothing is wanted while a gang is up',
      observe({
        job: aJob({ status: aStatus() }),
        placements: [aPlacement(job)],
        pods: [aPod(job), aPod(job, { podIndex: 1 })],
      }),
      'notNeeded',
    ],
    ['nothing is wanted of a suspended job', observe({ job: aJob({ spec: { suspend: true } }) }), 'notNeeded'],
    ['nothing is wanted of a cancelled job', observe({ job: aJob({ spec: { cancel: true } }) }), 'notNeeded'],
    ['a spec that is refused', observe({ job: aJob({ spec: { layout: { tensorParallelDegree: 3 } } }) }), 'refused'],
    ['pods of an earlier epoch that still live', restarting({}, { pods: [aPod(job)] }), 'afterPreviousEpoch'],
    ['the delay after a failure', restarting(delayed, { elapsedMs: after(4_999) }), 'delayed'],
    ['a delay that is over is none', restarting(delayed, { elapsedMs: after(5_000) }), 'placing'],
    ...['2026-01-01T00:20:00Z', '2025-12-31T23:20:00Z', '2026-01-01T01:20:00Z', '9999-01-01T00:00:00Z'].map(
      (notBefore) =>
        [
          `the whole delay, though another clock recorded ${notBefore} as its end`,
          restarting({ notBefore }, { elapsedMs: after(4_999) }),
          'delayed',
        ] as const,
    ),
    ['whether the cluster takes its pods is not known', observe({ podProbe: undefined as never }), 'probing'],
    [
      'the cluster takes no such pod',
      observe({ podProbe: { kind: 'refused', message: 'exceeded quota' } }),
      'podsRefused',
    ],
    ['too few free GPUs', observe({ capacity: () => aCapacity([aNode()]) }), 'waiting'],
    [
      'nodes that no tensor group fits into',
      observe({
        job: aJob({ spec: { layout: { tensorParallelDegree: 4 } } }),
        capacity: () => aCapacity([aNode({ labels: {} }), aNode({ name: 'node-b', labels: {} })]),
      }),
      'unsatisfiable',
    ],
  ])('%s', (_sentence, observed, want) => {
    expect(next(observed).kind).toBe(want);
  });

  it('pods that go away are waited for before the delay is', () => {
    expect(next(restarting(delayed, { pods: [aPod(job)] })).kind).toBe('afterPreviousEpoch');
  });
});

describe('a gang that no island of the network holds', () => {
  const island = (name: string, nicIsland: string, nicType: string) =>
    aNode({ name, labels: { [NODE_LABELS.nicIsland]: nicIsland, [NODE_LABELS.nicType]: nicType } });
  const capacity = () => aCapacity([island('node-a', 'ib', 'infiniband'), island('node-b', 'roce', 'roce')]);
  const placed = (acrossIslands?: 'Never' | 'Pipeline' | 'Sockets') =>
    next(
      observe({
        capacity,
        job: aJob({
          spec: { layout: { tensorParallelDegree: 2, dataParallelDegree: 2 }, resources: { acrossIslands } },
        }),
      }),
    );

  it.each([undefined, 'Never', 'Pipeline'] as const)('waits, with what would help: %s', (acrossIslands) => {
    expect(placed(acrossIslands)).toMatchObject({ kind: 'unsatisfiable' });
  });

  it('is placed where it may use sockets, and its placement says that every rank does', () => {
    expect(placed('Sockets')).toMatchObject({
      kind: 'placing',
      spec: { nodes: ['node-a', 'node-b'], network: 'Sockets' },
    });
  });

  it('says no such thing where one island holds it after all', () => {
    const job = aJob({ spec: { resources: { acrossIslands: 'Sockets' } } });
    expect(next(observe({ job }))).toMatchObject({ kind: 'placing' });
    expect(next(observe({ job }))).not.toHaveProperty('spec.network');
  });
});

describe('a gang whose plan has stages for two types of GPU', () => {
  const node = (name: string, gpuType: string) => aNode({ name, labels: { [NODE_LABELS.gpuType]: gpuType } });
  const capacity = () => aCapacity([node('node-a', 'A100'), node('node-b', 'H100')]);
  const layout = { tensorParallelDegree: 2, pipelineParallelDegree: 2, dataParallelDegree: 1 };
  const stageGpus = [
    { stages: 1, gpuType: 'H100' },
    { stages: 1, gpuType: 'A100' },
  ];
  const plan: JobPlan = {
    chosenBy: 'Planner',
    gpus: 4,
    fabric: 'f',
    plannerVersion: '1',
    plannedAt: '2026-01-01T00:00:00Z',
    layout,
  };
  const resources = { acrossIslands: 'Sockets' } as const;
  const chosen = aPlannedJobSpec({ gpus: 4, resources });
  const placed = (planned: Partial<JobPlan>, spec: TrainingJobSpec = chosen) => {
    const status = { epoch: 0, restarts: { total: 0, charged: 0 }, plan: { ...plan, ...planned } };
    return next(observe({ capacity, job: { ...aJob({ status }), spec } }));
  };

  it.each<[string, Partial<JobPlan>, TrainingJobSpec | undefined, readonly string[]]>([
    ['goes where its stages are meant to be', { stageGpus }, undefined, ['node-b', 'node-a']],
    ['the other way round as well', { stageGpus: stageGpus.toReversed() }, undefined, ['node-a', 'node-b']],
    [
      'is placed as any other where the user wrote the layout',
      { chosenBy: 'User', stageGpus },
      aJobSpec({ layout, resources }),
      ['node-a', 'node-b'],
    ],
  ])('%s', (_sentence, planned, spec, nodes) => {
    expect(placed(planned, spec)).toMatchObject({ kind: 'placing', spec: { nodes } });
  });

  it('waits for the type that is missing, in its words', () => {
    const missing = [
      { stages: 1, gpuType: 'H100' },
      { stages: 1, gpuType: 'B200' },
    ];
    expect(placed({ stageGpus: missing })).toMatchObject({
      kind: 'waiting',
      message: expect.stringMatching(/^Stage 2 is planned for B200 GPUs\. Needs 2 GPUs/) as string,
    });
  });
});

describe('a gang that is placed again', () => {
  const again = (nodes: readonly NodeFacts[], was: readonly string[]) => {
    const job = aJob({ status: aStatus({ attempts: [ended] }) });
    const placements = [aPlacement(job, { nodes: [...was] })];
    return next(restarting({}, { job, placements, capacity: () => aCapacity(nodes) }));
  };
  const nodes = ['node-a', 'node-b', 'node-c'].map((name) => aNode({ name }));

  it('keeps its nodes, though the names of others come first', () => {
    expect(again(nodes, ['node-c', 'node-b'])).toMatchObject({ spec: { nodes: ['node-c', 'node-b'] } });
  });

  it('has a spare in place of a node that is away, and moves nobody else', () => {
    const away = nodes.map((node) => (node.name === 'node-c' ? { ...node, ready: false } : node));
    expect(again(away, ['node-c', 'node-b'])).toMatchObject({ spec: { nodes: ['node-a', 'node-b'] } });
  });
});

describe('nodes in reserve', () => {
  const nodes = ['node-a', 'node-b', 'node-c', 'node-d'].map((name) => aNode({ name }));
  const capacity =
    (away: readonly string[], used: Readonly<Record<string, number>> = {}): Observed['capacity'] =>
    () => ({
      ...aCapacity(
        nodes.map((node) => (away.includes(node.name) ? { ...node, ready: false } : node)),
        used,
      ),
      reserve: { nodesPerNvlinkDomain: 1 },
    });
  const gangOn = (was: readonly string[], status: Partial<TrainingJobStatus> = {}) => {
    const job = aJob({ status: aStatus({ attempts: [ended], ...status }) });
    return { job, placements: [aPlacement(job, { nodes: [...was] })] };
  };
  const refused = { kind: 'waiting', message: 'Others are refused.' } as const;
  const isOthers = {
    standingRefusal: ({ replacing }: { replacing?: string }) => (replacing === undefined ? refused : undefined),
  };
  const avoided = { node: 'node-c', reason: 'NotStopped', epoch: 1, since: '2026-01-01T00:00:00Z' } as const;

  it.each<[string, Partial<Observed>, readonly string[] | undefined]>([
    ['are none of a gang that begins', { placements: [], capacity: capacity(['node-c', 'node-d']) }, undefined],
    [
      'stand in for a node that is lost',
      { ...gangOn(['node-c', 'node-b']), capacity: capacity(['node-c', 'node-d']) },
      ['node-a', 'node-b'],
    ],
    [
      'stand in for all of them',
      { ...gangOn(['node-c', 'node-d']), capacity: capacity(['node-c', 'node-d']) },
      ['node-a', 'node-b'],
    ],
    [
      'stand in for a node that is avoided',
      { ...gangOn(['node-c', 'node-b'], { avoidedNodes: [avoided] }), capacity: capacity(['node-d']) },
      ['node-a', 'node-b'],
    ],
    [
      'stand in although the same was refused to another job',
      { ...gangOn(['node-c', 'node-b']), capacity: capacity(['node-c', 'node-d']), ...isOthers },
      ['node-a', 'node-b'],
    ],
    [
      'do not stand in for a node that others took',
      { ...gangOn(['node-c', 'node-b']), capacity: capacity([], { 'node-c': 2, 'node-d': 2 }) },
      undefined,
    ],
  ])('%s', (_sentence, observed, want) => {
    const found = next(restarting({}, observed));
    expect(found.kind === 'placing' ? found.spec.nodes : undefined).toEqual(want);
    if (want === undefined) expect(found).toMatchObject({ message: expect.stringContaining('spec.reserve') as string });
  });
});

describe('the next epoch', () => {
  const placing = (observed: Observed) => {
    const found = next(observed);
    if (found.kind !== 'placing') throw new Error(`not placed: ${found.kind}`);
    return found;
  };

  it('is one beyond the last, on the nodes that are free, with the layout of the spec', () => {
    expect(placing(restarting())).toMatchObject({
      name: expect.stringMatching(/^tiny-gpt-3f1c2b9e-e2-[0-9a-f]{10}$/) as string,
      spec: {
        epoch: 2,
        jobName: 'tiny-gpt',
        worldSize: 4,
        ranksPerPod: 2,
        ranks: ['0-1', '2-3'],
        nodes: ['node-a', 'node-b'],
        layout: aJob().spec.layout,
      },
    });
  });

  it.each([
    ['from scratch where nothing is saved', [], undefined],
    ['from the newest complete checkpoint', [aCheckpoint(aJob()), aCheckpoint(aJob(), { spec: { step: 60 } })], 60],
    [
      'not from a damaged one',
      [aCheckpoint(aJob()), aCheckpoint(aJob(), { spec: { step: 60 }, status: { state: 'Damaged' } })],
      20,
    ],
  ])('begins %s', (_sentence, checkpoints, step) => {
    expect(placing(restarting({}, { checkpoints })).spec.resume?.step).toBe(step);
  });

  it('does not begin from a checkpoint that two nodes have found to differ, though its object does not say so yet', () => {
    const bad = aCheckpoint(aJob(), { spec: { step: 60 } });
    const attempt = {
      ...ended,
      reason: 'CheckpointUnreadable' as const,
      resumedFrom: { checkpoint: bad.metadata.name, step: 60 },
      checkpointFaults: ['node-a', 'node-b'].map((node) => ({ node, kind: 'ContentDiffers' as const, path: 'a' })),
    };
    const observed = restarting({ attempts: [attempt] }, { checkpoints: [aCheckpoint(aJob()), bad] });
    expect(placing(observed).spec.resume?.step).toBe(20);
  });

  it('of a job that saves nothing begins from scratch, whatever lies there', () => {
    const job = aJob({ spec: { checkpoint: undefined, engine: { name: 'command', image: 'any', command: ['x'] } } });
    expect(placing(observe({ job, checkpoints: [aCheckpoint(job)] })).spec.resume).toBeUndefined();
  });
});

describe('a gang whose nodes take long to search', () => {
  const many = Array.from({ length: 1_024 }, (_, index) => aNode({ name: `node-${index}` }));
  const searchedFabric = aCapacity(many).fabric;
  const found: ObservedNodeSearch = {
    kind: 'found',
    found: { kind: 'placed', nodes: ['node-7', 'node-9'], ranksPerPod: 2, where: 'W.' },
    searched: searchedFabric,
    rises: 0,
  };
  const searched = (observedSearch: ObservedNodeSearch, observed: Partial<Observed> = {}) => {
    const searches: NodeSearch[] = [];
    const nodeSearch = (search: NodeSearch): ObservedNodeSearch => {
      searches.push(search);
      return observedSearch;
    };
    const capacity = () => aCapacity(many);
    return { decision: decide(observe({ capacity, nodeSearch, ...observed }), NOW), searches };
  };
  const waits = aJob({
    status: aStatus({ epoch: 0, attempts: [], conditions: [waiting('Needs 4 GPUs; 0 are free.')] }),
  });

  it('asks for the search beside the loop, once, and is placed on what it finds', () => {
    const { decision, searches } = searched({ kind: 'unasked' });
    expect(decision.actions).toContainEqual({ kind: 'findNodes', search: searches[0] });
    expect(searched({ kind: 'searching' }).decision.actions.map(({ kind }) => kind)).not.toContain('findNodes');
    expect(searched(found).decision.reserve?.nodes).toEqual(['node-7', 'node-9']);
  });

  it('that others took a node from meanwhile gets another one, and its status says so', () => {
    const capacity = () => ({ ...aCapacity(many), usedGpus: new Map([['node-9', 2]]) });
    const { decision } = searched(found, { capacity });
    expect(decision.reserve?.nodes).toEqual(['node-7', 'node-0']);
    expect(findCondition(decision.status.conditions, 'Placed')?.message).toContain(
      'While nodes were searched, others took some of them: 1 pod is on the nearest free nodes instead.',
    );
  });

  it('that others took all nodes from meanwhile is searched again', () => {
    const capacity = () => ({ ...aCapacity(many), usedGpus: new Map(many.map(({ name }) => [name, 2])) });
    const { decision, searches } = searched(found, { capacity });
    expect(decision.actions).toContainEqual({ kind: 'findNodes', search: searches[0] });
    expect(decision.reserve).toBeUndefined();
  });

  it.each<[string, Partial<Observed>, string]>([
    ['that it is being placed', {}, 'Placing'],
    ['as before that it waits, where it did', { job: waits }, 'WaitingForCapacity'],
  ])('says meanwhile %s', (_what, observed, want) => {
    const { conditions } = searched({ kind: 'searching' }, observed).decision.status;
    expect(findCondition(conditions, 'Placed')?.reason).toBe(want);
  });

  it('is refused in the words of the search, which are remembered', () => {
    const refused = { kind: 'waiting', message: 'No room.' } as const;
    const { decision } = searched({ kind: 'found', found: refused, searched: searchedFabric, rises: 0 });
    expect(decision.refusal?.refusal).toEqual(refused);
    expect(findCondition(decision.status.conditions, 'Placed')?.message).toBe('No room.');
  });

  it('is searched in the look on a small cluster, and where there is nothing beside it', () => {
    const small = searched({ kind: 'unasked' }, { capacity: observe().capacity });
    expect([small.searches, small.decision.reserve === undefined]).toEqual([[], false]);
    expect(decide(observe({ capacity: () => aCapacity(many) }), NOW).reserve).toBeDefined();
  });
});

function waiting(message: string): Condition {
  const lastTransitionTime = NOW.toISOString();
  return {
    type: 'Placed',
    status: 'False',
    reason: 'WaitingForCapacity',
    message,
    observedGeneration: 1,
    lastTransitionTime,
  };
}
