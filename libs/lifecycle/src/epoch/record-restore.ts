/** How did training continue after a restore: the loss before and after, and what was not restored exactly? */
import {
  type Attempt,
  type AttemptRestore,
  type Checkpoint,
  MAX_NOT_KEPT,
  MAX_NOT_KEPT_CHARACTERS,
} from '@coxswain/api-types';
import { judgeLoad, recordedSave } from '@coxswain/checkpoint';
import { safeText } from '@coxswain/safe-text';
import type { Facts } from '../observation/facts.ts';
import type { ObservedProgress } from '../observation/observed.ts';
import type { JobRecord } from '../record/job-record.ts';

/** The last loss before the next run; empty if none was reported. The next run clears the progress, so its begin has to keep it. */
export function lossBeforeRestore({ progress, attempts }: JobRecord): Pick<Attempt, 'restore'> {
  if (progress?.loss !== undefined) return { restore: { lossBefore: progress.loss, stepBefore: progress.step } };
  // A run that reported no loss of its own leaves the one before it.
  const { lossBefore, stepBefore, lossAfter, stepAfter } = attempts.at(-1)?.restore ?? {};
  const [loss, step] = lossAfter === undefined ? [lossBefore, stepBefore] : [lossAfter, stepAfter];
  if (loss === undefined) return {};
  return { restore: { lossBefore: loss, ...(step === undefined ? {} : { stepBefore: step }) } };
}

/** The restore with the first reported step; empty for a run from scratch. */
export function restoreOf(
  { resumedFrom, memorySave, restore, layout }: Attempt,
  { step, loss }: Pick<ObservedProgress, 'step' | 'loss'>,
  { checkpoints }: Pick<Facts, 'checkpoints'>,
): Pick<Attempt, 'restore'> {
  if (resumedFrom === undefined) return {};
  const checkpoint = checkpoints.find(({ metadata }) => metadata.name === resumedFrom.checkpoint);
  const after: AttemptRestore = loss !== undefined && Number.isFinite(loss) ? { lossAfter: loss, stepAfter: step } : {};
  const kept = checkpoint === undefined || memorySave !== undefined ? {} : { notKept: notKeptBy(checkpoint, layout) };
  return { restore: { ...restore, ...after, ...kept } };
}

/** What the files of the checkpoint do not bring back at this layout, in sentences. */
function notKeptBy(checkpoint: Checkpoint, layout: Attempt['layout']): string[] {
  const { warnings } = judgeLoad(recordedSave(checkpoint), { layout });
  return [...warnings, ...unknownOf(checkpoint)]
    .slice(0, MAX_NOT_KEPT)
    .map((sentence) => safeText(sentence, MAX_NOT_KEPT_CHARACTERS));
}

/** These count samples instead of storing a position. */
const BY_SAMPLES: readonly string[] = ['torch_dist', 'fsdp_dtensor', 'legacy'];

function unknownOf({ spec, status }: Checkpoint): readonly string[] {
  const holds = status?.contents?.holds;
  const parts = [
    ...(holds?.randomStates === undefined ? ['random states'] : []),
    ...(holds?.dataLoader === undefined && !BY_SAMPLES.includes(spec.format) ? ['the position in the data'] : []),
  ];
  return parts.length === 0 ? [] : [`Nothing in its files shows whether they hold ${parts.join(' and ')}.`];
}
