/** The files of a converted save: what each holds, in the order of its bytes. */
import { writeDcpMetadata } from '../formats/dcp/write-dcp-metadata.ts';
import { DCP_INDEX_FILE } from '../formats/dcp/dcp.ts';
import { INDEX_FILE } from '../formats/safetensors/safetensors.ts';
import {
  divideIntoFiles,
  isSafetensorsDtype,
  safetensorsFile,
  weightsFileName,
  writeSafetensorsIndex,
} from '../formats/safetensors/write-safetensors.ts';
import { torchDistCommon } from '../formats/torch-dist/write-common.ts';
import { torchSaveFrame } from '../formats/torch-save/write-tensor.ts';
import { bytesOfDtype } from '../read/dtypes.ts';
import type { Crc32 } from '../read/save-files.ts';
import { type SavedTensor, volumeOf } from '../read/saved-state.ts';
import { divideRows } from '../reshard/divide.ts';
import type { ConvertedTensor } from './converted-tensor.ts';
import { parseConfig } from './model-config.ts';

/** Elements of a tensor that follow each other in a file. */
export interface WrittenRange {
  readonly tensor: ConvertedTensor;
  readonly from: number;
  readonly to: number;
  /** They are an archive of `torch.save`, of a tensor of these sizes. Absent: they stand alone. */
  readonly archive?: { readonly sizes: readonly number[] };
}

/** A file, which appears whole or not at all. */
export interface ConvertedFile {
  readonly path: string;
  /** Stands before the first range. */
  readonly head: Uint8Array;
  readonly ranges: readonly WrittenRange[];
  readonly bytes: number;
}

/** A small file that is written last. */
export type Published = readonly [path: string, bytes: Uint8Array];

/** All files of a save. */
export interface TargetFiles {
  readonly files: readonly ConvertedFile[];
  readonly problems: readonly string[];
  readonly publish: (id: string) => readonly Published[];
}

/** What a writer needs to know beside the tensors. */
export interface Wanted {
  readonly to: string;
  readonly ranks: number;
  readonly fileBytes: number;
  readonly dtype?: 'bf16' | 'fp32' | undefined;
  readonly config: Uint8Array | undefined;
  readonly crc32: Crc32;
}

const NOTHING = new Uint8Array();

/** Files of safetensors with an index, which Transformers reads. `hugging-face` has config.json too. */
export function safetensorsFiles(
  tensors: readonly ConvertedTensor[],
  { to, fileBytes, config, dtype }: Wanted,
): TargetFiles {
  const problems = tensors
    .filter((tensor) => !isSafetensorsDtype(tensor.dtype))
    .map(({ key, dtype: name }) => `Tensor ${key} has the dtype ${name}, which safetensors does not have.`);
  if (problems.length > 0) return { files: [], problems, publish: () => [] };
  const groups = divideIntoFiles(tensors, fileBytes);
  const files = groups.map((group, index) => {
    const { head, tensors: ordered, bytes } = safetensorsFile(group);
    const ranges = ordered.map((tensor) => ({ tensor, from: 0, to: volumeOf(tensor.shape) }));
    return { path: weightsFileName(index, groups.length), head, ranges, bytes };
  });
  const named = files.map(({ path, ranges }) => [path, ranges.map(({ tensor }) => tensor)] as const);
  const beside: readonly Published[] =
    to === 'hugging-face' && config !== undefined ? [['config.json', withDtype(config, tensors, dtype)]] : [];
  return { files, problems: [], publish: (id) => [...beside, [INDEX_FILE, writeSafetensorsIndex(named, id)]] };
}

/** What config.json says of the dtype must be true: Transformers casts the weights to it when it loads them. */
function withDtype(
  config: Uint8Array,
  tensors: readonly ConvertedTensor[],
  asked: keyof typeof CONFIG_DTYPES | undefined,
): Uint8Array {
  const json = parseConfig(config);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return config;
  const [only = '', ...others] = new Set(tensors.map(({ dtype }) => dtype));
  const name = others.length === 0 && FLOATS.test(only) ? only : CONFIG_DTYPES[asked ?? 'none'];
  const field = 'torch_dtype' in json ? 'torch_dtype' : 'dtype';
  const said: unknown = (json as Readonly<Record<string, unknown>>)[field];
  if (name === undefined || said === name || (asked === undefined && typeof said !== 'string')) return config;
  return new TextEncoder().encode(`${JSON.stringify({ ...json, [field]: name }, null, 2)}\n`);
}

const FLOATS = /^(?:float(?:16|32|64)|bfloat16)$/;
const CONFIG_DTYPES = { bf16: 'bfloat16', fp32: 'float32', none: undefined } as const;

/** A file of PyTorch Distributed Checkpoint for each rank, which holds the rows of that rank as FSDP divides them. */
export function dcpFiles(tensors: readonly ConvertedTensor[], wanted: Wanted): TargetFiles {
  const { saved, ...target } = dividedAmongRanks(tensors, wanted);
  // A state dict of plain names: each is one key.
  const paths = new Map(tensors.map(({ key }) => [key, [key]]));
  return {
    ...target,
    publish: (id) => [[DCP_INDEX_FILE, writeDcpMetadata({ tensors: saved, objects: [], paths, saveId: id })]],
  };
}

function dividedAmongRanks(
  tensors: readonly ConvertedTensor[],
  { ranks, crc32 }: Wanted,
): Omit<TargetFiles, 'publish'> & { readonly saved: readonly SavedTensor[] } {
  const divide = divideRows(ranks);
  const files = new Map<string, { bytes: number; readonly ranges: WrittenRange[] }>();
  const saved = tensors.map((tensor): SavedTensor => {
    const { key, dtype, shape } = tensor;
    const rowElements = volumeOf(shape.slice(1));
    const chunks = divide({ key, shape }).map(({ rank, offsets, sizes }) => {
      const path = `__${String(rank)}_0.distcp`;
      const file = files.get(path) ?? { bytes: 0, ranges: [] };
      files.set(path, file);
      const from = (offsets[0] ?? 0) * rowElements;
      const { head, tailBytes } = torchSaveFrame(dtype, sizes, crc32);
      const length = head.length + volumeOf(sizes) * (bytesOfDtype(dtype) ?? 0) + tailBytes;
      const item = { file: path, offset: file.bytes, length };
      file.ranges.push({ tensor, from, to: from + volumeOf(sizes), archive: { sizes } });
      file.bytes += length;
      return { offsets, sizes, item };
    });
    return { key, dtype, shape, chunks };
  });
  return { files: [...files].map(([path, file]) => ({ path, head: NOTHING, ...file })), problems: [], saved };
}

/** What a save of Megatron-LM holds beside tensors, if it is kept. */
export interface KeptState {
  readonly objects: readonly { readonly key: string; readonly bytes: Uint8Array }[];
  /** `common.pt`. */
  readonly common: Uint8Array;
}

/** No file of tensors has this name. */
const OBJECT_FILE = '__0_1.distcp';

/** The same files with the state that Megatron-LM keeps beside them. Its tensors are no state dict, so keys have no paths. */
export function torchDistFiles(
  tensors: readonly ConvertedTensor[],
  wanted: Wanted & { readonly kept?: KeptState },
): TargetFiles {
  const { saved, ...target } = dividedAmongRanks(tensors, wanted);
  const kept = wanted.kept?.objects ?? [];
  let offset = 0;
  const objects = kept.map(({ key, bytes: { length } }) => {
    const item = { file: OBJECT_FILE, offset, length };
    offset += length;
    return { key, item };
  });
  const stored: readonly Published[] =
    kept.length === 0 ? [] : [[OBJECT_FILE, Uint8Array.from(kept.flatMap(({ bytes }) => [...bytes]))]];
  return {
    ...target,
    publish: (id) => [
      ...stored,
      [DCP_INDEX_FILE, writeDcpMetadata({ tensors: saved, objects, paths: undefined, saveId: id })],
      ...torchDistCommon(wanted.crc32, wanted.kept?.common),
    ],
  };
}
