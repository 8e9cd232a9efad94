/** Decides which saves DeepSpeed's own converter gets right, and how it is run on them (deepspeed 0.19.8, checkpoint/ds_to_universal.py). */
import { CONVERSION_FILE, type StoredFile } from '../read/save-files.ts';
import type { SaveLook } from '../verify/verify-save.ts';
import { DEEPSPEED_UNIVERSAL } from '../formats/deepspeed/deepspeed.ts';
import { readName } from '../formats/deepspeed/file-names.ts';
import { MANIFEST_FILE } from '../formats/manifest-file.ts';

/** Module of DeepSpeed that converts. */
export const UNIVERSAL_CONVERTER = 'deepspeed.checkpoint.ds_to_universal';

/** How manifests call the result. */
export const UNIVERSAL_FORMAT = DEEPSPEED_UNIVERSAL.names[0];
/** Folder of all parameters of a universal save. Without it a folder is none, so it is published last. */
export const UNIVERSAL_FOLDER = 'zero';

/** What is known of a save before it is converted: a look at all its bytes, and its files. */
export interface SaveToConvert {
  readonly look: SaveLook;
  readonly files: readonly StoredFile[];
}

/** Names how tensor-parallel parts are joined: AutoTP and Megatron-DeepSpeed write it into model states. */
const JOINING = 'universal_checkpoint_info';
const AUTO_EXPERTS: readonly string[] = ['ds_autoep_layers', 'autoep_layers'];

/** Why the save is not converted, in whole sentences; undefined: the converter gets it right. */
export function describeUnconvertible(save: SaveToConvert): string | undefined {
  const { look, files } = save;
  const names = files.flatMap(({ path }) => readName(path) ?? []);
  if (look.format !== 'deepspeed' || !names.some(({ kind }) => kind === 'model'))
    return `It is no single save of DeepSpeed (format ${look.format ?? 'unknown'}). Name the directory of one save, such as global_step1000.`;
  const [problem] = look.findings.filter(({ kind }) => kind !== 'unverifiable');
  if (problem !== undefined) return `It is ${look.verdict}: ${problem.sentence} Use another save.`;
  if (look.state === undefined) return 'Its metadata is in a form that is not read here.';
  if (!names.some(({ kind }) => kind === 'optimizer'))
    return 'It was saved without ZeRO, and the converter needs the optimizer states of ZeRO. Every number of data-parallel ranks loads it as it is.';
  // The converter skips them with a line in its log, and training would go on from new experts.
  if (names.some(({ kind }) => kind === 'expert') && !AUTO_EXPERTS.some((key) => hasObject(save, key)))
    return 'It has experts of deepspeed.moe, which the converter leaves out. Resume with the layout that saved it.';
  // Without it the converter joins all parts along the first dim, row-parallel and replicated ones too.
  if (tensorRanks(save) !== 1 && !hasObject(save, JOINING))
    return `It is divided by tensor parallelism, and its model states hold no ${JOINING}, which says how parts are joined. Resume with the layout that saved it.`;
  return undefined;
}

/** Processes of a conversion. */
export interface ConverterWorkers {
  readonly extract: number;
  readonly merge: number;
}

const MOST_WORKERS = 4;
/** A file, and a quarter of it for copies. */
const COPIES = 1.25;
/** PyTorch and DeepSpeed, imported. */
const PROCESS_BYTES = 600 << 20;

/**
 * How many processes fit. One that extracts holds the file of a rank. One that merges holds the parts of a parameter and the whole of it. `roomBytes`:
 * memory that the container may still use; undefined: not known.
 */
export function converterWorkers(
  { files }: Pick<SaveToConvert, 'files'>,
  { roomBytes, cpus }: { readonly roomBytes: number | undefined; readonly cpus: number },
): ConverterWorkers {
  if (roomBytes === undefined) return { extract: 1, merge: 1 };
  const largest = files.reduce((most, { path, bytes }) => (isOptimizer(path) ? Math.max(most, bytes) : most), 0);
  const most = Math.min(MOST_WORKERS, cpus);
  // The process that starts them has imported the same.
  const fitting = Math.floor((roomBytes - PROCESS_BYTES) / (largest * COPIES + PROCESS_BYTES));
  const extract = Math.max(1, Math.min(most, fitting));
  return { extract, merge: Math.max(1, Math.floor(extract / 2)) };
}

/** One process takes about three minutes for so many (350 MiB/s). A smaller save is done before several processes have imported PyTorch and DeepSpeed everywhere. */
const BYTES_PER_PROCESS = 64 * 2 ** 30;

/** CPUs and memory for a conversion of so many bytes, saved by so many ranks. */
export function converterResources({ bytes, ranks }: { readonly bytes: number; readonly ranks: number }): {
  readonly cpus: number;
  readonly memoryBytes: number;
} {
  // A process that extracts takes the file of one rank after the other. 1 GiB is for the launcher and the process that starts them.
  const cpus = Math.max(1, Math.min(MOST_WORKERS, ranks, Math.ceil(bytes / BYTES_PER_PROCESS)));
  const filesAtOnce = Math.min(bytes, (MOST_WORKERS * bytes) / ranks);
  return { cpus, memoryBytes: 2 ** 30 + COPIES * filesAtOnce + cpus * PROCESS_BYTES };
}

/** Arguments of the converter after its folders. */
export function converterArguments(save: SaveToConvert, { extract, merge }: ConverterWorkers): readonly string[] {
  return [
    ...['--num_extract_workers', String(extract), '--num_merge_workers', String(merge)],
    // Scripts beside Megatron-DeepSpeed do not write it. Without tensor parallelism nothing is joined by it.
    ...(hasObject(save, JOINING) ? [] : ['--inject_missing_state']),
  ];
}

const START_MS = 15 * 60_000;
/** It reads the save, writes fragments, reads them and writes the result: a network file system is slow at this. */
const SLOWEST_BYTES_PER_SECOND = 10 * 2 ** 20;

/** How long the converter may take for so many bytes. */
export function converterLimitMs(bytes: number): number {
  return START_MS + Math.ceil(bytes / SLOWEST_BYTES_PER_SECOND) * 1000;
}

/** Bytes that the conversion writes at most: fragments, and the result before they are deleted. */
export function converterScratchBytes(bytes: number): number {
  return 2 * bytes;
}

/** Bytes on a disk of the node while a save of a bucket is converted: the save itself, and what the conversion writes. */
export function converterDiskBytes(bytes: number): number {
  return bytes + converterScratchBytes(bytes);
}

/** Why what the converter wrote is not published; undefined: it is whole. */
export function describeBadConversion(made: SaveLook, from: SaveLook): string | undefined {
  const [problem] = made.findings.filter(({ kind }) => kind !== 'unverifiable');
  if (problem !== undefined) return problem.sentence;
  if (made.format !== UNIVERSAL_FORMAT || made.state === undefined)
    return `The result is no universal save (format ${made.format ?? 'unknown'}).`;
  const [step, was] = [made.state.facts?.step, from.state?.facts?.step];
  return step === was ? undefined : `The result is of step ${String(step)}, and the save of step ${String(was)}.`;
}

/** Whether a file or folder at the top of a universal save is one that the converter writes, or that Coxswain writes beside it. */
export function isPartOfConversion(name: string): boolean {
  return (
    name === CONVERSION_FILE || name === MANIFEST_FILE || name === UNIVERSAL_FOLDER || readName(name)?.kind === 'model'
  );
}

function isOptimizer(path: string): boolean {
  return readName(path)?.kind === 'optimizer';
}

function hasObject({ look }: SaveToConvert, name: string): boolean {
  // With several model ranks, keys of objects have the rank before them.
  return (look.state?.objects ?? []).some(({ key }) => key === name || key.endsWith(`.${name}`));
}

function tensorRanks({ look }: SaveToConvert): number | undefined {
  return look.state?.facts?.degrees?.['tensorParallelDegree'];
}
