/** Carries out a plan: pieces first, metadata last. Killed at any time and run again, it goes on with the pieces that are not there. */
import { createHash } from 'node:crypto';
import {
  DCP_INDEX_FILE,
  type KeyPath,
  MANIFEST_FILE,
  type PlannedPiece,
  plannedState,
  RESHARD_FILE,
  type ReshardPlan,
  sharesOf,
  type StoredFile,
  writeDcpMetadata,
} from '@coxswain/checkpoint';
import { fileOfDraft } from '../directory/directory-store.ts';
import { StoreError } from '../store-error.ts';
import { type Resharding, reshardPiece } from './reshard-piece.ts';

/** What is to be written, and by which worker of how many. */
export interface ReshardWork extends Resharding {
  readonly plan: ReshardPlan;
  readonly paths: ReadonlyMap<string, KeyPath> | undefined;
  /** Identifies the source: a save written anew under the same name must not continue another one's pieces. */
  readonly sourceId: string;
  /** Each worker takes its share of the pieces. */
  readonly worker?: { readonly index: number; readonly count: number };
}

/** What happened. */
export interface ReshardOutcome {
  /** The new save is complete. Otherwise other workers are not done. */
  readonly isComplete: boolean;
  readonly pieces: { readonly done: number; readonly found: number };
  /** Files that the source's metadata does not name, copied as they are. */
  readonly others: number;
}

/**
 * Writes the new save.
 * @throws StoreError if the target holds something else.
 */
export async function runReshard(work: ReshardWork): Promise<ReshardOutcome> {
  const saved = { ...plannedState(work.plan), paths: work.paths };
  const id = createHash('sha256').update(work.sourceId).update('\n').update(writeDcpMetadata(saved)).digest('hex');
  // PyTorch's own field for the identity of a save: so a save that was made from another one is another file.
  const metadata = writeDcpMetadata({ ...saved, saveId: id });
  const there = await filesOf(work);
  await requireOwn(work, there, { id, metadata });
  const [own, isFinished] = [ownPieces(work), there.has(DCP_INDEX_FILE)];
  let done = 0;
  for (const piece of own) {
    if (isWritten(piece, there)) continue;
    await reshardPiece(piece, work);
    done++;
  }
  const others = await copyOthers(work, there);
  const isComplete = await complete(work, isFinished, metadata);
  return { isComplete, pieces: { done, found: own.length - done }, others };
}

function ownPieces({ plan, worker: { index, count } = { index: 0, count: 1 } }: ReshardWork): readonly PlannedPiece[] {
  return sharesOf(plan, count)[index] ?? [];
}

type Files = ReadonlyMap<string, number>;

async function filesOf({ target }: ReshardWork): Promise<Files> {
  return new Map((await target.list()).map(({ path, bytes }) => [path, bytes]));
}

/** An error if the target holds something else than a part of the new save, or all of it. */
async function requireOwn(
  { target }: ReshardWork,
  there: Files,
  { id, metadata }: { readonly id: string; readonly metadata: Uint8Array },
): Promise<void> {
  if (there.has(DCP_INDEX_FILE)) {
    const found = await target.read(DCP_INDEX_FILE, 0, metadata.length + 1);
    if (Buffer.compare(found, metadata) === 0) return;
    throw new StoreError('Changed', `${target.location} already holds another save. Name an empty directory.`);
  }
  const [other] = there.keys();
  if (other !== undefined && !there.has(RESHARD_FILE))
    throw new StoreError(
      'Changed',
      `${target.location} is not empty: it holds ${other}, and no part of this save. Name an empty directory.`,
    );
  if (await target.write(RESHARD_FILE, [Buffer.from(id)], { ifAbsent: true })) return;
  const claimed = Buffer.from(await target.read(RESHARD_FILE, 0, 1024)).toString();
  if (claimed !== id)
    throw new StoreError(
      'Changed',
      `${target.location} holds a part of another save that was not completed. Delete it, or name an empty directory.`,
    );
}

/** A file appears whole or not at all, so one of the planned size is done. */
function isWritten({ files }: PlannedPiece, there: Files): boolean {
  return [...files].every(([file, bytes]) => there.get(file) === bytes);
}

/** Reads so much of another file at a time. */
const COPY_BYTES = 4 << 20;

/** Copies what engines put beside a save, such as `meta.pt`. A manifest of Coxswain lists files that the new save does not have. */
async function copyOthers({ plan, source, files, target }: ReshardWork, there: Files): Promise<number> {
  const named = new Set<string | undefined>();
  for (const { sources, objects } of plan.pieces) {
    for (const { chunks } of sources) for (const { item } of chunks) named.add(item?.file);
    for (const { object } of objects) named.add(object.item?.file);
  }
  const isOther = ({ path, isLink }: StoredFile): boolean =>
    !named.has(path) && !path.endsWith('.distcp') && !OWN_FILES.has(path) && isLink !== true;
  const others = files.filter(isOther);
  for (const { path, bytes } of others)
    if (there.get(path) !== bytes) await target.write(path, contentOf({ source, path, bytes }));
  return others.length;
}

const OWN_FILES: ReadonlySet<string> = new Set([DCP_INDEX_FILE, RESHARD_FILE, MANIFEST_FILE]);

async function* contentOf({
  source,
  path,
  bytes,
}: Pick<ReshardWork, 'source'> & Pick<StoredFile, 'path' | 'bytes'>): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += COPY_BYTES) yield await source.read(path, at, Math.min(COPY_BYTES, bytes - at));
}

/** Publishes the save if all pieces are there. Returns whether it is complete. */
async function complete(work: ReshardWork, isFinished: boolean, metadata: Uint8Array): Promise<boolean> {
  const there = await filesOf(work);
  if (!work.plan.pieces.every((piece) => isWritten(piece, there))) return false;
  // Of writers that were killed.
  const planned = new Set(work.plan.pieces.flatMap(({ files }) => [...files.keys()]));
  const drafts = [...there.keys()].filter((path) => planned.has(fileOfDraft(path) ?? ''));
  if (drafts.length > 0 && !isFinished) await work.target.remove(drafts);
  await work.target.write(DCP_INDEX_FILE, [metadata], { ifAbsent: true });
  await work.target.remove([RESHARD_FILE]);
  return true;
}
