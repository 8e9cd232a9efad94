import fc from 'fast-check';
import { type SavedTensor, volumeOf } from '../read/saved-state.ts';
import type { ConvertedTensor } from './converted-tensor.ts';
import { MODEL_FAMILIES, type ModelConfig } from './model-config.ts';
import { idOf, shapeOf, tensorsOf } from './model-tensors.ts';
import { respell } from './respell.ts';
import { nameIn, readSpelledModel } from './spelled-model.ts';
import { type Spelling, SPELLINGS } from './spellings.ts';

/** Tensors with their elements. */
type Elements = ReadonlyMap<SavedTensor, readonly number[]>;

const configs: fc.Arbitrary<ModelConfig> = fc
  .record({
    family: fc.constantFrom(...MODEL_FAMILIES),
    layers: fc.integer({ min: 1, max: 3 }),
    hiddenSize: fc.integer({ min: 1, max: 5 }),
    groupHeads: fc.integer({ min: 1, max: 3 }),
    keyValueHeads: fc.integer({ min: 1, max: 3 }),
    headSize: fc.constantFrom(2, 4, 6),
    words: fc.integer({ min: 1, max: 7 }),
    feedForwardSize: fc.integer({ min: 1, max: 5 }),
    experts: fc.integer({ min: 1, max: 4 }),
    isTied: fc.boolean(),
  })
  .map(({ groupHeads, ...config }) => ({
    ...config,
    heads: groupHeads * config.keyValueHeads,
    experts: config.family === 'mixtral' || config.family === 'qwen3_moe' ? config.experts : 0,
  }));

/** The model as Hugging Face spells it. Each element is another number. */
function modelOf(config: ModelConfig): Elements {
  let next = 0;
  return new Map(
    [...tensorsOf(config)].map((tensor) => {
      const shape = shapeOf(tensor.role, config);
      const saved = { key: nameIn(SPELLINGS['hugging-face'], config, tensor), dtype: 'float32', shape, chunks: [] };
      return [saved, Array.from({ length: volumeOf(shape) }, () => next++)] as const;
    }),
  );
}

/** The elements that a conversion writes. Pieces come in order and without holes. */
function elementsOf(tensor: ConvertedTensor, elements: Elements, from = 0, to = volumeOf(tensor.shape)): number[] {
  const found: number[] = [];
  for (const piece of tensor.pieces(from, to)) {
    expect(piece.to).toBe(from + found.length);
    const source = elements.get(piece.source) ?? [];
    expect(piece.from + piece.length).toBeLessThanOrEqual(source.length);
    found.push(...source.slice(piece.from, piece.from + piece.length));
  }
  expect(found.length).toBe(to - from);
  return found;
}

function convert(elements: Elements, from: Spelling, to: Spelling, config: ModelConfig): Elements {
  const spelled = readSpelledModel([...elements.keys()], from, config);
  expect(spelled.problems).toEqual([]);
  const parts = new Map(spelled.parts);
  const embedding = parts.get(idOf({ role: 'embedding' }));
  const head = idOf({ role: 'head' });
  if (config.isTied && embedding !== undefined) {
    if (to.storesTiedHead) parts.set(head, embedding);
    else parts.delete(head);
  }
  const { tensors, problems } = respell({ parts, problems: [] }, to, config);
  expect(problems).toEqual([]);
  return new Map(
    tensors.map((tensor) => {
      const { key, dtype, shape } = tensor;
      return [{ key, dtype, shape, chunks: [] }, elementsOf(tensor, elements)] as const;
    }),
  );
}

function byKey(elements: Elements): Readonly<Record<string, unknown>> {
  return Object.fromEntries([...elements].map(([{ key, shape }, numbers]) => [key, { shape, numbers }]));
}

describe('a model that is spelled in another way and back', () => {
  it.each(['torchtitan', 'megatron', 'hugging-face'] as const)('is the same by way of %s', (by) => {
    fc.assert(
      fc.property(configs, (config) => {
        fc.pre((SPELLINGS[by].families as readonly string[]).includes(config.family));
        const model = modelOf(config);
        const there = convert(model, SPELLINGS['hugging-face'], SPELLINGS[by], config);
        const back = convert(there, SPELLINGS[by], SPELLINGS['hugging-face'], config);
        expect(byKey(back)).toEqual(byKey(model));
      }),
      { numRuns: 60 },
    );
  });

  it('is the same by way of two others', () => {
    fc.assert(
      fc.property(configs, (config) => {
        fc.pre((SPELLINGS.torchtitan.families as readonly string[]).includes(config.family));
        const model = modelOf(config);
        const path = [SPELLINGS.torchtitan, SPELLINGS.megatron, SPELLINGS.torchtitan, SPELLINGS['hugging-face']];
        let [elements, from]: [Elements, Spelling] = [model, SPELLINGS['hugging-face']];
        for (const to of path) [elements, from] = [convert(elements, from, to, config), to];
        expect(byKey(elements)).toEqual(byKey(model));
      }),
      { numRuns: 40 },
    );
  });

  it('gives any range of a tensor the elements that the whole has there', () => {
    fc.assert(
      fc.property(configs, fc.nat(), fc.nat(), (config, one, other) => {
        const model = modelOf(config);
        const spelled = readSpelledModel([...model.keys()], SPELLINGS['hugging-face'], config);
        const { tensors } = respell(spelled, SPELLINGS.megatron, config);
        for (const tensor of tensors) {
          const size = volumeOf(tensor.shape);
          const [from = 0, to = 0] = [one % (size + 1), other % (size + 1)].toSorted((a, b) => a - b);
          expect(elementsOf(tensor, model, from, to)).toEqual(elementsOf(tensor, model).slice(from, to));
        }
      }),
      { numRuns: 40 },
    );
  });
});

const CONFIG: ModelConfig = {
  family: 'llama',
  layers: 2,
  hiddenSize: 1,
  heads: 4,
  keyValueHeads: 2,
  headSize: 4,
  words: 3,
  feedForwardSize: 2,
  experts: 0,
  isTied: false,
};

/** What a tensor of another spelling holds: for each row, the tensor of Hugging Face that it is from, and its row there. */
function rowsOf(key: string, to: Spelling, config = CONFIG): readonly string[] {
  const model = modelOf(config);
  const names = new Map(
    [...model].flatMap(([tensor, elements]) =>
      elements.map((element, row) => [element, `${tensor.key.split('.').at(-2) ?? ''}${String(row)}`] as const),
    ),
  );
  const found = [...convert(model, SPELLINGS['hugging-face'], to, config)].find(([tensor]) => tensor.key === key);
  return found?.[1].map((element) => names.get(element) ?? '') ?? [];
}

describe('a spelling', () => {
  it('keeps query, key and value of a group together in Megatron, in the order of groups', () => {
    const rows = rowsOf('decoder.layers.self_attention.linear_qkv.weight', SPELLINGS.megatron);
    const of = (name: string, from: number, count: number): string[] =>
      Array.from({ length: count }, (_, row) => `${name}${String(from + row)}`);
    const layer = [0, 1].flatMap((group) => [
      ...of('q_proj', 8 * group, 8),
      ...of('k_proj', 4 * group, 4),
      ...of('v_proj', 4 * group, 4),
    ]);
    expect(rows).toEqual([...layer, ...layer]);
  });

  it('puts the gate above the up projection in Megatron', () => {
    const layer = ['gate_proj0', 'gate_proj1', 'up_proj0', 'up_proj1'];
    expect(rowsOf('decoder.layers.mlp.linear_fc1.weight', SPELLINGS.megatron)).toEqual([...layer, ...layer]);
  });

  it('pairs neighbouring rows of a head in the Llama of TorchTitan, and rows half a head apart elsewhere', () => {
    const key = 'layers.0.attention.qkv_linear.wk.weight';
    const pairs = ['k_proj0', 'k_proj2', 'k_proj1', 'k_proj3', 'k_proj4', 'k_proj6', 'k_proj5', 'k_proj7'];
    expect(rowsOf(key, SPELLINGS.torchtitan)).toEqual(pairs);
    expect(rowsOf(key, SPELLINGS.torchtitan, { ...CONFIG, family: 'qwen3' })).toEqual(pairs.toSorted());
  });
});

const PADDED = { key: 'embedding.word_embeddings.weight', dtype: 'float32', shape: [8, 1], chunks: [] };

describe('a save that is not the model of config.json', () => {
  const megatron = [...convert(modelOf(CONFIG), SPELLINGS['hugging-face'], SPELLINGS.megatron, CONFIG).keys()];
  const without = (key: string): SavedTensor[] => megatron.filter((tensor) => tensor.key !== key);
  it.each<[string, readonly SavedTensor[], readonly RegExp[]]>([
    ['has rows of padding, which are left out', [...without(PADDED.key), PADDED], []],
    [
      'has fewer rows than words',
      [...without(PADDED.key), { ...PADDED, shape: [2, 1] }],
      [
        /^Tensor embedding\.word_embeddings\.weight has the shape \[2, 1\], and after config\.json it would be \[3, 1\]\.$/,
        /no tensor embedding\.word_embeddings\.weight/,
      ],
    ],
    [
      'lacks a tensor, which is no reason to make one up',
      without('output_layer.weight'),
      [/^The save has no tensor output_layer\.weight, and config\.json says that the model has it\.$/],
    ],
    [
      'has a tensor that the model does not have',
      [...megatron, { ...PADDED, key: 'decoder.layers.mlp.router.expert_bias' }],
      [/^Tensor decoder\.layers\.mlp\.router\.expert_bias has no place in a llama model of Megatron-LM\.$/],
    ],
    [
      'has a tensor twice under two names',
      [...megatron, { ...PADDED, key: 'decoder.layers.0.self_attention.linear_qkv.layer_norm_weight', shape: [1] }],
      [
        /^Tensors decoder\.layers\.self_attention\.linear_qkv\.layer_norm_weight and decoder\.layers\.0\.self_attention\.linear_qkv\.layer_norm_weight are the same part of the model\.$/,
      ],
    ],
  ])('%s', (_what, tensors, problems) => {
    const found = readSpelledModel(tensors, SPELLINGS.megatron, CONFIG).problems;
    expect(found).toEqual(problems.map((problem) => expect.stringMatching(problem)));
  });

  it('has a layer beyond the last one', () => {
    const tensors = [{ ...PADDED, key: 'model.layers.2.self_attn.q_proj.weight', shape: [16, 1] }];
    expect(readSpelledModel(tensors, SPELLINGS['hugging-face'], CONFIG).problems[0]).toMatch(
      /^Tensor model\.layers\.2\.self_attn\.q_proj\.weight is beyond what config\.json describes: a llama model with num_hidden_layers 2\.$/,
    );
  });

  it('has tensors of two dtypes that are one tensor elsewhere', () => {
    const model = [...modelOf(CONFIG).keys()].map((tensor) =>
      tensor.key.endsWith('up_proj.weight') ? { ...tensor, dtype: 'bfloat16' } : tensor,
    );
    const spelled = readSpelledModel(model, SPELLINGS['hugging-face'], CONFIG);
    expect(respell(spelled, SPELLINGS.megatron, CONFIG).problems).toEqual([
      expect.stringMatching(
        /linear_fc1\.weight of Megatron-LM would have several dtypes \(float32, bfloat16\): model\.layers\.0\.mlp\.gate_proj\.weight and others/,
      ),
    ]);
  });
});
