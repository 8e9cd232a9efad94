import type { KubeClient } from './kube-client.ts';
import type { KubeObject } from './kube-object.ts';
import { ObjectCache } from './object-cache.ts';
import { OwnWrites } from './own-writes.ts';
import { Reflector, type ReflectorFailure } from './reflector.ts';
import { FakeClock, FakeKubeApi, anObject, settle } from './testing/index.ts';
import { WATCH_CHECK } from './watch-check.ts';

const THINGS = '/apis/x/v1/namespaces/ns/things';

interface Setup {
  readonly api: FakeKubeApi;
  readonly clock: FakeClock;
  readonly cache: ObjectCache<KubeObject>;
  readonly writes: OwnWrites<KubeObject>;
  readonly failures: ReflectorFailure[];
  readonly lists: () => number;
  readonly stop: () => Promise<void>;
  /** Called once with the next page of a comparison on its way. */
  meanwhile: (() => Promise<unknown>) | undefined;
}

async function watch(names: readonly string[]): Promise<Setup> {
  const api = new FakeKubeApi();
  for (const name of names) await api.create(THINGS, bodyOf(name));
  const clock = new FakeClock();
  const cache = new ObjectCache<KubeObject>();
  const writes = new OwnWrites(cache, clock);
  const failures: ReflectorFailure[] = [];
  let lists = 0;
  const setup: Pick<Setup, 'meanwhile'> = { meanwhile: undefined };
  const client: Pick<KubeClient, 'list' | 'requestStream'> = {
    requestStream: (path, options) => api.requestStream(path, options),
    list: async (path, options) => {
      const page = await api.list<never>(path, options);
      const { meanwhile } = setup;
      setup.meanwhile = undefined;
      await meanwhile?.();
      if (meanwhile !== undefined) await settle();
      return page;
    },
  };
  const reflector = new Reflector<KubeObject>({
    client,
    collectionPath: THINGS,
    cache,
    clock,
    random: () => 0.5,
    listing: 'stream',
    check: { ...WATCH_CHECK, unseenForMs: () => writes.unseenForMs() },
    metrics: { count: (name) => void (lists += name === 'reflector_lists_total' ? 1 : 0), observe: () => undefined },
    onError: ({ failure }) => void failures.push(failure),
  });
  const end = new AbortController();
  const done = reflector.run(end.signal);
  await clock.advance(0);
  const stop = async (): Promise<void> => {
    end.abort();
    await clock.advance(0);
    await done;
  };
  return Object.assign(setup, { api, clock, cache, writes, failures, lists: () => lists, stop });
}

function bodyOf(name: string): KubeObject {
  const { apiVersion, kind } = anObject(name, { version: 1 });
  return { apiVersion, kind, metadata: { name } };
}

function label(api: FakeKubeApi, name: string): Promise<KubeObject> {
  return api.patch<KubeObject>(`${THINGS}/${name}`, { metadata: { labels: { changed: 'yes' } } }, { type: 'merge' });
}

async function remove(api: FakeKubeApi, name: string): Promise<void> {
  const { metadata } = await api.get<KubeObject>(`${THINGS}/${name}`);
  await api.delete(`${THINGS}/${name}`, { uid: metadata.uid ?? '' });
}

/** Bookmarks keep the watch from being cut as silent, as those of a real server do. */
async function aMinute({ api, clock }: Setup): Promise<void> {
  for (let second = 0; second < 60; second += 10) {
    api.bookmark();
    await clock.advance(10_000);
  }
}

const versions = (objects: readonly KubeObject[]): readonly string[] =>
  objects.map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`).sort();

describe('a watch that sends bookmarks and leaves out changes', () => {
  it.each([
    ['an addition', (api: FakeKubeApi) => api.create(THINGS, bodyOf('new'))],
    ['a change', (api: FakeKubeApi) => label(api, 'one')],
    ['a deletion', (api: FakeKubeApi) => remove(api, 'one')],
    [
      'a replacement under the same name',
      async (api: FakeKubeApi) => {
        await remove(api, 'one');
        await api.create(THINGS, bodyOf('one'));
      },
    ],
  ])('is found within a minute by %s, whether its bookmarks go on or stand still', async (_, change) => {
    for (const deafness of ['to events', 'to all'] as const) {
      const setup = await watch(['one', 'two']);
      setup.api.deafen(deafness);
      await change(setup.api);
      await aMinute(setup);
      expect(versions(setup.cache.list())).toEqual(versions(setup.api.objects(THINGS)));
      expect(setup.failures).toContain('missed-events');
      await setup.stop();
      expect(setup.clock.pending).toBe(0);
    }
  });

  it('is found if it loses the events of one object and delivers all others', async () => {
    const setup = await watch(['one', 'two']);
    setup.api.deafen({ name: 'one' });
    await label(setup.api, 'one');
    for (let turn = 0; turn < 10; turn += 1) {
      await setup.api.create(THINGS, bodyOf(`other-${turn}`));
      await setup.clock.advance(6_000);
    }
    expect(versions(setup.cache.list())).toEqual(versions(setup.api.objects(THINGS)));
    await setup.stop();
  });

  it('is found again by each later change', async () => {
    const setup = await watch(['one']);
    setup.api.deafen('to events');
    for (const name of ['a', 'b', 'c']) {
      await setup.api.create(THINGS, bodyOf(name));
      await aMinute(setup);
      expect(versions(setup.cache.list())).toEqual(versions(setup.api.objects(THINGS)));
    }
    await setup.stop();
  });

  it('is found in a large collection, page by page', async () => {
    const names = Array.from({ length: 700 }, (_, n) => `thing-${String(n).padStart(4, '0')}`);
    const setup = await watch(names);
    setup.api.deafen('to all');
    await label(setup.api, 'thing-0650');
    await aMinute(setup);
    await aMinute(setup);
    expect(versions(setup.cache.list())).toEqual(versions(setup.api.objects(THINGS)));
    await setup.stop();
  });

  it('is found by a write of this process that does not come back, wherever the object is in its collection', async () => {
    const names = Array.from({ length: 700 }, (_, n) => `thing-${String(n).padStart(4, '0')}`);
    const setup = await watch(names);
    setup.api.deafen('to all');
    setup.writes.remember('group', await label(setup.api, 'thing-0699'));
    await aMinute(setup);
    expect(versions(setup.cache.list())).toEqual(versions(setup.api.objects(THINGS)));
    await setup.stop();
  });
});

describe('a watch that delivers', () => {
  it('is not listed again, whatever changes and however often', async () => {
    const setup = await watch(Array.from({ length: 300 }, (_, n) => `thing-${n}`));
    for (let turn = 0; turn < 40; turn += 1) {
      await setup.api.create(THINGS, bodyOf(`new-${turn}`));
      await label(setup.api, `thing-${turn}`);
      await remove(setup.api, `thing-${turn + 100}`);
      setup.api.bookmark();
      await setup.clock.advance(7_000);
    }
    expect([setup.failures, setup.lists()]).toEqual([[], 1]);
    await setup.stop();
  });

  it.each([
    ['is created', (api: FakeKubeApi) => api.create(THINGS, bodyOf('three'))],
    ['changes', (api: FakeKubeApi) => label(api, 'two')],
    ['is deleted', (api: FakeKubeApi) => remove(api, 'two')],
  ])('is not listed again if an object %s while a page is on its way, and nothing follows', async (_, change) => {
    const setup = await watch(['one', 'two']);
    setup.meanwhile = () => change(setup.api);
    await aMinute(setup);
    await aMinute(setup);
    expect([setup.failures, setup.lists()]).toEqual([[], 1]);
    expect(versions(setup.cache.list())).toEqual(versions(setup.api.objects(THINGS)));
    await setup.stop();
  });

  it('stays as it is while pages cannot be read', async () => {
    const setup = await watch(['one']);
    setup.api.interfere = ({ verb }) => {
      if (verb === 'list') throw new Error('no pages');
    };
    await aMinute(setup);
    expect([setup.failures, setup.lists()]).toEqual([[], 1]);
    await setup.stop();
  });
});
