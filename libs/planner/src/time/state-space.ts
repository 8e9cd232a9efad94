/** Cost of a Mamba-2 mixer. */
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
} from './block-cost.ts';
import { COEFFICIENTS } from './constants.ts';
import { memoryS } from './kernels.ts';

const KILO = 1e3;

/** A Mamba-2 mixer: input and output projections, convolution and scan. */
export function stateSpaceBlock(inputs: BlockInputs): BlockCost {
  const { run, constants, tokens } = inputs;
  const { model, candidate } = run;
  const work = noWork();
  const space = model.stateSpace ?? { stateSize: 128, heads: model.attentionHeads, headDim: model.headDim, groups: 8 };
  const inner = (space.heads * space.headDim) / candidate.tensor;
  const states = (space.groups * space.stateSize) / Math.min(candidate.tensor, space.groups);
  const projected = 2 * inner + 2 * states + space.heads / candidate.tensor;
  multiply(inputs, work, { m: tokens, n: projected, k: model.hiddenSize });
  multiply(inputs, work, { m: tokens, n: model.hiddenSize, k: inner });
  const size = { inner, states, stateSize: space.stateSize };
  const forwardS = scanS(inputs, FORWARD, size);
  work.memoryS += forwardS + quantise(inputs, tokens * (model.hiddenSize + inner));
  work.memoryBackwardS += scanS(inputs, BACKWARD, size) + quantise(inputs, tokens * (model.hiddenSize + projected));
  if (recomputes(run, 'mamba')) work.recomputeS += work.matrixProductsS + forwardS;
  aroundBlock(inputs, work);
  tensorTraffic(inputs, work, tokens);
  work.hostS += COEFFICIENTS.hostShareOfMixer * constants.hostLayerS * inputs.hostShare;
  return costOf(inputs, work);
}

/** What one pass of convolution, scan and gated norm does. */
interface ScanPass {
  /** Products with the states, and those within a chunk, of each channel. */
  readonly withStates: number;
  readonly inChunk: number;
  /** Products within a chunk of keys and queries, which the heads of a group share. */
  readonly ofGroups: number;
  /** Bytes of each channel, of the keys and queries beside them in the convolution, and of the states of a chunk, which are fp32. */
  readonly channelBytes: number;
  readonly convolutionBytes: number;
  readonly stateBytes: number;
}

/**
 * Counted from `mamba_split_conv1d_scan_combined` (state-spaces/mamba, ssd_combined.py), kernel by kernel. Backward it first computes convolution, chunks'
 * states and the products of keys and queries again.
 */
const FORWARD: ScanPass = {
  withStates: 2,
  inChunk: 1,
  ofGroups: 1,
  channelBytes: 16,
  convolutionBytes: 4,
  stateBytes: 16,
};
const BACKWARD: ScanPass = {
  withStates: 5,
  inChunk: 3,
  ofGroups: 3,
  channelBytes: 42,
  convolutionBytes: 10,
  stateBytes: 42,
};

/**
 * Seconds of convolution, scan and gated norm. The scan is products in small tiles, head by head: their pace is that of a multiprocessor's cycles, while tensor cores
 * and memory have become twice as fast from Hopper to Blackwell.
 */
function scanS(
  { kernels, constants, tokens }: BlockInputs,
  pass: ScanPass,
  { inner, states, stateSize }: { readonly inner: number; readonly states: number; readonly stateSize: number },
): number {
  const { scanChunk } = COEFFICIENTS;
  const flops =
    2 * (inner * (pass.withStates * stateSize + pass.inChunk * scanChunk) + pass.ofGroups * states * scanChunk);
  const bytes =
    inner * (pass.channelBytes + (pass.stateBytes * stateSize) / scanChunk) + 2 * states * pass.convolutionBytes;
  const productsS = (constants.scanCycles * tokens * flops) / (KILO * kernels.cyclesPerS);
  return productsS + constants.elementwiseFactor * memoryS(kernels, tokens * bytes);
}
