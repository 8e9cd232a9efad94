import { type Attempt, type TrainingJob, podName } from '@coxswain/api-types';
import { anAttempt, aVerification } from '@coxswain/api-types/testing';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import { placementSha256 } from '@coxswain/scheduling';
import { aPlacement } from '@coxswain/lifecycle/testing';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { KubernetesReportPorts } from './kubernetes-report-ports.ts';

/** A job whose first attempt records a Placement, one pod of it, and who asks for a launcher. Nothing is found by asking the API server. */
function aWorld(stage: Attempt['stage'] = 'Released') {
  const script = new CacheScript();
  const placement = aPlacement(script.job('tiny'));
  const attempts = [
    anAttempt({ stage, placement: placement.metadata.name, placementSha256: placementSha256(placement.spec) }),
  ];
  const job: TrainingJob = script.job('tiny', { status: { epoch: 1, restarts: { total: 0, charged: 0 }, attempts } });
  const name = podName(job.metadata, { epoch: 1, podIndex: 0, placement: placement.metadata.name });
  const pod = { namespace: 'research', name };
  script.pod(pod.name, { job });
  const ports = new KubernetesReportPorts({
    client: {
      get: async () => {
        throw new KubeApiError({ status: 404, reason: 'NotFound', message: 'not found' });
      },
    },
    cache: script.cache,
    store: { createCheckpoint: async () => undefined },
    term: () => 1,
    currentLeader: () => undefined,
    checkpointsKept: 2,
    clock: script.clock,
  });
  const whose = (named: string) => ({ ...pod, name: named, uid: `uid-of-${named}` });
  const findPod = (named = name) => ports.findPod(whose(named));
  const isKnown = (named = name, uid = `uid-of-${named}`) => ports.isKnownPod({ ...whose(named), uid });
  const gang = () => ports.newestGang(job.metadata.uid);
  const newest = () => ports.newestEpoch(job.metadata.uid);
  const deletePlacement = (): void => {
    for (const one of script.cache.placements.cached.list())
      script.cache.placements.cached.remove({
        ...one,
        metadata: { ...one.metadata, resourceVersion: '99' },
      } as typeof one & KubeObject);
  };
  return { script, job, name, findPod, isKnown, gang, newest, deletePlacement };
}

describe('the launcher of a gang', () => {
  it('is known by the Placement that status records, and still when somebody deletes that', async () => {
    const { script, job, findPod, deletePlacement } = aWorld();
    script.placement(job);
    const known = await findPod();
    expect(known).toMatchObject({ jobName: 'tiny', epoch: 1, podIndex: 0, ranks: [0, 1] });
    deletePlacement();
    expect(await findPod()).toEqual(known);
  });

  it('is nobody whose pod names the job as its owner, and has not the very name that the attempt gave to its own', async () => {
    const { script, job, findPod, isKnown } = aWorld();
    script.placement(job);
    for (const name of [
      'mine-e1-0',
      podName(job.metadata, { epoch: 1, podIndex: 0, placement: 'tiny-e1-0123456789' }),
    ]) {
      script.pod(name, { job });
      expect([await findPod(name), isKnown(name)]).toEqual(['unknown', false]);
    }
  });

  it('is known to a replica that does not lead by its pod alone, and not by that of another UID', () => {
    const { name, isKnown } = aWorld();
    expect([isKnown(), isKnown(name, 'another'), isKnown('nobody-e1-0')]).toEqual([true, false, false]);
  });

  it('is that of the pod which the cluster has under the name of its index', () => {
    const { script, job, name, gang } = aWorld();
    script.placement(job);
    const newest = gang();
    expect(typeof newest === 'object' && [newest.podUidOf(0), newest.podUidOf(1)]).toEqual([
      `uid-of-${name}`,
      undefined,
    ]);
    script.jobDeleted(job);
    expect(gang()).toBe('gone');
  });

  it('is told to ask later where nobody has seen the Placement, as long as its gang is up', async () => {
    expect(await aWorld().findPod()).toBe('unavailable');
    expect(await aWorld('Ended').findPod()).toBe('unknown');
  });
});

describe('what is told of a job whenever it changes', () => {
  const SAVE = { request: 2, incarnation: 1, askedAt: '2026-01-01T00:00:00Z', afterStep: 9, why: '', suspicions: [] };

  it.each<[string, Partial<Attempt>, object]>([
    ['is its epoch and which run of the ranks it is', { incarnation: 3 }, { incarnation: 3 }],
    ['is the number of the save that its ranks were asked for last', { earlySave: SAVE }, { saveRequest: 2 }],
    [
      'is that number also when a checkpoint came of it: another one is news, its outcome is none',
      { earlySave: { ...SAVE, outcome: 'Saved' } },
      { saveRequest: 2 },
    ],
  ])('%s', (_sentence, change, want) => {
    const { script, job, newest } = aWorld();
    const [first] = job.status?.attempts ?? [];
    const attempts = first === undefined ? [] : [{ ...first, ...change }];
    script.job('tiny', { status: { epoch: 1, restarts: { total: 0, charged: 0 }, attempts } });
    expect(newest()).toEqual({ epoch: 1, isFenced: false, incarnation: 1, ...want });
  });

  it('is no save of an attempt before the newest', () => {
    const { script, job, newest } = aWorld();
    const [first] = job.status?.attempts ?? [];
    const attempts = first === undefined ? [] : [{ ...first, stage: 'Ended' as const, earlySave: SAVE }];
    script.job('tiny', { status: { epoch: 2, restarts: { total: 1, charged: 1 }, attempts } });
    expect(newest()).not.toHaveProperty('saveRequest');
  });
});

describe('what ranks have saved', () => {
  const { step, format, bytes, files, manifestSha256 } = aCheckpoint().spec;
  const save = { step, format, bytes, files, manifestSha256, directory: 'step-20' };

  it.each<[string, number | undefined, number, 'recorded' | 'unwanted']>([
    ['of an incarnation before the newest is nobody’s', 2, 1, 'unwanted'],
    ['of the newest is recorded', 2, 2, 'recorded'],
    ['of a later one is too: an operator of the release before has written the status since', undefined, 2, 'recorded'],
  ])('%s', async (_sentence, recorded, saved, want) => {
    const { script, job } = aWorld();
    const [first] = job.status?.attempts ?? [];
    const attempts = first && [{ ...first, ...(recorded === undefined ? {} : { incarnation: recorded }) }];
    const live = { ...job, status: { ...job.status, attempts } };
    const made: unknown[] = [];
    const ports = new KubernetesReportPorts({
      client: { get: async <T>() => live as T },
      cache: script.cache,
      store: {
        createCheckpoint: async (_job, { name, verification, progress }) =>
          void made.push([name, verification?.by, progress]),
      },
      term: () => 1,
      currentLeader: () => undefined,
      checkpointsKept: 2,
      clock: script.clock,
    });
    const pod = { namespace: 'research', jobName: 'tiny', jobUid: job.metadata.uid, epoch: 1, podIndex: 0, ranks: [0] };
    // No launcher may say what only a worker finds.
    const verification = aVerification({ level: 'V3', by: 'Worker' });
    const progress = { fromStep: 0, loss: 2, lossStep: 20, tokens: 64 };
    expect(await ports.recordCheckpoint(pod, { ...save, verification, progress, incarnation: saved })).toBe(want);
    expect(made).toEqual(
      want === 'recorded' ? [['tiny-uid-of-t-e1i2-s20', 'Launcher', { loss: 2, lossStep: 20, tokens: 64 }]] : [],
    );
  });
});
