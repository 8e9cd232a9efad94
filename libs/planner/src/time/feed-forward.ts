/** Cost of a dense MLP. */
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
  type Work,
} from './block-cost.ts';
import { COEFFICIENTS } from './constants.ts';
import { memoryS } from './kernels.ts';

/** A dense MLP. */
export function denseMlpBlock(inputs: BlockInputs): BlockCost {
  const { run, constants } = inputs;
  const work = noWork();
  mlpWork(inputs, work, { tokens: inputs.tokens, width: run.model.ffnHiddenSize / run.candidate.tensor });
  if (recomputes(run, 'mlp')) work.recomputeS += work.matrixProductsS + work.memoryS;
  aroundBlock(inputs, work);
  tensorTraffic(inputs, work, inputs.tokens);
  work.hostS += COEFFICIENTS.hostShareOfBlock * constants.hostLayerS * inputs.hostShare;
  return costOf(inputs, work);
}

/** Two matrix products with the activation between them; gated ones multiply two columns. */
export function mlpWork(
  inputs: BlockInputs,
  work: Work,
  size: { readonly tokens: number; readonly width: number },
): void {
  const { run, kernels, constants } = inputs;
  const { tokens, width } = size;
  const { hiddenSize, gatedMlp } = run.model;
  const inner = width * (gatedMlp ? 2 : 1);
  multiply(inputs, work, { m: tokens, n: inner, k: hiddenSize });
  multiply(inputs, work, { m: tokens, n: hiddenSize, k: width });
  const activation = constants.elementwiseFactor * memoryS(kernels, tokens * (inner + width) * BYTES);
  work.memoryS += activation + quantise(inputs, tokens * (hiddenSize + width));
  work.memoryBackwardS +=
    COEFFICIENTS.activationBackward * activation + quantise(inputs, tokens * (hiddenSize + inner));
}
