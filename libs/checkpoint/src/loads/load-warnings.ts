/** What a load loses or changes, although the engine loads the save. */
import { type ParallelLayout, worldSize } from '@coxswain/layout';
import type { ChangedDegree } from '../formats/checkpoint-format.ts';
import { DATA, PIPELINE, TENSOR, WORLD } from '../formats/degrees.ts';
import type { SavedVocabulary } from '../read/saved-state.ts';
import type { KnownSave, LoadTarget } from './known-save.ts';

/** A save, what is to load it, and all degrees that differ. */
interface Load {
  readonly saved: KnownSave;
  readonly target: LoadTarget;
  readonly changed: readonly ChangedDegree[];
}

/** Whole sentences, the gravest first. */
export function warningsOf(load: Load): readonly string[] {
  return [
    weightsAlone,
    randomStates,
    loaderPosition,
    noLoaderPosition,
    vocabularyRows,
    scalesOfFp8,
    beforeShrinking,
    unreadFiles,
  ].flatMap((warning) => warning(load) ?? []);
}

/** What differs although nothing is lost. Whole sentences. */
export function notesOf({ changed }: Pick<Load, 'changed'>): readonly string[] {
  const [data] = changed.filter(({ field }) => field === DATA.field);
  return data === undefined
    ? []
    : [
        `Gradient accumulation changes: at the same global and micro batch size a rank sums ${data.was}/${data.becomes} times as many micro-batches a step, because ${data.field} ${data.was} becomes ${data.becomes}. Sums are rounded otherwise. A program that states its own accumulation trains on another global batch.`,
      ];
}

function weightsAlone({ saved }: Load): string | undefined {
  return saved.facts?.holds?.optimizer === false && saved.format !== 'safetensors'
    ? 'It holds no state of the optimizer: training goes on with moments of 0.'
    : undefined;
}

function randomStates({ saved, changed }: Load): string | undefined {
  if (saved.facts?.holds?.randomStates === false)
    return 'It holds no random states: generators are seeded anew, so dropout and shuffling differ.';
  const isMegatron = saved.format === 'torch_dist' || saved.format === 'fsdp_dtensor';
  const moved = changed.filter(({ field }) => field === TENSOR.field || field === PIPELINE.field);
  return isMegatron && moved.length > 0
    ? `Megatron-LM stores random states by tensor and pipeline rank and drops them if ${fieldsOf(moved)} changes: generators are seeded anew.`
    : undefined;
}

/** TorchTitan stores a position for each data-parallel rank. Megatron-LM goes on at a number of samples. */
function loaderPosition({ saved, changed }: Load): string | undefined {
  const isByRank = saved.facts?.holds?.dataLoader === true && saved.format !== 'torch_dist';
  const [data] = changed.filter(({ field }) => field === DATA.field);
  return isByRank && data !== undefined
    ? `The position in the data is stored for ${data.was} data-parallel ranks, and ${data.becomes} go on: it is lost, or the engine refuses it, unless its data loader divides positions anew.`
    : undefined;
}

/** The Trainer skips data by its step, and Megatron-LM by its samples; a program for DeepSpeed has to do so itself. */
function noLoaderPosition({ saved }: Load): string | undefined {
  const { facts, format } = saved;
  return facts?.holds?.dataLoader === false && format.startsWith('deepspeed')
    ? 'It holds no position in the data: training begins its data anew, unless the program skips what was trained.'
    : undefined;
}

function vocabularyRows({ saved, target }: Load): string | undefined {
  const vocabulary = saved.facts?.vocabulary;
  if (vocabulary === undefined) return undefined;
  const rows = paddedRows(vocabulary, target.layout.tensorParallelDegree);
  return rows === undefined || rows === vocabulary.rows
    ? undefined
    : `Megatron-LM pads the vocabulary to ${rows} rows at tensorParallelDegree ${target.layout.tensorParallelDegree}, and ${vocabulary.rows} are stored: it fills new rows with 0, and leaves out those beyond.`;
}

/** undefined: the files do not say. */
function paddedRows({ rows, words, multipleOf }: SavedVocabulary, tensor: number): number | undefined {
  if (multipleOf === undefined || multipleOf === 0) return undefined;
  const multiple = multipleOf * tensor;
  // Without the number of words, rows that fit stay; whether fewer would do is not known.
  return Math.ceil((words ?? rows) / multiple) * multiple;
}

/** Weights, and what Megatron-LM's converter writes, have no extra states of modules, which hold the maxima of earlier steps. */
const WITHOUT_EXTRA_STATES: readonly string[] = ['safetensors', 'hugging-face', 'fsdp_dtensor'];

/** Follows the settings of both layouts, because extra states are opaque. */
function scalesOfFp8({ saved, target }: Load): string | undefined {
  if (!isDelayed(target.layout)) return undefined;
  const isWithout = WITHOUT_EXTRA_STATES.includes(saved.format);
  if (!isWithout && (saved.layout === undefined || isDelayed(saved.layout))) return undefined;
  const why = isWithout ? `${saved.format} stores none` : 'the layout that saved it has no delayed scaling';
  return `The layout scales fp8 by the maxima of earlier steps (kernel.scaling delayed), and ${why}: the history begins empty, so the first steps are scaled otherwise and can overflow.`;
}

function isDelayed({ kernel }: ParallelLayout): boolean {
  return kernel?.precision === 'fp8' && kernel.scaling === 'delayed';
}

function beforeShrinking({ saved, target }: Load): string | undefined {
  const isBound = saved.facts?.optimizerSharding === 'dp_reshardable';
  return isBound && target.canShrink === true
    ? 'The job can shrink, and only its data-parallel degree may change then: its optimizer is dp_reshardable. Save one checkpoint with layout.checkpointPolicy.optimizerReshard full before nodes are lost.'
    : undefined;
}

function unreadFiles({ saved: { facts, layout, format } }: Load): string | undefined {
  const tellsDegrees = facts?.degrees !== undefined || facts?.worldSize !== undefined;
  // Weights in safetensors have no degrees.
  if (tellsDegrees || format === 'safetensors') return undefined;
  if (layout === undefined) return 'Nothing says at which degrees it was saved: they count as unchanged.';
  return `Its files say no degrees: this follows the layout that its job stated, with ${worldSize(layout)} ${WORLD.field}.`;
}

function fieldsOf(changed: readonly ChangedDegree[]): string {
  return changed.map(({ field }) => field).join(' or ');
}
