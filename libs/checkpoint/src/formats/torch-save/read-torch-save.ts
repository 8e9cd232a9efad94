/** Reads files of `torch.save`: a zip archive with `data.pkl`, a pickle of protocol 2 that refers to the records `data/<n>`. */
import { readBytes, type Reading, type StoredFile } from '../../read/save-files.ts';
import type { StoredItem } from '../../read/saved-state.ts';
import { UnreadableSave, withContext } from '../../read/unreadable-save.ts';
import type { PickleValue } from '../pickle/pickle-value.ts';
import { type PickleForms, SIZES_AS_ARRAYS } from '../pickle/pickle-forms.ts';
import { readPickle } from '../pickle/read-pickle.ts';
import type { ArchiveRecord } from '../zip/archive.ts';
import { readPayload, readRecords, recordNamed } from '../zip/read-archive.ts';

/** A pickle names tensors and holds no elements: 130 bytes a tensor. */
const MAX_PICKLE = 32 << 20;
/** `little` or `big`. */
const MAX_BYTE_ORDER = 16;

const ZIP = [0x50, 0x4b, 3, 4];
/** torch.serialization.MAGIC_NUMBER as a pickle of protocol 2, with which files begin that PyTorch wrote before release 1.6. */
const LEGACY = [0x80, 2, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];

const FORMS: PickleForms = {
  calls: SIZES_AS_ARRAYS,
};

/** A file of `torch.save`. */
export interface TorchSave {
  readonly path: string;
  readonly bytes: number;
  readonly records: readonly ArchiveRecord[];
  /** What was saved. Tensors are {@link PickleValue} objects; `archivedTensor` reads them. */
  readonly value: PickleValue;
}

/**
 * What a file of `torch.save` holds, without the elements of its tensors.
 * @throws UnreadableSave if it is none, or is written in a way that is not read here; the message continues a sentence that
 * starts with the file.
 */
export function* readTorchSave(files: readonly StoredFile[], path: string): Reading<PickleValue> {
  return (yield* openTorchSave(files, path)).value;
}

/** {@link readTorchSave} with the records of the archive. */
export function* openTorchSave(files: readonly StoredFile[], path: string): Reading<TorchSave> {
  const file = files.find((each) => each.path === path);
  if (file === undefined) throw new UnreadableSave('is not there');
  if (file.isLink === true) throw new UnreadableSave('is a link, which is not followed');
  checkHead(yield* readBytes(path, 0, Math.min(LEGACY.length, file.bytes)));
  const archive = { file: path, offset: 0, length: file.bytes };
  const records = yield* readRecords(archive);
  yield* checkByteOrder(archive, records);
  const pickle = recordNamed(records, 'data.pkl');
  if (!pickle.isStored) throw new UnreadableSave('has a compressed record data.pkl, which torch.save never writes');
  if (pickle.bytes > MAX_PICKLE)
    throw new UnreadableSave(`has a pickle of ${String(pickle.bytes)} bytes, larger than any of a checkpoint`);
  try {
    return { path, bytes: file.bytes, records, value: readPickle(yield* readPayload(archive, pickle), FORMS) };
  } catch (error) {
    if (error instanceof UnreadableSave) throw withContext(error, 'has a data.pkl that cannot be read: ');
    throw error;
  }
}

function checkHead(head: Uint8Array): void {
  const begins = (mark: readonly number[]): boolean => mark.every((byte, at) => head[at] === byte);
  if (begins(LEGACY))
    throw new UnreadableSave(
      'is written in the form of PyTorch before 1.6, which is not read here; load it with PyTorch and save it again',
    );
  if (!begins(ZIP)) throw new UnreadableSave('does not begin as a file of torch.save does');
}

/** PyTorch swaps the bytes of a file that says `big`. Nothing here does, so such a file is refused. A file of before 2.1 says nothing. */
function* checkByteOrder(archive: StoredItem, records: readonly ArchiveRecord[]): Reading<void> {
  const record = records.find(({ name }) => name === 'byteorder');
  if (record === undefined) return;
  const order = record.bytes > MAX_BYTE_ORDER ? '' : new TextDecoder().decode(yield* readPayload(archive, record));
  if (order !== 'little')
    throw new UnreadableSave(`has byte order ${JSON.stringify(order)}, and only little is read here`);
}
