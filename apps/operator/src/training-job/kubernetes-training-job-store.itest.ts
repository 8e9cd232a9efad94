import type { Checkpoint, TrainingJob } from '@coxswain/api-types';
import { aTrainingJob, aVerification } from '@coxswain/api-types/testing';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import {
  createKubeClient,
  NotLeadingError,
  noMetrics,
  systemClock,
  type KubeClient,
  type KubeObject,
} from '@coxswain/kube';
import { SYSTEM_NAMESPACE, waitFor } from '@coxswain/local-cluster';
import { createClusterCache } from '../cluster/cluster-cache.ts';
import { leadingClient } from '../cluster/leading-client.ts';
import {
  checkpointsPath,
  computeDomainsPath,
  nodesPath,
  placementsPath,
  podsPath,
  trainingJobsPath,
} from '../cluster/paths.ts';
import { RetentionController } from '../retention/retention-controller.ts';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { defineComputeDomains } from '../testing/compute-domains.ts';
import { sharedWorld } from '../testing/shared-world.ts';
import type { World } from '../testing/world.ts';
import type { Kind } from './testing/in-memory-cluster.ts';
import { FIELD_MANAGER, KubernetesTrainingJobStore } from './kubernetes-training-job-store.ts';
import { createClusterScheduler } from './cluster-scheduler.ts';
import { holdsToTheContract, type StoreWorld } from './testing/training-job-store.contract.ts';

let world: World;
let client: KubeClient;
beforeAll(async () => {
  world = await sharedWorld();
  world.kubelet.isAwake = false;
  await defineComputeDomains(world.plane);
  const account = { namespace: SYSTEM_NAMESPACE, serviceAccount: 'coxswain-operator', apiserverUrl: world.plane.url };
  const kubeconfigPath = await world.plane.kubeconfigFor(account);
  client = createKubeClient({ kubeconfigPath, userAgent: 'coxswain-test', fieldManager: FIELD_MANAGER });
});
afterAll(async () => {
  await client.close();
  await world.stop();
});

let stopping = new AbortController();
let informers: Promise<unknown> = Promise.resolve();
afterEach(async () => {
  stopping.abort();
  await informers;
});

const PATHS = {
  TrainingJob: trainingJobsPath,
  Placement: placementsPath,
  Checkpoint: checkpointsPath,
  Pod: podsPath,
  ComputeDomain: computeDomainsPath,
} as const;
let nodes = 0;

/** A store with the rights of the operator's own account, and an administrator as the others. */
async function startOnApiServer(): Promise<StoreWorld> {
  const namespace = await world.namespace();
  const { admin } = world.plane;
  stopping = new AbortController();
  let isBlind = false;
  let leads = true;
  const cache = createClusterCache({
    client: {
      get: client.get,
      list: client.list,
      requestStream: async (path, options) => {
        const stream = await client.requestStream(path, options);
        return { ...stream, body: heldBack(stream.body, { isHeld: () => isBlind, signal: options.signal }) };
      },
    },
    clock: systemClock,
    random: Math.random,
    metrics: noMetrics,
    onProblem: () => undefined,
  });
  informers = cache.informers.run(stopping.signal);
  await cache.informers.waitForSync(stopping.signal);
  const guarded = leadingClient(client, {
    assertLeading: () => {
      if (!leads) throw new NotLeadingError('another replica leads');
    },
    leftMs: () => 10_000,
    over: stopping.signal,
  });
  const pathOf = (kind: Kind, name: string): string =>
    kind === 'Node' ? nodesPath(name) : PATHS[kind]({ namespace, name });
  return {
    store: new KubernetesTrainingJobStore({ client: guarded, cache, clock: systemClock }),
    scheduler: createClusterScheduler(cache, systemClock),
    namespace,
    lead: (now) => {
      leads = now;
    },
    blind: () => {
      isBlind = true;
    },
    until: async (what, isSo) => void (await waitFor(async () => isSo(), { what, intervalMs: 20 })),
    others: {
      create: (kind, object) => {
        if (kind === 'Node') throw new Error('make a node with others.node');
        return admin.json<KubeObject>({ method: 'POST', path: PATHS[kind]({ namespace }), body: object });
      },
      annotate: async (kind, name, metadata) => {
        const contentType = 'application/merge-patch+json';
        await admin.json({ method: 'PATCH', path: pathOf(kind, name), body: { metadata }, contentType });
      },
      scribble: async (name, status) => {
        const contentType = 'application/merge-patch+json';
        await admin.json({
          method: 'PATCH',
          path: `${pathOf('TrainingJob', name)}/status`,
          body: { status },
          contentType,
        });
      },
      delete: async (kind, name) => {
        await admin.send({ method: 'DELETE', path: pathOf(kind, name), body: { gracePeriodSeconds: 0 } });
      },
      get: async <T extends KubeObject>(kind: Kind, name: string): Promise<T | undefined> => {
        const path = pathOf(kind, name);
        if ((await admin.send({ method: 'GET', path })).status === 404) return undefined;
        return admin.json<T>({ method: 'GET', path });
      },
      node: async ({ ready }) => {
        const name = `contract-node-${(nodes += 1)}`;
        await world.node(name, 8);
        if (!ready) await world.loseNode(name);
        return name;
      },
    },
  };
}

/** Passes a watch on until it is held; from then on it looks like one on which nothing happens. */
async function* heldBack(
  body: AsyncIterable<Uint8Array>,
  hold: { readonly isHeld: () => boolean; readonly signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    if (hold.isHeld()) await aborted(hold.signal);
    yield chunk;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

describe('the store over the Kubernetes API', () => holdsToTheContract(startOnApiServer));

describe('retention over the Kubernetes API', () => {
  it('lets a policy change, and nothing else of spec.checkpoint, and deletes a save in steps that the server accepts', async () => {
    const namespace = await world.namespace();
    const { admin } = world.plane;
    const contentType = 'application/merge-patch+json';
    const body = { ...aTrainingJob(), metadata: { name: 'tiny-gpt', namespace }, status: undefined };
    const made = await admin.json<TrainingJob & KubeObject>({
      method: 'POST',
      path: trainingJobsPath({ namespace }),
      body,
    });
    const path = trainingJobsPath({ namespace, name: 'tiny-gpt' });
    const change = async (checkpoint: object): Promise<number> =>
      (await admin.send({ method: 'PATCH', path, body: { spec: { checkpoint } }, contentType })).status;
    expect([await change({ claimName: 'other' }), await change({ retention: { keepNewestVerified: 1 } })]).toEqual([
      422, 200,
    ]);
    const { uid: jobUid = '' } = made.metadata;
    const script = new CacheScript();
    const see = async (): Promise<void> => {
      script.cache.jobs.cached.upsert(await client.get<TrainingJob & KubeObject>(path));
      const { items } = await client.list<Checkpoint & KubeObject>(checkpointsPath({ namespace }));
      for (const one of items) script.cache.checkpoints.cached.upsert(one);
    };
    for (const step of [10, 20]) {
      const saved = aCheckpoint({ step, jobUid, path: `tiny-gpt-${jobUid.slice(0, 8)}/epoch-1/step-${step}` });
      const metadata = { name: `step-${step}`, namespace };
      const object = await client.create<Checkpoint & KubeObject>(checkpointsPath({ namespace }), {
        ...saved,
        metadata,
        status: undefined,
      });
      const status = { state: 'Complete', verification: aVerification({ level: 'V2' }) };
      const { uid = '', resourceVersion = '' } = object.metadata;
      const written = { ...object, metadata: { ...metadata, uid, resourceVersion }, status };
      await client.replace(checkpointsPath(metadata), written, { subresource: 'status' });
    }
    const errors: unknown[] = [];
    const controller = new RetentionController({
      client,
      cache: script.cache,
      clock: script.clock,
      pods: { launcherImage: 'launcher', user: 1000 },
      announce: () => undefined,
      onError: (error) => errors.push(error),
    });
    const reconcile = async (): Promise<void> => {
      await see();
      await controller.reconcile();
      await script.clock.advance(61_000);
    };
    await reconcile();
    await reconcile();
    const podPath = podsPath({ namespace, name: 'step-10-delete' });
    const terminated = { exitCode: 0, message: JSON.stringify({ version: 1, outcome: 'Deleted', files: 1 }) };
    const containerStatuses = [
      { name: 'trainer', image: '', imageID: '', ready: false, restartCount: 0, state: { terminated } },
    ];
    await admin.json({
      method: 'PATCH',
      path: `${podPath}/status`,
      body: { status: { phase: 'Succeeded', containerStatuses } },
      contentType,
    });
    await reconcile();
    const { items } = await client.list<Checkpoint & KubeObject>(checkpointsPath({ namespace }));
    expect([errors, items.map(({ metadata }) => metadata.name)]).toEqual([[], ['step-20']]);
  });
});
