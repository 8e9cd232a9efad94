/** The model of a row: its printed sizes, what its name implies, and rules for the rest. */
import { ModelShape } from '@coxswain/layout';
import { neededNumber, wholeNumber } from './cells.ts';
import type { FilledValues } from './filled-values.ts';
import { Unpredicted } from './filled-values.ts';
import { knownModelOf, plainName, type KnownModel } from './known-models.ts';
import type { StatedCells } from './measured-row.ts';
import { familyOfEngine, yearOfEngine } from './stack-of-engine.ts';

const GATED_FAMILIES =
  /llama|mistral|mixtral|qwen|deepseek|moonlight|kimi|internlm|glm|gpt-oss|gemma|grok|\byi-|baichuan|olmo|phi-|minimax/;
const PLAIN_FAMILIES = /^gpt|bloom|mpt|\bopt\b|^opt-|mt-nlg|turing|nemotron|falcon|bert|pythia/;
const UNTIED_PLAIN_FAMILIES = /nemotron|falcon/;
const TIED_GATED_MODELS = /gemma|llama-3\.2|qwen3-(0\.6|1\.7|4)b|qwen2\.5-(0\.5|1\.5|3)b/;
/** Rotary, ALiBi or no position information instead of a learned table. */
const NO_POSITION_TABLE = /bloom|nemotron|falcon|gpt-neox/;
const ENGINES_WITHOUT_DROPOUT = new Set(['composer-fsdp', 'nemo', 'nemo mlperf', 'megatron-bridge', 'maxtext']);

/** @throws Unpredicted when sizes are missing or do not fit together */
export function modelOfRow(cells: StatedCells, filled: FilledValues): ModelShape {
  const known = knownModelOf(cells.model);
  const sizes = sizesOfRow(cells, known, filled);
  const name = plainName(cells.model);
  const gated = isGated(name, cells, sizes);
  const shape = ModelShape.safeParse({
    ...sizes,
    ...(cells.model === '' ? {} : { name: cells.model.slice(0, 200) }),
    headDim: known?.facts?.headDim ?? sizes.hiddenSize / sizes.attentionHeads,
    gatedMlp: gated,
    rmsNorm: gated || /nemotron-(3|h|5)/.test(name),
    linearBias: !gated && !/nemotron/.test(name),
    dropout: !gated && hasDropout(cells),
    tiedEmbeddings: gated ? TIED_GATED_MODELS.test(name) : !UNTIED_PLAIN_FAMILIES.test(name),
    learnedPositions: gated || NO_POSITION_TABLE.test(name) ? 0 : neededNumber(cells, 'seq_len'),
    ...known?.facts,
    ...expertsOfRow(cells, known, sizes),
    mtpLayers: mtpLayersOf(cells.notes, known),
  });
  if (shape.success) return shape.data;
  const issue = shape.error.issues[0];
  throw new Unpredicted(`model: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is not consistent'}`);
}

type Sizes = Pick<
  ModelShape,
  'layers' | 'hiddenSize' | 'ffnHiddenSize' | 'attentionHeads' | 'keyValueHeads' | 'vocabularySize'
>;

function sizesOfRow(cells: StatedCells, known: KnownModel | undefined, filled: FilledValues): Sizes {
  const named = known?.sizes;
  const size = (column: 'layers' | 'hidden', value: number | undefined): number => {
    const stated = wholeNumber(cells, column);
    if (stated === undefined && value === undefined) throw new Unpredicted(`${column} of the model is not published`);
    return filled.or(stated, 'model sizes by name', () => value ?? 0);
  };
  const layers = size('layers', named?.layers);
  const hiddenSize = size('hidden', named?.hiddenSize);
  const attentionHeads = filled.or(wholeNumber(cells, 'heads') ?? named?.attentionHeads, 'heads by width', () =>
    headsByWidth(hiddenSize, wholeNumber(cells, 'tp') ?? 1),
  );
  const keyValueHeads = filled.or(
    wholeNumber(cells, 'kv_heads') ?? named?.keyValueHeads,
    'kv_heads = heads',
    () => attentionHeads,
  );
  const ffn = wholeNumber(cells, 'ffn_hidden') ?? named?.ffnHiddenSize ?? known?.experts?.ffnHiddenSize;
  const ffnHiddenSize = filled.or(ffn, 'ffn_hidden = 4 x hidden', () => 4 * hiddenSize);
  const vocabularySize = filled.or(
    wholeNumber(cells, 'vocab') ?? assumedVocabulary(cells.notes) ?? named?.vocabularySize,
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
  const family = familyOfEngine(cells.engine);
  return !ENGINES_WITHOUT_DROPOUT.has(family) && (yearOfEngine(cells.engine) ?? 2022) <= 2022;
}

function expertsOfRow(
  cells: StatedCells,
  known: KnownModel | undefined,
  sizes: Sizes,
): Partial<Pick<ModelShape, 'experts' | 'ffnHiddenSize'>> {
  const count = wholeNumber(cells, 'experts') ?? known?.experts?.count;
  if (count === undefined || count <= 1) return {};
  const topK = wholeNumber(cells, 'topk') ?? known?.experts?.topK;
  if (topK === undefined) throw new Unpredicted('topk is not published');
  const notes = cells.notes;
  const expertFfn = wholeNumber(cells, 'ffn_hidden') ?? known?.experts?.ffnHiddenSize ?? sizes.ffnHiddenSize;
  const shared = statedCount(notes, /(\d+) shared experts?/);
  const denseLayers = statedCount(notes, /(\d+) dense layers?/) ?? known?.experts?.denseLayers ?? 0;
  const denseFfn = statedCount(notes, /dense layers? ffn (\d+)/) ?? known?.denseFfnHiddenSize ?? sizes.ffnHiddenSize;
  return {
    ffnHiddenSize: denseLayers > 0 ? denseFfn : known?.facts?.layerPattern?.includes('-') === true ? denseFfn : 0,
    experts: {
      latentSize: 0,
      ...known?.experts,
      count,
      topK,
      ffnHiddenSize: expertFfn,
      sharedFfnHiddenSize: known?.experts?.sharedFfnHiddenSize ?? (shared ?? 0) * expertFfn,
      denseLayers,
    },
  };
}

function mtpLayersOf(notes: string, known: KnownModel | undefined): number {
  if (/\b(no|w\/o|without) MTP\b/i.test(notes)) return 0;
  const layout = /pp_layout=(\S+?)[;,]?(\s|$)/.exec(notes)?.[1];
  if (layout !== undefined) return layout.split('m').length - 1;
  if (/\bMTP\b/.test(notes)) return 1;
  return known?.facts?.mtpLayers ?? 0;
}

function statedCount(notes: string, pattern: RegExp): number | undefined {
  const text = pattern.exec(notes)?.[1];
  return text === undefined ? undefined : Number(text);
}
