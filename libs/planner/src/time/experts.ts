/** Cost of a mixture of experts: router, dispatch of tokens to experts and back, routed and shared experts. */
import {
  aroundBlock,
  BYTES,
  costOf,
  forwardGpuSOf,
  multiply,
  noWork,
  quantise,
  recomputes,
  tensorTraffic,
  type BlockCost,
  type BlockInputs,
  type Work,
} from './block-cost.ts';
import type { CandidateLayout, RunFacts } from '../facts.ts';
import { COEFFICIENTS, type TimeConstants } from './constants.ts';
import { expertTokenBytes, routedTokensOf, type RoutedTokens } from './exchanged-bytes.ts';
import { mlpWork } from './feed-forward.ts';
import { memoryS } from './kernels.ts';
import { groupsOf } from './groups.ts';
import { allToAllS, collectiveS } from './links.ts';
import { membersPerDomain } from './tiers.ts';

/** Router, dispatch, routed and shared experts, and the weighted sum. */
export function expertBlock(inputs: BlockInputs): BlockCost {
  const { run, kernels, constants } = inputs;
  const { model, candidate, cluster } = run;
  const { experts } = model;
  if (experts === undefined) throw new RangeError('a model without experts has no expert block');
  const work = noWork();
  const toExperts = routedTokensOf(run, inputs.tokens);
  const { tokens, width, routed } = toExperts;
  const balance = candidate.expertCapacity === undefined ? busiestRank(run, routed, constants) : 1;
  const localExperts = Math.max(1, experts.count / candidate.expert);
  const rows = routed * candidate.expertTensor * balance;
  const inner = (experts.ffnHiddenSize / candidate.expertTensor) * (model.gatedMlp ? 2 : 1);
  const outer = experts.ffnHiddenSize / candidate.expertTensor;
  const expertProducts = { times: constants.groupedSlowdown, groups: localExperts };
  const tiledRows = rows + constants.groupedRows * localExperts;
  multiply(inputs, work, { m: tiledRows, n: inner, k: width }, expertProducts);
  multiply(inputs, work, { m: tiledRows, n: width, k: outer }, expertProducts);
  const between = isFused(run) ? 0 : 1;
  const activation = between * constants.elementwiseFactor * memoryS(kernels, rows * (inner + outer) * BYTES);
  work.memoryS += activation + quantise(inputs, rows * (width + between * outer));
  work.memoryBackwardS +=
    COEFFICIENTS.weightedActivationBackward * activation + quantise(inputs, rows * (width + between * inner));
  if (recomputes(run, 'moe_act')) work.recomputeS += activation;
  const stashedS = stashS(inputs, rows * (width + 2 * inner + outer));
  work.memoryS += stashedS;
  work.memoryBackwardS += stashedS;

  biases(inputs, work, { rows, inner, width });
  const routedS = work.matrixProductsS + work.memoryS;
  if (experts.latentSize > 0) {
    multiply(inputs, work, { m: tokens, n: experts.latentSize, k: model.hiddenSize });
    multiply(inputs, work, { m: tokens, n: model.hiddenSize, k: experts.latentSize });
  }
  if (experts.sharedFfnHiddenSize > 0) {
    const before = work.matrixProductsS;
    mlpWork(inputs, work, { tokens: inputs.tokens, width: experts.sharedFfnHiddenSize / candidate.tensor });
    if (recomputes(run, 'shared_experts')) work.recomputeS += work.matrixProductsS - before;
  }
  const movedBytes = permutedBytes(inputs, { ...toExperts, rows, localExperts });
  work.routingS +=
    constants.routingFactor *
    memoryS(kernels, movedBytes.around + movedBytes.beside + tokens * (experts.count * 12 + model.hiddenSize * BYTES));
  dispatch(inputs, work, {
    tokens,
    routedBytes: expertTokenBytes(routed * balance, toExperts),
    tokenBytes: expertTokenBytes(tokens * balance, toExperts),
  });
  if (candidate.expertTensor > 1) {
    const group = { size: candidate.expertTensor, stride: 1 };
    const bytes = expertTokenBytes(rows, toExperts);
    work.expertTrafficS += 2 * collectiveS(cluster, group, bytes, constants);
    work.expertTrafficBackwardS += 2 * collectiveS(cluster, group, bytes, constants);
  }
  if (recomputes(run, 'moe')) {
    work.recomputeS += work.matrixProductsS + work.memoryS + work.routingS + work.expertTrafficS;
  }
  aroundBlock(inputs, work);
  if (candidate.tensor > 1 && experts.sharedFfnHiddenSize > 0) tensorTraffic(inputs, work, inputs.tokens);
  const aroundS = launchAroundS(inputs);
  work.hostS += launchS(inputs, localExperts) + aroundS;
  if (waitsForCounts(candidate)) {
    const permutedS = constants.routingFactor * memoryS(kernels, movedBytes.beside);
    const besideS = routedS + permutedS + work.expertTrafficS / 2;
    work.apart = { gpuS: forwardGpuSOf(work) - besideS, hostS: aroundS };
  }
  return costOf(inputs, work);
}

/**
 * Whether the host waits in every forward pass until it knows how many tokens came. After that it launches the way to the experts and the experts, with
 * nothing else beside them (Megatron-Core, `cuda_sync_point` of the all-to-all; HybridEP and DeepEP ask the same). Router and shared experts are done by then, and the
 * way back waits for the last expert. A pipeline that overlaps its all-to-all computes another pass meanwhile.
 */
function waitsForCounts({ expertCapacity, cudaGraphs, overlapExpert }: CandidateLayout): boolean {
  return expertCapacity === undefined && cudaGraphs !== 'full' && !overlapExpert;
}

/**
 * Seconds to launch shared experts, which are a dense MLP, and the projections to latents and back. A graph of the router holds what lies before the way to
 * the experts (`MoELayer`, Megatron-Core).
 */
function launchAroundS({ run, constants, hostShare }: BlockInputs): number {
  const { latentSize = 0, sharedFfnHiddenSize = 0 } = run.model.experts ?? {};
  const { hostShareOfBlock, hostShareOfLinear } = COEFFICIENTS;
  const before = hostShare < 1 ? constants.graphsFull : 1;
  const after = run.candidate.cudaGraphs === 'full' ? constants.graphsFull : 1;
  const shared = sharedFfnHiddenSize > 0 ? hostShareOfBlock * before : 0;
  const latents = latentSize > 0 ? hostShareOfLinear * (before + after) : 0;
  return constants.hostLayerS * (shared + latents);
}

/**
 * Whether the products of experts activate and cast what they hand to each other, as those for graphs of a whole iteration in MXFP8 do (Transformer Engine 2.15,
 * `ForwardGroupedMLP_CuTeGEMMSwiGLU_MXFP8` and its backward).
 */
function isFused({ candidate, precision }: RunFacts): boolean {
  return candidate.cudaGraphs === 'full' && precision === 'mxfp8';
}

/**
 * Seconds to copy away what experts keep for their backward pass, or back. Graphs of a whole iteration have room for half as many rows again as come, so that
 * what is kept lies in pages of another buffer (Megatron-Core 0.18, `paged_stash.py`). Kept are the inputs of both products in 8 bits, and the bf16 that the
 * activation reads.
 */
function stashS({ run, kernels, constants }: BlockInputs, bytes: number): number {
  return isFused(run) ? constants.elementwiseFactor * memoryS(kernels, 2 * bytes) : 0;
}

/**
 * Experts with biases (GPT-OSS) add them outside their products and clamp before the activation. A graph of the whole iteration knows no counts of
 * tokens to split by: its experts are one fused kernel.
 */
function biases(
  { run, kernels, constants }: BlockInputs,
  work: Work,
  { rows, inner, width }: { readonly rows: number; readonly inner: number; readonly width: number },
): void {
  if (!run.model.linearBias || run.candidate.cudaGraphs === 'full') return;
  const { expertOutputBias, expertInputBias } = COEFFICIENTS;
  const secondsS = (pass: 0 | 1): number =>
    constants.elementwiseFactor *
    memoryS(kernels, rows * (width * expertOutputBias[pass] + inner * expertInputBias[pass]));
  work.memoryS += secondsS(0);
  work.memoryBackwardS += secondsS(1);
  if (recomputes(run, 'moe_act')) {
    work.recomputeS += constants.elementwiseFactor * memoryS(kernels, rows * inner * expertInputBias[0]);
  }
}

/**
 * Seconds to launch router, dispatch and experts of one layer forward. With a fixed capacity nobody asks how many tokens came; a pipeline that overlaps
 * its all-to-all launches another pass while it waits for that. Graphs of parts hold no experts.
 */
function launchS({ run, kernels, constants, hostShare }: BlockInputs, localExperts: number): number {
  const perExpertS = constants.hostPerExpertS * (kernels.quantises ? constants.hostPerExpertCast : 1);
  const ofExpertsS = localExperts * perExpertS * (run.candidate.cudaGraphs === 'full' ? hostShare : 1);
  const { around, all } = waiting(run.candidate, constants);
  return all * (hostShare * constants.hostExpertS * around + ofExpertsS);
}

/** How much longer launching takes than on a host that is asked nothing and runs one pass at a time: what lies around the experts, and all of it. */
function waiting(
  { dispatcher, expertCapacity, overlapExpert, pipeline }: CandidateLayout,
  constants: TimeConstants,
): { readonly around: number; readonly all: number } {
  if (expertCapacity !== undefined) return { around: 1, all: constants.hostCapacity };
  if (overlapExpert && pipeline > 1) return { around: 1, all: constants.hostOverlapped };
  const isOnHost = dispatcher === 'alltoall' || dispatcher === 'allgather';
  return { around: isOnHost ? constants.hostAlltoall : 1, all: 1 };
}

/**
 * Rows of the busiest rank over the mean. Experts draw unequal numbers of tokens. Over the experts of one rank that evens out with their
 * number. The largest of n draws from a normal distribution lies about sqrt(2 ln n) deviations above the mean. One rank with all experts has
 * nobody to wait for. Drawing at random alone gives the deviation of a count, one over its root, which is all where a router is made to spread tokens
 * evenly; one left alone has its likings on top.
 */
function busiestRank(run: RunFacts, routed: number, { imbalance }: TimeConstants): number {
  const { experts = 1, ranks } = { experts: run.model.experts?.count, ranks: run.candidate.expert };
  const rowsPerExpert = Math.max(1, (routed * ranks) / experts);
  const drawn = 1 / Math.sqrt(rowsPerExpert);
  const deviation = run.balancedRouting === true ? drawn : Math.hypot(imbalance, drawn);
  return 1 + deviation * Math.sqrt((2 * Math.log(ranks) * ranks) / experts);
}

/**
 * Bytes that copies of tokens are read and written in, forward: on the way to the experts after the host knows their counts (`beside`), and before and back (`around`).
 *
 * All-to-all puts a rank's copies in the order of experts, and what arrives, which lies by rank, once more by expert; both again on the way back
 * (`permute`, `sort_chunks_by_idxs`). DeepEP and HybridEP send a token once to each rank: it is read there and written for each expert. Formats of 8 and 4 bits
 * multiply rows in multiples of 16 or 32, so experts copy their rows to such a multiple and back (`Fp8Padding`). HybridEP writes them so at once
 * (Megatron-Core 0.15 to 0.18, `token_dispatcher.py`, `TEGroupedMLP`; `permute_kernel` of DeepEP's branch hybrid-ep).
 */
function permutedBytes(
  { run, kernels }: BlockInputs,
  {
    tokens,
    routed,
    rows,
    width,
    localExperts,
  }: RoutedTokens & { readonly rows: number; readonly localExperts: number },
): { readonly around: number; readonly beside: number } {
  const { expert, dispatcher, expertCapacity } = run.candidate;
  const topK = run.model.experts?.topK ?? 1;
  const elements = (copies: number): number => copies * width * BYTES;
  const padded =
    kernels.quantises && dispatcher !== 'hybridep' && expertCapacity === undefined ? elements(2 * rows) : 0;
  if (sendsOnce(run)) {
    const arrived = tokens * ranksOfToken(expert, topK);
    const oneWay = elements(arrived + rows);
    return { around: oneWay + padded, beside: oneWay + padded };
  }
  const sorted = localExperts > 1 ? elements(2 * rows) : 0;
  return { around: 2 * elements(tokens + routed) + sorted + padded, beside: sorted + padded };
}

/** Whether a token goes once to each rank that has one of its experts, or once to each expert. */
const sendsOnce = ({ candidate: { dispatcher } }: RunFacts): boolean =>
  dispatcher === 'deepep' || dispatcher === 'hybridep' || dispatcher === 'allgather';

/** Of n ranks, those that a token goes to. */
const ranksOfToken = (n: number, topK: number): number => n * (1 - Math.pow(1 - 1 / n, topK));

/** Tokens to their experts and back: two all-to-alls forward, two backward. */
function dispatch(
  inputs: BlockInputs,
  work: Work,
  sizes: { readonly tokens: number; readonly routedBytes: number; readonly tokenBytes: number },
): void {
  const { run, constants } = inputs;
  const { candidate, cluster, model } = run;
  const n = candidate.expert;
  if (n <= 1) return;
  const group = groupsOf(candidate).expert;
  const inside = membersPerDomain(cluster, group);
  const domains = Math.ceil(n / inside);
  const topK = model.experts?.topK ?? 1;
  const hierarchical = candidate.dispatcher === 'deepep' || candidate.dispatcher === 'hybridep';
  /** Copies of a token that leave its domain: one per other domain it goes to, or one per expert there. */
  const otherDomains = domains <= 1 ? 0 : (ranksOfToken(domains, topK) * (domains - 1)) / domains;
  const acrossBytes = hierarchical ? sizes.tokenBytes * otherDomains : (sizes.routedBytes * (n - inside)) / n;
  const insideBytes = hierarchical
    ? Math.min(sizes.routedBytes, sizes.tokenBytes * ranksOfToken(n, topK))
    : (sizes.routedBytes * (inside - 1)) / n;
  const factor =
    candidate.dispatcher === 'deepep'
      ? constants.deepepFactor
      : candidate.dispatcher === 'hybridep'
        ? constants.hybridepFactor
        : candidate.dispatcher === 'allgather'
          ? constants.allgatherFactor
          : 1;
  const onceS = (times: number): number =>
    factor * allToAllS(cluster, group, { inside: times * insideBytes, across: times * acrossBytes }, constants);
  const exposed = candidate.overlapExpert ? constants.expertOverlap : 1;
  const plainS = onceS(1);
  const weightedS = candidate.dispatcher === 'hybridep' ? onceS(1 + hybridWeights(inputs, inside)) : plainS;
  const mapsS = candidate.dispatcher === 'hybridep' ? hybridMapsS(inputs, sizes.tokens, inside) : 0;
  work.expertTrafficS += (weightedS + plainS + mapsS) * exposed;
  work.expertTrafficBackwardS += (weightedS + plainS) * exposed;
}

/** Bytes of a routing weight. */
const WEIGHT_BYTES = 4;

/**
 * Bytes of routing weights over those of a token's activations. HybridEP sends a token on its way to experts, and its gradient back, with a weight for each
 * expert of the domain that it goes to, chosen or not (`expert_output_prob`, csrc/hybrid_ep/backend/hybrid_ep_backend.cuh of DeepEP's branch hybrid-ep).
 */
function hybridWeights({ run: { model, candidate } }: BlockInputs, inside: number): number {
  const { count = 0, latentSize = 0 } = model.experts ?? {};
  const ofDomain = (count / candidate.expert) * inside;
  return (ofDomain * WEIGHT_BYTES) / ((latentSize || model.hiddenSize) * BYTES);
}

/**
 * Before it HybridEP gathers from all ranks which of all experts each token goes to, a byte for each. If the group lies in one domain, every rank writes to
 * all others at once. Else NCCL gathers (`allgather_routing_map`, csrc/hybrid_ep/executor/executor.cu).
 */
function hybridMapsS(
  { run: { model, candidate, cluster }, constants }: BlockInputs,
  tokens: number,
  inside: number,
): number {
  const { expert } = candidate;
  const ownBytes = tokens * (model.experts?.count ?? 0);
  const group = groupsOf(candidate).expert;
  if (inside < expert) return collectiveS(cluster, group, expert * ownBytes, constants);
  return allToAllS(cluster, group, { inside: (expert - 1) * ownBytes, across: 0 }, constants);
}
