/** Seconds per step that data parallelism and the optimizer add to the passes of the pipeline. */
import { microBatches, reducesEachMicroBatch, type CandidateLayout, type RunFacts } from '../facts.ts';
import { denseShareOf, expertShareOf, parametersOf } from '../memory/parameters.ts';
import { COEFFICIENTS, type TimeConstants } from './constants.ts';
import { stateBytesOf, trainedShareOf } from './exchanged-bytes.ts';
import { groupsOf } from './groups.ts';
import { hostOptimizerS } from './host-optimizer.ts';
import { softExcess, type KernelFacts } from './kernels.ts';
import { collectivesS } from './links.ts';
import type { StageKind } from './stage-kinds.ts';
import type { Group } from './tiers.ts';

/** Parameters that one rank holds before any sharding over data parallelism. */
export interface RankParameters {
  readonly dense: number;
  readonly experts: number;
}

/** Parameters of the pipeline rank that holds most. */
export function heaviestRank(ranks: { readonly dense: Float64Array; readonly experts: Float64Array }): RankParameters {
  let heaviest: RankParameters = { dense: 0, experts: 0 };
  for (let rank = 0; rank < ranks.dense.length; rank++) {
    const dense = ranks.dense[rank] ?? 0;
    const experts = ranks.experts[rank] ?? 0;
    if (dense + experts > heaviest.dense + heaviest.experts) heaviest = { dense, experts };
  }
  return heaviest;
}

/** Parameters of each layer kind on one rank, in the order of `parametersOf(model).kinds`. */
export function parametersPerLayer(run: RunFacts): readonly RankParameters[] {
  return parametersOf(run.model).perKind.map((layer) => ({
    dense: denseShareOf(layer, run.candidate),
    experts: expertShareOf(layer, run.candidate),
  }));
}

/** Parameters of the layers of a stage. */
export function parametersOfLayers(
  { layersOfKind }: Pick<StageKind, 'layersOfKind'>,
  perLayer: readonly RankParameters[],
): RankParameters {
  let dense = 0;
  let experts = 0;
  for (let index = 0; index < perLayer.length; index++) {
    const layers = layersOfKind[index] ?? 0;
    dense += layers * (perLayer[index]?.dense ?? 0);
    experts += layers * (perLayer[index]?.experts ?? 0);
  }
  return { dense, experts };
}

/** Parameters of the embedding and output projection of a stage. */
export function parametersOfEnds({ model, candidate }: RunFacts, kind: Pick<StageKind, 'embedding' | 'loss'>): number {
  const parameters = parametersOf(model);
  const isSharded = candidate.vocabulary === 'sharded-over-pp' || candidate.vocabulary === 'interlaced';
  const ways = candidate.tensor * (isSharded ? candidate.pipeline : 1);
  return ((kind.embedding ? parameters.embedding : 0) + (kind.loss ? parameters.head : 0)) / ways;
}

/** Read gradient, weight, two moments; write weight, two moments and the working copy; gradient norm and zeroing. */
const OPTIMIZER_BYTES = 42;
/** What unsharded gradients still cost per parameter: norm, scaling and zeroing. */
const GRADIENT_BYTES = 8;

/** How many layers of each kind hold something: fully sharded, each is gathered by itself. */
export function unitsOfLayers(
  { layersOfKind }: Pick<StageKind, 'layersOfKind'>,
  perLayer: readonly RankParameters[],
): RankParameters {
  let dense = 0;
  let experts = 0;
  for (let index = 0; index < perLayer.length; index++) {
    const layers = layersOfKind[index] ?? 0;
    if ((perLayer[index]?.dense ?? 0) > 0) dense += layers;
    if ((perLayer[index]?.experts ?? 0) > 0) experts += layers;
  }
  return { dense, experts };
}

/** All-gather of parameters and reduce-scatter of gradients of fully sharded layers, one micro-batch; seconds each. */
export function shardedTrafficS(
  run: RunFacts,
  parameters: RankParameters,
  units: RankParameters,
  constants: TimeConstants,
): { readonly gatherS: number; readonly reduceS: number } {
  if (run.candidate.zeroStage < 3) return { gatherS: 0, reduceS: 0 };
  const groups = groupsOf(run.candidate);
  const bytes = stateBytesOf(run);
  const slow = run.candidate.zeroImplementation === 'deepspeed' ? constants.deepspeedGather : 1;
  const { cluster } = run;
  const move = (each: number): number =>
    slow *
    (collectivesS(cluster, groups.shard, { bytes: parameters.dense * each, messages: units.dense }, constants) +
      collectivesS(
        cluster,
        groups.expertData,
        { bytes: parameters.experts * each, messages: units.experts },
        constants,
      ));
  return { gatherS: move(bytes.gathered), reduceS: move(bytes.reduced) };
}

/**
 * Once per step: gradients to their owners and weights back, as far as computing does not hide it. Ranks that keep no more gradients than they own
 * (stage 2) hand them over after every micro-batch: DeepSpeed (`partition_gradients`), Megatron-FSDP (`optim_grads`), FSDP2 without resharding.
 * `reducesEachMicroBatch` says what a pipeline changes.
 */
export function dataTrafficS(
  run: RunFacts,
  parameters: RankParameters,
  windows: { readonly forwardS: number; readonly backwardS: number },
  constants: TimeConstants,
): number {
  const { candidate, cluster } = run;
  const { zeroStage } = candidate;
  const groups = groupsOf(candidate);
  const trained = trainedShareOf(run);
  const { reduced, returned } = stateBytesOf(run);
  const dense = parameters.dense * trained;
  const experts = parameters.experts * trained;
  const whole = zeroStage === 3 ? groups.replicas : groups.dense;
  const expertWhole = zeroStage === 3 ? ALONE : groups.expertData;
  const shardedBy = zeroStage === 3 ? groups.shard.size : 1;
  const buckets = bucketsOf(candidate, whole, dense);
  const expertBuckets = bucketsOf(candidate, expertWhole, experts);
  const move = (each: number): number =>
    collectivesS(cluster, whole, { bytes: (dense * each) / shardedBy, messages: buckets }, constants) +
    collectivesS(cluster, expertWhole, { bytes: experts * each, messages: expertBuckets }, constants);
  const often = reducesEachMicroBatch(run) ? Math.max(1, microBatches(run)) : 1;
  const reduceS =
    move(reduced) *
    (zeroStage === 2 && candidate.zeroImplementation === 'deepspeed' ? COEFFICIENTS.deepspeedReduce : 1);
  const returnS = move(returned);
  return (
    often * exposedS(reduceS, candidate.overlapGradReduce, windows.backwardS, constants.gradReduceExposed) +
    exposedS(returnS, candidate.overlapParamGather, windows.forwardS, constants.paramGatherExposed)
  );
}

const ALONE: Group = { size: 1, stride: 1 };

/**
 * Collectives that gradients of so many parameters are handed over in: Megatron-LM fills buckets of 40 million, or of a million for each rank
 * (megatron/core/distributed/distributed_data_parallel_config.py), DeepSpeed of 500 million elements (`reduce_bucket_size`). The last is seldom full.
 */
function bucketsOf({ zeroImplementation }: CandidateLayout, { size }: Group, parameters: number): number {
  const bucket = zeroImplementation === 'deepspeed' ? 5e8 : Math.max(4e7, 1e6 * size);
  return 1 + parameters / bucket;
}

function exposedS(trafficS: number, overlapped: boolean, windowS: number, share: number): number {
  if (!overlapped || trafficS <= 0) return trafficS;
  const hideable = trafficS * (1 - share);
  return trafficS * share + softExcess(hideable - windowS, COEFFICIENTS.bend * hideable);
}

/** The optimizer step on the parameters that this rank owns. */
export function optimizerS(run: RunFacts, parameters: RankParameters, kernels: KernelFacts): number {
  const { candidate } = run;
  const groups = groupsOf(candidate);
  const trained = trainedShareOf(run);
  const sharded = candidate.zeroStage >= 1;
  const owned =
    parameters.dense / (sharded ? groups.shard.size : 1) + parameters.experts / (sharded ? groups.expertData.size : 1);
  const held = candidate.zeroStage === 3 ? owned : parameters.dense + parameters.experts;
  const onGpu = trained * (owned * OPTIMIZER_BYTES * (1 - candidate.offloadOptimizer) + held * GRADIENT_BYTES);
  const offloaded = trained * owned * candidate.offloadOptimizer;
  return (kernels.constants.optimizerFactor * onGpu) / kernels.memoryBytesPerS + hostOptimizerS(run, offloaded);
}
