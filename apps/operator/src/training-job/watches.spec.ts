import type { Attempt, TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import { anAttempt } from '@coxswain/api-types/testing';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import type { ClusterScheduler } from '@coxswain/scheduling';
import { aPlacement } from '@coxswain/lifecycle/testing';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { createClusterScheduler } from './cluster-scheduler.ts';
import { Watches } from './watches.ts';

const WAITING: TrainingJobStatus = {
  epoch: 0,
  restarts: { total: 0, charged: 0 },
  conditions: [
    {
      type: 'Placed',
      status: 'False',
      reason: 'WaitingForCapacity',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration: 1,
    },
  ],
};

/** A job that runs on node-a, one that waits for GPUs, and what was woken since, as `name priority`. */
function aWatchedCluster(): {
  script: CacheScript;
  runs: TrainingJob;
  woken: string[];
  deleted: string[];
  scheduler: ClusterScheduler;
  watches: Watches;
  wokenBy(change: () => void): Promise<readonly string[]>;
} {
  const script = new CacheScript();
  const runs = script.job('runs');
  script.job('waits', { status: WAITING });
  script.node('node-a');
  script.pod('runs-0', { job: runs, nodeName: 'node-a' });
  const woken: string[] = [];
  const deleted: string[] = [];
  const scheduler = createClusterScheduler(script.cache, script.clock);
  const watches = new Watches({
    cache: script.cache,
    clock: script.clock,
    podNewsIntervalMs: 200,
    scheduler,
    wake: (key, priority) => void woken.push(`${key.replace('research/', '')} ${priority}`),
    onJobDeleted: (jobUid) => void deleted.push(jobUid),
  });
  const wokenBy = async (change: () => void): Promise<readonly string[]> => {
    woken.length = 0;
    change();
    await script.clock.advance(1_000);
    return [...woken];
  };
  return { script, runs, woken, deleted, scheduler, watches, wokenBy };
}

function eachOf(count: number, change: (index: number) => void): void {
  for (let index = 0; index < count; index += 1) change(index);
}

describe('a gang of a thousand pods', () => {
  type World = ReturnType<typeof aWatchedCluster>;
  it.each<[string, (world: World) => void, readonly number[], Attempt['stage']?]>([
    [
      'of which one more runs is looked at a second after the last look',
      ({ script, runs }) => script.pod('runs-1', { job: runs, phase: 'Running' }),
      [0, 1],
    ],
    [
      'whose last pod begins to run is looked at within 200 ms',
      ({ script, runs }) => eachOf(1_000, (index) => script.pod(`runs-${index}`, { job: runs, runs: true })),
      [1, 1],
    ],
    [
      'that has one more running pod, while two others start, is not looked at a second after the last look',
      ({ script, runs }) => {
        const other = script.job('other');
        eachOf(2_000, (index) => script.pod(`other-${index}`, { job: other, nodeName: 'node-b' }));
        script.pod('runs-1', { job: runs, phase: 'Running' });
      },
      [0, 0],
    ],
    [
      'that has one more running pod, while another one has no nodes, is looked at a second after the last look',
      ({ script, runs }) => {
        const other = script.job('other');
        eachOf(2_000, (index) => script.pod(`other-${index}`, { job: other }));
        script.pod('runs-1', { job: runs, phase: 'Running' });
      },
      [0, 1],
    ],
    [
      'that is being removed while others start is looked at a second after the last look',
      ({ script, runs }) => {
        const other = script.job('other');
        eachOf(2_000, (index) => script.pod(`other-${index}`, { job: other, nodeName: 'node-b' }));
        script.podDeleted('runs-1', { job: runs });
      },
      [0, 1],
      'Stopping',
    ],
    [
      'of which one fails is looked at within 200 ms',
      ({ script, runs }) => script.pod('runs-1', { job: runs, phase: 'Failed' }),
      [1, 1],
    ],
    [
      'of which one is gone is looked at within 200 ms',
      ({ script, runs }) => script.podDeleted('runs-1', { job: runs }),
      [1, 1],
    ],
    [
      'that is being removed and loses a pod is looked at a second after the last look',
      ({ script, runs }) => script.pod('runs-1', { job: runs, phase: 'Failed' }),
      [0, 1],
      'Stopping',
    ],
    [
      'whose attempt has ended and that loses a pod is looked at a second after the last look',
      ({ script, runs }) => script.podDeleted('runs-1', { job: runs }),
      [0, 1],
      'Ended',
    ],
  ])('%s', async (_what, change, reconciles, stage = 'Released') => {
    const world = aWatchedCluster();
    world.script.job('runs', { status: { ...WAITING, epoch: 1, attempts: [anAttempt({ stage })], conditions: [] } });
    for (let index = 1; index < 1_000; index += 1) world.script.pod(`runs-${index}`, { job: world.runs });
    await world.script.clock.advance(500);
    const gangReconciles = (): number => world.woken.filter((woken) => woken === 'runs normal').length;
    const before = gangReconciles();
    change(world);
    await world.script.clock.advance(200);
    const soon = gangReconciles() - before;
    await world.script.clock.advance(1_000);
    expect([soon, gangReconciles() - before]).toEqual(reconciles);
  });
});

it('a PriorityClass wakes the jobs that name it and those that name none, and no job that has ended', async () => {
  const { script, wokenBy } = aWatchedCluster();
  const [placed] = WAITING.conditions ?? [];
  const failed = placed && [{ ...placed, type: 'Failed', status: 'True' as const }];
  script.job('names-it', { priorityClassName: 'urgent' });
  script.job('names-another', { priorityClassName: 'high' });
  script.job('ended', { priorityClassName: 'urgent', status: { ...WAITING, conditions: failed } });
  await wokenBy(() => undefined);
  const woken = await wokenBy(() => script.priorityClass('urgent'));
  expect(woken.toSorted()).toEqual(['names-it normal', 'runs normal', 'waits normal']);
});

describe('which jobs look again because of a change', () => {
  const bound = { nodeName: 'node-a' };
  it.each<[string, (world: ReturnType<typeof aWatchedCluster>) => void, readonly string[]]>([
    ['a new job: itself, ahead of the others', ({ script }) => script.job('new'), ['new user']],
    [
      'an edited job: itself, ahead of the others',
      ({ script }) => script.job('runs', { generation: 2 }),
      ['runs user'],
    ],
    ['a job’s status or metadata: itself', ({ script }) => script.job('runs'), ['runs normal']],
    ['a deleted job: those that wait for GPUs', ({ script, runs }) => script.jobDeleted(runs), ['waits normal']],
    [
      'a gang that is stopped before its pods are bound: its job, and those that wait for GPUs',
      ({ script }) => {
        script.job('runs', { status: { ...WAITING, epoch: 1, attempts: [anAttempt({ stage: 'Creating' })] } });
        script.job('runs', {
          status: { ...WAITING, epoch: 1, attempts: [anAttempt({ stage: 'Ended' })], conditions: [] },
        });
      },
      ['runs normal', 'runs normal', 'waits normal'],
    ],
    ['a placement: its job', ({ script, runs }) => script.placement(runs), ['runs normal']],
    [
      'a checkpoint: its job',
      ({ script, runs }) => {
        const { metadata, ...rest } = aCheckpoint({ jobUid: runs.metadata.uid });
        script.cache.checkpoints.cached.upsert({ ...rest, metadata: { ...metadata, resourceVersion: '1' } });
      },
      ['runs normal'],
    ],
    ['a pod of a gang: its job', ({ script, runs }) => script.pod('runs-1', { job: runs }), ['runs normal']],
    [
      'a pod that ended: its job and those that wait for GPUs',
      ({ script, runs }) => script.pod('runs-0', { job: runs, ...bound, phase: 'Failed' }),
      ['runs normal', 'waits normal'],
    ],
    [
      'a pod that is gone: its job and those that wait for GPUs',
      ({ script, runs }) => script.podDeleted('runs-0', { job: runs, ...bound }),
      ['runs normal', 'waits normal'],
    ],
    ['a stranger’s new pod: nobody', ({ script }) => script.pod('other', bound), []],
    [
      'a stranger’s pod without GPUs that is gone: nobody',
      ({ script }) => {
        script.pod('other', { ...bound, gpus: 0 });
        script.podDeleted('other', { ...bound, gpus: 0 });
      },
      [],
    ],
    [
      'a stranger’s pod with GPUs that is gone: those that wait for GPUs',
      ({ script }) => {
        script.pod('other', bound);
        script.podDeleted('other', bound);
      },
      ['waits normal'],
    ],
    ['a new node: those that wait for GPUs', ({ script }) => script.node('node-b'), ['waits normal']],
    [
      'a node that is lost: jobs with pods on it, and those that wait for GPUs',
      ({ script }) => script.node('node-a', { ready: false }),
      ['runs normal', 'waits normal'],
    ],
    [
      'a condition of a node that tells of a fault: jobs with pods on it alone, for it frees nothing',
      ({ script }) => script.node('node-a', { conditions: ['KernelDeadlock'] }),
      ['runs normal'],
    ],
    [
      'a condition of a node that tells of none, as memory that runs short: nobody',
      ({ script }) => script.node('node-a', { conditions: ['MemoryPressure'] }),
      [],
    ],
    [
      'a fault that a node tells again with other words: jobs with pods on it, once',
      ({ script }) => {
        script.node('node-a', { conditions: ['KernelDeadlock'] });
        script.node('node-a', { conditions: ['KernelDeadlock'], note: 'still' });
      },
      ['runs normal'],
    ],
    ['a node’s sign of life, which changes nothing: nobody', ({ script }) => script.node('node-a', { note: 'x' }), []],
  ])('%s', async (_sentence, change, want) => {
    const world = aWatchedCluster();
    expect(await world.wokenBy(() => change(world))).toEqual(want);
  });

  it('a job that waits for a plan looks when nodes change, also within one delay with freed GPUs, and not for GPUs alone', async () => {
    const { script, wokenBy } = aWatchedCluster();
    const conditions = (WAITING.conditions ?? []).map((condition) => ({ ...condition, reason: 'WaitingForPlan' }));
    script.job('unplanned', { status: { ...WAITING, conditions } });
    const free = (): void => {
      script.pod('other', { nodeName: 'node-a' });
      script.podDeleted('other', { nodeName: 'node-a' });
    };
    expect(await wokenBy(free)).toEqual(['waits normal']);
    expect(
      await wokenBy(() => {
        script.node('node-b');
        free();
      }),
    ).toEqual(['waits normal', 'unplanned normal']);
  });

  it('those that wait for GPUs look once when a gang’s pods go one after the other', async () => {
    const { script, runs, wokenBy } = aWatchedCluster();
    const woken = await wokenBy(() => {
      for (const index of [0, 1, 2]) {
        script.pod(`gang-${index}`, { job: runs, nodeName: 'node-a' });
        script.podDeleted(`gang-${index}`, { job: runs, nodeName: 'node-a' });
      }
    });
    expect(woken.filter((one) => one === 'waits normal')).toEqual(['waits normal']);
  });

  it('a gang of which each pod tells of five changes is looked at once per interval, and never late', async () => {
    const { script, runs, wokenBy } = aWatchedCluster();
    const names = Array.from({ length: 1_000 }, (_, index) => `gang-${index}`);
    const changePods = (): void => names.forEach((name) => script.pod(name, { job: runs, nodeName: 'node-b' }));
    expect(await wokenBy(() => [1, 2, 3, 4, 5].forEach(changePods))).toEqual(['runs normal']);
    expect(await wokenBy(changePods)).toEqual(['runs normal']);
  });

  it('a gang of which two pods tell within the interval is looked at at once, and again for the second', async () => {
    const { script, runs, woken } = aWatchedCluster();
    script.pod('runs-1', { job: runs });
    await script.clock.advance(0);
    expect(woken).toEqual(['runs normal']);
    script.pod('runs-2', { job: runs });
    await script.clock.advance(199);
    expect(woken).toEqual(['runs normal']);
    await script.clock.advance(1);
    expect(woken).toEqual(['runs normal', 'runs normal']);
  });

  it('a job that waits for more than is free does not look when something is freed', async () => {
    const { script, runs, scheduler, wokenBy } = aWatchedCluster();
    const request = { layout: aPlacement(runs).spec.layout, gpusPerNode: 2 };
    scheduler.standingRefusal('uid-of-waits', request);
    scheduler.recordRefusal({ request, refusal: { kind: 'waiting', message: '' } });
    expect(await wokenBy(() => script.node('node-b'))).toEqual([]);
    expect(await wokenBy(() => script.node('node-c'))).toEqual(['waits normal']);
  });

  it('a job that was placed by a write of ours does not wait any more, though no watch has told of it', async () => {
    const { script, wokenBy } = aWatchedCluster();
    const [waits] = script.cache.jobs.cached.list().filter(({ metadata }) => metadata.name === 'waits');
    if (waits === undefined) throw new Error('no such job');
    const metadata = { ...waits.metadata, resourceVersion: '999' };
    script.cache.jobs.remember(waits.metadata.uid, { ...waits, metadata, status: { ...WAITING, conditions: [] } });
    expect(await wokenBy(() => script.node('node-b'))).toEqual([]);
  });
});

it('tells once which job is gone', () => {
  const { script, runs, deleted } = aWatchedCluster();
  script.jobDeleted(runs);
  expect(deleted).toEqual([runs.metadata.uid]);
});

it('wakes nobody for a UID that no job has', () => {
  const { watches, woken } = aWatchedCluster();
  watches.wake('nobody');
  expect(woken).toEqual([]);
});

it('leaves no timer behind when it stops', () => {
  const { script, watches } = aWatchedCluster();
  script.node('node-b');
  expect(script.clock.pending).toBe(1);
  watches.stop();
  expect(script.clock.pending).toBe(0);
});
