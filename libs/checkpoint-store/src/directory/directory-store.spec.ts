import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DirectoryStore } from './directory-store.ts';

let directory: string;
let store: DirectoryStore;
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'coxswain-store-')), 'saves');
  mkdirSync(directory);
  store = new DirectoryStore(directory);
});
afterEach(() => rmSync(join(directory, '..'), { recursive: true }));

const text = (path: string): string => readFileSync(join(directory, path), 'utf8');
const bytes = (content: string): readonly Uint8Array[] => [...content].map((each) => Buffer.from(each));

describe('a directory of saves', () => {
  it('writes a file whole, in folders that it makes, and lists it', async () => {
    expect(await store.write('step-1/shards/0', bytes('content'))).toBe(true);
    expect(text('step-1/shards/0')).toBe('content');
    expect(await store.list()).toEqual([
      { path: 'step-1/shards/0', bytes: 7, writtenMs: expect.any(Number) as number },
    ]);
  });

  it('names the folders right below one', async () => {
    for (const path of ['logs/a/1/x', 'logs/a/2/x', 'logs/b/1/x', 'logs/file']) await store.write(path, bytes('0'));
    symlinkSync(join(directory, '..'), join(directory, 'logs/link'));
    expect((await store.folders('logs')).toSorted()).toEqual(['a', 'b']);
    expect(await store.folders('nothing')).toEqual([]);
  });

  it('leaves nothing of a file that could not be written', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(Buffer.from('half'));
      throw new Error('the source is gone');
    }
    await expect(store.write('step-1/0', broken())).rejects.toThrow('the source is gone');
    expect(await store.list()).toEqual([]);
  });

  it('leaves a file that exists as it is, if it must not exist', async () => {
    expect(await store.write('marker', bytes('first'), { ifAbsent: true })).toBe(true);
    expect(await store.write('marker', bytes('second'), { ifAbsent: true })).toBe(false);
    expect([text('marker'), readdirSync(directory)]).toEqual(['first', ['marker']]);
    await store.write('marker', bytes('third'));
    expect(text('marker')).toBe('third');
  });

  it('deletes files and the folders that become empty, and no other', async () => {
    await store.write('step-1/shards/0', bytes('0'));
    await store.write('step-2/0', bytes('0'));
    await store.write('step-2/1', bytes('1'));
    await store.remove(['step-1/shards/0', 'step-2/0', 'step-3/never']);
    expect([readdirSync(directory), readdirSync(join(directory, 'step-2'))]).toEqual([['step-2'], ['1']]);
  });

  it('deletes a link, not what it leads to', async () => {
    const outside = join(directory, '../outside');
    writeFileSync(outside, 'precious');
    mkdirSync(join(directory, 'step-1'));
    symlinkSync(outside, join(directory, 'step-1/0'));
    symlinkSync(join(directory, '..'), join(directory, 'step-1/folder'));
    expect((await store.list()).map(({ path, isLink }) => [path, isLink]).toSorted()).toEqual([
      ['step-1/0', true],
      ['step-1/folder', true],
    ]);
    await store.remove(['step-1/0', 'step-1/folder']);
    expect([readFileSync(outside, 'utf8'), readdirSync(directory)]).toEqual(['precious', []]);
  });

  it('lists one folder; none that does not exist', async () => {
    for (const path of ['step-1/0', 'step-1/shards/1', 'step-10/0']) await store.write(path, bytes('0'));
    const paths = async (folder: string): Promise<readonly string[]> =>
      (await store.list(folder)).map(({ path }) => path).toSorted();
    expect([await paths('step-1'), await paths('step-2')]).toEqual([['step-1/0', 'step-1/shards/1'], []]);
  });

  it('finds those of many files that exist, and what is a link', async () => {
    await store.write('step-1/0', bytes('content'));
    symlinkSync('0', join(directory, 'step-1/1'));
    let answers = 0;
    const found = await store.find(['step-1/0', 'step-1/1', 'step-1/0/2', 'step-2/0'], () => (answers += 1));
    expect(found.map(({ path, bytes: size, isLink }) => [path, size, isLink === true])).toEqual([
      ['step-1/0', 7, false],
      ['step-1/1', 1, true],
    ]);
    expect(answers).toBe(1);
  });

  it('keeps the last file open for a reader, and counts what it reads', async () => {
    await store.write('0', bytes('content'));
    await store.write('1', bytes('other'));
    const counted: number[] = [];
    const reader = store.openReader((count) => counted.push(count));
    const read = async (path: string, offset: number): Promise<string> =>
      Buffer.from(await reader.read(path, offset, 4)).toString();
    const first = await read('0', 0);
    rmSync(join(directory, '0'));
    expect([first, await read('0', 3), await read('1', 4)]).toEqual(['cont', 'tent', 'r']);
    await expect(read('0', 0)).rejects.toThrow('it does not exist, or was deleted');
    await reader.close();
    expect(counted).toEqual([4, 4, 1, 0]);
  });

  it('says where a link leads, if that is below it', async () => {
    await store.write('step-1/0', bytes('0'));
    const targets = { latest: 'step-1', outside: '..', broken: 'step-2', itself: '.' };
    for (const [path, target] of Object.entries(targets)) symlinkSync(target, join(directory, path));
    const leading = (await store.list()).flatMap(({ path, leadsTo }) => (leadsTo === undefined ? [] : [path, leadsTo]));
    expect(leading).toEqual(['latest', 'step-1']);
  });

  it.each(['../outside', '/etc/passwd', 'step-1/../../outside'])('has no file %s', async (path) => {
    await expect(store.write(path, bytes('x'))).rejects.toThrow('is outside of');
    await expect(store.remove([path])).rejects.toThrow('is outside of');
    await expect(store.read(path, 0, 1)).rejects.toThrow('is outside of');
  });

  it.each<[string, () => Promise<unknown>, RegExp]>([
    [
      'a file that does not exist',
      () => store.read('step-1/0', 0, 1),
      /^Cannot read step-1\/0 in .*: it does not exist, or was deleted \(ENOENT\)\.$/,
    ],
    ['a link', () => store.read('link', 0, 1), /it is a link, and links are not followed \(ELOOP\)/],
    [
      'a directory that does not exist',
      () => new DirectoryStore('/nowhere').list(),
      /^Cannot list files in \/nowhere: it does not exist/,
    ],
    [
      'a file below a file',
      () => store.write('file/0', bytes('x')),
      /the file system answers with an error \((ENOTDIR|EEXIST)\)/,
    ],
  ])('says what is wrong with %s', async (_what, work, message) => {
    symlinkSync('/etc/passwd', join(directory, 'link'));
    writeFileSync(join(directory, 'file'), '');
    await expect(work()).rejects.toThrow(message);
  });
});
