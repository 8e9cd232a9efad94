/** Verifies saves of PyTorch Distributed Checkpoint, and what Megatron's `torch_dist` has in common with it. */
import { DCP_INDEX_FILE } from '../formats/dcp/dcp.ts';
import { readDcpMetadata } from '../formats/dcp/dcp-metadata.ts';
import { readBytes, type Reading, type StoredFile } from '../read/save-files.ts';
import type { SavedState } from '../read/saved-state.ts';
import { UnreadableSave } from '../read/unreadable-save.ts';
import { checkContent, type ItemPromise, openItem } from './archives.ts';
import { allComparisons, describeCoverage } from './coverage.ts';
import { type Finding, type FindingKind, kindOfUnreadable, type Level } from './finding.ts';
import { isUpTo, LARGEST_METADATA_BYTES, type Look, type LookOptions, POD_METADATA_BYTES } from './look.ts';
import { checkItems, itemsOf } from './items.ts';

/** Clocks of two nodes, and a file system's times, differ by less. */
const CLOCK_SKEW_MS = 2000;

/** Looks at a save up to a level. Stops after the structure if that is broken: what its items hold no longer matters. */
export function* verifyDcp(listed: readonly StoredFile[], options: LookOptions): Reading<Look> {
  const metadata = listed.find(({ path }) => path === DCP_INDEX_FILE);
  if (metadata === undefined)
    return failed('V0', 'incomplete', `The save has no ${DCP_INDEX_FILE}: it was not finished.`);
  if (metadata.isLink === true) return failed('V0', 'damaged', `${DCP_INDEX_FILE} is a link, which is not followed.`);
  const state = yield* readState(metadata, options.maxMetadataBytes);
  if ('sentence' in state) return failed('V1', state.kind, state.sentence);
  const structure = isUpTo('V1', options) ? checkStructure(state, listed) : [];
  const findings = [...checkTimes(listed, metadata), ...structure, ...unreadFiles(state, listed)];
  const isBroken = findings.some(({ kind }) => kind === 'damaged' || kind === 'incomplete');
  if (isBroken || !isUpTo('V2', options)) return { state, findings };
  return { state, findings: [...findings, ...(yield* checkAllItems(state, options))] };
}

function failed(level: Level, kind: FindingKind, sentence: string): Look {
  return { state: undefined, findings: [{ level, kind, sentence }] };
}

function* readState(
  { bytes }: StoredFile,
  mostBytes = POD_METADATA_BYTES,
): Reading<SavedState | Pick<Finding, 'kind' | 'sentence'>> {
  if (bytes > mostBytes) {
    const elsewhere =
      mostBytes < LARGEST_METADATA_BYTES && bytes <= LARGEST_METADATA_BYTES
        ? ' "coxswain checkpoint" reads it, where it has 4 GB of memory.'
        : '';
    return {
      kind: 'unverifiable',
      sentence: `${DCP_INDEX_FILE} has ${String(bytes)} bytes, and at most ${String(mostBytes)} are read here.${elsewhere} Its engine loads it all the same. To have later saves verified, divide tensors among fewer ranks (FSDP within groups that replicate).`,
    };
  }
  try {
    return readDcpMetadata(yield* readBytes(DCP_INDEX_FILE, 0, bytes));
  } catch (error) {
    if (!(error instanceof UnreadableSave)) throw error;
    const kind = kindOfUnreadable(error);
    return { kind, sentence: `${DCP_INDEX_FILE} cannot be read: ${error.message}.` };
  }
}

/** Ranks write before the metadata. A file written after it belongs to a save that was started over this one. */
function checkTimes(files: readonly StoredFile[], metadata: StoredFile): readonly Finding[] {
  const finishedMs = metadata.writtenMs;
  if (finishedMs === undefined) return [];
  const later = files.filter(
    ({ path, writtenMs }) => isRankFile(path) && (writtenMs ?? 0) > finishedMs + CLOCK_SKEW_MS,
  );
  const [first] = later;
  if (first === undefined) return [];
  const sentence = `${String(later.length)} files, such as ${first.path}, were written after ${DCP_INDEX_FILE}: two saves can be mixed here.`;
  return [{ level: 'V0', kind: 'suspect', sentence }];
}

/**
 * Files that the metadata does not name, such as `common.pt` of Megatron: nothing here reads them, so nothing is said of them. A rank's file
 * among them stayed from another save. An empty one is the file of a thread that had nothing to write.
 */
function unreadFiles(state: SavedState, files: readonly StoredFile[]): readonly Finding[] {
  const named = new Set(itemsOf(state).map(({ file }) => file));
  const unread = files.filter(({ path }) => path !== DCP_INDEX_FILE && !named.has(path));
  const ofRanks = unread.filter(({ path }) => isRankFile(path));
  return [
    ...describeUnread(
      'suspect',
      ofRanks.filter(({ bytes }) => bytes > 0),
      'two saves can be mixed here',
    ),
    ...describeUnread(
      'unverifiable',
      unread.filter(({ path }) => !isRankFile(path)),
      'nothing here reads them',
    ),
  ];
}

function describeUnread(kind: FindingKind, files: readonly StoredFile[], consequence: string): readonly Finding[] {
  const [first] = files;
  if (first === undefined) return [];
  const sentence = `${DCP_INDEX_FILE} does not name ${String(files.length)} files, such as ${first.path}: ${consequence}.`;
  return [{ level: 'V1', kind, sentence }];
}

function isRankFile(path: string): boolean {
  return path.endsWith('.distcp');
}

/** Whether all items are where the save says, and whether chunks are their tensors. */
export function checkStructure(state: SavedState, files: readonly StoredFile[]): readonly Finding[] {
  const comparisons = allComparisons();
  const coverage = state.tensors.flatMap((tensor): Finding[] => {
    const end = describeCoverage(tensor, comparisons);
    return end === undefined ? [] : [{ level: 'V1', kind: 'damaged', sentence: `Tensor ${tensor.key} ${end}.` }];
  });
  return [...checkItems(state, files), ...coverage];
}

function* checkAllItems(state: SavedState, options: LookOptions): Reading<readonly Finding[]> {
  const promises = promisesOf(state);
  const findings: Finding[] = [];
  let withoutCrc = 0;
  for (const promise of promises) {
    const look = yield* checkItem(promise, options);
    if (look.finding !== undefined) findings.push(look.finding);
    if (look.isWithoutCrc) withoutCrc++;
  }
  if (withoutCrc > 0)
    findings.push({
      level: 'V2',
      kind: 'unverifiable',
      sentence: `${String(withoutCrc)} of ${String(promises.length)} items have no CRC-32: nothing shows whether their content is right.`,
    });
  return findings;
}

function promisesOf({ tensors, objects }: SavedState): readonly ItemPromise[] {
  return [
    ...tensors.flatMap(({ key, dtype, chunks }) =>
      chunks.flatMap(({ item, sizes }) => (item === undefined ? [] : [{ key, item, chunk: { sizes, dtype } }])),
    ),
    ...objects.flatMap(({ key, item }) => (item === undefined ? [] : [{ key, item }])),
  ];
}

function* checkItem(
  promise: ItemPromise,
  options: LookOptions,
): Reading<{ readonly finding?: Finding; readonly isWithoutCrc: boolean }> {
  const { item, key } = promise;
  if (item.transforms !== undefined) {
    return {
      isWithoutCrc: false,
      finding: {
        level: 'V2',
        kind: 'unverifiable',
        sentence: `${key} in ${item.file} is stored with ${item.transforms.join(', ')}, which is not read here.`,
      },
    };
  }
  let level: Level = 'V2';
  try {
    const open = yield* openItem(promise);
    level = 'V3';
    if (isUpTo('V3', options)) yield* checkContent(open, options.crc32);
    return { isWithoutCrc: open.isWithoutCrc };
  } catch (error) {
    if (!(error instanceof UnreadableSave)) throw error;
    return {
      isWithoutCrc: false,
      finding: {
        level,
        kind: kindOfUnreadable(error),
        sentence: `${key} in ${item.file} at byte ${String(item.offset)} ${error.message}.`,
      },
    };
  }
}
