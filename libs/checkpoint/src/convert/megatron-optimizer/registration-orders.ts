/**
 * In which order Megatron-Core registers the parameters of a model. Its distributed optimizer stores them in reverse, one after the other, and names none of them
 * (megatron/core/distributed/param_and_grad_buffer.py). The two orders that follow are those of its own layer specs.
 */

/** The parameters of a layer in the order in which a layer spec registers them, by their names in a save. A model has only some of them. */
export interface RegistrationOrder {
  readonly title: string;
  readonly layer: readonly string[];
}

const both = (module: string): readonly string[] => [`${module}.weight`, `${module}.bias`];
const norm = (module: string): readonly string[] => [`${module}.layer_norm_weight`, `${module}.layer_norm_bias`];
const HEAD_NORMS = [...both('self_attention.q_layernorm'), ...both('self_attention.k_layernorm')];

/** `Attention` makes its projection before `SelfAttention` makes query, key and value (megatron/core/transformer/attention.py). */
export const REGISTRATION_ORDERS: readonly RegistrationOrder[] = [
  {
    title: 'get_gpt_layer_local_spec',
    // Norms are modules of the layer; a save can give them the names of the fused ones.
    layer: [
      ...[...norm('self_attention.linear_qkv'), ...both('input_layernorm')],
      ...[...both('self_attention.linear_proj'), ...both('self_attention.linear_qkv'), ...HEAD_NORMS],
      ...[...norm('mlp.linear_fc1'), ...both('pre_mlp_layernorm')],
      ...[...both('mlp.linear_fc1'), ...both('mlp.linear_fc2')],
    ],
  },
  {
    title: 'get_gpt_layer_with_transformer_engine_spec',
    // Norms are a part of the product behind them, which registers them first (transformer_engine/pytorch/module/layernorm_linear.py).
    layer: [
      ...[...both('self_attention.linear_proj'), ...norm('self_attention.linear_qkv')],
      ...[...both('self_attention.linear_qkv'), ...HEAD_NORMS],
      ...[...norm('mlp.linear_fc1'), ...both('mlp.linear_fc1'), ...both('mlp.linear_fc2')],
    ],
  },
];

/** What the first stage registers before its layers. */
export const BEFORE_LAYERS = ['embedding.word_embeddings.weight', 'embedding.position_embeddings.weight'] as const;
/** What the last stage registers behind its layers. */
export const BEHIND_LAYERS = [...both('decoder.final_layernorm'), ...both('output_layer')];
