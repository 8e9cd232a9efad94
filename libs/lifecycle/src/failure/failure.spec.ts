import type { Attempt, TrainingJob } from '@coxswain/api-types';
import { decide } from '../decide/decide.ts';
import type { Observed, ObservedPod } from '../observation/observed.ts';
import { anExit, aPlacement, aPod } from '../testing/index.ts';
import { anAttempt, aRunningJob, NOW } from '../testing/jobs.ts';

describe('why an attempt ends', () => {
  const failed =
    (exit: ObservedPod['exit'], more: Partial<ObservedPod> = {}) =>
    (job: TrainingJob) => [
      aPod(job, { phase: 'Failed', running: false, ...(exit === undefined ? {} : { exit }), ...more }),
      aPod(job, { podIndex: 1 }),
    ];
  const cases: readonly {
    readonly name: string;
    readonly pods?: (job: TrainingJob) => readonly ObservedPod[];
    readonly observed?: Partial<Observed>;
    readonly want: Partial<Attempt>;
  }[] = [
    { name: 'exit 1', pods: failed(anExit()), want: { reason: 'EngineFailed', charged: true, answer: 'Restart' } },
    {
      name: 'exit 137 without a word',
      pods: failed({ exitCode: 137, reason: 'OOMKilled' }),
      want: { reason: 'EngineFailed', charged: true },
    },
    {
      name: 'exit 93',
      pods: failed(anExit({ exitCode: 93 }, { kind: 'doNotRestart' })),
      want: { reason: 'DoNotRestart', answer: 'GiveUp' },
    },
    {
      name: 'exit 71',
      pods: failed({ exitCode: 71, reason: 'Error' }),
      want: { reason: 'RendezvousPortLost', charged: false, answer: 'Restart' },
    },
    {
      name: 'exit 72 of a gang that had nothing to load',
      pods: failed({ exitCode: 72, reason: 'Error' }),
      want: { reason: 'EngineFailed', charged: true },
    },
    {
      name: 'exit 74 of a gang that had nothing to load',
      pods: failed({ exitCode: 74, reason: 'Error' }),
      want: { reason: 'EngineFailed', charged: true },
    },
    {
      name: 'exit 75 that nobody asked for',
      pods: failed({ exitCode: 75, reason: 'Error' }),
      want: { reason: 'Evicted', charged: false },
    },
    {
      name: 'a launcher that reached no operator',
      pods: failed(anExit({ exitCode: 76 }, { kind: 'operatorUnreachable' })),
      want: { reason: 'NotStarted', charged: false, answer: 'Restart' },
    },
    {
      name: 'a disruption',
      pods: failed({ exitCode: 143, reason: 'Error' }, { disruption: 'PreemptionByScheduler' }),
      want: { reason: 'Evicted', charged: false },
    },
    {
      name: 'a pod that its node turned away',
      pods: failed(undefined, { statusReason: 'OutOfnvidia.com/gpu', running: false }),
      want: { reason: 'TurnedAway', charged: false, answer: 'Restart' },
    },
    {
      name: 'a pod that its node turned away for a reason of which nobody has heard here',
      pods: failed(undefined, { statusReason: 'TopologyAffinityError', running: false }),
      want: { reason: 'TurnedAway', charged: false },
    },
    {
      name: 'a pod that its node ends as it shuts down, before it says how its container ended',
      pods: failed(undefined, { statusReason: 'Terminated', running: true }),
      want: { reason: 'Evicted', charged: false },
    },
    {
      name: 'a pod whose container its kubelet has ended',
      pods: failed({ exitCode: 137, reason: 'Error' }, { statusReason: 'Evicted', running: false }),
      want: { reason: 'Evicted', charged: false },
    },
    ...[
      'Usage of EmptyDir volume "scratch" exceeds the limit "1Gi". ',
      'Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ',
      'Container trainer exceeded its local ephemeral storage limit "1Gi". ',
    ].map((statusMessage) => ({
      name: `a pod that its kubelet evicts because ${statusMessage}`,
      pods: failed(
        { exitCode: 137, reason: 'Error' },
        { statusReason: 'Evicted', statusMessage, disruption: 'TerminationByKubelet', running: false },
      ),
      want: {
        reason: 'LimitExceeded' as const,
        charged: true,
        message: expect.stringContaining(statusMessage.trim()) as unknown as string,
      },
    })),
    {
      name: 'a pod that its kubelet evicts because its node has little left',
      pods: failed(
        { exitCode: 137, reason: 'Error' },
        {
          statusReason: 'Evicted',
          statusMessage: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi.',
          disruption: 'TerminationByKubelet',
        },
      ),
      want: {
        reason: 'Evicted',
        charged: false,
        message: expect.stringContaining('The node was low on resource: memory.') as unknown as string,
      },
    },
    {
      name: 'a pod that ended without a word',
      pods: failed(undefined),
      want: { reason: 'LauncherFailed', charged: true },
    },
    {
      name: 'a pod that a live read did not find',
      pods: (job) => [aPod(job)],
      want: { reason: 'PodLost', charged: true },
    },
    {
      name: 'a missing pod whose node is gone',
      pods: (job) => [aPod(job)],
      observed: { nodeStates: new Map([['node-b', 'gone']]) },
      want: { reason: 'NodeLost', charged: false },
    },
    {
      name: 'a rank that fails because the node of its peer does not answer',
      pods: failed(anExit()),
      observed: { nodeStates: new Map([['node-b', 'notReady']]) },
      want: { reason: 'NodeLost', charged: false },
    },
    {
      name: 'another pod of the same name',
      pods: (job) => [aPod(job), aPod(job, { podIndex: 1, ours: false })],
      want: {
        reason: 'PodLost',
        charged: true,
        message: expect.stringContaining('another one has its name') as unknown as string,
      },
    },
    {
      name: 'the earliest of two failures',
      pods: (job) => [
        aPod(job, { phase: 'Failed', exit: anExit({ finishedAt: '2026-01-01T00:10:05Z' }, { rank: 0 }) }),
        aPod(job, { podIndex: 1, phase: 'Failed', exit: anExit({ finishedAt: '2026-01-01T00:10:01Z' }, { rank: 3 }) }),
      ],
      want: { message: expect.stringContaining('Rank 3 on node node-b exited with code 1.') as unknown as string },
    },
  ];
  it.each(cases)('$name: $want.reason', ({ pods, observed, want }) => {
    const { status } = decide(
      aRunningJob({ ...(pods === undefined ? {} : { pods }), ...(observed === undefined ? {} : { observed }) }),
      NOW,
    );
    expect(status.attempts?.at(-1)).toMatchObject({ outcome: 'Failed', ...want });
  });

  it('is not looked for while some ranks have finished and others still run', () => {
    const { status } = decide(
      aRunningJob({ pods: (job) => [aPod(job, { phase: 'Succeeded' }), aPod(job, { podIndex: 1 })] }),
      NOW,
    );
    expect(status.attempts?.at(-1)).toMatchObject({ stage: 'Released' });
  });

  it('holds rank, node, exit code and last lines', () => {
    const { status } = decide(aRunningJob({ pods: failed(anExit()) }), NOW);
    expect(status.attempts?.at(-1)?.message).toBe(
      'Rank 1 on node node-a exited with code 1.\nLast lines of its log:\nTraceback (most recent call last):\nValueError: planted',
    );
  });
});

describe('a launcher that reached no operator', () => {
  const unreached = anExit({ exitCode: 76 }, { kind: 'operatorUnreachable' });
  it.each<[string, readonly string[], number, readonly string[]]>([
    ['speaks against its node where another one of the gang reached it', ['node-a', 'node-b'], 1, ['node-a']],
    ['speaks against no node where the whole gang did not reach it', ['node-a', 'node-b'], 2, []],
    ['speaks against no node where the gang has no other one', ['node-a'], 1, []],
  ])('%s', (_sentence, nodes, unreachedPods, want) => {
    const pods = (job: TrainingJob): readonly ObservedPod[] =>
      nodes.map((_, podIndex) =>
        aPod(job, {
          podIndex,
          ...(podIndex < unreachedPods ? { phase: 'Failed', running: false, exit: unreached } : {}),
        }),
      );
    const seen = aRunningJob({ pods });
    const placements = [aPlacement(seen.job, { nodes: [...nodes], worldSize: 2 * nodes.length })];
    const { status } = decide({ ...seen, placements }, NOW);
    expect(status.attempts?.at(-1)?.reason).toBe('NotStarted');
    expect((status.avoidedNodes ?? []).map(({ node }) => node)).toEqual(want);
  });
});

describe('a pod that was turned away', () => {
  it.each<[string, readonly string[], number, readonly string[]]>([
    ['speaks against its node', ['node-a', 'node-b'], 1, ['node-a']],
    ['speaks against the only node of its gang', ['node-a'], 1, ['node-a']],
    ['speaks against no node where most of the gang are', ['node-a', 'node-b'], 2, []],
  ])('%s', (_sentence, nodes, turnedAway, want) => {
    const pods = (job: TrainingJob): readonly ObservedPod[] =>
      nodes.map((_, podIndex) =>
        aPod(job, {
          podIndex,
          ...(podIndex < turnedAway
            ? { phase: 'Failed', running: false, statusReason: 'UnexpectedAdmissionError' }
            : {}),
        }),
      );
    const seen = aRunningJob({ pods });
    const placements = [aPlacement(seen.job, { nodes: [...nodes], worldSize: 2 * nodes.length })];
    const { status } = decide({ ...seen, placements }, NOW);
    expect(status.attempts?.at(-1)?.reason).toBe('TurnedAway');
    expect((status.avoidedNodes ?? []).map(({ node, reason }) => [node, reason])).toEqual(
      want.map((node) => [node, 'TurnedAway']),
    );
  });
});

describe('of several failures', () => {
  const reasons = [
    ['DoNotRestart', anExit({ exitCode: 93 }, { kind: 'doNotRestart' }), {}],
    ['CheckpointUnreadable', { exitCode: 72, reason: 'Error' }, {}],
    ['CheckpointIoError', { exitCode: 74, reason: 'Error' }, {}],
    ['RendezvousPortLost', { exitCode: 71, reason: 'Error' }, {}],
    ['Evicted', { exitCode: 143, reason: 'Error' }, { disruption: 'PreemptionByScheduler' }],
    ['NotStarted', anExit({ exitCode: 76 }, { kind: 'operatorUnreachable' }), {}],
    ['EngineFailed', anExit(), {}],
    ['LauncherFailed', undefined, {}],
  ] as const;
  const pairs = reasons.flatMap((first, index) => reasons.slice(index + 1).map((second) => [first, second] as const));

  it.each(pairs.map(([first, second]) => ({ want: first[0], other: second[0], first, second })))(
    '$want is the origin and $other what followed, whichever pod it was',
    ({ want, first, second }) => {
      for (const order of [
        [first, second],
        [second, first],
      ] as const) {
        const pods = (job: TrainingJob): readonly ObservedPod[] =>
          order.map(([, exit, more], podIndex) =>
            aPod(job, { podIndex, phase: 'Failed', ...(exit === undefined ? {} : { exit }), ...more }),
          );
        const attempts = [anAttempt({ resumedFrom: { checkpoint: 'c', step: 20 } })];
        expect(decide(aRunningJob({ pods, status: { attempts } }), NOW).status.attempts?.at(-1)?.reason).toBe(want);
      }
    },
  );

  it.each<[string, readonly string[], number]>([
    ['the rank that failed by itself', ['ValueError: planted', 'RuntimeError: Connection closed by peer'], 3],
    ['the earlier one, where each tells of a lost peer', ['RuntimeError: Connection closed by peer'], 0],
  ])('one that only lost its peer is named after %s', (_sentence, lastLines, want) => {
    const lost = {
      rank: 0,
      lastLines: ['Traceback (most recent call last):', 'RuntimeError: Connection reset by peer'],
    };
    expect(rankNamedFirst(lost, lastLines)).toBe(want);
  });

  it('one that the watchdog of torch aborted is named after the rank that failed by itself', () => {
    const aborted = { rank: 0, signal: 'SIGABRT', lastLines: ['Watchdog caught collective operation timeout: a'] };
    expect(rankNamedFirst(aborted, ['ValueError: planted'])).toBe(3);
  });

  it('other nodes whose ranks raised the same exception are known', () => {
    const lastLines = ['ValueError: planted'];
    const pods = (job: TrainingJob): readonly ObservedPod[] =>
      [0, 1].map((podIndex) =>
        aPod(job, { podIndex, phase: 'Failed', exit: anExit({}, { rank: podIndex, lastLines }) }),
      );
    expect(decide(aRunningJob({ pods }), NOW).status.failures?.traceback?.nodes).toEqual(['node-a', 'node-b']);
  });

  function rankNamedFirst(lost: object, lastLines: readonly string[]): number {
    const pods = (job: TrainingJob): readonly ObservedPod[] => [
      aPod(job, { phase: 'Failed', exit: anExit({ finishedAt: '2026-01-01T00:10:01Z' }, lost) }),
      aPod(job, {
        podIndex: 1,
        phase: 'Failed',
        exit: anExit({ finishedAt: '2026-01-01T00:10:02Z' }, { rank: 3, lastLines: [...lastLines] }),
      }),
    ];
    const { status } = decide(aRunningJob({ pods }), NOW);
    return Number(/^Rank (\d+) on node /.exec(status.attempts?.at(-1)?.message ?? '')?.[1]);
  }

  it.each<[string, readonly ('lost' | 'killed')[], number, RegExp | undefined]>([
    ['not recorded while a pod that runs may report the one before it', ['lost'], 4_999, undefined],
    ['recorded once no pod has done so', ['lost'], 5_000, /^Rank 0 on node /],
    ['what followed, if it is reported first', ['lost', 'killed'], 0, /^Rank 3 on node node-b was killed by SIGKILL/],
    ['what followed, if it is reported last', ['killed'], 0, /^Rank 3 on node node-b was killed by SIGKILL/],
  ])('one that only lost its peer is %s', (_sentence, reported, elapsedMs, want) => {
    const lost = anExit({}, { rank: 0, lastLines: ['RuntimeError: Connection closed by peer [127.0.0.1]:1'] });
    const killed = anExit({ exitCode: 137 }, { rank: 3, exitCode: 137, signal: 'SIGKILL' });
    const pods = (job: TrainingJob): readonly ObservedPod[] => [
      aPod(job, reported.includes('lost') ? { phase: 'Failed', running: false, exit: lost } : {}),
      aPod(job, {
        podIndex: 1,
        ...(reported.includes('killed') ? { phase: 'Failed', running: false, exit: killed } : {}),
      }),
    ];
    const decision = decide({ ...aRunningJob({ pods }), elapsedMs: new Map([['e1i1/origin', elapsedMs]]) }, NOW);
    const message = decision.status.attempts?.at(-1)?.message;
    if (want === undefined) {
      expect(message).toBeUndefined();
      expect(decision).toMatchObject({ timed: expect.arrayContaining(['e1i1/origin']), requeueAfterMs: 1 });
    } else expect(message).toMatch(want);
  });

  it('in the same second the rank that was killed comes before those that left by themselves', () => {
    const pods = (job: TrainingJob): readonly ObservedPod[] => [
      aPod(job, { phase: 'Failed', exit: anExit({}, { rank: 0 }) }),
      aPod(job, {
        podIndex: 1,
        phase: 'Failed',
        exit: anExit({ exitCode: 137 }, { rank: 3, exitCode: 137, signal: 'SIGKILL' }),
      }),
    ];
    const { status } = decide(aRunningJob({ pods }), NOW);
    expect(status.attempts?.at(-1)?.message).toMatch(
      /^Rank 3 on node node-b was killed by SIGKILL \(exit code 137\)\./,
    );
  });
});

describe('the sentence about an exit', () => {
  const silent = { lastLines: [] };
  const cases: readonly { readonly name: string; readonly pod: Partial<ObservedPod>; readonly want: string }[] = [
    { name: 'names the rank', pod: { exit: anExit({}, silent) }, want: 'Rank 1 on node node-a exited with code 1.' },
    {
      name: 'does not repeat what the launcher said of that rank',
      pod: { exit: anExit({}, { ...silent, message: 'rank 1 on node node-a exited with code 1' }) },
      want: 'Rank 1 on node node-a exited with code 1.',
    },
    {
      name: 'says what the launcher said of itself',
      pod: {
        exit: anExit(
          { exitCode: 70 },
          { ...silent, rank: undefined as never, exitCode: 70, message: 'no operator answered' },
        ),
      },
      want: 'Pod tiny-gpt-3f1c2b9e-e1-0 on node node-a exited with code 70. no operator answered',
    },
    {
      name: 'says what the container runtime knows',
      pod: { exit: { exitCode: 137, reason: 'OOMKilled' } },
      want: 'Pod tiny-gpt-3f1c2b9e-e1-0 on node node-a exited with code 137, OOMKilled.',
    },
    {
      name: 'says who ended the pod',
      pod: { disruption: 'EvictionByEvictionAPI' },
      want: 'Pod tiny-gpt-3f1c2b9e-e1-0 on node node-a ended without an exit code (EvictionByEvictionAPI).',
    },
    {
      name: 'says why its node did not have it, in the words of the kubelet',
      pod: {
        running: false,
        statusReason: 'UnexpectedAdmissionError',
        statusMessage: 'Allocate failed due to requested number of devices unavailable for nvidia.com/gpu.',
      },
      want: 'Node node-a ended pod tiny-gpt-3f1c2b9e-e1-0 before any container had run (UnexpectedAdmissionError): Allocate failed due to requested number of devices unavailable for nvidia.com/gpu.',
    },
  ];
  it.each(cases)('$name', ({ pod, want }) => {
    const { status } = decide(
      aRunningJob({ pods: (job) => [aPod(job, { phase: 'Failed', ...pod }), aPod(job, { podIndex: 1 })] }),
      NOW,
    );
    expect(status.attempts?.at(-1)?.message).toBe(want);
  });

  it('keeps the end of a long log, which says why', () => {
    const lastLines = [...Array.from({ length: 500 }, () => 'a line that says little'), 'ValueError: planted'];
    const pods = (job: TrainingJob): readonly ObservedPod[] => [
      aPod(job, { phase: 'Failed', exit: anExit({}, { lastLines }) }),
      aPod(job, { podIndex: 1 }),
    ];
    const message = decide(aRunningJob({ pods }), NOW).status.attempts?.at(-1)?.message ?? '';
    expect(message.length).toBeLessThan(8_001);
    expect(message.endsWith('ValueError: planted')).toBe(true);
  });
});
