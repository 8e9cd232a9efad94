/** Plans how the weights of a save are written in another format, and under other names if it is asked. It reads metadata alone. */
import { bytesOfDtype } from '../read/dtypes.ts';
import type { Crc32 } from '../read/save-files.ts';
import type { SavedState, SavedTensor } from '../read/saved-state.ts';
import { problemOf, UnplannableSave } from '../reshard/plan-reshard.ts';
import { allComparisons } from '../verify/coverage.ts';
import { type ConvertedTensor, unchangedTensor } from './converted-tensor.ts';
import { isWeight, type LeftBehind, leftBehindOf } from './left-behind.ts';
import { type ModelConfig, readModelConfig } from './model-config.ts';
import { idOf } from './model-tensors.ts';
import { respell } from './respell.ts';
import { readSpelledModel, type SpelledModel } from './spelled-model.ts';
import { type Spelling, SPELLINGS, type SpellingName } from './spellings.ts';
import {
  type ConvertedFile,
  dcpFiles,
  type Published,
  safetensorsFiles,
  type TargetFiles,
  torchDistFiles,
  type Wanted,
} from './target-files.ts';

export const CONVERSION_FORMATS = ['hugging-face', 'safetensors', 'dcp', 'torch_dist'] as const;
export type ConversionFormat = (typeof CONVERSION_FORMATS)[number];

/** Dtypes that a conversion can be asked for. */
export const CONVERTED_DTYPES = { bf16: 'bfloat16', fp32: 'float32' } as const;

/** What is asked for. */
export interface ConversionOptions {
  readonly to: ConversionFormat;
  /** keep: names and layouts of tensors stay. */
  readonly names: SpellingName | 'keep';
  /** config.json of the model. Needed unless names are kept. */
  readonly config: Uint8Array | undefined;
  /** Of DCP and torch_dist: ranks among which rows are divided. */
  readonly ranks: number;
  /** Of safetensors: bytes of a file, at most, unless a tensor is larger. */
  readonly fileBytes: number;
  readonly dtype?: keyof typeof CONVERTED_DTYPES | undefined;
  readonly crc32: Crc32;
}

/** Two tensors that must be equal, as far as both go. */
export interface EqualTensors {
  readonly one: ConvertedTensor;
  readonly other: ConvertedTensor;
  /** Whole sentences, if they are not. */
  readonly refusal: string;
}

/** How a save is converted. */
export interface ConversionPlan {
  readonly tensors: readonly ConvertedTensor[];
  readonly files: readonly ConvertedFile[];
  /** Bytes of elements that are written. */
  readonly bytes: number;
  /** Are compared before anything is written. */
  readonly mustBeEqual: readonly EqualTensors[];
  readonly leftBehind: readonly LeftBehind[];
  /** Spellings, if names change. */
  readonly spellings?: { readonly from: string; readonly to: string };
  /** Files that are written after all others, in this order. The last one makes the save complete. */
  readonly publish: (id: string) => readonly Published[];
}

const MOST_PROBLEMS = 8;

const WRITERS: Readonly<
  Record<ConversionFormat, (tensors: readonly ConvertedTensor[], wanted: Wanted) => TargetFiles>
> = {
  'hugging-face': safetensorsFiles,
  safetensors: safetensorsFiles,
  dcp: dcpFiles,
  torch_dist: torchDistFiles,
};

/**
 * The plan.
 * @throws UnplannableSave with all problems.
 */
export function planConversion(state: SavedState, options: ConversionOptions): ConversionPlan {
  const weights = state.tensors.filter(isWeight);
  const comparisons = allComparisons();
  const problems = weights.flatMap((tensor) => problemOf(tensor, comparisons) ?? []);
  if (weights.length === 0) problems.push('The save holds no weights of a model.');
  refuse(problems);
  const named = options.names === 'keep' ? { tensors: weights.map(unchangedTensor) } : renamed(weights, options);
  const tensors = named.tensors.map((tensor) => withDtype(tensor, options.dtype));
  const target = WRITERS[options.to](tensors, options);
  refuse(target.problems);
  return {
    tensors,
    files: target.files,
    bytes: tensors.reduce((sum, tensor) => sum + bytesOf(tensor), 0),
    mustBeEqual: [],
    leftBehind: [...leftBehindOf(state), ...('padding' in named ? named.padding : [])],
    publish: target.publish,
    ...('spellings' in named ? { spellings: named.spellings, mustBeEqual: named.mustBeEqual } : {}),
  };
}

function refuse(problems: readonly string[]): void {
  if (problems.length === 0) return;
  const more = problems.length - MOST_PROBLEMS;
  throw new UnplannableSave([
    ...problems.slice(0, MOST_PROBLEMS),
    ...(more > 0 ? [`There are ${String(more)} more problems of this kind.`] : []),
  ]);
}

function bytesOf({ shape, dtype }: ConvertedTensor): number {
  return shape.reduce((product, size) => product * size, bytesOfDtype(dtype) ?? 0);
}

function withDtype(tensor: ConvertedTensor, dtype: ConversionOptions['dtype']): ConvertedTensor {
  if (dtype === undefined || !isCast(tensor.sourceDtype)) return tensor;
  return { ...tensor, dtype: CONVERTED_DTYPES[dtype] };
}

/** Only these are cast: all else, such as whole numbers, is no weight that a model computes with in fewer bits. */
function isCast(dtype: string): boolean {
  return Object.values<string>(CONVERTED_DTYPES).includes(dtype);
}

interface Renamed {
  readonly tensors: readonly ConvertedTensor[];
  readonly mustBeEqual: ConversionPlan['mustBeEqual'];
  readonly spellings: NonNullable<ConversionPlan['spellings']>;
  readonly padding: readonly LeftBehind[];
}

function renamed(weights: readonly SavedTensor[], { names, config }: ConversionOptions): Renamed {
  if (config === undefined)
    throw new UnplannableSave([
      'The save has no config.json, and its tensors do not say how many attention heads the model has. Name the config.json of the model with --model-config.',
    ]);
  const model = readModelConfig(config);
  const to = SPELLINGS[names as SpellingName];
  if (!to.families.includes(model.family))
    throw new UnplannableSave([
      `${to.title} has no spelling of ${model.family} models here, only of ${to.families.join(', ')}. Use --names keep to keep the names of tensors.`,
    ]);
  const { from, spelled } = spellingOf(weights, model);
  refuse(spelled.problems);
  const { parts, mustBeEqual } = tied(spelled, to, model);
  const { tensors, problems } = respell({ parts, problems: [] }, to, model);
  refuse(problems);
  return {
    tensors,
    mustBeEqual,
    spellings: { from: from.title, to: to.title },
    padding: paddingOf(spelled, model),
  };
}

/** Rows beyond the vocabulary. A configuration with too few words looks the same, so they are named. */
function paddingOf({ parts }: SpelledModel, { words }: ModelConfig): readonly LeftBehind[] {
  const padded = (['embedding', 'head'] as const).flatMap((role) => {
    const { key = '', shape: [rows = 0] = [] } = parts.get(idOf({ role }))?.source ?? {};
    return rows > words ? [`${String(rows - words)} of ${String(rows)} rows of ${key}`] : [];
  });
  return padded.length === 0
    ? []
    : [{ what: 'padding beyond the words of config.json', count: padded.length, examples: padded }];
}

/** The spelling in which most tensors have a place. */
function spellingOf(
  weights: readonly SavedTensor[],
  model: ModelConfig,
): { readonly from: Spelling; readonly spelled: SpelledModel } {
  const read = Object.values(SPELLINGS).map((from) => ({ from, spelled: readSpelledModel(weights, from, model) }));
  const [best] = read.toSorted((one, other) => one.spelled.problems.length - other.spelled.problems.length);
  if (best === undefined || best.spelled.parts.size === 0)
    throw new UnplannableSave([
      `The names of the save's tensors, such as ${weights[0]?.key ?? ''}, are not those of a ${model.family} model in ${Object.values(
        SPELLINGS,
      )
        .map(({ title }) => title)
        .join(', ')}. Use --names keep to keep them.`,
    ]);
  return best;
}

/** A model whose output layer is its embedding can have it once or twice. Where one of two is left out, they must be equal. */
function tied(
  { parts }: SpelledModel,
  { storesTiedHead }: Spelling,
  { isTied }: ModelConfig,
): { readonly parts: SpelledModel['parts']; readonly mustBeEqual: ConversionPlan['mustBeEqual'] } {
  const [embedding, head] = [parts.get(idOf({ role: 'embedding' })), parts.get(idOf({ role: 'head' }))];
  if (!isTied || embedding === undefined) return { parts, mustBeEqual: [] };
  if (storesTiedHead)
    return { parts: new Map([...parts, [idOf({ role: 'head' }), head ?? embedding]]), mustBeEqual: [] };
  const rest = new Map([...parts].filter(([id]) => id !== idOf({ role: 'head' })));
  const isTwice = head !== undefined && head.source !== embedding.source;
  return {
    parts: rest,
    mustBeEqual: isTwice ? [untied(unchangedTensor(embedding.source), unchangedTensor(head.source))] : [],
  };
}

function untied(one: ConvertedTensor, other: ConvertedTensor): EqualTensors {
  return {
    one,
    other,
    refusal: `Tensors ${one.key} and ${other.key} differ, and config.json says that they are one (tie_word_embeddings). Set tie_word_embeddings to false in the file that --model-config names; both are written then.`,
  };
}
