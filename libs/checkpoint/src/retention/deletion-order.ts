/** In which order are the files of a save deleted, so that no half of one ever counts as a save? */
import { isMarkerFile } from '../formats/formats.ts';
import { DELETION_FILE } from '../read/save-files.ts';

/** Files of a save by the phase that deletes them. */
export interface DeletionOrder {
  /** Without them no engine loads the save, and no verification calls it sound. */
  readonly markers: readonly string[];
  readonly data: readonly string[];
}

/**
 * Orders the deletion of a save with files of these paths, relative to it. {@link DELETION_FILE} is in neither phase: it is written before the
 * first and deleted after the last, so that a deletion that was interrupted is seen and goes on.
 */
export function deletionOrder(paths: readonly string[]): DeletionOrder {
  const own = paths.filter((path) => path !== DELETION_FILE);
  return {
    markers: own.filter((path) => isMarkerFile(path)),
    data: own.filter((path) => !isMarkerFile(path)),
  };
}
