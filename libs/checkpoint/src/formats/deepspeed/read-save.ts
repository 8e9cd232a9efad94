/** Reads all files of a save of DeepSpeed: what each says, and where its tensors are. */
import type { Reading, StoredFile } from '../../read/save-files.ts';
import {
  type SavedChunk,
  type SavedObject,
  type SavedTensor,
  type StoredItem,
  type TensorKind,
  volumeOf,
} from '../../read/saved-state.ts';
import { type UnreadableFile, UnreadableSave } from '../../read/unreadable-save.ts';
import type { ArchivedTensor } from '../torch-save-tensor.ts';
import { visitsOf } from '../torch-save/pickled-state.ts';
import { TensorPlaces } from '../torch-save/place-tensor.ts';
import { openTorchSave, type TorchSave } from '../torch-save/read-torch-save.ts';
import { type DeepspeedName, readName } from './file-names.ts';
import { type ModelStates, readModelStates, tensorsOf } from './read-model-states.ts';
import { type OptimizerStates, readOptimizerStates } from './read-optimizer-states.ts';

/** A file of model states that was read. */
export interface ModelFile {
  readonly path: string;
  readonly mp: number;
  readonly dp: number;
  readonly states: ModelStates;
  readonly places: TensorPlaces;
}

/** A file of optimizer states that was read. */
export interface OptimizerFile {
  readonly path: string;
  readonly mp: number;
  readonly dp: number;
  readonly states: OptimizerStates;
  readonly places: TensorPlaces;
}

/** All that was read of a save. */
export interface DeepspeedFiles {
  readonly models: readonly ModelFile[];
  readonly optimizers: readonly OptimizerFile[];
  /** Those of modules, layers and experts; not those of the optimizer. */
  readonly tensors: readonly SavedTensor[];
  readonly objects: readonly SavedObject[];
  /** Files that cannot be read; each message continues a sentence that starts with the file. */
  readonly unreadable: readonly UnreadableFile[];
}

/** {@link DeepspeedFiles} while files are added. */
interface Found {
  readonly models: ModelFile[];
  readonly optimizers: OptimizerFile[];
  readonly tensors: SavedTensor[];
  readonly objects: SavedObject[];
  readonly unreadable: UnreadableFile[];
  /** Ranks of the model whose model states were read. */
  readonly ranks: Set<number>;
}

/** Reads the files whose names are those of DeepSpeed. */
export function* readDeepspeed(files: readonly StoredFile[]): Reading<DeepspeedFiles> {
  const found: Found = { models: [], optimizers: [], tensors: [], objects: [], unreadable: [], ranks: new Set() };
  const isModelDivided = files.some(({ path }) => readName(path)?.kind === 'model' && !path.includes('mp_rank_00_'));
  for (const file of files) {
    const name = readName(file.path);
    if (name === undefined) continue;
    try {
      const prefix = isModelDivided && 'mp' in name ? `mp_rank_${String(name.mp).padStart(2, '0')}.` : '';
      yield* addFile(found, name, yield* openTorchSave([file], file.path), prefix);
    } catch (error) {
      if (!(error instanceof UnreadableSave)) throw error;
      found.unreadable.push({ path: file.path, error });
    }
  }
  return found;
}

/** `prefix`: before the keys of what only one rank of the model has. */
function* addFile(found: Found, name: DeepspeedName, save: TorchSave, prefix: string): Reading<void> {
  const { path, bytes, value } = save;
  const visits = visitsOf(bytes);
  const places = new TensorPlaces(save);
  switch (name.kind) {
    case 'optimizer':
      found.optimizers.push({ path, mp: name.mp, dp: name.dp, states: readOptimizerStates(value, visits), places });
      return;
    case 'expert-optimizer':
      found.objects.push({ key: path.replace(/\.pt$/, ''), item: wholeOf(save) });
      return;
    case 'model':
      yield* addModule(found, readModelFile(found, name, save), wholeOf(save), prefix);
      return;
    default:
      found.tensors.push(...(yield* placeAll(tensorsOf(value, visits), places, ownPrefix(name, prefix))));
  }
}

/** In stage 3 all ranks say the same of parameters: what the first one says is kept. */
function readModelFile(found: Found, name: DeepspeedName & { readonly kind: 'model' }, save: TorchSave): ModelFile {
  const states = readModelStates(save.value, visitsOf(save.bytes));
  const own = { path: save.path, mp: name.mp, dp: name.dp ?? 0, places: new TensorPlaces(save) };
  const isFirst = !found.ranks.has(name.mp);
  found.ranks.add(name.mp);
  const file = {
    ...own,
    states: isFirst ? states : { ...states, shapes: undefined, tensors: own.dp > 0 ? [] : states.tensors },
  };
  found.models.push(file);
  return file;
}

/** In stage 3 all ranks save the same buffers: those of the first rank are all. */
function* addModule(
  { tensors, objects }: Found,
  { path, dp, states, places }: ModelFile,
  item: StoredItem,
  prefix: string,
): Reading<void> {
  if (dp > 0) return;
  objects.push(...states.objects.map((key) => ({ key: `${prefix}${key}`, item })));
  const own = states.tensors.filter(([, tensor]) => !isPlaceholder(path, tensor));
  tensors.push(...(yield* placeAll(own, places, `${prefix}module.`, states.buffers)));
}

/** Stage 3 leaves a tensor without elements in the place of each parameter. */
function isPlaceholder(path: string, tensor: ArchivedTensor): boolean {
  return volumeOf(tensor.shape) === 0 && path.startsWith('zero_pp_rank_');
}

function ownPrefix(name: DeepspeedName, prefix: string): string {
  return name.kind === 'layer' ? `layer_${String(name.layer).padStart(2, '0')}${name.part}.` : `${prefix}module.`;
}

function wholeOf({ path, bytes }: TorchSave): {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
} {
  return { file: path, offset: 0, length: bytes };
}

function* placeAll(
  tensors: readonly (readonly [name: string, tensor: ArchivedTensor])[],
  places: TensorPlaces,
  prefix: string,
  buffers: ReadonlySet<string> = new Set(),
): Reading<readonly SavedTensor[]> {
  const placed: SavedTensor[] = [];
  for (const [name, tensor] of tensors) {
    const item = yield* places.itemOf(tensor, name);
    const chunks: readonly SavedChunk[] =
      item === undefined ? [] : [{ offsets: tensor.shape.map(() => 0), sizes: tensor.shape, item }];
    const kind: TensorKind = buffers.has(name) ? 'other' : 'parameter';
    placed.push({ key: `${prefix}${name}`, dtype: tensor.dtype, shape: tensor.shape, kind, chunks });
  }
  return placed;
}
