/** Which conditions describe the nodes that a job has or waits for? */
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

/** The request for nodes that do not exist yet; only while the job waits for room. */
export function nodesRequestedDraft({ observed }: Facts, next: NextEpoch): ObservedNodeRequest | undefined {
  return next.kind === 'waiting' || next.kind === 'choosingNodes' ? observed.nodeRequest : undefined;
}

/** The difference between the gang's nodes now and at its placement; only while the gang is up and the difference lasts. */
export function changedFabricDraft(record: JobRecord, { observed }: Facts): ChangedFabricDraft | undefined {
  const { fabricChange: message } = observed;
  if (message === undefined || liveAttempt(record) === undefined) return undefined;
  return { holds: false, reason: 'LabelsChanged', message };
}

/** Whether the recorded reason of condition Placed is still valid while nodes are searched again or a dry run is repeated. */
export function isReasonStillValid(next: NextEpoch, reason: string | undefined): reason is ReasonOf<'Placed'> {
  if (reason === 'PodsRefused') return next.kind !== 'readingReferences';
  return next.kind === 'choosingNodes' && (reason === 'WaitingForCapacity' || reason === 'TopologyUnsatisfiable');
}
