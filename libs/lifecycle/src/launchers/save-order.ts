/** Which launcher is to have the ranks save now? */
import { type Attempt, type OperatorMessage, type PlacementSpec, ranksOfPod } from '@coxswain/api-types';
import { openSaveRequest } from '../epoch/early-save.ts';
import type { PlacedLauncher } from './launcher-orders.ts';

export type SaveWanted = Extract<OperatorMessage, { kind: 'saveWanted' }>;

/**
 * That of rank 0 alone, by its pod's UID: the ranks agree with each other. Stands on what status records. undefined: nothing is asked for, what came of it is
 * known, or that launcher does not run the ranks that were meant.
 */
export function saveOrder(gang: {
  readonly attempt: Attempt | undefined;
  readonly placement: PlacementSpec;
  readonly launchers: ReadonlyMap<string, PlacedLauncher>;
}): { readonly podUid: string; readonly message: SaveWanted } | undefined {
  const { attempt, placement, launchers } = gang;
  const wanted = attempt === undefined ? undefined : openSaveRequest(attempt);
  if (attempt === undefined || wanted === undefined) return undefined;
  const { request, incarnation, why } = wanted;
  const { epoch } = attempt;
  const asked = [...launchers].find(([, { podIndex, ...said }]) => {
    const isOfRun = said.epoch === epoch && said.incarnation === incarnation && said.state === 'running';
    return isOfRun && ranksOfPod(placement, podIndex).includes(0);
  });
  return asked && { podUid: asked[0], message: { kind: 'saveWanted', epoch, incarnation, request, why } };
}
