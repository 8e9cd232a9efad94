/**
 * Kernels, overlaps and CUDA graphs of each engine that are always best. They cost nothing that the models know of, so the search always uses them.
 *
 * Sources: Megatron-Bridge's performance recipes (`scripts/performance` of its releases up to 0.6) and guide; Megatron-LM's
 * `--moe-flex-dispatcher-backend`, `--tp-comm-overlap`, `--overlap-moe-expert-parallel-comm`; TorchTitan's expert_parallel_comm_backend.
 */
import type { ModelShape } from '@coxswain/layout';
import type { CandidateLayout, ClusterFacts, Precision } from '../facts.ts';
import { engineOfStack } from '../request/engine-choices.ts';

/** Kernels, overlaps and CUDA graphs of an engine. */
export interface EngineTools {
  /** Tensor-parallel traffic behind the matrix products that need it: userbuffers of Transformer Engine, which know no NVFP4. */
  readonly overlapTensor: boolean;
  /** Dispatch of one micro-batch behind the passes of another. With a pipeline the engine asks for interleaving, so it is taken without one only. */
  readonly overlapExpert: boolean;
  readonly dispatcher: CandidateLayout['dispatcher'];
  readonly cudaGraphs: CandidateLayout['cudaGraphs'];
}

/** Tools of an engine without special kernels. */
export const PLAIN_TOOLS: EngineTools = {
  overlapTensor: false,
  overlapExpert: false,
  dispatcher: 'alltoall',
  cudaGraphs: 'none',
};

interface Situation {
  readonly model: ModelShape;
  readonly cluster: ClusterFacts;
  readonly precision: Precision;
}

/** Measured, and known to no layout rule: InternEvo has all-to-all and all-gather (internlm/model/moe/dropless_layer.py, `token_dispatch_policy`). */
const BY_COLLECTIVES = /^internevo\b/;

/** The tools of the engine that a stack names. */
export function toolsOf(stack: string, situation: Situation): EngineTools {
  switch (engineOfStack(stack)) {
    case 'megatron-bridge':
      return { ...megatronTools(situation), cudaGraphs: bridgeGraphs(situation) };
    case 'megatron-lm':
      return megatronTools(situation);
    // An unnamed or unknown engine is assumed to have a current dispatcher.
    case undefined:
      return BY_COLLECTIVES.test(stack) ? PLAIN_TOOLS : { ...PLAIN_TOOLS, dispatcher: fastestDispatcher(situation) };
    case 'torchtitan':
      return { ...PLAIN_TOOLS, dispatcher: fastestDispatcher(situation) };
    default:
      return PLAIN_TOOLS;
  }
}

function megatronTools(situation: Situation): EngineTools {
  return {
    overlapTensor: isNvidia(situation) && situation.precision !== 'nvfp4',
    overlapExpert: situation.model.experts !== undefined && situation.model.mtpLayers <= 1 && isNvidia(situation),
    dispatcher: fastestDispatcher(situation),
    cudaGraphs: 'none',
  };
}

/** HybridEP inside an NVLink rack and on Blackwell, DeepEP on Hopper; both are NVIDIA's kernels. */
function fastestDispatcher({ model, cluster }: Situation): EngineTools['dispatcher'] {
  if (model.experts === undefined || cluster.gpus === 1) return 'alltoall';
  if (cluster.gpu.silicon === 'gh100') return 'deepep';
  return isBlackwell(cluster) ? 'hybridep' : 'alltoall';
}

/**
 * With gated experts in MXFP8: the whole iteration. With other experts, in NVFP4 and for hybrids: parts of a layer (workload_base_configs of v0.4.2 to
 * v0.6.0), because Transformer Engine multiplies other experts by counts that the host has to know. Dense models: the whole iteration, as in the recipe of
 * Llama 3 8B (25.11) and in submissions to MLPerf since 4.1.
 */
function bridgeGraphs({ model, precision, cluster }: Situation): EngineTools['cudaGraphs'] {
  if (!isBlackwell(cluster)) return 'none';
  if (model.experts === undefined) return 'full';
  const isRoomy = precision === 'mxfp8' && model.gatedMlp && model.layerPattern === undefined && cluster.gpus > 1;
  return isRoomy ? 'full' : 'partial';
}

/** A graph of a whole step has room for experts that HybridEP sends between ranks, and for whole ones; undefined if experts do not decide. */
export function graphsOfGrid(
  { cudaGraphs }: EngineTools,
  { expert, expertTensor }: Pick<CandidateLayout, 'expert' | 'expertTensor'>,
): CandidateLayout['cudaGraphs'] | undefined {
  return cudaGraphs === 'full' && (expert === 1 || expertTensor > 1) ? 'partial' : undefined;
}

function isBlackwell({ gpu }: ClusterFacts): boolean {
  return gpu.silicon === 'gb100' || gpu.silicon === 'gb110';
}

function isNvidia({ cluster }: Situation): boolean {
  return /^(ga100|gh100|gb1[01]0)$/.test(cluster.gpu.silicon);
}
