import { LABELS } from '@coxswain/api-types';
import { jobUidOf, readWorkload } from '@coxswain/scheduling';
import type { RawPod } from '../../testing/raw-pod.ts';
import { Repeating } from '../../testing/repeating.ts';
import type { World } from '../../testing/world.ts';

/**
 * Looks all the time, and shares no code with the operator's decisions: a node is given to one pod, because each pod here takes all GPUs of a node, and a queued
 * job has pods only while Kueue counts its quota.
 */
export class QuotaAuditor {
  /** Sentences on what was wrong, each once. */
  readonly found = new Set<string>();
  /** Whether a row takes a Workload away under a gang, so that pods without quota are expected. */
  quotaMayBeFree = false;
  looks = 0;
  readonly #world: World;
  readonly #kueue: string;
  readonly #repeating = new Repeating(100, () => this.#look());

  constructor(world: World, kueue: string) {
    this.#world = world;
    this.#kueue = kueue;
  }

  start(): void {
    this.#repeating.start();
  }

  stop(): Promise<void> {
    return this.#repeating.stop();
  }

  /** Pods are read before and after the Workloads, because a gang may start or end in between. */
  async #look(): Promise<void> {
    const before = await this.#livePods();
    const counted = this.quotaMayBeFree ? undefined : await this.#countedJobs();
    const after = await this.#livePods();
    this.looks += 1;
    const both = before.filter(({ metadata }) => after.some((one) => one.metadata.uid === metadata.uid));
    const byNode = Map.groupBy(both, ({ spec }) => spec.nodeName ?? '');
    for (const [node, pods] of byNode) {
      const names = pods.map(({ metadata }) => metadata.name).sort();
      if (node !== '' && names.length > 1) this.found.add(`node ${node} has the pods ${names.join(' and ')}`);
    }
    if (counted === undefined || this.quotaMayBeFree) return;
    for (const { metadata } of both) {
      const uid = metadata.labels?.[LABELS.jobUid] ?? '';
      if (counted.get(uid) === 'free') this.found.add(`pod ${metadata.name} runs, and Kueue counts its quota as free`);
    }
  }

  async #livePods(): Promise<readonly RawPod[]> {
    const path = `/api/v1/pods?labelSelector=${encodeURIComponent(LABELS.jobUid)}`;
    const { items } = await this.#world.plane.admin.json<{ items: RawPod[] }>({ method: 'GET', path });
    return items.filter(({ status }) => !['Succeeded', 'Failed'].includes(status.phase));
  }

  /** By the job's UID; a job that names no queue has no Workload and is not listed. */
  async #countedJobs(): Promise<ReadonlyMap<string, 'counted' | 'free'> | undefined> {
    const path = `${this.#kueue}/workloads`;
    const answer = await this.#world.plane.admin.send({ method: 'GET', path });
    if (answer.status !== 200) return undefined;
    const { items } = JSON.parse(answer.body) as { items: unknown[] };
    // Of two Workloads of a job that grows one counts.
    const byJob = Map.groupBy(items, (one) => jobUidOf(one) ?? '');
    return new Map([...byJob].map(([uid, workloads]) => [uid, workloads.some(isCounted) ? 'counted' : 'free']));
  }
}

function isCounted(workload: unknown): boolean {
  const { conditions } = readWorkload(workload);
  const isTrue = (type: string): boolean => conditions.get(type)?.isTrue === true;
  return isTrue('QuotaReserved') && !isTrue('Finished');
}
