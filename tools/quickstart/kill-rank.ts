import { LABELS } from '@coxswain/api-types';
import { listPodProcesses, type CoxswainSystem } from '@coxswain/test-harness';

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly uid: string; readonly name: string };
    readonly spec: { readonly nodeName?: string };
  }[];
}

/** Kills the process of one rank with SIGKILL, as the kernel does when memory runs out. Tells where it was, or undefined when it does not run. */
export async function killRank(
  system: CoxswainSystem,
  options: { readonly namespace: string; readonly jobUid: string; readonly rank: number },
): Promise<{ readonly node: string; readonly pid: number } | undefined> {
  const { namespace, jobUid, rank } = options;
  const pods = JSON.parse(
    await system.plane.kubectl(['-n', namespace, 'get', 'pods', '-l', `${LABELS.jobUid}=${jobUid}`, '-o', 'json']),
  ) as PodList;
  for (const pod of pods.items) {
    const victim = listPodProcesses(system.nodesDirectory, pod.metadata.uid).find(
      ({ env }) => env['RANK'] === String(rank),
    );
    if (victim === undefined) continue;
    process.kill(victim.pid, 'SIGKILL');
    return { node: pod.spec.nodeName ?? 'an unknown node', pid: victim.pid };
  }
  return undefined;
}
