import { findCondition, LABELS, type TrainingJob } from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { clearNamespace, manifestsOf, runBareGang } from '../bare-client.ts';
import type { BenchOperator } from '../bench-operator.ts';
import { boundNodes, fewestRacks, makeRacks, type Places, type RackCluster, racksOf, stateReserve } from '../racks.ts';
import { RunningPods } from '../running-pods.ts';
import {
  CPU_MS_PER_POD,
  longestStretch,
  type Context,
  type Measurement,
  type Scenario,
  type Size,
} from '../scenario.ts';

const SIZES: Readonly<Record<Size, RackCluster & { readonly pods: number }>> = {
  // 128 racks hold the gang beside their spares; one more stands in for a lost rack.
  full: { pods: 2_048, racks: 129, nodesPerRack: 17, racksPerSpine: 16, spares: 1 },
  quick: { pods: 64, racks: 9, nodesPerRack: 9, racksPerSpine: 4, spares: 1 },
};
const PATIENCE_MS = 420_000;
const WARM_UP_PODS = 16;

/** One large gang on racks with spares: where it starts, and where it goes on after a node and then a rack are lost. */
export const rackGang: Scenario = {
  name: 'racks',
  question:
    'one gang of 2,048 pods of 8 GPUs on 129 racks of 16 nodes and a spare: racks used and time at its start, after a lost node and after a lost rack',
  bars: ['racks at the start', 'racks after a lost node', 'racks after a lost rack', 'operator / bare client'],
  run: async (context) => {
    const { cluster, size, progress, clearUp } = context;
    const racks = SIZES[size];
    const { pods, spares } = racks;
    const places = await makeRacks(cluster, racks, 'rack-node');
    clearUp(async () => {
      await cluster.removeNodes([...places.keys()]);
      await stateReserve(cluster, 0);
    });
    const least = fewestRacks(places, { pods, spares });
    progress(`the fewest are ${least} racks`);
    const namespace = await cluster.namespace();
    const operator = await cluster.operator();
    const rows: Measurement[] = [];
    try {
      await warmUp(context, operator);
      const start = await attempt(context, { operator, namespace, epoch: 1, pods, places }, async () => {
        await cluster.job(namespace, 'gang', pods);
      });
      rows.push(...startRows(start, least));
      // In the middle of a rack: at its border another rack is as near.
      const lostNode = start.nodes[Math.floor(racks.nodesPerRack / 2)] ?? '';
      const second = await attempt(context, { operator, namespace, epoch: 2, pods, places }, () => {
        progress(`deletes node ${lostNode}`);
        return cluster.removeNodes([lostNode]);
      });
      rows.push(...restartRows('a lost node', { before: start, after: second, lost: [lostNode], places, least }));
      const lostRack = nodesOfRack(places, second.nodes[pods / 2] ?? '');
      const third = await attempt(context, { operator, namespace, epoch: 3, pods, places }, () => {
        progress(`deletes the ${lostRack.length} nodes of a rack`);
        return cluster.removeNodes(lostRack);
      });
      rows.push(...restartRows('a lost rack', { before: second, after: third, lost: lostRack, places, least }));
      rows.push({ what: 'operator memory, peak', value: operator.usage().peakResidentMiB, unit: 'MiB', atMost: 512 });
      const manifests = manifestsOf(
        await cluster.readJob(namespace, 'gang'),
        await cluster.readPlacement(namespace, 3),
      );
      await operator.stop();
      await clearNamespace(cluster, namespace);
      const bareSeconds = await bareGang(context, manifests);
      return [
        ...rows,
        { what: `${pods} pods running, bare client`, value: bareSeconds, unit: 's' },
        { what: 'operator / bare client', value: start.seconds / bareSeconds, unit: 'x', atMost: 1.1 },
      ];
    } finally {
      await operator.stop();
      clearUp(() => clearNamespace(cluster, namespace));
    }
  },
};

/** What one attempt of the gang showed. */
interface Attempt {
  /** Node of each pod. */
  readonly nodes: readonly string[];
  readonly racks: number;
  /** From `begin` to all pods running. */
  readonly seconds: number;
  /** From `begin` to the status that records where its pods go. */
  readonly placedSeconds: number;
  readonly cpuMsPerPod: number;
  readonly stretchesMs: readonly number[];
}

interface Asked {
  readonly operator: BenchOperator;
  readonly namespace: string;
  readonly epoch: number;
  readonly pods: number;
  readonly places: Places;
}

/** `begin` makes that attempt necessary. */
export async function attempt(
  { cluster, progress }: Pick<Context, 'cluster' | 'progress'>,
  { operator, namespace, epoch, pods, places }: Asked,
  begin: () => Promise<void>,
): Promise<Attempt> {
  const running = RunningPods.watch(cluster, namespace, `${LABELS.epoch}=${epoch}`);
  try {
    operator.stretchesMs();
    const before = operator.usage();
    const startedMs = performance.now();
    await begin();
    let summary: string | undefined;
    const look = async (): Promise<boolean> => {
      const job = await cluster.readJob(namespace, 'gang');
      if (job.status?.summary !== summary) progress(job.status?.summary ?? '');
      summary = job.status?.summary;
      return isPlaced(job, epoch);
    };
    const placed = waitFor(look, {
      what: `attempt ${epoch} to be placed`,
      deadlineMs: PATIENCE_MS,
      intervalMs: 200,
    }).then(() => (performance.now() - startedMs) / 1_000);
    await operator.during(Promise.all([placed, running.until(pods, PATIENCE_MS, progress)]));
    const seconds = (performance.now() - startedMs) / 1_000;
    await waitFor(async () => (await cluster.readJob(namespace, 'gang')).status?.state === 'Running', {
      what: 'the status that says that the gang runs',
      deadlineMs: PATIENCE_MS,
      intervalMs: 200,
    });
    const cpuMsPerPod = (operator.usage().cpuMs - before.cpuMs) / pods;
    const stretchesMs = operator.stretchesMs();
    const nodes = await boundNodes(cluster, namespace, epoch);
    return { nodes, racks: racksOf(nodes, places), seconds, placedSeconds: await placed, cpuMsPerPod, stretchesMs };
  } finally {
    await running.stop();
  }
}

function isPlaced({ status }: TrainingJob, epoch: number): boolean {
  return status?.epoch === epoch && findCondition(status.conditions, 'Placed')?.status === 'True';
}

/** Rows of the first attempt of a gang that at least so many racks hold. */
export function startRows(start: Attempt, least: number): readonly Measurement[] {
  return [
    { what: 'racks at the start', value: start.racks, unit: '', atMost: least },
    { what: 'submit to placed', value: start.placedSeconds, unit: 's' },
    { what: 'submit to all running', value: start.seconds, unit: 's' },
    { what: 'operator CPU a pod', value: start.cpuMsPerPod, unit: 'ms', atMost: CPU_MS_PER_POD },
    longestStretch('start', start.stretchesMs),
  ];
}

interface Restart {
  readonly before: Attempt;
  readonly after: Attempt;
  readonly lost: readonly string[];
  readonly places: Places;
  readonly least: number;
}

/** Every pod ends and starts again, so that the bar of its processor time is twice that of a start. */
function restartRows(cause: string, { before, after, lost, places, least }: Restart): readonly Measurement[] {
  const kept = before.nodes.filter((node, pod) => after.nodes[pod] === node).length;
  const lostRacks = new Set(lost.map((node) => places.get(node)?.rack));
  const moved = after.nodes.filter((node, pod) => before.nodes[pod] !== node);
  const beside = moved.filter((node) => lostRacks.has(places.get(node)?.rack)).length;
  const lostPods = before.nodes.filter((node) => lost.includes(node)).length;
  return [
    { what: `racks after ${cause}`, value: after.racks, unit: '', atMost: least },
    {
      what: `pods moved beyond the lost ones after ${cause}`,
      value: before.nodes.length - kept - lostPods,
      unit: '',
      atMost: 0,
    },
    { what: `pods on spares of the same rack after ${cause}`, value: beside, unit: '' },
    { what: `${cause} to placed`, value: after.placedSeconds, unit: 's' },
    { what: `${cause} to all running`, value: after.seconds, unit: 's' },
    {
      what: `operator CPU a pod, ended and started, after ${cause}`,
      value: after.cpuMsPerPod,
      unit: 'ms',
      atMost: 2 * CPU_MS_PER_POD,
    },
    longestStretch(cause, after.stretchesMs),
  ];
}

function nodesOfRack(places: Places, node: string): readonly string[] {
  const rack = places.get(node)?.rack;
  return [...places].filter(([, place]) => place.rack === rack).map(([name]) => name);
}

/** A program that has just started runs every function slowly. */
export async function warmUp({ cluster, progress }: Context, operator: BenchOperator): Promise<void> {
  const namespace = await cluster.namespace();
  const running = RunningPods.watch(cluster, namespace);
  try {
    await cluster.job(namespace, 'gang', WARM_UP_PODS);
    await operator.during(running.until(WARM_UP_PODS, PATIENCE_MS, progress));
  } finally {
    await running.stop();
    await clearNamespace(cluster, namespace);
  }
}

async function bareGang(
  { cluster, progress }: Context,
  manifests: readonly Record<string, unknown>[],
): Promise<number> {
  const namespace = await cluster.namespace();
  const running = RunningPods.watch(cluster, namespace);
  try {
    progress('makes the same pods as a bare client');
    const startedMs = performance.now();
    await runBareGang(cluster, namespace, manifests);
    await running.until(manifests.length, PATIENCE_MS, progress);
    return (performance.now() - startedMs) / 1_000;
  } finally {
    await running.stop();
  }
}
