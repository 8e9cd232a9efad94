import { hasRanks } from '@coxswain/api-types';
import type { Hearing } from '@coxswain/lifecycle';
import type { NewestGang } from './launcher-controller.ts';

/** A launcher that has reported within this time is heard. Three heartbeats. */
const HEARD_MS = 30_000;

/** A gang that runs. */
interface RunningGang {
  readonly namespace: string;
  /** Nodes of the pods that hold ranks, one for each pod. */
  readonly nodes: readonly string[];
  /** UIDs of the pods that hold ranks; absent: every pod of the gang holds ranks. */
  readonly podUids?: ReadonlySet<string>;
}

/**
 * The gang if its attempt runs. Only launchers of pods that hold ranks count. A pod that lost its ranks ends, and a standby may end, while the attempt goes
 * on: its silence says nothing about the connection of the other launchers.
 */
export function runningGangOf({ job, attempt, placement, podUidOf }: NewestGang): RunningGang | undefined {
  if (attempt.stage !== 'Released') return undefined;
  const { namespace = '' } = job.metadata;
  if (attempt.standbys === undefined) return { namespace, nodes: placement.nodes };
  const seats = placement.nodes.flatMap((node, podIndex) =>
    hasRanks(placement, podIndex) ? [{ node, podIndex }] : [],
  );
  const podUids = new Set(seats.flatMap(({ podIndex }) => podUidOf(podIndex) ?? []));
  return { namespace, nodes: seats.map(({ node }) => node), podUids };
}

/**
 * Time of the last contact with each pod's launcher, on a monotonic clock. Any message of the current attempt counts, because a launcher that sends one is
 * running; messages of failed or earlier attempts do not. A new leader starts without contacts.
 */
export class LauncherContacts {
  readonly #contactAtMs = new Map<string, { readonly epoch: number; readonly pods: Map<string, number> }>();

  /** Records a contact. */
  record(pod: { readonly jobUid: string; readonly epoch: number; readonly podUid: string }, nowMs: number): void {
    const known = this.#contactAtMs.get(pod.jobUid);
    if (known !== undefined && known.epoch >= pod.epoch) {
      if (known.epoch === pod.epoch) known.pods.set(pod.podUid, nowMs);
      return;
    }
    this.#contactAtMs.set(pod.jobUid, { epoch: pod.epoch, pods: new Map([[pod.podUid, nowMs]]) });
  }

  /** Milliseconds since the last contact with each pod of the job's newest epoch, by pod UID. */
  ofJob(jobUid: string, nowMs: number): ReadonlyMap<string, number> {
    const pods = this.#contactAtMs.get(jobUid)?.pods ?? new Map<string, number>();
    return new Map([...pods].map(([podUid, contactAtMs]) => [podUid, nowMs - contactAtMs]));
  }

  /** How many launchers are heard, of those that have reported about a gang that runs and whose pods hold ranks, and on which nodes. */
  hearing(nowMs: number, runningGang: (jobUid: string, epoch: number) => RunningGang | undefined): Hearing {
    let [launchers, silent, silentGangs] = [0, 0, 0];
    const heardNodes = new Map<string, Set<string>>();
    for (const [jobUid, { epoch, pods }] of this.#contactAtMs) {
      const gang = runningGang(jobUid, epoch);
      if (gang === undefined) continue;
      const counted = [...pods].filter(([podUid]) => gang.podUids?.has(podUid) ?? true);
      const ofGang = counted.filter(([, contactAtMs]) => nowMs - contactAtMs > HEARD_MS).length;
      launchers += counted.length;
      silent += ofGang;
      silentGangs += ofGang > 0 ? 1 : 0;
      if (ofGang === 0 && counted.length >= gang.nodes.length) addAll(heardNodes, gang);
    }
    return { launchers, silent, silentGangs, heardNodes };
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#contactAtMs.delete(jobUid);
  }

  /** Number of jobs with contacts; for tests of memory. */
  get size(): number {
    return this.#contactAtMs.size;
  }
}

function addAll(heard: Map<string, Set<string>>, { namespace, nodes }: RunningGang): void {
  const known = heard.get(namespace) ?? new Set();
  for (const node of nodes) known.add(node);
  heard.set(namespace, known);
}
