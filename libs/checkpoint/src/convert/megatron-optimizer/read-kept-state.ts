/** Reads what a `dp_reshardable` save of Megatron-LM holds beside tensors, and what of it a `fully_reshardable` one holds. */
import { fullyReshardableCommon } from '../../formats/torch-dist/reshardable-common.ts';
import { COMMON_FILE } from '../../formats/torch-dist/torch-dist.ts';
import { torchSavePickle } from '../../formats/torch-save/write-value.ts';
import { readPayload, readRecords, recordNamed } from '../../formats/zip/read-archive.ts';
import type { Crc32, Reading, StoredFile } from '../../read/save-files.ts';
import type { SavedObject, SavedState, StoredItem } from '../../read/saved-state.ts';
import { UnreadableSave, withContext } from '../../read/unreadable-save.ts';
import { readCheckedItem } from '../../verify/archives.ts';
import { requireBuckets } from './optimizer-buckets.ts';
import type { KeptState } from '../target-files.ts';

/** `optimizer.distributed.dp_group_idx_<rank>.<name>/shard_0_1` */
const OF_OPTIMIZER = /^optimizer\.distributed\.dp_group_idx_(\d{1,6})\.(\w{1,64})\/shard_0_1$/;
/** Lengths of buckets, which only buckets have. */
const OF_BUCKETS = new Set(['per_bucket_numel', 'per_bucket_numel_unpadded']);
/** Extra states and random states have 1 kB each. All of them are in memory. */
const MAX_BYTES = 256 << 20;
const MAX_COMMON = 16 << 20;

/**
 * Objects and common state.
 * @throws UnplannableSave if its optimizer is not stored in buckets, UnreadableSave if objects are damaged, or in a form that is not known here. The message is a sentence without its full stop.
 */
export function* readKeptState(state: SavedState, files: readonly StoredFile[], crc32: Crc32): Reading<KeptState> {
  requireBuckets(state);
  const file = files.find(({ path }) => path === COMMON_FILE);
  if (file === undefined)
    throw new UnreadableSave(
      `The save has no ${COMMON_FILE}: Megatron-Core 0.17 and later store the common state in another form, which is not converted here`,
    );
  const settings = new Map<string, Uint8Array>();
  const kept: { readonly key: string; readonly bytes: Uint8Array }[] = [];
  let left = MAX_BYTES;
  for (const object of state.objects) {
    const [, rank, name] = OF_OPTIMIZER.exec(object.key) ?? [];
    if (name === undefined) {
      const bytes = yield* readWhole(object, left, crc32);
      left -= bytes.length;
      kept.push({ key: object.key, bytes });
      continue;
    }
    // Megatron-Core stores the common state of the first rank alone.
    if (rank !== '0' || OF_BUCKETS.has(name)) continue;
    if (object.item === undefined) throw new UnreadableSave(`The save does not say where object ${object.key} is`);
    settings.set(name, yield* readOnlyPickle(object.key, object.item));
  }
  const item = { file: COMMON_FILE, offset: 0, length: file.bytes };
  const common = fullyReshardableCommon(yield* readOnlyPickle(COMMON_FILE, item), settings);
  return { objects: kept, common: torchSavePickle(common, crc32) };
}

function* readWhole({ key, item }: SavedObject, left: number, crc32: Crc32): Reading<Uint8Array> {
  if (item === undefined) throw new UnreadableSave(`The save does not say where object ${key} is`);
  if (item.length > left) throw new UnreadableSave(`Objects of the save have more than ${String(MAX_BYTES)} bytes`);
  try {
    return yield* readCheckedItem({ key, item }, crc32);
  } catch (error) {
    if (error instanceof UnreadableSave) throw withContext(error, `Object ${key} `);
    throw error;
  }
}

/** The pickle of a value without tensors. */
function* readOnlyPickle(what: string, item: StoredItem): Reading<Uint8Array> {
  const records = yield* readRecords(item);
  const tensor = records.find(({ name }) => name.startsWith('data/'));
  if (tensor !== undefined)
    throw new UnreadableSave(
      `${what} holds tensors, as the gradient scaler of fp16 does, and only values without tensors are converted here`,
    );
  const pickle = recordNamed(records, 'data.pkl');
  if (!pickle.isStored || pickle.bytes > MAX_COMMON)
    throw new UnreadableSave(`${what} has a pickle that is compressed, or larger than any of settings`);
  return yield* readPayload(item, pickle);
}
