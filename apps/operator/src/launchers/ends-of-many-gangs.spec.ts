import { EndArbiter } from '@coxswain/lifecycle';
import { WatchedGang } from '../testing/watched-gang.ts';
import { ReconcilerWorld } from '../training-job/testing/reconciler-world.ts';

/** Gangs in one cluster in memory, which share the arbiter and their storage claim. */
async function someGangs(count: number): Promise<readonly { world: ReconcilerWorld; gang: WatchedGang }[]> {
  const members: { world: ReconcilerWorld; gang: WatchedGang }[] = [];
  const jobs = () => members.map(({ world }) => world.job);
  const arbiter = new EndArbiter({ jobs, now: () => members[0]?.gang.now ?? new Date(0) });
  for (let at = 0; at < count; at += 1) {
    const world = new ReconcilerWorld(
      { checkpoint: { claimName: 'shared' } },
      {
        beside: members[0]?.world,
        name: `job-${at}`,
        arbiter,
      },
    );
    const gang = new WatchedGang({ nodes: 2, ranksPerNode: 2, jobUid: world.job.metadata.uid });
    members.push({ world, gang });
    world.reports = {
      verdictsOf: (job) => gang.controller.ofJob(job),
      findingsOf: (job) => gang.controller.findingsOf(job),
      readEvidence: async ({ metadata: { uid } }) =>
        gang.controller.receiveEvidence(uid, gang.watch.evidenceOf(uid, gang.controller.ranksInQuestion(uid))),
    };
    await world.live();
    await gang.train(40);
  }
  return members;
}

describe('ranks that stand for 66 s', () => {
  it.each([
    ['of five gangs with one storage claim end none of them', 5, 0],
    ['of one of five gangs end that gang', 1, 1],
  ])('%s', async (_what, stalled, ended) => {
    const members = await someGangs(5);
    for (let second = 0; second < 66; second += 2) {
      for (const [at, { world, gang }] of members.entries()) {
        const reports = await gang.train(2, at < stalled ? [3] : [], second);
        if (reports.length > 0) await world.reconcile();
      }
    }
    const outcomes = members.map(({ world }) => world.job.status?.attempts?.at(-1)?.reason);
    expect(outcomes.filter((reason) => reason === 'Condemned')).toHaveLength(ended);
    expect(members.filter(({ world }) => (world.job.status?.avoidedNodes ?? []).length > 0)).toHaveLength(ended);
  });
});
