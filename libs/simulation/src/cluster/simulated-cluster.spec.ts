import { SimulatedCluster } from './simulated-cluster.ts';

/** A gang of 8 that has trained to step 250 and saved step 200. */
function aGang(about: { readonly spareNodes: number; readonly standbys?: number } = { spareNodes: 2 }) {
  const clock = { nowMs: 0 };
  const cluster = new SimulatedCluster({ gangNodes: 8, hasSwitches: true, ...about, nowMs: () => clock.nowMs });
  cluster.settle();
  clock.nowMs += 3_600_000;
  cluster.save(200);
  const settleUntilUp = (limitMs: number): number => {
    const fromMs = clock.nowMs;
    for (let next = cluster.settle(); !cluster.isUp && next !== undefined; next = cluster.settle()) {
      clock.nowMs += next;
      if (clock.nowMs - fromMs > limitMs) break;
    }
    return clock.nowMs - fromMs;
  };
  return { clock, cluster, settleUntilUp };
}

const nodeOf = (cluster: SimulatedCluster, podIndex: number): string => cluster.gang[podIndex] ?? '';

describe('the real rules on a cluster in memory', () => {
  it('start a gang', () => {
    const { cluster } = aGang();
    expect(cluster.isUp).toBe(true);
    expect(new Set(cluster.gang).size).toBe(8);
  });

  it('start the ranks again in their pods when one fails by itself', () => {
    const { cluster, settleUntilUp } = aGang();
    cluster.failRank(nodeOf(cluster, 3), 250);
    expect(settleUntilUp(60_000)).toBe(0);
    expect(cluster.attempt).toMatchObject({ epoch: 1, incarnation: 2, resumedFrom: { step: 200 } });
  });

  it('put a spare in place of a node whose device is at fault, and let the others stay where they are', () => {
    const { cluster, settleUntilUp } = aGang();
    const [before, lost] = [cluster.gang, nodeOf(cluster, 3)];
    cluster.loseNode(lost, 'device', 250);
    expect(settleUntilUp(60_000)).toBe(0);
    expect(cluster.attempt).toMatchObject({ epoch: 2, resumedFrom: { step: 200 } });
    expect(before.filter((node) => !cluster.gang.includes(node))).toEqual([lost]);
  });

  it.each<['device' | 'machine']>([['device'], ['machine']])(
    'let a standby take the place of a node whose %s is lost, at once, until none is left',
    (how) => {
      const { cluster, settleUntilUp } = aGang({ spareNodes: 2, standbys: 2 });
      const pods = cluster.pods.all.map(({ uid }) => uid);
      for (const taken of [1, 2]) {
        cluster.loseNode(nodeOf(cluster, 3), how, 250);
        expect(settleUntilUp(60_000)).toBe(0);
        expect([cluster.attempt?.epoch, cluster.standbysTaken]).toEqual([1, taken]);
      }
      expect(cluster.pods.all.map(({ uid }) => uid)).toEqual(pods);
      cluster.loseNode(nodeOf(cluster, 3), how, 250);
      settleUntilUp(60_000);
      expect(cluster.attempt?.epoch).toBe(1);
      expect(cluster.attempt?.outcome).toBe('Failed');
    },
  );

  it('wait until the pod on a dead machine is fenced: a second of grace, for nothing of a broken gang is to be saved, and 30 more', () => {
    const { cluster, settleUntilUp } = aGang();
    cluster.loseNode(nodeOf(cluster, 3), 'machine', 250);
    expect(settleUntilUp(300_000)).toBe(31_000);
    expect(cluster.isUp).toBe(true);
    expect(cluster.job.status?.avoidedNodes).toMatchObject([{ reason: 'NodeLost' }]);
  });

  it('wait for a node where there is no spare, and go on when one is mended', () => {
    const { clock, cluster, settleUntilUp } = aGang({ spareNodes: 0 });
    const lost = nodeOf(cluster, 3);
    cluster.loseNode(lost, 'device', 250);
    settleUntilUp(600_000);
    expect({ isUp: cluster.isUp, waits: cluster.waitsForNodes }).toEqual({ isUp: false, waits: true });
    cluster.become(lost, 'well');
    clock.nowMs += 60_000;
    settleUntilUp(60_000);
    expect(cluster.isUp).toBe(true);
  });

  it('resume from before the saves that are known to be corrupted', () => {
    const { cluster, settleUntilUp } = aGang();
    cluster.save(260);
    cluster.damageAfter(250);
    cluster.loseNode(nodeOf(cluster, 0), 'device', 270);
    settleUntilUp(60_000);
    expect(cluster.attempt?.resumedFrom?.step).toBe(200);
  });

  it('stop when asked to, and go on from what was saved', () => {
    const { cluster, settleUntilUp } = aGang();
    cluster.suspend(true);
    cluster.settle();
    expect(cluster.isUp).toBe(false);
    cluster.suspend(false);
    settleUntilUp(60_000);
    expect(cluster.attempt).toMatchObject({ epoch: 2, resumedFrom: { step: 200 } });
  });
});
