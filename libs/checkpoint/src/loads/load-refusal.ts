/** Decides whether a job can resume from a checkpoint at a layout. */
import type { ParallelLayout } from '@coxswain/layout';
import { judgeLoad } from './judge-load.ts';
import type { KnownSave } from './known-save.ts';

/**
 * Why the layout cannot load the checkpoint as it is, as a sentence without its subject ("was saved as ..."). Undefined if it can, or if
 * the format is unknown: then the engine decides. A conversion that the layout states counts as done until a look shows that it is not:
 * programs convert when they start.
 */
export function describeLoadRefusal(saved: KnownSave, layout: ParallelLayout): string | undefined {
  const { verdict, because, conversion } = judgeLoad(saved, { layout });
  if (conversion?.isStated === true) return undefined;
  return verdict === 'cannot' || verdict === 'needs conversion' ? because : undefined;
}
