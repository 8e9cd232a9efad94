/** Cost of embedding lookup, output projection and loss. */
import { partIndex, PARTS, quantise, weightShare, type BlockCost, type BlockInputs } from './block-cost.ts';
import { blockActivationBytes } from './exchanged-bytes.ts';
import { memoryS, productPassesS } from './kernels.ts';
import { collectiveS } from './links.ts';

/** Embedding lookup of one micro-batch; `ways` more ranks share it when the vocabulary is sharded over the pipeline. */
export function embeddingCost(inputs: BlockInputs, ways: number): BlockCost {
  const { run, kernels, constants, tokens } = inputs;
  const partsS = new Float64Array(PARTS.length);
  const forwardS = (constants.embeddingFactor * memoryS(kernels, tokens * run.model.hiddenSize * 6)) / ways;
  const traffic =
    run.candidate.tensor > 1
      ? collectiveS(
          run.cluster,
          { size: run.candidate.tensor, stride: 1 },
          blockActivationBytes(run, tokens),
          constants,
        )
      : 0;
  partsS[partIndex.vocabulary] = 3 * forwardS + 2 * traffic;
  return { forwardS: forwardS + traffic, backwardInputS: 0, backwardWeightS: 2 * forwardS + traffic, partsS };
}

/** Output projection and cross entropy of one micro-batch. */
export function lossCost(inputs: BlockInputs, ways: number): BlockCost {
  const { run, kernels, constants, tokens } = inputs;
  const { model, candidate, cluster } = run;
  const partsS = new Float64Array(PARTS.length);
  const columns = model.vocabularySize / (candidate.tensor * ways);
  const in8Bits = run.alsoIn8Bits?.outputProjection === true;
  const product = productPassesS(
    kernels,
    { m: tokens, n: columns, k: model.hiddenSize },
    { linear: in8Bits, gradientBytes: run.gradientBytes },
  );
  const slow = constants.vocabularySlowdown;
  const castS = (width: number): number => (in8Bits ? quantise(inputs, tokens * width) : 0);
  const forwardS = slow * product.forwardS + castS(model.hiddenSize);
  const inputS = slow * product.inputGradientS + castS(columns);
  const weightS = slow * product.weightGradientS * weightShare(run);
  const entropy = constants.lossFactor * memoryS(kernels, tokens * columns * 12);
  const traffic =
    candidate.tensor > 1
      ? 2 * collectiveS(cluster, { size: candidate.tensor, stride: 1 }, blockActivationBytes(run, tokens), constants)
      : 0;
  partsS[partIndex.vocabulary] = forwardS + inputS + weightS + 2 * entropy + 2 * traffic;
  return {
    forwardS: forwardS + entropy + traffic,
    backwardInputS: inputS + entropy + traffic,
    backwardWeightS: weightS,
    partsS,
  };
}
