import type { KubeObject } from './kube-object.ts';
import { OwnWrites } from './own-writes.ts';
import { ObjectCache } from './object-cache.ts';
import { anObject, FakeClock } from './testing/index.ts';

describe('our own writes over a cache', () => {
  const setUp = (): { cache: ObjectCache<KubeObject>; writes: OwnWrites<KubeObject>; clock: FakeClock } => {
    const cache = new ObjectCache<KubeObject>();
    const clock = new FakeClock();
    return { cache, clock, writes: new OwnWrites(cache, clock) };
  };
  const pod = (version: number): KubeObject => anObject('pod', { uid: 'u1', version });
  const versions = (pods: readonly KubeObject[]): string[] =>
    pods.map(({ metadata }) => `${metadata.uid}@${metadata.resourceVersion}`);

  it('show an object that was created and has not been heard of yet', () => {
    const { cache, writes } = setUp();
    writes.remember('job-1', pod(7));
    expect(versions(writes.view('job-1', cache.list()))).toEqual(['u1@7']);
    expect(versions(writes.all())).toEqual(['u1@7']);
    expect(writes.view('job-2', [])).toEqual([]);
  });

  it('give way as soon as the cache knows as much', () => {
    const { cache, writes } = setUp();
    writes.remember('job-1', pod(7));
    cache.upsert(pod(7));
    expect(writes.size).toBe(0);
    cache.upsert(pod(9));
    expect(versions(writes.view('job-1', cache.list()))).toEqual(['u1@9']);
  });

  it('outdo a cache that is behind', () => {
    const { cache, writes } = setUp();
    cache.upsert(pod(5));
    writes.remember('job-1', pod(7));
    expect(versions(writes.view('job-1', cache.list()))).toEqual(['u1@7']);
    expect(versions(writes.all())).toEqual(['u1@7']);
  });

  it('hide what was deleted, until the cache has heard of it', () => {
    const { cache, writes } = setUp();
    cache.upsert(pod(5));
    writes.rememberGone('u1');
    expect(writes.view('job-1', cache.list())).toEqual([]);
    expect(writes.all()).toEqual([]);
  });

  it('do not bring back an object whose deletion was heard of before the answer to a write came', () => {
    const { cache, writes } = setUp();
    cache.upsert(pod(5));
    cache.remove(pod(8));
    writes.remember('job-1', pod(7));
    expect(writes.view('job-1', cache.list())).toEqual([]);
  });

  it('are forgotten after a minute, so that only the server can vouch for them then', async () => {
    const { writes, clock } = setUp();
    writes.remember('job-1', pod(7));
    await clock.advance(61_000);
    expect(writes.view('job-1', [])).toEqual([]);
    expect(writes.size).toBe(0);
  });
});
