import { readLayout } from './index.ts';
import { type MemoryPolicy, RECOMPUTED_MODULES } from './memory-policy.ts';

type Taken = readonly [sentence: string, memory: MemoryPolicy];

const taken: readonly Taken[] = [
  ...(['none', 'selective', 'full', 'budget'] as const).map((mode): Taken => [
    `recomputing by mode ${mode}`,
    { recompute: { mode } },
  ]),
  ...RECOMPUTED_MODULES.map((module): Taken => [
    `recomputing ${module}`,
    { recompute: { mode: 'selective', modules: [module] } },
  ]),
  ...(['optimizer', 'parameters', 'activations', 'layers'] as const).map((what): Taken => [
    `${what} outside the GPU`,
    { offload: [{ what }] },
  ]),
  ['every module at once', { recompute: { mode: 'selective', modules: [...RECOMPUTED_MODULES] } }],
  ['1,024 layers per unit', { recompute: { mode: 'full', method: 'uniform', layers: 1024 } }],
  ['one layer per chunk', { recompute: { mode: 'full', method: 'block', layers: 1 } }],
  ['a budget that keeps nothing', { recompute: { mode: 'budget', budget: 0 } }],
  ['a budget that keeps all', { recompute: { mode: 'budget', budget: 1 } }],
  ['half of the optimizer on disk', { offload: [{ what: 'optimizer', to: 'nvme', fraction: 0.5 }] }],
  ['activations of one module', { offload: [{ what: 'activations', to: 'cpu', modules: ['mlp'], overlap: true }] }],
  [
    'subgroups as large as 2^32',
    { offload: [{ what: 'optimizer', subgroupElements: 4_294_967_296, gpuStride: 1024 }] },
  ],
  ['a window of layers', { offload: [{ what: 'layers', windowLayers: 4, refillLayers: 1 }] }],
  ['no host memory', { hostMemoryGibPerGpu: 0 }],
  ['eight buffers that layers take in turns', { roundingBuffers: 8 }],
];

const offload = (rule: object): object => ({ offload: [{ what: 'optimizer', ...rule }] });
const recompute = (rule: object): object => ({ recompute: { mode: 'full', ...rule } });

const refused: readonly (readonly [memory: unknown, want: string])[] = [
  [{ recompute: {} }, 'memory.recompute.mode: the value is not one of none, selective, full, budget'],
  [
    recompute({ modules: ['attention'] }),
    'memory.recompute.modules.0: "attention" is not one of core_attn, layernorm, mlp, mla_up_proj, moe, moe_act, shared_experts, mamba',
  ],
  [
    recompute({ modules: Array.from({ length: 9 }, () => 'mlp') }),
    'memory.recompute.modules: is ["mlp","mlp","mlp","mlp","mlp","mlp","mlp","mlp","mlp"]; it must have at most 8 items',
  ],
  [
    recompute({ method: 'blocks' }),
    'memory.recompute.method: "blocks" is not one of uniform, block; did you mean block?',
  ],
  [recompute({ layers: 0 }), 'memory.recompute.layers: is 0; it must be at least 1'],
  [recompute({ layers: 1025 }), 'memory.recompute.layers: is 1025; it must be at most 1024'],
  [recompute({ budget: -0.5 }), 'memory.recompute.budget: is -0.5; it must be at least 0'],
  [recompute({ budget: 1.5 }), 'memory.recompute.budget: is 1.5; it must be at most 1'],
  [{ offload: [{}] }, 'memory.offload.0.what: the value is not one of optimizer, parameters, activations, layers'],
  [
    { offload: Array.from({ length: 9 }, () => ({ what: 'layers' })) },
    'memory.offload: is [{"what":"layers"},{"what":"layers"},{"what":"layers"},{"wha…; it must have at most 8 items',
  ],
  [offload({ to: 'disk' }), 'memory.offload.0.to: "disk" is not one of cpu, nvme'],
  [offload({ fraction: 1.1 }), 'memory.offload.0.fraction: is 1.1; it must be at most 1'],
  [offload({ fraction: -0.1 }), 'memory.offload.0.fraction: is -0.1; it must be at least 0'],
  [offload({ modules: [''] }), 'memory.offload.0.modules.0: is ""; it must not be empty'],
  [offload({ overlap: 'yes' }), 'memory.offload.0.overlap: is "yes"; it must be true or false, not a string'],
  [offload({ subgroupElements: 0 }), 'memory.offload.0.subgroupElements: is 0; it must be at least 1'],
  [
    offload({ subgroupElements: 4_294_967_297 }),
    'memory.offload.0.subgroupElements: is 4294967297; it must be at most 4294967296',
  ],
  [offload({ gpuStride: 0 }), 'memory.offload.0.gpuStride: is 0; it must be at least 1'],
  [offload({ gpuStride: 1025 }), 'memory.offload.0.gpuStride: is 1025; it must be at most 1024'],
  [offload({ windowLayers: 0 }), 'memory.offload.0.windowLayers: is 0; it must be at least 1'],
  [offload({ refillLayers: 1025 }), 'memory.offload.0.refillLayers: is 1025; it must be at most 1024'],
  [offload({ fracton: 0.5 }), 'memory.offload.0: unknown key fracton; did you mean fraction?'],
  [{ hostMemoryGibPerGpu: -1 }, 'memory.hostMemoryGibPerGpu: is -1; it must be at least 0'],
  [{ hostMemoryGibPerGpu: 16_385 }, 'memory.hostMemoryGibPerGpu: is 16385; it must be at most 16384'],
  [{ roundingBuffers: 0 }, 'memory.roundingBuffers: is 0; it must be at least 1'],
  [{ roundingBuffers: 9 }, 'memory.roundingBuffers: is 9; it must be at most 8'],
];

describe('what saves GPU memory', () => {
  it.each(taken)('may be %s', (_sentence, memory) => {
    expect(readLayout({ memory })).toMatchObject({ kind: 'layout', document: { layout: { memory } } });
  });

  it.each(refused)('is not %j', (memory, want) => {
    const read = readLayout({ memory });
    const messages = read.kind === 'wrong' ? read.problems.map(({ path, message }) => `${path}: ${message}`) : [];
    expect(messages).toEqual([want]);
  });
});
