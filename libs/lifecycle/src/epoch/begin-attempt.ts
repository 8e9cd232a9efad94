import {
  type Attempt,
  isSameLayout,
  MAX_ATTEMPTS_IN_STATUS,
  type PlacementSpec,
  type ResumeFrom,
} from '@coxswain/api-types';
import type { UnwrittenPlacement } from '../observation/facts.ts';
import { sentBack } from '../failure/failure-tally.ts';
import type { JobRecord } from '../record/job-record.ts';
import { placementSha256 } from '@coxswain/scheduling';

/** The record with the attempt that the placement begins. Its hash stands in status before the Placement is created, so no other one counts. */
export function withNewAttempt(
  record: JobRecord,
  placement: UnwrittenPlacement & { readonly answers?: ResumeFrom; readonly where?: string; readonly saves?: string },
  { leaderTerm, now }: { readonly leaderTerm: number | undefined; readonly now: Date },
): JobRecord {
  const { name, spec, answers, saves, where = '' } = placement;
  const { epoch, layout, resume } = spec;
  const attempt: Attempt = {
    epoch,
    stage: 'Creating',
    placement: name,
    placementSha256: placementSha256(spec),
    ...(leaderTerm === undefined ? {} : { leaderTerm }),
    layout,
    ...(resume === undefined ? {} : { resumedFrom: resume }),
    startedAt: now.toISOString(),
    ...predictionOf(record, spec),
    ...(saves === undefined ? {} : { saves }),
    ...(where === '' ? {} : { placedWhere: where }),
  };
  return {
    ...record,
    epoch,
    notBefore: undefined,
    progress: undefined,
    // Status never speaks of a later step than the one that training goes on from.
    checkpoint: resume === undefined ? undefined : { name: resume.checkpoint, step: resume.step },
    ...(answers === undefined ? {} : { resumeFrom: { ...answers, epoch }, failures: sentBack(record.failures) }),
    attempts: [...record.attempts, attempt].slice(-MAX_ATTEMPTS_IN_STATUS),
  };
}

/** What was planned for the layout of that placement, if it was. */
function predictionOf(record: JobRecord, placement: PlacementSpec): Pick<Attempt, 'prediction'> {
  const { plan } = record;
  if (plan === undefined || !isSameLayout(plan.layout, placement.layout)) return {};
  const { predictedStepMs, predictedPeakBytes, gpuType, microBatchSize, plannerVersion } = plan;
  if (
    predictedStepMs === undefined ||
    predictedPeakBytes === undefined ||
    gpuType === undefined ||
    microBatchSize === undefined
  ) {
    return {};
  }
  const prediction = {
    stepMs: predictedStepMs,
    peakBytes: predictedPeakBytes,
    gpuType,
    microBatchSize,
    plannerVersion,
  };
  return { prediction };
}
