/** Cost of attention, fused or not, with its projections and the exchange of keys and values between context ranks. */
import {
  aroundBlock,
  costOf,
  multiply,
  noWork,
  quantise,
  recomputes,
  tensorTraffic,
  type BlockCost,
  type BlockInputs,
  type Work,
} from './block-cost.ts';
import { attendedTokensOf, meanKeysOf } from './attended-keys.ts';
import { COEFFICIENTS } from './constants.ts';
import { attentionHeadsOf, headExchangeBytes, keyValueBytes, type AttentionHeads } from './exchanged-bytes.ts';
import { memoryS, softExcess } from './kernels.ts';
import { groupsOf } from './groups.ts';
import { collectiveS, ulyssesExchangeS, ringS } from './links.ts';

/** Megatron's fused softmax kernel takes four rows of scores per block and refuses other counts, and fp32 (megatron/model/fused_softmax.py). */
const SOFTMAX_BATCHES = 4;

/** Attention with its projections. */
export function attentionBlock(inputs: BlockInputs): BlockCost {
  const { run, kernels, constants, tokens } = inputs;
  const { model, candidate } = run;
  const work = noWork();
  const { hiddenSize } = model;
  const t = candidate.tensor;
  const shape = attentionHeadsOf(model, t);
  const { heads, kvHeads, queryDim } = shape;
  const latent = model.latentAttention;
  if (latent === undefined) {
    const qkv = heads * model.headDim + 2 * kvHeads * model.headDim;
    multiply(inputs, work, { m: tokens, n: qkv, k: hiddenSize });
    multiply(inputs, work, { m: tokens, n: hiddenSize, k: heads * model.headDim });
    const rotary = constants.elementwiseFactor * memoryS(kernels, tokens * qkv * 4);
    work.memoryS += rotary + quantise(inputs, tokens * (hiddenSize + heads * model.headDim));
    work.memoryBackwardS += rotary + quantise(inputs, tokens * (hiddenSize + qkv));
  } else {
    const down = (latent.queryRank || 0) + latent.keyValueRank + latent.ropeHeadDim;
    const queryIn = latent.queryRank || hiddenSize;
    const keyValues = heads * (latent.nopeHeadDim + latent.valueHeadDim);
    const up =
      multiply(inputs, work, { m: tokens, n: heads * queryDim, k: queryIn }) +
      multiply(inputs, work, { m: tokens, n: keyValues, k: latent.keyValueRank });
    multiply(inputs, work, { m: tokens / inputs.sequenceWays, n: down, k: hiddenSize });
    multiply(inputs, work, { m: tokens, n: hiddenSize, k: heads * latent.valueHeadDim });
    const split =
      constants.elementwiseFactor *
      memoryS(kernels, tokens * (down + heads * (2 * queryDim + latent.valueHeadDim)) * 4);
    work.memoryS += split + quantise(inputs, tokens * (hiddenSize + queryIn + heads * latent.valueHeadDim));
    work.memoryBackwardS += split + quantise(inputs, tokens * (hiddenSize + heads * queryDim));
    if (recomputes(run, 'mla_up_proj')) work.recomputeS += up + split;
  }
  attentionCore(inputs, work, shape);
  aroundBlock(inputs, work);
  tensorTraffic(inputs, work, tokens);
  const { hostShareOfBlock, hostShareOfLatent } = COEFFICIENTS;
  work.hostS += (latent === undefined ? hostShareOfBlock : hostShareOfLatent) * constants.hostLayerS * inputs.hostShare;
  return costOf(inputs, work);
}

/** Widths of heads that FlashAttention 1 was measured with; between them it pads. */
const FIRST_WIDTHS = { narrow: 64, wide: 128 } as const;

/** FlashAttention 1 over 2 with heads of this width, over what it is with wide ones. */
function firstOfWidth(queryDim: number): number {
  const { narrow, wide } = FIRST_WIDTHS;
  const width = Math.min(wide, Math.max(narrow, queryDim));
  return (width / wide) ** COEFFICIENTS.flashFirstWidth;
}

/** Scores, softmax and the weighted sum; with context parallelism also the exchange of keys and values. */
function attentionCore(inputs: BlockInputs, work: Work, shape: AttentionHeads): void {
  const { run, kernels, constants, tokens } = inputs;
  const { model, candidate, sequenceLength } = run;
  const keys = meanKeysOf(run);
  const { heads, kvHeads, queryDim, valueDim } = shape;
  let forwardS: number;
  let backwardS: number;
  if (run.flashAttention) {
    const scores = tokens * keys * heads;
    const in8Bits = run.alsoIn8Bits?.attention === true ? kernels.bf16FlopsPerS / kernels.linearFlopsPerS : 1;
    const slow =
      constants.flashSlowdown *
      (run.ampereFlashAttention === true && run.cluster.gpu.fp8Tflops > 0 ? constants.flashForAmpere : 1) *
      // What makes sinks slow is not known to be the products, so that 8 bits do not make it faster.
      (in8Bits + (model.attentionSinks ? constants.flashSinks - 1 : 0));
    const productsS = (2 * scores * (queryDim + valueDim) * slow) / kernels.ceilingFlopsPerS;
    const softmaxS = (constants.flashSoftmax * scores) / kernels.exponentialsPerS;
    const short = constants.flashSequence / attendedTokensOf(run);
    const first = run.firstFlashAttention === true ? constants.flashFirst * firstOfWidth(queryDim) : 1;
    const longS = (productsS + softmaxS) * first;
    const dropoutS = model.dropout ? (first * constants.flashDropout * scores) / kernels.exponentialsPerS : 0;
    const { flashBackwardFlops, flashBackwardSequence } = COEFFICIENTS;
    forwardS = (longS + dropoutS) * (1 + short);
    backwardS = (flashBackwardFlops * constants.flashBackward * longS + dropoutS) * (1 + flashBackwardSequence * short);
    if (run.alsoIn8Bits?.attention === true) {
      work.memoryS += quantise(inputs, tokens * (heads * queryDim + kvHeads * (queryDim + valueDim)));
      work.memoryBackwardS += quantise(inputs, tokens * heads * valueDim);
    }
  } else {
    const samples = tokens / (sequenceLength / candidate.context);
    const batch = samples * heads;
    const flops = 2 * tokens * sequenceLength * heads * (queryDim + valueDim);
    const aligned =
      1 + (queryDim % 8 === 0 ? (queryDim % 64 === 0 ? 0 : constants.gemmMisaligned) : constants.gemmUnaligned);
    const products =
      (flops / kernels.ceilingFlopsPerS) *
      constants.unfusedSlowdown *
      aligned *
      (1 + (2 * constants.unfusedHead) / queryDim);
    const scores = (batch * sequenceLength * sequenceLength) / candidate.context;
    const fused = batch % SOFTMAX_BATCHES === 0 && run.precision !== 'fp32';
    const softmaxS =
      constants.scoresFactor *
      (fused ? 1 : constants.softmaxFallback) *
      memoryS(kernels, scores * (model.dropout ? 13 : 8));
    if (!fused) work.hostS += constants.hostSoftmaxS * inputs.hostShare;
    forwardS = products + softmaxS;
    backwardS = 2 * products + COEFFICIENTS.normBackward * softmaxS;
  }
  work.attentionS += forwardS;
  work.attentionBackwardS += backwardS;
  if (recomputes(run, 'core_attn')) work.recomputeS += forwardS;
  if (candidate.context > 1) contextTraffic(inputs, work, { ...shape, forwardS });
}

function contextTraffic(inputs: BlockInputs, work: Work, core: AttentionHeads & { readonly forwardS: number }): void {
  const { run, constants, tokens } = inputs;
  const { candidate, cluster } = run;
  const group = groupsOf(candidate).context;
  const ownBytes = keyValueBytes(tokens, core);
  if (candidate.contextAlgorithm === 'ulysses') {
    work.contextTrafficS += 2 * ulyssesExchangeS(cluster, group, headExchangeBytes(tokens, core), constants);
    return;
  }
  if (candidate.contextAlgorithm === 'allgather') {
    work.contextTrafficS += collectiveS(cluster, group, ownBytes * candidate.context, constants);
    return;
  }
  const exchangeS = ringS(cluster, group, ownBytes, constants);
  const hidden = constants.contextOverlap * core.forwardS;
  work.contextTrafficS += softExcess(exchangeS - hidden, COEFFICIENTS.ringBend * exchangeS);
}
