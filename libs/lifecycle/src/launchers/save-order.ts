/** Which launcher gets the order to save now? */
import { type Attempt, type OperatorMessage, type PlacementSpec, ranksOfPod } from '@coxswain/api-types';
import { openSaveRequest } from '../epoch/early-save.ts';
import type { PlacedLauncher } from './launcher-orders.ts';

/** The message that asks ranks to save. */
export type SaveWanted = Extract<OperatorMessage, { kind: 'saveWanted' }>;

/**
 * The order to save for the launcher of rank 0, by its pod's UID; the ranks agree with each other. It follows the recorded status only.
 * undefined: no save is requested, its outcome is known, or that launcher does not run the requested incarnation.
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
  const asked = [...launchers].find(([, { podIndex, ...launcher }]) => {
    const isOfRun = launcher.epoch === epoch && launcher.incarnation === incarnation && launcher.state === 'running';
    return isOfRun && ranksOfPod(placement, podIndex).includes(0);
  });
  return asked && { podUid: asked[0], message: { kind: 'saveWanted', epoch, incarnation, request, why } };
}
