/** The model of a row: its printed sizes, what its name implies, and rules for the rest. */
import { ModelShape } from '@coxswain/layout';
import { requiredNumber, wholeNumber } from './cells.ts';
import type { FilledValues } from './filled-values.ts';
import { Unpredicted } from './filled-values.ts';
import { knownModelOf, plainName } from './known-model.ts';
import type { StatedCells } from './measured-row.ts';
import { recipeMtpLayers } from './recipes.ts';
import { familyOfEngine, timeOfEngine } from './stack-of-engine.ts';

const GATED_FAMILIES =
  /llama|mistral|mixtral|qwen|deepseek|moonlight|kimi|internlm|glm|gpt-oss|gemma|grok|\byi-|baichuan|olmo|phi-|minimax/;
const PLAIN_FAMILIES = /^gpt|bloom|mpt|\bopt\b|^opt-|mt-nlg|turing|nemotron|falcon|bert|pythia/;
const UNTIED_PLAIN_FAMILIES = /nemotron|falcon|gpt-neox/;
const UNBIASED_PLAIN_FAMILIES = /nemotron|falcon/;
const TIED_GATED_MODELS = /gemma|llama-3\.2|qwen3-(0\.6|1\.7|4)b|qwen2\.5-(0\.5|1\.5|3)b/;
/** Rotary, ALiBi or no position information instead of a learned table. */
const NO_POSITION_TABLE = /bloom|nemotron|falcon|gpt-neox/;
const ENGINES_WITHOUT_DROPOUT = new Set(['composer-fsdp', 'nemo', 'nemo mlperf', 'megatron-bridge', 'maxtext']);

/** @throws Unpredicted when sizes are missing or do not fit together */
export function modelOfRow(cells: StatedCells, filled: FilledValues): ModelShape {
  const known = knownModelOf(cells.model);
  const sizes = sizesOfRow(cells, known, filled);
  const shape = ModelShape.safeParse({
    ...(known === undefined ? kindOfRow(cells, sizes) : kindOfPreset(known, cells, sizes)),
    ...sizes,
    ...(cells.model === '' ? {} : { name: cells.model.slice(0, 200) }),
    ...expertsOfRow(cells, known, sizes),
    mtpLayers: mtpLayersOf(cells, known),
  });
  if (shape.success) return shape.data;
  const issue = shape.error.issues[0];
  throw new Unpredicted(`model: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is not consistent'}`);
}

/** Everything but sizes, experts and name. */
type Kind = Omit<
  ModelShape,
  keyof Sizes | 'experts' | 'name' | 'mtpLayers' | 'attentionWindow' | 'windowedLayers' | 'attentionSinks'
>;

function kindOfRow(cells: StatedCells, sizes: Sizes): Kind {
  const name = plainName(cells.model);
  const gated = isGated(name, cells, sizes);
  return {
    headDim: headDimOf(sizes),
    gatedMlp: gated,
    rmsNorm: gated,
    linearBias: !gated && !UNBIASED_PLAIN_FAMILIES.test(name),
    dropout: !gated && hasDropout(cells),
    tiedEmbeddings: gated ? TIED_GATED_MODELS.test(name) : !isUntied(name, cells.engine),
    learnedPositions: gated || NO_POSITION_TABLE.test(name) ? 0 : requiredNumber(cells, 'seq_len'),
  };
}

/** Vocabulary parallelism compares methods on models whose embedding and output layer are two matrices, because its own needs them apart. */
function isUntied(name: string, engine: string): boolean {
  return UNTIED_PLAIN_FAMILIES.test(name) || familyOfEngine(engine) === 'vocabulary-parallel';
}

/** A variant of a preset keeps its kind; head width and layer pattern follow the printed sizes. */
function kindOfPreset(known: ModelShape, cells: StatedCells, sizes: Sizes): Partial<ModelShape> {
  const ownHeadDim = known.headDim !== known.hiddenSize / known.attentionHeads;
  const { layerPattern, experts: _experts, ...kind } = known;
  if (layerPattern !== undefined && layerPattern.length !== sizes.layers) {
    throw new Unpredicted('the layer pattern of a hybrid of this depth is not published');
  }
  return {
    ...kind,
    ...(layerPattern === undefined ? {} : { layerPattern }),
    headDim: ownHeadDim ? known.headDim : headDimOf(sizes),
    dropout: known.dropout && hasDropout(cells),
    learnedPositions: known.learnedPositions > 0 ? requiredNumber(cells, 'seq_len') : 0,
    windowedLayers: Math.round((known.windowedLayers * sizes.layers) / known.layers),
  };
}

type Sizes = Pick<
  ModelShape,
  'layers' | 'hiddenSize' | 'ffnHiddenSize' | 'attentionHeads' | 'keyValueHeads' | 'vocabularySize'
>;

function sizesOfRow(cells: StatedCells, known: ModelShape | undefined, filled: FilledValues): Sizes {
  const size = (column: 'layers' | 'hidden', value: number | undefined): number => {
    const stated = wholeNumber(cells, column);
    if (stated === undefined && value === undefined) throw new Unpredicted(`${column} of the model is not published`);
    return filled.or(stated, 'model sizes by name', () => value ?? 0);
  };
  const layers = size('layers', known?.layers);
  const hiddenSize = size('hidden', known?.hiddenSize);
  const attentionHeads = filled.or(wholeNumber(cells, 'heads') ?? known?.attentionHeads, 'heads by width', () =>
    headsByWidth(hiddenSize, wholeNumber(cells, 'tp') ?? 1),
  );
  const keyValueHeads = filled.or(
    wholeNumber(cells, 'kv_heads') ?? known?.keyValueHeads,
    'kv_heads = heads',
    () => attentionHeads,
  );
  const ffnHiddenSize = filled.or(
    wholeNumber(cells, 'ffn_hidden') ?? known?.ffnHiddenSize,
    'ffn_hidden = 4 x hidden',
    () => 4 * hiddenSize,
  );
  const vocabularySize = filled.or(
    wholeNumber(cells, 'vocab') ?? assumedVocabulary(cells.notes) ?? known?.vocabularySize,
    'vocab = 50304',
    () => 50304,
  );
  return { layers, hiddenSize, ffnHiddenSize, attentionHeads, keyValueHeads, vocabularySize };
}

/** The first customary head width that divides the hidden size into heads that divide by the tensor degree. */
function headsByWidth(hiddenSize: number, tensor: number): number {
  const widths = hiddenSize >= 4096 ? [128, 96, 64, 80, 160] : [96, 64, 128, 80, 72];
  const width = widths.find((one) => hiddenSize % one === 0 && (hiddenSize / one) % tensor === 0);
  if (width === undefined) throw new Unpredicted('heads are not published');
  return hiddenSize / width;
}

/** `vocab 51200 assumed` in a note. */
function assumedVocabulary(notes: string): number | undefined {
  const text = /\bvocab(?:ulary)? (\d{3,7}) assumed\b/.exec(notes)?.[1];
  return text === undefined ? undefined : Number(text);
}

function isGated(name: string, cells: StatedCells, sizes: Sizes): boolean {
  if (PLAIN_FAMILIES.test(name) && !/^gpt-oss/.test(name)) return false;
  if (GATED_FAMILIES.test(name)) return true;
  const stated = Number(cells.params_b);
  if (!(stated > 0) || cells.experts !== '') return sizes.ffnHiddenSize !== 4 * sizes.hiddenSize;
  const plain = parametersB(sizes, 2);
  const gated = parametersB(sizes, 3);
  return Math.abs(gated - stated) < Math.abs(plain - stated);
}

function parametersB(sizes: Sizes, matrices: number): number {
  const { layers, hiddenSize, ffnHiddenSize, vocabularySize } = sizes;
  const attention = 2 * hiddenSize ** 2 * (1 + sizes.keyValueHeads / sizes.attentionHeads);
  return (layers * (attention + matrices * hiddenSize * ffnHiddenSize) + vocabularySize * hiddenSize) / 1e9;
}

function hasDropout(cells: StatedCells): boolean {
  if (/\bno dropout\b/i.test(cells.notes)) return false;
  const family = familyOfEngine(cells.engine);
  return !ENGINES_WITHOUT_DROPOUT.has(family) && (timeOfEngine(cells.engine) ?? 2022) < 2023;
}

function expertsOfRow(
  cells: StatedCells,
  known: ModelShape | undefined,
  sizes: Sizes,
): Partial<Pick<ModelShape, 'experts' | 'ffnHiddenSize'>> {
  const count = wholeNumber(cells, 'experts') ?? known?.experts?.count;
  if (count === undefined || count <= 1) return {};
  const topK = wholeNumber(cells, 'topk') ?? known?.experts?.topK;
  if (topK === undefined) throw new Unpredicted('topk is not published');
  const notes = cells.notes;
  const expertFfn = wholeNumber(cells, 'ffn_hidden') ?? known?.experts?.ffnHiddenSize;
  if (expertFfn === undefined) throw new Unpredicted('ffn_hidden of the experts is not published');
  const shared = statedCount(notes, /(\d+) shared experts?/);
  const denseLayers = statedCount(notes, /(\d+) dense layers?/) ?? known?.experts?.denseLayers ?? 0;
  const denseFfn = statedCount(notes, /dense layers? ffn (\d+)/) ?? known?.ffnHiddenSize;
  return {
    ffnHiddenSize: denseFfn ?? (denseLayers > 0 ? sizes.ffnHiddenSize : 0),
    experts: {
      latentSize: known?.experts?.latentSize ?? 0,
      count,
      topK,
      ffnHiddenSize: expertFfn,
      sharedFfnHiddenSize: shared === undefined ? (known?.experts?.sharedFfnHiddenSize ?? 0) : shared * expertFfn,
      denseLayers,
    },
  };
}

function mtpLayersOf(cells: StatedCells, known: ModelShape | undefined): number {
  const { notes } = cells;
  if (/\b(no|w\/o|without) MTP\b/i.test(notes)) return 0;
  const layout = /pp_layout=(\S+?)[;,]?(\s|$)/.exec(notes)?.[1];
  if (layout !== undefined) return layout.split('m').length - 1;
  if (/\bMTP\b/.test(notes)) return 1;
  return recipeMtpLayers(cells) ?? (isProxy(cells) ? 0 : (known?.mtpLayers ?? 0));
}

/** A cut-down stand-in for a model measures its layers: no layer that predicts further tokens, and no second loss, unless they are stated. */
function isProxy({ model, notes }: StatedCells): boolean {
  return /\bproxy\b/i.test(`${plainName(model)} ${notes}`);
}

function statedCount(notes: string, pattern: RegExp): number | undefined {
  const text = pattern.exec(notes)?.[1];
  return text === undefined ? undefined : Number(text);
}

/** Rounded, because a table of trials lists head counts that do not divide the hidden size. */
function headDimOf({ hiddenSize, attentionHeads }: Sizes): number {
  return Math.round(hiddenSize / attentionHeads);
}
