/** Is there a universal checkpoint that was made from a save of DeepSpeed? */
import { basename, dirname, join } from 'node:path';
import { DEEPSPEED_POINTERS, universalCopyOf } from '@coxswain/checkpoint';
import type { CheckpointFiles } from './checkpoint-files.ts';

/** Anything longer is no name of a folder. */
const MAX_NAME_BYTES = 4096;

/** Whether a converted copy lies beside the save. What cannot be read counts as not there: it says nothing of the save. */
export async function hasUniversalCopy(
  directory: string,
  files: Pick<CheckpointFiles, 'read' | 'namesIn'>,
): Promise<boolean> {
  const folder = dirname(directory);
  try {
    const pointer = await files.read(join(folder, DEEPSPEED_POINTERS.universal), MAX_NAME_BYTES);
    const copy = universalCopyOf(basename(directory), pointer.toString('utf8'));
    return copy !== undefined && (await files.namesIn(join(folder, copy, 'zero'))).length > 0;
  } catch {
    return false;
  }
}
