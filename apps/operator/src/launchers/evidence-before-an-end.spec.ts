import type { Attempt } from '@coxswain/api-types';
import { WatchedGang } from '../testing/watched-gang.ts';
import { ReconcilerWorld } from '../training-job/testing/reconciler-world.ts';

/** A gang of four ranks in a cluster in memory, with the real detectors and the real controllers. */
async function aTrainingGang(): Promise<{
  readonly world: ReconcilerWorld;
  readonly gang: WatchedGang;
  reads: number;
}> {
  const world = new ReconcilerWorld();
  await world.live();
  const gang = new WatchedGang({ nodes: 2, ranksPerNode: 2, jobUid: world.job.metadata.uid });
  const setup = { world, gang, reads: 0 };
  world.reports = {
    verdictsOf: (job) => gang.controller.ofJob(job),
    findingsOf: (job) => gang.controller.findingsOf(job),
    readEvidence: async ({ metadata: { uid } }) => {
      setup.reads += 1;
      gang.controller.receiveEvidence(uid, gang.watch.evidenceOf(uid, gang.controller.ranksInQuestion(uid)));
    },
  };
  await gang.train(60);
  return setup;
}

const newest = ({ job }: ReconcilerWorld): Attempt | undefined => job.status?.attempts?.at(-1);

describe('what a verdict stands on', () => {
  it('is read again right before the gang ends, which still stands', async () => {
    const setup = await aTrainingGang();
    await setup.gang.train(120, [3]);
    await setup.world.reconcile();
    expect(newest(setup.world)).toMatchObject({ stage: 'Stopping', reason: 'Condemned' });
    expect(setup.reads).toBe(1);
  });

  it('is gone if the gang took 600 steps since: it trains on, and no node is avoided', async () => {
    const { world, gang } = await aTrainingGang();
    await gang.train(120, [3]);
    expect(gang.controller.ofJob(world.job)).toHaveLength(1);
    await gang.train(1_200);
    await world.reconcile();
    expect(newest(world)).toMatchObject({ stage: 'Released' });
    expect(newest(world)).not.toHaveProperty('outcome');
    expect(world.job.status?.avoidedNodes ?? []).toEqual([]);
    expect(gang.controller.ofJob(world.job)).toEqual([]);
  });

  it('is judged anew: the next hang of the same rank ends the gang', async () => {
    const { world, gang } = await aTrainingGang();
    await gang.train(120, [3]);
    await gang.train(1_200);
    await world.reconcile();
    await gang.train(700, [3]);
    await world.reconcile();
    expect(newest(world)).toMatchObject({ stage: 'Stopping', reason: 'Condemned' });
  });

  it('of a real hang ends the gang after 30 waits that passed by themselves', async () => {
    const { world, gang } = await aTrainingGang();
    for (let wait = 0; wait < 30; wait += 1) {
      await gang.train(20, [wait % 4]);
      await gang.train(20);
      await world.reconcile();
    }
    expect(newest(world)).not.toHaveProperty('outcome');
    await gang.train(90, [3]);
    await world.reconcile();
    expect(newest(world)).toMatchObject({ stage: 'Stopping', reason: 'Condemned' });
    expect(world.job.status?.restarts).toMatchObject({ charged: 0 });
    await world.live();
    expect(newest(world)).toMatchObject({ epoch: 2, stage: 'Released' });
  });

  it('ends nothing while it cannot be read, and is tried again', async () => {
    const { world, gang } = await aTrainingGang();
    const { readEvidence } = world.reports;
    await gang.train(120, [3]);
    world.reports = {
      ...world.reports,
      readEvidence: async ({ metadata: { uid } }) => gang.controller.receiveEvidence(uid, undefined),
    };
    await world.reconcile();
    await world.reconcile();
    expect(newest(world)).toMatchObject({ stage: 'Released' });
    if (readEvidence !== undefined) world.reports = { ...world.reports, readEvidence };
    await gang.train(12, [3]);
    await world.reconcile();
    expect(newest(world)).toMatchObject({ stage: 'Stopping', reason: 'Condemned' });
  });
});
