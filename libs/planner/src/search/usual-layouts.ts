/** Estimates quickly how fast a run can be, for advice about other numbers of GPUs and batches. */
import { constantsOf } from '../calibration/calibration-in-use.ts';
import type { ResolvedRequest, RunBase } from '../request/resolved-request.ts';
import { spaceOf } from '../space/space-of-request.ts';
import type { SpaceFacts } from '../space/search-space.ts';
import { searchLayouts, type SearchLimits } from './branch-and-bound.ts';
import { BestLayouts, ParetoFront, type MeasuredLayout } from './kept-layouts.ts';
import { RunModels } from './run-models.ts';
import { newStats } from './search-stats.ts';
import { SimplestLayouts } from './simplest-layouts.ts';
import { warmStartSpaceOf } from './warm-start.ts';

/**
 * The fastest usual layout: one of the warm start with one sample per micro-batch. The whole space may have a faster one. Undefined if none keeps the limits.
 */
export function fastestUsualLayout(
  resolved: ResolvedRequest,
  run: RunBase,
  limits: SearchLimits,
): MeasuredLayout | undefined {
  const best = new BestLayouts('time', 1);
  searchLayouts({
    space: usualSpaceOf(spaceOf(resolved, run)),
    models: new RunModels(run, constantsOf(run)),
    limits,
    best,
    front: new ParetoFront(),
    simplest: new SimplestLayouts(1),
    stats: newStats(),
    smallestFirst: false,
    wanted: 'best',
  });
  return best.layouts[0];
}

function usualSpaceOf(space: SpaceFacts): SpaceFacts {
  const usual = warmStartSpaceOf(space);
  return { ...usual, pinned: { microBatchSize: 1, ...usual.pinned } };
}
