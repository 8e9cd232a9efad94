import { aTrainingJob } from '@coxswain/api-types/testing';
import { WatchedGang } from '../testing/watched-gang.ts';

const JOB = aTrainingJob({ metadata: { uid: 'job-1' } });

/** What the verdicts of real detectors end, by name. */
function ends(gang: WatchedGang): readonly string[] {
  return gang.controller
    .ofJob(JOB)
    .map(({ about }) => (about.kind === 'rank' ? `rank ${about.rank}` : about.kind))
    .toSorted();
}

describe('a hang ends the gang', () => {
  it('after 16 waits that were harmless and reported', async () => {
    const gang = new WatchedGang({ nodes: 17, ranksPerNode: 1 });
    await gang.train(60);
    await gang.train(
      20,
      Array.from({ length: 16 }, (_, rank) => rank),
    );
    await gang.train(60);
    expect([ends(gang), gang.controller.findingsOf(JOB).length]).toEqual([[], 16]);
    await gang.train(120, [3]);
    expect(ends(gang)).toEqual(['rank 3']);
  });

  it('as a whole if 16 ranks on 16 of its 32 nodes are stuck: no node is to blame', async () => {
    const gang = new WatchedGang({ nodes: 32, ranksPerNode: 8 });
    await gang.train(40);
    await gang.train(
      80,
      Array.from({ length: 16 }, (_, node) => node * 8),
    );
    expect(new Set(ends(gang))).toEqual(new Set(['gang']));
  });

  it('and blames each node if 16 ranks on 16 nodes of many are stuck', async () => {
    const gang = new WatchedGang({ nodes: 256, ranksPerNode: 1 });
    await gang.train(40);
    await gang.train(
      80,
      Array.from({ length: 16 }, (_, rank) => rank * 10),
    );
    expect(ends(gang)).toHaveLength(16);
    expect(ends(gang)).not.toContain('gang');
  });
});
