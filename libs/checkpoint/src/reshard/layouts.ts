/** Divides tensors as the ranks of a layout hold them: tensor-parallel parts, pipeline stages, and FSDP's shards of what is left. */
import type { Box } from '../read/saved-state.ts';
import { type Cut, cutOf, type Division, type RankBox } from './divide.ts';

/** Ways that ranks divide the states of a model. Ranks count tensor first, then shards, then pipeline, as TorchTitan's mesh and Megatron's `tp-dp-pp` do. */
export interface ReshardLayout {
  readonly tensor: number;
  readonly pipeline: number;
  /** Ranks that share one copy of what a tensor-parallel rank holds (FSDP). */
  readonly shard: number;
}

/** Ranks that store a save of the layout. */
export function ranksOfLayout({ tensor, pipeline, shard }: ReshardLayout): number {
  return tensor * pipeline * shard;
}

/**
 * Modules whose weights tensor parallelism divides by rows (the outputs of a product) or by columns (its inputs): names of TorchTitan, of Hugging Face's Llama family and
 * of the reference engine. `attention.output` is a projection of the reference engine, `output` alone the last layer of TorchTitan.
 */
const BY_ROWS = moduleNamed(
  ...['wq', 'wk', 'wv', 'wqkv', 'w1', 'w3', 'tok_embeddings', 'output'],
  ...['q_proj', 'k_proj', 'v_proj', 'gate_proj', 'up_proj', 'embed_tokens', 'lm_head'],
  ...['qkv', 'up', 'embedding', 'head'],
);
const BY_COLUMNS = moduleNamed('wo', 'w2', 'o_proj', 'down_proj', 'attention.output', 'down');
/** Behind the last layer. */
const LAST = moduleNamed('norm', 'final_norm', 'output', 'lm_head', 'head');
const LAYER = /(?:^|\.)layers\.(\d{1,6})\./;

function moduleNamed(...names: readonly string[]): RegExp {
  return new RegExp(`(?:^|\\.)(?:${names.join('|').replaceAll('.', '\\.')})\\.(?:weight|bias)(?:\\.|$)`);
}

/** Why a save with these keys cannot be divided by the layout, as a whole sentence; undefined: it can. */
export function layoutProblem({ pipeline }: ReshardLayout, keys: Iterable<string>): string | undefined {
  const layers = layersOf(keys);
  // A save whose names have no layers is in the first stage: that is slow to load, and right.
  return layers === 0 || pipeline <= layers
    ? undefined
    : `pp=${String(pipeline)} has more pipeline stages than the ${String(layers)} layers of the save, and a stage has at least one. Name at most pp=${String(layers)}.`;
}

/** A rule for the tensors of a save, whose keys tell how many layers it has. */
export function divideByLayout(layout: ReshardLayout, keys: Iterable<string>): Division {
  const layers = layersOf(keys);
  return ({ key, shape }) => {
    const stage = stageOf(key, layers, layout.pipeline);
    const first = stage * layout.tensor * layout.shard;
    return boxesOf(shape, tensorDim(key, shape), layout).map((box) => ({ ...box, rank: first + box.rank }));
  };
}

/** The dim that tensor parallelism divides, by the name of the tensor; undefined: each tensor-parallel rank holds all of it. */
export function tensorDim(key: string, shape: readonly number[]): number | undefined {
  if (shape.length === 0 || shape.length > 2) return undefined;
  // The bias of a layer whose inputs are divided is whole.
  if (BY_COLUMNS.test(key)) return shape.length === 2 ? 1 : undefined;
  return BY_ROWS.test(key) ? 0 : undefined;
}

function boxesOf(shape: readonly number[], dim: number | undefined, { tensor, shard }: ReshardLayout): RankBox[] {
  const boxes: RankBox[] = [];
  const parts = dim === undefined ? WHOLE : cutOf(shape[dim] ?? 0, tensor);
  for (let part = 0; part < parts.parts; part++) {
    const held = partOf({ offsets: shape.map(() => 0), sizes: shape }, dim, parts, part);
    // FSDP divides what a tensor-parallel rank holds.
    const shards = shape.length === 0 ? WHOLE : cutOf(held.sizes[0] ?? 0, shard);
    for (let at = 0; at < shards.parts; at++)
      boxes.push({ ...partOf(held, shape.length === 0 ? undefined : 0, shards, at), rank: at * tensor + part });
  }
  return boxes;
}

const WHOLE = cutOf(1, 1);

function partOf(box: Box, dim: number | undefined, { each }: Cut, part: number): Box {
  if (dim === undefined) return box;
  const from = part * each;
  return {
    offsets: box.offsets.with(dim, (box.offsets[dim] ?? 0) + from),
    sizes: box.sizes.with(dim, Math.min(each, (box.sizes[dim] ?? 0) - from)),
  };
}

function layersOf(keys: Iterable<string>): number {
  let layers = 0;
  for (const key of keys) layers = Math.max(layers, Number(LAYER.exec(key)?.[1] ?? -1) + 1);
  return layers;
}

/** Layers are divided as evenly as possible, the first stages holding one more. What is in no layer is in the first stage, or in the last one behind the layers. */
function stageOf(key: string, layers: number, stages: number): number {
  const layer = LAYER.exec(key)?.[1];
  if (layer === undefined) return LAST.test(key) ? stages - 1 : 0;
  const [each, more] = [Math.floor(layers / stages), layers % stages];
  const at = Number(layer);
  return at < more * (each + 1)
    ? Math.floor(at / (each + 1))
    : more + Math.floor((at - more * (each + 1)) / Math.max(1, each));
}
