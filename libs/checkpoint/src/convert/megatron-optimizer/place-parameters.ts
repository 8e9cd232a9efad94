/** Finds the one order in which the buckets of all ranks hold the parameters of the model. */
import { type ModelParameter, type ModelParameters } from './model-parameters.ts';
import type { OptimizerBuffer } from './optimizer-buckets.ts';
import { placeInBuckets, type PlacedParameter } from './place-in-buckets.ts';
import { BEFORE_LAYERS, BEHIND_LAYERS, REGISTRATION_ORDERS, type RegistrationOrder } from './registration-orders.ts';

/** Degrees of the layout that saved. */
export interface ModelDegrees {
  readonly tensor: number;
  readonly pipeline: number;
}

/** A parameter where the optimizer of a rank stores it. */
export interface StoredParameter extends PlacedParameter {
  readonly tensorRank: number;
}

/** All that is stored in one order. */
interface Placement {
  readonly stored: readonly StoredParameter[];
  /** The order by names: two layer specs can agree on the parameters that a model has. */
  readonly names: string;
}

/**
 * Where each parameter is stored. A whole sentence if the buckets agree with no order, or with several.
 */
export function placeParameters(
  model: ModelParameters,
  degrees: ModelDegrees,
  buffers: ReadonlyMap<number, readonly OptimizerBuffer[]>,
): readonly StoredParameter[] | string {
  const found = REGISTRATION_ORDERS.map((order) => placeInOrder(model, degrees, { buffers, order }));
  const placements = new Map(found.flatMap((one) => (typeof one === 'string' ? [] : [[one.names, one.stored]])));
  const [first, ...others] = placements.values();
  if (first === undefined) {
    const reasons = REGISTRATION_ORDERS.map(({ title }, at) => `${title}: ${String(found[at])}`);
    return `The buckets of the optimizer agree with no order in which Megatron-Core registers parameters. ${reasons.join(' ')}`;
  }
  return others.length === 0
    ? first
    : 'The buckets of the optimizer agree with several orders of parameters, because parameters of different kinds have the same sizes.';
}

interface Asked {
  readonly buffers: ReadonlyMap<number, readonly OptimizerBuffer[]>;
  readonly order: RegistrationOrder;
}

function placeInOrder(model: ModelParameters, degrees: ModelDegrees, asked: Asked): Placement | string {
  const names = asked.order.layer.filter((name) => model.inLayers.has(name));
  const unknown = [...model.inLayers.keys()].find((name) => !asked.order.layer.includes(name));
  if (unknown !== undefined) return `it has no parameter ${unknown}.`;
  const stored: StoredParameter[] = [];
  let layer = 0;
  for (let stage = 0; stage < degrees.pipeline; stage++) {
    const placed = placeStage({ model, names, stage, firstLayer: layer }, degrees, asked.buffers);
    if (typeof placed === 'string') return placed;
    stored.push(...placed.stored);
    layer += placed.layers;
  }
  return { stored, names: names.join() };
}

interface Stage {
  readonly model: ModelParameters;
  readonly names: readonly string[];
  readonly stage: number;
  readonly firstLayer: number;
}

/** A stage holds as many layers as fill its buckets; the last one holds those that are left. */
function placeStage(
  stage: Stage,
  degrees: ModelDegrees,
  buffers: ReadonlyMap<number, readonly OptimizerBuffer[]>,
): { readonly stored: readonly StoredParameter[]; readonly layers: number } | string {
  const left = stage.model.layers - stage.firstLayer;
  const isLast = stage.stage + 1 === degrees.pipeline;
  const problems = new Map<number, string>();
  for (let layers = isLast ? left : 0; layers <= left; layers++) {
    const stored = placeLayers(stage, layers, degrees, buffers);
    if (typeof stored !== 'string') return { stored, layers };
    problems.set(layers, stored);
  }
  // Most models are divided evenly, so that attempt says most.
  return problems.get(Math.round(stage.model.layers / degrees.pipeline)) ?? problems.get(left) ?? '';
}

function placeLayers(
  stage: Stage,
  layers: number,
  degrees: ModelDegrees,
  buffers: ReadonlyMap<number, readonly OptimizerBuffer[]>,
): readonly StoredParameter[] | string {
  const parameters = parametersOf(stage, layers, degrees);
  const stored: StoredParameter[] = [];
  for (let tensorRank = 0; tensorRank < degrees.tensor; tensorRank++) {
    // Ranks of the model count tensor-parallel ranks first.
    const rank = stage.stage * degrees.tensor + tensorRank;
    const placed = placeRank(parameters, tensorRank, buffers.get(rank) ?? []);
    if (typeof placed === 'string') return `Model-parallel rank ${String(rank)}: ${placed}`;
    stored.push(...placed.map((one) => ({ ...one, tensorRank })));
  }
  return stored;
}

/** Parameters of each dtype have buffers of their own. */
function placeRank(
  parameters: readonly ModelParameter[],
  rank: number,
  buffers: readonly OptimizerBuffer[],
): readonly PlacedParameter[] | string {
  const byDtype = Map.groupBy(parameters, ({ tensor }) => tensor.dtype);
  const placed: PlacedParameter[] = [];
  for (const buffer of buffers) {
    const found = placeInBuckets(byDtype.get(buffer.dtype) ?? [], rank, buffer);
    if (typeof found === 'string') return found;
    placed.push(...found);
    byDtype.delete(buffer.dtype);
  }
  const [unplaced] = byDtype.keys();
  return unplaced === undefined ? placed : `It has no bucket for parameters in ${unplaced}.`;
}

/** Parameters of a stage in the order of its buckets: the reverse of that in which they are registered. */
function parametersOf(
  { model, names, stage, firstLayer }: Stage,
  layers: number,
  { pipeline }: ModelDegrees,
): readonly ModelParameter[] {
  const registered: (ModelParameter | undefined)[] = [];
  if (stage === 0) registered.push(...BEFORE_LAYERS.map((name) => model.outside.get(name)));
  for (let layer = firstLayer; layer < firstLayer + layers; layer++)
    registered.push(...names.map((name) => model.inLayers.get(name)?.get(layer)));
  if (stage + 1 === pipeline) {
    registered.push(...BEHIND_LAYERS.map((name) => model.outside.get(name)));
    // The last stage has a copy of an embedding that is the output layer as well.
    if (stage > 0 && !model.outside.has('output_layer.weight')) registered.push(model.outside.get(BEFORE_LAYERS[0]));
  }
  return registered.filter((parameter) => parameter !== undefined).reverse();
}
