/** How Hugging Face, TorchTitan and Megatron-LM name the tensors of a model and lay them out. One table each; every new model or release is a line there. */
import type { ARRANGEMENTS } from './arrangements.ts';
import type { ModelConfig, ModelFamily } from './model-config.ts';
import type { Role } from './model-tensors.ts';

/** How some tensors are spelled. */
export interface NameRule {
  /** `{layer}` and `{expert}` stand for numbers. */
  readonly name: string;
  /** What the tensor holds of a layer or expert, in its order. */
  readonly roles: readonly Role[];
  readonly arrange?: keyof typeof ARRANGEMENTS;
  /** Leading dims that count layers or experts, which the name does not have then. */
  readonly stacked?: readonly ('layer' | 'expert')[];
  /** The first dim may have rows beyond the words of the model, which are padding. */
  readonly isPadded?: boolean;
  /** Only read: releases before wrote it. */
  readonly isFormer?: boolean;
}

/** A way to spell models. */
export interface Spelling {
  readonly title: string;
  readonly families: readonly ModelFamily[];
  /** Stores the output layer also where it is the embedding. */
  readonly storesTiedHead: boolean;
  readonly rulesFor: (model: ModelConfig) => readonly NameRule[];
}

const one = (name: string, role: Role, more: Omit<NameRule, 'name' | 'roles'> = {}): NameRule => ({
  name,
  roles: [role],
  ...more,
});

const HUGGING_FACE: Spelling = {
  title: 'Hugging Face',
  families: ['llama', 'mistral', 'qwen2', 'qwen3', 'mixtral', 'qwen3_moe'],
  storesTiedHead: false,
  rulesFor: ({ family }) => {
    const layer = 'model.layers.{layer}.';
    const sparse = family === 'mixtral' ? `${layer}block_sparse_moe.` : `${layer}mlp.`;
    const names = family === 'mixtral' ? ['w1', 'w3', 'w2'] : ['gate_proj', 'up_proj', 'down_proj'];
    const expert = (role: Role, index: number): NameRule =>
      one(`${sparse}experts.{expert}.${names[index] ?? ''}.weight`, role);
    return [
      one('model.embed_tokens.weight', 'embedding'),
      one(`${layer}input_layernorm.weight`, 'attentionNorm'),
      one(`${layer}self_attn.q_proj.weight`, 'q'),
      one(`${layer}self_attn.k_proj.weight`, 'k'),
      one(`${layer}self_attn.v_proj.weight`, 'v'),
      one(`${layer}self_attn.q_proj.bias`, 'qBias'),
      one(`${layer}self_attn.k_proj.bias`, 'kBias'),
      one(`${layer}self_attn.v_proj.bias`, 'vBias'),
      one(`${layer}self_attn.q_norm.weight`, 'qNorm'),
      one(`${layer}self_attn.k_norm.weight`, 'kNorm'),
      one(`${layer}self_attn.o_proj.weight`, 'o'),
      one(`${layer}post_attention_layernorm.weight`, 'mlpNorm'),
      one(`${layer}mlp.gate_proj.weight`, 'gate'),
      one(`${layer}mlp.up_proj.weight`, 'up'),
      one(`${layer}mlp.down_proj.weight`, 'down'),
      one(`${sparse}gate.weight`, 'router'),
      expert('expertGate', 0),
      expert('expertUp', 1),
      expert('expertDown', 2),
      one('model.norm.weight', 'finalNorm'),
      one('lm_head.weight', 'head'),
    ];
  },
};

/** torchtitan/models/llama3 and qwen3, state_dict_adapter.py, of 0.3.0. Those of 0.2 had other names for attention, experts and output. */
const TORCHTITAN: Spelling = {
  title: 'TorchTitan',
  families: ['llama', 'qwen3', 'qwen3_moe'],
  storesTiedHead: true,
  rulesFor: ({ family }) => {
    const layer = 'layers.{layer}.';
    // Its Llama pairs neighbouring rows (ComplexRoPE), its Qwen rows half a head apart (CosSinRoPE).
    const rotary = family === 'llama' ? ({ arrange: 'neighbouringPairs' } as const) : {};
    const former = { isFormer: true } as const;
    const experts = { stacked: ['expert'] } as const;
    return [
      one('tok_embeddings.weight', 'embedding'),
      one(`${layer}attention_norm.weight`, 'attentionNorm'),
      one(`${layer}attention.qkv_linear.wq.weight`, 'q', rotary),
      one(`${layer}attention.qkv_linear.wk.weight`, 'k', rotary),
      one(`${layer}attention.qkv_linear.wv.weight`, 'v'),
      one(`${layer}attention.wq.weight`, 'q', { ...rotary, ...former }),
      one(`${layer}attention.wk.weight`, 'k', { ...rotary, ...former }),
      one(`${layer}attention.wv.weight`, 'v', former),
      one(`${layer}attention.q_norm.weight`, 'qNorm'),
      one(`${layer}attention.k_norm.weight`, 'kNorm'),
      one(`${layer}attention.wo.weight`, 'o'),
      one(`${layer}ffn_norm.weight`, 'mlpNorm'),
      one(`${layer}feed_forward.w1.weight`, 'gate'),
      one(`${layer}feed_forward.w3.weight`, 'up'),
      one(`${layer}feed_forward.w2.weight`, 'down'),
      one(`${layer}moe.router.gate.weight`, 'router'),
      one(`${layer}moe.routed_experts.inner_experts.w1_EFD`, 'expertGate', experts),
      one(`${layer}moe.routed_experts.inner_experts.w3_EFD`, 'expertUp', experts),
      one(`${layer}moe.routed_experts.inner_experts.w2_EDF`, 'expertDown', experts),
      one(`${layer}moe.experts.w1`, 'expertGate', { ...experts, ...former }),
      one(`${layer}moe.experts.w3`, 'expertUp', { ...experts, ...former }),
      one(`${layer}moe.experts.w2`, 'expertDown', { ...experts, ...former }),
      one('norm.weight', 'finalNorm'),
      one('lm_head.weight', 'head'),
      one('output.weight', 'head', former),
    ];
  },
};

/** megatron/core: layers that are alike are one tensor with a leading dim of layers. Models of unlike layers have the layer in the name. */
const MEGATRON: Spelling = {
  title: 'Megatron-LM',
  families: ['llama', 'mistral', 'qwen2', 'qwen3', 'mixtral', 'qwen3_moe'],
  storesTiedHead: false,
  rulesFor: ({ experts }) => {
    const fused = (prefix: string, more: Omit<NameRule, 'name' | 'roles'>): readonly NameRule[] => [
      one(`${prefix}self_attention.linear_qkv.layer_norm_weight`, 'attentionNorm', more),
      { name: `${prefix}self_attention.linear_qkv.weight`, roles: ['q', 'k', 'v'], arrange: 'groupedHeads', ...more },
      {
        name: `${prefix}self_attention.linear_qkv.bias`,
        roles: ['qBias', 'kBias', 'vBias'],
        arrange: 'groupedHeads',
        ...more,
      },
      one(`${prefix}self_attention.q_layernorm.weight`, 'qNorm', more),
      one(`${prefix}self_attention.k_layernorm.weight`, 'kNorm', more),
      one(`${prefix}self_attention.linear_proj.weight`, 'o', more),
      ...normRules(prefix, experts, more),
      { name: `${prefix}mlp.linear_fc1.weight`, roles: ['gate', 'up'], arrange: 'stacked', ...more },
      one(`${prefix}mlp.linear_fc2.weight`, 'down', more),
      one(`${prefix}mlp.router.weight`, 'router', more),
      ...expertRules(`${prefix}mlp.experts.experts.`, more),
    ];
    return [
      one('embedding.word_embeddings.weight', 'embedding', { isPadded: true }),
      ...fused('decoder.layers.', { stacked: ['layer'] }),
      ...fused('decoder.layers.{layer}.', { isFormer: true }),
      one('decoder.final_layernorm.weight', 'finalNorm'),
      one('output_layer.weight', 'head', { isPadded: true }),
    ];
  },
};

/** Beside experts the norm has a name of its own, unless the layers are built without Transformer Engine. */
function normRules(prefix: string, experts: number, more: Omit<NameRule, 'name' | 'roles'>): readonly NameRule[] {
  const fused = `${prefix}mlp.linear_fc1.layer_norm_weight`;
  if (experts === 0) return [one(fused, 'mlpNorm', more)];
  return [
    one(`${prefix}pre_mlp_layernorm.weight`, 'mlpNorm', more),
    one(fused, 'mlpNorm', { ...more, isFormer: true }),
  ];
}

function expertRules(prefix: string, { stacked = [], ...more }: Omit<NameRule, 'name' | 'roles'>): readonly NameRule[] {
  const each = { ...more, stacked: [...stacked, 'expert'] } as const;
  return [
    {
      name: `${prefix}linear_fc1.weight`,
      roles: ['expertGate', 'expertUp'],
      arrange: 'stacked',
      ...each,
    },
    one(`${prefix}linear_fc2.weight`, 'expertDown', each),
  ];
}

export const SPELLINGS = { 'hugging-face': HUGGING_FACE, torchtitan: TORCHTITAN, megatron: MEGATRON } as const;
export type SpellingName = keyof typeof SPELLINGS;
