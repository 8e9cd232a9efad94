/** Reads nodes and pods from a cluster. Only commands that read one load this file, because the client of Kubernetes loads slowly. */
import { RESOURCE_SLICES, useOfPod } from '@coxswain/fabric';
import {
  createKubeClient,
  KubeApiError,
  type KubeClient,
  type KubeObject,
  listPages,
  resourcePath,
} from '@coxswain/kube';
import { readKubeList } from './cluster-file.ts';
import { CliError } from '../cli-error.ts';
import type { ClusterObjects, ClusterOptions } from './cluster-options.ts';

/** Objects per page; a page is freed once it is read. */
const PAGE_SIZE = 500;
/** Bound, and neither ended nor failed. */
const RUNNING = 'spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed';

/** Objects of the cluster that a kubeconfig names. Files replace pods and slices. Throws a {@link CliError} if the cluster cannot be read. */
export async function readCluster({
  kubeconfig,
  context,
  busy,
  slices: file,
}: Omit<ClusterOptions, 'nodes'>): Promise<ClusterObjects> {
  const client = createKubeClient({
    userAgent: 'coxswain-cli',
    ...(kubeconfig === undefined ? {} : { kubeconfigPath: kubeconfig }),
    ...(context === undefined ? {} : { context }),
  });
  try {
    const nodes = await listAll(client, 'nodes', (node) => node);
    const pods = busy === undefined ? await listAll(client, 'pods', usePart, RUNNING) : await readKubeList(busy, 'Pod');
    const slices = file === undefined ? await listSlices(client) : await readKubeList(file, 'ResourceSlice');
    return { nodes, pods, slices };
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
