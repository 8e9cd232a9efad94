/** Renders recomputation and offloading for Megatron-LM. */
import { resolveOffloadedShare } from '@coxswain/layout';
import {
  type MegatronJob,
  flag,
  kept,
  note,
  refuse,
  switchOf,
  type RenderedField,
  variable,
} from './rendered-field.ts';

type Memory = NonNullable<MegatronJob['layout']['memory']>;
type Offload = NonNullable<Memory['offload']>[number];

/** Arguments for the fields of `layout.memory`. */
export function memoryArguments(job: MegatronJob): readonly RenderedField[] {
  const { memory } = job.layout;
  if (memory === undefined) return [];
  return [
    ...recomputeArguments(memory.recompute),
    ...(memory.offload ?? []).flatMap((rule) => offloadArguments(rule, job)),
    ...kept('layout.memory.hostMemoryGibPerGpu'),
  ];
}

/** Method and number of layers belong to full recomputation, which needs them both (transformer_config.py). */
function recomputeArguments(recompute: Memory['recompute']): readonly RenderedField[] {
  if (recompute === undefined) return [];
  const field = 'layout.memory.recompute';
  const { mode, modules, method, layers, budget } = recompute;
  if (mode === 'budget' || budget !== undefined)
    return refuse(
      'no-recompute-budget',
      `${field}.mode`,
      'Megatron-LM recomputes modules or layers, and has no budget for it',
      'use selective, with the modules to recompute',
    );
  const isFull = mode === 'full';
  const stray = isFull ? modules && 'modules' : method === undefined ? layers && 'layers' : 'method';
  if (typeof stray === 'string')
    return refuse(
      'recompute-words-fit-mode',
      `${field}.${stray}`,
      `memory.recompute.${stray} does not belong to mode ${mode}`,
      isFull ? 'leave it out, or use selective' : 'leave it out, or use full',
    );
  if (mode === 'none') return kept(`${field}.mode`, `${field}.modules`);
  if (mode === 'selective')
    return [
      ...flag(`${field}.mode`, '--recompute-granularity', 'selective'),
      ...(modules === undefined || modules.length === 0
        ? []
        : modules.includes('mamba')
          ? refuse('modules-of-recompute', `${field}.modules`, 'Megatron-LM does not recompute mamba', 'leave it out')
          : flag(`${field}.modules`, '--recompute-modules', ...modules)),
    ];
  return [
    ...flag(`${field}.mode`, '--recompute-granularity', 'full'),
    ...flag(`${field}.method`, '--recompute-method', method ?? 'uniform'),
    ...flag(`${field}.layers`, '--recompute-num-layers', layers ?? 1),
  ];
}

function offloadArguments(rule: Offload, { layout }: MegatronJob): readonly RenderedField[] {
  const field = 'layout.memory.offload';
  if (rule.to === 'nvme')
    return refuse('offload-to-host-memory', `${field}.to`, 'Megatron-LM offloads to host memory alone', 'use cpu');
  const unsupported = (['subgroupElements', 'gpuStride', 'windowLayers', 'refillLayers'] as const).find(
    (word) => rule[word] !== undefined,
  );
  if (unsupported !== undefined)
    return refuse('offload-words', `${field}.${unsupported}`, `Megatron-LM has no ${unsupported}`, 'leave it out');
  if (rule.what === 'optimizer') return optimizerArguments(rule, resolveOffloadedShare(layout, rule.what));
  if (rule.what === 'activations') return activationArguments(rule);
  return refuse(
    'offload-what',
    `${field}.what`,
    `Megatron-LM offloads optimizer states and activations, not ${rule.what}`,
    'use activations, or engine deepspeed',
  );
}

/** The hybrid device optimizer is a path of the precision-aware one, which a rule of layouts asks for. */
function optimizerArguments({ fraction, overlap, modules }: Offload, share: number): readonly RenderedField[] {
  const field = 'layout.memory.offload';
  if (modules !== undefined)
    return refuse('offload-words', `${field}.modules`, 'modules are those of activations', 'leave them out');
  return [
    ...flag(`${field}.what`, '--optimizer-cpu-offload'),
    ...kept(`${field}.to`),
    // Defaults differ: 1 in Megatron-LM's parser, 0 in the configuration of Megatron-Bridge.
    ...flag(`${field}.${fraction === undefined ? 'what' : 'fraction'}`, '--optimizer-offload-fraction', share),
    ...switchOf(`${field}.overlap`, '--overlap-cpu-optimizer-d2h-h2d', overlap),
  ];
}

/** Modules whose inputs can wait in host memory (transformer_config.py, offload_modules). */
const OFFLOADED_MODULES = ['attn_norm', 'qkv_linear', 'core_attn', 'attn_proj', 'mlp_norm', 'expert_fc1', 'moe_act'];

function activationArguments({ modules = [], fraction, overlap }: Offload): readonly RenderedField[] {
  const field = 'layout.memory.offload';
  const named = modules.length === 0 ? ['core_attn'] : modules;
  const unknown = named.find((name) => !OFFLOADED_MODULES.includes(name));
  if (unknown !== undefined)
    return refuse(
      'offloaded-modules',
      `${field}.modules`,
      `Megatron-LM cannot offload the activations of ${unknown}`,
      `choose among ${OFFLOADED_MODULES.join(', ')}`,
    );
  if (named.includes('attn_proj') && !named.includes('core_attn'))
    return refuse(
      'offloaded-modules',
      `${field}.modules`,
      'attn_proj reads what core_attn leaves, and is offloaded together with it',
      'add core_attn',
    );
  return [
    ...flag(`${field}.what`, '--fine-grained-activation-offloading'),
    ...flag(modules.length === 0 ? `${field}.what` : `${field}.modules`, '--offload-modules', ...named),
    ...(modules.length === 0
      ? note(`${field}.what`, 'activations of core_attn are offloaded: no modules are named')
      : []),
    ...kept(`${field}.to`),
    ...(fraction === undefined || fraction === 1
      ? kept(`${field}.fraction`)
      : flag(`${field}.fraction`, '--activation-offload-fraction', fraction)),
    ...(overlap === undefined
      ? []
      : note(`${field}.overlap`, 'offloaded activations always travel beside computation')),
    // Without it Transformer Engine 2.10 and later offload weights too, and validate_args ends.
    ...variable(`${field}.what`, 'NVTE_CPU_OFFLOAD_V1', '1'),
  ];
}
