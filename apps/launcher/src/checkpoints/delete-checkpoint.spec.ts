import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DeletionAnswer, type DeletionQuestion } from '@coxswain/api-types';
import { DELETION_FILE } from '@coxswain/checkpoint';
import { type CheckpointStore, DirectoryStore } from '@coxswain/checkpoint-store';
import { sha256 } from '../testing/a-checkpoint.ts';
import { deleteCheckpoint, type DeletionPlaces, runDeletion } from './delete-checkpoint.ts';

type Files = Readonly<Record<string, string>>;

const MANIFEST = JSON.stringify({
  formatVersion: 1,
  engine: 'reference',
  format: 'torch_dcp',
  step: 10,
  layout: {},
  training: {},
  files: [
    { path: '__0_0.distcp', bytes: 4 },
    { path: '.metadata', bytes: 1 },
  ],
});
const manifestSha256 = sha256(MANIFEST);
const SAVE: Files = { 'manifest.json': MANIFEST, '.metadata': 'm', '__0_0.distcp': 'data' };

let root: string;
let writesLeft = Infinity;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'coxswain-deletion-'));
  writesLeft = Infinity;
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(folder: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, folder, path)), { recursive: true });
    writeFileSync(join(root, folder, path), text);
  }
}

/** A claim with saves `old`, `new` and `other`; the first is mounted as `save`, beside a save that must stay whole. */
function places({ old = SAVE, fresh = SAVE, other = SAVE } = {}): DeletionPlaces {
  put('claim/old', old);
  put('claim/new', fresh);
  put('claim/other', other);
  put('pod/save', old);
  put('pod/beside', SAVE);
  mkdirSync(join(root, 'claim'), { recursive: true });
  return { claim: new DirectoryStore(join(root, 'claim')), saves: failing(join(root, 'pod')), folder: 'save' };
}

/** A store whose writes and deletions fail once {@link writesLeft} is spent. */
function failing(directory: string): CheckpointStore {
  const store = new DirectoryStore(directory);
  const spend = (): void => {
    if (writesLeft-- <= 0) throw new Error('EIO');
  };
  return {
    location: directory,
    isRemote: false,
    list: (folder) => store.list(folder),
    folders: (folder) => store.folders(folder),
    read: (path, offset, length) => store.read(path, offset, length),
    write: async (path, chunks, options) => {
      spend();
      return await store.write(path, chunks, options);
    },
    remove: async (paths) => {
      for (const path of paths) {
        spend();
        await store.remove([path]);
      }
    },
  };
}

const QUESTION: DeletionQuestion = {
  save: { path: 'old', manifestSha256 },
  isMounted: true,
  survivors: [
    { path: 'new', manifestSha256 },
    { path: 'other', manifestSha256 },
  ],
};
/** Files of a folder that are left. */
function left(folder: string): readonly string[] {
  try {
    return readdirSync(join(root, folder)).toSorted();
  } catch {
    return [];
  }
}

const without = (path: string): Files => Object.fromEntries(Object.entries(SAVE).filter(([one]) => one !== path));

it('deletes the save and nothing beside it', async () => {
  expect(await deleteCheckpoint(QUESTION, places())).toEqual({ version: 1, outcome: 'Deleted', files: 3 });
  expect([left('pod/save'), left('pod/beside'), left('claim/new')]).toEqual([
    [],
    Object.keys(SAVE).toSorted(),
    Object.keys(SAVE).toSorted(),
  ]);
});

it.each<[what: string, files: Parameters<typeof places>[0], why: RegExp, absent: readonly number[]]>([
  ['another manifest', { old: { ...SAVE, 'manifest.json': '{}' } }, /not the one that was recorded/, []],
  [
    'a file that was put there later',
    { old: { ...SAVE, 'export.safetensors': 'x' } },
    /export.safetensors was put into/,
    [],
  ],
  ['no manifest', { old: without('manifest.json') }, /has no manifest.json/, []],
  [
    'a survivor without a file',
    { fresh: without('__0_0.distcp') },
    /new, which is to stay, is not whole: __0_0.distcp is missing/,
    [],
  ],
  ['a survivor of another manifest', { fresh: { ...SAVE, 'manifest.json': '{}' } }, /new, which is to stay/, []],
  ['a survivor that is gone', { fresh: {} }, /new, which is to stay, is not whole: it has no files/, [0]],
  ['survivors that are all gone, as where a mount is not there', { fresh: {}, other: {} }, /new, which is to stay/, []],
])('deletes nothing beside %s', async (_what, files, why, absent) => {
  const answer = await deleteCheckpoint(QUESTION, places(files));
  expect(answer).toMatchObject({ outcome: 'Kept', why: expect.stringMatching(why) as string });
  expect([answer.absent ?? [], left('pod/save')]).toEqual([absent, left('claim/old')]);
});

it.each<[what: string, files: Parameters<typeof places>[0], outcome: DeletionAnswer['outcome']]>([
  ['gone', { old: {} }, 'Deleted'],
  ['there', {}, 'Kept'],
  ['half deleted', { old: { [DELETION_FILE]: '', '__0_0.distcp': 'data' } }, 'Unfinished'],
])('only looks at a save that is thought to be gone, which is %s', async (_what, files, outcome) => {
  expect((await deleteCheckpoint({ ...QUESTION, isMounted: false }, places(files))).outcome).toBe(outcome);
});

const HALF: Files = { [DELETION_FILE]: '', '__0_0.distcp': 'data' };

it.each<[what: string, old: Files, outcome: DeletionAnswer['outcome']]>([
  ['begins no deletion', SAVE, 'Kept'],
  ['completes one that has begun', { '__0_0.distcp': 'data', [DELETION_FILE]: '' }, 'Deleted'],
])('a second worker %s', async (_what, old, outcome) => {
  const answer = await deleteCheckpoint({ ...QUESTION, onlyIfBegun: true }, places({ old }));
  expect(answer.outcome).toBe(outcome);
});

it('keeps a save whose folder is a link to another place', async () => {
  const there = places({ old: {} });
  put('claim/archive', SAVE);
  put('pod/save', SAVE);
  symlinkSync(join(root, 'claim/archive'), join(root, 'claim/old'));
  expect(await deleteCheckpoint(QUESTION, there)).toMatchObject({
    outcome: 'Kept',
    why: expect.stringMatching(/is a link/) as string,
  });
  expect(left('pod/save')).toHaveLength(3);
});

it('completes a deletion that has begun, although a survivor is gone by now', async () => {
  const at = places({ old: HALF, fresh: {} });
  utimesSync(join(root, 'pod/save/__0_0.distcp'), 1, 1);
  expect((await deleteCheckpoint(QUESTION, at)).outcome).toBe('Deleted');
  expect(left('pod/save')).toEqual([]);
});

it('stops where something wrote to the save after its deletion began', async () => {
  const at = places({ old: HALF });
  utimesSync(join(root, 'pod/save', DELETION_FILE), 1, 1);
  expect(await deleteCheckpoint(QUESTION, at)).toMatchObject({ outcome: 'Unfinished' });
  expect(left('pod/save')).toEqual(Object.keys(HALF).toSorted());
});

it.each(Array.from({ length: 5 }, (_, writes) => writes))(
  'is completed by the next worker after write %d failed',
  async (writes) => {
    const at = places();
    writesLeft = writes;
    const first = await deleteCheckpoint(QUESTION, at);
    expect(first).toMatchObject({ outcome: writes === 0 ? 'Kept' : 'Unfinished', why: 'EIO' });
    // Data goes only once no launcher verifies the save, and no engine loads it.
    const isLoadable = left('pod/save').includes('manifest.json') || left('pod/save').includes('.metadata');
    expect(isLoadable).toBe(left('pod/save').includes('__0_0.distcp') && writes < 3);
    writesLeft = Infinity;
    expect((await deleteCheckpoint(QUESTION, at)).outcome).toBe('Deleted');
    expect(left('pod/save')).toEqual([]);
  },
);

it('answers a question that it cannot read', async () => {
  const path = join(root, 'log');
  expect(await runDeletion('{', { COXSWAIN_TERMINATION_LOG: path })).toBe(0);
  expect(DeletionAnswer.parse(JSON.parse(readFileSync(path, 'utf8')))).toMatchObject({ outcome: 'Kept' });
});

describe('the folder of a conversion', () => {
  const folder = 'run/global_step20.coxswain-converted';
  const question: DeletionQuestion = {
    save: { path: folder, manifestSha256: '0'.repeat(64) },
    isMounted: true,
    survivors: [],
    isConversion: true,
  };
  const at = (): DeletionPlaces => {
    put(`claim/${folder}/global_step20_universal`, { '__0_0.part': 'half' });
    put('pod/save/global_step20.coxswain-converted/global_step20_universal', { '__0_0.part': 'half' });
    put('pod/save/global_step20', SAVE);
    return {
      claim: new DirectoryStore(join(root, 'claim')),
      saves: new DirectoryStore(join(root, 'pod')),
      folder: 'save',
    };
  };

  it('goes half written and without a manifest, and the save beside it stays', async () => {
    expect(await deleteCheckpoint(question, at())).toMatchObject({ outcome: 'Deleted', files: 1 });
    expect([
      left('pod/save/global_step20.coxswain-converted/global_step20_universal'),
      left('pod/save/global_step20'),
    ]).toEqual([[], Object.keys(SAVE).toSorted()]);
  });

  it('is the only folder that goes so', async () => {
    const save = { path: 'run/global_step20', manifestSha256 };
    const there = at();
    put('claim/run/global_step20', SAVE);
    const answer = await deleteCheckpoint({ ...question, save }, there);
    expect([answer.outcome, left('pod/save/global_step20')]).toEqual(['Kept', Object.keys(SAVE).toSorted()]);
  });
});
