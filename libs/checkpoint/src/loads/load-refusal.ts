/** Decides whether a job can resume from a checkpoint at a layout. */
import type { ParallelLayout } from '@coxswain/layout';
import { judgeLoad } from './judge-load.ts';
import type { KnownSave } from './known-save.ts';

/**
 * Why the layout cannot load the checkpoint as it is, as a sentence without its subject ("was saved as ..."). Undefined if it can, or if
 * the format is unknown: then the engine decides.
 */
export function describeLoadRefusal(saved: KnownSave, layout: ParallelLayout): string | undefined {
  const { verdict, because } = judgeLoad(saved, { layout });
  return verdict === 'cannot' || verdict === 'needs conversion' ? because : undefined;
}
