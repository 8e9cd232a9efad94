/** Which claim of the job is full, according to the last lines of a rank? */
import { POD_PATHS, type TrainingJobSpec } from '@coxswain/api-types';

const FULL = /No space left on device|\bENOSPC\b|Disk quota exceeded|\bEDQUOT\b/;
/** What a save names if the error itself names no path. */
const SAVES = /\.distcp\b|distributed[./]checkpoint|\bdcp\.|torch\.save|save_checkpoint|[Cc]heckpoint \//;

/** `Claim tiny (spec.checkpoint.claimName) is full.`, or the same of the disk that a bucket needs; undefined: no line reports it, or no line shows the claim. */
export function describeFullClaim(
  spec: Pick<TrainingJobSpec, 'checkpoint' | 'scratch'> | undefined,
  lastLines: readonly string[],
): string | undefined {
  if (!lastLines.some((line) => FULL.test(line))) return undefined;
  const { checkpoint, scratch } = spec ?? {};
  const names = (path: string): boolean => lastLines.some((line) => line.includes(`${path}/`));
  if (scratch?.claimName !== undefined && names(POD_PATHS.scratch) && !names(POD_PATHS.checkpoints))
    return sentence(scratch.claimName, 'spec.scratch.claimName');
  const isSave = names(POD_PATHS.checkpoints) || lastLines.some((line) => SAVES.test(line));
  if (checkpoint === undefined || !isSave) return undefined;
  const { claimName, bucket } = checkpoint;
  if (bucket !== undefined) return LOCAL_DISK;
  return claimName === undefined ? undefined : sentence(claimName, 'spec.checkpoint.claimName');
}

const LOCAL_DISK = `The disk of the node at ${POD_PATHS.checkpoints}, which keeps saves until they are in the bucket (spec.checkpoint.bucket), is full: save less often, or use nodes with room for three saves.`;

function sentence(claim: string, field: string): string {
  return `Claim ${claim} (${field}) is full: enlarge it, or delete what is not needed.`;
}
