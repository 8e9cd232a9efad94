import { keyOf, type KubeObject } from './kube-object.ts';
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

  it('are found by their state until an event has told of it', () => {
    const { cache, writes } = setUp();
    writes.remember('job-1', pod(7));
    expect([writes.answered('u1', '7'), writes.answered('u1', '6'), writes.answered('u2', '7')]).toEqual([
      pod(7),
      undefined,
      undefined,
    ]);
    cache.upsert(pod(7));
    expect(writes.answered('u1', '7')).toBeUndefined();
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

  it.each<[string, { readonly cached?: number; readonly written?: number; readonly uid?: string }, string | undefined]>(
    [
      ['that only the cache knows', { cached: 5 }, 'u1@5'],
      ['that only a write of ours knows', { written: 7 }, 'u1@7'],
      ['that a write of ours knows better', { cached: 5, written: 7 }, 'u1@7'],
      ['that the cache knows better', { cached: 9, written: 7 }, 'u1@9'],
      ['of another UID not at all', { cached: 5, written: 7, uid: 'u2' }, undefined],
    ],
  )('find one object by key and UID: one %s', (_sentence, { cached, written, uid = 'u1' }, want) => {
    const { cache, writes } = setUp();
    if (cached !== undefined) cache.upsert(pod(cached));
    if (written !== undefined) writes.remember('job-1', pod(written));
    const found = writes.get(keyOf(pod(1)), uid);
    expect(found === undefined ? undefined : versions([found])[0]).toBe(want);
  });

  it('of one group are not seen in the view of another, whichever was written last', () => {
    const { writes } = setUp();
    writes.remember('job-1', pod(7));
    writes.remember('job-2', pod(8));
    expect(writes.view('job-1', [])).toEqual([]);
    expect(versions(writes.view('job-2', []))).toEqual(['u1@8']);
    writes.rememberGone('u1');
    expect(writes.view('job-2', [])).toEqual([]);
  });

  it('are forgotten after a minute, so that only the server can vouch for them then', async () => {
    const { writes, clock } = setUp();
    writes.remember('job-1', pod(7));
    await clock.advance(61_000);
    expect(writes.view('job-1', [])).toEqual([]);
    expect(writes.size).toBe(0);
  });
});
