import {
  type Attempt,
  gpusOfPod,
  hasRanks,
  MAX_ATTEMPTS_IN_STATUS,
  type PassedOverCheckpoint,
  type PlacementSpec,
  type ResumeFrom,
} from '@coxswain/api-types';
import { isSameDivision } from '@coxswain/checkpoint';
import type { UnwrittenPlacement } from '../observation/facts.ts';
import { sentBack } from '../failure/failure-tally.ts';
import type { JobRecord } from '../record/job-record.ts';
import { lossBeforeRestore } from './record-restore.ts';
import { placementSha256 } from '@coxswain/scheduling';

/**
 * The record with a new attempt for that placement. Its hash is recorded before the Placement is created, so no other Placement is valid.
 */
export function withNewAttempt(
  record: JobRecord,
  placement: UnwrittenPlacement & {
    readonly answers?: ResumeFrom;
    readonly where?: string;
    readonly saves?: string;
    readonly passedOver?: readonly PassedOverCheckpoint[];
  },
  { leaderTerm, now }: { readonly leaderTerm: number | undefined; readonly now: Date },
): JobRecord {
  const { name, spec, answers, saves, where = '', passedOver = [] } = placement;
  const { epoch, layout, resume } = spec;
  const standbys = standbyGpus(spec);
  const attempt: Attempt = {
    epoch,
    stage: 'Creating',
    placement: name,
    placementSha256: placementSha256(spec),
    ...(leaderTerm === undefined ? {} : { leaderTerm }),
    layout,
    ...(standbys.length === 0
      ? {}
      : { standbys: standbys.length, standbyGpus: standbys.reduce((sum, gpus) => sum + gpus, 0) }),
    ...(resume === undefined ? {} : { resumedFrom: resume, ...lossBeforeRestore(record) }),
    ...(passedOver.length === 0 ? {} : { passedOver: [...passedOver] }),
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
    claim: undefined,
    // Status never shows a later step than the one that training resumes from.
    checkpoint: resume === undefined ? undefined : { name: resume.checkpoint, step: resume.step },
    ...(answers === undefined ? {} : { resumeFrom: { ...answers, epoch }, failures: sentBack(record.failures) }),
    attempts: [...record.attempts, attempt].slice(-MAX_ATTEMPTS_IN_STATUS),
  };
}

/** GPUs of each standby of the placement. */
function standbyGpus(placement: PlacementSpec): readonly number[] {
  return placement.nodes.flatMap((_node, podIndex) =>
    hasRanks(placement, podIndex) ? [] : gpusOfPod(placement, podIndex),
  );
}

/** The plan's prediction, if the plan is for the placement's layout. */
function predictionOf(record: JobRecord, placement: PlacementSpec): Pick<Attempt, 'prediction'> {
  const { plan } = record;
  if (plan?.layout === undefined || !isSameDivision(plan.layout, placement.layout)) return {};
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
