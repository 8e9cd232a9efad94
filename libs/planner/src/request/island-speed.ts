/** Relative speed of two types of GPU for the layers of a model. */
import { divisorsOf } from '@coxswain/layout';
import { constantsOf } from '../calibration/calibration-in-use.ts';
import type { GpuFacts, RunFacts } from '../facts.ts';
import { parametersOf } from '../memory/parameters.ts';
import type { BlockCost } from '../time/block-cost.ts';
import { blockCostsOf } from '../time/stage-cost.ts';
import { candidateOfLayout } from './layout-conversion.ts';

type Run = Omit<RunFacts, 'candidate'>;

/**
 * Seconds of the layers on the GPU of the cluster over those on `gpu`, by tensor degree. The time model prices both, each with the constants of its own chip,
 * for one sample per micro-batch and without recomputation, because these hardly change the ratio. Undefined for the same type.
 */
export function speedByTensorOf(run: Run, gpu: GpuFacts): Readonly<Record<number, number>> | undefined {
  const { cluster, model } = run;
  if (gpu.name === cluster.gpu.name) return undefined;
  const other = { ...run, cluster: { ...cluster, gpu } };
  const within = Math.min(cluster.gpusPerNode, cluster.scaleUpDomainGpus);
  const degrees = divisorsOf(model.attentionHeads).filter((ways) => ways <= within);
  return Object.fromEntries(degrees.map((tensor) => [tensor, layersS(run, tensor) / layersS(other, tensor)]));
}

function layersS(run: Run, tensor: number): number {
  const { model } = run;
  const degrees = { tensorParallelDegree: tensor, pipelineParallelDegree: 1, dataParallelDegree: 1 };
  const candidate = candidateOfLayout(degrees, model, 1);
  const costs = blockCostsOf({ ...run, candidate }, constantsOf(run));
  const { kinds, kindOfLayer } = parametersOf(model);
  return kindOfLayer.reduce((sum, kind) => {
    const { mixer = 'none', feedForward = 'none' } = kinds[kind] ?? {};
    const mixed = mixer === 'none' ? 0 : secondsOf(mixer === 'attention' ? costs.attention : costs.stateSpace);
    const fed = feedForward === 'none' ? 0 : secondsOf(feedForward === 'mlp' ? costs.denseMlp : costs.expertMlp);
    return sum + mixed + fed;
  }, 0);
}

function secondsOf({ forwardS, backwardInputS, backwardWeightS }: BlockCost): number {
  return forwardS + backwardInputS + backwardWeightS;
}
