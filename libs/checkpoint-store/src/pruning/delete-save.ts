import { DELETION_FILE, deletionOrder } from '@coxswain/checkpoint';
import type { CheckpointStore } from '../checkpoint-store.ts';

/**
 * Deletes a save: all files below `folder`, whose paths relative to it are `paths`. If it is interrupted, {@link DELETION_FILE} stays in the
 * save, no engine loads what is left, and calling it again with the paths that are left completes it.
 */
export async function deleteSave(store: CheckpointStore, folder: string, paths: readonly string[]): Promise<void> {
  const { markers, data } = deletionOrder(paths);
  const at = (path: string): string => `${folder}/${path}`;
  await store.write(at(DELETION_FILE), [new Uint8Array()], { ifAbsent: true });
  await store.remove(markers.map(at));
  await store.remove(data.map(at));
  await store.remove([at(DELETION_FILE)]);
}
