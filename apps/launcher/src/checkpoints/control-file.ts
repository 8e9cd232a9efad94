/** Does the storage of a checkpoint read right at this moment? A file beside the checkpoint tells, so that no checkpoint is blamed for its storage. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { CheckpointFault } from '@coxswain/api-types';
import { type CheckpointFiles, errnoOf } from './checkpoint-files.ts';

/** right: what was written was read. wrong: it could not be written or read, or read otherwise. unknown: no file may be written there. */
type ControlReading = 'right' | 'wrong' | 'unknown';

/** Storage that works answers these where a file must not or cannot be added, or cannot be flushed. */
const NOT_ADDED = ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];
/** Longest `found` of a fault. */
const MAX_FOUND_CHARACTERS = 128;

/** Reads a control file in the folder that contains the checkpoint, which exists only while the claim is mounted. */
export async function readControl(checkpoint: string, files: CheckpointFiles): Promise<ControlReading> {
  // Another content each time, so that no cache can answer.
  const text = randomUUID();
  try {
    const found = await files.writeAndReadBack(join(dirname(checkpoint), `.coxswain-control-${hostname()}`), text);
    return found === text ? 'right' : 'wrong';
  } catch (error) {
    return NOT_ADDED.includes(errnoOf(error) ?? '') ? 'unknown' : 'wrong';
  }
}

/**
 * The fault as the control readings before and after it show it: only content beside a control that read right both times is evidence against the
 * checkpoint. `isListed`: whether the directory of the file can be listed and has its name.
 */
export function judgeFault(
  fault: CheckpointFault,
  controls: readonly ControlReading[],
  isListed: boolean | undefined,
): CheckpointFault {
  const { kind, path, errno, expected = 'what was saved', found = 'another content' } = fault;
  if (kind === 'MountBroken') return fault;
  if (controls.includes('wrong')) {
    if (kind === 'FileUnreadable') return { kind: 'MountBroken', path, ...(errno === undefined ? {} : { errno }) };
    const both = `${found}, and a control file beside it does not read`;
    return { kind: 'MountBroken', path, found: both.slice(-MAX_FOUND_CHARACTERS) };
  }
  if (controls.includes('unknown')) {
    return kind === 'ContentDiffers' ? { kind: 'FileUnreadable', path, expected, found } : fault;
  }
  const isGone = kind === 'FileUnreadable' && errno === 'ENOENT' && isListed === false;
  return isGone ? { kind: 'ContentDiffers', path, found: 'no file' } : fault;
}
