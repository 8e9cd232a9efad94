import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { type Box, type SavedChunk, type SavedState, type SavedTensor, volumeOf } from '../../read/saved-state.ts';
import { planFullyReshardable } from './plan-fully-reshardable.ts';
import { REGISTRATION_ORDERS } from './registration-orders.ts';

/** A model and how it was trained. */
interface Training {
  readonly order: number;
  readonly layers: number;
  readonly hidden: number;
  readonly tensor: number;
  /** Layers of each pipeline stage. */
  readonly stages: readonly number[];
  readonly data: number;
  readonly bucketSize: number;
  readonly isTied: boolean;
}

/** Kinds of parameters: their shape beyond the layer, and along which dim tensor-parallel ranks divide them. */
const kindsOf = (hidden: number): Readonly<Record<string, readonly [shape: readonly number[], dim?: number]>> => ({
  'embedding.word_embeddings.weight': [[12, hidden], 0],
  'decoder.final_layernorm.weight': [[hidden]],
  'output_layer.weight': [[12, hidden], 0],
  'self_attention.linear_proj.weight': [[hidden, hidden], 1],
  'self_attention.linear_qkv.layer_norm_weight': [[hidden]],
  'self_attention.linear_qkv.weight': [[3 * hidden, hidden], 0],
  'self_attention.linear_qkv.bias': [[3 * hidden], 0],
  'mlp.linear_fc1.layer_norm_weight': [[hidden]],
  'mlp.linear_fc1.weight': [[8 * hidden, hidden], 0],
  'mlp.linear_fc2.weight': [[hidden, 4 * hidden], 1],
});
const OUTSIDE = /^(?:embedding|decoder|output_layer)\./;
const STATES = ['param', 'exp_avg'];

/** Parts of a tensor along a dim. The gate and the up projection are divided each. */
function boxesOf(name: string, shape: readonly number[], dim: number | undefined, ranks: number): readonly Box[][] {
  const whole = { offsets: shape.map(() => 0), sizes: shape };
  if (dim === undefined) return Array.from({ length: ranks }, () => [whole]);
  const halves = name.endsWith('fc1.weight') ? 2 : 1;
  const each = (shape[dim] ?? 0) / ranks / halves;
  return Array.from({ length: ranks }, (_, rank) =>
    Array.from({ length: halves }, (_unused, half) => ({
      offsets: whole.offsets.with(dim, (half * ranks + rank) * each),
      sizes: shape.with(dim, each),
    })),
  );
}

/** Each element as `key#place`, in the order of memory. */
function elementsOf(key: string, shape: readonly number[], { offsets, sizes }: Box): readonly string[] {
  return Array.from({ length: volumeOf(sizes) }, (_, at) => {
    let [rest, place, step] = [at, 0, 1];
    for (let dim = shape.length - 1; dim >= 0; dim--) {
      const size = sizes[dim] ?? 1;
      place += ((rest % size) + (offsets[dim] ?? 0)) * step;
      rest = Math.floor(rest / size);
      step *= shape[dim] ?? 1;
    }
    return `${key}#${String(place)}`;
  });
}

const chunk = (box: Box): SavedChunk => ({ ...box, item: { file: 'f', offset: 0, length: 1 } });

/** What Megatron-Core saves, and what is stored in each element of each bucket (param_and_grad_buffer.py, distrib_optimizer.py). */
function saveOf(training: Training): {
  readonly state: SavedState;
  readonly stored: ReadonlyMap<SavedTensor, readonly string[]>;
} {
  const { order, layers, hidden, tensor, stages, data, bucketSize, isTied } = training;
  const kinds = kindsOf(hidden);
  const stored = new Map<SavedTensor, readonly string[]>();
  const tensors: SavedTensor[] = [];
  const parameters = new Map<string, (rank: number) => readonly string[]>();
  for (const [name, [shape, dim]] of Object.entries(kinds)) {
    if (isTied && name === 'output_layer.weight') continue;
    const isOutside = OUTSIDE.test(name);
    const key = isOutside ? name : `decoder.layers.${name}`;
    const full = isOutside ? shape : [layers, ...shape];
    const chunks: SavedChunk[] = [];
    for (let layer = 0; layer < (isOutside ? 1 : layers); layer++) {
      const boxes = boxesOf(name, shape, dim, tensor).map((parts) =>
        parts.map((box) => (isOutside ? box : { offsets: [layer, ...box.offsets], sizes: [1, ...box.sizes] })),
      );
      const held = dim === undefined ? boxes.slice(0, 1) : boxes;
      chunks.push(...held.flat().map(chunk));
      parameters.set(isOutside ? name : `${name} ${String(layer)}`, (rank) =>
        (boxes[rank] ?? []).flatMap((box) => elementsOf(key, full, box)),
      );
    }
    tensors.push({ key, dtype: 'bfloat16', shape: full, chunks });
  }
  let first = 0;
  for (const [stage, count] of stages.entries()) {
    const isLast = stage + 1 === stages.length;
    const names = [
      ...(stage === 0 ? ['embedding.word_embeddings.weight'] : []),
      ...Array.from({ length: count }, (_, at) =>
        (REGISTRATION_ORDERS[order]?.layer ?? []).map((name) => `${name} ${String(first + at)}`),
      ).flat(),
      ...(isLast ? ['decoder.final_layernorm.weight', 'output_layer.weight'] : []),
      ...(isLast && isTied && stage > 0 ? ['embedding.word_embeddings.weight'] : []),
    ].filter((name) => parameters.has(name));
    first += count;
    for (let rank = 0; rank < tensor; rank++) {
      const held = names.toReversed().map((name) => parameters.get(name)?.(rank) ?? []);
      for (const [number, bucket] of bucketsOf(held, { data, bucketSize }).entries())
        for (const name of STATES) {
          const one: SavedTensor = {
            key: `optimizer.distributed.dp_group_idx_${String(stage * tensor + rank)}.gbuf_idx_0.dtype_(torch.bfloat16, torch.float32).bucket_idx_${String(number)}.${name}`,
            dtype: 'float32',
            shape: [bucket.elements.length],
            chunks: bucket.shards.map(([from, to]) => chunk({ offsets: [from], sizes: [to - from] })),
          };
          tensors.push(one);
          stored.set(
            one,
            bucket.elements.map((element) => `${name} ${element}`),
          );
        }
    }
  }
  const degrees = { tensorParallelDegree: tensor, pipelineParallelDegree: stages.length };
  const holds = { optimizer: true, randomStates: false, dataLoader: undefined, scheduler: false };
  return { state: { tensors, objects: [], facts: { degrees, optimizerSharding: 'dp_reshardable', holds } }, stored };
}

interface Bucket {
  readonly elements: readonly string[];
  readonly shards: readonly (readonly [from: number, to: number])[];
}

function bucketsOf(
  parameters: readonly (readonly string[])[],
  { data, bucketSize }: Pick<Training, 'data' | 'bucketSize'>,
): readonly Bucket[] {
  const buckets: Bucket[] = [];
  let elements: string[] = [];
  let cuts: number[] = [];
  const close = (): void => {
    const share = Math.ceil(elements.length / (128 * data)) * 128;
    const ends = [...cuts, ...Array.from({ length: data }, (_, rank) => rank * share), elements.length];
    const sorted = [...new Set(ends)].filter((end) => end <= elements.length).toSorted((a, b) => a - b);
    buckets.push({ elements, shards: sorted.slice(1).map((to, at) => [sorted[at] ?? 0, to]) });
    [elements, cuts] = [[], []];
  };
  for (const parameter of parameters) {
    while (elements.length % 64 > 0) elements.push('padding');
    cuts.push(elements.length, elements.length + parameter.length);
    elements.push(...parameter);
    if (elements.length >= bucketSize) close();
  }
  if (elements.length > 0) close();
  return buckets;
}

const withChunks = (state: SavedState): SavedState =>
  state.facts === undefined
    ? state
    : { ...state, facts: { ...state.facts, degrees: { ...state.facts.degrees, 'pipeline.chunksPerRank': 2 } } };

const planOf = (state: SavedState) =>
  planFullyReshardable(state, { ranks: 2, crc32, kept: { objects: [], common: new Uint8Array() } });

const trainings: fc.Arbitrary<Training> = fc
  .record({
    order: fc.nat({ max: 1 }),
    // With as many tensor-parallel ranks as hidden elements, a projection has the size of a norm.
    hidden: fc.constantFrom(8, 12),
    tensor: fc.constantFrom(1, 2, 4),
    stages: fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 1, maxLength: 3 }),
    data: fc.integer({ min: 1, max: 3 }),
    bucketSize: fc.integer({ min: 1, max: 900 }),
    isTied: fc.boolean(),
  })
  .map((training) => ({ ...training, layers: training.stages.reduce((sum, each) => sum + each, 0) }));

describe('the state of an optimizer in buckets', () => {
  it('finds each element of each parameter in its place, whatever the degrees, buckets and layer spec', () => {
    fc.assert(
      fc.property(trainings, fc.nat(), (training, cut) => {
        const { state, stored } = saveOf(training);
        const plan = planOf(state);
        const made = plan.tensors.filter(({ key }) => key.startsWith('optimizer.state.'));
        expect(made.length).toBe(
          STATES.length * state.tensors.filter(({ key }) => !key.startsWith('optimizer')).length,
        );
        for (const { key, shape, pieces } of made) {
          const [, name = '', parameter = ''] = /^optimizer\.state\.(\w+)\.(.*)$/.exec(key) ?? [];
          const from = cut % volumeOf(shape);
          const found = [...pieces(from, volumeOf(shape))].flatMap((piece) =>
            (stored.get(piece.source) ?? []).slice(piece.from, piece.from + piece.length),
          );
          expect(found).toEqual(
            Array.from({ length: volumeOf(shape) - from }, (_, at) => `${name} ${parameter}#${String(from + at)}`),
          );
        }
      }),
      { numRuns: 15 },
    );
  });

  const training: Training = {
    order: 0,
    layers: 2,
    hidden: 8,
    tensor: 2,
    stages: [1, 1],
    data: 2,
    bucketSize: 300,
    isTied: false,
  };
  const { state } = saveOf(training);
  const changed = (change: (tensor: SavedTensor) => SavedTensor): SavedState => ({
    ...state,
    tensors: state.tensors.map(change),
  });
  it.each<[what: string, changed: SavedState, message: RegExp]>([
    [
      'has a bucket of another length',
      changed((tensor) =>
        tensor.key.includes('dp_group_idx_3') && tensor.key.includes('bucket_idx_0')
          ? { ...tensor, shape: [64 * 9], chunks: [chunk({ offsets: [0], sizes: [64 * 9] })] }
          : tensor,
      ),
      /agree with no order .* get_gpt_layer_local_spec: Model-parallel rank 3: .* Load the save at the degrees that saved it/,
    ],
    [
      'has a shard across two parameters',
      changed((tensor) =>
        tensor.shape.length === 1 && tensor.key.startsWith('optimizer')
          ? { ...tensor, chunks: [chunk({ offsets: [0], sizes: tensor.shape })] }
          : tensor,
      ),
      /A shard of optimizer\.distributed\.dp_group_idx_0\..* has the elements 0 to \d+, and .* would begin or end at \d+\./,
    ],
    [
      'has parameters of different kinds with the same sizes',
      saveOf({ ...training, hidden: 4, tensor: 4, stages: [2], bucketSize: 1 }).state,
      /agree with several orders of parameters, because parameters of different kinds have the same sizes\./,
    ],
    [
      'lacks a bucket',
      { ...state, tensors: state.tensors.filter(({ key }) => !/idx_1\..*bucket_idx_0/.test(key)) },
      /Bucket 0 of model-parallel rank 1 is missing, or its states differ in length\./,
    ],
    [
      'is of a model with experts',
      changed((tensor) => ({ ...tensor, key: tensor.key.replace('mlp.linear_fc2', 'mlp.experts.linear_fc2') })),
      /Tensor decoder\.layers\.mlp\.experts\.linear_fc2\.weight is in no layer spec whose order of parameters is known here/,
    ],
    [
      'is of several optimizers',
      changed((tensor) => ({ ...tensor, key: tensor.key.replace(/^optimizer/, 'chained_0.optimizer') })),
      /Tensor chained_0\.optimizer\..* is no bucket of one optimizer/,
    ],
    [
      'has weights that other ranks stored than those that held them',
      changed((tensor) =>
        tensor.key.endsWith('fc2.weight')
          ? { ...tensor, chunks: [chunk({ offsets: [0, 0, 0], sizes: tensor.shape })] }
          : tensor,
      ),
      /fc2\.weight is stored in 0 chunks of layer 0, which do not show what each of 2 tensor-parallel ranks held\./,
    ],
    [
      'is of a virtual pipeline',
      withChunks(state),
      /is of a virtual pipeline \(pipeline\.chunksPerRank 2\), whose buckets are not read here\. Load the save/,
    ],
  ])('is refused if it %s', (_what, save, message) => {
    expect(() => planOf(save)).toThrow(message);
  });
});
