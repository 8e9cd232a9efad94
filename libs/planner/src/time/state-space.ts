/** What does a Mamba-2 mixer cost? */
import {
  aroundBlock,
  BYTES,
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

/** A Mamba-2 mixer: input and output projections, convolution and scan. */
export function stateSpaceBlock(inputs: BlockInputs): BlockCost {
  const { run, kernels, constants, tokens } = inputs;
  const { model, candidate } = run;
  const work = noWork();
  const space = model.stateSpace ?? { stateSize: 128, heads: model.attentionHeads, headDim: model.headDim, groups: 8 };
  const inner = (space.heads * space.headDim) / candidate.tensor;
  const states = (space.groups * space.stateSize) / Math.min(candidate.tensor, space.groups);
  const projected = 2 * inner + 2 * states + space.heads / candidate.tensor;
  multiply(inputs, work, { m: tokens, n: projected, k: model.hiddenSize });
  multiply(inputs, work, { m: tokens, n: model.hiddenSize, k: inner });
  const scan = constants.scanFactor * memoryS(kernels, tokens * (projected + 2 * inner) * 2 * BYTES);
  work.memoryS += scan + quantise(inputs, tokens * (model.hiddenSize + inner));
  work.memoryBackwardS += COEFFICIENTS.scanBackward * scan + quantise(inputs, tokens * (model.hiddenSize + projected));
  if (recomputes(run, 'mamba')) work.recomputeS += work.matrixProductsS + scan;
  aroundBlock(inputs, work);
  tensorTraffic(inputs, work, tokens);
  work.hostS += COEFFICIENTS.hostShareOfMixer * constants.hostLayerS * inputs.hostShare;
  return costOf(inputs, work);
}
