import type { EndBasis } from '@coxswain/api-types';
import { leastSure } from './forecast-input.ts';

/** GPUs that a gang takes of one type of node. */
export interface Need {
  /** Nodes that must be empty. */
  readonly nodes: number;
  /** GPUs of pods that are smaller than a node. */
  readonly gpus: number;
}

/** What becomes free, or is taken, at a moment. */
export interface CapacityChange {
  readonly atMs: number;
  readonly nodes: number;
  readonly gpus: number;
  readonly restsOn: EndBasis;
}

/** Moments that are kept. More are joined with the next one, so that nothing seems free before it is. */
const MAX_MOMENTS = 1_024;

/** A gang counts as holding its GPUs longer by this share of its time, if another moment is that near: fewer moments are quicker to search. */
const NEAR_SHARE = 0.01;

/**
 * Free capacity of one type of GPU over time, as counts: empty nodes, and free GPUs of nodes that are partly taken. Where the free GPUs are is not
 * counted, so a gang that fits here may still wait for GPUs that are connected as it needs.
 */
export class CapacityProfile {
  readonly #gpusPerNode: number;
  readonly #times: number[];
  /** At the same index: empty nodes from that moment to the next. */
  readonly #nodes: number[];
  readonly #gpus: number[];
  readonly #restsOn = new Map<number, EndBasis>();

  constructor(
    nowMs: number,
    free: { readonly nodes: number; readonly gpus: number; readonly gpusPerNode: number },
    changes: readonly CapacityChange[],
  ) {
    this.#gpusPerNode = free.gpusPerNode;
    this.#times = [nowMs];
    this.#nodes = [free.nodes];
    this.#gpus = [free.gpus];
    let [nodes, gpus] = [free.nodes, free.gpus];
    for (const { atMs, ...change } of joined(changes, nowMs)) {
      nodes += change.nodes;
      gpus += change.gpus;
      this.#times.push(atMs);
      this.#nodes.push(nodes);
      this.#gpus.push(gpus);
      this.#restsOn.set(atMs, change.restsOn);
    }
  }

  get gpusPerNode(): number {
    return this.#gpusPerNode;
  }

  /** Empty nodes, and free GPUs in all, at the first moment. */
  get free(): { readonly nodes: number; readonly gpus: number } {
    const nodes = this.#nodes[0] ?? 0;
    return { nodes, gpus: nodes * this.#gpusPerNode + (this.#gpus[0] ?? 0) };
  }

  /** The first moment from `fromMs` on at which the need is free for so long; undefined: none. */
  earliestStart(need: Need, durationMs: number, fromMs: number): number | undefined {
    const [times, nodes, gpus] = [this.#times, this.#nodes, this.#gpus];
    const spare = need.gpus === 0 ? 0 : this.#nodesFor(need.gpus);
    let index = Math.max(0, this.#indexAt(fromMs));
    let startMs = fromMs;
    let untilMs = startMs + durationMs;
    for (const end = times.length; index < end; index++) {
      if ((times[index] ?? 0) >= untilMs) return startMs;
      const free = (nodes[index] ?? 0) - need.nodes;
      if (free >= spare || (free >= 0 && (gpus[index] ?? 0) >= need.gpus)) continue;
      startMs = times[index + 1] ?? Infinity;
      untilMs = startMs + durationMs;
    }
    return startMs === Infinity ? undefined : startMs;
  }

  /** Takes the need from one moment to another; what is not free is owed. The end may be moved to a moment shortly after it. */
  take(need: Need, fromMs: number, untilMs: number, restsOn: EndBasis): void {
    const first = this.#cut(fromMs);
    const end = untilMs === Infinity ? this.#times.length : this.#cut(untilMs, NEAR_SHARE * (untilMs - fromMs));
    this.#takeBetween(need, first, end);
    const endMs = this.#times[end];
    if (endMs === undefined) return;
    const known = this.#restsOn.get(endMs);
    this.#restsOn.set(endMs, known === undefined ? restsOn : leastSure(known, restsOn));
  }

  /** Closes nodes from one moment to another, or with a negative need opens them again. Both are exact, so that one undoes the other. */
  close(need: Need, fromMs: number, untilMs: number): void {
    const first = this.#cut(Math.max(fromMs, this.#times[0] ?? fromMs));
    this.#takeBetween(need, first, this.#cut(untilMs));
  }

  /** What the moment rests on at which capacity becomes free; undefined: nothing becomes free then. */
  restsOnAt(atMs: number): EndBasis | undefined {
    return this.#restsOn.get(atMs);
  }

  #takeBetween(need: Need, first: number, end: number): void {
    const [nodes, gpus] = [this.#nodes, this.#gpus];
    const ofEmpty = need.gpus === 0 ? 0 : this.#nodesFor(need.gpus);
    for (let index = first; index < end; index++) {
      const loose = gpus[index] ?? 0;
      const broken = loose >= need.gpus ? 0 : ofEmpty;
      nodes[index] = (nodes[index] ?? 0) - need.nodes - broken;
      gpus[index] = loose - need.gpus + broken * this.#gpusPerNode;
    }
  }

  #nodesFor(gpus: number): number {
    return Math.ceil(gpus / this.#gpusPerNode);
  }

  /** Index of the moment that has begun by then; -1 before the first. */
  #indexAt(atMs: number): number {
    let [low, high] = [0, this.#times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#times[middle] ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Index of a moment at that time, or at most so long after it. The moment is made if it is missing. */
  #cut(atMs: number, nearMs = 0): number {
    const index = Math.max(0, this.#indexAt(atMs));
    if ((this.#times[index] ?? 0) >= atMs) return index;
    if ((this.#times[index + 1] ?? Infinity) <= atMs + nearMs) return index + 1;
    this.#times.splice(index + 1, 0, atMs);
    this.#nodes.splice(index + 1, 0, this.#nodes[index] ?? 0);
    this.#gpus.splice(index + 1, 0, this.#gpus[index] ?? 0);
    return index + 1;
  }
}

/** One change for each moment after `nowMs`, in order, and few enough of them. What lies in the past counts as now, a millisecond later. */
function joined(changes: readonly CapacityChange[], nowMs: number): readonly CapacityChange[] {
  const at = new Map<number, CapacityChange>();
  for (const change of changes) {
    const atMs = Math.max(change.atMs, nowMs + 1);
    const known = at.get(atMs);
    at.set(atMs, known === undefined ? { ...change, atMs } : sum(known, change, atMs));
  }
  const sorted = [...at.values()].sort((left, right) => left.atMs - right.atMs);
  const size = Math.ceil(sorted.length / MAX_MOMENTS);
  if (size <= 1) return sorted;
  return Array.from({ length: Math.ceil(sorted.length / size) }, (_, index) => {
    const together = sorted.slice(index * size, (index + 1) * size);
    return together.reduce((left, right) => sum(left, right, right.atMs));
  });
}

function sum(left: CapacityChange, right: CapacityChange, atMs: number): CapacityChange {
  return {
    atMs,
    nodes: left.nodes + right.nodes,
    gpus: left.gpus + right.gpus,
    restsOn: leastSure(left.restsOn, right.restsOn),
  };
}
