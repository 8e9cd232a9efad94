/** Verifies saves of Megatron-LM: `torch_dist`, and what it saves in plain files of PyTorch Distributed Checkpoint. */
import type { PickleValue } from '../formats/pickle/pickle-value.ts';
import { readPickle } from '../formats/pickle/read-pickle.ts';
import { type CommonFacts, factsOfArguments, readCommonState } from '../formats/torch-dist/common-state.ts';
import { FSDP_DTENSOR } from '../formats/torch-dist/megatron-formats.ts';
import { holdsOf, isFsdpDtensor, kindOfKey, shardingOfKeys } from '../formats/torch-dist/megatron-keys.ts';
import { isShard, missingShards } from '../formats/torch-dist/sharded-objects.ts';
import { COMMON_FILE, COMMON_STATE, INDEX_FILE, TORCH_DIST } from '../formats/torch-dist/torch-dist.ts';
import { readPayload, readRecords, recordNamed } from '../formats/zip/read-archive.ts';
import { parseJson } from '../read/parse-json.ts';
import { readBytes, type Reading, type StoredFile } from '../read/save-files.ts';
import type { SavedFacts, SavedState, SavedTensor, StoredItem } from '../read/saved-state.ts';
import { UnreadableSave, withContext } from '../read/unreadable-save.ts';
import { checkContent, openItem } from './archives.ts';
import { describeUnreadable, type Finding, type FindingKind, type Level } from './finding.ts';
import { isUpTo, type Look, type LookOptions } from './look.ts';
import { verifyDcp } from './verify-dcp.ts';

/** The index has 120 bytes. */
const MAX_INDEX = 1 << 20;
/** Arguments and settings take 100 kB. */
const MAX_COMMON_STATE = 16 << 20;
/** More findings about objects say no more. */
const MAX_OBJECT_FINDINGS = 20;

/** Files that the metadata names. Tokenizers and settings of the engine may lie beside them. */
const DCP_FILE = /\.(?:distcp|metadata)$/;

/** Looks at a save of `torch_dist` up to a level. */
export function* verifyTorchDist(listed: readonly StoredFile[], options: LookOptions): Reading<Look> {
  const index = yield* checkIndex(listed);
  if (index?.kind === 'unverifiable') return { state: undefined, findings: [index] };
  const look = yield* verifyDcp(
    listed.filter(({ path }) => DCP_FILE.test(path)),
    options,
  );
  return yield* withCommonState(listed, { ...look, findings: [...(index ? [index] : []), ...look.findings] }, options);
}

/** Looks at files of PyTorch Distributed Checkpoint, which can be a save of Megatron-LM in one of its other formats. */
export function* verifyDcpOrMegatron(listed: readonly StoredFile[], options: LookOptions): Reading<Look> {
  const look = yield* verifyDcp(listed, options);
  const { state } = look;
  if (state === undefined) return look;
  if (isUnfinishedTorchDist(state, listed)) {
    const found = yield* withCommonState(listed, { ...look, findings: [NO_INDEX, ...look.findings] }, options);
    return { ...found, foundFormat: TORCH_DIST.names[0] };
  }
  if (!isFsdpDtensor(state)) return look;
  if (!isUpTo('V1', options)) return { ...look, foundFormat: FSDP_DTENSOR.names[0] };
  const valueOf = (key: string) => readObject(state.objects.find((object) => object.key === key)?.item, listed);
  const facts = factsOfArguments(yield* valueOf('args'));
  const step = yield* valueOf('iteration');
  return {
    ...look,
    foundFormat: FSDP_DTENSOR.names[0],
    state: withFacts(state, {
      ...facts,
      ...(typeof step === 'number' ? { step } : {}),
      optimizerSharding: FSDP_DTENSOR.names[0],
      hasScheduler: state.objects.some(({ key }) => key.startsWith('opt_param_scheduler')),
    }),
  };
}

/** Only metadata shows what this is if the index of torch_dist is missing. */
function isUnfinishedTorchDist({ objects }: SavedState, listed: readonly StoredFile[]): boolean {
  const hasCommonFile = listed.some(({ path }) => path === COMMON_FILE);
  return objects.some(({ key }) => key === COMMON_STATE || (hasCommonFile && isShard(key)));
}

/** Adds what the objects of the save show: the state that all ranks share, and whether each grid of objects is complete. */
function* withCommonState(listed: readonly StoredFile[], look: Look, options: LookOptions): Reading<Look> {
  if (look.state === undefined || !isUpTo('V1', options)) return look;
  const common = yield* readCommon(listed, look.state, options);
  return {
    state: withFacts(look.state, common.facts ?? { hasScheduler: undefined }),
    findings: [...look.findings, ...checkObjects(look.state), ...common.findings],
  };
}

const NO_INDEX: Finding = {
  level: 'V0',
  kind: 'incomplete',
  sentence: `The save has no ${INDEX_FILE}: it was not finished.`,
};

/** Megatron-Core writes the index after all else; without it, it loads nothing. undefined: nothing is wrong with it. */
function* checkIndex(listed: readonly StoredFile[]): Reading<Finding | undefined> {
  const found = (kind: FindingKind, sentence: string): Finding => ({ level: 'V0', kind, sentence });
  const file = listed.find(({ path }) => path === INDEX_FILE);
  if (file === undefined) return NO_INDEX;
  if (file.isLink === true) return found('damaged', `${INDEX_FILE} is a link, which is not followed.`);
  if (file.bytes > MAX_INDEX)
    return found('damaged', `${INDEX_FILE} has ${String(file.bytes)} bytes, more than any index.`);
  const backend = backendIn(yield* readBytes(INDEX_FILE, 0, file.bytes));
  if (backend === undefined) return found('damaged', `${INDEX_FILE} is cut, or is no JSON with a sharded_backend.`);
  return backend === TORCH_DIST.names[0]
    ? undefined
    : found('unverifiable', `${INDEX_FILE} names the format ${backend}, which is not read here.`);
}

/** undefined: it does not say. */
function backendIn(index: Uint8Array): string | undefined {
  try {
    const parsed = parseJson(index);
    const backend = parsed instanceof Object ? (parsed as { readonly sharded_backend?: unknown }).sharded_backend : '';
    return typeof backend === 'string' && /^\w{1,64}$/.test(backend) ? backend : undefined;
  } catch (error) {
    if (error instanceof UnreadableSave) return undefined;
    throw error;
  }
}

/** The state that all ranks share, and what is wrong with the file or object that holds it. */
function* readCommon(
  listed: readonly StoredFile[],
  state: SavedState,
  options: LookOptions,
): Reading<{ readonly facts?: CommonFacts; readonly findings: readonly Finding[] }> {
  const finding = (level: Level, kind: FindingKind, sentence: string) => ({ findings: [{ level, kind, sentence }] });
  const object = state.objects.find(({ key }) => key === COMMON_STATE);
  if (object !== undefined) {
    const value = yield* readObject(object.item, listed);
    return value === undefined ? { findings: [] } : { facts: readCommonState(value), findings: [] };
  }
  const file = listed.find(({ path }) => path === COMMON_FILE);
  if (file === undefined)
    return finding('V1', 'incomplete', `The save has no ${COMMON_FILE}: its arguments and its step are missing.`);
  if (file.isLink === true) return finding('V1', 'damaged', `${COMMON_FILE} is a link, which is not followed.`);
  const item = { file: COMMON_FILE, offset: 0, length: file.bytes };
  let level: Level = 'V1';
  try {
    const facts = readCommonState(yield* readValue(item));
    if (isUpTo('V3', options)) {
      level = 'V3';
      yield* checkContent(yield* openItem({ key: COMMON_FILE, item }), options.crc32);
    }
    return { facts, findings: [] };
  } catch (error) {
    if (error instanceof UnreadableSave) return { findings: describeUnreadable([{ path: COMMON_FILE, error }], level) };
    throw error;
  }
}

/**
 * What an object of the save is, as data. undefined: it is not there or cannot be read, which a look at files and items finds.
 */
function* readObject(item: StoredItem | undefined, listed: readonly StoredFile[]): Reading<PickleValue | undefined> {
  const file = listed.find(({ path }) => path === item?.file);
  if (item === undefined || file === undefined || file.isLink === true) return undefined;
  if (item.offset + item.length > file.bytes || item.transforms !== undefined) return undefined;
  try {
    return yield* readValue(item);
  } catch (error) {
    if (error instanceof UnreadableSave) return undefined;
    throw error;
  }
}

function* readValue(item: StoredItem): Reading<PickleValue> {
  const pickle = recordNamed(yield* readRecords(item), 'data.pkl');
  if (!pickle.isStored) throw new UnreadableSave('has a compressed record data.pkl, which torch.save never writes');
  if (pickle.bytes > MAX_COMMON_STATE)
    throw new UnreadableSave('has a pickle larger than any of arguments and settings');
  const bytes = yield* readPayload(item, pickle);
  try {
    return readPickle(bytes);
  } catch (error) {
    if (error instanceof UnreadableSave) throw withContext(error, 'has a data.pkl that cannot be read: ');
    throw error;
  }
}

function checkObjects({ objects }: SavedState): readonly Finding[] {
  return missingShards(objects.map(({ key }) => key))
    .slice(0, MAX_OBJECT_FINDINGS)
    .map(({ key, found, all, first }) => ({
      level: 'V1',
      kind: 'incomplete',
      sentence: `Object ${key} has ${String(found)} of ${String(all)} shards; ${first} is missing.`,
    }));
}

function withFacts(state: SavedState, { hasScheduler, ...facts }: CommonFacts): SavedState {
  const optimizerSharding = facts.optimizerSharding ?? shardingOfKeys(state);
  const held: SavedFacts = {
    ...facts,
    ...(optimizerSharding === undefined ? {} : { optimizerSharding }),
    holds: holdsOf(state, hasScheduler),
  };
  return {
    ...state,
    tensors: state.tensors.map(withKind),
    facts: held,
  };
}

/** Chunks are made when they are read: those of all tensors can be a million objects. */
function withKind(tensor: SavedTensor): SavedTensor {
  const { key, dtype, shape } = tensor;
  return {
    key,
    dtype,
    shape,
    kind: kindOfKey(key),
    get chunks() {
      return tensor.chunks;
    },
  };
}
