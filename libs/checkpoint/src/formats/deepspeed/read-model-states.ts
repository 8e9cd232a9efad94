/** Reads files of model states of DeepSpeed (DeepSpeedEngine._common_checkpoint_state). */
import { archivedTensor, type ArchivedTensor } from '../torch-save-tensor.ts';
import {
  countOf,
  entriesOf,
  listOf,
  shapeOf,
  valueAt,
  visit,
  type Visits,
  VISITS_OF_TENSOR,
} from '../torch-save/pickled-state.ts';
import { UnreadableSave } from '../../read/unreadable-save.ts';
import type { PickleValue } from '../pickle/pickle-value.ts';

/** What one file of model states says. */
export interface ModelStates {
  readonly step: number | undefined;
  /** Steps that changed nothing, because gradients overflowed. */
  readonly skippedSteps: number;
  readonly release: string | undefined;
  /** Ranks of data parallelism, those of sequence parallelism among them. */
  readonly dataRanks: number | undefined;
  /** Ranks of tensor and pipeline parallelism. */
  readonly modelRanks: number | undefined;
  readonly pipelineRanks: number | undefined;
  readonly tensorRanks: number | undefined;
  /** Parameters whose float32 copies the optimizer divides, in its order, with their shapes; undefined: no ZeRO. */
  readonly shapes: ReadonlyMap<string, readonly number[]> | undefined;
  /** Parameters that are not trained, by name. */
  readonly frozen: ReadonlyMap<string, FrozenParameter>;
  /** Tensors of the module that are no parameters. */
  readonly buffers: ReadonlySet<string>;
  readonly tensors: readonly (readonly [name: string, tensor: ArchivedTensor])[];
  /** Keys of what is stored beside the module's tensors. */
  readonly objects: readonly string[];
  readonly hasOptimizer: boolean;
  /** Experts of each layer that has some. */
  readonly experts: readonly number[];
}

/** A parameter that is not trained. */
export interface FrozenParameter {
  readonly shape: readonly number[];
  /** What the rank has of it: in stage 3 a part. */
  readonly part: ArchivedTensor | undefined;
}

/** Beside the module's tensors: what DeepSpeed needs to read the file, and not state of training. */
const DESCRIPTIONS = new Set([
  'module',
  'buffer_names',
  'param_shapes',
  'frozen_param_shapes',
  'frozen_param_fragments',
  'shared_params',
  'ds_config',
  'num_experts',
  'ds_version',
  'dp_world_size',
  'mp_world_size',
  'checkpoint_parallel_dimensions',
]);

/**
 * Reads what `torch.save` stored.
 * @throws UnreadableSave if it is something else than model states.
 */
export function readModelStates(value: PickleValue, visits: Visits): ModelStates {
  const all = entriesOf(value, visits);
  if (!all.some(([key]) => key === 'module'))
    throw new UnreadableSave('holds no module, so it is no file of model states');
  const release = valueAt(value, 'ds_version');
  const dims = valueAt(value, 'checkpoint_parallel_dimensions');
  return {
    step: countOf(valueAt(value, 'global_steps')),
    skippedSteps: countOf(valueAt(value, 'skipped_steps')) ?? 0,
    release: typeof release === 'string' ? release : undefined,
    dataRanks: countOf(valueAt(value, 'dp_world_size')),
    modelRanks: countOf(valueAt(value, 'mp_world_size')),
    pipelineRanks: countOf(valueAt(dims, 'pp_degree')),
    tensorRanks: countOf(valueAt(dims, 'tp_degree')),
    shapes: shapesOf(valueAt(value, 'param_shapes') ?? null, visits),
    frozen: frozenOf(value, visits),
    buffers: new Set(listOf(valueAt(value, 'buffer_names')).filter((name) => typeof name === 'string')),
    tensors: tensorsOf(valueAt(value, 'module'), visits),
    objects: all.flatMap(([key, each]) => (DESCRIPTIONS.has(key) || each === null ? [] : [key])),
    experts: listOf(valueAt(value, 'num_experts')).flatMap((count) => countOf(count) ?? []),
    hasOptimizer: (valueAt(value, 'optimizer') ?? null) !== null,
  };
}

/** The tensors of a dict by their keys. */
export function tensorsOf(
  value: PickleValue | undefined,
  visits: Visits,
): readonly (readonly [string, ArchivedTensor])[] {
  return entriesOf(value, visits).flatMap(([name, each]) => {
    const tensor = archivedTensor(each);
    visit(visits, VISITS_OF_TENSOR);
    return tensor === undefined ? [] : [[name, tensor] as const];
  });
}

function frozenOf(value: PickleValue, visits: Visits): ReadonlyMap<string, FrozenParameter> {
  const parts = new Map(tensorsOf(valueAt(value, 'frozen_param_fragments'), visits));
  const shapes = entriesOf(valueAt(value, 'frozen_param_shapes'), visits);
  return new Map(
    shapes.flatMap(([name, size]) => {
      const shape = shapeOf(size);
      return shape === undefined ? [] : [[name, { shape, part: parts.get(name) }] as const];
    }),
  );
}

function shapesOf(groups: PickleValue, visits: Visits): ReadonlyMap<string, readonly number[]> | undefined {
  if (groups === null) return undefined;
  const shapes = listOf(groups).flatMap((group) =>
    entriesOf(group, visits).map(([name, size]) => {
      const shape = shapeOf(size);
      if (shape === undefined) throw new UnreadableSave(`says no shape for ${name}`);
      return [name, shape] as const;
    }),
  );
  return new Map(shapes);
}
