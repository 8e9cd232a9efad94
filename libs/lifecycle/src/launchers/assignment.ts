import {
  formatRanks,
  memberCount,
  type OperatorMessage,
  POD_PATHS,
  ranksOfPod,
  seatOf,
  type Attempt,
  type PlacementSpec,
  type RankAssignment,
  type TrainingJob,
} from '@coxswain/api-types';
import { saveDirectoryOf } from '@coxswain/checkpoint';

/** What a launcher's assignment is derived from. */
export interface Assigning {
  readonly job: Pick<TrainingJob, 'metadata' | 'spec'>;
  /** The recorded placement of that attempt, with the ranks in the pods that hold them now. */
  readonly placement: PlacementSpec;
  readonly attempt: Attempt;
}

/** A standby is a gang of its own: it measures itself, and starts nothing. */
const ALONE = { podIndex: 0, podCount: 1 } as const;

/**
 * The ranks of pod `podIndex` in the attempt's newest incarnation, and the checkpoint that they begin from. undefined: the recorded
 * starting point is incomplete, and ranks must not begin from scratch for that reason.
 */
export function assignmentOf({ job, placement, attempt }: Assigning, podIndex: number): RankAssignment | undefined {
  const { epoch, incarnation = 1 } = attempt;
  const resume = resumeOf(placement, attempt);
  if (resume === 'unknown') return undefined;
  const saveDirectory = saveDirectoryOf(job, { epoch, incarnation });
  const ranks = formatRanks(ranksOfPod(placement, podIndex));
  const place = ranks === '' ? ALONE : { podIndex: seatOf(podIndex, attempt), podCount: memberCount(placement) };
  return {
    epoch,
    incarnation,
    ...place,
    ranks,
    worldSize: placement.worldSize,
    ...(saveDirectory === undefined ? {} : { saveDirectory }),
    ...(resume === undefined ? {} : { resume }),
    ...(attempt.memorySave === undefined ? {} : { memorySave: attempt.memorySave }),
    ...(job.spec.restartPolicy.inPlace === 'WhenPossible' ? { onFailure: 'wait' } : {}),
  };
}

/** The first incarnation begins as its epoch was placed; a later one begins as its attempt records. */
function resumeOf(placement: PlacementSpec, attempt: Attempt): RankAssignment['resume'] | 'unknown' {
  const resume = (attempt.incarnation ?? 1) === 1 ? placement.resume : attempt.resumedFrom;
  if (resume === undefined) return undefined;
  const { step, path, manifestSha256, claimName, filesSha256 } = resume;
  if (path === undefined || manifestSha256 === undefined) return 'unknown';
  return {
    step,
    path,
    manifestSha256,
    ...(claimName === undefined ? {} : { mountPath: POD_PATHS.adoptedCheckpoint }),
    ...(filesSha256 === undefined ? {} : { filesSha256 }),
  };
}

/** The order to verify the suspect checkpoints that the attempt passes over; undefined: there are none, or the pod is not that of rank 0. */
export function verifyWantedOf(
  { placement, attempt }: Pick<Assigning, 'placement' | 'attempt'>,
  podIndex: number,
): Extract<OperatorMessage, { kind: 'verifyWanted' }> | undefined {
  const { epoch, incarnation = 1, passedOver = [] } = attempt;
  if (passedOver.length === 0 || !ranksOfPod(placement, podIndex).includes(0)) return undefined;
  const checkpoints = passedOver.map(({ checkpoint, path, manifestSha256, files }) => ({
    checkpoint,
    path,
    manifestSha256,
    files,
  }));
  return { kind: 'verifyWanted', epoch, incarnation, checkpoints };
}
