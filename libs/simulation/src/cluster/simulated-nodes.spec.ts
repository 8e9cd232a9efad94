import { simulatedJob, savedAt } from './simulated-job.ts';
import { type Condition, SimulatedNodes } from './simulated-nodes.ts';
import { SimulatedPods } from './simulated-pods.ts';

describe('a simulated node', () => {
  it.each<[Condition, ReturnType<SimulatedNodes['stateOf']>, object]>([
    ['well', 'ready', { ready: true, schedulable: true }],
    ['wornOut', 'ready', { ready: true, schedulable: false, isCordoned: true }],
    ['dead', 'notReady', { ready: false, schedulable: true }],
  ])('that is %s is %s to the rules', (condition, state, facts) => {
    const nodes = new SimulatedNodes(3, false);
    nodes.become('node-1', condition);
    expect([nodes.conditionOf('node-1'), nodes.stateOf('node-1')]).toEqual([condition, state]);
    expect(nodes.factsOf('node-1')).toMatchObject({ name: 'node-1', gpuCapacity: 1, ...facts });
  });

  it('that is not there is gone, and has no facts, no boot and no GPUs', () => {
    const nodes = new SimulatedNodes(1, false);
    nodes.become('node-9', 'well');
    nodes.hold('node-9', 1);
    expect(nodes.stateOf('node-9')).toBe('gone');
    expect([nodes.factsOf('node-9'), nodes.bootIdOf('node-9'), nodes.usedGpusOf('node-9')]).toEqual([
      undefined,
      undefined,
      0,
    ]);
  });

  it.each<[string, readonly Condition[], string]>([
    ['first', [], 'node-0/1'],
    ['first, when it only breaks', ['dead'], 'node-0/1'],
    ['second, when it was mended', ['dead', 'well'], 'node-0/2'],
    ['second, when it is well twice', ['wornOut', 'well', 'well'], 'node-0/2'],
    ['third, when it was mended twice', ['dead', 'well', 'wornOut', 'well'], 'node-0/3'],
  ])('is in its %s boot', (_which, conditions, want) => {
    const nodes = new SimulatedNodes(1, false);
    for (const condition of conditions) nodes.become('node-0', condition);
    expect(nodes.bootIdOf('node-0')).toBe(want);
  });

  it.each<[number, string, string]>([
    [1, 'node-0', 'node-0'],
    [9, 'node-0', 'node-8'],
    [10, 'node-00', 'node-09'],
    [2_048, 'node-0000', 'node-2047'],
  ])('of %d is named from %s to %s, as texts sort', (count, first, last) => {
    const { names } = new SimulatedNodes(count, false);
    expect([names.length, names[0], names.at(-1)]).toEqual([count, first, last]);
  });

  it.each<[string, string, string]>([
    ['node-0000', 'leaf-0', 'spine-0'],
    ['node-0031', 'leaf-0', 'spine-0'],
    ['node-0032', 'leaf-1', 'spine-0'],
    ['node-1023', 'leaf-31', 'spine-0'],
    ['node-1024', 'leaf-32', 'spine-1'],
  ])('%s is below %s and %s', (name, leaf, spine) => {
    expect(new SimulatedNodes(2_048, true).factsOf(name)?.labels).toEqual({
      'fabric.topograph.run/tier-0': leaf,
      'fabric.topograph.run/tier-1': spine,
    });
  });

  it('has no switches unless they are asked for', () => {
    expect(new SimulatedNodes(1, false).factsOf('node-0')?.labels).toEqual({});
  });

  it('counts in the census as dead only when nothing answers', () => {
    const nodes = new SimulatedNodes(4, false);
    nodes.become('node-0', 'dead');
    nodes.become('node-1', 'wornOut');
    expect(nodes.census()).toEqual({ nodes: 4, notReady: 1 });
    expect(nodes.allFacts()).toHaveLength(4);
  });
});

describe('a simulated pod', () => {
  const aPod = () => {
    const nodes = new SimulatedNodes(2, false);
    const pods = new SimulatedPods(nodes);
    pods.create('a', { epoch: 1, podIndex: 0 });
    const uid = pods.named('a')?.uid ?? '';
    return { nodes, pods, uid };
  };

  it('waits behind its gate without a GPU, and is made once', () => {
    const { nodes, pods, uid } = aPod();
    pods.create('a', { epoch: 2, podIndex: 1 });
    expect(pods.all).toMatchObject([{ uid, epoch: 1, phase: 'Pending', gated: true, running: false }]);
    expect(nodes.usedGpus().size).toBe(0);
  });

  it('holds a GPU of its node while it runs, and is started once', () => {
    const { nodes, pods } = aPod();
    pods.start('a', 'node-1');
    pods.start('a', 'node-0');
    expect([...nodes.usedGpus()]).toEqual([['node-1', 1]]);
    expect(pods.on('node-1')?.name).toBe('a');
    expect(pods.on('node-0')).toBeUndefined();
  });

  it.each<[string, number]>([
    ['by itself, with its exit code', 1],
    ['by the kernel', 137],
  ])('frees its GPU when it ends %s', (_how, exitCode) => {
    const { nodes, pods } = aPod();
    pods.start('a', 'node-1');
    pods.end('a', { exitCode });
    pods.end('a', { exitCode: 0 });
    expect(pods.named('a')).toMatchObject({ phase: 'Failed', running: false, exit: { exitCode } });
    expect([nodes.usedGpusOf('node-1'), pods.launchers.size]).toEqual([0, 0]);
  });

  it('stays while it is held, and goes when it is released', () => {
    const { pods, uid } = aPod();
    pods.start('a', 'node-1');
    pods.delete({ name: 'a', uid }, 30, 1_000);
    expect(pods.named('a')).toMatchObject({
      deletionTimestamp: '1970-01-01T00:00:31.000Z',
      deletionGracePeriodSeconds: 30,
      exit: { exitCode: 143 },
    });
    pods.release({ name: 'a', uid });
    expect(pods.all).toEqual([]);
  });

  it('is not deleted by the UID of another one', () => {
    const { pods } = aPod();
    pods.delete({ name: 'a', uid: 'other' }, 30, 0);
    pods.release({ name: 'a', uid: 'other' });
    expect(pods.named('a')).toMatchObject({ held: true });
    expect(pods.named('a')?.deletionTimestamp).toBeUndefined();
  });

  it('on a dead node keeps its GPU until its node is back, and then ends', () => {
    const { nodes, pods, uid } = aPod();
    pods.start('a', 'node-1');
    nodes.become('node-1', 'dead');
    pods.delete({ name: 'a', uid }, 30, 0);
    expect([pods.named('a')?.phase, nodes.usedGpusOf('node-1'), pods.reportAgesMs().size]).toEqual(['Running', 1, 0]);
    nodes.become('node-1', 'well');
    pods.endDoomedOn('node-1');
    expect([pods.named('a')?.exit?.exitCode, nodes.usedGpusOf('node-1')]).toEqual([137, 0]);
  });

  it('is heard on a node that lives', () => {
    const { pods, uid } = aPod();
    pods.start('a', 'node-1');
    expect([...pods.reportAgesMs()]).toEqual([[uid, 0]]);
  });
});

describe('the simulated job', () => {
  it.each<[number, object]>([
    [1, { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 }],
    [2_048, { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 2_048 }],
  ])('on %d nodes is replicas alone, one rank each', (nodes, layout) => {
    const { spec } = simulatedJob(nodes);
    expect([spec.layout, spec.resources.gpusPerNode]).toEqual([layout, 1]);
  });

  it('never ends by its count of restarts, and waits for none', () => {
    expect(simulatedJob(2).spec.restartPolicy).toEqual({
      maxRestarts: 1_000,
      delaySeconds: 0,
      inPlace: 'WhenPossible',
    });
  });

  it('saves a checkpoint under the name of its attempt and step', () => {
    const checkpoint = savedAt(simulatedJob(2), { epoch: 3, incarnation: 1, step: 40 });
    expect(checkpoint.spec).toMatchObject({ jobName: 'simulated', epoch: 3, step: 40, claimName: 'checkpoints' });
    expect(checkpoint.metadata.name).toContain('51a7ed00');
    expect(checkpoint.status).toEqual({ state: 'Complete' });
  });
});
