import type { Attempt, Placement, TrainingJob } from '@coxswain/api-types';
import { anAttempt, aTrainingJob } from '@coxswain/api-types/testing';
import { ObjectCache, OwnWrites, type KubeObject } from '@coxswain/kube';
import { placementSha256 } from '@coxswain/scheduling';
import { aPlacement } from '@coxswain/lifecycle/testing';
import { CachedPlacements, toCachedPlacement } from './cached-placements.ts';
import { BY_JOB, BY_UID } from './indexes.ts';

type Stored<T> = T & KubeObject;

/** The cache of a follower: events of jobs and placements come as they come, and what is read by name is what `inCluster` says. */
class Follower {
  readonly jobs = new ObjectCache<Stored<TrainingJob>>();
  readonly placements = new ObjectCache<Stored<Placement>>();
  readonly read: string[] = [];
  readonly inCluster = new Map<string, Stored<Placement>>();
  readonly cached: CachedPlacements;
  readonly #known = new OwnWrites(this.jobs, { monotonicMs: () => 0 });
  #version = 0;

  constructor() {
    this.jobs.addIndex(BY_UID, ({ metadata }) => [metadata.uid]);
    this.placements.addIndex(BY_JOB, ({ spec }) => [spec.jobUid]);
    const get = async (path: string): Promise<never> => {
      this.read.push(path.replace(/.*\//, ''));
      return this.inCluster.get(path.replace(/.*\//, '')) as never;
    };
    const onProblem = (problem: unknown): never => {
      throw new Error('read failed', { cause: problem });
    };
    const clock = { monotonicMs: () => 0 };
    this.cached = new CachedPlacements({
      cached: this.placements,
      jobs: this.#known,
      client: { get },
      clock,
      onProblem,
    });
  }

  job(attempts: readonly Attempt[] = []): TrainingJob {
    const status = { epoch: attempts.at(-1)?.epoch ?? 0, restarts: { total: 0, charged: 0 }, attempts: [...attempts] };
    const job = aTrainingJob({ status, metadata: { resourceVersion: this.#next() } });
    this.jobs.upsert(job);
    return job;
  }

  placement(name: string, spec: Partial<Placement['spec']> = {}): Stored<Placement> {
    const made = aPlacement(aTrainingJob(), spec);
    const metadata = {
      ...made.metadata,
      name,
      uid: `uid-of-${name}`,
      resourceVersion: this.#next(),
      labels: { a: 'b' },
    };
    const placement = { ...made, metadata } as Stored<Placement>;
    this.inCluster.set(name, placement);
    this.placements.upsert(toCachedPlacement(placement, this.#known));
    return placement;
  }

  #next(): string {
    return String((this.#version += 1));
  }
}

const recording = ({ metadata, spec }: Placement): Attempt =>
  anAttempt({ stage: 'Creating', placement: metadata.name, placementSha256: placementSha256(spec) });
const answered = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('of the placements of a cluster', () => {
  it('those that status records are kept whole', () => {
    const follower = new Follower();
    const { spec } = aPlacement(aTrainingJob());
    const job = follower.job([
      anAttempt({ stage: 'Creating', placement: 'ours', placementSha256: placementSha256(spec) }),
    ]);
    follower.placement('ours');
    expect(follower.cached.ofJob(job)).toMatchObject([{ metadata: { name: 'ours' }, spec }]);
    expect(follower.cached.whole()).toHaveLength(1);
  });

  it.each<[string, string, Partial<Placement['spec']>]>([
    ['another hash under the recorded name', 'ours', { nodes: ['node-a', 'node-c'] }],
    ['the recorded content under another name', 'forged', {}],
    ['a job that nobody knows', 'forged', { jobUid: 'nobody' }],
  ])('of %s no more is kept than name, job and epoch', (_sentence, name, spec) => {
    const follower = new Follower();
    const recorded = placementSha256(aPlacement(aTrainingJob()).spec);
    follower.job([anAttempt({ stage: 'Creating', placement: 'ours', placementSha256: recorded })]);
    const { jobUid, epoch } = follower.placement(name, spec).spec;
    expect(follower.placements.list()).toEqual([
      {
        apiVersion: expect.anything() as string,
        kind: 'Placement',
        metadata: { name, namespace: 'research', uid: `uid-of-${name}`, resourceVersion: expect.anything() as string },
        spec: { jobUid, epoch },
      },
    ]);
    expect(follower.cached.whole()).toEqual([]);
  });

  it('a thousand strangers of 16,384 nodes each take less than half a megabyte', () => {
    const follower = new Follower();
    follower.job();
    const nodes = Array.from({ length: 16_384 }, (_, index) => `a-node-with-a-long-name-${index}`);
    for (let index = 0; index < 1_000; index += 1) follower.placement(`forged-${index}`, { nodes, epoch: index + 1 });
    expect(JSON.stringify(follower.placements.list()).length).toBeLessThan(500_000);
  });

  it('one that comes before the status that records it is read again then, once, and is whole until it is gone', async () => {
    const follower = new Follower();
    follower.job();
    const early = follower.placement('early');
    expect(follower.cached.whole()).toEqual([]);
    const job = follower.job([recording(early)]);
    follower.job([recording(early)]);
    await answered();
    expect(follower.read).toEqual(['early']);
    expect(follower.cached.ofJob(job)).toMatchObject([{ spec: early.spec }]);
    follower.job([{ ...recording(early), stage: 'Released' }]);
    expect(follower.read).toEqual(['early']);
    follower.job([{ ...recording(early), stage: 'Ended' }]);
    follower.placements.remove({ ...early, metadata: { ...early.metadata, resourceVersion: '99' } });
    expect(follower.cached.whole()).toEqual([]);
  });

  const gone = (follower: Follower, placement: Stored<Placement>): void =>
    void follower.placements.remove({ ...placement, metadata: { ...placement.metadata, resourceVersion: '99' } });

  it('the recorded one of a gang that is up is kept when somebody deletes it, and holds its GPUs, until it is there again', () => {
    const follower = new Follower();
    const ours = { metadata: { name: 'ours' }, spec: aPlacement(aTrainingJob()).spec } as Placement;
    const job = follower.job([{ ...recording(ours), stage: 'Released' }]);
    const placement = follower.placement('ours');
    expect(follower.cached.keptOf(job)).toBeUndefined();
    gone(follower, placement);
    expect([follower.cached.ofJob(job), follower.cached.keptOf(job)]).toEqual([[], placement.spec]);
    expect(follower.cached.whole()).toMatchObject([{ spec: placement.spec }]);
    follower.cached.remember(job.metadata.uid, {
      ...placement,
      metadata: { ...placement.metadata, uid: 'again', resourceVersion: '100' },
    });
    expect(follower.cached.keptOf(job)).toBeUndefined();
    expect(follower.cached.whole()).toHaveLength(1);
  });

  it('that of a gang that has ended is not kept, nor is one that is no longer of the gang that is up', () => {
    const follower = new Follower();
    const ours = { metadata: { name: 'ours' }, spec: aPlacement(aTrainingJob()).spec } as Placement;
    follower.job([{ ...recording(ours), stage: 'Released' }]);
    gone(follower, follower.placement('ours'));
    const job = follower.job([{ ...recording(ours), stage: 'Ended' }]);
    expect([follower.cached.keptOf(job), follower.cached.whole()]).toEqual([undefined, []]);
  });
});
