/** Reshards a save of PyTorch DCP for another number of ranks. */
import type { ConversionOrder } from '@coxswain/api-types';
import { DCP_INDEX_FILE } from '@coxswain/checkpoint';
import { type CheckpointStore, planSave, runReshard, SourceDamaged } from '@coxswain/checkpoint-store';
import { writeManifest } from './converted-manifest.ts';

/** Where a conversion reads and writes, and when it has to end. */
export interface ConversionStores {
  readonly source: CheckpointStore;
  readonly target: CheckpointStore;
  readonly signal: AbortSignal;
}

/**
 * Writes the share of the worker. A run that was killed goes on where it was. A target that is complete stays as it is. Returns the SHA-256 of its manifest, if
 * the save is complete and has one.
 * @throws StoreError, SourceDamaged, UnplannableSave or UnreadableSave. Then no save was published.
 */
export async function reshardCheckpoint(
  { ranks = 1, divide = 'rows', worker }: Pick<ConversionOrder, 'ranks' | 'divide' | 'worker'>,
  { source, target, signal }: ConversionStores,
): Promise<string | undefined> {
  const files = await source.list();
  const planned = await planSave(source, files, { ranks, divide, signal });
  const share = worker && { worker: { index: worker.index, count: worker.of } };
  const work = { ...planned, source, files, target, signal, ...share };
  const { isComplete } = await runReshard(work).catch(async (error: unknown) => {
    // Another worker with the same order can have published the save meanwhile, and deleted the drafts of this one.
    if (error instanceof SourceDamaged || signal.aborted || !(await isPublished(target))) throw error;
    return await runReshard(work);
  });
  return isComplete ? await writeManifest(source, target) : undefined;
}

async function isPublished(target: CheckpointStore): Promise<boolean> {
  const files = await target.list().catch(() => []);
  return files.some(({ path }) => path === DCP_INDEX_FILE);
}
