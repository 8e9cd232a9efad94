/** Reads the files of `torch.save` in a folder of the Trainer. */
import type { Reading, StoredFile } from '../read/save-files.ts';
import type { SavedObject, SavedTensor, TensorKind } from '../read/saved-state.ts';
import { type UnreadableFile, UnreadableSave } from '../read/unreadable-save.ts';
import { archivedTensor, type ArchivedTensor } from '../formats/torch-save-tensor.ts';
import { entriesOf, valueAt, visit, VISITS_OF_TENSOR, visitsOf } from '../formats/torch-save/pickled-state.ts';
import { TensorPlaces } from '../formats/torch-save/place-tensor.ts';
import { openTorchSave, type TorchSave } from '../formats/torch-save/read-torch-save.ts';

const OPTIMIZER_STEP = /^optimizer\..*\.step$/;

interface TrainerFiles {
  readonly tensors: readonly SavedTensor[];
  readonly objects: readonly SavedObject[];
  /** Steps that the optimizer counted for its first parameter. */
  readonly optimizerStep: number | undefined;
  /** Each message continues a sentence that starts with the file. */
  readonly unreadable: readonly UnreadableFile[];
}

/** Tensors of weights and optimizer; the rest is an object a file. */
export function* readTrainerFiles(files: readonly StoredFile[]): Reading<TrainerFiles> {
  const tensors: SavedTensor[] = [];
  const objects: SavedObject[] = [];
  const unreadable: UnreadableFile[] = [];
  let optimizerStep: number | undefined;
  for (const file of files) {
    try {
      const save = yield* openTorchSave([file], file.path);
      const places = new TensorPlaces(save);
      const found = tensorsOf(save);
      for (const { key, tensor, kind } of found) {
        const item = yield* places.itemOf(tensor, key);
        const chunks = item === undefined ? [] : [{ offsets: tensor.shape.map(() => 0), sizes: tensor.shape, item }];
        if (optimizerStep === undefined && OPTIMIZER_STEP.test(key))
          optimizerStep = yield* places.scalarOf(tensor, key);
        tensors.push({ key, dtype: tensor.dtype, shape: tensor.shape, kind, chunks });
      }
      if (found.length === 0)
        objects.push({
          key: file.path.replace(/\.\w+$/, ''),
          item: { file: file.path, offset: 0, length: file.bytes },
        });
    } catch (error) {
      if (!(error instanceof UnreadableSave)) throw error;
      unreadable.push({ path: file.path, error });
    }
  }
  return { tensors, objects, optimizerStep, unreadable };
}

interface Found {
  readonly key: string;
  readonly tensor: ArchivedTensor;
  readonly kind: TensorKind;
}

/** Of an optimizer of PyTorch by the number of the parameter, or its name (FSDP), and the state; of weights by name. */
function tensorsOf({ path, bytes, value }: TorchSave): readonly Found[] {
  const visits = visitsOf(bytes);
  const named = (key: string, each: Parameters<typeof archivedTensor>[0], kind: TensorKind): readonly Found[] => {
    visit(visits, VISITS_OF_TENSOR);
    const tensor = archivedTensor(each);
    return tensor === undefined ? [] : [{ key, tensor, kind }];
  };
  if (path.startsWith('optimizer.'))
    return entriesOf(valueAt(value, 'state'), visits).flatMap(([parameter, states]) =>
      entriesOf(states, visits).flatMap(([state, each]) =>
        named(`optimizer.${parameter}.${state}`, each, state === 'step' ? 'other' : 'moment'),
      ),
    );
  if (!path.startsWith('pytorch_model')) return [];
  return entriesOf(value, visits).flatMap(([name, each]) => named(name, each, 'parameter'));
}
