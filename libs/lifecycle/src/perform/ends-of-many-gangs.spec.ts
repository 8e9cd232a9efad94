import { aTrainingJob } from '@coxswain/api-types/testing';
import { SharedCluster, World } from '../testing/index.ts';
import { summaryOfCondition } from '../testing/jobs.ts';

const NODES = Array.from({ length: 8 }, (_, at) => `node-${at}`);

/** Gangs of two pods on eight nodes, and one operator for all of them. */
class Fleet {
  readonly cluster: SharedCluster;
  readonly jobs: readonly World[];

  constructor(gangs: number, about: { readonly sharesClaim: boolean; readonly gpusPerNode?: number }) {
    const nodeFacts = { gpuCapacity: about.gpusPerNode ?? Math.ceil(gangs / 2) + 1 };
    this.cluster = new SharedCluster({ nodes: NODES, nodeFacts, monotonicMs: () => this.jobs[0]?.now.getTime() ?? 0 });
    this.jobs = Array.from({ length: gangs }, (_, at) => {
      const namespace = about.sharesClaim ? 'team' : `team-${at}`;
      const metadata = { name: `job-${at}`, namespace, uid: `${String(at).padStart(8, '0')}-uid` };
      const spec = { resources: { gpusPerNode: 2 }, restartPolicy: { maxRestarts: 10, delaySeconds: 0 } };
      return new World(aTrainingJob({ metadata, spec }), {}, [], this.cluster);
    });
  }

  turn(ms: number): void {
    for (const job of this.jobs) job.reconcile();
    for (const job of this.jobs) job.tick(ms);
  }

  begin(): void {
    for (const job of this.jobs) job.reportsSteps = true;
    for (let at = 0; at < 3; at += 1) this.turn(5_000);
  }

  /** So many gangs stand still. Detectors name a rank of each after 15 s, and ask for its end after 60 s. */
  stall(gangs: number): void {
    const stalled = this.jobs.slice(0, gangs);
    const beganAt = this.jobs[0]?.now ?? new Date(0);
    for (const job of stalled) job.reportsSteps = false;
    this.turn(16_000);
    const of = { epoch: 1, incarnation: 1, message: 'Others wait for rank 3.' };
    for (const job of stalled) {
      const evidence = { waitedForMs: job.now.getTime() - beganAt.getTime(), cause: 'rankMissing' };
      job.findings = [{ ...of, kind: 'Hang', noticedAt: job.now.toISOString(), ranks: [3], evidence }];
    }
    this.turn(44_500);
    for (const job of stalled) {
      job.verdicts = [{ ...of, about: { kind: 'rank', rank: 3 }, atStep: 1_000, beganAt: beganAt.toISOString() }];
    }
    this.turn(1_000);
  }

  /** The stall is over: gangs train on, and their detectors say no more. */
  goOn(): void {
    for (const job of this.jobs) {
      job.reportsSteps = true;
      job.verdicts = [];
    }
    for (let at = 0; at < 2; at += 1) this.turn(15_000);
  }

  get ended(): number {
    return this.jobs.filter(({ job }) => job?.status?.attempts?.[0]?.outcome !== undefined).length;
  }

  get avoided(): number {
    return new Set(this.jobs.flatMap(({ job }) => job?.status?.avoidedNodes?.map(({ node }) => node) ?? [])).size;
  }

  /** What becomes of the jobs: state and charged restarts, each once. */
  endState(): readonly string[] {
    const states = this.jobs.map(({ job }) => `${job?.status?.state} ${job?.status?.restarts?.charged} charged`);
    return [...new Set(states)];
  }

  conditions(): readonly (string | undefined)[] {
    return [...new Set(this.jobs.map(({ job }) => job?.status && summaryOfCondition(job.status, 'Running')))];
  }
}

describe('a stall of 62 s', () => {
  it.each([
    ['of a storage claim that all of a hundred gangs use', 100, true],
    ['of all gangs, which share nothing that is known', 20, false],
  ])('%s ends no gang and keeps no node away', (_what, gangs, sharesClaim) => {
    const fleet = new Fleet(gangs, { sharesClaim });
    fleet.begin();
    expect(fleet.conditions()).toEqual(['True/GangRunning']);
    fleet.stall(gangs);
    expect([fleet.ended, fleet.avoided, fleet.conditions()]).toEqual([0, 0, ['True/EndHeld']]);
    const held = fleet.cluster.arbiter.heldByCause();
    fleet.goOn();
    expect([fleet.ended, fleet.avoided, fleet.conditions()]).toEqual([0, 0, ['True/GangRunning']]);
    expect([held.hang, fleet.cluster.arbiter.heldByCause().hang]).toEqual([gangs, 0]);
    expect(fleet.endState()).toEqual(['Running 0 charged']);
  });

  it('of one gang of twenty ends that gang at once, and keeps its node away', () => {
    const fleet = new Fleet(20, { sharesClaim: true });
    fleet.begin();
    fleet.stall(1);
    expect([fleet.ended, fleet.avoided]).toEqual([1, 1]);
    expect(fleet.jobs[0]?.job?.status?.attempts?.[0]).toMatchObject({ reason: 'Condemned', charged: false });
  });

  it.each([1, 2, 3])('of one of %i gangs ends that gang at once', (gangs) => {
    const fleet = new Fleet(gangs, { sharesClaim: true, gpusPerNode: 4 });
    fleet.begin();
    fleet.stall(1);
    expect(fleet.ended).toBe(1);
  });
});

describe('a stall that lasts', () => {
  /** Twenty gangs that share a claim have stood still for ten minutes, and nothing has ended before. */
  function aLongStall(): Fleet {
    const fleet = new Fleet(20, { sharesClaim: true });
    fleet.begin();
    fleet.stall(20);
    for (let at = 0; at < 8; at += 1) fleet.turn(60_000);
    expect([fleet.ended, fleet.avoided]).toEqual([0, 0]);
    for (let at = 0; at < 8; at += 1) fleet.turn(10_000);
    return fleet;
  }

  it('ends one gang after ten minutes, and no other one while that does not help', () => {
    const fleet = aLongStall();
    for (let at = 0; at < 5; at += 1) fleet.turn(300_000);
    expect([fleet.ended, fleet.avoided]).toEqual([1, 0]);
    expect(fleet.jobs.map(({ job }) => job?.status?.restarts?.charged)).toEqual(Array(20).fill(0));
    for (let at = 0; at < 2; at += 1) fleet.turn(300_000);
    expect([fleet.ended, fleet.avoided]).toEqual([2, 0]);
  });

  it('ends a tenth of the others at a time once that gang trains again', () => {
    const fleet = aLongStall();
    const ends: number[] = [];
    for (let minute = 0; minute < 14; minute += 1) {
      for (const world of fleet.jobs) {
        if (world.job?.status?.attempts?.[0]?.outcome === undefined) continue;
        world.reportsSteps = true;
        world.verdicts = [];
      }
      fleet.turn(60_000);
      ends.push(fleet.ended);
    }
    expect([ends[0], ends[13], fleet.avoided]).toEqual([1, 6, 0]);
    for (const [at, ended] of ends.entries()) expect(ended - (ends[at - 5] ?? 0)).toBeLessThanOrEqual(2);
    expect(fleet.jobs[0]?.job?.status).toMatchObject({ state: 'Running', restarts: { charged: 0 } });
  });
});

describe('the held end of a gang with a slow rank', () => {
  /** Four gangs on all nodes, so that no other node has room. A rank of the first one is slow. */
  function aHeldGang(): { readonly fleet: Fleet; readonly world: World; readonly reads: Date[] } {
    const fleet = new Fleet(4, { sharesClaim: false, gpusPerNode: 2 });
    fleet.begin();
    const [world] = fleet.jobs;
    if (world === undefined) throw new Error('there is no gang');
    const reads: Date[] = [];
    const of = { epoch: 1, incarnation: 1, message: 'Rank 3 is slow.' };
    const at = world.now.toISOString();
    world.findings = [{ ...of, kind: 'SlowRank', noticedAt: at, ranks: [3], evidence: {} }];
    world.verdicts = [{ ...of, about: { kind: 'rank', rank: 3 }, cause: 'slow', beganAt: at, readAt: at }];
    world.readsEvidence = () => {
      reads.push(world.now);
      world.verdicts = world.verdicts.map((verdict) => ({ ...verdict, readAt: world.now.toISOString() }));
    };
    return { fleet, world, reads };
  }

  it('is read again once a minute, and is held as long as its cause lasts', () => {
    const { fleet, world, reads } = aHeldGang();
    for (let at = 0; at < 60; at += 1) fleet.turn(10_000);
    expect(reads).toHaveLength(9);
    expect([fleet.ended, world.job?.status && summaryOfCondition(world.job.status, 'Running')]).toEqual([
      0,
      'True/EndHeld',
    ]);
  });

  it('is over within a minute after the rank is slow no more, and its incident says so', () => {
    const { fleet, world, reads } = aHeldGang();
    fleet.turn(10_000);
    world.readsEvidence = () => {
      reads.push(world.now);
      world.verdicts = [];
      world.findings = world.findings.map((finding) => ({ ...finding, overAt: world.now.toISOString() }));
    };
    for (let at = 0; at < 7; at += 1) fleet.turn(10_000);
    expect([fleet.ended, reads.length, world.arbiter.heldByCause().slow]).toEqual([0, 1, 0]);
    expect(world.job?.status && summaryOfCondition(world.job.status, 'Running')).toBe('True/GangRunning');
    expect(world.job?.status?.incidents).toMatchObject([{ kind: 'SlowRank', action: 'Advised', outcome: 'Passed' }]);
  });
});

describe('an administrator who asks to empty all nodes', () => {
  it('has half of the gangs leave in each five minutes, and all train again once the marks are gone', () => {
    const fleet = new Fleet(8, { sharesClaim: false });
    fleet.begin();
    for (const [pick, node] of NODES.entries()) {
      fleet.jobs[0]?.apply({ kind: 'announce', pick });
      for (const job of fleet.jobs)
        job.notices.set(node, { rule: 'maintenance', mark: 'annotation', isRequested: true });
    }
    fleet.turn(60_000);
    expect(fleet.ended).toBe(4);
    for (let at = 0; at < 6; at += 1) fleet.turn(60_000);
    expect(fleet.ended).toBe(8);
    for (const job of fleet.jobs) job.notices.clear();
    fleet.jobs[0]?.apply({ kind: 'restoreNodes' });
    // Nodes that gangs left are avoided for a while.
    for (let at = 0; at < 18; at += 1) fleet.turn(240_000);
    expect(fleet.endState()).toEqual(['Running 0 charged']);
  });
});

describe('notices of all nodes', () => {
  it('that are taken back leave every gang as it was', () => {
    const fleet = new Fleet(40, { sharesClaim: false });
    fleet.begin();
    for (const pick of NODES.keys()) fleet.jobs[0]?.apply({ kind: 'announce', pick });
    for (let at = 0; at < 3; at += 1) fleet.turn(60_000);
    fleet.jobs[0]?.apply({ kind: 'restoreNodes' });
    for (let at = 0; at < 3; at += 1) fleet.turn(60_000);
    expect([fleet.ended, fleet.avoided, fleet.conditions(), fleet.endState()]).toEqual([
      0,
      0,
      ['True/GangRunning'],
      ['Running 0 charged'],
    ]);
  });

  it('stop nothing if no other node has room', () => {
    const fleet = new Fleet(20, { sharesClaim: false });
    fleet.begin();
    for (const pick of NODES.keys()) fleet.jobs[0]?.apply({ kind: 'announce', pick });
    for (let at = 0; at < 5; at += 1) fleet.turn(60_000);
    expect([fleet.ended, fleet.avoided, fleet.conditions()]).toEqual([0, 0, ['True/EndHeld']]);
  });

  it('move as many gangs as other nodes have room for', () => {
    const fleet = new Fleet(3, { sharesClaim: false, gpusPerNode: 2 });
    fleet.begin();
    const used = new Set(fleet.jobs.flatMap(({ pods }) => pods.flatMap(({ nodeName }) => nodeName ?? [])));
    for (const [pick, node] of NODES.entries()) if (used.has(node)) fleet.jobs[0]?.apply({ kind: 'announce', pick });
    fleet.turn(1_000);
    // Six nodes are in use, and two are free: room for one gang of two pods.
    expect([used.size, fleet.ended]).toEqual([6, 1]);
  });
});
