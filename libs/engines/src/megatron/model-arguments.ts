/** Renders the sizes of a model for Megatron-LM. */
import type { ModelShape } from '@coxswain/layout';
import { publishedArguments } from './published-arguments.ts';
import {
  type MegatronJob,
  byDefault,
  flag,
  flagOf,
  kept,
  note,
  refuse,
  switchOf,
  type RenderedField,
} from './rendered-field.ts';

/** Arguments for the fields of `model`. */
export function modelArguments(job: MegatronJob): readonly RenderedField[] {
  const { shape, spec } = job;
  if (shape === undefined) return [];
  return [
    ...sizeArguments(job, shape),
    ...layerArguments(shape),
    ...positionArguments(shape, spec.model?.sequenceLength ?? 0),
    ...windowArguments(shape),
    ...expertArguments(job, shape),
    ...latentArguments(shape),
    ...stateSpaceArguments(shape),
    ...patternArguments(job, shape),
    ...publishedArguments(job, shape),
  ];
}

function sizeArguments({ release }: MegatronJob, shape: ModelShape): readonly RenderedField[] {
  const { layers, hiddenSize, attentionHeads, keyValueHeads, experts } = shape;
  const ffn = shape.ffnHiddenSize === 0 ? experts?.ffnHiddenSize : shape.ffnHiddenSize;
  // From core_v0.17 on a pattern gives the number of layers, and --num-layers is ignored with a warning.
  const isInPattern = shape.layerPattern !== undefined && release.options.has('--hybrid-layer-pattern');
  return [
    ...(isInPattern ? kept('model.layers') : flag('model.layers', '--num-layers', layers)),
    ...flag('model.hiddenSize', '--hidden-size', hiddenSize),
    ...flagOf('model.ffnHiddenSize', '--ffn-hidden-size', ffn),
    ...flag('model.attentionHeads', '--num-attention-heads', attentionHeads),
    ...flag('model.headDim', '--kv-channels', shape.headDim),
    ...(keyValueHeads === attentionHeads || shape.latentAttention !== undefined
      ? kept('model.keyValueHeads')
      : [
          ...flag('model.keyValueHeads', '--group-query-attention'),
          ...flag('model.keyValueHeads', '--num-query-groups', keyValueHeads),
        ]),
    // Rendered with the tokenizer, which knows the size better.
    ...kept('model.vocabularySize'),
  ];
}

function layerArguments(shape: ModelShape): readonly RenderedField[] {
  return [
    ...switchOf('model.gatedMlp', '--swiglu', shape.gatedMlp),
    ...flag('model.rmsNorm', '--normalization', shape.rmsNorm ? 'RMSNorm' : 'LayerNorm'),
    ...(shape.linearBias ? kept('model.linearBias') : flag('model.linearBias', '--disable-bias-linear')),
    ...(shape.dropout
      ? note('model.dropout', 'dropout is that of Megatron-LM, 0.1, unless engine.args override it')
      : [...flag('model.dropout', '--attention-dropout', '0.0'), ...flag('model.dropout', '--hidden-dropout', '0.0')]),
    ...(shape.tiedEmbeddings
      ? kept('model.tiedEmbeddings')
      : flag('model.tiedEmbeddings', '--untie-embeddings-and-output-weights')),
    ...mtpArguments(shape),
  ];
}

/** validate_args: rotary positions or none. */
function mtpArguments({ mtpLayers, learnedPositions }: ModelShape): readonly RenderedField[] {
  const field = 'model.mtpLayers';
  if (mtpLayers === 0) return [];
  if (learnedPositions === 0) return flag(field, '--mtp-num-layers', mtpLayers);
  const why = 'Megatron-LM predicts several tokens only where positions are rotary or none';
  return refuse('mtp-is-not-of-learned-positions', field, why, 'leave model.mtpLayers out, or model.learnedPositions');
}

/** Hybrids without a table of positions have none: their state-space layers count. Rows of the table bound the length of samples (validate_args). */
function positionArguments(
  { learnedPositions, layerPattern }: ModelShape,
  sequenceLength: number,
): readonly RenderedField[] {
  const field = 'model.learnedPositions';
  const length = flag('model.sequenceLength', '--seq-length', sequenceLength);
  if (learnedPositions === 0)
    return [
      ...length,
      ...flag(field, '--position-embedding-type', layerPattern === undefined ? 'rope' : 'none'),
      ...flag(field, '--max-position-embeddings', sequenceLength),
    ];
  if (learnedPositions < sequenceLength)
    return refuse(
      'positions-cover-samples',
      field,
      `model.learnedPositions ${learnedPositions} are fewer than the ${sequenceLength} tokens of a sample`,
      `set model.sequenceLength to ${learnedPositions} or less`,
    );
  return [
    ...length,
    ...flag(field, '--position-embedding-type', 'learned_absolute'),
    ...flag(field, '--max-position-embeddings', learnedPositions),
  ];
}

/** `--window-attn-skip-freq n`: every n-th layer attends to all positions; the ratio is rendered as (n-1):n. */
function windowArguments({ layers, attentionWindow, windowedLayers }: ModelShape): readonly RenderedField[] {
  if (attentionWindow === 0) return kept('model.attentionWindow', 'model.windowedLayers');
  const whole = layers - windowedLayers;
  const window = flag('model.attentionWindow', '--window-size', `${attentionWindow - 1},0`);
  if (whole === 0) return [...window, ...kept('model.windowedLayers')];
  const every = Math.round(layers / whole);
  if (Math.floor(layers / every) === whole)
    return [
      ...window,
      ...flag('model.windowedLayers', '--window-attn-skip-freq', every),
      ...note('model.windowedLayers', `one layer in ${every} has no window`),
    ];
  return refuse(
    'windows-in-even-steps',
    'model.windowedLayers',
    `Megatron-LM leaves each n-th layer without a window, which ${windowedLayers} of ${layers} layers are not`,
    'start a program of your own by engine.command',
  );
}

function expertArguments(
  { layout, spec }: MegatronJob,
  { experts, layers, layerPattern }: ModelShape,
): readonly RenderedField[] {
  if (experts === undefined) return [];
  const field = 'model.experts';
  const { denseLayers, sharedFfnHiddenSize: shared, latentSize } = experts;
  return [
    ...flag(`${field}.count`, '--num-experts', experts.count),
    ...flag(`${field}.topK`, '--moe-router-topk', experts.topK),
    ...flag(`${field}.ffnHiddenSize`, '--moe-ffn-hidden-size', experts.ffnHiddenSize),
    ...(shared === 0 ? [] : flag(`${field}.sharedFfnHiddenSize`, '--moe-shared-expert-intermediate-size', shared)),
    ...(denseLayers === 0 || layerPattern !== undefined
      ? kept(`${field}.denseLayers`)
      : flag(`${field}.denseLayers`, '--moe-layer-freq', `([0]*${denseLayers}+[1]*${layers - denseLayers})`)),
    ...(latentSize === 0 ? [] : flag(`${field}.latentSize`, '--moe-latent-size', latentSize)),
    // core_v0.15 has grouped products in bf16 alone.
    ...(layout.kernel?.precision === 'fp16' || spec.training?.precision === 'fp32'
      ? []
      : byDefault('--moe-grouped-gemm')),
  ];
}

function latentArguments({ latentAttention }: ModelShape): readonly RenderedField[] {
  if (latentAttention === undefined) return [];
  const field = 'model.latentAttention';
  const { queryRank, keyValueRank, nopeHeadDim, ropeHeadDim, valueHeadDim } = latentAttention;
  return [
    ...flag(field, '--multi-latent-attention'),
    ...(queryRank === 0 ? kept(`${field}.queryRank`) : flag(`${field}.queryRank`, '--q-lora-rank', queryRank)),
    ...flag(`${field}.keyValueRank`, '--kv-lora-rank', keyValueRank),
    ...flag(`${field}.nopeHeadDim`, '--qk-head-dim', nopeHeadDim),
    ...flag(`${field}.ropeHeadDim`, '--qk-pos-emb-head-dim', ropeHeadDim),
    ...flag(`${field}.valueHeadDim`, '--v-head-dim', valueHeadDim),
  ];
}

function stateSpaceArguments({ stateSpace }: ModelShape): readonly RenderedField[] {
  if (stateSpace === undefined) return [];
  const field = 'model.stateSpace';
  return [
    ...flag(`${field}.stateSize`, '--mamba-state-dim', stateSpace.stateSize),
    ...flag(`${field}.heads`, '--mamba-num-heads', stateSpace.heads),
    ...flag(`${field}.headDim`, '--mamba-head-dim', stateSpace.headDim),
    ...flag(`${field}.groups`, '--mamba-num-groups', stateSpace.groups),
    ...(stateSpace.convKernel === 4
      ? kept(`${field}.convKernel`)
      : refuse(
          'convolution-of-mamba-mixer',
          `${field}.convKernel`,
          `the convolution of Mamba layers in Megatron-LM is 4 wide, not ${stateSpace.convKernel}`,
          'use 4',
        )),
  ];
}

/** Letters of the pattern are Megatron-LM's but for attention, which is `*` (mamba_hybrid_layer_allocation.py, Symbols). */
function patternArguments(
  { release, program }: MegatronJob,
  { layerPattern, experts }: ModelShape,
): readonly RenderedField[] {
  const field = 'model.layerPattern';
  if (layerPattern === undefined) return [];
  if (layerPattern.includes('L'))
    return refuse('no-linear-attention', field, 'layers of linear attention are not rendered', 'use engine "command"');
  if (program === 'gpt' || program === 'bert')
    return refuse('pattern-needs-hybrid', field, 'the program takes no pattern of layers', 'leave engine.command out');
  const isRecent = release.options.has('--hybrid-layer-pattern');
  const module = release.minor >= 18 ? HYBRID_SPEC : MAMBA_SPEC;
  return [
    ...flag(
      field,
      isRecent ? '--hybrid-layer-pattern' : '--hybrid-override-pattern',
      layerPattern.replaceAll('A', '*'),
    ),
    ...(isRecent ? [] : flag(field, '--is-hybrid-model')),
    ...byDefault('--spec', ...module),
    ...(experts === undefined ? [] : kept('model.experts.denseLayers')),
  ];
}

const MAMBA_SPEC = ['megatron.core.models.mamba.mamba_layer_specs', 'mamba_stack_spec'];
/** Where it moved to; the old name still leads there in core_v0.18. */
const HYBRID_SPEC = ['megatron.core.models.hybrid.hybrid_layer_specs', 'hybrid_stack_spec'];
