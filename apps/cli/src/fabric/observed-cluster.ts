import {
  draDevicesByNode,
  factsOfNode,
  fabricFromNodes,
  fabricProblems,
  type FabricCapacity,
  type FabricProblem,
  type NodeFacts,
  RESOURCE_SLICES,
  sliceOfNode,
  uncountedPods,
  usedGpusOf,
  useOfPod,
} from '@coxswain/fabric';
import {
  createKubeClient,
  KubeApiError,
  type KubeClient,
  type KubeObject,
  listPages,
  resourcePath,
} from '@coxswain/kube';
import { formatCount } from '@coxswain/units';
import type { Command } from 'commander';
import { readKubeList } from './cluster-file.ts';
import { CliError } from '../cli-error.ts';

/** The source of nodes and pods: files, or the cluster of a kubeconfig. */
export interface ClusterOptions {
  readonly nodes?: string;
  readonly busy?: string;
  readonly slices?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

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
  if (options.nodes === undefined) return askCluster(options);
  const ofCluster = (['kubeconfig', 'context'] as const).find((option) => options[option] !== undefined);
  if (ofCluster !== undefined)
    throw new CliError(`--nodes reads the nodes from a file, so --${ofCluster} has no effect; leave out one of them.`);
  const nodes = await readKubeList(options.nodes, 'Node');
  const pods = options.busy === undefined ? [] : await readKubeList(options.busy, 'Pod');
  const slices = options.slices === undefined ? [] : await readKubeList(options.slices, 'ResourceSlice');
  return capacityOf({ nodes, pods, slices }, options.nodes === '-' ? 'standard input' : options.nodes);
}

interface Objects {
  readonly nodes: readonly object[];
  readonly pods: readonly object[];
  readonly slices: readonly object[];
}

function capacityOf({ nodes, pods, slices }: Objects, source: string): ObservedCluster {
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

/** Objects per page; a page is freed once it is read. */
const PAGE_SIZE = 500;
/** Bound, and neither ended nor failed. */
const RUNNING = 'spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed';

async function askCluster({ kubeconfig, context, busy, slices: file }: ClusterOptions): Promise<ObservedCluster> {
  const client = createKubeClient({
    userAgent: 'coxswain-cli',
    ...(kubeconfig === undefined ? {} : { kubeconfigPath: kubeconfig }),
    ...(context === undefined ? {} : { context }),
  });
  try {
    const nodes = await listAll(client, 'nodes', (node) => node);
    const pods = busy === undefined ? await listAll(client, 'pods', usePart, RUNNING) : await readKubeList(busy, 'Pod');
    const slices = file === undefined ? await listSlices(client) : await readKubeList(file, 'ResourceSlice');
    return capacityOf({ nodes, pods, slices }, 'the cluster');
  } catch (error) {
    if (!(error instanceof KubeApiError)) throw error;
    const why = error.message.replace(/[.\s]+$/, '');
    throw new CliError(
      `Cannot read the cluster: ${why}. Choose another cluster with --kubeconfig or --context, or give its nodes as a file with --nodes.`,
      2,
    );
  } finally {
    await client.close();
  }
}

/** Most pods use no GPU; they are not kept. */
function usePart(pod: KubeObject): object | undefined {
  return useOfPod(pod).gpus === 0 ? undefined : pod;
}

/** Clusters before 1.34 do not serve this version, and the user may lack the right to list slices: then no devices are known. */
async function listSlices(client: KubeClient): Promise<readonly object[]> {
  try {
    return await listAll(client, RESOURCE_SLICES, (slice) => slice);
  } catch (error) {
    if (error instanceof KubeApiError && [403, 404].includes(error.status)) return [];
    throw error;
  }
}

async function listAll(
  client: KubeClient,
  kind: string | typeof RESOURCE_SLICES,
  kept: (object: KubeObject) => object | undefined,
  fieldSelector?: string,
): Promise<readonly object[]> {
  const found: object[] = [];
  const path = resourcePath(typeof kind === 'string' ? { group: '', version: 'v1', plural: kind } : kind);
  const asked = { pageSize: PAGE_SIZE, ...(fieldSelector === undefined ? {} : { fieldSelector }) };
  for await (const page of listPages(client, path, asked)) found.push(...page.flatMap((item) => kept(item) ?? []));
  return found;
}
