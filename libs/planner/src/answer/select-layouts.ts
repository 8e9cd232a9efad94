/** Which few of the layouts that a search found are told? Five that differ in a trifle are one answer. */
import { PAIRED_ERROR_PCT } from '../calibration/paired-error.ts';
import type { Objective } from '../contract.ts';
import { BestLayouts, type MeasuredLayout } from '../search/kept-layouts.ts';
import type { SearchResult } from '../search/search-request.ts';

/** Of one way to divide a model, layouts whose peaks differ by less are of one size to whoever chooses. A choice, not a measurement. */
const ONE_SIZE_SHARE = 0.1;

interface Wanted {
  readonly objective: Objective;
  /** How many layouts are told. */
  readonly top: number;
}

/**
 * The simplest of the fastest, then others by rank: the first by rank, and of the best and of the front of time and memory those that are no trifle
 * beside what is told already. Where these are fewer than wanted, the best by rank fill up. Of the smallest layouts none is exchanged for a simpler one.
 */
export function toldLayouts(
  { best, front, simplest }: Pick<SearchResult, 'best' | 'front' | 'simplest'>,
  { objective, top }: Wanted,
): readonly MeasuredLayout[] {
  const ranked = byRank([...best, ...front], objective);
  const [fastest] = ranked;
  if (fastest === undefined) return [];
  const first = simplest === undefined || objective === 'memory' ? fastest : simplest;
  const told = isSame(first, fastest) ? [first] : [first, fastest];
  for (const layout of ranked) {
    if (!told.some((other) => isTrifle(layout, other))) told.push(layout);
  }
  for (const layout of ranked) {
    if (!told.some((other) => isSame(layout, other))) told.push(layout);
  }
  return [first, ...byRank(told.slice(1, top), objective)].slice(0, top);
}

/** The same way to divide the model and the work of a pass, no faster as far as predictions tell, and of no smaller size. */
function isTrifle(layout: MeasuredLayout, beside: MeasuredLayout): boolean {
  return (
    divisionOf(layout) === divisionOf(beside) &&
    beside.stepTimeS <= (1 + PAIRED_ERROR_PCT / 100) * layout.stepTimeS &&
    beside.peakBytes <= (1 + ONE_SIZE_SHARE) * layout.peakBytes
  );
}

/** Two samples cut in two are as much for a rank and its pass as a whole one. */
function divisionOf({ gpus, candidate }: MeasuredLayout): string {
  const { tensor, pipeline, expert, expertTensor, microBatchSize, context } = candidate;
  return [gpus, tensor, pipeline, expert, expertTensor, microBatchSize / context].join('/');
}

function isSame(a: MeasuredLayout, b: MeasuredLayout): boolean {
  return a.order === b.order && a.gpus === b.gpus;
}

/** Each once. */
export function byRank(layouts: readonly MeasuredLayout[], objective: Objective): readonly MeasuredLayout[] {
  const once = layouts.filter((layout, index) => layouts.findIndex((other) => isSame(layout, other)) === index);
  const ranked = new BestLayouts(objective, once.length);
  for (const layout of once) ranked.offer(layout);
  return ranked.layouts;
}
