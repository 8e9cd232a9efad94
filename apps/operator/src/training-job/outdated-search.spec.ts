import { GPU_RESOURCE } from '@coxswain/api-types';
import { searchNodes } from '@coxswain/job-planning';
import { FakeClock } from '@coxswain/kube/testing';
import { NodeSearches } from './node-searches.ts';
import { ReconcilerWorld } from './testing/reconciler-world.ts';

/** Pods of the gang, and nodes of two GPUs: so many that the search runs beside the loop. */
const PODS = 16;
const NODES = 900;

/** A gang whose search ends only after others took nodes that it found: `taken` at each of the first `times` searches. */
function aContest({ taken, times }: { readonly taken: number; readonly times: number }) {
  const clock = new FakeClock();
  let searches = 0;
  const strangers: string[] = [];
  const world: ReconcilerWorld = new ReconcilerWorld(
    {
      layout: { tensorParallelDegree: 2, dataParallelDegree: PODS },
      resources: { gpusPerNode: 2 },
      training: { steps: 100, globalBatchSize: PODS, microBatchSize: 1 },
    },
    {
      nodeSearches: (scheduler) =>
        new NodeSearches({
          searcher: {
            ask: async ({ search, capacity }) => {
              const found = searchNodes(search, capacity);
              searches += 1;
              const nodes = found.kind === 'placed' && searches <= times ? found.nodes.slice(0, taken) : [];
              for (const node of nodes) takeNode(world, node);
              strangers.push(...nodes);
              return found;
            },
          },
          scheduler,
          clock,
          onNews: () => undefined,
          onFailure: (_key, error) => {
            throw error as Error;
          },
        }),
    },
  );
  for (let index = 0; index < NODES; index += 1) world.node(`node-${index}`);
  return {
    world,
    strangers,
    searches: () => searches,
    /** Reconciles until status records the placement; its pods are of no interest here. */
    untilPlaced: async (): Promise<readonly string[]> => {
      world.onWrite = ({ what }) => {
        if (what.startsWith('createPlacement')) throw new Error('the operator ends here');
      };
      for (let turn = 0; turn < 100 && (world.job.status?.epoch ?? 0) === 0; turn += 1) {
        await world.reconcile().catch(() => undefined);
        await clock.advance(0);
      }
      return world.scheduler.reservedFor(world.job.metadata.uid ?? '')?.nodes ?? [];
    },
  };
}

/** A pod of somebody else on that node. */
function takeNode(world: ReconcilerWorld, node: string): void {
  const resources = { limits: { [GPU_RESOURCE]: '2' } };
  world.cluster.create('Pod', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `on-${node}`, namespace: 'others' },
    spec: { nodeName: node, containers: [{ name: 'busy', image: 'example/image', resources }] },
    status: { phase: 'Running' },
  } as never);
}

describe('a gang that others take nodes from while its nodes are searched', () => {
  it('starts after one search, on none of those nodes', async () => {
    const { untilPlaced, strangers, searches } = aContest({ taken: 2, times: 20 });
    const nodes = await untilPlaced();
    expect([new Set(nodes).size, searches(), strangers.length]).toEqual([PODS, 1, 2]);
    expect(nodes.filter((node) => strangers.includes(node))).toEqual([]);
  });

  it('is searched again where others took a large part of it', async () => {
    const { untilPlaced, strangers, searches } = aContest({ taken: 5, times: 2 });
    const nodes = await untilPlaced();
    expect([new Set(nodes).size, searches(), strangers.length]).toEqual([PODS, 3, 10]);
    expect(nodes.filter((node) => strangers.includes(node))).toEqual([]);
  });
});
