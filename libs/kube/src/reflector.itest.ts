/*
 * What a reflector believes of a real API server behind a faulty connection. One file of more than 400 lines, because all of it needs one
 * API server with flags of its own, which takes half a minute to start.
 */
import { waitFor } from '@coxswain/local-cluster';
import { errorLine, spoilWatch, type Fault, type FaultAction } from '@coxswain/test-harness';
import type { KubeClient } from './kube-client.ts';
import { systemClock } from './clock.ts';
import { isGone } from './errors.ts';
import type { ReflectorFailure, ReflectorOptions, ReflectorProblem } from './reflector.ts';
import { Reflector } from './reflector.ts';
import { resourcePath } from './paths.ts';
import { compareResourceVersions } from './resource-version.ts';
import type { CacheChange, CacheProblem } from './object-cache.ts';
import { ObjectCache } from './object-cache.ts';
import { aConfigMap, configMaps, startWorld, cacheEqualsServer, type ConfigMap, type World } from './testing/world.ts';

let world: World;
const unhandled: unknown[] = [];
const onUnhandled = (error: unknown): void => void unhandled.push(error);

beforeAll(async () => {
  process.on('unhandledRejection', onUnhandled);
  // Secrets bypass the watch cache, so a compaction really takes their history away.
  world = await startWorld({
    extraApiserverFlags: ['--etcd-compaction-interval=1s', '--watch-cache-sizes=secrets#0'],
  });
});

afterAll(async () => {
  process.off('unhandledRejection', onUnhandled);
  await world.stop();
  expect(unhandled).toEqual([]);
});

const running: { stop: AbortController; done: Promise<void> }[] = [];
afterEach(async () => {
  world.proxy.clearFaults();
  for (const { stop } of running) stop.abort();
  await Promise.all(running.splice(0).map(({ done }) => done));
});

interface Reflected {
  readonly cache: ObjectCache<ConfigMap>;
  readonly reflector: Reflector<ConfigMap>;
  readonly problems: ReflectorProblem[];
  readonly changes: CacheChange<ConfigMap>[];
  readonly failures: () => readonly ReflectorFailure[];
  readonly collectionPath: string;
}

let namespaces = 0;
async function aNamespace(): Promise<string> {
  const name = `ns-${(namespaces += 1)}`;
  await world.direct.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return name;
}

/** What a test waits for must come from what it is about, not from a time that runs out on a busy machine. */
const PATIENT = { backoff: { minMs: 20, maxMs: 200 }, idleTimeoutMs: 60_000, requestTimeoutMs: 60_000 };
/** Where silence, or an answer that does not come, is the subject. */
const HASTY = { idleTimeoutMs: 1_500, requestTimeoutMs: 3_000 };

function reflect(collectionPath: string, options: Partial<ReflectorOptions<ConfigMap>> = {}): Reflected {
  const problems: ReflectorProblem[] = [];
  const changes: CacheChange<ConfigMap>[] = [];
  const cache = options.cache ?? new ObjectCache<ConfigMap>();
  cache.onChange((change) => void changes.push(change));
  const reflector = new Reflector<ConfigMap>({
    client: world.client(),
    collectionPath,
    cache,
    clock: systemClock,
    random: Math.random,
    onError: (problem) => void problems.push(problem),
    ...options,
    tuning: { ...PATIENT, ...options.tuning },
  });
  const stop = new AbortController();
  running.push({ stop, done: reflector.run(stop.signal) });
  return {
    cache,
    reflector,
    problems,
    changes,
    collectionPath,
    failures: () => problems.map(({ failure }) => failure),
  };
}

const synced = (reflected: Reflected): Promise<unknown> =>
  waitFor(() => Promise.resolve(reflected.reflector.hasSynced()), { what: 'the first list' });

const sees = (reflected: Reflected, key: string): Promise<unknown> =>
  waitFor(() => Promise.resolve(reflected.cache.get(key) !== undefined), {
    what: `${key} to arrive`,
  });

/** Creations, changes, deletions and successors of the same name. */
async function churn(namespace: string, rounds = 4): Promise<void> {
  const { direct } = world;
  for (let round = 0; round < rounds; round += 1) {
    const made = await Promise.all(
      [0, 1, 2].map((n) =>
        direct.create<ConfigMap>(configMaps(namespace), aConfigMap(`m-${n}`, { round: `${round}` })),
      ),
    );
    await direct.patch(configMaps(namespace, 'm-0'), { data: { changed: 'yes' } }, { type: 'merge' });
    await direct.patch(configMaps(namespace, 'm-1'), { data: { changed: 'yes' } }, { type: 'merge' });
    const last = round === rounds - 1;
    for (const [n, { metadata }] of made.entries()) {
      if (last && n < 2) continue;
      await direct.delete(configMaps(namespace, `m-${n}`), { uid: metadata.uid ?? '' });
    }
  }
}

function expectVersionsNeverFall(changes: readonly CacheChange<ConfigMap>[]): void {
  const newest = new Map<string, string>();
  for (const { kind, object } of changes) {
    const { uid = '', resourceVersion = '' } = object.metadata;
    if (kind !== 'deleted') expect(compareResourceVersions(resourceVersion, newest.get(uid) ?? '0')).toBeGreaterThan(0);
    newest.set(uid, resourceVersion);
  }
}

const watches = (action: FaultAction, times = 1): Fault => ({ match: { verbs: ['watch'], times }, action });

describe('C9: a watch that repeats, replays or reorders', () => {
  it.each([
    ['sends every line twice', spoilWatch.duplicate()],
    ['replays its first event after each later one', spoilWatch.replayFirst()],
    ['swaps neighbouring events', spoilWatch.swapPairs()],
    ['delays every event', spoilWatch.hold(20)],
  ])('leaves the cache equal to the server when it %s, and no version falls', async (_what, action) => {
    const namespace = await aNamespace();
    world.proxy.add(watches(action, Infinity));
    const reflected = reflect(configMaps(namespace), { tuning: HASTY });
    await synced(reflected);
    await churn(namespace);
    await new Promise((resolve) => setTimeout(resolve, 50));
    world.proxy.clearFaults();
    // A pair that waits for its other half is released when the watch is cut for its silence.
    await cacheEqualsServer(reflected.cache, { direct: world.direct, collectionPath: reflected.collectionPath });
    expectVersionsNeverFall(reflected.changes);
  });
});

describe('what was read before', () => {
  it('is told by the beginning of a line of a real server, and is not read again', async () => {
    const namespace = await aNamespace();
    const asked: string[] = [];
    const { cache, ...reflected } = reflect(configMaps(namespace), {
      known: (uid, resourceVersion) => {
        asked.push(`${uid}@${resourceVersion}`);
        return undefined;
      },
    });
    await synced({ cache, ...reflected });
    const { metadata } = await world.direct.create<ConfigMap>(configMaps(namespace), aConfigMap('m-0', {}));
    await sees({ cache, ...reflected }, `${namespace}/m-0`);
    expect(asked).toContain(`${metadata.uid}@${metadata.resourceVersion}`);
  });
});

describe('C10: a line that is truncated, huge or foreign', () => {
  it.each([1, 9, 40, 120, 200])(
    'loses nothing when an event is cut at byte %i by a reset, a close or a newline',
    async (atByte) => {
      const namespace = await aNamespace();
      for (const then of ['reset', 'close', 'goOn'] as const) {
        world.proxy.add(watches(spoilWatch.cutLine({ index: 0, atByte, then })));
        const reflected = reflect(configMaps(namespace));
        await synced(reflected);
        const made = await world.direct.create<ConfigMap>(
          configMaps(namespace),
          aConfigMap(`cut-${then.toLowerCase()}`),
        );
        await sees(reflected, `${namespace}/cut-${then.toLowerCase()}`);
        expect(reflected.failures()).toContain(
          then === 'goOn' ? 'malformed-line' : then === 'close' ? 'truncated-line' : 'request',
        );
        world.proxy.clearFaults();
        await world.direct.delete(configMaps(namespace, made.metadata.name), { uid: made.metadata.uid ?? '' });
      }
    },
  );

  it('sees a deletion whose event was cut off', async () => {
    const namespace = await aNamespace();
    const { metadata } = await world.direct.create<ConfigMap>(configMaps(namespace), aConfigMap('doomed'));
    world.proxy.add(watches(spoilWatch.cutLine({ index: 0, atByte: 30, then: 'goOn' })));
    const reflected = reflect(configMaps(namespace));
    await sees(reflected, `${namespace}/doomed`);
    await world.direct.delete(configMaps(namespace, 'doomed'), { uid: metadata.uid ?? '' });
    await cacheEqualsServer(reflected.cache, { direct: world.direct, collectionPath: reflected.collectionPath });
    expect(reflected.changes.map(({ kind }) => kind)).toEqual(['added', 'deleted']);
  });

  it.each([
    ['an unknown type', '{"type":"SURPRISE","object":{}}'],
    ['an object without metadata', '{"type":"ADDED","object":{"kind":"ConfigMap"}}'],
    ['a number', '42'],
    ['HTML', '<html>gateway</html>'],
    ['5 MB of nothing', `{"type":"ADDED","object":{"x":"${'y'.repeat(5_000_000)}"}}`],
  ])('lists again at once after %s in place of an event', async (_what, line) => {
    const namespace = await aNamespace();
    world.proxy.add(watches(spoilWatch.replace({ index: 0, line })));
    const reflected = reflect(configMaps(namespace));
    await synced(reflected);
    await world.direct.create(configMaps(namespace), aConfigMap('lost'));
    await sees(reflected, `${namespace}/lost`);
    expect(reflected.failures()).toEqual(['malformed-line']);
  });

  it('cuts a line that does not end before it fills the memory', async () => {
    const namespace = await aNamespace();
    world.proxy.add(watches(spoilWatch.inject({ index: 0, line: 'z'.repeat(300_000) })));
    const reflected = reflect(configMaps(namespace), { tuning: { maxLineBytes: 100_000 } });
    await synced(reflected);
    await world.direct.create(configMaps(namespace), aConfigMap('small'));
    await sees(reflected, `${namespace}/small`);
    expect(reflected.failures()).toEqual(['malformed-line']);
  });
});

/** Writes until etcd has forgotten what was before: it is compacted every second up to where it was a second ago. */
async function compacted(secrets: string, past: ConfigMap): Promise<void> {
  const resourceVersion = past.metadata.resourceVersion ?? '';
  let writes = 0;
  await waitFor(
    async () => {
      await world.direct.create(secrets, aSecret(`w-${(writes += 1)}`));
      return await world.direct.list(secrets, { resourceVersion, resourceVersionMatch: 'Exact', limit: 1 }).then(
        () => false,
        (error: unknown) => isGone(error),
      );
    },
    { intervalMs: 200, what: `version ${resourceVersion} to be compacted away` },
  );
}

const aSecret = (name: string): unknown => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name } });

describe('C11: history that is gone', () => {
  it.each([
    ['410 in answer to the watch', watches({ kind: 'status', status: 410 })],
    ['410 inside the stream', watches(spoilWatch.expireAfter(0))],
  ])('lists again without the pause that follows other failures after %s', async (_what, fault) => {
    const namespace = await aNamespace();
    world.proxy.add(fault);
    const tuning = { backoff: { minMs: 600_000, maxMs: 600_000 } };
    const reflected = reflect(configMaps(namespace), { tuning });
    await synced(reflected);
    await world.direct.create(configMaps(namespace), aConfigMap('late'));
    await sees(reflected, `${namespace}/late`);
    expect(reflected.failures()).toContain('gone');
  });

  it('starts a paged list over when its continue token has really been compacted away', async () => {
    const namespace = await aNamespace();
    // Not from the watch cache, which keeps snapshots for continue tokens that etcd has forgotten.
    const secrets = resourcePath({ group: '', version: 'v1', plural: 'secrets', namespace });
    for (let n = 0; n < 4; n += 1) await world.direct.create(secrets, aSecret(`p-${n}`));
    const last = await world.direct.create<ConfigMap>(secrets, aSecret('p-4'));
    const slow = world.proxy.add({
      match: { verbs: ['list'], where: ({ query }) => query.has('continue'), times: 1 },
      action: { kind: 'delay', until: () => compacted(secrets, last), side: 'request' },
    });
    const reflected = reflect(secrets, { pageSize: 2 });
    await synced(reflected);
    expect(slow.hits).toBe(1);
    await cacheEqualsServer(reflected.cache, { direct: world.direct, collectionPath: reflected.collectionPath });
    expect(reflected.failures()).toContain('gone');
  });

  it('recovers from a real compaction behind a watch that had fallen silent, on an uncached resource', async () => {
    const namespace = await aNamespace();
    const secrets = resourcePath({ group: '', version: 'v1', plural: 'secrets', namespace });
    const first = await world.direct.create<ConfigMap>(secrets, aSecret('first'));
    const hasChanged = Promise.withResolvers<void>();
    const isForgotten = (): Promise<void> => hasChanged.promise.then(() => compacted(secrets, first));
    world.proxy.add(watches(spoilWatch.endAtOnce('silence')));
    // The watch that follows the silent one is asked for in time, and answered when there is nothing left to answer.
    world.proxy.add(watches({ kind: 'delay', until: isForgotten, side: 'request' }));
    const reflected = reflect(secrets, { tuning: { idleTimeoutMs: HASTY.idleTimeoutMs } });
    await sees(reflected, `${namespace}/first`);
    await world.direct.delete(`${secrets}/first`, { uid: first.metadata.uid ?? '' });
    await world.direct.create(secrets, aSecret('second'));
    hasChanged.resolve();
    await cacheEqualsServer(reflected.cache, { direct: world.direct, collectionPath: secrets });
    expect(reflected.failures()).toEqual(expect.arrayContaining(['silence', 'gone']));
    expect(reflected.cache.get(`${namespace}/first`)).toBeUndefined();
  });

  it('asks for bookmarks, a random end and a version in every watch, and lists in pages with a quorum read', async () => {
    const namespace = await aNamespace();
    world.proxy.clearRecords();
    const reflected = reflect(configMaps(namespace));
    await synced(reflected);
    await waitFor(() => Promise.resolve(world.proxy.openWatches > 0), { what: 'a watch' });
    const seen = world.proxy.requests.filter(({ path }) => path === reflected.collectionPath);
    const [list, watch] = [seen.find(({ verb }) => verb === 'list'), seen.find(({ verb }) => verb === 'watch')];
    expect(list?.query.get('limit')).toBe('64');
    expect(list?.query.has('resourceVersion')).toBe(false);
    expect(watch?.query.get('allowWatchBookmarks')).toBe('true');
    expect(watch?.query.get('resourceVersion')).toMatch(/^[0-9]+$/);
    const seconds = Number(watch?.query.get('timeoutSeconds'));
    expect(seconds).toBeGreaterThanOrEqual(300);
    expect(seconds).toBeLessThanOrEqual(600);
  });
});

describe('C12: a watch that dies', () => {
  const refusals = [401, 403, 404, 429, 500, 503, 504].map((status): readonly [string, FaultAction] => [
    `is answered ${status}`,
    { kind: 'status', status },
  ]);
  it.each<readonly [string, FaultAction]>([
    ...refusals,
    ['is refused by a reset', { kind: 'refuse' }],
    ['is never answered', { kind: 'hang' }],
    ['is reset at once', spoilWatch.endAtOnce('reset')],
    ['is closed at once', spoilWatch.endAtOnce('close')],
    ['falls silent at once', spoilWatch.endAtOnce('silence')],
    ['is reset after an event', spoilWatch.endAfter(1, 'reset')],
    ['is closed after an event', spoilWatch.endAfter(1, 'close')],
    ['falls silent after an event', spoilWatch.endAfter(1, 'silence')],
    ['sends an ERROR event of 500', spoilWatch.errorAt({ index: 1, status: 500, reason: 'InternalError' })],
    ['sends an ERROR event that makes no sense', spoilWatch.replace({ index: 1, line: '{"type":"ERROR"}' })],
  ])('comes back, and nothing is missed, when it %s', async (_what, action) => {
    const namespace = await aNamespace();
    world.proxy.add(watches(action, 2));
    const reflected = reflect(configMaps(namespace), { tuning: HASTY });
    await synced(reflected);
    await churn(namespace, 2);
    await cacheEqualsServer(reflected.cache, { direct: world.direct, collectionPath: reflected.collectionPath });
    expectVersionsNeverFall(reflected.changes);
  });

  it.each([401, 429, 500, 503])('keeps trying until the first list succeeds after %i', async (status) => {
    const namespace = await aNamespace();
    world.proxy.add({ match: { verbs: ['list'], times: 3 }, action: { kind: 'status', status } });
    const reflected = reflect(configMaps(namespace));
    await synced(reflected);
    expect(reflected.failures().length).toBeGreaterThan(0);
  });

  it('comes back, at its production pace, after an apiserver that was gone; and says how long it was out', async () => {
    const namespace = await aNamespace();
    const tuning = { backoff: { minMs: 800, maxMs: 8_000 }, requestTimeoutMs: 3_000 };
    const reflected = reflect(configMaps(namespace), { tuning });
    await synced(reflected);
    await waitFor(() => Promise.resolve(world.proxy.openWatches > 0), { what: 'a watch' });
    await world.proxy.stopListening();
    await world.direct.create(configMaps(namespace), aConfigMap('meanwhile'));
    await waitFor(() => Promise.resolve(reflected.reflector.health().outageMs > 2_000), {
      what: 'an outage',
    });
    await world.proxy.listenAgain();
    await sees(reflected, `${namespace}/meanwhile`);
    await waitFor(() => reflected.reflector.health().outageMs === 0, { what: 'the outage to be over' });
    expect(reflected.reflector.lastEventAgeMs()).toBeLessThan(60_000);
  });

  it('goes on after the server has shown a new certificate', async () => {
    const namespace = await aNamespace();
    const reflected = reflect(configMaps(namespace));
    await synced(reflected);
    world.proxy.setCertificate(await world.plane.issueCertificate({ commonName: 'renewed', hosts: ['127.0.0.1'] }));
    world.proxy.resetConnections();
    await world.direct.create(configMaps(namespace), aConfigMap('renewed'));
    await sees(reflected, `${namespace}/renewed`);
  });

  it('survives a storm in which a fifth of all requests fail in seven ways', async () => {
    const namespace = await aNamespace();
    const storm: readonly FaultAction[] = [
      { kind: 'refuse' },
      { kind: 'status', status: 500 },
      { kind: 'status', status: 410 },
      spoilWatch.endAfter(1, 'reset'),
      spoilWatch.cutLine({ index: 1, atByte: 50, then: 'goOn' }),
      spoilWatch.expireAfter(1),
      spoilWatch.duplicate(),
    ];
    for (const action of storm) world.proxy.add({ match: { verbs: ['list', 'watch'], probability: 0.2 }, action });
    const reflected = reflect(configMaps(namespace), { tuning: HASTY });
    await churn(namespace, 8);
    world.proxy.clearFaults();
    await cacheEqualsServer(reflected.cache, { direct: world.direct, collectionPath: reflected.collectionPath });
    expectVersionsNeverFall(reflected.changes);
  });
});

describe('C5 to C8: what a cache must not believe', () => {
  it('refuses a list from the past (C5), here a genuine one of an exact older version', async () => {
    const namespace = await aNamespace();
    const old = await world.direct.create<ConfigMap>(configMaps(namespace), aConfigMap('old'));
    const past = await world.direct.list(configMaps(namespace));
    await world.direct.delete(configMaps(namespace, 'old'), { uid: old.metadata.uid ?? '' });
    const present = await world.direct.create<ConfigMap>(configMaps(namespace), aConfigMap('new'));
    let staleAnswers = 3;
    const real = world.client();
    const stale: Pick<KubeClient, 'list' | 'requestStream'> = {
      requestStream: real.requestStream,
      list: (path, options) => {
        if ((staleAnswers -= 1) < 0) return real.list(path, options);
        return real.list(path, {
          resourceVersion: past.metadata.resourceVersion,
          resourceVersionMatch: 'Exact',
        });
      },
    };
    const reflected = reflect(configMaps(namespace), {
      client: stale,
      notOlderThan: () => present.metadata.resourceVersion,
    });
    await sees(reflected, `${namespace}/new`);
    expect(reflected.failures().slice(0, 3)).toEqual(['stale-list', 'stale-list', 'stale-list']);
    expect(reflected.changes.map(({ object }) => object.metadata.name)).toEqual(['new']);
  });

  it('heals events that a server lost for good at the next relist (C6)', async () => {
    const namespace = await aNamespace();
    world.proxy.add(watches(spoilWatch.drop((_event, index) => index === 0)));
    const reflected = reflect(configMaps(namespace), {
      relistAfterMs: 1,
      tuning: { watchTimeoutMs: { minMs: 1_000, maxMs: 1_000 } },
    });
    await synced(reflected);
    await world.direct.create(configMaps(namespace), aConfigMap('unobserved'));
    await sees(reflected, `${namespace}/unobserved`);
  });

  it('reports a successor of the same name as a deletion and an addition, by watch and by relist (C7)', async () => {
    const namespace = await aNamespace();
    const first = await world.direct.create<ConfigMap>(configMaps(namespace), aConfigMap('twin'));
    world.proxy.add(watches(spoilWatch.endAtOnce('silence')));
    world.proxy.add(watches({ kind: 'status', status: 410 }));
    const reflected = reflect(configMaps(namespace), { tuning: { idleTimeoutMs: 600 } });
    await sees(reflected, `${namespace}/twin`);
    await world.direct.delete(configMaps(namespace, 'twin'), { uid: first.metadata.uid ?? '' });
    const second = await world.direct.create<ConfigMap>(configMaps(namespace), aConfigMap('twin'));
    await cacheEqualsServer(reflected.cache, { direct: world.direct, collectionPath: reflected.collectionPath });
    expect(reflected.changes.map(({ kind, object }) => [kind, object.metadata.uid])).toEqual([
      ['added', first.metadata.uid],
      ['deleted', first.metadata.uid],
      ['added', second.metadata.uid],
    ]);
  });

  it('shows a terminating object as one, until it is gone (C8)', async () => {
    const namespace = await aNamespace();
    const body = aConfigMap('ending');
    const held = { ...body, metadata: { name: 'ending', finalizers: ['coxswain.dev/test'] } };
    const { metadata } = await world.direct.create<ConfigMap>(configMaps(namespace), held);
    const reflected = reflect(configMaps(namespace));
    await sees(reflected, `${namespace}/ending`);
    await world.direct.delete(configMaps(namespace, 'ending'), { uid: metadata.uid ?? '' });
    const isTerminating = (): boolean =>
      reflected.cache.get(`${namespace}/ending`)?.metadata.deletionTimestamp !== undefined;
    await waitFor(() => Promise.resolve(isTerminating()), { what: 'the deletion to show' });
    await world.direct.patch(configMaps(namespace, 'ending'), { metadata: { finalizers: null } }, { type: 'merge' });
    await cacheEqualsServer(reflected.cache, { direct: world.direct, collectionPath: reflected.collectionPath });
    expect(reflected.cache.size).toBe(0);
  });
});

describe('C20 and C21: invalid objects and handlers that throw', () => {
  it('keeps every object that the apiserver accepts, however odd, and goes on around user code that throws', async () => {
    const namespace = await aNamespace();
    const oddities: readonly unknown[] = [
      aConfigMap('x'.repeat(253)),
      { ...aConfigMap('proto'), data: { ['__proto__']: 'polluted', constructor: 'odd' } },
      aConfigMap('big', { blob: 'b'.repeat(1_000_000) }),
      aConfigMap('unicode', { text: '\u0000\u2028🚣\ud83d' }),
      { ...aConfigMap('labels'), metadata: { name: 'labels', annotations: { a: 'v'.repeat(200_000) } } },
    ];
    world.proxy.add(watches(spoilWatch.replace({ index: 0, line: errorLine(500, 'Odd') })));
    const cacheProblems: CacheProblem[] = [];
    const cache = new ObjectCache<ConfigMap>({ onProblem: (problem) => void cacheProblems.push(problem) });
    cache.addIndex('throws', () => {
      throw new Error('index');
    });
    cache.onChange(() => {
      throw new Error('handler');
    });
    cache.onChange(() => Promise.reject(new Error('async handler')));
    const reflected = reflect(configMaps(namespace), {
      cache,
      trim: (object) => {
        if (object.metadata.name === 'big') throw new Error('trim');
        return object;
      },
      onError: () => {
        throw new Error('listener');
      },
    });
    await synced(reflected);
    for (const oddity of oddities) await world.direct.create(configMaps(namespace), oddity);
    await cacheEqualsServer(reflected.cache, { direct: world.direct, collectionPath: reflected.collectionPath });
    expect(cache.size).toBe(oddities.length);
    expect(reflected.changes).toHaveLength(oddities.length);
    expect(new Set(cacheProblems.map(({ where }) => where))).toEqual(new Set(['index', 'handler']));
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(unhandled).toEqual([]);
  });

  it('strips managedFields before anything is kept', async () => {
    const namespace = await aNamespace();
    await world.direct.create(configMaps(namespace), aConfigMap('lean'));
    const reflected = reflect(configMaps(namespace));
    await sees(reflected, `${namespace}/lean`);
    expect(reflected.cache.get(`${namespace}/lean`)?.metadata.managedFields).toBeUndefined();
    expect(reflected.cache.get(`${namespace}/lean`)).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
  });
});
