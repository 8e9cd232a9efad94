import { GPU_RESOURCE } from '@coxswain/api-types';
import { searchNodes } from '@coxswain/job-planning';
import type { KubeObject } from '@coxswain/kube';
import { FakeClock } from '@coxswain/kube/testing';
import { NodeSearches } from './node-searches.ts';
import { ReconcilerWorld } from './testing/reconciler-world.ts';

/** Pods of the gang, and nodes of two GPUs: so many that the search runs beside the loop. */
const PODS = 16;
const NODES = 900;

interface Search {
  readonly world: ReconcilerWorld;
  /** Nodes that it found. */
  readonly nodes: readonly string[];
  /** How many were made before it. */
  readonly earlier: number;
}

/** A gang on a cluster that changes while its nodes are searched: `during` is called before the result of each search is known. */
function aContest(during: (search: Search) => void) {
  const clock = new FakeClock();
  let searches = 0;
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
              during({ world, nodes: found.kind === 'placed' ? found.nodes : [], earlier: searches });
              searches += 1;
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
    searches: () => searches,
    /** Reconciles until status records the placement; its pods are of no interest here. */
    untilPlaced: async (): Promise<readonly string[]> => {
      world.onWrite = ({ what }) => {
        if (what.startsWith('createPlacement')) throw new Error('the operator ends here');
      };
      for (let turn = 0; turn < 100 && (world.job.status?.epoch ?? 0) === 0; turn += 1) {
        world.scheduler.offer('gpus');
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

/** Others take so many of the found nodes during each of the first searches. */
function taking({ taken, times }: { readonly taken: number; readonly times: number }) {
  const strangers: string[] = [];
  const contest = aContest(({ world, nodes, earlier }) => {
    const lost = earlier < times ? nodes.slice(0, taken) : [];
    for (const node of lost) takeNode(world, node);
    strangers.push(...lost);
  });
  return { ...contest, strangers };
}

describe('a gang that others take nodes from while its nodes are searched', () => {
  it('starts after one search, on none of those nodes', async () => {
    const { untilPlaced, strangers, searches } = taking({ taken: 2, times: 20 });
    const nodes = await untilPlaced();
    expect([new Set(nodes).size, searches(), strangers.length]).toEqual([PODS, 1, 2]);
    expect(nodes.filter((node) => strangers.includes(node))).toEqual([]);
  });

  it('is searched again where others took a large part of it', async () => {
    const { untilPlaced, strangers, searches } = taking({ taken: 5, times: 2 });
    const nodes = await untilPlaced();
    expect([new Set(nodes).size, searches(), strangers.length]).toEqual([PODS, 3, 10]);
    expect(nodes.filter((node) => strangers.includes(node))).toEqual([]);
  });
});

function cordon(world: ReconcilerWorld, node: string, unschedulable: boolean): void {
  const change = (now: KubeObject): KubeObject => ({ ...now, spec: { unschedulable } }) as KubeObject;
  world.cluster.update('Node', node, { expects: {}, change });
}

it('a gang whose nodes are uncordoned while none are found is searched again at once, and starts', async () => {
  const freed = Array.from({ length: PODS }, (_, index) => `node-${index}`);
  const { world, untilPlaced, searches } = aContest(({ earlier }) => {
    if (earlier > 0) return;
    for (const node of freed) cordon(world, node, false);
  });
  for (const { metadata } of world.cluster.list('Node')) cordon(world, metadata.name, true);
  expect(new Set(await untilPlaced())).toEqual(new Set(freed));
  expect(searches()).toBe(2);
});
