/** Selects the layouts of an answer from those that a search found, without near duplicates. */
import { PAIRED_ERROR_PCT } from '../calibration/paired-error.ts';
import type { Objective } from '../contract.ts';
import { BestLayouts, type MeasuredLayout } from '../search/kept-layouts.ts';
import type { SearchResult } from '../search/search-request.ts';

/** Layouts with the same degrees whose memory peaks differ by less count as equally large. A choice, not a measurement. */
const SIMILAR_PEAK_SHARE = 0.1;

interface Wanted {
  readonly objective: Objective;
  /** How many layouts are selected. */
  readonly top: number;
}

/**
 * The simplest of the fastest layouts, then others by rank. Near duplicates of a selected layout are skipped; if too few remain, they fill the answer.
 * With objective `memory` the first is the smallest layout, never a simpler one.
 */
export function selectLayouts(
  { best, front, simplest }: Pick<SearchResult, 'best' | 'front' | 'simplest'>,
  { objective, top }: Wanted,
): readonly MeasuredLayout[] {
  const ranked = rankLayouts([...best, ...front], objective);
  const [fastest] = ranked;
  if (fastest === undefined) return [];
  const first = simplest === undefined || objective === 'memory' ? fastest : simplest;
  const selected = isSame(first, fastest) ? [first] : [first, fastest];
  for (const layout of ranked) {
    if (!selected.some((other) => isNearDuplicate(layout, other))) selected.push(layout);
  }
  for (const layout of ranked) {
    if (!selected.some((other) => isSame(layout, other))) selected.push(layout);
  }
  return [first, ...rankLayouts(selected.slice(1, top), objective)].slice(0, top);
}

/** Whether a layout has the same degrees as another one, is not faster by more than the prediction error, and is not smaller. */
function isNearDuplicate(layout: MeasuredLayout, beside: MeasuredLayout): boolean {
  return (
    divisionOf(layout) === divisionOf(beside) &&
    beside.stepTimeS <= (1 + PAIRED_ERROR_PCT / 100) * layout.stepTimeS &&
    beside.peakBytes <= (1 + SIMILAR_PEAK_SHARE) * layout.peakBytes
  );
}

/** The degrees that distinguish layouts. Micro-batch size over context degree is the work of one rank and pass. */
function divisionOf({ gpus, candidate }: MeasuredLayout): string {
  const { tensor, pipeline, expert, expertTensor, microBatchSize, context } = candidate;
  return [gpus, tensor, pipeline, expert, expertTensor, microBatchSize / context].join('/');
}

function isSame(a: MeasuredLayout, b: MeasuredLayout): boolean {
  return a.order === b.order && a.gpus === b.gpus;
}

/** The layouts without duplicates, best first. */
export function rankLayouts(layouts: readonly MeasuredLayout[], objective: Objective): readonly MeasuredLayout[] {
  const once = layouts.filter((layout, index) => layouts.findIndex((other) => isSame(layout, other)) === index);
  const ranked = new BestLayouts(objective, once.length);
  for (const layout of once) ranked.offer(layout);
  return ranked.layouts;
}
