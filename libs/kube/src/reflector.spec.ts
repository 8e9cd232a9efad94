/*
 * More than 400 lines: one table of what may happen to a list or a watch, and one model that all of it is held to.
 */
import fc from 'fast-check';

import { KubeApiError } from './errors.ts';
import type { KubeObject } from './kube-object.ts';
import { keyOf } from './kube-object.ts';
import type { ReflectorFailure, ReflectorOptions } from './reflector.ts';
import { Reflector } from './reflector.ts';
import { ObjectCache } from './object-cache.ts';
import type { WatchStep } from './testing/index.ts';
import { FakeClock, FakeKubeApi, ScriptedWatch, anEvent, anObject, listOf, theEndOfTheList } from './testing/index.ts';

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

  it('takes over what is kept of a state that was read as the answer to a write, and does not read it again', async () => {
    const event = (version: number): WatchStep => {
      const { kind, apiVersion, metadata } = anObject('three', { version });
      return { send: anEvent('MODIFIED', { kind, apiVersion, metadata }) };
    };
    const answered = { ...anObject('three', { version: 13 }), kept: 'of the answer' };
    const script = new ScriptedWatch({ lists: [[one]], watches: [[event(13), event(14)]] });
    const trimmed: (string | undefined)[] = [];
    const cache = new ObjectCache<KubeObject>();
    const seen: unknown[] = [];
    cache.onChange(({ object }) => void seen.push(object));
    const { clock, failures, stop } = await start(script, {
      cache,
      known: (uid, version) => (uid === 'uid-three' && version === '13' ? answered : undefined),
      trim: (object) => {
        trimmed.push(object.metadata.resourceVersion);
        return object;
      },
    });
    await clock.advance(1);
    expect([seen[1], cache.resourceVersion]).toEqual([answered, '14']);
    expect([trimmed, failures]).toEqual([['11', '14'], []]);
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

describe('a list that is streamed', () => {
  const one = anObject('one', { version: 11 });
  const two = anObject('two', { version: 12 });
  const list = [{ send: anEvent('ADDED', one) }, { send: anEvent('ADDED', two) }, { send: theEndOfTheList(20) }];
  const client = (...watches: readonly (readonly WatchStep[])[]): ScriptedWatch =>
    new ScriptedWatch({ lists: [[one, two]], watches });

  it('is the head of the watch that goes on in the same connection', async () => {
    const api = client([...list, { send: anEvent('DELETED', anObject('one', { version: 21 })) }]);
    const { clock, cache, reflector, failures, stop } = await start(api, { listing: 'stream' });
    await clock.advance(5_000);
    expect([names(cache), cache.resourceVersion, reflector.health().outageMs]).toEqual([['two'], '21', 0]);
    expect([api.asked, failures]).toEqual([['stream'], []]);
    await stop();
  });

  it('is nothing before it is complete', async () => {
    const { cache, reflector, stop } = await start(client(list.slice(0, 2)), { listing: 'stream' });
    expect([names(cache), reflector.hasSynced()]).toEqual([[], false]);
    await stop();
  });

  it('holds what changed and what vanished while it was sent', async () => {
    const meanwhile = [
      { send: anEvent('MODIFIED', anObject('one', { version: 13 })) },
      { send: anEvent('DELETED', anObject('two', { version: 14 })) },
      { send: anEvent('BOOKMARK', { metadata: { resourceVersion: '15' } }) },
    ];
    const api = client([...list.slice(0, 2), ...meanwhile, ...list.slice(2)]);
    const { cache, stop } = await start(api, { listing: 'stream' });
    expect(cache.list().map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)).toEqual(['one 13']);
    await stop();
  });

  it.each<[string, readonly WatchStep[], readonly string[]]>([
    ['the server does not know how (422): by pages, now and from then on', [{ refuse: refused(422) }], ['list']],
    ['the watch is forbidden: by pages', [{ refuse: refused(403) }], ['list']],
    ['it ends too early: by pages', [...list.slice(0, 1), { end: 'close' }], ['list']],
    ['it falls silent: by pages', [...list.slice(0, 1), { end: 'silence' }], ['list']],
    ['a line cannot be read: by pages', [{ send: '{"type":\n' }], ['list']],
    ['the server is away: again', [{ refuse: refused(503) }], ['stream']],
    ['the connection breaks: again', [...list.slice(0, 1), { end: 'reset' }], ['stream']],
  ])('is made up for when %s', async (_, trouble, then) => {
    const api = client(trouble, then[0] === 'stream' ? list : []);
    const { clock, cache, reflector, stop } = await start(api, { listing: 'stream' });
    await clock.advance(35_000);
    expect([api.asked.slice(0, 2), names(cache), reflector.hasSynced()]).toEqual([
      ['stream', ...then],
      ['one', 'two'],
      true,
    ]);
    await stop();
  });
});

it.each<[string, number, boolean]>([
  ['as long as reading is forbidden', 403, true],
  ['not if the server is only away', 503, false],
])('a reflector counts as denied %s, and lists once it may', async (_sentence, status, want) => {
  const api = new FakeKubeApi();
  api.interfere = () => {
    throw refused(status);
  };
  const { clock, reflector, stop } = await start(api, { listing: 'stream' });
  await clock.advance(120_000);
  expect([reflector.hasSynced(), reflector.isDenied()]).toEqual([false, want]);
  api.interfere = () => undefined;
  await clock.advance(120_000);
  expect([reflector.hasSynced(), reflector.isDenied()]).toEqual([true, false]);
  await stop();
});

describe.each(['pages', 'stream'] as const)('a refresh (%s)', (listing) => {
  const collection = '/apis/x/v1/namespaces/ns/things';

  /** A reflector whose watch stands still from the first list on. */
  async function behind(): Promise<
    Started & { api: FakeKubeApi; asked: string[]; holdLists: (until: Promise<unknown>) => void }
  > {
    const api = new FakeKubeApi();
    await api.create(collection, anObject('old', { version: 0 }));
    const asked: string[] = [];
    let until: Promise<unknown> = Promise.resolve();
    const client: ReflectorOptions<KubeObject>['client'] = {
      list: async (path, options) => {
        const answer = await api.list(path, options);
        asked.push('list');
        await until;
        return answer as never;
      },
      requestStream: async (path, options) => {
        const isList = options.query?.['sendInitialEvents'] === true;
        const stream = await api.requestStream(path, options);
        if (isList) asked.push('list');
        if (isList) await until;
        const body = isList ? stream.body : (async function* (): AsyncGenerator<Uint8Array> {})();
        return { ...stream, body: standingStill(body, { until, signal: options.signal }) };
      },
    };
    const started = await start(client, { listing });
    await api.create(collection, anObject('new', { version: 0 }));
    return { ...started, api, asked, holdLists: (promise) => void (until = promise) };
  }

  it('brings what a watch that stands still has not brought', async () => {
    const { clock, cache, reflector, asked, stop } = await behind();
    await clock.advance(50_000);
    expect(names(cache)).toEqual(['old']);
    expect(await reflector.refresh(new AbortController().signal)).toBe(true);
    expect([names(cache).toSorted(), asked]).toEqual([
      ['new', 'old'],
      ['list', 'list'],
    ]);
    await stop();
  });

  it('is not answered by a list that began before it', async () => {
    const { clock, api, cache, reflector, asked, holdLists, stop } = await behind();
    const first = Promise.withResolvers<undefined>();
    holdLists(first.promise);
    const never = new AbortController().signal;
    const early = reflector.refresh(never);
    await clock.advance(0);
    await api.create(collection, anObject('newest', { version: 0 }));
    const late = reflector.refresh(never);
    holdLists(Promise.resolve());
    first.resolve(undefined);
    await clock.advance(0);
    expect(await Promise.all([early, late])).toEqual([true, true]);
    expect([names(cache).toSorted(), asked.length]).toEqual([['new', 'newest', 'old'], 3]);
    await stop();
  });

  it('waits for a server that is away, and does not wait for the pause between two tries', async () => {
    const { clock, api, reflector, stop } = await behind();
    api.interfere = () => {
      throw refused(503, 100_000);
    };
    const outcomes: boolean[] = [];
    const never = new AbortController().signal;
    void reflector.refresh(never).then((isListed) => outcomes.push(isListed));
    await clock.advance(50_000);
    expect(outcomes).toEqual([]);
    api.interfere = () => undefined;
    void reflector.refresh(never).then((isListed) => outcomes.push(isListed));
    await clock.advance(0);
    expect(outcomes).toEqual([true, true]);
    await stop();
  });

  it('ends with false when nobody wants it any more', async () => {
    const { clock, api, reflector, stop } = await behind();
    api.interfere = () => {
      throw refused(503);
    };
    const giveUp = new AbortController();
    const refreshed = reflector.refresh(giveUp.signal);
    await clock.advance(1_000);
    giveUp.abort();
    expect(await refreshed).toBe(false);
    expect(await reflector.refresh(giveUp.signal)).toBe(false);
    await stop();
  });
});

/** Passes `body` on up to the end of its list, and then nothing until the signal aborts. */
async function* standingStill(
  body: AsyncIterable<Uint8Array>,
  options: { readonly until: Promise<unknown>; readonly signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    yield chunk;
    if (Buffer.from(chunk).includes('initial-events-end')) break;
  }
  if (!options.signal.aborted) {
    await new Promise<void>((resolve) => options.signal.addEventListener('abort', () => resolve(), { once: true }));
  }
  throw refused(0);
}

type Step =
  | { readonly kind: 'create' | 'change' | 'delete'; readonly name: string }
  | { readonly kind: 'compact' | 'failLists' | 'failWatches' | 'pass' | 'refresh' };

describe('a reflector against a model', () => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constantFrom('create', 'change', 'delete'), name: fc.constantFrom('a', 'b', 'c', 'd') }),
    fc.record({ kind: fc.constantFrom('compact', 'failLists', 'failWatches', 'pass', 'refresh') }),
  );

  it.each(['pages', 'stream'] as const)(
    '(%s) ends with the cache equal to the server, whatever happened before',
    async (listing) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.integer({ min: 1, max: 4 }), async (steps, pageSize) => {
          const api = new FakeKubeApi();
          const collection = '/apis/x/v1/namespaces/ns/things';
          let failing: string | undefined;
          api.interfere = ({ verb }) => {
            if (verb === failing) throw refused(500);
          };
          const { clock, cache, reflector, stop } = await start(api, { pageSize, listing });
          const copy = new Map<string, KubeObject>();
          cache.onChange(({ kind, object }) => {
            if (kind === 'deleted') copy.delete(keyOf(object));
            else copy.set(keyOf(object), object);
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
            if (kind === 'refresh') void reflector.refresh(new AbortController().signal);
            if (kind === 'pass') await clock.advance(5_000);
          }
          failing = undefined;
          await clock.advance(120_000);
          const want = new Map(
            api.objects(collection).map((object) => [keyOf(object), object.metadata.resourceVersion]),
          );
          const seen = (objects: Iterable<KubeObject>): unknown =>
            new Map([...objects].map((object) => [keyOf(object), object.metadata.resourceVersion]));
          expect(seen(cache.list())).toEqual(want);
          expect(seen(copy.values())).toEqual(want);
          await stop();
        }),
        { numRuns: 60 },
      );
    },
  );
});
