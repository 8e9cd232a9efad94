/** Seconds of the blocks a stage is made of, for one micro-batch on one rank. */
import type { RunFacts } from '../facts.ts';
import type { TimeConstants } from './constants.ts';
import { gemmS, memoryS, softExcess, softMax, type KernelFacts } from './kernels.ts';
import { allToAllS, collectiveS, membersPerDomain } from './links.ts';

/** What a second was spent on. */
export const PARTS = [
  'matrixProducts',
  'attention',
  'memoryBound',
  'recompute',
  'launch',
  'vocabulary',
  'tensorTraffic',
  'contextTraffic',
  'expertTraffic',
  'routing',
  'shardTraffic',
] as const;
export type Part = (typeof PARTS)[number];

/** One block, one micro-batch: the three passes, and where their time goes. */
export interface BlockCost {
  forwardS: number;
  /** Gradient of the input; includes recomputation. */
  backwardInputS: number;
  /** Gradient of the weights. */
  backwardWeightS: number;
  readonly partsS: Float64Array;
}

/** Facts that every block of a run shares. */
export interface BlockFacts {
  readonly run: RunFacts;
  readonly kernels: KernelFacts;
  readonly constants: TimeConstants;
  /** Tokens of one micro-batch on one context rank. */
  readonly tokens: number;
  /** Ways that norms, residuals and dropout are divided. */
  readonly sequenceWays: number;
  /** Host time that CUDA graphs leave. */
  readonly hostShare: number;
}

interface Work {
  /** Seconds forward, by part. */
  matrixProductsS: number;
  attentionS: number;
  attentionBackwardS: number;
  memoryS: number;
  memoryBackwardS: number;
  routingS: number;
  tensorTrafficS: number;
  contextTrafficS: number;
  expertTrafficS: number;
  expertTrafficBackwardS: number;
  hostS: number;
  /** Forward seconds that the backward pass computes again. */
  recomputeS: number;
}

const noWork = (): Work => ({
  matrixProductsS: 0,
  attentionS: 0,
  attentionBackwardS: 0,
  memoryS: 0,
  memoryBackwardS: 0,
  routingS: 0,
  tensorTrafficS: 0,
  contextTrafficS: 0,
  expertTrafficS: 0,
  expertTrafficBackwardS: 0,
  hostS: 0,
  recomputeS: 0,
});

const BYTES = 2;
/** Megatron's fused softmax kernel takes four rows of scores per block and refuses other counts (megatron/model/fused_softmax.py). */
const SOFTMAX_BATCHES = 4;
const partIndex = Object.fromEntries(PARTS.map((part, index) => [part, index])) as Readonly<Record<Part, number>>;

/** A frozen matrix (low-rank adapters) needs no weight gradient. */
const weightShare = (run: RunFacts): number => (run.loraRank > 0 ? 0.1 : 1);

/** Turns what a block does into its three passes. */
function costOf(facts: BlockFacts, work: Work): BlockCost {
  const { run, constants } = facts;
  const partsS = new Float64Array(PARTS.length);
  const weightS = work.matrixProductsS * weightShare(run);
  const recomputeS = recomputedS(facts, work);
  const forwardGpuS =
    work.matrixProductsS +
    work.attentionS +
    work.memoryS +
    work.routingS +
    work.tensorTrafficS +
    work.contextTrafficS +
    work.expertTrafficS;
  const backwardGpuS =
    work.matrixProductsS +
    work.attentionBackwardS +
    work.memoryBackwardS +
    work.routingS +
    work.tensorTrafficS +
    work.contextTrafficS * 2 +
    work.expertTrafficBackwardS +
    recomputeS;
  const recomputeHostS = recomputeS > 0.5 * forwardGpuS ? work.hostS : 0;
  const forwardS = softMax(forwardGpuS, work.hostS);
  const backwardS = softMax(backwardGpuS + weightS, work.hostS * constants.hostBackward + recomputeHostS);
  const weightPart = weightS / Math.max(backwardGpuS + weightS, 1e-12);
  partsS[partIndex.matrixProducts] = 2 * work.matrixProductsS + weightS;
  partsS[partIndex.attention] = work.attentionS + work.attentionBackwardS;
  partsS[partIndex.memoryBound] = work.memoryS + work.memoryBackwardS;
  partsS[partIndex.recompute] = recomputeS;
  partsS[partIndex.routing] = 2 * work.routingS;
  partsS[partIndex.tensorTraffic] = 2 * work.tensorTrafficS;
  partsS[partIndex.contextTraffic] = 3 * work.contextTrafficS;
  partsS[partIndex.expertTraffic] = work.expertTrafficS + work.expertTrafficBackwardS;
  partsS[partIndex.launch] = forwardS + backwardS - forwardGpuS - backwardGpuS - weightS;
  return {
    forwardS,
    backwardInputS: backwardS * (1 - weightPart),
    backwardWeightS: backwardS * weightPart,
    partsS,
  };
}

/** Seconds of the forward pass that are computed again in the backward pass. */
function recomputedS(facts: BlockFacts, work: Work): number {
  const { layout } = facts.run;
  if (layout.recompute === 'none') return 0;
  if (layout.recompute === 'selective') return work.recomputeS;
  const perChunk = layout.recomputeLayersPerChunk ?? Infinity;
  const share = Math.min(1, (perChunk * layout.pipeline * layout.chunks) / facts.run.model.layers);
  return (
    share *
    (work.matrixProductsS +
      work.attentionS +
      work.memoryS +
      work.routingS +
      work.tensorTrafficS +
      work.contextTrafficS +
      work.expertTrafficS)
  );
}

const recomputes = (run: RunFacts, module: RunFacts['layout']['recomputeModules'][number]): boolean =>
  run.layout.recompute === 'selective' && run.layout.recomputeModules.includes(module);

/** Traffic of one row-parallel and one column-parallel pair forward: an all-reduce, or all-gather and reduce-scatter. */
function tensorTraffic(facts: BlockFacts, work: Work, tokens: number): void {
  const { run, constants } = facts;
  const { tensor, overlapTensor } = run.layout;
  if (tensor <= 1) return;
  const bytes = tokens * run.model.hiddenSize * BYTES;
  const once = collectiveS(run.cluster, { size: tensor, stride: 1 }, bytes, constants);
  work.tensorTrafficS += 2 * once * (overlapTensor ? constants.tensorOverlap : 1);
  work.hostS += constants.hostCollectiveS * (run.layout.sequenceParallel ? 2 : 1) * facts.hostShare;
}

/** Casts of activations to fp8 or fp4: read two bytes, write one, and once more transposed for the weight gradient. */
function quantise(facts: BlockFacts, elements: number): number {
  if (!facts.kernels.quantises) return 0;
  return facts.constants.quantiseFactor * memoryS(facts.kernels, elements * 4);
}

/** Norm, residual and dropout around a block: bytes per token and hidden element, forward and backward. */
function aroundBlock(facts: BlockFacts, work: Work): void {
  const { run, kernels, constants, tokens, sequenceWays } = facts;
  const bytes = (tokens / sequenceWays) * run.model.hiddenSize * (run.model.dropout ? 12 : 10);
  const forwardS = constants.elementwiseFactor * memoryS(kernels, bytes);
  work.memoryS += forwardS;
  work.memoryBackwardS += 1.5 * forwardS;
  if (recomputes(run, 'layernorm')) work.recomputeS += 0.4 * forwardS;
}

/** Attention with its projections. */
export function attentionBlock(facts: BlockFacts): BlockCost {
  const { run, kernels, constants, tokens } = facts;
  const { model, layout } = run;
  const work = noWork();
  const { hiddenSize } = model;
  const t = layout.tensor;
  const kvHeads = Math.max(1, model.keyValueHeads / t);
  const heads = model.attentionHeads / t;
  const latent = model.latentAttention;
  if (latent === undefined) {
    const qkv = heads * model.headDim + 2 * kvHeads * model.headDim;
    work.matrixProductsS += gemmS(kernels, { m: tokens, n: qkv, k: hiddenSize }, true);
    work.matrixProductsS += gemmS(kernels, { m: tokens, n: hiddenSize, k: heads * model.headDim }, true);
    const rotary = constants.elementwiseFactor * memoryS(kernels, tokens * qkv * 4);
    work.memoryS += rotary + quantise(facts, tokens * (hiddenSize + heads * model.headDim));
    work.memoryBackwardS += rotary + quantise(facts, tokens * (hiddenSize + qkv));
    attentionCore(facts, work, { heads, kvHeads, queryDim: model.headDim, valueDim: model.headDim });
  } else {
    const queryDim = latent.nopeHeadDim + latent.ropeHeadDim;
    const down = (latent.queryRank || 0) + latent.keyValueRank + latent.ropeHeadDim;
    const queryIn = latent.queryRank || hiddenSize;
    const up =
      gemmS(kernels, { m: tokens, n: heads * queryDim, k: queryIn }, true) +
      gemmS(
        kernels,
        { m: tokens, n: heads * (latent.nopeHeadDim + latent.valueHeadDim), k: latent.keyValueRank },
        true,
      );
    work.matrixProductsS += gemmS(kernels, { m: tokens / facts.sequenceWays, n: down, k: hiddenSize }, true) + up;
    work.matrixProductsS += gemmS(kernels, { m: tokens, n: hiddenSize, k: heads * latent.valueHeadDim }, true);
    const split =
      constants.elementwiseFactor *
      memoryS(kernels, tokens * (down + heads * (2 * queryDim + latent.valueHeadDim)) * 4);
    work.memoryS += split + quantise(facts, tokens * (hiddenSize + queryIn + heads * latent.valueHeadDim));
    work.memoryBackwardS += split + quantise(facts, tokens * (hiddenSize + heads * queryDim));
    if (recomputes(run, 'mla_up_proj')) work.recomputeS += up + split;
    attentionCore(facts, work, { heads, kvHeads: heads, queryDim, valueDim: latent.valueHeadDim });
  }
  aroundBlock(facts, work);
  tensorTraffic(facts, work, tokens);
  work.hostS += 0.5 * constants.hostLayerS * facts.hostShare;
  return costOf(facts, work);
}

interface CoreShape {
  readonly heads: number;
  readonly kvHeads: number;
  readonly queryDim: number;
  readonly valueDim: number;
}

/** Scores, softmax and the weighted sum; with context parallelism also the exchange of keys and values. */
function attentionCore(facts: BlockFacts, work: Work, shape: CoreShape): void {
  const { run, kernels, constants, tokens } = facts;
  const { model, layout, sequenceLength } = run;
  const windowed = model.attentionWindow > 0 ? Math.min(1, model.windowedLayers / model.layers) : 0;
  const window = Math.min(model.attentionWindow, sequenceLength);
  /** Keys each query meets under a causal mask, averaged over layers. */
  const keys = (1 - windowed) * (sequenceLength / 2) + windowed * (window * (1 - window / (2 * sequenceLength)));
  const { heads, kvHeads, queryDim, valueDim } = shape;
  let forwardS: number;
  let backwardS: number;
  if (run.flashAttention) {
    const flops = 2 * tokens * keys * heads * (queryDim + valueDim);
    const head = (queryDim + valueDim) / 2;
    const slow =
      constants.flashSlowdown *
      (run.ampereFlashAttention === true && run.cluster.gpu.fp8Tflops > 0 ? constants.flashForAmpere : 1) *
      (1 + constants.flashHead / head) *
      (1 + constants.flashSequence / sequenceLength);
    forwardS = (flops / kernels.ceilingFlopsPerS) * slow + memoryS(kernels, tokens * heads * (queryDim + valueDim) * 6);
    backwardS = 2.5 * forwardS * constants.flashBackward;
  } else {
    const samples = tokens / (sequenceLength / layout.context);
    const batch = samples * heads;
    const flops = 2 * tokens * sequenceLength * heads * (queryDim + valueDim);
    const aligned =
      1 + (queryDim % 8 === 0 ? (queryDim % 64 === 0 ? 0 : constants.gemmMisaligned) : constants.gemmUnaligned);
    const products =
      (flops / kernels.ceilingFlopsPerS) *
      constants.unfusedSlowdown *
      aligned *
      (1 + (2 * constants.flashHead) / queryDim);
    const scores = (batch * sequenceLength * sequenceLength) / layout.context;
    const fused = batch % SOFTMAX_BATCHES === 0;
    const softmaxS =
      constants.scoresFactor *
      (fused ? 1 : constants.softmaxFallback) *
      memoryS(kernels, scores * (model.dropout ? 13 : 8));
    if (!fused) work.hostS += constants.hostSoftmaxS * facts.hostShare;
    forwardS = products + softmaxS;
    backwardS = 2 * products + 1.5 * softmaxS;
  }
  work.attentionS += forwardS;
  work.attentionBackwardS += backwardS;
  if (recomputes(run, 'core_attn')) work.recomputeS += forwardS;
  if (layout.context > 1) contextTraffic(facts, work, { ...shape, forwardS, kvHeads });
}

function contextTraffic(facts: BlockFacts, work: Work, core: CoreShape & { readonly forwardS: number }): void {
  const { run, constants, tokens } = facts;
  const { layout, cluster } = run;
  const group = { size: layout.context, stride: layout.tensor };
  const keyValueBytes = tokens * core.kvHeads * (core.queryDim + core.valueDim) * BYTES;
  if (layout.contextAlgorithm === 'ulysses') {
    const bytes = tokens * (2 * core.heads * core.queryDim + core.kvHeads * (core.queryDim + core.valueDim)) * BYTES;
    work.contextTrafficS += 2 * collectiveS(cluster, group, bytes, constants);
    return;
  }
  const exchangeS = collectiveS(cluster, group, keyValueBytes * layout.context, constants);
  if (layout.contextAlgorithm === 'allgather') {
    work.contextTrafficS += exchangeS;
    return;
  }
  const hidden = constants.contextOverlap * core.forwardS;
  work.contextTrafficS += softExcess(exchangeS - hidden, 0.2 * exchangeS);
}

/** A dense MLP. */
export function denseMlpBlock(facts: BlockFacts): BlockCost {
  const { run, constants } = facts;
  const work = noWork();
  mlpWork(facts, work, { tokens: facts.tokens, width: run.model.ffnHiddenSize / run.layout.tensor });
  if (recomputes(run, 'mlp')) work.recomputeS += work.matrixProductsS + work.memoryS;
  aroundBlock(facts, work);
  tensorTraffic(facts, work, facts.tokens);
  work.hostS += 0.5 * constants.hostLayerS * facts.hostShare;
  return costOf(facts, work);
}

function mlpWork(facts: BlockFacts, work: Work, size: { readonly tokens: number; readonly width: number }): void {
  const { run, kernels, constants } = facts;
  const { tokens, width } = size;
  const { hiddenSize, gatedMlp } = run.model;
  const inner = width * (gatedMlp ? 2 : 1);
  work.matrixProductsS += gemmS(kernels, { m: tokens, n: inner, k: hiddenSize }, true);
  work.matrixProductsS += gemmS(kernels, { m: tokens, n: hiddenSize, k: width }, true);
  const activation = constants.elementwiseFactor * memoryS(kernels, tokens * (inner + width) * BYTES);
  work.memoryS += activation + quantise(facts, tokens * (hiddenSize + width));
  work.memoryBackwardS += 1.6 * activation + quantise(facts, tokens * (hiddenSize + inner));
}

/** Router, dispatch, routed and shared experts, and the weighted sum. */
export function expertBlock(facts: BlockFacts): BlockCost {
  const { run, kernels, constants } = facts;
  const { model, layout, cluster } = run;
  const { experts } = model;
  if (experts === undefined) throw new RangeError('a model without experts has no expert block');
  const work = noWork();
  /** Tokens that enter the router on this rank; with sequence parallelism the tensor ranks share them. */
  const tokens = facts.tokens / layout.tensor;
  const width = experts.latentSize || model.hiddenSize;
  const kept = Math.min(1, layout.expertCapacity ?? Infinity);
  const balance = 1 + (layout.expertCapacity === undefined ? constants.imbalance : 0);
  const routed = tokens * experts.topK * kept;
  const localExperts = Math.max(1, experts.count / layout.expert);
  const rows = routed * layout.expertTensor * balance;
  const inner = (experts.ffnHiddenSize / layout.expertTensor) * (model.gatedMlp ? 2 : 1);
  const outer = experts.ffnHiddenSize / layout.expertTensor;
  const rowsPerExpert = Math.max(1, rows / localExperts);
  const grouped = constants.groupedSlowdown * (1 + constants.groupedRows / rowsPerExpert);
  const expertsS =
    (gemmS(kernels, { m: rows, n: inner, k: width }, true) + gemmS(kernels, { m: rows, n: width, k: outer }, true)) *
    grouped;
  work.matrixProductsS += expertsS;
  const activation = constants.elementwiseFactor * memoryS(kernels, rows * (inner + outer) * BYTES);
  work.memoryS += activation + quantise(facts, rows * (width + outer));
  work.memoryBackwardS += 1.6 * activation + quantise(facts, rows * (width + inner));
  if (recomputes(run, 'moe_act')) work.recomputeS += activation;

  if (experts.latentSize > 0) {
    work.matrixProductsS += 2 * gemmS(kernels, { m: tokens, n: experts.latentSize, k: model.hiddenSize }, true);
  }
  if (experts.sharedFfnHiddenSize > 0) {
    const before = work.matrixProductsS;
    mlpWork(facts, work, { tokens: facts.tokens, width: experts.sharedFfnHiddenSize / layout.tensor });
    if (recomputes(run, 'shared_experts')) work.recomputeS += work.matrixProductsS - before;
  }
  work.routingS +=
    constants.routingFactor *
    memoryS(kernels, (routed + rows) * width * 2 * BYTES + tokens * (experts.count * 12 + model.hiddenSize * BYTES));
  dispatch(facts, work, { tokens, routedBytes: routed * width * BYTES, tokenBytes: tokens * width * BYTES });
  if (layout.expertTensor > 1) {
    const group = { size: layout.expertTensor, stride: 1 };
    work.expertTrafficS += 2 * collectiveS(cluster, group, rows * width * BYTES, constants);
    work.expertTrafficBackwardS += 2 * collectiveS(cluster, group, rows * width * BYTES, constants);
  }
  if (recomputes(run, 'moe')) {
    work.recomputeS += work.matrixProductsS + work.memoryS + work.routingS + work.expertTrafficS;
  }
  aroundBlock(facts, work);
  if (layout.tensor > 1 && experts.sharedFfnHiddenSize > 0) tensorTraffic(facts, work, facts.tokens);
  work.hostS +=
    constants.hostExpertS * facts.hostShare * (layout.expertCapacity === undefined ? 1 : constants.hostCapacity);
  return costOf(facts, work);
}

/** Tokens to their experts and back: two all-to-alls forward, two backward. */
function dispatch(
  facts: BlockFacts,
  work: Work,
  sizes: { readonly tokens: number; readonly routedBytes: number; readonly tokenBytes: number },
): void {
  const { run, constants } = facts;
  const { layout, cluster, model } = run;
  const n = layout.expert;
  if (n <= 1) return;
  const group = { size: n, stride: layout.expertTensor };
  const inside = membersPerDomain(cluster, group);
  const domains = Math.ceil(n / inside);
  const topK = model.experts?.topK ?? 1;
  const hierarchical = layout.dispatcher === 'deepep' || layout.dispatcher === 'hybridep';
  /** Copies of a token that leave its domain: one per other domain it goes to, or one per expert there. */
  const otherDomains = domains <= 1 ? 0 : (domains - 1) * (1 - Math.pow(1 - 1 / domains, topK));
  const acrossBytes = hierarchical ? sizes.tokenBytes * otherDomains : (sizes.routedBytes * (n - inside)) / n;
  const insideBytes = hierarchical
    ? Math.min(sizes.routedBytes, sizes.tokenBytes * n * (1 - Math.pow(1 - 1 / n, topK)))
    : (sizes.routedBytes * (inside - 1)) / n;
  const factor =
    layout.dispatcher === 'deepep'
      ? constants.deepepFactor
      : layout.dispatcher === 'hybridep'
        ? constants.hybridepFactor
        : layout.dispatcher === 'allgather'
          ? constants.allgatherFactor
          : 1;
  const once = factor * allToAllS(cluster, group, { inside: insideBytes, across: acrossBytes }, constants);
  const exposed = layout.overlapExpert ? constants.expertOverlap : 1;
  work.expertTrafficS += 2 * once * exposed;
  work.expertTrafficBackwardS += 2 * once * exposed;
}

/** A Mamba-2 mixer: input and output projections, convolution and scan. */
export function stateSpaceBlock(facts: BlockFacts): BlockCost {
  const { run, kernels, constants, tokens } = facts;
  const { model, layout } = run;
  const work = noWork();
  const space = model.stateSpace ?? { stateSize: 128, heads: model.attentionHeads, headDim: model.headDim, groups: 8 };
  const inner = (space.heads * space.headDim) / layout.tensor;
  const states = (space.groups * space.stateSize) / Math.min(layout.tensor, space.groups);
  const projected = 2 * inner + 2 * states + space.heads / layout.tensor;
  work.matrixProductsS += gemmS(kernels, { m: tokens, n: projected, k: model.hiddenSize }, true);
  work.matrixProductsS += gemmS(kernels, { m: tokens, n: model.hiddenSize, k: inner }, true);
  const scan = constants.scanFactor * memoryS(kernels, tokens * (projected + 2 * inner) * 2 * BYTES);
  work.memoryS += scan + quantise(facts, tokens * (model.hiddenSize + inner));
  work.memoryBackwardS += 2 * scan + quantise(facts, tokens * (model.hiddenSize + projected));
  if (recomputes(run, 'mamba')) work.recomputeS += work.matrixProductsS + scan;
  aroundBlock(facts, work);
  tensorTraffic(facts, work, tokens);
  work.hostS += 0.7 * constants.hostLayerS * facts.hostShare;
  return costOf(facts, work);
}

/** Embedding lookup of one micro-batch; `ways` more ranks share it when the vocabulary is sharded over the pipeline. */
export function embeddingCost(facts: BlockFacts, ways: number): BlockCost {
  const { run, kernels, constants, tokens } = facts;
  const partsS = new Float64Array(PARTS.length);
  const forwardS = (constants.embeddingFactor * memoryS(kernels, tokens * run.model.hiddenSize * 6)) / ways;
  const traffic =
    run.layout.tensor > 1
      ? collectiveS(
          run.cluster,
          { size: run.layout.tensor, stride: 1 },
          tokens * run.model.hiddenSize * BYTES,
          constants,
        )
      : 0;
  partsS[partIndex.vocabulary] = 3 * forwardS + 2 * traffic;
  return { forwardS: forwardS + traffic, backwardInputS: 0, backwardWeightS: 2 * forwardS + traffic, partsS };
}

/** Output projection and cross entropy of one micro-batch. */
export function lossCost(facts: BlockFacts, ways: number): BlockCost {
  const { run, kernels, constants, tokens } = facts;
  const { model, layout, cluster } = run;
  const partsS = new Float64Array(PARTS.length);
  const columns = model.vocabularySize / (layout.tensor * ways);
  const product = constants.vocabularySlowdown * gemmS(kernels, { m: tokens, n: columns, k: model.hiddenSize }, false);
  const entropy = constants.lossFactor * memoryS(kernels, tokens * columns * 12);
  const traffic =
    layout.tensor > 1
      ? 2 * collectiveS(cluster, { size: layout.tensor, stride: 1 }, tokens * model.hiddenSize * BYTES, constants)
      : 0;
  partsS[partIndex.vocabulary] = 3 * product + 2 * entropy + 2 * traffic;
  return {
    forwardS: product + entropy + traffic,
    backwardInputS: product + entropy + traffic,
    backwardWeightS: product * weightShare(run),
    partsS,
  };
}

export function addCost(sum: BlockCost, cost: BlockCost, times: number): void {
  if (times === 0) return;
  sum.forwardS += times * cost.forwardS;
  sum.backwardInputS += times * cost.backwardInputS;
  sum.backwardWeightS += times * cost.backwardWeightS;
  for (let part = 0; part < sum.partsS.length; part++) {
    sum.partsS[part] = (sum.partsS[part] ?? 0) + times * (cost.partsS[part] ?? 0);
  }
}

export const noCost = (): BlockCost => ({
  forwardS: 0,
  backwardInputS: 0,
  backwardWeightS: 0,
  partsS: new Float64Array(PARTS.length),
});
