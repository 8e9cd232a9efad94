/** Finds the simplest layout within the prediction error of the fastest. */
import type { MeasuredLayout } from './kept-layouts.ts';

/** A layout with its complexity. */
interface WeighedLayout {
  readonly layout: MeasuredLayout;
  readonly complexity: number;
}

/** Pareto front of complexity and time on one number of GPUs, up to `slowdown` times the fastest step. */
export class SimplestLayouts {
  readonly #slowdown: number;
  /** Ascending in complexity, so descending in time. */
  #kept: WeighedLayout[] = [];

  constructor(slowdown: number) {
    this.#slowdown = slowdown;
  }

  emptyCopy(): SimplestLayouts {
    return new SimplestLayouts(this.#slowdown);
  }

  /** Whether a layout with at least these costs cannot be the answer. */
  excludes(timeBoundS: number, complexityBound: number): boolean {
    const kept = this.#kept;
    const fastest = kept[kept.length - 1];
    if (fastest === undefined) return false;
    if (timeBoundS > this.#slowdown * fastest.layout.stepTimeS) return true;
    for (const { layout, complexity } of kept) {
      if (complexity > complexityBound) return false;
      const { stepTimeS } = layout;
      if (stepTimeS < timeBoundS || (stepTimeS === timeBoundS && complexity < complexityBound)) return true;
    }
    return false;
  }

  offer(layout: MeasuredLayout, complexity: number): void {
    const offered = { layout, complexity };
    if (this.#kept.some((kept) => kept.complexity <= complexity && !isFaster(layout, kept.layout))) return;
    this.#kept = this.#kept.filter((kept) => kept.complexity < complexity || isFaster(kept.layout, layout));
    const at = this.#kept.findIndex((kept) => kept.complexity > complexity);
    this.#kept.splice(at < 0 ? this.#kept.length : at, 0, offered);
  }

  /** Undefined where none was offered. */
  get simplest(): MeasuredLayout | undefined {
    const fastestS = this.#kept.at(-1)?.layout.stepTimeS ?? 0;
    return this.#kept.find(({ layout }) => layout.stepTimeS <= this.#slowdown * fastestS)?.layout;
  }
}

/** Of equal times the smaller one, then the first of the space. */
function isFaster(layout: MeasuredLayout, than: MeasuredLayout): boolean {
  if (layout.stepTimeS !== than.stepTimeS) return layout.stepTimeS < than.stepTimeS;
  if (layout.peakBytes !== than.peakBytes) return layout.peakBytes < than.peakBytes;
  return layout.order < than.order;
}
