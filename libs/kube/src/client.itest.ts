import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { waitFor } from '@coxswain/local-cluster';
import { safeText } from '@coxswain/safe-text';
import { spoilWatch, type FaultAction, type Verb } from '@coxswain/test-harness';

import { systemClock } from './clock.ts';
import { isAlreadyExists, isConflict, isInvalid, isNotFound, isOutcomeUnknown, isRetryable } from './errors.ts';
import { EventRecorder } from './events.ts';
import type { Replacement } from './kube-client.ts';
import { keyOf } from './kube-object.ts';
import { OwnWrites } from './own-writes.ts';
import { Reflector } from './reflector.ts';
import { ObjectCache } from './object-cache.ts';
import { aConfigMap, configMaps, startWorld, type ConfigMap, type World } from './testing/world.ts';
import { WorkQueue } from './work-queue.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});

afterEach(() => {
  world.proxy.clearFaults();
  world.proxy.clearRecords();
});

afterAll(() => world.stop());

const STRANGE = {
  'a half pair': 'a\ud83d',
  'DEL and C1': 'a\u007f\u009b',
  noncharacters: 'a\ufffe\uffff',
  'next line': 'a\u0085b',
  'C0, bidi controls': 'a\u0000\u001b\u202e',
};

let namespaces = 0;
async function aNamespace(): Promise<string> {
  const name = `client-${(namespaces += 1)}`;
  await world.direct.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return name;
}

const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('what the client says to a real apiserver', () => {
  it('creates, applies, patches, replaces and deletes with preconditions', async () => {
    const namespace = await aNamespace();
    const client = world.client();
    const path = configMaps(namespace, 'one');
    const made = await client.create<ConfigMap>(configMaps(namespace), aConfigMap('one', { a: '1' }));
    expect(isAlreadyExists(await rejection(client.create(configMaps(namespace), aConfigMap('one'))))).toBe(true);
    await client.apply(path, aConfigMap('one', { b: '2' }), { fieldManager: 'other' });
    expect(isConflict(await rejection(client.apply(path, aConfigMap('one', { b: '3' }))))).toBe(true);
    await client.apply(path, aConfigMap('one', { b: '3' }), { force: true });
    const stale = { metadata: { resourceVersion: made.metadata.resourceVersion }, data: { c: '4' } };
    expect(isConflict(await rejection(client.patch(path, stale, { type: 'merge' })))).toBe(true);
    await client.patch(path, [{ op: 'add', path: '/data/c', value: '4' }], { type: 'json' });
    expect((await client.get<ConfigMap>(path)).data).toEqual({ a: '1', b: '3', c: '4' });
    const read = await client.get<ConfigMap & Replacement>(path);
    await client.replace(path, { ...read, data: { c: '5' } });
    expect((await client.get<ConfigMap>(path)).data).toEqual({ c: '5' });
    expect(isConflict(await rejection(client.replace(path, { ...read, data: { c: '6' } })))).toBe(true);
    const other = '00000000-0000-0000-0000-000000000000';
    expect(isConflict(await rejection(client.delete(path, { uid: other })))).toBe(true);
    await client.delete(path, { uid: made.metadata.uid ?? '' });
    expect(isNotFound(await rejection(client.get(path)))).toBe(true);
  });

  it('refuses unknown fields when strict, does nothing on a dry run, and reads the version', async () => {
    const namespace = await aNamespace();
    const client = world.client();
    const wrong = { ...aConfigMap('strict'), dat: {} };
    expect(isInvalid(await rejection(client.create(configMaps(namespace), wrong, { fieldValidation: 'Strict' })))).toBe(
      true,
    );
    await client.create(configMaps(namespace), aConfigMap('dry'), { dryRun: true });
    expect((await client.list(configMaps(namespace))).items).toEqual([]);
    expect((await client.version()).gitVersion).toMatch(/^v1\./);
  });

  it('finds that some text is refused by an apply, and some comes back as other text; safe text never is either', async () => {
    const namespace = await aNamespace();
    const client = world.client();
    const read = await client.create<ConfigMap & Replacement>(configMaps(namespace), aConfigMap('text'));
    const path = configMaps(namespace, 'text');
    const becomes = async (
      write: (body: Replacement & ConfigMap) => Promise<unknown>,
      text: string,
    ): Promise<string> => {
      const { uid, resourceVersion } = (await client.get<ConfigMap & Replacement>(path)).metadata;
      const body = { ...read, metadata: { name: 'text', namespace, uid, resourceVersion }, data: { text } };
      const error = await rejection(write(body));
      if (error !== undefined) return isInvalid(error) ? 'refused' : String(error);
      return (await client.get<ConfigMap>(path)).data?.['text'] === text ? 'same' : 'other text';
    };
    const apply = (body: ConfigMap): Promise<unknown> => client.apply(path, body, { force: true });
    const put = (body: Replacement): Promise<unknown> => client.replace(path, body);
    const found: Record<string, readonly string[]> = {};
    for (const [name, text] of Object.entries(STRANGE)) {
      const safe = safeText(text);
      found[name] = [
        await becomes(apply, text),
        await becomes(put, text),
        await becomes(apply, safe),
        await becomes(put, safe),
      ];
    }
    expect(found).toEqual({
      'a half pair': ['refused', 'other text', 'same', 'same'],
      'DEL and C1': ['refused', 'same', 'same', 'same'],
      noncharacters: ['refused', 'same', 'same', 'same'],
      'next line': ['other text', 'same', 'same', 'same'],
      'C0, bidi controls': ['same', 'same', 'same', 'same'],
    });
  });

  it('writes an Event that the apiserver accepts, once a minute, and never fails its caller', async () => {
    const namespace = await aNamespace();
    const regarding = await world.direct.create<ConfigMap>(configMaps(namespace), aConfigMap('regarded'));
    const errors: unknown[] = [];
    const recorder = new EventRecorder({
      client: world.client(),
      clock: systemClock,
      reportingController: 'coxswain.dev/test',
      reportingInstance: 'test-1',
      onError: (error) => void errors.push(error),
    });
    const event = { regarding, type: 'Normal', reason: 'Tested', action: 'Test', note: '…'.repeat(900) } as const;
    expect([recorder.record(event), recorder.record(event)]).toEqual([true, false]);
    await recorder.flush();
    world.proxy.add({ action: { kind: 'status', status: 500 } });
    expect(recorder.record({ ...event, reason: 'Refused' })).toBe(true);
    await recorder.flush();
    expect(errors).toHaveLength(1);
    const { items } = await world.direct.list(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`);
    expect(items.map((item) => (item as unknown as { reason: string }).reason)).toEqual(['Tested']);
  });
});

describe('credentials that change', () => {
  it('reads a token file again at once after a 401, and when it has been rewritten', async () => {
    const good = JSON.parse(await readText(world.kubeconfigPath)) as {
      users: [{ user: { tokenFile: string } }];
    };
    const token = await readText(good.users[0].user.tokenFile);
    const tokenFile = join(world.plane.directory, 'rotated.token');
    const kubeconfigPath = join(world.plane.directory, 'rotated.kubeconfig');
    writeFileSync(kubeconfigPath, JSON.stringify({ ...good, users: [{ ...good.users[0], user: { tokenFile } }] }));
    writeFileSync(tokenFile, token);
    const client = world.client({ kubeconfigPath });
    await client.list('/api/v1/namespaces');
    // An apiserver that no longer takes the token: the new one is there already.
    const expired = world.proxy.add({ match: { times: 1 }, action: { kind: 'status', status: 401 } });
    await client.list('/api/v1/namespaces');
    expect(expired.hits).toBe(1);
    writeFileSync(tokenFile, 'rubbish');
    await waitFor(async () => isRetryable(await rejection(client.list('/api/v1/namespaces'))), {
      what: 'the rewritten token to be used',
    });
    writeFileSync(tokenFile, token);
    await client.list('/api/v1/namespaces');
  });

  it('uses a few connections for many calls: no more than there are places in its lanes', async () => {
    const client = world.client({ maxInFlight: 4, lanes: { bulk: 1, identity: 1 } });
    const before = world.proxy.connectionsOpened;
    await Promise.all(Array.from({ length: 200 }, () => client.list('/api/v1/namespaces')));
    expect(world.proxy.connectionsOpened - before).toBeLessThanOrEqual(4 + 1 + 1);
  });
});

describe('C2: the write is done and its answer is lost', () => {
  it.each<[Verb, 'reset' | 'hang']>([
    ['create', 'reset'],
    ['create', 'hang'],
    ['apply', 'reset'],
    ['patch', 'reset'],
    ['delete', 'reset'],
  ])('%s (%s): the error says that the outcome is unknown, and trying again finds it done', async (verb, how) => {
    const namespace = await aNamespace();
    // A write that is never answered is given up after this; every other one must be answered within it.
    const client = world.client({ timeoutMs: how === 'hang' ? 10_000 : 60_000 });
    const path = configMaps(namespace, 'once');
    const made =
      verb === 'create' ? undefined : await world.direct.create<ConfigMap>(configMaps(namespace), aConfigMap('once'));
    const write = {
      create: () => client.create(configMaps(namespace), aConfigMap('once')),
      apply: () => client.apply(path, aConfigMap('once', { done: 'yes' }), { force: true }),
      patch: () => client.patch(path, { data: { done: 'yes' } }, { type: 'merge' }),
      delete: () => client.delete(path, { uid: made?.metadata.uid ?? '' }),
    }[verb as 'create' | 'apply' | 'patch' | 'delete'];
    world.proxy.add({ match: { verbs: [verb], times: 1 }, action: { kind: 'loseAnswer', how } });
    const error = await rejection(write());
    expect([isOutcomeUnknown(error), isRetryable(error)]).toEqual([true, true]);
    const again = await rejection(write());
    const want = { create: isAlreadyExists(again), delete: isNotFound(again) }[verb as 'create' | 'delete'];
    expect(want ?? again === undefined).toBe(true);
    expect(world.proxy.writes.filter(({ status }) => status < 300)).toHaveLength(
      verb === 'create' || verb === 'delete' ? 1 : 2,
    );
  });
});

/** A controller that wants one child `child-KEY` per ConfigMap labelled as a parent: the smallest that can get it wrong. */
async function childMaker(
  namespace: string,
  timeoutMs = 60_000,
): Promise<{
  readonly queue: WorkQueue;
  readonly cache: ObjectCache<ConfigMap>;
  readonly stop: () => Promise<void>;
}> {
  const client = world.client({ timeoutMs });
  const cache = new ObjectCache<ConfigMap>();
  const own = new OwnWrites(cache, systemClock);
  const queue = new WorkQueue({ clock: systemClock, random: Math.random, backoff: { minMs: 500, maxMs: 4_000 } });
  const options = { client, collectionPath: configMaps(namespace), cache, clock: systemClock, random: Math.random };
  const tuning = { backoff: { minMs: 50, maxMs: 500 }, requestTimeoutMs: 2_000 };
  const reflector = new Reflector<ConfigMap>({ ...options, tuning });
  const stop = new AbortController();
  cache.onChange(({ object }) => {
    if (!object.metadata.name.startsWith('child-')) queue.add(keyOf(object));
  });
  const reflecting = reflector.run(stop.signal);
  await waitFor(() => Promise.resolve(reflector.hasSynced()), { what: 'the first list' });
  const working = queue.run({
    workers: 4,
    signal: stop.signal,
    drainMs: 100,
    reconcile: async (key) => {
      const name = key.split('/')[1] ?? '';
      const cached = cache.list().filter((child) => child.metadata.name.startsWith(`child-${name}-`));
      if (own.view(key, cached).length > 0) return {};
      // A random name on purpose: only what is remembered of the own write keeps this from making two.
      const child = aConfigMap(`child-${name}-${Math.random().toString(36).slice(2, 10)}`);
      own.remember(key, await client.create<ConfigMap>(configMaps(namespace), child));
      return { requeueAfterMs: 20 };
    },
  });
  return {
    queue,
    cache,
    stop: async () => {
      stop.abort();
      await Promise.all([reflecting, working]);
    },
  };
}

describe('C3: a cache that has not seen the own write', () => {
  it('makes no second child while events are held back and the parent is requeued a hundred times', async () => {
    const namespace = await aNamespace();
    world.proxy.add({ match: { verbs: ['watch'] }, action: spoilWatch.hold(400) });
    const { queue, cache, stop } = await childMaker(namespace);
    await world.direct.create(configMaps(namespace), aConfigMap('parent'));
    await waitFor(() => Promise.resolve(world.proxy.writes.length > 0), { what: 'the child' });
    for (let n = 0; n < 100; n += 1) {
      queue.add(`${namespace}/parent`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await waitFor(() => Promise.resolve(cache.size === 2), { what: 'the held events' });
    await waitFor(() => Promise.resolve(queue.stats().waiting + queue.stats().running === 0), {
      what: 'rest',
    });
    await stop();
    expect(world.proxy.writes).toHaveLength(1);
  });
});

describe('C13: an apiserver that pushes back', () => {
  it.each<[string, FaultAction, number]>([
    ['409', { kind: 'status', status: 409 }, 1],
    ['429 with Retry-After', { kind: 'status', status: 429, retryAfterSeconds: 1 }, 1],
    ['422', { kind: 'status', status: 422 }, 1],
    ['403', { kind: 'status', status: 403 }, 1],
    ['500', { kind: 'status', status: 500 }, 1],
    ['504', { kind: 'status', status: 504 }, 0.2],
    ['503', { kind: 'status', status: 503 }, 0.05],
    ['a hang', { kind: 'hang' }, 0.2],
  ])(
    '%s on creates: at most 2 tries a second per object, and every child exists once it is over',
    async (_what, action, probability) => {
      const namespace = await aNamespace();
      // What is never answered is given up after this; what is slow must be answered within it, or there are two children.
      const { cache, stop } = await childMaker(namespace, action.kind === 'hang' ? 10_000 : 60_000);
      world.proxy.add({ match: { verbs: ['create'], path: configMaps(namespace), probability }, action });
      const names = ['a', 'b', 'c', 'd', 'e'];
      const startedAtMs = Date.now();
      // Straight to the apiserver: only the controller meets the fault.
      await Promise.all(names.map((name) => world.direct.create(configMaps(namespace), aConfigMap(name))));
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      const seconds = (Date.now() - startedAtMs) / 1000;
      for (const name of names) {
        const tries = world.proxy.writes.filter(({ body }) => body.includes(`"child-${name}-`)).length;
        expect(tries).toBeLessThanOrEqual(Math.ceil(2 * seconds) + 1);
        if (action.kind === 'status' && action.retryAfterSeconds !== undefined)
          expect(tries).toBeLessThanOrEqual(Math.floor(seconds / action.retryAfterSeconds) + 1);
      }
      world.proxy.clearFaults();
      await waitFor(() => Promise.resolve(cache.size === 2 * names.length), {
        what: 'every child',
      });
      await stop();
      expect(new Set(cache.list().map(({ metadata }) => metadata.name.split('-')[1] ?? metadata.name)).size).toBe(
        names.length,
      );
    },
  );
});

async function readText(path: string): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  return readFile(path, 'utf8');
}
