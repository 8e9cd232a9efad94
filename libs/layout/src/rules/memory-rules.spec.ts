import { type LegalCase, type RuleCase, showRules } from '../testing/rule-cases.ts';
import { memoryRules } from './memory-rules.ts';

const broken: readonly RuleCase[] = [
  {
    rule: 'layersOffloadAlone',
    layout: {
      memory: {
        offload: [{ what: 'layers', windowLayers: 4 }],
        recompute: { mode: 'full' },
        hostMemoryGibPerGpu: 100,
      },
    },
    message:
      'memory.offload of layers cannot be combined with memory.recompute full; use selective, or offload activations instead',
    waysOut: [
      {
        layout: {
          memory: {
            offload: [{ what: 'layers', windowLayers: 4 }],
            recompute: { mode: 'selective' },
            hostMemoryGibPerGpu: 100,
          },
        },
      },
      {
        layout: {
          memory: { offload: [{ what: 'activations' }], recompute: { mode: 'full' }, hostMemoryGibPerGpu: 100 },
        },
      },
    ],
  },
  {
    rule: 'layersOffloadAlone',
    layout: { pipelineParallelDegree: 2, memory: { offload: [{ what: 'layers' }], hostMemoryGibPerGpu: 100 } },
    message: 'memory.offload of layers requires pipelineParallelDegree 1, not 2',
    waysOut: [{ layout: { pipelineParallelDegree: 1 } }],
  },
  {
    rule: 'optimizerOffloadIsPrecisionAware',
    layout: { memory: { offload: [{ what: 'optimizer' }], hostMemoryGibPerGpu: 100 } },
    facts: { engine: 'megatron-lm' },
    message: 'memory.offload of the optimizer needs states.precisionAwareOptimizer true on megatron-lm',
    waysOut: [{ layout: { states: { precisionAwareOptimizer: true } } }],
  },
  {
    rule: 'hostMemoryHoldsOffload',
    layout: { memory: { offload: [{ what: 'optimizer' }], hostMemoryGibPerGpu: 300 } },
    facts: { gpusPerNode: 8, hostMemoryGibPerNode: 2048 },
    message: 'memory.hostMemoryGibPerGpu 300 times 8 GPUs is 2400 GiB, but a node has 2048 GiB; the most is 256',
    waysOut: [{ layout: { memory: { offload: [{ what: 'optimizer' }], hostMemoryGibPerGpu: 256 } } }],
  },
  {
    rule: 'hostMemoryHoldsOffload',
    layout: { memory: { offload: [{ what: 'optimizer' }] } },
    message: 'memory.offload needs memory.hostMemoryGibPerGpu: it becomes the memory request of the pod',
    waysOut: [{ layout: { memory: { offload: [{ what: 'optimizer' }], hostMemoryGibPerGpu: 100 } } }],
  },
];

const legal: readonly LegalCase[] = [
  ['optimizer states on disk, without host memory', { memory: { offload: [{ what: 'optimizer', to: 'nvme' }] } }],
  ['a rule that offloads nothing', { memory: { offload: [{ what: 'optimizer', fraction: 0 }] } }, { engine: 'verl' }],
  [
    'an offloaded optimizer on another engine',
    { memory: { offload: [{ what: 'optimizer' }], hostMemoryGibPerGpu: 100 } },
    { engine: 'deepspeed' },
  ],
  [
    'all of a node’s host memory',
    { memory: { offload: [{ what: 'parameters' }], hostMemoryGibPerGpu: 256 } },
    { gpusPerNode: 8, hostMemoryGibPerNode: 2048 },
  ],
];

describe('rules of recomputation and offload', () => {
  showRules({ rules: memoryRules, broken, legal });
});
