import {
  factsOfNode,
  fabricFromNodes,
  type FabricCapacity,
  type NodeFacts,
  usedGpusOf,
  useOfPod,
} from '@coxswain/fabric';
import { createKubeClient, KubeApiError, type KubeClient, type KubeObject, resourcePath } from '@coxswain/kube';
import { formatCount } from '@coxswain/units';
import type { Command } from 'commander';
import { readKubeList } from './cluster-file.ts';
import { CliError } from './cli-error.ts';

/** Where nodes and pods come from: files, or the cluster of a kubeconfig. */
export interface ClusterOptions {
  readonly nodes?: string;
  readonly busy?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

export function clusterOptions(command: Command): Command {
  return command
    .option(
      '--nodes <file>',
      'what `kubectl get nodes -o json` prints; - is standard input (default: asks the cluster)',
    )
    .option('--busy <file>', 'what `kubectl get pods -A -o json` prints (default: with --nodes all GPUs are free)')
    .option('--kubeconfig <file>', 'without --nodes: of the cluster (default: KUBECONFIG, ~/.kube/config)')
    .option('--context <name>', 'without --nodes: of the kubeconfig');
}

/** What is free, and what the nodes say. */
export interface SeenCluster extends FabricCapacity {
  readonly facts: readonly NodeFacts[];
}

/** Nodes with GPUs, and what pods take of them. Throws a {@link CliError} where there is none. */
export async function seenCluster(options: ClusterOptions): Promise<SeenCluster> {
  if (options.nodes === '-' && options.busy === '-') {
    throw new CliError('--nodes and --busy cannot both be standard input; write one of them to a file.');
  }
  if (options.nodes === undefined) return askCluster(options);
  const nodes = await readKubeList(options.nodes, 'Node');
  const pods = options.busy === undefined ? [] : await readKubeList(options.busy, 'Pod');
  return capacityOf(nodes, pods, options.nodes === '-' ? 'standard input' : options.nodes);
}

function capacityOf(nodes: readonly object[], pods: readonly object[], source: string): SeenCluster {
  const facts = nodes.map(factsOfNode);
  const fabric = fabricFromNodes(facts);
  if (fabric.nodes.length === 0) {
    throw new CliError(
      `${nodes.length === 0 ? 'There are no nodes' : `None of ${formatCount(nodes.length, 'node')} has GPUs`} in ${source}: ` +
        'status.allocatable must say nvidia.com/gpu, which the device plugin or the GPU operator sets.',
    );
  }
  return { fabric, usedGpus: usedGpusOf(pods), facts };
}

/** As many objects at once; each page is let go of when it is read. */
const PAGE = 500;
/** Bound, and neither ended nor failed. */
const RUNNING = 'spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed';

async function askCluster({ kubeconfig, context, busy }: ClusterOptions): Promise<SeenCluster> {
  const client = createKubeClient({
    userAgent: 'coxswain-cli',
    ...(kubeconfig === undefined ? {} : { kubeconfigPath: kubeconfig }),
    ...(context === undefined ? {} : { context }),
  });
  try {
    const nodes = await listAll(client, 'nodes', (node) => node);
    const pods = busy === undefined ? await listAll(client, 'pods', usePart, RUNNING) : await readKubeList(busy, 'Pod');
    return capacityOf(nodes, pods, 'the cluster');
  } catch (error) {
    if (!(error instanceof KubeApiError)) throw error;
    throw new CliError(`Cannot ask the cluster: ${error.message} Give its nodes as a file with --nodes.`, 2);
  } finally {
    await client.close();
  }
}

/** Pods that take no GPU are most of them, and kept by nobody. */
function usePart(pod: KubeObject): object | undefined {
  return useOfPod(pod).gpus === 0 ? undefined : pod;
}

async function listAll(
  client: KubeClient,
  plural: string,
  kept: (object: KubeObject) => object | undefined,
  fieldSelector?: string,
): Promise<readonly object[]> {
  const found: object[] = [];
  const path = resourcePath({ group: '', version: 'v1', plural });
  let next: string | undefined;
  do {
    const page = await client.list(path, {
      limit: PAGE,
      ...(next === undefined ? {} : { continue: next }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    });
    found.push(...page.items.flatMap((item) => kept(item) ?? []));
    next = page.metadata.continue;
  } while (next !== undefined && next !== '');
  return found;
}
