import { type TrainingJob, type TrainingJobStatus, podName } from '@coxswain/api-types';
import { anAttempt } from '@coxswain/api-types/testing';
import { placementSha256, type ClusterScheduler } from '@coxswain/scheduling';
import { aPlacement } from '@coxswain/lifecycle/testing';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { createClusterScheduler } from './cluster-scheduler.ts';

/** Two nodes of two GPUs and a job whose attempt 1 is placed on both of them. */
function aCluster(status: TrainingJobStatus | undefined = atStage('Creating')): {
  script: CacheScript;
  scheduler: ClusterScheduler;
  job: TrainingJob;
} {
  const script = new CacheScript();
  const scheduler = createClusterScheduler(script.cache, script.clock);
  for (const name of ['node-a', 'node-b']) script.node(name);
  return { script, scheduler, job: script.job('tiny', status === undefined ? {} : { status }) };
}

const atStage = (stage: 'Creating' | 'Released' | 'Stopping' | 'Ended'): TrainingJobStatus => ({
  epoch: 1,
  restarts: { total: 0, charged: 0 },
  attempts: [anAttempt({ stage, placement: 'tiny-uid-of-t-e1' })],
});
const ended = (type: 'Complete' | 'Failed'): TrainingJobStatus => ({
  ...atStage('Ended'),
  conditions: [
    {
      type,
      status: 'True',
      reason: 'Any',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration: 1,
    },
  ],
});
const used = (scheduler: ClusterScheduler, jobUid = 'a-rival'): Record<string, number> =>
  Object.fromEntries(scheduler.capacityFor(jobUid).usedGpus);

describe('GPUs that are taken', () => {
  it('are those of bound pods that have not ended, whoever made them', () => {
    const { script, scheduler } = aCluster();
    script.pod('a-stranger', { nodeName: 'node-a', gpus: 1 });
    script.pod('unbound', {});
    script.pod('over', { nodeName: 'node-b', phase: 'Succeeded' });
    expect(used(scheduler)).toEqual({ 'node-a': 1 });
    script.podDeleted('a-stranger', { nodeName: 'node-a', gpus: 1 });
    expect(used(scheduler)).toEqual({});
  });

  it('are those of a recorded placement whose pods are not bound yet', () => {
    const { script, scheduler, job } = aCluster();
    script.placement(job);
    expect(used(scheduler)).toEqual({ 'node-a': 2, 'node-b': 2 });
  });

  it('are counted once when a pod of the placement is bound, and not at all when it has ended', () => {
    const { script, scheduler, job } = aCluster(atStage('Released'));
    script.placement(job);
    script.pod(podName(job.metadata, { epoch: 1, podIndex: 0 }), { job, nodeName: 'node-a' });
    expect(used(scheduler)).toEqual({ 'node-a': 2, 'node-b': 2 });
    script.pod(podName(job.metadata, { epoch: 1, podIndex: 0 }), { job, nodeName: 'node-a', phase: 'Failed' });
    expect(used(scheduler)).toEqual({ 'node-b': 2 });
  });

  it('are those of a pod that hangs although its epoch is over, also for the next epoch of the same job', () => {
    const { script, scheduler, job } = aCluster(atStage('Ended'));
    script.pod(podName(job.metadata, { epoch: 1, podIndex: 0 }), { job, nodeName: 'node-a' });
    expect([used(scheduler), Object.fromEntries(scheduler.capacityFor(job.metadata.uid).usedGpus)]).toEqual([
      { 'node-a': 2 },
      { 'node-a': 2 },
    ]);
  });

  it('are not held for a pod that ended before it was bound', () => {
    const { script, scheduler, job } = aCluster(atStage('Released'));
    script.placement(job);
    script.pod(podName(job.metadata, { epoch: 1, podIndex: 0 }), { job, phase: 'Failed' });
    expect(used(scheduler)).toEqual({ 'node-b': 2 });
  });

  it('are not held for a pod without ranks that was deleted while its gang runs, and are for one that is still to be bound', () => {
    const standing = { standbys: 1, standbyGpus: 2 };
    const [{ script, scheduler, job }, replaced] = [
      standing,
      { ...standing, replacements: [{ podIndex: 1, standby: 2, incarnation: 2 }] },
    ].map((more) =>
      aCluster({ ...atStage('Released'), attempts: [anAttempt({ ...more, placement: 'tiny-uid-of-t-e1' })] }),
    ) as [ReturnType<typeof aCluster>, ReturnType<typeof aCluster>];
    for (const cluster of [{ script, job }, replaced])
      cluster.script.placement(cluster.job, { nodes: ['node-a', 'node-b', 'node-c'], ranks: ['0-1', '2-3', ''] });
    const nameOf = (podIndex: number) => podName(job.metadata, { epoch: 1, podIndex });
    script.pod(nameOf(0), { job, nodeName: 'node-a' });
    script.pod(nameOf(2), { job });
    expect(used(scheduler)).toEqual({ 'node-a': 2, 'node-b': 2, 'node-c': 2 });
    script.podDeleted(nameOf(2), { job });
    expect(used(scheduler)).toEqual({ 'node-a': 2, 'node-b': 2 });
    replaced.script.pod(nameOf(2), { job: replaced.job, nodeName: 'node-c' });
    expect(used(replaced.scheduler)).toEqual({ 'node-a': 2, 'node-c': 2 });
  });

  it('stay promised when another tenant makes a pod of that name, with that label and owner, which has ended', () => {
    const { script, scheduler, job } = aCluster(atStage('Released'));
    script.placement(job);
    script.pod(podName(job.metadata, { epoch: 1, podIndex: 0 }), { job, phase: 'Failed', namespace: 'others' });
    expect(used(scheduler)).toEqual({ 'node-a': 2, 'node-b': 2 });
  });

  it('are not those that the job’s own placement or reservation holds', () => {
    const { script, scheduler, job } = aCluster();
    script.placement(job);
    scheduler.reserve(aPlacement(job, { epoch: 2 }).spec, scheduler.capacityFor('x').version);
    expect(used(scheduler, job.metadata.uid)).toEqual({});
  });

  it('are those of a reservation, until it is released', () => {
    const { scheduler, job } = aCluster();
    expect(scheduler.reserve(aPlacement(job).spec, scheduler.capacityFor('x').version)).toBe(true);
    expect(used(scheduler)).toEqual({ 'node-a': 2, 'node-b': 2 });
    scheduler.release(job.metadata.uid);
    expect(used(scheduler)).toEqual({});
  });

  it('are counted anew for each question: what a caller adds to an answer stays with it', () => {
    const { scheduler } = aCluster();
    (scheduler.capacityFor('x').usedGpus as Map<string, number>).set('node-a', 99);
    expect(used(scheduler)).toEqual({});
  });
});

describe('a placement holds GPUs', () => {
  const { spec } = aPlacement(aCluster().job);
  const none = { epoch: 0, restarts: { total: 0, charged: 0 } };
  const withHash = (placementSha256: string, changes: Partial<TrainingJobStatus> = {}): TrainingJobStatus => ({
    ...atStage('Creating'),
    attempts: [anAttempt({ stage: 'Creating', placement: 'tiny-uid-of-t-e1', placementSha256 })],
    ...changes,
  });
  it.each<[string, TrainingJobStatus | undefined, Partial<typeof spec>, boolean]>([
    ['while its pods are made', atStage('Creating'), {}, true],
    ['while its pods are bound', atStage('Released'), {}, true],
    ['when its hash is the recorded one', withHash(placementSha256(spec)), {}, true],
    ['never when it is another one of that name', withHash('0'.repeat(64)), {}, false],
    ['never when it has more ranks than its job asks for', atStage('Creating'), { worldSize: 5 }, false],
    ['never before its epoch is recorded', none, {}, false],
    ['never when its epoch is recorded without an attempt', { ...none, epoch: 1 }, {}, false],
    ['never when it is of the next epoch', atStage('Released'), { epoch: 2 }, false],
    ['no longer while its gang is stopped, since no pod of it will be made', atStage('Stopping'), {}, false],
    ['no longer after its gang has ended', atStage('Ended'), {}, false],
    ['no longer when its epoch is past', { ...atStage('Released'), epoch: 2 }, {}, false],
    ['no longer when its job is complete', ended('Complete'), {}, false],
    ['no longer when its job has failed', ended('Failed'), {}, false],
  ])('%s', (_when, status, change, want) => {
    const { script, scheduler, job } = aCluster(status);
    script.placement(job, change);
    expect(used(scheduler)).toEqual(want ? { 'node-a': 2, 'node-b': 2 } : {});
  });

  it('only beside a job of its UID in its own namespace', () => {
    const { script, scheduler, job } = aCluster();
    script.placement({ ...job, metadata: { ...job.metadata, uid: 'nobody' } });
    expect(used(scheduler)).toEqual({});
    const elsewhere = aPlacement(job);
    script.cache.placements.cached.upsert({
      ...elsewhere,
      metadata: { ...elsewhere.metadata, namespace: 'elsewhere', uid: 'p', resourceVersion: '1' },
    });
    expect(used(scheduler)).toEqual({});
  });

  it('until its job is deleted', () => {
    const { script, scheduler, job } = aCluster();
    script.placement(job);
    script.jobDeleted(job);
    expect(used(scheduler)).toEqual({});
  });

  it('from the answer to its creation on, though no watch has told of it', () => {
    const { script, scheduler, job } = aCluster();
    const placement = aPlacement(job);
    const metadata = { ...placement.metadata, resourceVersion: '99' };
    script.cache.placements.remember(job.metadata.uid, { ...placement, metadata });
    expect(used(scheduler)).toEqual({ 'node-a': 2, 'node-b': 2 });
  });
});

describe('a placement that was worked out beside the loop', () => {
  const on = (job: TrainingJob, nodes: string[]) => aPlacement(job, { nodes }).spec;

  it.each<[string, (about: ReturnType<typeof aCluster>) => void, boolean]>([
    ['is held where nothing changed', () => undefined, true],
    ['is held though another node changed', ({ script }) => script.node('node-c', { gpus: 8 }), true],
    ['is held though its node said that it lives', ({ script }) => script.node('node-a', { note: 'alive' }), true],
    [
      'is held though another job got other GPUs',
      ({ script, scheduler }) => {
        script.node('node-c', { gpus: 4 });
        const rival = script.job('rival');
        scheduler.reserve(on(rival, ['node-c', 'node-c']), scheduler.capacityFor('x').version);
      },
      true,
    ],
    ['is refused where its node is another one now', ({ script }) => script.node('node-a', { gpus: 4 }), false],
    ['is refused where its node takes no pods', ({ script }) => script.node('node-b', { ready: false }), false],
    [
      'is refused where another job got its GPUs',
      ({ script, scheduler }) => {
        const rival = script.job('rival');
        scheduler.reserve(on(rival, ['node-a', 'node-b']), scheduler.capacityFor('x').version);
      },
      false,
    ],
    ['is refused where a stranger’s pod got its GPUs', ({ script }) => script.pod('x', { nodeName: 'node-b' }), false],
  ])('%s', (_sentence, meanwhile, want) => {
    const about = aCluster();
    const { scheduler, job } = about;
    const { version } = scheduler.capacityFor(job.metadata.uid);
    meanwhile(about);
    expect(scheduler.reserve(on(job, ['node-a', 'node-b']), version)).toBe(want);
    expect(scheduler.reservedFor(job.metadata.uid) !== undefined).toBe(want);
  });
});

describe('the fabric', () => {
  const gpusOf = (scheduler: ClusterScheduler): Record<string, number> =>
    Object.fromEntries(scheduler.capacityFor('x').fabric.nodes.map(({ name, gpus }) => [name, gpus]));

  it('follows the nodes as they come, change and go', () => {
    const { script, scheduler } = aCluster();
    expect(gpusOf(scheduler)).toEqual({ 'node-a': 2, 'node-b': 2 });
    script.node('node-c', { gpus: 8 });
    script.node('node-a', { gpus: 4 });
    expect(gpusOf(scheduler)).toEqual({ 'node-a': 4, 'node-b': 2, 'node-c': 8 });
  });

  it('is built once for all jobs that ask between two changes', () => {
    const { script, scheduler } = aCluster();
    const { fabric } = scheduler.capacityFor('x');
    expect(scheduler.capacityFor('y').fabric).toBe(fabric);
    script.node('node-a', { ready: false });
    expect(scheduler.capacityFor('y').fabric).not.toBe(fabric);
  });
});

describe('windows of the Fabric', () => {
  it('are read again when a node gets other labels, and once for all jobs that ask between two changes', () => {
    const { script, scheduler, job } = aCluster({ epoch: 0, restarts: { total: 0, charged: 0 } });
    const now = script.clock.now().getTime();
    const at = (inHours: number): string => new Date(now + inHours * 3_600_000).toISOString();
    const window = { name: 'firmware', nodeSelector: { rack: 'r1' }, from: at(-1), until: at(1) };
    script.cache.stated.replace({ windows: [window] });
    const closed = (): string | undefined => scheduler.closedTo(job.metadata.uid)?.slice(0, 51);
    expect(closed()).toBeUndefined();
    script.node('node-b', { labels: { rack: 'r1' } });
    expect(closed()).toBe('Windows of the Fabric keep this job off 1 node from');
    const { stated } = script.cache;
    expect(stated.windows().size).toBe(1);
    expect(stated.windows()).toBe(stated.windows());
    script.cache.stated.replace({});
    expect(closed()).toBeUndefined();
  });
});
