/** How many GPUs are used on each node from each predicted end on? */
import type { FabricNode } from '@coxswain/fabric';
import { worldSize } from '@coxswain/layout';
import type { GangRequest } from '../gang-request.ts';
import type { GpusByNode } from './node-promise.ts';
import type { Holder, PromiseInput } from './promise-input.ts';

/**
 * GPUs that are used over time: those of a job are free from its predicted end on, those of promises never. Each question costs one pass over the
 * nodes, because a cluster may have ten thousand nodes and a thousand ends.
 */
export class UsageOverTime {
  /** Now, and each time at which a job is predicted to end; in order. */
  readonly starts: readonly number[];
  readonly #used: GpusByNode;
  /** The same without the GPUs of promises. */
  readonly #usedNow: GpusByNode;
  readonly #holders: readonly Holder[];

  constructor({ holders, usedGpus, now }: PromiseInput, promised: readonly GpusByNode[]) {
    this.#holders = holders.toSorted((one, other) => one.end.at.getTime() - other.end.at.getTime());
    const nowMs = now.getTime();
    const ends = this.#holders.map(({ end }) => end.at.getTime()).filter((atMs) => atMs > nowMs);
    this.starts = [...new Set([nowMs, ...ends])];
    this.#usedNow = usedGpus;
    const used = new Map(usedGpus);
    for (const gpus of promised) for (const [name, count] of gpus) used.set(name, (used.get(name) ?? 0) + count);
    this.#used = used;
  }

  /** GPUs used on each node at that time. */
  at(atMs: number): GpusByNode {
    const used = new Map(this.#used);
    for (const { end, gpus } of this.#holders) {
      if (end.at.getTime() > atMs) break;
      for (const [name, count] of gpus) used.set(name, Math.max(0, (used.get(name) ?? 0) - count));
    }
    return used;
  }

  /** Others' GPUs on these nodes at that time, without those of promises; nodes without any are not in it. */
  beyond(nodes: GpusByNode, atMs: number): GpusByNode {
    const used = new Map([...nodes.keys()].map((name) => [name, this.#usedNow.get(name) ?? 0]));
    for (const { end, gpus } of this.#holders) {
      if (end.at.getTime() > atMs) break;
      for (const [name, count] of gpus) {
        const before = used.get(name);
        if (before !== undefined) used.set(name, Math.max(0, before - count));
      }
    }
    return new Map([...used].filter(([, count]) => count > 0));
  }

  /** The first time at which all these GPUs are free; undefined: never. */
  freeFrom(wanted: GpusByNode, nodes: ReadonlyMap<string, FabricNode>): number | undefined {
    const used = new Map([...wanted.keys()].map((name) => [name, this.#used.get(name) ?? 0]));
    const isShort = (name: string): boolean =>
      (used.get(name) ?? 0) + (wanted.get(name) ?? 0) > (nodes.get(name)?.gpus ?? 0);
    const short = new Set([...wanted.keys()].filter(isShort));
    if (short.size === 0) return this.starts[0];
    for (const { end, gpus } of this.#holders) {
      for (const [name, count] of gpus) {
        if (!short.has(name)) continue;
        used.set(name, Math.max(0, (used.get(name) ?? 0) - count));
        if (!isShort(name)) short.delete(name);
      }
      if (short.size === 0) return Math.max(this.starts[0] ?? 0, end.at.getTime());
    }
    return undefined;
  }

  /** Index of the first start at which enough GPUs are free by count; -1: there is none. Where they are, a search finds out. */
  firstByCount({ layout, gpusPerNode }: GangRequest, nodes: readonly FabricNode[]): number {
    const ranks = worldSize(layout);
    const perPod = Math.min(gpusPerNode ?? 1, ranks);
    const pods = gpusPerNode === undefined ? 0 : Math.floor(ranks / perPod);
    const count = new FreeCount(nodes, this.#used, perPod);
    let next = 0;
    return this.starts.findIndex((atMs) => {
      for (; (this.#holders[next]?.end.at.getTime() ?? Infinity) <= atMs; next++)
        for (const [name, gpus] of this.#holders[next]?.gpus ?? []) count.release(name, gpus);
      return count.total >= ranks && count.places >= pods;
    });
  }
}

/** Free GPUs of usable nodes, and nodes with room for a pod. */
class FreeCount {
  total = 0;
  places = 0;
  /** GPUs of a node minus the used ones, which may be more than it has. */
  readonly #left = new Map<string, number>();
  readonly #perPod: number;

  constructor(nodes: readonly FabricNode[], used: GpusByNode, perPod: number) {
    this.#perPod = perPod;
    for (const { name, gpus, usable } of nodes) if (usable) this.#set(name, gpus - (used.get(name) ?? 0));
  }

  release(name: string, gpus: number): void {
    const left = this.#left.get(name);
    if (left === undefined) return;
    this.total -= Math.max(0, left);
    this.places -= Number(left >= this.#perPod);
    this.#set(name, left + gpus);
  }

  #set(name: string, left: number): void {
    this.#left.set(name, left);
    this.total += Math.max(0, left);
    this.places += Number(left >= this.#perPod);
  }
}
