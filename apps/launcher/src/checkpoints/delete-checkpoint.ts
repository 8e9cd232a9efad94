/** Deletes a save in a pod of its own, for the retention of the operator. The termination message is the answer. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type DeletionAnswer, DeletionQuestion, POD_PATHS } from '@coxswain/api-types';
import {
  CheckpointManifest,
  deletionOf,
  isConversionFolder,
  isPartFile,
  MANIFEST_FILE,
  type StoredFile,
  UPLOAD_FILE,
} from '@coxswain/checkpoint';
import { type CheckpointStore, deleteSave, DirectoryStore } from '@coxswain/checkpoint-store';
import { safeText } from '@coxswain/safe-text';

const MAX_MANIFEST_BYTES = 64 << 20;
const MAX_REASON_CHARACTERS = 512;

/** Where the worker reads and deletes. */
export interface DeletionPlaces {
  /** The whole claim, read-only, or the bucket. */
  readonly claim: CheckpointStore;
  /** Holds the save as its folder `folder`, and is the only place to delete from. */
  readonly saves: CheckpointStore;
  readonly folder: string;
}

type SaveInClaim = DeletionQuestion['save'];

/** Opens the bucket that the environment names; undefined: it names none. */
export type OpenBucket = () => Promise<CheckpointStore | undefined>;

/** Answers the question and returns the exit code. An answer that says why nothing was deleted is one too. */
export async function runDeletion(
  question: string,
  environment: NodeJS.ProcessEnv,
  openBucket: OpenBucket = () => Promise.resolve(undefined),
): Promise<number> {
  const answer = await answerOf(question, openBucket);
  writeFileSync(environment['COXSWAIN_TERMINATION_LOG'] ?? POD_PATHS.terminationMessage, JSON.stringify(answer));
  return 0;
}

async function answerOf(text: string, openBucket: OpenBucket): Promise<DeletionAnswer> {
  try {
    const question = DeletionQuestion.parse(JSON.parse(text));
    return await deleteCheckpoint(question, await placesOf(question, openBucket));
  } catch (error) {
    return keptBecause(error instanceof Error ? error.message : String(error));
  }
}

/** Without its bucket every save would look gone. */
async function placesOf(
  { isInBucket, isConversion, save }: DeletionQuestion,
  openBucket: OpenBucket,
): Promise<DeletionPlaces> {
  if (isInBucket === true) {
    const bucket = await openBucket();
    if (bucket === undefined) throw new Error('no bucket is named in its environment');
    // What holds the folder of a conversion is that of the run, as on a claim.
    return { claim: bucket, saves: bucket, folder: isConversion === true ? dirname(save.path) : save.path };
  }
  return {
    claim: new DirectoryStore(POD_PATHS.checkpoints),
    saves: new DirectoryStore(dirname(POD_PATHS.save)),
    folder: basename(POD_PATHS.save),
  };
}

/**
 * Deletes the save, if it is the one that was recorded and the saves that are to survive it are whole. A deletion that has begun is completed in any case:
 * what is left of the save is none.
 */
export async function deleteCheckpoint(question: DeletionQuestion, places: DeletionPlaces): Promise<DeletionAnswer> {
  if (question.isConversion === true) return await deleteConversion(question, places);
  const { save, isMounted, survivors } = question;
  const { saves, folder } = places;
  const files = isMounted ? await filesBelow(saves, folder) : await filesBelow(places.claim, save.path);
  const { isBeingDeleted, isWrittenSince } = deletionOf(files);
  if (isBeingDeleted && isWrittenSince)
    return { version: 1, outcome: 'Unfinished', why: 'something wrote to it after its deletion began' };
  if (isBeingDeleted)
    return isMounted
      ? await complete(places, files)
      : { version: 1, outcome: 'Unfinished', why: 'its deletion has begun' };
  if (question.onlyIfBegun === true && files.length > 0)
    return keptBecause('its deletion had not begun, and is decided anew');
  const hindrance = await missingSurvivors(places.claim, survivors);
  if (hindrance !== undefined) return hindrance;
  if (files.length === 0) return { version: 1, outcome: 'Deleted', files: 0 };
  if (!isMounted) return keptBecause('its files are there');
  // The kubelet follows a link at the end of the path, and what it leads to is not this save.
  if ((await filesBelow(places.claim, save.path)).length !== files.length)
    return keptBecause('its folder is a link, or changes while it is read');
  const problem = await differenceOf(saves, folder, save, 'NoOtherFile');
  if (problem !== undefined) return keptBecause(problem);
  return await complete(places, files);
}

/** Deletes the folder of a conversion, also a half-written one. What is mounted is the directory that holds the folder. */
async function deleteConversion({ save }: DeletionQuestion, places: DeletionPlaces): Promise<DeletionAnswer> {
  if (!isConversionFolder(save.path)) return keptBecause(`${save.path} is no folder of a conversion`);
  const folder = `${places.folder}/${basename(save.path)}`;
  const files = await filesBelow(places.saves, folder);
  if ((await filesBelow(places.claim, save.path)).length !== files.length)
    return keptBecause('its folder is a link, or changes while it is read');
  return files.length === 0
    ? { version: 1, outcome: 'Deleted', files: 0 }
    : await complete({ ...places, folder }, files);
}

async function complete({ saves, folder }: DeletionPlaces, files: readonly StoredFile[]): Promise<DeletionAnswer> {
  try {
    await deleteSave(
      saves,
      folder,
      files.map(({ path }) => path),
    );
    return { version: 1, outcome: 'Deleted', files: files.length };
  } catch (error) {
    const why = safeText(error instanceof Error ? error.message : String(error), MAX_REASON_CHARACTERS);
    const { isBeingDeleted } = deletionOf(await filesBelow(saves, folder));
    // The first write failed, so that nothing has changed.
    return { version: 1, outcome: isBeingDeleted ? 'Unfinished' : 'Kept', why };
  }
}

/** Why nothing may be deleted: saves that are the reason for it are not whole. undefined: they are. */
async function missingSurvivors(
  claim: CheckpointStore,
  survivors: readonly SaveInClaim[],
): Promise<DeletionAnswer | undefined> {
  const differences: (string | undefined)[] = [];
  for (const survivor of survivors) differences.push(await differenceOf(claim, survivor.path, survivor, 'ItsFiles'));
  const [first] = differences.flatMap((why, index) =>
    why === undefined ? [] : [`${survivors[index]?.path ?? ''}, which is to stay, is not whole: ${why}`],
  );
  if (first === undefined) return undefined;
  // A mount that is not there looks empty. That files are absent counts only beside a save that reads.
  const isReadable = differences.includes(undefined);
  const absent = differences.flatMap((why, index) => (why === ABSENT && isReadable ? [index] : []));
  return { ...keptBecause(first), ...(absent.length === 0 ? {} : { absent }) };
}

const ABSENT = 'it has no files';

/** How the save differs from what was recorded; undefined: not at all. */
async function differenceOf(
  store: CheckpointStore,
  folder: string,
  { manifestSha256 }: SaveInClaim,
  /** What is compared beside the manifest: that each file of it is there with its size, or that no other file is. */
  compared: 'ItsFiles' | 'NoOtherFile',
): Promise<string | undefined> {
  const files = await filesBelow(store, folder);
  if (files.length === 0) return ABSENT;
  const sizes = new Map(files.map(({ path, bytes, isLink }) => [path, isLink === true ? undefined : bytes]));
  const bytes = sizes.get(MANIFEST_FILE);
  if (bytes === undefined || bytes > MAX_MANIFEST_BYTES) return `it has no ${MANIFEST_FILE}`;
  const text = await store.read(`${folder}/${MANIFEST_FILE}`, 0, bytes);
  if (createHash('sha256').update(text).digest('hex') !== manifestSha256)
    return `its ${MANIFEST_FILE} is not the one that was recorded`;
  const manifest = CheckpointManifest.safeParse(JSON.parse(new TextDecoder().decode(text)));
  if (!manifest.success) return `its ${MANIFEST_FILE} cannot be read`;
  if (compared === 'ItsFiles') {
    const changed = manifest.data.files.find((file) => sizes.get(file.path) !== file.bytes);
    return changed === undefined ? undefined : `${changed.path} is missing or has another size`;
  }
  const listed = new Set([MANIFEST_FILE, ...manifest.data.files.map(({ path }) => path)]);
  // An upload that was killed after it wrote the manifest left its marks.
  const other = files.find(({ path }) => !listed.has(path) && path !== UPLOAD_FILE && !isPartFile(path));
  return other === undefined ? undefined : `${other.path} was put into its folder later`;
}

/** Files of a folder, with paths relative to it; none if it does not exist. */
async function filesBelow(store: CheckpointStore, folder: string): Promise<readonly StoredFile[]> {
  const files = await store.list(folder);
  return files.map((file) => ({ ...file, path: file.path.slice(folder.length + 1) }));
}

function keptBecause(why: string): DeletionAnswer {
  return { version: 1, outcome: 'Kept', why: safeText(why, MAX_REASON_CHARACTERS) };
}
