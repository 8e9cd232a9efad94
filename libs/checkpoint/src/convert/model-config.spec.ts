import { readModelConfig } from './model-config.ts';

const LLAMA = {
  model_type: 'llama',
  num_hidden_layers: 2,
  hidden_size: 8,
  num_attention_heads: 4,
  vocab_size: 13,
  intermediate_size: 12,
};

const read = (config: unknown): ReturnType<typeof readModelConfig> =>
  readModelConfig(new TextEncoder().encode(JSON.stringify(config)));

describe('config.json of a model', () => {
  it('has as many heads of keys as of queries, and heads that divide the hidden size, unless it says otherwise', () => {
    expect(read(LLAMA)).toMatchObject({ keyValueHeads: 4, headSize: 2, experts: 0, isTied: false });
    expect(read({ ...LLAMA, num_key_value_heads: 2, head_dim: 6, tie_word_embeddings: true })).toMatchObject({
      keyValueHeads: 2,
      headSize: 6,
      isTied: true,
    });
  });

  it.each(['num_experts', 'num_local_experts'])('says the number of experts as %s', (name) => {
    const config = { ...LLAMA, model_type: 'qwen3_moe', moe_intermediate_size: 5, [name]: 3 };
    expect(read(config)).toMatchObject({ experts: 3, feedForwardSize: 5 });
  });

  it.each<[string, Readonly<Record<string, unknown>>, RegExp]>([
    ['lacks sizes', { vocab_size: undefined, hidden_size: 'wide' }, /no usable value for hidden_size, vocab_size\./],
    ['is of an unknown type', { model_type: 'gpt2' }, /^Models of type gpt2 are not spelled in another way here/],
    ['has heads that are not grouped evenly', { num_key_value_heads: 3 }, /4 attention heads, which 3 heads of keys/],
    ['has experts without a number', { model_type: 'mixtral' }, /a mixtral model says no number of experts/],
    ['has heads of an odd size', { head_dim: 3 }, /the odd size 3/],
    ['is larger than any model', { num_attention_heads: 2 ** 30 }, /which is no model that is planned here/],
    ['has heads that are larger than any', { head_dim: 2 ** 20 }, /which is no model that is planned here/],
    ['has more layers than any model', { num_hidden_layers: 2 ** 30 }, /which is no model that is planned here/],
  ])('is refused if it %s', (_what, change, message) => {
    expect(() => read({ ...LLAMA, ...change })).toThrow(message);
  });

  it('is refused if it is no JSON', () => {
    expect(() => readModelConfig(new TextEncoder().encode('{'))).toThrow(/no JSON/);
  });
});
