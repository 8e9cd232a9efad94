import { z } from 'zod';
import type { ModelShape } from './model-shape.ts';

/** Linear layers that can have an adapter, by the names of Hugging Face's Llama. */
const LORA_TARGETS = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const;
/** One of {@link LORA_TARGETS}. */
export type LoraTarget = (typeof LORA_TARGETS)[number];

/** Low-rank adapters, which are trained instead of the weights. */
export const LoraSpec = z
  .strictObject({
    rank: z.int().min(1).max(4096).describe('Inner width of each adapter.'),
    alpha: z
      .number()
      .positive()
      .max(65_536)
      .optional()
      .describe('Outputs of adapters are scaled by alpha / rank. Absent: twice the rank.'),
    dropout: z.number().min(0).lt(1).optional().describe('Dropout before each adapter. Absent: 0.'),
    targets: z
      .array(z.enum(LORA_TARGETS))
      .min(1)
      .max(LORA_TARGETS.length)
      .optional()
      .describe('Linear layers with an adapter. Absent: all of attention and MLP.'),
  })
  .meta({ id: 'LoraSpec', description: 'Low-rank adapters (LoRA): weights are frozen, adapters are trained.' });
export type LoraSpec = z.infer<typeof LoraSpec>;

/** The scale of a LoRA: that of the job, else twice the rank. Adapters render it explicitly, because the defaults of engines differ. */
export function resolveLoraAlpha({ rank, alpha }: Pick<LoraSpec, 'rank' | 'alpha'>): number {
  return alpha ?? 2 * rank;
}

/** The layers of a LoRA that the model has: those of the job, else all. */
export function resolveLoraTargets({ targets }: Pick<LoraSpec, 'targets'>, gatedMlp = true): readonly LoraTarget[] {
  const wanted: readonly LoraTarget[] = targets ?? LORA_TARGETS;
  return LORA_TARGETS.filter((target) => wanted.includes(target) && (gatedMlp || target !== 'gate_proj'));
}

type Sizes = Pick<
  ModelShape,
  'hiddenSize' | 'attentionHeads' | 'keyValueHeads' | 'headDim' | 'ffnHiddenSize' | 'gatedMlp' | 'experts'
>;

/** Parameters of the adapters of one layer with attention and either an MLP or experts. Each routed expert has its own. */
export function adapterParametersOfLayer(lora: LoraSpec, model: Sizes, isOfExperts: boolean): number {
  const { experts } = model;
  const attention = model.attentionHeads * model.headDim;
  const keyValue = model.keyValueHeads * model.headDim;
  const inner = isOfExperts
    ? (experts?.count ?? 0) * (model.hiddenSize + (experts?.ffnHiddenSize ?? 0)) + sharedWidth(model)
    : model.hiddenSize + model.ffnHiddenSize;
  const widths: Readonly<Record<LoraTarget, number>> = {
    q_proj: model.hiddenSize + attention,
    k_proj: model.hiddenSize + keyValue,
    v_proj: model.hiddenSize + keyValue,
    o_proj: attention + model.hiddenSize,
    gate_proj: inner,
    up_proj: inner,
    down_proj: inner,
  };
  const targets = resolveLoraTargets(lora, model.gatedMlp);
  return lora.rank * targets.reduce((sum, target) => sum + widths[target], 0);
}

function sharedWidth({ experts, hiddenSize }: Sizes): number {
  const shared = experts?.sharedFfnHiddenSize ?? 0;
  return shared === 0 ? 0 : hiddenSize + shared;
}
