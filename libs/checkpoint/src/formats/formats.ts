/** All formats, and questions that go to each of them. */
import type { EngineName } from '@coxswain/api-types';
import type { CheckpointFormat, EngineFormat, MegatronUse, SaveNaming, WeightFormat } from './checkpoint-format.ts';
import { DCP } from './dcp/dcp.ts';
import { DEEPSPEED, DEEPSPEED_UNIVERSAL } from './deepspeed/deepspeed.ts';
import { RECOGNISED } from './recognised/recognised.ts';
import { REFERENCE } from './reference/reference.ts';
import { SAFETENSORS } from './safetensors/safetensors.ts';
import { TRAINER } from './safetensors/trainer.ts';
import { FSDP_DTENSOR, MEGATRON_LEGACY } from './torch-dist/megatron-formats.ts';
import { TORCH_DIST } from './torch-dist/torch-dist.ts';
import { TORCH_SAVE_FILE } from './torch-save.ts';

/** The most specific first: a save of one can hold the files of those after it. */
const FORMATS: readonly CheckpointFormat[] = [
  TRAINER,
  TORCH_DIST,
  MEGATRON_LEGACY,
  ...RECOGNISED,
  DEEPSPEED_UNIVERSAL,
  DEEPSPEED,
  SAFETENSORS,
  FSDP_DTENSOR,
  DCP,
  REFERENCE,
];

const FORMATS_WITH_SAVES: Readonly<Record<EngineFormat, CheckpointFormat & { readonly saves: SaveNaming }>> = {
  dcp: DCP,
  deepspeed: DEEPSPEED,
  'hugging-face': TRAINER,
  torch_dist: TORCH_DIST,
};

/** Formats in which engines save. */
export const FORMATS_OF_ENGINES = Object.keys(FORMATS_WITH_SAVES) as readonly EngineFormat[];

/** The format whose saves the launcher looks for under this name. */
export function engineFormat(format: EngineFormat): CheckpointFormat & { readonly saves: SaveNaming } {
  return FORMATS_WITH_SAVES[format];
}

/** The format that a manifest or a Checkpoint object names; undefined if it is not known here. */
export function formatNamed(name: string): CheckpointFormat | undefined {
  return FORMATS.find(({ names }) => names.includes(name));
}

/** The format of a directory with files of these paths, relative to it; undefined if none is recognised. */
export function detectFormat(paths: ReadonlySet<string>): CheckpointFormat | undefined {
  return FORMATS.find(({ detect }) => detect(paths));
}

/** The global rank that wrote a file alone, which on the same layout is the rank that reads it; undefined if the path does not say. */
export function rankOfFile(path: string): number | undefined {
  for (const { rankFile } of FORMATS) {
    const rank = rankFile
      ?.exec(path)
      ?.slice(1)
      .find((group) => group !== undefined);
    if (rank !== undefined) return Number(rank);
  }
  return undefined;
}

/** How to see that a file is whole: by the ends of a zip archive, by parsing it as JSON, or not at all (undefined). */
export function wholenessCheck(path: string): 'archive' | 'json' | undefined {
  if (TORCH_SAVE_FILE.test(path)) return 'archive';
  return FORMATS.some(({ jsonFiles }) => jsonFiles?.includes(path)) ? 'json' : undefined;
}

/** The format in which an engine saves its state and in which the launcher finds it; undefined if the engine reports its saves. */
export function savedFormat(engine: EngineName): EngineFormat | undefined {
  return Object.values(FORMATS_WITH_SAVES).find((format) => does(format, engine, 'save'))?.saves.format;
}

/** Formats of weights that an engine can start a job from, the most usual first. */
export function startFormats(engine: EngineName): readonly WeightFormat[] {
  return FORMATS.flatMap((format) =>
    format.weights !== undefined && does(format, engine, 'start') ? [format.weights] : [],
  );
}

/** How Megatron-LM uses the format that a layout names; undefined if it does not save that format. */
export function megatronFormat(layoutFormat: string): (MegatronUse & { readonly isObserved: boolean }) | undefined {
  const format = FORMATS.find(({ megatron }) => megatron?.layoutFormat === layoutFormat);
  return format?.megatron && { ...format.megatron, isObserved: does(format, 'megatron-lm', 'save') };
}

/** The step in the name of a folder that holds a save of some engine; undefined if the name is not that of a save. */
export function stepOfDirectory(name: string): number | undefined {
  for (const { saves } of Object.values(FORMATS_WITH_SAVES)) {
    const digits = saves.directory.exec(name)?.[1];
    if (digits !== undefined) return Number(digits);
  }
  return undefined;
}

/** The files in which engines name their newest save. */
export function savePointers(): readonly NonNullable<SaveNaming['pointer']>[] {
  return Object.values(FORMATS_WITH_SAVES).flatMap(({ saves }) => saves.pointer ?? []);
}

/** Whether a file makes a directory a save of some format, alone or with others: without such files no engine loads it. */
export function isMarkerFile(path: string): boolean {
  const alone = new Set([path]);
  return FORMATS.some(
    ({ indexFile, jsonFiles = [], detect }) => path === indexFile || jsonFiles.includes(path) || detect(alone),
  );
}

function does(format: CheckpointFormat, engine: EngineName, what: 'save' | 'start'): boolean {
  return format.engines.some((use) => use.engine === engine && use.does.includes(what));
}
