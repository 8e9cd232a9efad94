/** Reads what `ds_to_universal` makes: `zero/<parameter>/<state>.pt`, each one whole tensor (deepspeed/checkpoint/ds_to_universal.py). */
import type { Reading, StoredFile } from '../../read/save-files.ts';
import type { SavedTensor, TensorKind } from '../../read/saved-state.ts';
import { UnreadableSave } from '../../read/unreadable-save.ts';
import type { PickleValue } from '../pickle/pickle-value.ts';
import { archivedTensor } from '../torch-save-tensor.ts';
import { valueAt } from '../torch-save/pickled-state.ts';
import { TensorPlaces } from '../torch-save/place-tensor.ts';
import { openTorchSave } from '../torch-save/read-torch-save.ts';

const STATE_FILE = /^zero\/([^/]+)\/([^/]+)\.pt$/;

/** The state of one parameter. */
export interface UniversalState {
  readonly parameter: string;
  /** Such as `fp32`, `exp_avg` and `step`. */
  readonly state: string;
  readonly file: StoredFile;
}

/** What the file stands for; undefined: it is none of a parameter. */
export function universalState(file: StoredFile): UniversalState | undefined {
  const [, parameter, state] = STATE_FILE.exec(file.path) ?? [];
  return parameter === undefined || state === undefined ? undefined : { parameter, state, file };
}

/**
 * The tensor in a file of a parameter. Stage 3 writes it bare and flat, the others in a dict that says how to divide it.
 * @throws UnreadableSave if there is none.
 */
export function* readUniversalState({ parameter, state, file }: UniversalState): Reading<SavedTensor> {
  const save = yield* openTorchSave([file], file.path);
  const value: PickleValue = valueAt(save.value, 'param') ?? save.value;
  const tensor = archivedTensor(value);
  if (tensor === undefined) throw new UnreadableSave('holds no tensor');
  const key = `${state}.${parameter}`;
  const item = yield* new TensorPlaces(save).itemOf(tensor, key);
  return {
    key,
    dtype: tensor.dtype,
    shape: tensor.shape,
    kind: kindOf(state),
    chunks: item === undefined ? [] : [{ offsets: tensor.shape.map(() => 0), sizes: tensor.shape, item }],
  };
}

function kindOf(state: string): TensorKind {
  if (state === 'fp32') return 'master';
  return state === 'step' ? 'other' : 'moment';
}
