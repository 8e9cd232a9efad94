/** Pods that hold GPUs and are nobody's gang. */
import { GPU_RESOURCE } from '@coxswain/api-types';
import type { BenchCluster } from './bench-cluster.ts';
import type { Progress } from './progress.ts';
import { RunningPods } from './running-pods.ts';

/** Ten thousand pods take some minutes to run on two cores. */
const PATIENCE_MS = 600_000;

export function podsOf(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/pods`;
}

/** Bound from the start. */
export function strangersPod(name: string, node: string, gpus: number): object {
  const resources = { limits: { [GPU_RESOURCE]: String(gpus) } };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { nodeName: node, containers: [{ name: 'busy', image: 'example/image', resources }] },
  };
}

/** The simulation starts pods more slowly than they are made: what it still has to tell of would be counted with what comes and goes. */
export async function allRun(
  cluster: BenchCluster,
  { namespace, pods, progress }: { readonly namespace: string; readonly pods: number; readonly progress: Progress },
): Promise<void> {
  const running = RunningPods.watch(cluster, namespace);
  try {
    await running.until(pods, PATIENCE_MS, progress);
  } finally {
    await running.stop();
  }
}
