import {
  draDevicesByNode,
  factsOfNode,
  fabricFromNodes,
  fabricProblems,
  type FabricCapacity,
  type FabricProblem,
  type NodeFacts,
  sliceOfNode,
  uncountedPods,
  usedGpusOf,
} from '@coxswain/fabric';
import { formatCount } from '@coxswain/units';
import type { Command } from 'commander';
import { readKubeList } from './cluster-file.ts';
import { CliError } from '../cli-error.ts';
import type { ClusterObjects, ClusterOptions } from './cluster-options.ts';

/** Adds the options that say where nodes, pods and ResourceSlices are read from. */
export function clusterOptions(command: Command): Command {
  return command
    .option(
      '--nodes <file>',
      'output of `kubectl get nodes -o json`; - is standard input (default: read from the cluster)',
    )
    .option('--busy <file>', 'output of `kubectl get pods -A -o json` (default: with --nodes, all GPUs are free)')
    .option(
      '--slices <file>',
      'output of `kubectl get resourceslices -o json`: NICs and GPUs as DRA drivers report them (default: with --nodes, none)',
    )
    .option('--kubeconfig <file>', 'kubeconfig of the cluster, without --nodes (default: KUBECONFIG, ~/.kube/config)')
    .option('--context <name>', 'context of the kubeconfig, without --nodes');
}

/** Free and used GPUs of a cluster, and the facts of its nodes. */
export interface ObservedCluster extends FabricCapacity {
  readonly facts: readonly NodeFacts[];
  /** Facts of pods that were ignored, and why. */
  readonly podProblems: readonly FabricProblem[];
}

/** Nodes with GPUs, and what pods take of them. Throws a {@link CliError} where there is none. */
export async function observeCluster(options: ClusterOptions): Promise<ObservedCluster> {
  const fromInput = (['nodes', 'busy', 'slices'] as const).filter((option) => options[option] === '-');
  if (fromInput.length > 1) {
    const named = fromInput.map((option) => `--${option}`).join(' and ');
    throw new CliError(`${named} cannot both be standard input; write one of them to a file.`);
  }
  if (options.nodes === undefined) {
    const { readCluster } = await import('./kubeconfig-cluster.ts');
    return capacityOf(await readCluster(options), 'the cluster');
  }
  const ofCluster = (['kubeconfig', 'context'] as const).find((option) => options[option] !== undefined);
  if (ofCluster !== undefined)
    throw new CliError(`--nodes reads the nodes from a file, so --${ofCluster} has no effect; leave out one of them.`);
  const nodes = await readKubeList(options.nodes, 'Node');
  const pods = options.busy === undefined ? [] : await readKubeList(options.busy, 'Pod');
  const slices = options.slices === undefined ? [] : await readKubeList(options.slices, 'ResourceSlice');
  return capacityOf({ nodes, pods, slices }, options.nodes === '-' ? 'standard input' : options.nodes);
}

function capacityOf({ nodes, pods, slices }: ClusterObjects, source: string): ObservedCluster {
  const devices = draDevicesByNode(slices.flatMap((slice) => sliceOfNode(slice) ?? []));
  const facts = nodes.map(factsOfNode).map((node) => {
    const draDevices = devices.get(node.name);
    return draDevices === undefined ? node : { ...node, draDevices };
  });
  const fabric = fabricFromNodes(facts);
  if (fabric.nodes.length === 0) {
    if (nodes.length === 0)
      throw new CliError(
        `${source} contains no nodes; check with \`kubectl get nodes\` that the cluster has nodes and that you may list them.`,
      );
    throw new CliError(
      `None of ${formatCount(nodes.length, 'node')} in ${source} has GPUs: ` +
        (fabricProblems(facts)[0]?.message ??
          'status.allocatable must contain nvidia.com/gpu, which the device plugin or the GPU operator sets.'),
    );
  }
  return { fabric, usedGpus: usedGpusOf(pods), facts, podProblems: uncountedPods(pods) };
}
