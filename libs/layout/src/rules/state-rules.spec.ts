import { EIGHT_EXPERTS, type LegalCase, type RuleCase, showRules } from '../testing/rule-cases.ts';
import { stateRules } from './state-rules.ts';

const LOW_RANK = { rank: 1024 };

const broken: readonly RuleCase[] = [
  {
    rule: 'implementationHasZeroStage',
    layout: { dataParallelDegree: 8, states: { implementation: 'distributed-optimizer', zeroStage: 3 } },
    message:
      'states.zeroStage 3 is not supported by distributed-optimizer (supported: 1); the nearest is 1, or use megatron-fsdp or deepspeed',
    waysOut: [
      { layout: { states: { implementation: 'distributed-optimizer', zeroStage: 1 } } },
      { layout: { states: { implementation: 'megatron-fsdp', zeroStage: 3 } } },
      { layout: { states: { implementation: 'deepspeed', zeroStage: 3 } } },
    ],
  },
  {
    rule: 'implementationHasZeroStage',
    layout: { dataParallelDegree: 8, states: { implementation: 'ddp', zeroStage: 1 } },
    message:
      'states.zeroStage 1 is not supported by ddp (supported: 0); the nearest is 0, or use megatron-fsdp or deepspeed',
    waysOut: [
      { layout: { states: { implementation: 'ddp', zeroStage: 0 } } },
      { layout: { states: { implementation: 'megatron-fsdp', zeroStage: 1 } } },
      { layout: { states: { implementation: 'deepspeed', zeroStage: 1 } } },
    ],
  },
  {
    rule: 'implementationHasZeroStage',
    layout: { dataParallelDegree: 8, states: { implementation: 'fsdp2' } },
    message:
      'states.zeroStage 0 is not supported by fsdp2 (supported: 2, 3); the nearest is 2, or use megatron-fsdp or deepspeed',
    waysOut: [
      { layout: { states: { implementation: 'fsdp2', zeroStage: 2 } } },
      { layout: { states: { implementation: 'megatron-fsdp' } } },
      { layout: { states: { implementation: 'deepspeed' } } },
    ],
  },
  {
    rule: 'pipelineKeepsGradients',
    layout: {
      dataParallelDegree: 8,
      pipelineParallelDegree: 4,
      states: { implementation: 'deepspeed', zeroStage: 2 },
    },
    message:
      'states.zeroStage 2 of DeepSpeed shards gradients that a pipeline of 4 stages accumulates; the nearest is 1, or use pipelineParallelDegree 1',
    waysOut: [
      { layout: { states: { implementation: 'deepspeed', zeroStage: 1 } } },
      { layout: { pipelineParallelDegree: 1 } },
    ],
  },
  {
    rule: 'pipelineKeepsGradients',
    layout: { dataParallelDegree: 8, pipelineParallelDegree: 2, states: { zeroStage: 3 } },
    facts: { engine: 'deepspeed' },
    message:
      'states.zeroStage 3 of DeepSpeed shards gradients that a pipeline of 2 stages accumulates; the nearest is 1, or use pipelineParallelDegree 1',
    waysOut: [{ layout: { states: { zeroStage: 1 } } }, { layout: { pipelineParallelDegree: 1 } }],
  },
  {
    rule: 'deepspeedTensorKeepsWeights',
    layout: { dataParallelDegree: 8, tensorParallelDegree: 2, states: { zeroStage: 3 } },
    facts: { engine: 'deepspeed' },
    message:
      'states.zeroStage 3 cannot be combined with tensorParallelDegree 2 on deepspeed; the nearest is 2, or use tensorParallelDegree 1',
    waysOut: [{ layout: { states: { zeroStage: 2 } } }, { layout: { tensorParallelDegree: 1 } }],
  },
  {
    rule: 'megatronFsdpHasItsFormat',
    layout: {
      dataParallelDegree: 8,
      states: { implementation: 'megatron-fsdp', zeroStage: 3 },
      checkpointPolicy: { format: 'torch_dist' },
    },
    message: 'checkpointPolicy.format torch_dist cannot hold the states of megatron-fsdp; use fsdp_dtensor',
    waysOut: [{ layout: { checkpointPolicy: { format: 'fsdp_dtensor' } } }],
  },
  {
    rule: 'megatronFsdpHasItsFormat',
    layout: { dataParallelDegree: 8, states: { implementation: 'megatron-fsdp', zeroStage: 3, optimizer: 'lion' } },
    message: 'states.optimizer lion cannot be combined with megatron-fsdp; use adamw or sgd',
    waysOut: (['adamw', 'sgd'] as const).map((optimizer) => ({
      layout: { states: { implementation: 'megatron-fsdp', zeroStage: 3, optimizer } },
    })),
  },
  {
    rule: 'fsdp2OnMegatronIsAlone',
    layout: { dataParallelDegree: 8, pipelineParallelDegree: 2, states: { implementation: 'fsdp2', zeroStage: 3 } },
    facts: { engine: 'megatron-lm' },
    message:
      'states.implementation fsdp2 on megatron-lm requires pipelineParallelDegree 1 and expertParallelDegree 1, not 2 and 1; use megatron-fsdp',
    waysOut: [
      { layout: { pipelineParallelDegree: 1 } },
      { layout: { states: { implementation: 'megatron-fsdp', zeroStage: 3 } } },
    ],
  },
  {
    rule: 'fsdp2OnMegatronIsAlone',
    layout: {
      dataParallelDegree: 8,
      expert: { expertParallelDegree: 2 },
      states: { implementation: 'fsdp2', zeroStage: 3 },
    },
    facts: { ...EIGHT_EXPERTS, engine: 'verl' },
    message:
      'states.implementation fsdp2 on verl requires pipelineParallelDegree 1 and expertParallelDegree 1, not 1 and 2; use megatron-fsdp',
    waysOut: [
      { layout: { expert: { expertParallelDegree: 1 } } },
      { layout: { states: { implementation: 'megatron-fsdp', zeroStage: 3 } } },
    ],
  },
  {
    rule: 'secondaryGroupDividesShards',
    layout: {
      dataParallelDegree: 16,
      states: { implementation: 'deepspeed', zeroStage: 3, secondaryShardDegree: 6 },
    },
    message: 'states.secondaryShardDegree 6 does not divide the 16 ranks that share states; the nearest that does is 4',
    waysOut: [{ layout: { states: { implementation: 'deepspeed', zeroStage: 3, secondaryShardDegree: 4 } } }],
  },
  {
    rule: 'secondaryGroupDividesShards',
    layout: {
      dataParallelDegree: 8,
      states: { implementation: 'distributed-optimizer', zeroStage: 1, optimizerInstances: 3 },
    },
    message:
      'states.optimizerInstances 3 does not divide the 8 ranks of data times context parallelism; the nearest that does is 2',
    waysOut: [{ layout: { states: { implementation: 'distributed-optimizer', zeroStage: 1, optimizerInstances: 2 } } }],
  },
  {
    rule: 'weightShardsHaveOneInstance',
    layout: { dataParallelDegree: 4, weightShardDegree: 2, states: { optimizerInstances: 2 } },
    message: 'states.optimizerInstances 2 cannot be combined with weightShardDegree 2; the nearest is 1',
    waysOut: [{ layout: { states: { optimizerInstances: 1 } } }, { layout: { weightShardDegree: 1 } }],
  },
  {
    rule: 'lowRankNeedsWholeGradients',
    layout: { tensorParallelDegree: 2, states: { optimizer: 'galore', lowRank: LOW_RANK } },
    message:
      'states.optimizer galore projects whole gradients, and tensorParallelDegree 2 splits them; the nearest is 1',
    waysOut: [{ layout: { tensorParallelDegree: 1 } }],
  },
  {
    rule: 'lowRankNeedsWholeGradients',
    layout: { dataParallelDegree: 8, states: { optimizer: 'natural-galore', lowRank: LOW_RANK, zeroStage: 2 } },
    message: 'states.optimizer natural-galore projects whole gradients, and zeroStage 2 shards them; the nearest is 1',
    waysOut: [{ layout: { states: { optimizer: 'natural-galore', lowRank: LOW_RANK, zeroStage: 1 } } }],
  },
  {
    rule: 'lowRankNeedsWholeGradients',
    layout: { states: { optimizer: 'galore' } },
    message: 'states.optimizer galore needs states.lowRank.rank',
    waysOut: [{ layout: { states: { optimizer: 'galore', lowRank: LOW_RANK } } }],
  },
  {
    rule: 'lowRankNeedsWholeGradients',
    layout: { states: { optimizer: 'galore', lowRank: { rank: 4096 } } },
    message: 'states.lowRank.rank 4096 must be below hiddenSize 4096',
    waysOut: [{ layout: { states: { optimizer: 'galore', lowRank: { rank: 4095 } } } }],
  },
  {
    rule: 'lowRankNeedsWholeGradients',
    layout: { states: { lowRank: LOW_RANK } },
    message: 'states.lowRank cannot be combined with optimizer adamw; remove it, or use galore',
    waysOut: [{ layout: { states: {} } }, { layout: { states: { optimizer: 'galore', lowRank: LOW_RANK } } }],
  },
  {
    rule: 'zerothOrderOnlyRunsForward',
    layout: { pipelineParallelDegree: 2, states: { optimizer: 'mezo-sgd' } },
    message: 'states.optimizer mezo-sgd requires pipelineParallelDegree 1, not 2',
    waysOut: [{ layout: { pipelineParallelDegree: 1 } }],
  },
  {
    rule: 'zerothOrderOnlyRunsForward',
    layout: { states: { optimizer: 'mezo-sgd' }, memory: { recompute: { mode: 'full' } } },
    message: 'states.optimizer mezo-sgd has no backward pass, so memory.recompute full saves no memory; remove it',
    waysOut: [{ without: 'memory' }],
  },
  {
    rule: 'zerothOrderOnlyRunsForward',
    layout: { dataParallelDegree: 8, states: { optimizer: 'mezo-sgd', zeroStage: 2 } },
    message: 'states.optimizer mezo-sgd has no gradients to shard with zeroStage 2; the nearest is 1',
    waysOut: [{ layout: { states: { optimizer: 'mezo-sgd', zeroStage: 1 } } }],
  },
  {
    rule: 'zerothOrderOnlyRunsForward',
    layout: { states: { optimizer: 'mezo-sgd', perturbationDegree: 2 } },
    message: 'states.perturbationDegree 2 does not divide dataParallelDegree 1; the nearest that does is 1',
    waysOut: [{ layout: { states: { optimizer: 'mezo-sgd', perturbationDegree: 1 } } }],
  },
  {
    rule: 'zerothOrderOnlyRunsForward',
    layout: { dataParallelDegree: 2, states: { perturbationDegree: 2 } },
    message: 'states.perturbationDegree 2 is only for optimizer mezo-sgd; remove it',
    waysOut: [{ layout: { states: {} } }, { layout: { states: { optimizer: 'mezo-sgd', perturbationDegree: 2 } } }],
  },
];

const legal: readonly LegalCase[] = [
  ['a stage whose implementation is the engine’s choice', { dataParallelDegree: 8, states: { zeroStage: 2 } }],
  [
    'ZeRO stage 1 of DeepSpeed on a pipeline',
    { dataParallelDegree: 8, pipelineParallelDegree: 4, states: { implementation: 'deepspeed', zeroStage: 1 } },
  ],
  [
    'fsdp2 with a pipeline on TorchTitan',
    { dataParallelDegree: 8, pipelineParallelDegree: 2, states: { implementation: 'fsdp2', zeroStage: 3 } },
    { engine: 'torchtitan' },
  ],
  [
    'both perturbed passes side by side',
    { dataParallelDegree: 2, states: { optimizer: 'mezo-sgd', perturbationDegree: 2 } },
  ],
];

describe('rules of sharded states and optimizers', () => {
  showRules({ rules: stateRules, broken, legal });
});
