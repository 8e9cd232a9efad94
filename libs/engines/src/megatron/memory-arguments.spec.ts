import type { ParallelLayout } from '@coxswain/layout';
import { all, type Change, changesOf, over, release } from './testing/index.ts';
const states = (values: NonNullable<ParallelLayout['states']>): Change => over('states', values);
const sharded = states({ zeroStage: 1, implementation: 'distributed-optimizer' });
const recompute = (values: NonNullable<NonNullable<ParallelLayout['memory']>['recompute']>): Change =>
  over('memory', { recompute: values });
type Offload = NonNullable<NonNullable<ParallelLayout['memory']>['offload']>[number];
const offload = (rule: Offload): Change => over('memory', { offload: [rule], hostMemoryGibPerGpu: 64 });

it.each<[string, Change, readonly string[]]>([
  ['what it chooses itself', recompute({ mode: 'selective' }), ['--recompute-granularity selective']],
  [
    'modules',
    recompute({ mode: 'selective', modules: ['core_attn', 'mlp'] }),
    ['--recompute-granularity selective', '--recompute-modules core_attn mlp'],
  ],
  [
    'whole layers, one by one',
    recompute({ mode: 'full' }),
    ['--recompute-granularity full', '--recompute-method uniform', '--recompute-num-layers 1'],
  ],
  [
    'blocks of layers',
    recompute({ mode: 'full', method: 'block', layers: 3 }),
    ['--recompute-granularity full', '--recompute-method block', '--recompute-num-layers 3'],
  ],
  [
    'groups of equal length',
    recompute({ mode: 'full', method: 'uniform', layers: 2 }),
    ['--recompute-granularity full', '--recompute-method uniform', '--recompute-num-layers 2'],
  ],
])('recomputation becomes options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'a budget',
    recompute({ mode: 'budget', budget: 0.5 }),
    [
      'no-recompute-budget',
      'layout.memory.recompute.mode',
      'Megatron-LM recomputes modules or layers, and has no budget for it',
      'use selective, with the modules to recompute',
    ],
  ],
  [
    'modules of whole layers',
    recompute({ mode: 'full', modules: ['mlp'] }),
    [
      'recompute-words-fit-mode',
      'layout.memory.recompute.modules',
      'memory.recompute.modules does not belong to mode full',
      'leave it out, or use selective',
    ],
  ],
  [
    'layers of modules',
    recompute({ mode: 'selective', layers: 2 }),
    [
      'recompute-words-fit-mode',
      'layout.memory.recompute.layers',
      'memory.recompute.layers does not belong to mode selective',
      'leave it out, or use full',
    ],
  ],
  [
    'a method of modules',
    recompute({ mode: 'selective', method: 'block' }),
    [
      'recompute-words-fit-mode',
      'layout.memory.recompute.method',
      'memory.recompute.method does not belong to mode selective',
      'leave it out, or use full',
    ],
  ],
  [
    'layers of nothing',
    recompute({ mode: 'none', layers: 1 }),
    [
      'recompute-words-fit-mode',
      'layout.memory.recompute.layers',
      'memory.recompute.layers does not belong to mode none',
      'leave it out, or use full',
    ],
  ],
  [
    'modules of state-space layers',
    recompute({ mode: 'selective', modules: ['mamba'] }),
    ['modules-of-recompute', 'layout.memory.recompute.modules', 'Megatron-LM does not recompute mamba', 'leave it out'],
  ],
])('recomputation that Megatron-LM lacks is refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'states of the optimizer',
    all(sharded, states({ precisionAwareOptimizer: true }), offload({ what: 'optimizer' })),
    [
      '--use-distributed-optimizer',
      '--use-precision-aware-optimizer',
      '--optimizer-cpu-offload',
      '--optimizer-offload-fraction 1',
      '64 GiB of host memory',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'a part of them, beside computation',
    all(
      sharded,
      states({ precisionAwareOptimizer: true }),
      offload({ what: 'optimizer', fraction: 0.25, overlap: true }),
    ),
    [
      '--use-distributed-optimizer',
      '--use-precision-aware-optimizer',
      '--optimizer-cpu-offload',
      '--optimizer-offload-fraction 0.25',
      '--overlap-cpu-optimizer-d2h-h2d',
      '64 GiB of host memory',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'inputs of attention, where no module is named',
    offload({ what: 'activations' }),
    [
      '--fine-grained-activation-offloading',
      '--offload-modules core_attn',
      'NVTE_CPU_OFFLOAD_V1=1',
      'note: activations of core_attn are offloaded: no modules are named',
      '64 GiB of host memory',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'inputs of modules',
    offload({ what: 'activations', modules: ['attn_norm', 'expert_fc1'] }),
    [
      '--fine-grained-activation-offloading',
      '--offload-modules attn_norm expert_fc1',
      'NVTE_CPU_OFFLOAD_V1=1',
      '64 GiB of host memory',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'all of them, which is no fraction',
    offload({ what: 'activations', modules: ['core_attn'], fraction: 1 }),
    [
      '--fine-grained-activation-offloading',
      '--offload-modules core_attn',
      'NVTE_CPU_OFFLOAD_V1=1',
      '64 GiB of host memory',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'a fraction',
    offload({ what: 'activations', modules: ['core_attn'], fraction: 0.5 }),
    [
      '--fine-grained-activation-offloading',
      '--offload-modules core_attn',
      '--activation-offload-fraction 0.5',
      'NVTE_CPU_OFFLOAD_V1=1',
      '64 GiB of host memory',
      'without 0 GiB of host memory',
    ],
  ],
  [
    'overlap, which there always is',
    offload({ what: 'activations', modules: ['core_attn'], overlap: true }),
    [
      '--fine-grained-activation-offloading',
      '--offload-modules core_attn',
      'NVTE_CPU_OFFLOAD_V1=1',
      'note: offloaded activations always travel beside computation',
      '64 GiB of host memory',
      'without 0 GiB of host memory',
    ],
  ],
])('what waits in host memory becomes options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'parameters',
    offload({ what: 'parameters' }),
    [
      'offload-what',
      'layout.memory.offload.what',
      'Megatron-LM offloads optimizer states and activations, not parameters',
      'use activations, or engine deepspeed',
    ],
  ],
  [
    'states on a disk',
    offload({ what: 'optimizer', to: 'nvme' }),
    ['offload-to-host-memory', 'layout.memory.offload.to', 'Megatron-LM offloads to host memory alone', 'use cpu'],
  ],
  [
    'elements of a group',
    offload({ what: 'optimizer', subgroupElements: 1000 }),
    ['offload-words', 'layout.memory.offload.subgroupElements', 'Megatron-LM has no subgroupElements', 'leave it out'],
  ],
  [
    'layers of a window',
    offload({ what: 'activations', windowLayers: 2 }),
    ['offload-words', 'layout.memory.offload.windowLayers', 'Megatron-LM has no windowLayers', 'leave it out'],
  ],
  [
    'modules of an optimizer',
    all(sharded, states({ precisionAwareOptimizer: true }), offload({ what: 'optimizer', modules: ['core_attn'] })),
    ['offload-words', 'layout.memory.offload.modules', 'modules are those of activations', 'leave them out'],
  ],
  [
    'a module that is none',
    offload({ what: 'activations', modules: ['router'] }),
    [
      'offloaded-modules',
      'layout.memory.offload.modules',
      'Megatron-LM cannot offload the activations of router',
      'choose among attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm, expert_fc1, moe_act',
    ],
  ],
  [
    'the projection without its attention',
    offload({ what: 'activations', modules: ['attn_proj'] }),
    [
      'offloaded-modules',
      'layout.memory.offload.modules',
      'attn_proj reads what core_attn leaves, and is offloaded together with it',
      'add core_attn',
    ],
  ],
  [
    'a fraction of activations before it came',
    all(release('core_v0.16.1'), offload({ what: 'activations', modules: ['core_attn'], fraction: 0.5 })),
    [
      'release-has-option',
      'layout.memory.offload.fraction',
      'Megatron-LM core_v0.16.1 has no --activation-offload-fraction',
      'set engine.release to core_v0.19.0, or leave layout.memory.offload.fraction out',
    ],
  ],
])('what cannot wait in host memory is refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});
