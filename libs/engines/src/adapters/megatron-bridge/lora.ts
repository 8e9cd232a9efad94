/** LoRA of Megatron-Bridge (megatron/bridge/peft/lora.py), whose layers hold several matrices in one. */
import type { EffectiveSpec } from '@coxswain/api-types';
import { type LoraTarget, resolveLoraAlpha, resolveLoraTargets } from '@coxswain/layout';
import type { EngineRefusal } from '../../engine-refusal.ts';
import type { MegatronJob } from '../../megatron/rendered-field.ts';
import type { Json } from '../check.ts';

const MODULES: readonly (readonly [module: string, holds: readonly LoraTarget[]])[] = [
  ['linear_qkv', ['q_proj', 'k_proj', 'v_proj']],
  ['linear_proj', ['o_proj']],
  ['linear_fc1', ['gate_proj', 'up_proj']],
  ['linear_fc2', ['down_proj']],
];

/** The arguments of its class LoRA; undefined if all weights are trained. */
export function bridgeLora({ spec, shape }: MegatronJob): Readonly<Record<string, Json>> | undefined {
  const lora = spec.training?.lora;
  if (lora === undefined) return undefined;
  const targets = resolveLoraTargets(lora, shape?.gatedMlp);
  return {
    dim: lora.rank,
    alpha: resolveLoraAlpha(lora),
    dropout: lora.dropout ?? 0,
    target_modules: MODULES.filter(([, holds]) => holds.some((one) => targets.includes(one))).map(([name]) => name),
  };
}

/** Why Megatron-Bridge cannot train the adapters of a job; undefined if it can, or if the job has none. */
export function loraRefusal({ spec, shape }: MegatronJob): EngineRefusal | undefined {
  const lora = spec.training?.lora;
  if (lora === undefined) return undefined;
  return noWeights(spec) ?? partOfModule(resolveLoraTargets(lora, shape?.gatedMlp), shape?.gatedMlp);
}

/** training/config.py, ConfigContainer.validate: PEFT requires checkpoint.pretrained_checkpoint. */
function noWeights({ initialWeights }: EffectiveSpec): EngineRefusal | undefined {
  if (initialWeights !== undefined) return undefined;
  return {
    rule: 'adapters-need-weights',
    field: 'initialWeights',
    why: 'training.lora trains adapters of existing weights, and the job has none',
    fallback: 'set initialWeights to the weights to adapt, or remove training.lora',
  };
}

function partOfModule(targets: readonly LoraTarget[], gatedMlp = true): EngineRefusal | undefined {
  for (const [module, holds] of MODULES) {
    const inModel = holds.filter((one) => gatedMlp || one !== 'gate_proj');
    const wanted = inModel.filter((one) => targets.includes(one));
    if (wanted.length === 0 || wanted.length === inModel.length) continue;
    return {
      rule: 'adapters-of-whole-modules',
      field: 'training.lora.targets',
      why: `Megatron-Bridge has ${inModel.join(', ')} in one layer, ${module}, and the job adapts ${wanted.join(', ')} alone`,
      fallback: `name ${inModel.join(', ')} together, or use engine hugging-face`,
    };
  }
  return undefined;
}
