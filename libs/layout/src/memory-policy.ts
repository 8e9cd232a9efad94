import { z } from 'zod';

/** Modules that selective recomputation can name, as in Megatron-LM. */
export const RECOMPUTED_MODULES = [
  'core_attn',
  'layernorm',
  'mlp',
  'mla_up_proj',
  'moe',
  'moe_act',
  'shared_experts',
  'mamba',
] as const;

const share = z.number().min(0).max(1);

/** What is kept outside GPU memory between its uses. Host memory for it is requested by the pod. */
export const OffloadRule = z
  .strictObject({
    what: z
      .enum(['optimizer', 'parameters', 'activations', 'layers'])
      .describe('What is offloaded. optimizer: its states. layers: all but a window of layers.'),
    to: z.enum(['cpu', 'nvme']).optional().describe('Absent: cpu.'),
    fraction: share.optional().describe('Share that is offloaded. Absent: 1.'),
    modules: z
      .array(z.string().min(1).max(64))
      .max(16)
      .optional()
      .describe('Of activations: only those of these modules.'),
    overlap: z.boolean().optional().describe('Transfers overlap computation.'),
    subgroupElements: z
      .int()
      .min(1)
      .max(4_294_967_296)
      .optional()
      .describe('Parameters per subgroup of optimizer states (DeepSpeed sub_group_size).'),
    gpuStride: z
      .int()
      .min(1)
      .max(1024)
      .optional()
      .describe('One of this many subgroups is updated on the GPU, the others on the CPU (Deep Optimizer States).'),
    windowLayers: z.int().min(1).max(1024).optional().describe('Of layers: how many stay on the GPU.'),
    refillLayers: z.int().min(1).max(1024).optional().describe('Of layers: how many are fetched at a time.'),
  })
  .meta({ id: 'OffloadRule', description: 'What is kept in host memory or on disk between its uses.' });
export type OffloadRule = z.infer<typeof OffloadRule>;

/** What is recomputed in the backward pass, and what is offloaded, to save GPU memory. */
export const MemoryPolicy = z
  .strictObject({
    recompute: z
      .strictObject({
        mode: z
          .enum(['none', 'selective', 'full', 'budget'])
          .describe(
            'none: all activations are kept. selective: those of some modules are recomputed. full: those of whole layers. budget: as many as the budget requires.',
          ),
        modules: z.array(z.enum(RECOMPUTED_MODULES)).max(8).optional().describe('Of selective. Absent: core_attn.'),
        method: z.enum(['uniform', 'block']).optional().describe('Of full.'),
        layers: z
          .int()
          .min(1)
          .max(1024)
          .optional()
          .describe('Of full: layers per unit (uniform) or per chunk (block).'),
        budget: share.optional().describe('Of budget: share of activations that may be kept.'),
      })
      .optional()
      .describe('Activations that are recomputed in the backward pass. Absent: the default of the engine.'),
    offload: z
      .array(OffloadRule)
      .max(8)
      .optional()
      .describe('What is kept outside GPU memory between its uses. Absent: nothing.'),
    hostMemoryGibPerGpu: z.number().min(0).max(16_384).optional().describe('Host memory that offloading may use.'),
    roundingBuffers: z.int().min(1).max(8).optional().describe('Activation buffers that layers use in turn (MEMO).'),
  })
  .meta({ id: 'MemoryPolicy', description: 'What is recomputed or offloaded to save GPU memory.' });
export type MemoryPolicy = z.infer<typeof MemoryPolicy>;
