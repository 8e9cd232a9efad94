import { GPU_RESOURCE, type TrainingJob } from '@coxswain/api-types';
import { keyOf, type KubeObject } from '@coxswain/kube';
import { createInMemoryScheduler } from './testing/in-memory-scheduler.ts';
import { InMemoryCluster, type Kind } from './testing/in-memory-cluster.ts';
import { InMemoryTrainingJobStore } from './testing/in-memory-training-job-store.ts';
import { holdsToTheContract, type StoreWorld } from './testing/training-job-store.contract.ts';

async function startInMemory(): Promise<StoreWorld> {
  const cluster = new InMemoryCluster();
  const store = new InMemoryTrainingJobStore(cluster);
  const namespace = 'research';
  const inNamespace = (kind: Kind, name: string): string =>
    kind === 'Node' ? name : keyOf({ metadata: { namespace, name } });
  let nodes = 0;
  return {
    store,
    scheduler: createInMemoryScheduler(cluster, () => 0),
    namespace,
    lead: (leads) => {
      store.leads = leads;
    },
    // It hears of everything at once: reads that are newer than promised break no promise.
    blind: () => undefined,
    until: async (what, isSo) => {
      if (!isSo()) throw new Error(`not so: ${what}`);
    },
    others: {
      create: async (kind, object) => cluster.create(kind, object),
      annotate: async (kind, name, metadata) => {
        const change = (current: KubeObject): KubeObject => ({
          ...current,
          metadata: { ...current.metadata, ...metadata },
        });
        cluster.update(kind, inNamespace(kind, name), { expects: {}, change });
      },
      scribble: async (name, status) => {
        const change = (job: TrainingJob & KubeObject): TrainingJob & KubeObject => ({
          ...job,
          status: { ...job.status, ...status } as NonNullable<TrainingJob['status']>,
        });
        cluster.update('TrainingJob', inNamespace('TrainingJob', name), { expects: {}, change });
      },
      delete: async (kind, name) => void cluster.delete(kind, inNamespace(kind, name)),
      get: async <T extends KubeObject>(kind: Kind, name: string) => cluster.get<T>(kind, inNamespace(kind, name)),
      node: async ({ ready }) => {
        const name = `node-${(nodes += 1)}`;
        const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
        cluster.create('Node', {
          apiVersion: 'v1',
          metadata: { name },
          status: { allocatable: { [GPU_RESOURCE]: '8' }, conditions },
        });
        return name;
      },
    },
  };
}

describe('the store in memory', () => holdsToTheContract(startInMemory));
