/**
 * Parameters of a model: how many, in which layer, and over which ranks they are split. All counts are elements.
 *
 * Sources: Narayanan et al. 2021 (arXiv 2104.04473) equation 2 for dense models; DeepSeek-V3 (arXiv 2412.19437) section 2.1 for latent
 * attention; Dao and Gu 2024 (arXiv 2405.21060) for Mamba-2.
 */
import type { ModelShape } from '@coxswain/layout';

/** How a layer mixes tokens. */
export type MixerKind = 'attention' | 'linear-attention' | 'mamba' | 'none';
/** The feed-forward part of a layer. */
export type FeedForwardKind = 'mlp' | 'experts' | 'none';

/** The blocks of one layer. */
export interface LayerKind {
  readonly mixer: MixerKind;
  readonly feedForward: FeedForwardKind;
}

/** Parameters of one layer, by block and by the way they are split. */
export interface LayerParameters {
  readonly attention: number;
  readonly mamba: number;
  readonly mlp: number;
  readonly routedExperts: number;
  readonly sharedExperts: number;
  readonly router: number;
  readonly norms: number;
  readonly total: number;
  /** Parameters that one token passes through. */
  readonly active: number;
  /** Split over the tensor ranks; the rest outside `routedExperts` (which are split over expert * expertTensor) stands whole on each of them. */
  readonly tensorSharded: number;
  readonly replicated: number;
  /** Elements of the distinct weight shapes, split over tensor ranks: an engine that fuses gradient accumulation keeps one dummy gradient each. */
  readonly distinctSharded: number;
  readonly distinctReplicated: number;
  readonly distinctRouted: number;
}

/** A model as a list of layer kinds. */
export interface ModelParameters {
  readonly kinds: readonly LayerKind[];
  readonly perKind: readonly LayerParameters[];
  /** Index into `kinds` for every layer. */
  readonly kindOfLayer: readonly number[];
  /** Token and learned position embeddings. */
  readonly embedding: number;
  /** The output projection; 0 where it is tied to the embedding. */
  readonly head: number;
  readonly finalNorm: number;
  /** One multi-token-prediction module: a layer, its projection and norms, without the shared embedding and head. */
  readonly mtpLayer: LayerParameters;
  /** All parameters without multi-token prediction. */
  readonly total: number;
  /** Parameters one token passes through: of the experts only the chosen and shared ones; the embedding counts. */
  readonly active: number;
}

/** Ranks that the weights of one pipeline stage are split over. */
export interface WeightSplit {
  readonly tensor: number;
  readonly expert: number;
  readonly expertTensor: number;
}

const KIND_OF_LETTER: Readonly<Record<string, LayerKind>> = {
  A: { mixer: 'attention', feedForward: 'none' },
  '*': { mixer: 'attention', feedForward: 'none' },
  L: { mixer: 'linear-attention', feedForward: 'none' },
  M: { mixer: 'mamba', feedForward: 'none' },
  E: { mixer: 'none', feedForward: 'experts' },
  '-': { mixer: 'none', feedForward: 'mlp' },
};

/** The kind of every layer. Throws a RangeError if a layer pattern does not have one letter per layer. */
export function layerKindsOf(model: ModelShape): readonly LayerKind[] {
  const { layerPattern } = model;
  if (layerPattern === undefined) {
    const denseLayers = model.experts === undefined ? model.layers : model.experts.denseLayers;
    return Array.from({ length: model.layers }, (_, layer) => ({
      mixer: 'attention',
      feedForward: layer < denseLayers ? 'mlp' : 'experts',
    }));
  }
  if (layerPattern.length !== model.layers) {
    throw new RangeError(
      `layerPattern has ${layerPattern.length} letters for ${model.layers} layers: write one letter per layer`,
    );
  }
  return [...layerPattern].map((letter) => {
    const kind = KIND_OF_LETTER[letter];
    if (kind === undefined)
      throw new RangeError(`layerPattern: '${letter}' is none of ${Object.keys(KIND_OF_LETTER).join(' ')}`);
    return kind;
  });
}

/** Matrices and vectors of one block: how many elements are split over tensor ranks, and how many are on each of them whole. */
interface Block {
  readonly sharded: number;
  readonly replicated: number;
}

const NOTHING: Block = { sharded: 0, replicated: 0 };

function attentionBlock(model: ModelShape): Block {
  const { hiddenSize: h, attentionHeads: a, latentAttention: latent } = model;
  if (latent !== undefined) {
    const queryWidth = a * (latent.nopeHeadDim + latent.ropeHeadDim);
    const queries = latent.queryRank > 0 ? latent.queryRank * (queryWidth + 1) : h * queryWidth;
    const keysAndValues = latent.keyValueRank * (a * (latent.nopeHeadDim + latent.valueHeadDim) + 1);
    return {
      sharded: queries + keysAndValues + a * latent.valueHeadDim * h,
      replicated: h * (latent.queryRank + latent.keyValueRank + latent.ropeHeadDim),
    };
  }
  const projected = (a + 2 * model.keyValueHeads) * model.headDim;
  const bias = model.linearBias ? projected : 0;
  return { sharded: h * projected + bias + a * model.headDim * h, replicated: model.linearBias ? h : 0 };
}

function mambaBlock(model: ModelShape): Block {
  const ssm = model.stateSpace;
  if (ssm === undefined)
    throw new RangeError('layerPattern names Mamba layers (M), but stateSpace is absent: state its sizes');
  const inner = ssm.heads * ssm.headDim;
  const convolved = inner + 2 * ssm.groups * ssm.stateSize;
  const inProjection = model.hiddenSize * (inner + convolved + ssm.heads);
  const convolution = convolved * (ssm.convKernel + 1);
  return { sharded: inProjection + convolution + 3 * ssm.heads + inner + inner * model.hiddenSize, replicated: 0 };
}

/** Two matrices, or three with a gate; the input width differs from the hidden size only for latent experts. */
function mlpBlock(model: ModelShape, inputWidth: number, innerWidth: number): Block {
  const firstWidth = (model.gatedMlp ? 2 : 1) * innerWidth;
  return {
    sharded: inputWidth * firstWidth + innerWidth * inputWidth + (model.linearBias ? firstWidth : 0),
    replicated: model.linearBias ? inputWidth : 0,
  };
}

function layerParametersOf(model: ModelShape, kind: LayerKind): LayerParameters {
  const norm = model.hiddenSize * (model.rmsNorm ? 1 : 2);
  const attention = kind.mixer === 'attention' || kind.mixer === 'linear-attention' ? attentionBlock(model) : NOTHING;
  const mamba = kind.mixer === 'mamba' ? mambaBlock(model) : NOTHING;
  const mlp = kind.feedForward === 'mlp' ? mlpBlock(model, model.hiddenSize, model.ffnHiddenSize) : NOTHING;
  const experts = expertBlocks(model, kind);
  const norms = norm * ((kind.mixer === 'none' ? 0 : 1) + (kind.feedForward === 'none' ? 0 : 1));
  const tensorSharded = attention.sharded + mamba.sharded + mlp.sharded + experts.shared.sharded;
  const replicated = attention.replicated + mlp.replicated + experts.shared.replicated + experts.router + norms;
  return {
    attention: attention.sharded + attention.replicated,
    mamba: mamba.sharded,
    mlp: mlp.sharded + mlp.replicated,
    routedExperts: experts.oneExpert * experts.count,
    sharedExperts: experts.shared.sharded + experts.shared.replicated,
    router: experts.router,
    norms,
    total: tensorSharded + replicated + experts.oneExpert * experts.count,
    active: tensorSharded + replicated + experts.oneExpert * experts.topK,
    tensorSharded,
    replicated,
    distinctSharded: tensorSharded,
    distinctReplicated: attention.replicated,
    distinctRouted: experts.oneExpert,
  };
}

interface ExpertBlocks {
  readonly oneExpert: number;
  readonly count: number;
  readonly topK: number;
  readonly shared: Block;
  /** Router and latent projections, whole on every tensor rank. */
  readonly router: number;
}

function expertBlocks(model: ModelShape, kind: LayerKind): ExpertBlocks {
  if (kind.feedForward !== 'experts') return { oneExpert: 0, count: 0, topK: 0, shared: NOTHING, router: 0 };
  const { experts } = model;
  if (experts === undefined)
    throw new RangeError('layerPattern names expert layers (E), but experts is absent: state its sizes');
  const width = experts.latentSize > 0 ? experts.latentSize : model.hiddenSize;
  const one = mlpBlock(model, width, experts.ffnHiddenSize);
  return {
    oneExpert: one.sharded + one.replicated,
    count: experts.count,
    topK: experts.topK,
    shared: experts.sharedFfnHiddenSize > 0 ? mlpBlock(model, model.hiddenSize, experts.sharedFfnHiddenSize) : NOTHING,
    router: model.hiddenSize * experts.count + (experts.latentSize > 0 ? 2 * model.hiddenSize * experts.latentSize : 0),
  };
}

function computeParameters(model: ModelShape): ModelParameters {
  const ofLayers = layerKindsOf(model);
  const kinds: LayerKind[] = [];
  const kindOfLayer = ofLayers.map((kind) => {
    const known = kinds.findIndex((other) => other.mixer === kind.mixer && other.feedForward === kind.feedForward);
    return known >= 0 ? known : kinds.push(kind) - 1;
  });
  const perKind = kinds.map((kind) => layerParametersOf(model, kind));
  const finalNorm = model.hiddenSize * (model.rmsNorm ? 1 : 2);
  const embedding = (model.vocabularySize + model.learnedPositions) * model.hiddenSize;
  const head = model.tiedEmbeddings ? 0 : model.vocabularySize * model.hiddenSize;
  const sum = (pick: (layer: LayerParameters) => number): number =>
    kindOfLayer.reduce((total, kind) => total + pickOf(perKind, kind, pick), 0);
  const outside = embedding + head + finalNorm;
  return {
    kinds,
    perKind,
    kindOfLayer,
    embedding,
    head,
    finalNorm,
    mtpLayer: mtpLayerOf(model, ofLayers.at(-1)),
    total: sum((layer) => layer.total) + outside,
    active: sum((layer) => layer.active) + outside,
  };
}

function pickOf(perKind: readonly LayerParameters[], kind: number, pick: (layer: LayerParameters) => number): number {
  const layer = perKind[kind];
  return layer === undefined ? 0 : pick(layer);
}

/** A prediction module repeats the kind of the last layer and joins two normed inputs with a projection of 2h to h. */
function mtpLayerOf(model: ModelShape, last: LayerKind | undefined): LayerParameters {
  const feedForward = model.experts === undefined ? 'mlp' : 'experts';
  const kind: LayerKind = last?.mixer === 'attention' ? last : { mixer: 'attention', feedForward };
  const layer = layerParametersOf(model, kind);
  const norms = 3 * model.hiddenSize * (model.rmsNorm ? 1 : 2);
  const projection = 2 * model.hiddenSize * model.hiddenSize;
  return {
    ...layer,
    norms: layer.norms + norms,
    total: layer.total + projection + norms,
    active: layer.active + projection + norms,
    tensorSharded: layer.tensorSharded + projection,
    replicated: layer.replicated + norms,
  };
}

const known = new WeakMap<ModelShape, ModelParameters>();

/** Parameters of a model, cached by model object, because a search reads them hundreds of thousands of times. */
export function parametersOf(model: ModelShape): ModelParameters {
  const before = known.get(model);
  if (before !== undefined) return before;
  const parameters = computeParameters(model);
  known.set(model, parameters);
  return parameters;
}

/** Parameters of one layer that one GPU holds outside the routed experts. */
export function denseShareOf(layer: LayerParameters, split: Pick<WeightSplit, 'tensor'>): number {
  return layer.tensorSharded / split.tensor + layer.replicated;
}

/** Parameters of the routed experts of one layer that one GPU holds. */
export function expertShareOf(layer: LayerParameters, split: Pick<WeightSplit, 'expert' | 'expertTensor'>): number {
  return layer.routedExperts / (split.expert * split.expertTensor);
}
