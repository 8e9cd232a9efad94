import { LABELS } from '@coxswain/api-types';
import { listPodProcesses, type PodProcess } from './pod-processes.ts';
import { waitFor } from '../process/wait.ts';
import type { CoxswainSystem } from './system.ts';

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly uid: string };
    readonly spec: { readonly nodeName?: string };
  }[];
}

/** A rank of a job by its global number. */
export interface RankOfJob {
  readonly namespace: string;
  readonly jobUid: string;
  readonly rank: number;
}

/** The process of a rank. */
export interface RankProcess {
  readonly node: string;
  readonly pid: number;
}

/** Kills the process of a rank with SIGKILL, as the kernel does when memory runs out, once it runs. Tells which and where it was. */
export async function killRank(system: CoxswainSystem, victim: RankOfJob): Promise<RankProcess> {
  const found = await findRank(system, victim);
  process.kill(found.pid, 'SIGKILL');
  return found;
}

/** The process of a rank, once it runs. */
export function findRank(system: CoxswainSystem, wanted: RankOfJob): Promise<RankProcess> {
  const { namespace, jobUid, rank } = wanted;
  return waitFor(
    async () => {
      const selector = encodeURIComponent(`${LABELS.jobUid}=${jobUid}`);
      const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=${selector}`;
      const pods = await system.plane.admin.json<PodList>({ method: 'GET', path });
      for (const { metadata, spec } of pods.items) {
        const found = listPodProcesses(system.nodesDirectory, metadata.uid).find((one) => isRank(one, String(rank)));
        if (found !== undefined) return { node: spec.nodeName ?? 'an unknown node', pid: found.pid };
      }
      return undefined;
    },
    { what: `rank ${rank} to run` },
  );
}

/** A successor was started without `RANK`, and has another name until it takes over (`coxswain_hook/successor.py`). */
function isRank({ env, name }: PodProcess, rank: string): boolean {
  return env['RANK'] === rank || (env['COXSWAIN_SUCCESSOR_OF'] === rank && !name.startsWith('successor-'));
}
