/** Predicts probes with the formulas of the time model. */
import { ModelShape } from '@coxswain/layout';
import { newScheduleScratch, type CandidateLayout, type ClusterFacts, type RunFacts } from '@coxswain/planner';
import { probeFormulas, predictStepTime, type TimeConstants } from '@coxswain/planner/calibration';
import type { Probe } from './cluster-measurement.ts';

/** Where a probe ran. */
export interface ProbedCluster {
  readonly cluster: ClusterFacts;
  readonly precision: 'fp32' | 'bf16';
  readonly flashAttention: boolean;
}

const SCRATCH = { scratch: newScheduleScratch() };
/** No engine of the calibration: only what is shared and what the GPU type multiplies holds for it. */
const PLAIN_PYTORCH = 'plain PyTorch';

/** The predicted seconds of a probe; undefined if no constant of the model affects it. */
export function predictProbe(probe: Probe, where: ProbedCluster, constants: TimeConstants): number | undefined {
  switch (probe.kind) {
    case 'product':
      return probeFormulas.productS(where.cluster.gpu, where.precision, probe, constants);
    case 'step':
      return predictStepTime(runOf(probe, where), constants, SCRATCH).stepTimeS;
    case 'collective':
      return collectiveS(probe, where.cluster, constants);
    case 'hostCopy':
      return undefined;
  }
}

type CollectiveProbe = Extract<Probe, { kind: 'collective' }>;

function collectiveS(
  { operation, size, stride, bytes }: CollectiveProbe,
  cluster: ClusterFacts,
  constants: TimeConstants,
): number {
  const group = { size, stride };
  switch (operation) {
    case 'allReduce':
      return 2 * probeFormulas.collectiveS(cluster, group, bytes, constants);
    case 'allGather':
    case 'reduceScatter':
      return probeFormulas.collectiveS(cluster, group, bytes, constants);
    case 'handOver':
      return 2 * probeFormulas.handOverS(cluster, group, bytes, constants);
  }
}

/** The small GPT of the probe. Ranks that train each by itself have a world of one GPU, so that nothing waits for a network. */
function runOf(
  probe: Extract<Probe, { kind: 'step' }>,
  { cluster, precision, flashAttention }: ProbedCluster,
): RunFacts {
  const { tensor, data } = probe;
  const world = tensor * data;
  const model = ModelShape.parse({
    name: 'probe',
    layers: probe.layers,
    hiddenSize: probe.hidden,
    ffnHiddenSize: probe.ffn,
    attentionHeads: probe.heads,
    keyValueHeads: probe.heads,
    headDim: probe.hidden / probe.heads,
    vocabularySize: probe.vocabulary,
    rmsNorm: true,
    gatedMlp: false,
    linearBias: false,
  });
  return {
    model,
    cluster: {
      ...cluster,
      gpus: world,
      gpusPerNode: Math.min(world, cluster.gpusPerNode),
      scaleUpDomainGpus: Math.min(world, cluster.scaleUpDomainGpus),
    },
    stack: PLAIN_PYTORCH,
    precision,
    flashAttention,
    gradientBytes: 4,
    loraRank: 0,
    candidate: { ...PLAIN, tensor, data, shardGroup: data, microBatchSize: probe.batch },
    globalBatchSize: probe.batch * probe.microBatches * data,
    sequenceLength: probe.length,
  };
}

const PLAIN: Omit<CandidateLayout, 'tensor' | 'data' | 'shardGroup' | 'microBatchSize'> = {
  context: 1,
  pipeline: 1,
  expert: 1,
  expertTensor: 1,
  sequenceParallel: false,
  contextAlgorithm: 'ring',
  schedule: '1f1b',
  chunks: 1,
  vocabulary: 'end-stages',
  vocabularyBarriers: 1,
  zeroStage: 1,
  zeroImplementation: 'distopt',
  recompute: 'none',
  recomputeModules: [],
  offloadOptimizer: 0,
  offloadActivations: 0,
  offloadWeights: 0,
  overlapTensor: false,
  overlapGradReduce: false,
  overlapParamGather: false,
  overlapExpert: false,
  dispatcher: 'alltoall',
  cudaGraphs: 'none',
};
