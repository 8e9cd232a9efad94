/** LoRA by the arguments of TRL's ModelConfig (trl/trainer/model_config.py), which its scripts and many others read. */
import type { EffectiveSpec } from '@coxswain/api-types';
import { resolveLoraAlpha, resolveLoraTargets } from '@coxswain/layout';
import { modelOfJob } from '../../model-of-job.ts';
import type { Check } from '../check.ts';

/** The arguments; empty if all weights are trained. Before others, because a list ends at the next option. */
export function loraArguments({ training, model }: EffectiveSpec): readonly string[] {
  const lora = training?.lora;
  if (lora === undefined) return [];
  const gatedMlp = model === undefined ? true : modelOfJob(model)?.model.gatedMlp;
  return [
    '--use_peft=true',
    `--lora_r=${lora.rank}`,
    `--lora_alpha=${resolveLoraAlpha(lora)}`,
    `--lora_dropout=${lora.dropout ?? 0}`,
    '--lora_target_modules',
    ...(lora.targets === undefined ? ['all-linear'] : resolveLoraTargets(lora, gatedMlp)),
  ];
}

const OPTION = /^(?:--)?(use_peft|lora_[a-z_]+)(?:=|$)/;

/** The field that sets an argument of LoRA; undefined if the job leaves LoRA to the script. */
export function ownerOfLora(name: string, { training }: Pick<EffectiveSpec, 'training'>): string | undefined {
  return training?.lora !== undefined && OPTION.test(name) ? 'training.lora' : undefined;
}

/** LoRA is stated in the job or in arguments, not in both. */
export const statedTwice: Check = (spec) => {
  const words = [...(spec.engine.command ?? []), ...(spec.engine.args ?? [])];
  const second = words.find((word) => word.startsWith('--') && ownerOfLora(word, spec) !== undefined);
  if (second === undefined) return undefined;
  return {
    rule: 'lora-is-stated-once',
    field: 'training.lora',
    why: `the arguments of the script have ${second}, and training.lora sets the same`,
    fallback: `remove ${second} from the arguments; training.lora is priced and rendered`,
  };
};
