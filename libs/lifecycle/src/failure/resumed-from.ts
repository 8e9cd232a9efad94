/** How do status and Placement record the checkpoint that an attempt begins from? */
import { type Checkpoint, isAdopted, type PlacementSpec, type TrainingJobSpec } from '@coxswain/api-types';
import { comparedFileList } from '@coxswain/checkpoint';

/** The checkpoint as an attempt of this job records it. An adopted one may be on another claim, and have no manifest. */
export function resumedFromOf(
  checkpoint: Checkpoint,
  spec: Pick<TrainingJobSpec, 'checkpoint'> | undefined,
): NonNullable<PlacementSpec['resume']> {
  const { step, path, manifestSha256, claimName } = checkpoint.spec;
  const filesSha256 = comparedFileList(checkpoint);
  return {
    checkpoint: checkpoint.metadata.name,
    step,
    path,
    manifestSha256,
    // Checkpoints of the job itself are on the claim that it mounts.
    ...(isAdopted(checkpoint) && claimName !== spec?.checkpoint?.claimName ? { claimName } : {}),
    ...(filesSha256 === undefined ? {} : { filesSha256 }),
  };
}
