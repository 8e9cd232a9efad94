import { nearestDivisor } from '../nearest.ts';
import { broken, brokenIf, MEGATRON_FAMILY, type OptionRule } from './option-rule.ts';
import { algorithmOf, isRing, isStateAlgorithm, servesSoftmax, softmaxOf } from './context-algorithm-of.ts';

const MEGATRON = 'Megatron-LM';

/** Rules about sequences and attention. */
export const sequenceRules: readonly OptionRule[] = [
  {
    name: 'linearAttentionDividesHeads',
    source: `${MEGATRON} (gated delta net, Mamba)`,
    statement:
      'if linear-attention layers are split by heads, tensorParallelDegree times contextParallelDegree divides attentionHeads',
    check: (layout, facts) => {
      const context = layout.contextParallelDegree ?? 1;
      const ways = layout.tensorParallelDegree * context;
      const heads = facts.attentionHeads;
      if (heads === undefined || facts.layerPattern?.includes('L') !== true || heads % ways === 0) return [];
      if (context > 1 && isStateAlgorithm(algorithmOf(layout, 'linearAttention'))) return [];
      return broken(
        'contextParallelDegree',
        `tensorParallelDegree ${layout.tensorParallelDegree} times contextParallelDegree ${context} does not divide attentionHeads ` +
          `${heads} of the linear-attention layers; the nearest contextParallelDegree that does is ` +
          `${nearestDivisor(Math.max(1, Math.floor(heads / layout.tensorParallelDegree)), context)}, or use ` +
          `sequence.perLayerKind.linearAttention state-allgather`,
      );
    },
  },
  {
    name: 'stateAlgorithmsServeLinearLayers',
    source: 'LASP-2, ZeCO',
    statement:
      'state-allgather and state-scan are for linear-attention and state-space layers, and those never use a ring',
    check: (layout, facts) => {
      if ((layout.contextParallelDegree ?? 1) === 1 || facts.layers === undefined) return [];
      const pattern = facts.layerPattern ?? 'A';
      const attention = algorithmOf(layout, 'attention');
      const linear = algorithmOf(layout, 'linearAttention');
      return [
        ...(/[A*]/.test(pattern) && isStateAlgorithm(attention)
          ? broken(
              'sequence/perLayerKind/attention',
              `the model has attention layers, which need keys and values of other ranks; contextAlgorithm ${attention} moves only states. ` +
                `Set sequence.perLayerKind.attention to allgather (LASP-2H)`,
            )
          : []),
        ...(pattern.includes('L') && !isStateAlgorithm(linear) && !['ulysses', 'ulysses-ring'].includes(linear)
          ? broken(
              'sequence/perLayerKind/linearAttention',
              `contextAlgorithm ${linear} moves keys and values, and linear-attention layers have a state instead; ` +
                `set sequence.perLayerKind.linearAttention to state-allgather`,
            )
          : []),
      ];
    },
  },
  {
    name: 'slidingMaskAvoidsRing',
    source: 'Transformer Engine',
    statement: 'a sliding mask needs allgather or ulysses; no ring algorithm supports it',
    check: (layout) => {
      const algorithm = algorithmOf(layout, 'attention');
      if ((layout.contextParallelDegree ?? 1) === 1 || layout.kernel?.attentionMask !== 'sliding' || !isRing(algorithm))
        return [];
      return broken(
        'kernel/attentionMask',
        `kernel.attentionMask sliding cannot be combined with contextAlgorithm ${algorithm}; use allgather or ulysses`,
      );
    },
  },
  {
    name: 'otherSoftmaxNeedsUlysses',
    source: 'Transformer Engine',
    statement:
      'with context parallelism, a softmax other than vanilla (including that of a model with attentionSinks) needs ulysses',
    check: (layout, facts) => {
      const asked = layout.kernel?.softmax;
      const algorithm = algorithmOf(layout, 'attention');
      const softmax = asked ?? softmaxOf(facts);
      if ((layout.contextParallelDegree ?? 1) === 1 || servesSoftmax(algorithm, softmax)) return [];
      return asked === undefined
        ? broken(
            'sequence/contextAlgorithm',
            `contextAlgorithm ${algorithm} cannot be combined with the learned softmax of a model with attentionSinks; use ulysses`,
          )
        : broken(
            'kernel/softmax',
            `kernel.softmax ${asked} cannot be combined with contextAlgorithm ${algorithm}; use ulysses`,
          );
    },
  },
  {
    name: 'flashAttentionTakesHeadDim',
    source: 'FlashAttention-2',
    statement: 'flash attention supports heads of at most 256 elements',
    check: (layout, { headDim }) =>
      layout.kernel?.attention === 'flash' && headDim !== undefined && headDim > 256
        ? broken(
            'kernel/attention',
            `kernel.attention flash supports headDim up to 256, but the model has ${headDim}; use fused or unfused`,
          )
        : [],
  },
  {
    name: 'tokenRingStaysInDomain',
    source: 'TokenRing',
    statement: 'token-ring stays inside one fully connected domain',
    check: (layout, { scaleUpDomainGpus: domain }) => {
      const context = layout.contextParallelDegree ?? 1;
      if (domain === undefined || algorithmOf(layout, 'attention') !== 'token-ring' || context <= domain) return [];
      return broken(
        'contextParallelDegree',
        `contextParallelDegree ${context} with contextAlgorithm token-ring needs a fully connected domain, but a domain has ${domain} GPUs; ` +
          `the nearest degree is ${domain}, or use contextAlgorithm ring`,
      );
    },
  },
  {
    name: 'dynamicSequencesOnMegatron',
    source: `${MEGATRON} (--hybrid-context-parallel)`,
    statement:
      'hybrid data parallelism on Megatron-LM: no pipeline, no CUDA graphs, no latent attention, no Megatron-FSDP, an even data times context degree, per-token loss, degrees that are powers of two',
    check: (layout, facts) => {
      const dynamic = layout.sequence?.dynamic;
      if (dynamic?.method !== 'hybrid-data-parallel' || !MEGATRON_FAMILY.has(facts.engine)) return [];
      const ranks = layout.dataParallelDegree * (layout.contextParallelDegree ?? 1);
      const at = 'sequence/dynamic';
      return [
        ...brokenIf(
          layout.pipelineParallelDegree > 1,
          'pipelineParallelDegree',
          () =>
            `sequence.dynamic hybrid-data-parallel on ${String(facts.engine)} requires pipelineParallelDegree 1, not ${layout.pipelineParallelDegree}`,
        ),
        ...brokenIf(
          (layout.kernel?.cudaGraphs ?? 'none') !== 'none',
          'kernel/cudaGraphs',
          () =>
            `sequence.dynamic changes shapes each step, so kernel.cudaGraphs must be none, not ${String(layout.kernel?.cudaGraphs)}`,
        ),
        ...brokenIf(
          facts.latentAttention !== undefined,
          at,
          () =>
            `sequence.dynamic cannot be combined with latent attention on ${String(facts.engine)}; remove it and pack samples`,
        ),
        ...brokenIf(
          layout.states?.implementation === 'megatron-fsdp',
          'states/implementation',
          () => 'sequence.dynamic cannot be combined with megatron-fsdp; use distributed-optimizer',
        ),
        ...brokenIf(
          ranks % 2 !== 0,
          'dataParallelDegree',
          () =>
            `sequence.dynamic needs an even dataParallelDegree times contextParallelDegree, but it is ${ranks}; the nearest dataParallelDegree is ${layout.dataParallelDegree + 1}`,
        ),
        ...brokenIf(
          dynamic.perTokenLoss !== true,
          `${at}/perTokenLoss`,
          () => 'sequence.dynamic gives ranks unequal numbers of tokens, so perTokenLoss must be true',
        ),
        ...brokenIf(
          dynamic.degrees === 'any',
          `${at}/degrees`,
          () => `sequence.dynamic.degrees any is not supported on ${String(facts.engine)}; use powers-of-two`,
        ),
      ];
    },
  },
  {
    name: 'deepspeedSequencesAreNotSplitByTensor',
    source: 'DeepSpeed (AutoTP)',
    statement: 'on DeepSpeed context parallelism requires tensorParallelDegree 1',
    check: (layout, { engine }) =>
      brokenIf(
        engine === 'deepspeed' && (layout.contextParallelDegree ?? 1) > 1 && layout.tensorParallelDegree > 1,
        'tensorParallelDegree',
        () =>
          `contextParallelDegree ${layout.contextParallelDegree ?? 1} on deepspeed requires tensorParallelDegree 1, not ` +
          `${layout.tensorParallelDegree}; set it to 1, or use engine megatron-lm`,
      ),
  },
  {
    name: 'deepspeedSequencesPassNoPipeline',
    source: 'DeepSpeed (runtime/config.py, runtime/engine.py): its mesh has data and sequence',
    statement: 'on DeepSpeed context parallelism requires pipelineParallelDegree 1',
    check: (layout, { engine }) =>
      brokenIf(
        engine === 'deepspeed' && (layout.contextParallelDegree ?? 1) > 1 && layout.pipelineParallelDegree > 1,
        'pipelineParallelDegree',
        () =>
          `contextParallelDegree ${layout.contextParallelDegree ?? 1} on deepspeed requires pipelineParallelDegree 1, not ` +
          `${layout.pipelineParallelDegree}; set it to 1, or use engine megatron-lm`,
      ),
  },
];
