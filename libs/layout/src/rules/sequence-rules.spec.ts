import type { LayoutFacts, ParallelLayout } from '../index.ts';
import { type LegalCase, type RuleCase, showRules } from '../testing/rule-cases.ts';
import { sequenceRules } from './sequence-rules.ts';

const LINEAR: LayoutFacts = { layerPattern: 'LLLA' };
const MEGATRON: LayoutFacts = { engine: 'megatron-lm' };

type Dynamic = NonNullable<NonNullable<ParallelLayout['sequence']>['dynamic']>;
/** Hybrid data parallelism over eight ranks. */
function dynamicLayout(overrides: Partial<Dynamic> = {}): Partial<ParallelLayout> {
  return {
    dataParallelDegree: 8,
    sequence: {
      dynamic: { method: 'hybrid-data-parallel', maxTokensPerRank: 4096, perTokenLoss: true, ...overrides },
    },
  };
}

const broken: readonly RuleCase[] = [
  {
    rule: 'linearAttentionDividesHeads',
    layout: { contextParallelDegree: 64, sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 8 } },
    facts: LINEAR,
    message:
      'tensorParallelDegree 1 times contextParallelDegree 64 does not divide attentionHeads 32 of the linear-attention layers; the nearest contextParallelDegree that does is 32, or use sequence.perLayerKind.linearAttention state-allgather',
    waysOut: [
      { layout: { contextParallelDegree: 32 } },
      {
        layout: {
          sequence: {
            contextAlgorithm: 'ulysses-ring',
            ulyssesDegree: 8,
            perLayerKind: { linearAttention: 'state-allgather' },
          },
        },
      },
    ],
  },
  {
    rule: 'stateAlgorithmsServeLinearLayers',
    layout: { contextParallelDegree: 4, sequence: { contextAlgorithm: 'state-allgather' } },
    message:
      'the model has attention layers, which need keys and values of other ranks; contextAlgorithm state-allgather moves only states. Set sequence.perLayerKind.attention to allgather (LASP-2H)',
    waysOut: [
      { layout: { sequence: { contextAlgorithm: 'state-allgather', perLayerKind: { attention: 'allgather' } } } },
    ],
  },
  {
    rule: 'stateAlgorithmsServeLinearLayers',
    layout: { contextParallelDegree: 4, sequence: { contextAlgorithm: 'ring' } },
    facts: LINEAR,
    message:
      'contextAlgorithm ring moves keys and values, and linear-attention layers have a state instead; set sequence.perLayerKind.linearAttention to state-allgather',
    waysOut: [
      { layout: { sequence: { contextAlgorithm: 'ring', perLayerKind: { linearAttention: 'state-allgather' } } } },
    ],
  },
  {
    rule: 'slidingMaskAvoidsRing',
    layout: { contextParallelDegree: 4, kernel: { attentionMask: 'sliding' } },
    message: 'kernel.attentionMask sliding cannot be combined with contextAlgorithm ring; use allgather or ulysses',
    waysOut: [
      { layout: { sequence: { contextAlgorithm: 'allgather' } } },
      { layout: { sequence: { contextAlgorithm: 'ulysses' } } },
    ],
  },
  {
    rule: 'otherSoftmaxNeedsUlysses',
    layout: { contextParallelDegree: 4, kernel: { softmax: 'learnable' } },
    message: 'kernel.softmax learnable cannot be combined with contextAlgorithm ring; use ulysses',
    waysOut: [{ layout: { sequence: { contextAlgorithm: 'ulysses' } } }],
  },
  {
    rule: 'otherSoftmaxNeedsUlysses',
    layout: { contextParallelDegree: 4 },
    facts: { attentionSinks: true },
    message:
      'contextAlgorithm ring cannot be combined with the learned softmax of a model with attentionSinks; use ulysses',
    waysOut: [{ layout: { sequence: { contextAlgorithm: 'ulysses' } } }],
  },
  {
    rule: 'flashAttentionTakesHeadDim',
    layout: { kernel: { attention: 'flash' } },
    facts: { headDim: 257 },
    message: 'kernel.attention flash supports headDim up to 256, but the model has 257; use fused or unfused',
    waysOut: [{ layout: { kernel: { attention: 'fused' } } }, { layout: { kernel: { attention: 'unfused' } } }],
  },
  {
    rule: 'tokenRingStaysInDomain',
    layout: { contextParallelDegree: 16, sequence: { contextAlgorithm: 'token-ring' } },
    facts: { scaleUpDomainGpus: 8 },
    message:
      'contextParallelDegree 16 with contextAlgorithm token-ring needs a fully connected domain, but a domain has 8 GPUs; the nearest degree is 8, or use contextAlgorithm ring',
    waysOut: [{ layout: { contextParallelDegree: 8 } }, { layout: { sequence: { contextAlgorithm: 'ring' } } }],
  },
  {
    rule: 'dynamicSequencesOnMegatron',
    layout: dynamicLayout({ degrees: 'any' }),
    facts: MEGATRON,
    message: 'sequence.dynamic.degrees any is not supported on megatron-lm; use powers-of-two',
    waysOut: [{ layout: dynamicLayout({ degrees: 'powers-of-two' }) }],
  },
  {
    rule: 'dynamicSequencesOnMegatron',
    layout: dynamicLayout({ perTokenLoss: false }),
    facts: MEGATRON,
    message: 'sequence.dynamic gives ranks unequal numbers of tokens, so perTokenLoss must be true',
    waysOut: [{ layout: dynamicLayout({ perTokenLoss: true }) }],
  },
  {
    rule: 'dynamicSequencesOnMegatron',
    layout: { ...dynamicLayout(), dataParallelDegree: 1, contextParallelDegree: 1 },
    facts: MEGATRON,
    message:
      'sequence.dynamic needs an even dataParallelDegree times contextParallelDegree, but it is 1; the nearest dataParallelDegree is 2',
    waysOut: [{ layout: { dataParallelDegree: 2 } }],
  },
  {
    rule: 'dynamicSequencesOnMegatron',
    layout: { ...dynamicLayout(), dataParallelDegree: 3, contextParallelDegree: 3 },
    facts: { ...MEGATRON, globalBatchSize: 12, sequenceLength: 6144 },
    message:
      'sequence.dynamic needs an even dataParallelDegree times contextParallelDegree, but it is 9; the nearest dataParallelDegree is 4',
    waysOut: [{ layout: { dataParallelDegree: 4 } }],
  },
  {
    rule: 'dynamicSequencesOnMegatron',
    layout: { ...dynamicLayout(), pipelineParallelDegree: 2 },
    facts: MEGATRON,
    message: 'sequence.dynamic hybrid-data-parallel on megatron-lm requires pipelineParallelDegree 1, not 2',
    waysOut: [{ layout: { pipelineParallelDegree: 1 } }],
  },
  {
    rule: 'dynamicSequencesOnMegatron',
    layout: { ...dynamicLayout(), kernel: { cudaGraphs: 'partial' } },
    facts: MEGATRON,
    message: 'sequence.dynamic changes shapes each step, so kernel.cudaGraphs must be none, not partial',
    waysOut: [{ layout: { kernel: { cudaGraphs: 'none' } } }],
  },
  {
    rule: 'dynamicSequencesOnMegatron',
    layout: dynamicLayout(),
    facts: { ...MEGATRON, latentAttention: {} },
    message: 'sequence.dynamic cannot be combined with latent attention on megatron-lm; remove it and pack samples',
    waysOut: [{ without: 'sequence' }],
  },
  {
    rule: 'dynamicSequencesOnMegatron',
    layout: { ...dynamicLayout(), states: { implementation: 'megatron-fsdp', zeroStage: 3 } },
    facts: MEGATRON,
    message: 'sequence.dynamic cannot be combined with megatron-fsdp; use distributed-optimizer',
    waysOut: [{ layout: { states: { implementation: 'distributed-optimizer', zeroStage: 1 } } }],
  },
  {
    rule: 'deepspeedSequencesAreNotSplitByTensor',
    layout: { tensorParallelDegree: 2, contextParallelDegree: 4, sequence: { contextAlgorithm: 'ulysses' } },
    facts: { engine: 'deepspeed' },
    message:
      'contextParallelDegree 4 on deepspeed requires tensorParallelDegree 1, not 2; set it to 1, or use engine megatron-lm',
    waysOut: [{ layout: { tensorParallelDegree: 1 } }, { facts: { engine: 'megatron-lm' } }],
  },
  {
    rule: 'deepspeedSequencesPassNoPipeline',
    layout: { pipelineParallelDegree: 2, contextParallelDegree: 4, sequence: { contextAlgorithm: 'ulysses' } },
    facts: { engine: 'deepspeed' },
    message:
      'contextParallelDegree 4 on deepspeed requires pipelineParallelDegree 1, not 2; set it to 1, or use engine megatron-lm',
    waysOut: [{ layout: { pipelineParallelDegree: 1 } }, { facts: { engine: 'megatron-lm' } }],
  },
];

const legal: readonly LegalCase[] = [
  ['heads of the widest flash kernel', { kernel: { attention: 'flash' } }, { headDim: 256 }],
  ['a sliding mask on one context rank', { kernel: { attentionMask: 'sliding' } }],
  ['another softmax on one context rank', { kernel: { softmax: 'off-by-one' } }],
  [
    'a token ring that fills its domain',
    { contextParallelDegree: 8, sequence: { contextAlgorithm: 'token-ring' } },
    { scaleUpDomainGpus: 8 },
  ],
  [
    'states of a model that has linear attention alone',
    { contextParallelDegree: 4, sequence: { contextAlgorithm: 'state-scan' } },
    { layerPattern: 'LLLL' },
  ],
  ['groups solved for each step, which Megatron-LM does not do', dynamicLayout({ method: 'flexsp', degrees: 'any' })],
  ['hybrid data parallelism on an engine of one’s own', dynamicLayout({ degrees: 'any' }), { engine: 'custom' }],
];

describe('rules of sequences and attention', () => {
  showRules({ rules: sequenceRules, broken, legal });
});
