import { QueueSnapshots } from './queue-snapshots.ts';

/** Snapshots at a clock of the test, and how often the records were read. */
function snapshotsAt(clock: { nowMs: number }, read: () => Promise<void> = () => Promise.resolve()) {
  let reads = 0;
  const snapshots = new QueueSnapshots({
    records: {
      read: async () => {
        reads += 1;
        await read();
        return { jobs: [], pods: new Map(), servedAt: new Map() };
      },
    },
    nodes: { observe: () => Promise.resolve({ problem: 'refused' }) },
    counts: { counts: () => Promise.reject(new Error('not counted')) },
    clock: { now: () => new Date(clock.nowMs) },
  });
  return { snapshots, reads: () => reads };
}

describe('the snapshot of the queue', () => {
  it('is computed once for questions within three seconds, and again after that', async () => {
    const clock = { nowMs: 0 };
    const { snapshots, reads } = snapshotsAt(clock);
    await Promise.all([snapshots.newest(), snapshots.newest()]);
    clock.nowMs = 2_999;
    expect((await snapshots.newest()).problem).toMatch(/^The API cannot read the nodes/);
    expect(reads()).toBe(1);
    clock.nowMs = 3_000;
    await snapshots.newest();
    expect(reads()).toBe(2);
  });

  it('is computed again after a failure', async () => {
    let isAway = true;
    const { snapshots, reads } = snapshotsAt({ nowMs: 0 }, () =>
      isAway ? Promise.reject(new Error('away')) : Promise.resolve(),
    );
    await expect(snapshots.newest()).rejects.toThrow('away');
    isAway = false;
    await snapshots.newest();
    expect(reads()).toBe(2);
  });
});
