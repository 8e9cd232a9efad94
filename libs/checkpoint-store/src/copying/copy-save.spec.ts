import { createHash } from 'node:crypto';
import { halfUploadedSaves, MANIFEST_FILE, UPLOAD_FILE } from '@coxswain/checkpoint';
import { Killed, MemoryStore } from '../testing/memory-store.ts';
import { copySave } from './copy-save.ts';

const FOLDER = 'tiny/epoch-1/step-10';
const FILES = { 'rank-0.bin': 'weights of rank 0', 'deep/rank-1.bin': 'weights of rank 1', empty: '' };

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const MANIFEST = JSON.stringify({
  formatVersion: 1,
  engine: 'reference',
  format: 'coxswain-reference',
  step: 10,
  layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 },
  training: {},
  files: Object.entries(FILES).map(([path, text]) => ({ path, bytes: text.length, sha256: sha256(text) })),
});
const SAVE = { folder: FOLDER, manifestSha256: sha256(MANIFEST) };

function aSave(changes: Readonly<Record<string, string>> = {}): MemoryStore {
  const all = Object.entries({ ...FILES, [MANIFEST_FILE]: MANIFEST, ...changes });
  return new MemoryStore(Object.fromEntries(all.map(([path, text]) => [`${FOLDER}/${path}`, Buffer.from(text)])));
}

function textsOf({ files }: MemoryStore): Readonly<Record<string, string>> {
  return Object.fromEntries([...files].map(([path, bytes]) => [path, Buffer.from(bytes).toString()]).sort());
}

/** Writes of a copy: the marker, three files, the manifest, and the end of the marker. */
const WRITES = 6;

describe('a save that is copied', () => {
  it('is the same in the other store, and no marker is left', async () => {
    const to = new MemoryStore({});
    await copySave(SAVE, { from: aSave(), to });
    expect(textsOf(to)).toEqual(textsOf(aSave()));
    to.writesLeft = 1;
    await copySave(SAVE, { from: aSave(), to });
  });

  it.each(Array.from({ length: WRITES }, (_, writes) => writes))(
    'is whole or marked as half-uploaded where the process ends after %i writes, and a second copy completes it',
    async (writes) => {
      const to = new MemoryStore({ [`${FOLDER}-of-a-user/notes`]: Buffer.from('keep') });
      to.writesLeft = writes;
      await expect(copySave(SAVE, { from: aSave(), to })).rejects.toThrow(Killed);
      const listed = [...to.files.keys()];
      const isWhole = listed.includes(`${FOLDER}/${MANIFEST_FILE}`);
      if (isWhole) expect(Object.keys(FILES).every((path) => listed.includes(`${FOLDER}/${path}`))).toBe(true);
      const half = halfUploadedSaves(await to.list()).map(({ folder }) => folder);
      expect(half).toEqual(writes === 0 || isWhole ? [] : [FOLDER]);
      to.writesLeft = Infinity;
      await copySave(SAVE, { from: aSave(), to });
      to.files.delete(`${FOLDER}-of-a-user/notes`);
      expect(textsOf(to)).toEqual(textsOf(aSave()));
    },
  );

  it.each<[string, Readonly<Record<string, string>>, RegExp]>([
    ['a file has other bytes', { 'rank-0.bin': 'weights of rank 1' }, /rank-0\.bin in memory has SHA-256/],
    ['a file has another size', { 'rank-0.bin': 'w' }, /rank-0\.bin in memory has 1 bytes, not 17 bytes/],
    ['the manifest is another one', { [MANIFEST_FILE]: '{}' }, /manifest\.json in memory has SHA-256/],
  ])('is not published if %s', async (_what, changes, message) => {
    const to = new MemoryStore({});
    await expect(copySave(SAVE, { from: aSave(changes), to })).rejects.toThrow(message);
    expect([...to.files.keys()]).not.toContain(`${FOLDER}/${MANIFEST_FILE}`);
  });

  it('is not published if another run deletes a file of it meanwhile, and is completed by the next copy', async () => {
    const to = new MemoryStore({});
    const write = to.write.bind(to);
    to.write = async (...args) => {
      const isWritten = await write(...args);
      if (args[0].endsWith('rank-1.bin')) to.files.delete(args[0]);
      return isWritten;
    };
    await expect(copySave(SAVE, { from: aSave(), to })).rejects.toThrow(/deep\/rank-1\.bin is not there/);
    expect([...to.files.keys()]).not.toContain(`${FOLDER}/${MANIFEST_FILE}`);
    to.write = write;
    await copySave(SAVE, { from: aSave(), to });
    expect(textsOf(to)).toEqual(textsOf(aSave()));
  });

  it('never replaces a published save of other content', async () => {
    const other = aSave({ [MANIFEST_FILE]: '{}', 'rank-0.bin': 'other' });
    const before = textsOf(other);
    await expect(copySave(SAVE, { from: aSave(), to: other })).rejects.toThrow(/manifest\.json in memory has SHA-256/);
    expect(textsOf(other)).toEqual(before);
  });

  it.each([1, 2, 3])(
    'takes nothing from a half-uploaded save of another manifest, killed after %i writes',
    async (writes) => {
      const to = new MemoryStore({
        [`${FOLDER}/${UPLOAD_FILE}`]: Buffer.from(sha256('another')),
        [`${FOLDER}/rank-0.bin`]: Buffer.from('x'.repeat(FILES['rank-0.bin'].length)),
      });
      to.writesLeft = writes;
      await expect(copySave(SAVE, { from: aSave(), to })).rejects.toThrow(Killed);
      to.writesLeft = Infinity;
      await copySave(SAVE, { from: aSave(), to });
      expect(textsOf(to)).toEqual(textsOf(aSave()));
    },
  );
});
