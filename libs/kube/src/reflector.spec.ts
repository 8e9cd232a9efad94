import fc from 'fast-check';

import { KubeApiError } from './errors.ts';
import type { KubeObject } from './kube-object.ts';
import { keyOf } from './kube-object.ts';
import type { ReflectorFailure, ReflectorOptions } from './reflector.ts';
import { Reflector } from './reflector.ts';
import { ObjectCache } from './object-cache.ts';
import type { WatchStep } from './testing/index.ts';
import { FakeClock, FakeKubeApi, ScriptedWatch, anEvent, anObject, listOf } from './testing/index.ts';

const refused = (status: number, retryAfterMs?: number): KubeApiError =>
  new KubeApiError({
    status,
    reason: 'Scripted',
    message: `${status}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });

interface Started {
  readonly clock: FakeClock;
  readonly cache: ObjectCache<KubeObject>;
  readonly reflector: Reflector<KubeObject>;
  readonly failures: ReflectorFailure[];
  readonly stop: () => Promise<void>;
}

async function start(
  client: ReflectorOptions<KubeObject>['client'],
  options: Partial<ReflectorOptions<KubeObject>> = {},
): Promise<Started> {
  const clock = new FakeClock();
  const cache = new ObjectCache<KubeObject>();
  const failures: ReflectorFailure[] = [];
  const reflector = new Reflector<KubeObject>({
    client,
    collectionPath: '/apis/x/v1/namespaces/ns/things',
    cache,
    clock,
    random: () => 0.5,
    onError: ({ failure }) => void failures.push(failure),
    ...options,
  });
  const end = new AbortController();
  const done = reflector.run(end.signal);
  await clock.advance(0);
  const stop = async (): Promise<void> => {
    end.abort();
    await clock.advance(0);
    await done;
  };
  return { clock, cache, reflector, failures, stop };
}

const names = (cache: ObjectCache<KubeObject>): readonly string[] => cache.list().map(({ metadata }) => metadata.name);

describe('a reflector', () => {
  const one = anObject('one', { version: 11 });
  const two = anObject('two', { version: 12 });

  it.each<{ name: string; watch: readonly WatchStep[]; failure: ReflectorFailure; then: string }>([
    { name: 'a 500', watch: [{ refuse: refused(500) }], failure: 'request', then: 'watch 11' },
    { name: 'a 410', watch: [{ refuse: refused(410) }], failure: 'gone', then: 'list' },
    { name: 'a reset', watch: [{ end: 'reset' }], failure: 'request', then: 'watch 11' },
    { name: 'an early close', watch: [{ end: 'close' }], failure: 'short-watch', then: 'watch 11' },
    { name: 'silence', watch: [{ end: 'silence' }], failure: 'silence', then: 'watch 11' },
    {
      name: 'a truncated line',
      watch: [{ send: '{"type":"AD' }, { end: 'close' }],
      failure: 'truncated-line',
      then: 'watch 11',
    },
    { name: 'a line that is no JSON', watch: [{ send: '{"type":"AD\n' }], failure: 'malformed-line', then: 'list' },
    {
      name: 'an ERROR of 410',
      watch: [{ send: anEvent('ERROR', { kind: 'Status', code: 410 }) }],
      failure: 'gone',
      then: 'list',
    },
    {
      name: 'an ERROR of 500',
      watch: [{ send: anEvent('ERROR', { kind: 'Status', code: 500 }) }],
      failure: 'error-event',
      then: 'watch 11',
    },
    {
      name: 'an ERROR without meaning',
      watch: [{ send: anEvent('ERROR', null) }],
      failure: 'error-event',
      then: 'watch 11',
    },
    {
      name: 'a bookmark without version',
      watch: [{ send: anEvent('BOOKMARK', {}) }],
      failure: 'malformed-line',
      then: 'list',
    },
    {
      name: 'a deleted object that comes back under an old version',
      watch: [{ send: anEvent('ADDED', anObject('ghost', { version: 5 })) }],
      failure: 'out-of-order',
      then: 'list',
    },
  ])('goes on with "$then" after $name', async ({ watch, failure, then }) => {
    const script = new ScriptedWatch({ lists: [[one]], watches: [watch] });
    const { clock, failures, stop } = await start(script);
    await clock.advance(110_000);
    expect(failures[0]).toBe(failure);
    expect(script.asked.slice(0, 3)).toEqual(['list', 'watch 11', then]);
    await stop();
    expect(clock.pending).toBe(0);
  });

  it('takes over additions, changes, deletions and bookmarks, and starts the next watch where the last one got to', async () => {
    const changed = anObject('one', { version: 13 });
    const script = new ScriptedWatch({
      lists: [[one]],
      watches: [
        [
          { send: anEvent('ADDED', two) + anEvent('MODIFIED', changed) },
          { send: anEvent('DELETED', anObject('two', { version: 14 })) },
          { send: anEvent('BOOKMARK', { metadata: { resourceVersion: '20' } }) },
          { end: 'close' },
        ],
      ],
    });
    const { cache, stop } = await start(script);
    expect(cache.list()).toEqual([changed]);
    expect(script.asked).toEqual(['list', 'watch 11', 'watch 20']);
    expect(cache.resourceVersion).toBe('20');
    await stop();
  });

  it('loses nothing wherever an event is cut, by any kind of end', async () => {
    const event = anEvent('ADDED', anObject('päckchen', { version: 12 }));
    const bytes = Buffer.from(event);
    for (let cut = 0; cut < bytes.length; cut += 1) {
      for (const end of ['close', 'reset'] as const) {
        const script = new ScriptedWatch({
          lists: [[one]],
          watches: [
            [{ send: bytes.subarray(0, cut) }, { end }],
            [{ send: bytes.subarray(0, 7) }, { send: bytes.subarray(7) }],
          ],
        });
        const { clock, cache, stop } = await start(script);
        await clock.advance(2_000);
        expect(names(cache)).toEqual(['one', 'päckchen']);
        await stop();
      }
    }
  });

  it('backs off between 0.8 and 8 s while the server stays away, and never gives up', async () => {
    const script = new ScriptedWatch({ lists: [refused(503)] });
    const { clock, failures, reflector, stop } = await start(script);
    const atMs: number[] = [];
    for (let step = 0; step < 1_000; step += 1) {
      const before = failures.length;
      await clock.advance(100);
      if (failures.length > before) atMs.push(clock.monotonicMs());
    }
    const gaps = atMs.slice(1).map((at, n) => at - (atMs[n] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(800);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(8_100);
    expect(reflector.health()).toMatchObject({ synced: false, lastEventAgeMs: Infinity, outageMs: 100_000 });
    await stop();
  });

  it('waits as long as Retry-After says, and longer only by a tenth', async () => {
    const script = new ScriptedWatch({ lists: [refused(429, 20_000), [one]] });
    const { clock, reflector, stop } = await start(script);
    await clock.advance(19_999);
    expect(script.asked).toEqual(['list']);
    await clock.advance(2_100);
    expect(reflector.hasSynced()).toBe(true);
    await stop();
  });

  it('does not loop hotly when every watch breaks after one good event', async () => {
    const broken = (): readonly WatchStep[] => [{ send: anEvent('MODIFIED', one) }, { send: 'garbage\n' }];
    const script = new ScriptedWatch({ lists: [[one]], watches: Array.from({ length: 1_000 }, broken) });
    const { clock, stop } = await start(script);
    await clock.advance(10_000);
    expect(script.asked.filter((asked) => asked === 'list').length).toBeLessThan(8);
    await stop();
  });

  it('starts a list over when a page is gone, and asks for it in one piece the third time', async () => {
    const page = listOf([one], 11, 'more');
    const script = new ScriptedWatch({ lists: [page, refused(410), page, refused(410), listOf([one, two], 12)] });
    const { cache, failures, stop } = await start(script, { pageSize: 1 });
    expect(script.asked.slice(0, 5)).toEqual(['list', 'list continue=more', 'list', 'list continue=more', 'list']);
    expect(script.listOptions.map(({ limit }) => limit)).toEqual([1, 1, 1, 1, undefined]);
    expect([names(cache), failures]).toEqual([
      ['one', 'two'],
      ['gone', 'gone'],
    ]);
    await stop();
  });

  it('refuses a list older than what it has seen, and keeps what it has', async () => {
    const script = new ScriptedWatch({
      lists: [listOf([one, two], 50), listOf([], 40), listOf([two], 60)],
      watches: [[{ refuse: refused(410) }]],
    });
    const { clock, cache, failures, stop } = await start(script);
    expect([names(cache), failures]).toEqual([
      ['one', 'two'],
      ['gone', 'stale-list'],
    ]);
    await clock.advance(8_000);
    expect(names(cache)).toEqual(['two']);
    await stop();
  });

  it('skips an object without identity, keeps one that cannot be trimmed, and reports both', async () => {
    const nameless = { apiVersion: 'v1', kind: 'Thing', metadata: {} } as unknown as KubeObject;
    const script = new ScriptedWatch({ lists: [listOf([one], 11)] });
    script.list = () => Promise.resolve({ ...listOf([one], 11), items: [nameless, null, one] } as never);
    const { cache, failures, stop } = await start(script, {
      trim: () => {
        throw new Error('trim');
      },
    });
    expect([names(cache), failures]).toEqual([['one'], ['invalid-object', 'invalid-object', 'trim']]);
    await stop();
  });

  it('ends within a turn when it is stopped during its first list, and leaves no timer', async () => {
    const never = new ScriptedWatch({ lists: [[one]] });
    never.list = (_path, options) =>
      new Promise((_resolve, reject) =>
        options?.signal?.addEventListener('abort', () => reject(refused(0)), { once: true }),
      );
    const { clock, stop } = await start(never);
    await stop();
    expect(clock.pending).toBe(0);
    expect(never.asked).toEqual([]);
  });
});

type Step =
  | { readonly kind: 'create' | 'change' | 'delete'; readonly name: string }
  | { readonly kind: 'compact' | 'failLists' | 'failWatches' | 'pass' };

describe('a reflector against a model', () => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constantFrom('create', 'change', 'delete'), name: fc.constantFrom('a', 'b', 'c', 'd') }),
    fc.record({ kind: fc.constantFrom('compact', 'failLists', 'failWatches', 'pass') }),
  );

  it('ends with the cache equal to the server, whatever happened before things calmed down', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.integer({ min: 1, max: 4 }), async (steps, pageSize) => {
        const api = new FakeKubeApi();
        const collection = '/apis/x/v1/namespaces/ns/things';
        let failing: string | undefined;
        api.interfere = ({ verb }) => {
          if (verb === failing) throw refused(500);
        };
        const { clock, cache, stop } = await start(api, { pageSize });
        const told = new Map<string, KubeObject>();
        cache.onChange(({ kind, object }) => {
          if (kind === 'deleted') told.delete(keyOf(object));
          else told.set(keyOf(object), object);
        });
        for (const { kind, ...rest } of steps) {
          const name = 'name' in rest ? rest.name : '';
          const existing = api.objects(collection).find(({ metadata }) => metadata.name === name);
          if (kind === 'create') await api.create(collection, anObject(name, { version: 0 })).catch(() => undefined);
          if (kind === 'change' && existing)
            await api.patch(`${collection}/${name}`, { t: clock.monotonicMs() }, { type: 'merge' });
          if (kind === 'delete' && existing)
            await api.delete(`${collection}/${name}`, { uid: existing.metadata.uid ?? '' });
          if (kind === 'compact') api.compact();
          if (kind === 'failLists') failing = 'list';
          if (kind === 'failWatches') failing = 'watch';
          if (kind === 'pass') await clock.advance(5_000);
        }
        failing = undefined;
        await clock.advance(120_000);
        const want = new Map(api.objects(collection).map((object) => [keyOf(object), object.metadata.resourceVersion]));
        const seen = (objects: Iterable<KubeObject>): unknown =>
          new Map([...objects].map((object) => [keyOf(object), object.metadata.resourceVersion]));
        expect(seen(cache.list())).toEqual(want);
        expect(seen(told.values())).toEqual(want);
        await stop();
      }),
      { numRuns: 60 },
    );
  });
});
