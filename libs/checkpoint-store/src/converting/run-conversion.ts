/** Carries out the plan of a conversion: files first, index last. Killed at any time and run again, it goes on with the files that are not there. */
import { createHash } from 'node:crypto';
import {
  type ConversionPlan,
  type ConvertedFile,
  RESHARD_FILE,
  type SavedTensor,
  sourcesOf,
  volumeOf,
} from '@coxswain/checkpoint';
import type { CheckpointStore } from '../checkpoint-store.ts';
import { fileOfDraft } from '../directory/directory-store.ts';
import { SourceDamaged } from '../resharding/reshard-piece.ts';
import { StoreError } from '../store-error.ts';
import { contentOf, elementsOf, widthOf } from './converted-bytes.ts';
import { type ElementSource, SourceElements } from './source-elements.ts';

/** What is to be written. */
export interface ConversionWork {
  readonly plan: ConversionPlan;
  readonly source: ElementSource;
  /** Identifies the source: a save written anew under the same name must not continue another one's files. */
  readonly sourceId: string;
  readonly target: CheckpointStore;
  /** Bytes that are read and written at a time. Memory is a small multiple of it. */
  readonly bandBytes: number;
}

/** Files that this run wrote, and those that were there. */
export interface ConversionOutcome {
  readonly files: { readonly done: number; readonly found: number };
}

/** Files that are written at the same time. */
const AT_ONCE = 2;

/**
 * Writes the new save.
 * @throws StoreError if the target holds something else, SourceDamaged if the source does not hold what was saved.
 */
export async function runConversion(work: ConversionWork): Promise<ConversionOutcome> {
  const { plan, target } = work;
  const id = idOf(work);
  const there = new Map((await target.list()).map(({ path, bytes }) => [path, bytes]));
  const published = plan.publish(id);
  if (await isComplete(work, there, published)) return { files: { done: 0, found: plan.files.length } };
  const source = new SourceElements(work.source);
  // Before the target is claimed: what mends a difference is another plan, and it has the same target.
  for (const pair of plan.mustBeEqual) await requireEqual(pair, source, work.bandBytes);
  await claim(work, there, id);
  const missing = plan.files.filter(({ path, bytes }) => there.get(path) !== bytes);
  await writeFiles(missing, source, work);
  await compareSource(source, work);
  const planned = new Set(plan.files.map(({ path }) => path));
  const drafts = (await target.list()).filter(({ path }) => planned.has(fileOfDraft(path) ?? ''));
  if (drafts.length > 0) await target.remove(drafts.map(({ path }) => path));
  for (const [path, bytes] of published) await target.write(path, [bytes]);
  await target.remove([RESHARD_FILE]);
  return { files: { done: missing.length, found: plan.files.length - missing.length } };
}

/** Of plan and source. */
function idOf({ plan, sourceId }: ConversionWork): string {
  const hash = createHash('sha256').update(sourceId);
  for (const { path, bytes } of plan.files) hash.update(`\n${String(bytes)} ${path}`);
  for (const { key, dtype, shape } of plan.tensors) hash.update(`\n${dtype} ${shape.join()} ${JSON.stringify(key)}`);
  for (const [path, bytes] of plan.publish('')) hash.update(`\n${path}\n`).update(bytes);
  return hash.digest('hex');
}

type Files = ReadonlyMap<string, number>;

/** The last file that is published is there only if the save was complete once. Its other files can be gone since. */
async function isComplete(
  { target, plan }: ConversionWork,
  there: Files,
  published: ReturnType<ConversionPlan['publish']>,
): Promise<boolean> {
  const [path, bytes] = published.at(-1) ?? ['', new Uint8Array()];
  if (!there.has(path)) return false;
  const found = await target.read(path, 0, bytes.length + 1);
  if (Buffer.compare(found, bytes) !== 0)
    throw new StoreError('Changed', `${target.location} already holds another save. Name an empty directory.`);
  const sizes = [...plan.files.map((file) => [file.path, file.bytes] as const), ...published.map(sizeOf)];
  const [lost] = sizes.find(([file, size]) => there.get(file) !== size) ?? [];
  if (lost === undefined) return true;
  throw new StoreError(
    'Changed',
    `${target.location} holds this save, but ${lost} is missing or has another size. Delete it, or name an empty directory.`,
  );
}

function sizeOf([path, bytes]: readonly [string, Uint8Array]): readonly [path: string, bytes: number] {
  return [path, bytes.length];
}

/** An error if the target holds something else than a part of the new save. */
async function claim({ target }: ConversionWork, there: Files, id: string): Promise<void> {
  const [other] = there.keys();
  if (other !== undefined && !there.has(RESHARD_FILE))
    throw new StoreError(
      'Changed',
      `${target.location} is not empty: it holds ${other}, and no part of this save. Name an empty directory.`,
    );
  if (await target.write(RESHARD_FILE, [Buffer.from(id)], { ifAbsent: true })) return;
  if (Buffer.from(await target.read(RESHARD_FILE, 0, 1024)).toString() === id) return;
  throw new StoreError(
    'Changed',
    `${target.location} holds a part of another save that was not completed. Delete it, or name an empty directory.`,
  );
}

async function writeFiles(
  files: readonly ConvertedFile[],
  source: SourceElements,
  { target, bandBytes }: ConversionWork,
): Promise<void> {
  const waiting = [...files];
  const failed = { value: false };
  const writer = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined && !failed.value; file = waiting.shift()) {
      try {
        await target.write(file.path, contentOf(file, source, bandBytes));
      } catch (error) {
        failed.value = true;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, writer));
  const rejected = ended.find((one) => one.status === 'rejected');
  if (rejected !== undefined) throw rejected.reason;
}

/** Compares all that was read with its checksums, also what a run before this one read. Files of a source that is damaged or that changed are removed. */
async function compareSource(source: SourceElements, work: ConversionWork): Promise<void> {
  const { plan, target, bandBytes } = work;
  const sources = new Set(plan.tensors.flatMap((tensor) => [...sourcesOf(tensor)]));
  for (const tensor of sources) await source.expect(tensor);
  try {
    await source.compare(bandBytes);
    await requireUnchanged(sources, work);
  } catch (error) {
    if (error instanceof SourceDamaged) await target.remove([...plan.files.map(({ path }) => path), RESHARD_FILE]);
    throw error;
  }
}

/** Formats without checksums do not show that a file was written again while it was read. */
async function requireUnchanged(sources: ReadonlySet<SavedTensor>, { source }: ConversionWork): Promise<void> {
  const read = new Set([...sources].flatMap(({ chunks }) => chunks.map(({ item }) => item?.file)));
  const now = new Map((await source.store.list()).map((file) => [file.path, file]));
  const changed = source.files.find((before) => {
    const after = now.get(before.path);
    return read.has(before.path) && (after?.bytes !== before.bytes || after.writtenMs !== before.writtenMs);
  });
  if (changed !== undefined)
    throw new SourceDamaged(
      `${changed.path} in ${source.store.location} was changed while it was read. The new save was removed: run it again when nothing writes to the source.`,
    );
}

async function requireEqual(
  { one, other, refusal }: ConversionPlan['mustBeEqual'][number],
  source: SourceElements,
  bandBytes: number,
): Promise<void> {
  const refuse = (): never => {
    throw new SourceDamaged(refusal);
  };
  if (one.dtype !== other.dtype) refuse();
  // Rows beyond those of the other are padding.
  const to = Math.min(volumeOf(one.shape), volumeOf(other.shape));
  // Bands of both have as many elements, also where only one of them is cast.
  const banding = { source, bandBytes, itemBytes: Math.max(widthOf(one), widthOf(other)) };
  const others = elementsOf(other, { from: 0, to }, banding);
  for await (const bytes of elementsOf(one, { from: 0, to }, banding)) {
    const found = await others.next();
    if (found.done === true || Buffer.compare(bytes, found.value) !== 0) refuse();
  }
}
