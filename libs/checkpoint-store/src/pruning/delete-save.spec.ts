import { DELETION_FILE, savesBelow, verifySave } from '@coxswain/checkpoint';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { crc32 } from 'node:zlib';
import { runReading } from '../reading/run-reading.ts';
import { Killed, MemoryStore } from '../testing/memory-store.ts';
import { deleteSave } from './delete-save.ts';

const SAVE = resolve(import.meta.dirname, '../../../checkpoint/fixtures/dcp-2.15.0');
const FILES = Object.fromEntries(readdirSync(SAVE).map((path) => [path, readFileSync(join(SAVE, path))]));

/** Two saves, side by side. */
const newStore = (): MemoryStore =>
  new MemoryStore(
    Object.fromEntries(
      ['step-1', 'step-2'].flatMap((folder) =>
        Object.entries(FILES).map(([path, bytes]) => [`${folder}/${path}`, bytes]),
      ),
    ),
  );

async function deleteFirst(store: MemoryStore): Promise<void> {
  const [first] = savesBelow(await store.list()).filter(({ name }) => name === 'step-1');
  if (first !== undefined)
    await deleteSave(
      store,
      'step-1',
      first.files.map(({ path }) => path),
    );
}

async function verdictOf(store: MemoryStore, folder: string): Promise<string | undefined> {
  const save = savesBelow(await store.list()).find(({ name }) => name === folder);
  if (save === undefined) return undefined;
  const files = new Map(save.files.map(({ path }) => [path, store.files.get(`${folder}/${path}`) ?? new Uint8Array()]));
  const only = new MemoryStore(Object.fromEntries(files));
  return (await runReading(only, save.files, verifySave(save.files, { level: 'V3', crc32 }))).verdict;
}

/** Writes and deletions of one run: the file that marks it, twice, and all files. */
const WRITES = Object.keys(FILES).length + 2;

it('the deletion of a save leaves nothing of it, and the save beside it as it was', async () => {
  const store = newStore();
  await deleteFirst(store);
  expect([await verdictOf(store, 'step-1'), await verdictOf(store, 'step-2')]).toEqual([undefined, 'sound']);
});

describe.each(Array.from({ length: WRITES }, (_, writes) => writes))(
  'a deletion that is killed before write %d',
  (writes) => {
    let store: MemoryStore;
    beforeEach(async () => {
      store = newStore();
      store.writesLeft = writes;
      await expect(deleteFirst(store)).rejects.toThrow(Killed);
      store.writesLeft = Infinity;
    });

    it('leaves a save that is whole, or one that does not count as a save', async () => {
      expect(await verdictOf(store, 'step-1')).toBe(writes === 0 ? 'sound' : 'incomplete');
    });

    it('has deleted no data while an engine could load the save', () => {
      const left = [...store.files.keys()].filter((path) => path.startsWith('step-1/'));
      const isLoadable = left.includes('step-1/.metadata');
      const data = left.filter((path) => path.endsWith('.distcp')).length;
      expect(isLoadable && data < Object.keys(FILES).length - 1).toBe(false);
    });

    it('is completed by the next run', async () => {
      await deleteFirst(store);
      expect([...store.files.keys()].filter((path) => path.startsWith('step-1/'))).toEqual([]);
    });

    it('is seen by the next run', async () => {
      const save = savesBelow(await store.list()).find(({ name }) => name === 'step-1');
      expect([save?.isBeingDeleted, save?.files.some(({ path }) => path === DELETION_FILE)]).toEqual([
        writes > 0,
        writes > 0,
      ]);
    });
  },
);
