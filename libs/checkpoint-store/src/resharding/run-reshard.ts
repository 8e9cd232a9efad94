/** Carries out a plan: pieces first, metadata last. Killed at any time and run again, it goes on with the pieces that are not there. */
import { createHash } from 'node:crypto';
import {
  type KeyPath,
  type PlannedPiece,
  plannedState,
  RESHARD_FILE,
  type ReshardPlan,
  writeDcpMetadata,
} from '@coxswain/checkpoint';
import { StoreError } from '../store-error.ts';
import { type Resharding, reshardPiece } from './reshard-piece.ts';

/** What is to be written, and by which worker of how many. */
export interface ReshardWork extends Resharding {
  readonly plan: ReshardPlan;
  readonly paths: ReadonlyMap<string, KeyPath> | undefined;
  /** Identifies the source: a save written anew under the same name must not continue another one's pieces. */
  readonly sourceId: string;
  /** Each worker takes the pieces of its number. */
  readonly worker?: { readonly index: number; readonly count: number };
}

/** What happened. */
export interface ReshardOutcome {
  /** The new save is complete. Otherwise other workers are not done. */
  readonly isComplete: boolean;
  readonly pieces: { readonly done: number; readonly found: number };
}

const INDEX_FILE = '.metadata';

/**
 * Writes the new save.
 * @throws StoreError if the target holds something else.
 */
export async function runReshard(work: ReshardWork): Promise<ReshardOutcome> {
  const metadata = writeDcpMetadata({ ...plannedState(work.plan), paths: work.paths });
  const id = idOf(work.sourceId, metadata);
  if (await isThere(work, id, metadata)) {
    await work.target.remove([RESHARD_FILE]);
    return { isComplete: true, pieces: { done: 0, found: work.plan.pieces.length } };
  }
  await claim(work, id);
  let [done, found] = [0, 0];
  for (const [index, piece] of work.plan.pieces.entries()) {
    const { index: own = 0, count = 1 } = work.worker ?? {};
    if (index % count !== own) continue;
    if (await isWritten(piece, work)) found++;
    else {
      await reshardPiece(piece, work);
      done++;
    }
  }
  const isComplete = await arePiecesWritten(work);
  if (isComplete) {
    await work.target.write(INDEX_FILE, [metadata], { ifAbsent: true });
    await work.target.remove([RESHARD_FILE]);
  }
  return { isComplete, pieces: { done, found } };
}

function idOf(sourceId: string, metadata: Uint8Array): string {
  return createHash('sha256').update(sourceId).update('\n').update(metadata).digest('hex');
}

/** Whether the target is the new save already; an error if it is another one. */
async function isThere({ target }: ReshardWork, id: string, metadata: Uint8Array): Promise<boolean> {
  const files = await target.list();
  const index = files.find(({ path }) => path === INDEX_FILE);
  if (index === undefined) {
    const claimed = files.some(({ path }) => path === RESHARD_FILE);
    if (files.length === 0 || claimed) return false;
    throw new StoreError(
      'Changed',
      `${target.location} is not empty: it holds ${files[0]?.path ?? ''}, and no part of this save. Name an empty directory.`,
    );
  }
  const there = await target.read(INDEX_FILE, 0, metadata.length + 1);
  if (Buffer.compare(there, metadata) === 0) return true;
  throw new StoreError(
    'Changed',
    `${target.location} holds another save (${id.slice(0, 12)} was to be written). Name an empty directory.`,
  );
}

async function claim({ target }: ReshardWork, id: string): Promise<void> {
  if (await target.write(RESHARD_FILE, [Buffer.from(id)], { ifAbsent: true })) return;
  const there = Buffer.from(await target.read(RESHARD_FILE, 0, 1024)).toString();
  if (there !== id)
    throw new StoreError(
      'Changed',
      `${target.location} holds a part of another conversion. Delete it, or name an empty directory.`,
    );
}

/** A file appears whole or not at all, so one of the planned size is done. */
async function isWritten(piece: PlannedPiece, work: ReshardWork): Promise<boolean> {
  const there = new Map((await work.target.list()).map(({ path, bytes }) => [path, bytes]));
  return [...piece.files].every(([file, bytes]) => there.get(file) === bytes);
}

async function arePiecesWritten(work: ReshardWork): Promise<boolean> {
  const there = new Map((await work.target.list()).map(({ path, bytes }) => [path, bytes]));
  return work.plan.pieces.every(({ files }) => [...files].every(([file, bytes]) => there.get(file) === bytes));
}
