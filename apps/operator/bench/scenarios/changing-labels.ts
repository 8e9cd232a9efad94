import { findCondition } from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { clearNamespace, inTurns } from '../bare-client.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { GPUS_PER_NODE } from '../bench-cluster.ts';
import {
  dealtAnew,
  fewestRacks,
  makeRacks,
  type Places,
  rackLabels,
  type RackCluster,
  stateReserve,
} from '../racks.ts';
import type { Context, Scenario, Size } from '../scenario.ts';
import { allRun, podsOf, strangersPod } from '../strangers.ts';
import { attempt, startRows, warmUp } from './rack-gang.ts';

const SIZES: Readonly<Record<Size, RackCluster & { readonly pods: number; readonly dealt: number }>> = {
  full: { pods: 2_048, racks: 129, nodesPerRack: 17, racksPerSpine: 16, spares: 1, dealt: 34 },
  quick: { pods: 64, racks: 9, nodesPerRack: 9, racksPerSpine: 4, spares: 1, dealt: 4 },
};
/** Nodes that pods of others hold until the labels have changed: the gang needs all racks but one. */
const TAKEN_RACKS = 2;

/** A gang that waits while labels of nodes change: it starts by the labels of that moment. */
export const changingLabels: Scenario = {
  name: 'labels',
  question:
    'a gang of 2,048 pods waits while the labels of 544 nodes change, and starts when others leave: racks used by the new labels',
  bars: ['racks at the start', 'operator CPU a pod'],
  run: async (context) => {
    const { cluster, size, progress, clearUp } = context;
    const racks = SIZES[size];
    const { pods, spares, dealt } = racks;
    const old = await makeRacks(cluster, racks, 'label-node');
    const [namespace, strangers] = [await cluster.namespace(), await cluster.namespace()];
    clearUp(async () => {
      await clearNamespace(cluster, strangers);
      await cluster.removeNodes([...old.keys()]);
      await stateReserve(cluster, 0);
    });
    const taken = [...old.keys()].slice(0, TAKEN_RACKS * racks.nodesPerRack);
    await takeNodes(context, strangers, taken);
    const operator = await cluster.operator();
    try {
      await warmUp(context, operator);
      await cluster.job(namespace, 'gang', pods);
      await waits(cluster, namespace);
      const places = dealtAnew(old, dealt);
      const changed = [...places].filter(([name, place]) => old.get(name)?.rack !== place.rack);
      progress(`changes the labels of ${changed.length} nodes`);
      const before = operator.usage().cpuMs;
      operator.stretchesMs();
      await relabel(cluster, new Map(changed));
      const labelMs = (operator.usage().cpuMs - before) / changed.length;
      const least = fewestRacks(places, { pods, spares });
      const start = await attempt(context, { operator, namespace, epoch: 1, pods, places }, () =>
        leaveNodes(cluster, strangers, taken),
      );
      return [
        ...startRows(start, least),
        { what: 'operator CPU a node with changed labels', value: labelMs, unit: 'ms' },
      ];
    } finally {
      await operator.stop();
      clearUp(() => clearNamespace(cluster, namespace));
    }
  },
};

async function relabel(cluster: BenchCluster, places: Places): Promise<void> {
  await inTurns([...places], ([name, place]) =>
    cluster.client.patch(`/api/v1/nodes/${name}`, { metadata: { labels: rackLabels(place) } }, { type: 'merge' }),
  );
}

async function takeNodes({ cluster, progress }: Context, namespace: string, nodes: readonly string[]): Promise<void> {
  await inTurns(nodes, (node) =>
    cluster.client.create(podsOf(namespace), strangersPod(`on-${node}`, node, GPUS_PER_NODE)),
  );
  await allRun(cluster, { namespace, pods: nodes.length, progress });
}

async function leaveNodes(cluster: BenchCluster, namespace: string, nodes: readonly string[]): Promise<void> {
  const body = { gracePeriodSeconds: 0 };
  await inTurns(nodes, (node) =>
    cluster.plane.admin.send({ method: 'DELETE', path: `${podsOf(namespace)}/on-${node}`, body }),
  );
}

async function waits(cluster: BenchCluster, namespace: string): Promise<void> {
  const look = async (): Promise<boolean> => {
    const { status } = await cluster.readJob(namespace, 'gang');
    return findCondition(status?.conditions, 'Placed')?.reason === 'WaitingForCapacity';
  };
  await waitFor(look, { what: 'the gang to wait', deadlineMs: 120_000, intervalMs: 200 });
}
