import { Killed, MemoryStore } from '../testing/memory-store.ts';
import { exportSave } from './export-save.ts';

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));
const SAVE = { '.metadata': bytes('all'), '__0_0.distcp': bytes('first'), '__1_0.distcp': bytes('second') };

async function copyTo(to: MemoryStore, verify = (): Promise<void> => Promise.resolve(), from = new MemoryStore(SAVE)) {
  return await exportSave({ from, files: await from.list(), to, verify });
}

it('copies all files, the marker last', async () => {
  const to = new MemoryStore({});
  expect(await copyTo(to)).toEqual({ copied: 3, present: 0 });
  expect([...to.files.keys()].at(-1)).toBe('.metadata');
  expect(Object.fromEntries(to.files)).toEqual(SAVE);
});

it('copies nothing again', async () => {
  const to = new MemoryStore({});
  await copyTo(to);
  to.writesLeft = 0;
  expect(await copyTo(to)).toEqual({ copied: 0, present: 3 });
});

it.each([0, 1, 2])('goes on after it was killed at write %i, and has no marker until then', async (writes) => {
  const to = new MemoryStore({});
  to.writesLeft = writes;
  await expect(copyTo(to)).rejects.toThrow(Killed);
  expect(to.files.has('.metadata')).toBe(false);
  to.writesLeft = Infinity;
  await copyTo(to);
  expect(Object.fromEntries(to.files)).toEqual(SAVE);
});

it('removes the draft of a file that a killed copy left', async () => {
  const to = new MemoryStore({ '__0_0.distcp.00000000-0000-4000-8000-000000000000.part': bytes('fi') });
  await copyTo(to);
  expect(Object.fromEntries(to.files)).toEqual(SAVE);
});

it('publishes no copy that does not verify', async () => {
  const to = new MemoryStore({});
  await expect(copyTo(to, () => Promise.reject(new Error('damaged')))).rejects.toThrow('damaged');
  expect(to.files.has('.metadata')).toBe(false);
});

it('verifies the copied data with the marker of the original', async () => {
  const read: string[] = [];
  const from = new MemoryStore(SAVE);
  const files = await from.list();
  const to = new MemoryStore({});
  await exportSave({
    from,
    files,
    to,
    verify: async (store) => {
      for (const { path, bytes: length } of files)
        read.push(
          `${to.files.has(path) ? 'copy' : 'original'} ${Buffer.from(await store.read(path, 0, length)).toString()}`,
        );
    },
  });
  expect(read).toEqual(['original all', 'copy first', 'copy second']);
});

it.each<[what: string, there: Record<string, Uint8Array>, why: RegExp]>([
  ['a file of other content', { '__0_0.distcp': bytes('FIRST') }, /__0_0\.distcp in memory differs/],
  ['a file of another size', { '__0_0.distcp': bytes('x') }, /__0_0\.distcp in memory differs/],
  ['a file of something else', { notes: bytes('x') }, /holds notes, which is not of this save/],
])('refuses a place with %s, and changes nothing', async (_what, there, why) => {
  const to = new MemoryStore(there);
  await expect(copyTo(to)).rejects.toThrow(why);
  expect(Object.fromEntries(to.files)).toEqual(there);
});
