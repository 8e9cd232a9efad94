import type { TrainingJobSpecInput } from '@coxswain/api-types';
import type { KubeObject } from '@coxswain/kube';
import { fewestPlaces, scatteredNodes, topographLabels, type Place } from '../../src/testing/scattered-nodes.ts';
import { clearNamespace, inTurns } from '../bare-client.ts';
import { GPUS_PER_NODE, type BenchCluster } from '../bench-cluster.ts';
import { RunningPods } from '../running-pods.ts';
import type { Context, Scenario } from '../scenario.ts';
import { allRun, podsOf, strangersPod } from '../strangers.ts';

const PODS = 64;
/** One of those with which 12 racks are the fewest. */
const SEED = 2;
const PATIENCE_MS = 120_000;
/** What is sent round in rings is cheapest in the fewest racks; with stages of their own, bytes between these count too. */
const RING = { tensorParallelDegree: GPUS_PER_NODE, dataParallelDegree: PODS } as const;
const STAGES = {
  tensorParallelDegree: GPUS_PER_NODE,
  pipelineParallelDegree: 4,
  dataParallelDegree: PODS / 4,
} as const;

/** Where a gang goes among nodes that are taken here and there, and whose names tell nothing: the first scenario, while no other nodes are there. */
export const scatteredLoad: Scenario = {
  name: 'scattered',
  question: 'a gang of 64 pods on 1,000 nodes of 100 racks in 10 blocks, 600 taken one by one: racks and blocks used',
  bars: ['racks, data x 64', 'blocks, data x 64'],
  run: async (context) => {
    const { cluster, progress, clearUp } = context;
    const nodes = scatteredNodes({ blocks: 10, seed: SEED });
    const free = nodes.filter(({ isTaken }) => !isTaken).map(({ place }) => place);
    const least = fewestPlaces(free, PODS);
    progress(`the fewest are ${least.racks} racks in ${least.blocks} blocks`);
    const names = await cluster.addNodes({ nodes: nodes.length, namePrefix: 'scattered', labels: labelsOf(nodes) });
    clearUp(() => cluster.removeNodes(names));
    const taken = names.filter((_, index) => nodes[index]?.isTaken);
    await fill(context, taken);
    const operator = await cluster.operator();
    try {
      const placeOf = new Map(names.map((name, index) => [name, nodes[index]?.place]));
      const ring = await oneGang(context, RING, placeOf);
      const stages = await oneGang(context, STAGES, placeOf);
      return [
        { what: 'racks, data x 64', value: ring.racks, unit: '', atMost: least.racks },
        { what: 'blocks, data x 64', value: ring.blocks, unit: '', atMost: least.blocks },
        { what: 'neighbours in the ring in different racks', value: ring.crossings, unit: '' },
        { what: 'submit to all running, data x 64', value: ring.seconds, unit: 's' },
        { what: 'racks, pipeline x 4, data x 16', value: stages.racks, unit: '' },
        { what: 'blocks, pipeline x 4, data x 16', value: stages.blocks, unit: '', atMost: least.blocks },
      ];
    } finally {
      await operator.stop();
    }
  },
};

function labelsOf(nodes: ReturnType<typeof scatteredNodes>): (index: number) => Readonly<Record<string, string>> {
  return (index) => {
    const node = nodes[index];
    return node === undefined ? {} : topographLabels(node.place);
  };
}

async function fill({ cluster, progress, clearUp }: Context, nodes: readonly string[]): Promise<void> {
  const namespace = await cluster.namespace();
  clearUp(() => clearNamespace(cluster, namespace));
  progress(`fills ${nodes.length} nodes`);
  await inTurns(nodes, (node) =>
    cluster.client.create(podsOf(namespace), strangersPod(`on-${node}`, node, GPUS_PER_NODE)),
  );
  await allRun(cluster, { namespace, pods: nodes.length, progress });
}

interface Placed {
  readonly racks: number;
  readonly blocks: number;
  /** Pods whose next one, as a ring takes them, is in another rack. */
  readonly crossings: number;
  readonly seconds: number;
}

async function oneGang(
  { cluster, progress }: Context,
  layout: TrainingJobSpecInput['layout'],
  placeOf: ReadonlyMap<string, Place | undefined>,
): Promise<Placed> {
  const namespace = await cluster.namespace();
  const running = RunningPods.watch(cluster, namespace);
  try {
    const startedMs = performance.now();
    await cluster.job(namespace, 'gang', PODS, { layout });
    await running.until(PODS, PATIENCE_MS, progress);
    const seconds = (performance.now() - startedMs) / 1_000;
    const places = await boundPlaces(cluster, namespace, placeOf);
    const racks = places.map((place) => place?.rack);
    const crossings = racks.filter((rack, index) => rack !== racks[(index + 1) % racks.length]).length;
    return {
      racks: new Set(racks).size,
      blocks: new Set(places.map((place) => place?.block)).size,
      crossings,
      seconds,
    };
  } finally {
    await running.stop();
    await clearNamespace(cluster, namespace);
  }
}

/** Where pods run, in their order: as placed, or this is no measurement of the placement. */
async function boundPlaces(
  cluster: BenchCluster,
  namespace: string,
  placeOf: ReadonlyMap<string, Place | undefined>,
): Promise<readonly (Place | undefined)[]> {
  const { spec } = await cluster.readPlacement(namespace);
  const { items } = await cluster.client.list<BoundPod>(podsOf(namespace));
  const bound = items.map(({ spec: { nodeName = 'none' } }) => nodeName).toSorted();
  if (bound.join() !== spec.nodes.toSorted().join())
    throw new Error('pods run on other nodes than they were placed on');
  return spec.nodes.map((node) => placeOf.get(node));
}

interface BoundPod extends KubeObject {
  readonly spec: { readonly nodeName?: string };
}
