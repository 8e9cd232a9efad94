import { DELETION_FILE } from '../read/save-files.ts';
import { deletionOrder } from './deletion-order.ts';
import { savesBelow, stepOfPointer } from './saves-below.ts';

const file = (path: string, writtenMs = 0): { path: string; bytes: number; writtenMs: number } => ({
  path,
  bytes: 1,
  writtenMs,
});

describe('the saves below a directory', () => {
  it('are folders with the name of a save, in the order of saving', () => {
    const found = savesBelow([
      file('step-500/.metadata', 5),
      file('step-100/.metadata', 9),
      file('step-100/__0_0.distcp', 8),
      file('iter_0000200/metadata.json', 7),
      file('tokenizer/vocab.json', 6),
      file('latest_checkpointed_iteration.txt', 10),
      file('step-1x/.metadata', 11),
    ]);
    expect(found.map(({ name, step, files }) => [name, step, files.map(({ path }) => path)])).toEqual([
      ['step-500', 500, ['.metadata']],
      ['iter_0000200', 200, ['metadata.json']],
      ['step-100', 100, ['.metadata', '__0_0.distcp']],
    ]);
  });

  it('are being deleted if they hold the file that a deletion begins with', () => {
    const found = savesBelow([file(`step-1/${DELETION_FILE}`), file('step-2/.metadata')]);
    expect(found.map(({ isBeingDeleted }) => isBeingDeleted)).toEqual([true, false]);
  });

  it('are written again if a file is newer than the begin of the deletion', () => {
    const found = savesBelow([
      ...[file(`step-1/${DELETION_FILE}`, 5), file('step-1/.metadata', 5)],
      ...[file(`step-2/${DELETION_FILE}`, 5), file('step-2/.metadata', 6)],
      file('step-3/.metadata', 7),
    ]);
    expect(found.map(({ isWrittenSince }) => isWrittenSince)).toEqual([false, true, false]);
  });

  it.each([
    ['latest', 'global_step30\n', 30],
    ['latest_checkpointed_iteration.txt', '20', 20],
    ['latest_checkpointed_iteration.txt', 'release', undefined],
    ['latest', 'step-40', 40],
    ['README', '20', undefined],
  ])('are named by %s with %j', (path, text, step) => {
    expect(stepOfPointer(path, text)).toBe(step);
  });
});

describe('the deletion of a save begins with', () => {
  it.each([
    ['the metadata of DCP', ['__0_0.distcp', '.metadata', DELETION_FILE], ['.metadata']],
    [
      'both indexes of torch_dist',
      ['common.pt', 'metadata.json', '.metadata', '__0_0.distcp'],
      ['metadata.json', '.metadata'],
    ],
    ['the manifest of Coxswain', ['manifest.json', '.metadata', '__0_0.distcp'], ['manifest.json', '.metadata']],
    [
      'all model states of DeepSpeed',
      ['mp_rank_00_model_states.pt', 'mp_rank_01_model_states.pt', 'zero_pp_rank_0_mp_rank_00_optim_states.pt'],
      ['mp_rank_00_model_states.pt', 'mp_rank_01_model_states.pt'],
    ],
    [
      'the index of safetensors',
      ['model-00001-of-00002.safetensors', 'model.safetensors.index.json'],
      ['model.safetensors.index.json'],
    ],
    [
      'the state of Trainer',
      ['trainer_state.json', 'model.safetensors', 'optimizer.pt'],
      ['trainer_state.json', 'model.safetensors'],
    ],
  ])('%s', (_what, paths, markers) => {
    const order = deletionOrder(paths);
    expect(order.markers).toEqual(markers);
    expect([...order.markers, ...order.data].toSorted()).toEqual(
      paths.filter((path) => path !== DELETION_FILE).toSorted(),
    );
  });
});
