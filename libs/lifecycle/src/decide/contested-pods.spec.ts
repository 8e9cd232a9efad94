import { aTrainingJob } from '@coxswain/api-types/testing';
import { aPod, World } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, settled } from '../testing/jobs.ts';

const running = (): World => {
  const world = new World(aTrainingJob());
  for (let moment = 0; moment < 10; moment += 1) {
    world.reconcile();
    world.tick(1_000);
  }
  return world;
};

describe('pods that somebody changes all the time', () => {
  it('are deleted all the same when their gang is stopped', () => {
    const world = running();
    expect(world.computingPods()).toHaveLength(2);
    world.isPestered = true;
    world.apply({ kind: 'suspend' });
    world.reconcile();
    world.tick(120_000);
    expect(world.computingPods()).toEqual([]);
    world.reconcile();
    expect(world.job?.status?.state).toBe('Suspended');
    expect(world.violations).toEqual([]);
  });

  const job = aJob();
  const pod = aPod(job, { uid: 'contested', resourceVersion: '7' });
  const referencesIn = (stage: 'Stopping' | 'Released', times: number, epoch = 1) => {
    const seen = aRunningJob({
      status: { attempts: [anAttempt({ stage, ...(stage === 'Stopping' ? { outcome: 'Suspended' } : {}) })] },
      spec: { spec: { suspend: stage === 'Stopping' } },
      pods: () => [aPod(job, { ...pod, epoch, name: aPod(job, { epoch }).name }), aPod(job, { podIndex: 1 })],
      observed: { contested: new Map([['contested', times]]) },
    });
    const { actions } = settled(seen);
    return actions
      .flatMap((action) => (action.kind === 'deletePods' ? action.pods : []))
      .find(({ uid }) => uid === 'contested');
  };

  it.each<readonly [string, () => ReturnType<typeof referencesIn>, string | undefined]>([
    ['once, of a gang that is recorded to stop: the version that is seen now', () => referencesIn('Stopping', 1), '7'],
    [
      'twice, of a gang that is recorded to stop: any version, for that UID will never be wanted again',
      () => referencesIn('Stopping', 2),
      undefined,
    ],
    [
      'twice, and it is only taken for a stray: the version that is seen now',
      () => referencesIn('Released', 2, 3),
      '7',
    ],
  ])('a delete that was refused %s', (_sentence, reference, resourceVersion) => {
    expect(reference()).toMatchObject({ uid: 'contested' });
    expect(reference()?.resourceVersion).toBe(resourceVersion);
  });
});
