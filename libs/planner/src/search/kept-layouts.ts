/** Collections of results: the best layouts by objective, and the Pareto front of time and memory. */
import type { CandidateLayout } from '../facts.ts';
import type { Objective } from '../contract.ts';

/** A layout with its time and memory. `order` is its position in the space and breaks ties. */
export interface MeasuredLayout {
  readonly candidate: CandidateLayout;
  readonly gpus: number;
  readonly stepTimeS: number;
  readonly peakBytes: number;
  readonly order: number;
}

/** The sort keys of an objective, most important first. For cost the price of a GPU is a common factor and is left out. */
export function rankingOf(objective: Objective, layout: Omit<MeasuredLayout, 'candidate'>): readonly number[] {
  const { gpus, stepTimeS, peakBytes, order } = layout;
  switch (objective) {
    case 'time':
      return [stepTimeS, peakBytes, gpus, order];
    case 'cost':
      return [stepTimeS * gpus, stepTimeS, peakBytes, order];
    case 'gpus':
      return [gpus, stepTimeS, peakBytes, order];
    case 'memory':
      return [peakBytes, stepTimeS, gpus, order];
  }
}

/** The first number of `rankingOf`, which nearly always decides. */
function firstOf(
  objective: Objective,
  { gpus, stepTimeS, peakBytes }: Pick<MeasuredLayout, 'gpus' | 'stepTimeS' | 'peakBytes'>,
): number {
  switch (objective) {
    case 'time':
      return stepTimeS;
    case 'cost':
      return stepTimeS * gpus;
    case 'gpus':
      return gpus;
    case 'memory':
      return peakBytes;
  }
}

function isBefore(left: readonly number[], right: readonly number[]): boolean {
  for (let index = 0; index < left.length; index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** Keeps the best `size` of the offered layouts. */
export class BestLayouts {
  readonly #objective: Objective;
  readonly #size: number;
  #kept: { readonly layout: MeasuredLayout; readonly ranking: readonly number[] }[] = [];

  constructor(objective: Objective, size: number) {
    this.#objective = objective;
    this.#size = size;
  }

  /** An empty collection with the same objective and size. */
  emptyCopy(): BestLayouts {
    return new BestLayouts(this.#objective, this.#size);
  }

  /** Whether a layout with at least these costs cannot be among the best. */
  excludes(timeBoundS: number, bytesBound: number, gpus: number): boolean {
    const last = this.#kept.length < this.#size ? undefined : this.#kept.at(-1);
    if (last === undefined) return false;
    const first = firstOf(this.#objective, { gpus, stepTimeS: timeBoundS, peakBytes: bytesBound });
    if (last.ranking[0] !== first) return (last.ranking[0] ?? 0) < first;
    const bound = rankingOf(this.#objective, { gpus, stepTimeS: timeBoundS, peakBytes: bytesBound, order: -1 });
    return isBefore(last.ranking, bound);
  }

  offer(layout: MeasuredLayout): void {
    const ranking = rankingOf(this.#objective, layout);
    const at = this.#kept.findIndex((kept) => isBefore(ranking, kept.ranking));
    if (at < 0 && this.#kept.length >= this.#size) return;
    this.#kept.splice(at < 0 ? this.#kept.length : at, 0, { layout, ranking });
    this.#kept.length = Math.min(this.#kept.length, this.#size);
  }

  get layouts(): readonly MeasuredLayout[] {
    return this.#kept.map((kept) => kept.layout);
  }
}

/** Largest step time of layouts on the front, relative to the fastest on the same number of GPUs. */
export const FRONT_SLOWDOWN = 1.25;

/** Pareto front of time and memory on one number of GPUs; ties keep the first layout of the space. */
export class ParetoFront {
  /** Ascending in time, so descending in memory. */
  #front: MeasuredLayout[] = [];
  #fastestS = Infinity;

  /** Whether a layout with at least these costs cannot be on the front. */
  excludes(timeBoundS: number, bytesBound: number): boolean {
    if (timeBoundS > FRONT_SLOWDOWN * this.#fastestS) return true;
    const rival = this.#smallestWithin(timeBoundS);
    if (rival === undefined) return false;
    return rival.peakBytes < bytesBound || (rival.peakBytes === bytesBound && rival.stepTimeS < timeBoundS);
  }

  offer(layout: MeasuredLayout): void {
    this.#fastestS = Math.min(this.#fastestS, layout.stepTimeS);
    const rival = this.#smallestWithin(layout.stepTimeS);
    if (rival !== undefined && rival.peakBytes <= layout.peakBytes) {
      const equal = rival.peakBytes === layout.peakBytes && rival.stepTimeS === layout.stepTimeS;
      if (!equal || rival.order < layout.order) return;
    }
    const from = this.#firstSlowerOrEqual(layout.stepTimeS);
    let to = from;
    while (to < this.#front.length && (this.#front[to]?.peakBytes ?? 0) >= layout.peakBytes) to++;
    this.#front.splice(from, to - from, layout);
  }

  get layouts(): readonly MeasuredLayout[] {
    return this.#front.filter((layout) => layout.stepTimeS <= FRONT_SLOWDOWN * this.#fastestS);
  }

  /** The layout of least memory among those that take at most `timeS`. */
  #smallestWithin(timeS: number): MeasuredLayout | undefined {
    let low = 0;
    let high = this.#front.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#front[middle]?.stepTimeS ?? Infinity) <= timeS) low = middle + 1;
      else high = middle;
    }
    return this.#front[low - 1];
  }

  #firstSlowerOrEqual(timeS: number): number {
    let at = 0;
    while (at < this.#front.length && (this.#front[at]?.stepTimeS ?? Infinity) < timeS) at++;
    return at;
  }
}

/** The front over several GPU counts: fewer GPUs are a gain as well. Fastest first. */
export function frontOverGpuCounts(fronts: readonly (readonly MeasuredLayout[])[]): readonly MeasuredLayout[] {
  const all = fronts.flat();
  const dominates = (rival: MeasuredLayout, layout: MeasuredLayout): boolean =>
    rival.gpus < layout.gpus && rival.stepTimeS <= layout.stepTimeS && rival.peakBytes <= layout.peakBytes;
  return all
    .filter((layout) => !all.some((rival) => dominates(rival, layout)))
    .sort((a, b) => a.stepTimeS - b.stepTimeS || a.gpus - b.gpus || a.order - b.order);
}
