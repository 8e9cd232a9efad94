/** What does a job say of the nodes that it has, or has not? */
import type { ReasonOf } from '@coxswain/api-types';
import type { NextEpoch } from '../epoch/next-epoch.ts';
import type { Facts } from '../observation/facts.ts';
import type { ObservedNodeRequest } from '../observation/observed.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

interface ChangedFabricDraft {
  readonly holds: false;
  readonly reason: ReasonOf<'FabricAsPlaced'>;
  readonly message: string;
}

/** Only while the job waits for room. */
export function nodesRequestedDraft({ observed }: Facts, next: NextEpoch): ObservedNodeRequest | undefined {
  return next.kind === 'waiting' || next.kind === 'choosingNodes' ? observed.nodeRequest : undefined;
}

/** Only while a gang is up, and while it lasts. */
export function changedFabricDraft(record: JobRecord, { observed }: Facts): ChangedFabricDraft | undefined {
  const { fabricChange: message } = observed;
  if (message === undefined || liveAttempt(record) === undefined) return undefined;
  return { holds: false, reason: 'LabelsChanged', message };
}

/** What nodes are searched for again, and a dry run is made again, says the same all the time. */
export function stands(next: NextEpoch, reason: string | undefined): reason is ReasonOf<'Placed'> {
  if (reason === 'PodsRefused') return true;
  return next.kind === 'choosingNodes' && (reason === 'WaitingForCapacity' || reason === 'TopologyUnsatisfiable');
}
