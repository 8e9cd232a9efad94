/** Which checkpoints has an engine saved in its own way, and is one complete, seen from names, sizes and ends of files? */
import type { ENGINE_CHECKPOINTS } from '@coxswain/api-types';

/** In whose way. */
export type EngineFormat = (typeof ENGINE_CHECKPOINTS)[number];

/** A checkpoint of an engine, by the directory that it made for it. */
export interface EngineSave {
  readonly step: number;
  /** Below the save directory. */
  readonly directory: string;
}

/** A file below the directory of a save. */
export interface SavedFile {
  readonly path: string;
  readonly bytes: number;
}

interface Way {
  /** Folders below the save directory that may hold saves; '' is the save directory. */
  readonly folders: readonly string[];
  /** Its first group is the step. */
  readonly name: RegExp;
  /** File beside the saves that the engine writes after a save, and that names it. */
  readonly pointer?: string;
  /** The step that the text of the pointer names. */
  readonly pointed?: (text: string) => number | undefined;
  /** Why the files are not all that a gang of so many ranks saves, or undefined. */
  readonly lacks: (names: ReadonlySet<string>, worldSize: number) => string | undefined;
}

const WAYS: Readonly<Record<EngineFormat, Way>> = {
  // PyTorch renames .metadata into place when every rank has written (FileSystemWriter.finish); TorchTitan puts saves below dump_folder/checkpoint.
  dcp: { folders: ['', 'checkpoint'], name: /^step-(\d{1,15})$/, lacks: marker('.metadata') },
  // Rank 0 writes the pointer after its own files; the others may still be writing (DeepSpeedEngine.save_checkpoint has its barrier after it).
  deepspeed: {
    folders: [''],
    name: /^global_step(\d{1,15})$/,
    pointer: 'latest',
    pointed: (text) => stepIn(/^global_step(\d{1,15})$/, text),
    lacks: lacksOptimizerState,
  },
  // Rank 0 writes trainer_state.json last; the random states of the others follow no barrier (Trainer._save_checkpoint).
  'hugging-face': { folders: [''], name: /^checkpoint-(\d{1,15})$/, lacks: lacksTrainerState },
  // Written when every rank has, also where saving goes on in the background (Megatron-LM, training/checkpointing.py).
  torch_dist: {
    folders: [''],
    name: /^iter_(\d{7,15})$/,
    pointer: 'latest_checkpointed_iteration.txt',
    pointed: (text) => stepIn(/^(\d{1,15})$/, text),
    lacks: marker('metadata.json'),
  },
};

/** Where to look below the save directory, and the file there that tells how far the engine is. */
export function placesOfSaves(
  format: EngineFormat,
): readonly { readonly folder: string; readonly pointer: string | undefined }[] {
  const { folders, pointer } = WAYS[format];
  return folders.map((folder) => ({
    folder,
    pointer: pointer === undefined ? undefined : below(folder, pointer),
  }));
}

/**
 * Saves that may be complete, oldest first: of an engine that writes which is its newest those up to it, since it saves one after the other.
 * `pointer`: the text of that file, undefined where there is none.
 */
export function savesAmong(
  format: EngineFormat,
  { folder, names, pointer }: { readonly folder: string; readonly names: readonly string[]; readonly pointer?: string },
): readonly EngineSave[] {
  const { name, pointed } = WAYS[format];
  const newest = pointed === undefined ? Infinity : (pointed((pointer ?? '').trim()) ?? -1);
  return names
    .flatMap((one) => {
      const step = stepIn(name, one);
      return step === undefined || step > newest ? [] : [{ step, directory: below(folder, one) }];
    })
    .toSorted((one, other) => one.step - other.step);
}

/** Why a save that has these files is not complete, as the end of a sentence; undefined when nothing is missing by its names. */
export function whyIncomplete(
  format: EngineFormat,
  files: readonly SavedFile[],
  worldSize: number,
): string | undefined {
  const empty = files.find(({ bytes, path }) => bytes === 0 && PARTS.test(path));
  if (empty !== undefined) return `${empty.path} is empty`;
  return WAYS[format].lacks(new Set(files.map(({ path }) => path)), worldSize);
}

/** Bytes that {@link isCutOff} wants of each end of a file. */
export const ENDS_BYTES = 22;

/**
 * Whether a file that PyTorch wrote ends before its end: they are zip archives, whose last record (22 bytes, PKWARE APPNOTE 4.3.16) is written last.
 * False for what is none, of which its ends tell nothing.
 */
export function isCutOff(head: Uint8Array, tail: Uint8Array): boolean {
  const begins = (bytes: Uint8Array, mark: readonly number[]): boolean => mark.every((byte, at) => bytes[at] === byte);
  return begins(head, [0x50, 0x4b, 3, 4]) && !begins(tail, [0x50, 0x4b, 5, 6]);
}

/** What PyTorch's `torch.save` writes. */
export const PARTS = /\.(pt|pth)$/;

function marker(name: string): Way['lacks'] {
  return (names) => (names.has(name) ? undefined : `it has no ${name}`);
}

function lacksTrainerState(names: ReadonlySet<string>, worldSize: number): string | undefined {
  const states = worldSize === 1 ? ['rng_state.pth'] : upTo(worldSize).map((rank) => `rng_state_${rank}.pth`);
  return ['trainer_state.json', ...states]
    .filter((name) => !names.has(name))
    .map((name) => `it has no ${name}`)
    .at(0);
}

const OPTIMIZER_STATES = /(?:^|\/)(?:bf16_|fp16_)?zero_pp_rank_(\d+)_mp_rank_(\d+)_optim_states\.pt$/;

/** With ZeRO each rank writes a file of its own; without, the ranks of the first replica write all there is. */
function lacksOptimizerState(names: ReadonlySet<string>, worldSize: number): string | undefined {
  const all = [...names];
  if (!all.some((name) => /model_states\.pt$/.test(name))) return 'it has no file of model states';
  const there = all.filter((name) => OPTIMIZER_STATES.test(name)).length;
  return there === 0 || there >= worldSize
    ? undefined
    : `it has optimizer states of ${there} ranks, and ${worldSize} train`;
}

function stepIn(pattern: RegExp, text: string): number | undefined {
  const digits = pattern.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function below(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}
