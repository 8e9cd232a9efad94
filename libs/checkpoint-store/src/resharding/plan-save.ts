/** Plans how a save in a store is resharded: reads its metadata, and refuses a save that is not whole. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import {
  BROKEN_VERDICTS,
  DCP_INDEX_FILE,
  type Division,
  divideByLayout,
  divideColumns,
  divideRows,
  layoutProblem,
  pieceBytesFor,
  planReshard,
  ranksOfLayout,
  readKeyPaths,
  type ReshardLayout,
  type SavedTensor,
  type StoredFile,
  UnplannableSave,
  verifySave,
} from '@coxswain/checkpoint';
import type { CheckpointStore } from '../checkpoint-store.ts';
import { runReading } from '../reading/run-reading.ts';
import type { ReshardWork } from './run-reshard.ts';

/** How tensors are divided over ranks, by the names that users give. */
export const DIVISIONS = { rows: divideRows, columns: divideColumns } as const satisfies Record<
  string,
  (ranks: number) => Division
>;

/** What is to load the new save: so many ranks, each with its rows or columns of every tensor, or a layout. */
export type ReshardTarget =
  { readonly ranks: number; readonly divide: keyof typeof DIVISIONS } | { readonly layout: ReshardLayout };

/** What follows from a source and a layout. It is the same for a command and for a pod, so one continues the work of the other. */
export type PlannedSave = Pick<ReshardWork, 'plan' | 'paths' | 'sourceId' | 'bandBytes'>;

/** When planning ends early, and which metadata is read. */
interface PlanLimits {
  readonly signal?: AbortSignal;
  /** Absent: what a pod can hold. */
  readonly maxMetadataBytes?: number;
}

/** Read and written at a time. */
const BAND_BYTES = 4 << 20;

/**
 * The plan for a save of PyTorch DCP.
 * @throws UnplannableSave if it is none, is not whole, or cannot be divided.
 */
export async function planSave(
  store: CheckpointStore,
  files: readonly StoredFile[],
  { signal, maxMetadataBytes, ...target }: ReshardTarget & PlanLimits,
): Promise<PlannedSave> {
  const look = verifySave(files, {
    level: 'V1',
    crc32,
    sha256: () => createHash('sha256'),
    ...(maxMetadataBytes === undefined ? {} : { maxMetadataBytes }),
  });
  const { state, format, verdict, findings } = await runReading(store, files, look, signal ? { signal } : {});
  if (format === undefined) throw new UnplannableSave([`${store.location} is no save. ${findings[0]?.sentence ?? ''}`]);
  if (format !== 'dcp' || state === undefined)
    throw new UnplannableSave([
      `${store.location} is no save of PyTorch DCP (format ${format}); only those are divided anew. "coxswain checkpoint loads" says who loads it.`,
    ]);
  if (verdict === 'suspect' || BROKEN_VERDICTS.includes(verdict))
    throw new UnplannableSave([`${store.location} is ${verdict}: ${findings[0]?.sentence ?? ''} Use another save.`]);
  const { divide, ranks } = divisionOf(target, state.tensors);
  const plan = planReshard(state, { divide, pieceBytes: pieceBytesFor(ranks), crc32 });
  const bytes = files.find(({ path }) => path === DCP_INDEX_FILE)?.bytes ?? 0;
  const metadata = await store.read(DCP_INDEX_FILE, 0, bytes);
  return { plan, paths: readKeyPaths(metadata), sourceId: sourceIdOf(metadata, files), bandBytes: BAND_BYTES };
}

/** How the tensors are divided, and over how many ranks. */
function divisionOf(
  target: ReshardTarget,
  tensors: readonly SavedTensor[],
): { readonly divide: Division; readonly ranks: number } {
  if (!('layout' in target)) return { divide: DIVISIONS[target.divide](target.ranks), ranks: target.ranks };
  const keys = tensors.map(({ key }) => key);
  const problem = layoutProblem(target.layout, keys);
  if (problem !== undefined) throw new UnplannableSave([problem]);
  return { divide: divideByLayout(target.layout, keys), ranks: ranksOfLayout(target.layout) };
}

/** Identifies a save. Of one that is written again under the same name, files have other times. */
export function sourceIdOf(metadata: Uint8Array, files: readonly StoredFile[]): string {
  const hash = createHash('sha256').update(metadata);
  for (const { path, bytes, writtenMs = 0 } of files.toSorted((one, other) => (one.path < other.path ? -1 : 1)))
    hash.update(`\n${String(bytes)} ${String(writtenMs)} ${JSON.stringify(path)}`);
  return hash.digest('hex');
}
