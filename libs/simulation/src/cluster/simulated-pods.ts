/** The pods of a gang and the launchers in them, as a kubelet and the operator's desk would show them. */
import type { Attempt, TerminationCause } from '@coxswain/api-types';
import { launcherOrders, type membersOf, type ObservedPod, type PlacedLauncher } from '@coxswain/lifecycle';
import type { SimulatedNodes } from './simulated-nodes.ts';

/** Pods and launchers of one simulated gang, as an observation of the cluster has them. */
export class SimulatedPods {
  readonly #nodes: SimulatedNodes;
  readonly #pods = new Map<string, ObservedPod>();
  readonly #launchers = new Map<string, PlacedLauncher>();
  #list: readonly ObservedPod[] | undefined;
  #serial = 0;

  constructor(nodes: SimulatedNodes) {
    this.#nodes = nodes;
  }

  get all(): readonly ObservedPod[] {
    return (this.#list ??= [...this.#pods.values()]);
  }

  get launchers(): ReadonlyMap<string, PlacedLauncher> {
    return this.#launchers;
  }

  named(name: string): ObservedPod | undefined {
    return this.#pods.get(name);
  }

  on(node: string): ObservedPod | undefined {
    return this.all.find((pod) => pod.nodeName === node && pod.phase === 'Running');
  }

  create(name: string, { epoch, podIndex }: { readonly epoch: number; readonly podIndex: number }): void {
    if (this.#pods.has(name)) return;
    const serial = this.#serial++;
    const place = { name, uid: `pod-${serial}`, resourceVersion: `${serial}`, epoch, podIndex } as const;
    this.#keep({ ...place, phase: 'Pending', gated: true, held: true, running: false, ours: true });
  }

  /** Bound and started at once; how long that takes is in the time of a restart. */
  start(name: string, nodeName: string): void {
    const pod = this.#pods.get(name);
    if (pod?.gated !== true) return;
    this.#nodes.hold(nodeName, 1);
    this.#keep({ ...pod, gated: false, nodeName, phase: 'Running', running: true });
    this.#launchers.set(pod.uid, { epoch: pod.epoch, podIndex: pod.podIndex, incarnation: 0, state: 'waiting' });
  }

  /** Its kubelet ends it at once; where that is dead the pod stays as it is until it is given up or its node is back. */
  delete({ name, uid }: { readonly name: string; readonly uid: string }, graceSeconds: number, nowMs: number): void {
    const pod = this.#pods.get(name);
    if (pod?.uid !== uid || pod.deletionTimestamp !== undefined) return;
    const until = new Date(nowMs + graceSeconds * 1000).toISOString();
    const deleted = { ...pod, deletionTimestamp: until, deletionGracePeriodSeconds: graceSeconds };
    const isDead = pod.nodeName !== undefined && this.#nodes.conditionOf(pod.nodeName) === 'dead';
    this.#keep(deleted);
    if (pod.phase === 'Running' && !isDead) this.end(name, { exitCode: 143 });
    else this.#forgetIfFree(name);
  }

  release({ name, uid }: { readonly name: string; readonly uid: string }): void {
    const pod = this.#pods.get(name);
    if (pod?.uid !== uid) return;
    this.#keep({ ...pod, held: false });
    this.#forgetIfFree(name);
  }

  /** Its container ends. */
  end(name: string, { exitCode, cause }: { readonly exitCode: number; readonly cause?: TerminationCause }): void {
    const pod = this.#pods.get(name);
    if (pod?.phase !== 'Running') return;
    if (pod.nodeName !== undefined) this.#nodes.hold(pod.nodeName, -1);
    this.#launchers.delete(pod.uid);
    const exit = { exitCode, reason: 'Error', ...(cause === undefined ? {} : { cause }) };
    this.#keep({ ...pod, phase: 'Failed', running: false, exit });
    this.#forgetIfFree(name);
  }

  /** The launchers of an attempt that has failed end by themselves, and their pods stay. Those on dead nodes receive nothing. Returns their pods. */
  refuse(epoch: number): readonly ObservedPod[] {
    const heard = this.all.filter(
      ({ nodeName, ...pod }) =>
        pod.epoch === epoch && pod.phase === 'Running' && this.#nodes.conditionOf(nodeName ?? '') !== 'dead',
    );
    for (const pod of heard) {
      const cause = this.#launchers.get(pod.uid)?.cause;
      this.end(pod.name, { exitCode: cause?.exitCode ?? 73, ...(cause === undefined ? {} : { cause }) });
    }
    return heard;
  }

  /** A rank of it fails by itself, and its launcher lives on to say so. */
  reap({ uid }: ObservedPod, cause: TerminationCause): void {
    const launcher = this.#launchers.get(uid);
    if (launcher?.state === 'running') this.#launchers.set(uid, { ...launcher, state: 'reaped', cause });
  }

  /** A kubelet that is back ends what the API server no longer wants. */
  endDoomedOn(node: string): void {
    for (const pod of this.all) {
      if (pod.nodeName === node && pod.deletionTimestamp !== undefined) this.end(pod.name, { exitCode: 137 });
    }
  }

  /** The launchers do what the attempt asks of them; says whether any did. Those on dead nodes hear nothing. */
  order(attempt: Attempt | undefined, members: ReturnType<typeof membersOf>, isDue: boolean): boolean {
    const orders = launcherOrders({ attempt, ...members, launchers: this.#launchers, isDue });
    for (const [uid, order] of orders) {
      const launcher = this.#launchers.get(uid);
      if (launcher === undefined) continue;
      const { cause: _, ...rest } = launcher;
      const incarnation = attempt?.incarnation ?? 1;
      if (order.kind === 'assign') this.#launchers.set(uid, { ...rest, incarnation, state: 'running' });
      else this.#launchers.set(uid, { ...rest, state: 'reaped' });
    }
    return orders.size > 0;
  }

  /** Zero for each that is heard: those on nodes that live. */
  reportAgesMs(): ReadonlyMap<string, number> {
    const reporting = this.all.filter(
      ({ nodeName }) => nodeName !== undefined && this.#nodes.conditionOf(nodeName) !== 'dead',
    );
    return new Map(reporting.map(({ uid }) => [uid, 0]));
  }

  #keep(pod: ObservedPod): void {
    this.#pods.set(pod.name, pod);
    this.#list = undefined;
  }

  /** The API server removes what is deleted, has ended or never ran, and is held by nobody. */
  #forgetIfFree(name: string): void {
    const pod = this.#pods.get(name);
    if (pod === undefined || pod.held || pod.deletionTimestamp === undefined || pod.phase === 'Running') return;
    this.#pods.delete(name);
    this.#list = undefined;
  }
}
