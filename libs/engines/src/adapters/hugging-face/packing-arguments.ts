/**
 * Packing by the arguments of TRL's SFTConfig (trl/trainer/sft_config.py). TRL hands the borders of documents to FlashAttention; other kernels attend across
 * them, so the kernel is chosen too (attn_implementation of ModelConfig).
 */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { Check } from '../check.ts';

const FIELD = 'training.packing';

/** The arguments; empty if samples are not packed. */
export function packingArguments(spec: EffectiveSpec): readonly string[] {
  const { training, model } = spec;
  if (training?.packing === undefined) return [];
  return [
    '--packing=true',
    '--packing_strategy=bfd',
    ...(model === undefined ? [] : [`--max_length=${model.sequenceLength}`]),
    ...(kernelOf(spec) === undefined ? ['--attn_implementation=flash_attention_2'] : []),
  ];
}

const SET_BY_PACKING = /^(?:packing|packing_strategy|max_length|padding_free)$/;

/** The field that sets an option of packing; undefined if the job leaves packing to the script. */
export function ownerOfPacking(name: string, { training }: Pick<EffectiveSpec, 'training'>): string | undefined {
  const isOfPacking = SET_BY_PACKING.test(name) || name === 'attn_implementation';
  return training?.packing !== undefined && isOfPacking ? FIELD : undefined;
}

/** Packing is stated in the job or in arguments, not in both, and runs on FlashAttention. */
export const packingConflict: Check = (spec) => {
  if (spec.training?.packing === undefined) return undefined;
  const second = wordsOf(spec).find((word) => SET_BY_PACKING.test(/^--(\w+)/.exec(word)?.[1] ?? ''));
  if (second !== undefined)
    return {
      rule: 'packing-is-stated-once',
      field: FIELD,
      why: `the arguments of the script have ${second}, and ${FIELD} sets the same`,
      fallback: `remove ${second} from the arguments; ${FIELD} is priced and rendered`,
    };
  const kernel = kernelOf(spec);
  if (kernel === undefined || /flash/.test(kernel)) return undefined;
  return {
    rule: 'packing-needs-flash-attention',
    field: FIELD,
    why: `the arguments of the script choose attention ${kernel}, which attends across documents of a packed sample`,
    fallback: 'choose flash_attention_2, or remove training.packing',
  };
};

/** The kernel of attention that the arguments of the script choose. */
function kernelOf(spec: EffectiveSpec): string | undefined {
  const words = wordsOf(spec);
  const at = words.findIndex((word) => /^--attn_implementation(?:=|$)/.test(word));
  if (at < 0) return undefined;
  return /=([^]*)$/.exec(words[at] ?? '')?.[1] ?? words[at + 1] ?? '';
}

function wordsOf({ engine }: EffectiveSpec): readonly string[] {
  return [...(engine.command ?? []), ...(engine.args ?? [])];
}
