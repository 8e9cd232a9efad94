import { z } from 'zod';

const count = z.int().min(0).max(16_777_216);
const size = z.int().min(1).max(16_777_216);

/**
 * The sizes of a model. Planner, layout rules and jobs use these declarations, so that names and meanings agree. Sizes are in elements, not bytes.
 */
export const MODEL_SIZES = {
  layers: size.describe('Transformer layers, without multi-token-prediction layers.'),
  hiddenSize: size.describe('Width of the residual stream.'),
  ffnHiddenSize: count.describe('Inner width of a dense MLP; 0 if no layer has one.'),
  attentionHeads: size.describe('Query heads of an attention layer.'),
  keyValueHeads: size.describe('Groups of grouped-query attention; equal to attentionHeads for multi-head attention.'),
  headDim: size.describe('Width of one head; hiddenSize / attentionHeads in most models.'),
  vocabularySize: size.describe('Tokens of the vocabulary, without padding.'),
  gatedMlp: z.boolean().describe('SwiGLU and similar: an MLP has three matrices instead of two.'),
  rmsNorm: z.boolean().describe('RMSNorm (one vector) instead of LayerNorm (two).'),
  linearBias: z.boolean().describe('Linear layers have a bias vector.'),
  dropout: z.boolean().describe('Dropout masks are kept for the backward pass.'),
  tiedEmbeddings: z.boolean().describe('The output layer has the weights of the input embedding.'),
  learnedPositions: count.describe('Rows of a learned position table; 0 for rotary or none.'),
  attentionWindow: count.describe('Tokens of a sliding window; 0 for full attention.'),
  windowedLayers: count.describe('How many attention layers use the window.'),
  attentionSinks: z
    .boolean()
    .describe('Each head has a learned score that the softmax adds to the scores of the keys (GPT-OSS and similar).'),
  mtpLayers: count.describe('Multi-token-prediction layers after the last layer.'),
  experts: z
    .strictObject({
      count: size.describe('Routed experts of a layer.'),
      topK: size.describe('Experts that process each token.'),
      ffnHiddenSize: size.describe('Inner width of one routed expert.'),
      sharedFfnHiddenSize: count
        .default(0)
        .describe('Total inner width of the shared experts, which process every token.'),
      denseLayers: count.default(0).describe('Leading layers with a dense MLP instead of experts.'),
      latentSize: count.default(0).describe('Width that tokens are projected to before dispatch; 0: hiddenSize.'),
    })
    .optional()
    .describe('Mixture of experts. Absent: every layer has a dense MLP.'),
  latentAttention: z
    .strictObject({
      queryRank: count.describe('0: queries are not compressed.'),
      keyValueRank: size.describe('Width of the compressed keys and values.'),
      nopeHeadDim: size.describe('Width of a head without positions.'),
      ropeHeadDim: size.describe('Width of a head with rotary positions.'),
      valueHeadDim: size.describe('Width of the values of a head.'),
    })
    .optional()
    .describe('Multi-head latent attention (DeepSeek-V2/V3).'),
  stateSpace: z
    .strictObject({
      stateSize: size.describe('Width of the state of a head.'),
      heads: size.describe('Heads of the mixer.'),
      headDim: size.describe('Width of one head of the mixer.'),
      groups: size.describe('Groups of heads that share their B and C projections.'),
      convKernel: size.default(4).describe('Length of the convolution before the mixer.'),
    })
    .optional()
    .describe('Mamba-2 mixer of the layers marked M.'),
  layerPattern: z
    .string()
    .max(1024)
    .regex(/^[AMEL*-]*$/, 'must hold only A or * (attention), L (linear attention), M (Mamba), E (experts) and - (MLP)')
    .optional()
    .describe(
      'One letter per layer for hybrids whose layers hold one block each: A or * attention, L linear attention, M Mamba-2, E experts, - MLP. Absent: every layer is attention followed by an MLP or experts.',
    ),
};

/** The sizes of a model that decide parameters, FLOPs and activations. */
export const ModelShape = z
  .strictObject({
    name: z.string().min(1).max(200).optional(),
    ...MODEL_SIZES,
    rmsNorm: MODEL_SIZES.rmsNorm.default(true),
    linearBias: MODEL_SIZES.linearBias.default(false),
    dropout: MODEL_SIZES.dropout.default(false),
    tiedEmbeddings: MODEL_SIZES.tiedEmbeddings.default(false),
    learnedPositions: MODEL_SIZES.learnedPositions.default(0),
    attentionWindow: MODEL_SIZES.attentionWindow.default(0),
    windowedLayers: MODEL_SIZES.windowedLayers.default(0),
    attentionSinks: MODEL_SIZES.attentionSinks.default(false),
    mtpLayers: MODEL_SIZES.mtpLayers.default(0),
  })
  .superRefine(({ layers, layerPattern, stateSpace, experts }, context) => {
    if (experts !== undefined && experts.topK > experts.count) {
      const message = `is ${experts.topK} of ${experts.count} experts; use at most ${experts.count}`;
      context.addIssue({ code: 'custom', path: ['experts', 'topK'], message });
    }
    const refuse = (message: string): void => {
      context.addIssue({ code: 'custom', path: ['layerPattern'], message });
    };
    if (layerPattern === undefined) return;
    if (layerPattern.length !== layers) {
      refuse(`has ${layerPattern.length} letters for ${layers} layers; write one letter for each layer`);
    }
    if (layerPattern.includes('M') && stateSpace === undefined) {
      refuse('has Mamba layers (M), but stateSpace is absent; set stateSpace');
    }
    if (layerPattern.includes('E') && experts === undefined) {
      refuse('has expert layers (E), but experts is absent; set experts');
    }
  })
  .meta({ id: 'ModelShape', description: 'Sizes of a model.' });
export type ModelShape = z.infer<typeof ModelShape>;

const MLP_EXPANSION = 4;
/** A model that reads bytes. */
const BYTE_VOCABULARY = 256;

/** Sizes with those that a job, a document or a file may leave out: MLP of four times the hidden size, multi-head attention, bytes, no gate. */
export function withDefaultSizes(sizes: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { hiddenSize, attentionHeads } = sizes;
  if (typeof hiddenSize !== 'number' || typeof attentionHeads !== 'number') return sizes;
  return {
    ffnHiddenSize: MLP_EXPANSION * hiddenSize,
    keyValueHeads: attentionHeads,
    headDim: hiddenSize / attentionHeads,
    vocabularySize: BYTE_VOCABULARY,
    gatedMlp: false,
    ...sizes,
  };
}
