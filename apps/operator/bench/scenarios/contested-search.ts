import { setTimeout as delay } from 'node:timers/promises';
import { LABELS, type TrainingJob } from '@coxswain/api-types';
import { clearNamespace } from '../bare-client.ts';
import { GPUS_PER_NODE } from '../bench-cluster.ts';
import { boundNodes, fewestRacks, makeRacks, type Places, type RackCluster, racksOf, stateReserve } from '../racks.ts';
import { RunningPods } from '../running-pods.ts';
import { CPU_MS_PER_POD, longestStretch, type Context, type Scenario, type Size } from '../scenario.ts';
import { podsOf, strangersPod } from '../strangers.ts';
import { warmUp } from './rack-gang.ts';

const SIZES: Readonly<Record<Size, RackCluster & { readonly pods: number; readonly mostTaken: number }>> = {
  full: { pods: 2_048, racks: 136, nodesPerRack: 17, racksPerSpine: 17, spares: 1, mostTaken: 96 },
  quick: { pods: 128, racks: 20, nodesPerRack: 9, racksPerSpine: 10, spares: 1, mostTaken: 20 },
};
const PATIENCE_MS = 420_000;
/** A search takes some seconds. Without an end of the search the others would take all that they may, which takes 24 s. */
const PLACED_SECONDS = 12;
/** Time between two pods that take a node each. */
const EVERY_MS = 250;
/** A number without common divisors with the number of nodes: steps by it meet all of them. */
const STEP = 911;

/** Small pods of others take a node every 250 ms, nearly always one that the search has chosen: does the gang start all the same? */
export const contestedSearch: Scenario = {
  name: 'contested',
  question:
    'a gang of 2,048 pods while a pod of others takes a node every 250 ms, up to 96 of 2,312: time until the gang is placed',
  bars: ['submit to placed', 'operator CPU a pod'],
  run: async (context) => {
    const { cluster, size, progress, clearUp } = context;
    const racks = SIZES[size];
    const { pods, spares, mostTaken } = racks;
    const places = await makeRacks(cluster, racks, 'contest-node');
    const [namespace, strangers] = [await cluster.namespace(), await cluster.namespace()];
    clearUp(async () => {
      await clearNamespace(cluster, strangers);
      await cluster.removeNodes([...places.keys()]);
      await stateReserve(cluster, 0);
    });
    const operator = await cluster.operator();
    const running = RunningPods.watch(cluster, namespace, LABELS.jobUid);
    try {
      await warmUp(context, operator);
      operator.stretchesMs();
      const before = operator.usage();
      const startedMs = performance.now();
      await cluster.job(namespace, 'gang', pods);
      const taken = await takeNodes(context, { namespace, strangers, places, mostTaken });
      const placedSeconds = (performance.now() - startedMs) / 1_000;
      progress(`others took ${taken.length} nodes`);
      await operator.during(running.until(pods, PATIENCE_MS, progress));
      const seconds = (performance.now() - startedMs) / 1_000;
      const { cpuMs } = operator.usage();
      const { status } = await cluster.readJob(namespace, 'gang');
      const epoch = status?.epoch ?? 0;
      const nodes = await boundNodes(cluster, namespace, epoch);
      const least = fewestRacks(places, { pods, spares, taken: new Set(taken) });
      return [
        { what: 'submit to placed', value: placedSeconds, unit: 's', atMost: PLACED_SECONDS },
        { what: 'nodes that others took before the gang was placed', value: taken.length, unit: '' },
        { what: 'attempts', value: epoch, unit: '' },
        { what: 'submit to all running', value: seconds, unit: 's' },
        { what: 'racks', value: racksOf(nodes, places), unit: '' },
        { what: 'fewest racks without the nodes that others took', value: least, unit: '' },
        { what: 'operator CPU a pod', value: (cpuMs - before.cpuMs) / pods, unit: 'ms', atMost: CPU_MS_PER_POD },
        longestStretch('start', operator.stretchesMs()),
      ];
    } finally {
      await running.stop();
      await operator.stop();
      clearUp(() => clearNamespace(cluster, namespace));
    }
  },
};

interface Contest {
  readonly namespace: string;
  readonly strangers: string;
  readonly places: Places;
  readonly mostTaken: number;
}

/** Takes node after node, here and there, until the gang is placed, and returns the names of those taken. */
async function takeNodes(
  { cluster }: Pick<Context, 'cluster'>,
  { namespace, strangers, places, mostTaken }: Contest,
): Promise<readonly string[]> {
  const names = [...places.keys()];
  const taken: string[] = [];
  for (;;) {
    const job = await cluster.readJob(namespace, 'gang').catch((): TrainingJob | undefined => undefined);
    if ((job?.status?.epoch ?? 0) > 0) return taken;
    if (taken.length < mostTaken) {
      const node = names[(taken.length * STEP) % names.length] ?? '';
      await cluster.client.create(podsOf(strangers), strangersPod(`on-${node}`, node, GPUS_PER_NODE));
      taken.push(node);
    }
    await delay(EVERY_MS);
  }
}
