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
