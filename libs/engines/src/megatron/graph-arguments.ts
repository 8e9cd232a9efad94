/**
 * Renders CUDA graphs for Megatron-LM. The number of tokens per expert changes with each step, so a graph must leave experts out
 * or reserve room for them.
 */
import { releasesWith } from './releases.ts';
import { type MegatronJob, flag, kept, note, refuse, type RenderedField, variable } from './rendered-field.ts';

const FIELD = 'layout.kernel.cudaGraphs';

/** Arguments for `layout.kernel.cudaGraphs`. */
export function graphArguments(job: MegatronJob): readonly RenderedField[] {
  const { cudaGraphs = 'none' } = job.layout.kernel ?? {};
  if (cudaGraphs === 'none') return kept(FIELD);
  return cudaGraphs === 'partial' ? partialArguments(job) : wholeArguments(job);
}

function hasExperts({ layout, shape }: MegatronJob): boolean {
  return shape?.experts !== undefined || (layout.expert?.expertParallelDegree ?? 1) > 1;
}

/** What is computed again must not reach over the edge of a graph (transformer_config.py asserts it from core_v0.16 on). */
function partialArguments(job: MegatronJob): readonly RenderedField[] {
  const { mode, modules = [] } = job.layout.memory?.recompute ?? {};
  const wide = mode === 'full' ? 'whole layers' : hasExperts(job) && modules.includes('moe') ? 'moe' : undefined;
  if (wide !== undefined)
    return refuse(
      'partial-graphs-recompute-within',
      FIELD,
      `graphs of parts of a layer end where ${wide} would be computed again`,
      wide === 'moe'
        ? 'leave moe out of memory.recompute.modules, or use none'
        : 'use selective recomputation, or none',
    );
  return [...flag(FIELD, '--cuda-graph-impl', 'transformer_engine'), ...partsOfLayer(job)];
}

/** Without names the whole layer is a graph, and the exchange of experts ends while it is captured. */
function partsOfLayer(job: MegatronJob): readonly RenderedField[] {
  if (!hasExperts(job)) return [];
  const { release, layout, shape } = job;
  if (release.minor < 16) return flag(FIELD, '--cuda-graph-scope', 'attn');
  const { dispatcher = 'allgather', capacityFactor } = layout.expert ?? {};
  const waits = dispatcher === 'alltoall' && capacityFactor !== undefined;
  const isHybrid = shape?.layerPattern !== undefined;
  const hasDense = !isHybrid && (shape?.experts?.denseLayers ?? 0) > 0;
  const overlaps = layout.communication?.overlapExpertParallel === true;
  const parts = [
    'attn',
    ...(isHybrid ? ['mamba'] : []),
    ...(hasDense && !overlaps ? ['mlp'] : []),
    'moe_router',
    ...(waits ? [] : ['moe_preprocess']),
  ];
  return flag(FIELD, hasModules(job) ? '--cuda-graph-modules' : '--cuda-graph-scope', ...parts);
}

/** What was a scope of the graphs of layers is an implementation of its own since core_v0.18. */
function hasModules({ release }: MegatronJob): boolean {
  return release.options.get('--cuda-graph-impl')?.choices.includes('full_iteration') === true;
}

/** A graph of a whole step cannot check for NaN in between (validate_args). */
function wholeArguments(job: MegatronJob): readonly RenderedField[] {
  if ((job.layout.memory?.offload ?? []).some(({ what }) => what === 'activations'))
    return refuse(
      'whole-graphs-leave-offload',
      FIELD,
      'a graph of a whole step cannot wait for activations that are in host memory',
      'use partial, or leave memory.offload of activations out',
    );
  return [
    ...(hasModules(job)
      ? flag(FIELD, '--cuda-graph-impl', 'full_iteration')
      : [...flag(FIELD, '--cuda-graph-impl', 'local'), ...flag(FIELD, '--cuda-graph-scope', 'full_iteration')]),
    ...flag(FIELD, '--no-check-for-nan-in-loss-and-grad'),
    ...(hasExperts(job) ? expertArguments(job) : []),
  ];
}

/** Tokens for which a rank has room, as a multiple of those that come when the router spreads them evenly: what recipes of Megatron-Bridge v0.5.1 have. */
const ROOM = 1.5;
/** How gates and linear units lie in the products of experts that Transformer Engine fuses (fuse_grouped_mlp_ops, v2.14). */
const INTERLEAVED = 32;
const STASH = '--moe-paged-stash';

/**
 * Experts whose room is fixed: what they keep for the backward pass lies in pages, so that the room is not kept for each layer. The fused products are as fast as
 * published. But neither Megatron-LM nor Megatron-Bridge puts their interleaved weights in order for the optimizer's part of a checkpoint. So they stay off if
 * anything is saved or loaded. Transformer Engine 2.16 multiplies experts without asking the host as well.
 */
function expertArguments(job: MegatronJob): readonly RenderedField[] {
  const obstacle = obstacleOf(job);
  if (obstacle !== undefined) return refuse('whole-graphs-give-experts-room', ...obstacle);
  const { spec } = job;
  const isKept = spec.checkpoint !== undefined || spec.initialWeights !== undefined;
  return [
    ...flag(FIELD, STASH),
    ...flag(FIELD, '--moe-expert-rank-capacity-factor', ROOM),
    ...flag(FIELD, '--use-transformer-engine-op-fuser'),
    ...(isKept
      ? note(
          FIELD,
          'products of experts are not fused, since checkpoints would hold their weights interleaved: steps take longer than planned, and the image needs Transformer Engine 2.16',
        )
      : [
          ...flag(FIELD, '--moe-mlp-glu-interleave-size', INTERLEAVED),
          ...variable(FIELD, 'NVTE_CUTEDSL_FUSED_GROUPED_MLP', '1'),
          ...note(FIELD, 'the image needs Transformer Engine 2.14 for the fused products of experts'),
        ]),
    ...note(
      FIELD,
      `each rank has room for ${ROOM} times the tokens of an even routing: a step in which more come is computed again without the graph`,
    ),
  ];
}

type Obstacle = readonly [field: string, why: string, fallback: string];

/** What transformer_config.py and experts.py (_is_fused_impl_supported) refuse, and what only ends when the step is captured. */
function obstacleOf({ engine, release, layout, shape, spec }: MegatronJob): Obstacle | undefined {
  const { expertParallelDegree = 1, expertTensorParallelDegree, dispatcher } = layout.expert ?? {};
  const able = engine === 'megatron-lm' ? releasesWith(STASH).join(' or ') : 'v0.5.1';
  const precision = layout.kernel?.precision ?? spec.training?.precision ?? 'bf16';
  if (!release.options.has(STASH))
    return [
      FIELD,
      `Megatron-LM ${release.tag} cannot hold an exchange of experts in a graph of a whole step: its sizes change with each step`,
      `set engine.release to ${able}, or use partial`,
    ];
  if (precision !== 'mxfp8')
    return [
      'layout.kernel.precision',
      `layout.kernel.cudaGraphs full captures products of experts in mxfp8, not in ${precision}, which ask the host how many tokens came`,
      'use mxfp8, or kernel.cudaGraphs partial',
    ];
  if (expertParallelDegree === 1 || dispatcher !== 'hybridep')
    return [
      expertParallelDegree === 1 ? 'layout.expert.expertParallelDegree' : 'layout.expert.dispatcher',
      'a graph of a whole step needs room for experts that is fixed, which HybridEP alone gives, between ranks',
      'use dispatcher hybridep with expertParallelDegree above 1, or kernel.cudaGraphs partial',
    ];
  if ((expertTensorParallelDegree ?? layout.tensorParallelDegree) > 1)
    return [
      'layout.expert.expertTensorParallelDegree',
      'the products of experts in a graph of a whole step do not divide their tensors',
      'set expert.expertTensorParallelDegree to 1, or use kernel.cudaGraphs partial',
    ];
  if (shape?.gatedMlp === false)
    return [
      'model.gatedMlp',
      'the products of experts in a graph of a whole step are those of gated experts (SwiGLU)',
      'use kernel.cudaGraphs partial',
    ];
  return undefined;
}
