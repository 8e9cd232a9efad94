/** How do status and Placement record the checkpoint that an attempt begins from? */
import { type Checkpoint, isAdopted, type PlacementSpec, type TrainingJobSpec } from '@coxswain/api-types';
import { comparedFileList, pathForJob } from '@coxswain/checkpoint';

/** The checkpoint as an attempt of this job records it. An adopted one may be on another claim or prefix, and have no manifest. */
export function resumedFromOf(
  checkpoint: Checkpoint,
  spec: Pick<TrainingJobSpec, 'checkpoint'> | undefined,
): NonNullable<PlacementSpec['resume']> {
  const { step, manifestSha256, claimName, bucket } = checkpoint.spec;
  const path = pathForJob(checkpoint, spec?.checkpoint) ?? checkpoint.spec.path;
  const isOnClaim = isAdopted(checkpoint) && bucket === undefined;
  const filesSha256 = comparedFileList(checkpoint);
  return {
    checkpoint: checkpoint.metadata.name,
    step,
    path,
    manifestSha256,
    // Checkpoints of the job itself are on the claim that it mounts.
    ...(isOnClaim && claimName !== spec?.checkpoint?.claimName ? { claimName } : {}),
    ...(filesSha256 === undefined ? {} : { filesSha256 }),
  };
}
