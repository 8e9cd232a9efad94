/** What does a mixture of experts cost: router, dispatch of tokens to their experts and back, routed and shared experts? */
import {
  aroundBlock,
  BYTES,
  costOf,
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
import { expertTokenBytes, routedTokensOf } from './exchanged-bytes.ts';
import { mlpWork } from './feed-forward.ts';
import { gemmS, memoryS } from './kernels.ts';
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
  const rowsPerExpert = Math.max(1, rows / localExperts);
  const grouped = constants.groupedSlowdown * (1 + constants.groupedRows / rowsPerExpert);
  const expertsS =
    (gemmS(kernels, { m: rows, n: inner, k: width }, true) + gemmS(kernels, { m: rows, n: width, k: outer }, true)) *
    grouped;
  work.matrixProductsS += expertsS;
  const activation = constants.elementwiseFactor * memoryS(kernels, rows * (inner + outer) * BYTES);
  work.memoryS += activation + quantise(inputs, rows * (width + outer));
  work.memoryBackwardS += COEFFICIENTS.activationBackward * activation + quantise(inputs, rows * (width + inner));
  if (recomputes(run, 'moe_act')) work.recomputeS += activation;

  if (experts.latentSize > 0) {
    work.matrixProductsS += 2 * gemmS(kernels, { m: tokens, n: experts.latentSize, k: model.hiddenSize }, true);
  }
  if (experts.sharedFfnHiddenSize > 0) {
    const before = work.matrixProductsS;
    mlpWork(inputs, work, { tokens: inputs.tokens, width: experts.sharedFfnHiddenSize / candidate.tensor });
    if (recomputes(run, 'shared_experts')) work.recomputeS += work.matrixProductsS - before;
  }
  work.routingS +=
    constants.routingFactor *
    memoryS(kernels, (routed + rows) * width * 2 * BYTES + tokens * (experts.count * 12 + model.hiddenSize * BYTES));
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
  work.hostS += inputs.hostShare * launchS(candidate, constants);
  return costOf(inputs, work);
}

/**
 * Seconds to launch router, dispatch and experts of one layer forward, without CUDA graphs. With a fixed capacity nobody asks how many tokens came; a
 * pipeline that overlaps its all-to-all launches another pass while it waits for that.
 */
function launchS(
  { dispatcher, expertCapacity, overlapExpert, pipeline }: CandidateLayout,
  constants: TimeConstants,
): number {
  if (expertCapacity !== undefined) return constants.hostExpertS * constants.hostCapacity;
  if (overlapExpert && pipeline > 1) return constants.hostExpertS * constants.hostOverlapped;
  const isOnHost = dispatcher === 'alltoall' || dispatcher === 'allgather';
  return constants.hostExpertS * (isOnHost ? constants.hostAlltoall : 1);
}

/**
 * Rows of the busiest rank over the mean. Experts draw unequal numbers of tokens: over the experts of one rank that evens out with their
 * number, and the largest of n draws from a normal distribution lies about sqrt(2 ln n) deviations above the mean. One rank with all experts has
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
  const otherDomains = domains <= 1 ? 0 : (domains - 1) * (1 - Math.pow(1 - 1 / domains, topK));
  const acrossBytes = hierarchical ? sizes.tokenBytes * otherDomains : (sizes.routedBytes * (n - inside)) / n;
  const insideBytes = hierarchical
    ? Math.min(sizes.routedBytes, sizes.tokenBytes * n * (1 - Math.pow(1 - 1 / n, topK)))
    : (sizes.routedBytes * (inside - 1)) / n;
  const factor =
    candidate.dispatcher === 'deepep'
      ? constants.deepepFactor
      : candidate.dispatcher === 'hybridep'
        ? constants.hybridepFactor
        : candidate.dispatcher === 'allgather'
          ? constants.allgatherFactor
          : 1;
  const once = factor * allToAllS(cluster, group, { inside: insideBytes, across: acrossBytes }, constants);
  const exposed = candidate.overlapExpert ? constants.expertOverlap : 1;
  work.expertTrafficS += 2 * once * exposed;
  work.expertTrafficBackwardS += 2 * once * exposed;
}
