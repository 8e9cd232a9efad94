import { removeAbandonedFolders, type FolderFacts, type SharedFolder } from './abandoned-folders.ts';

const ME = 1000;
const OLD = 0;
const NEW = 900;

/** A temporary folder of the machine, with what each entry refuses. */
class ScriptedFolder implements SharedFolder {
  readonly removed: string[] = [];
  readonly #entries: Readonly<Record<string, ScriptedEntry>>;
  readonly #listingFails: string | undefined;

  constructor(entries: Readonly<Record<string, ScriptedEntry>>, listingFails?: string) {
    this.#entries = entries;
    this.#listingFails = listingFails;
  }

  list(): string[] {
    if (this.#listingFails !== undefined) throw new Error(this.#listingFails);
    return Object.keys(this.#entries);
  }

  read(name: string): FolderFacts {
    const { readFails, isDirectory = true, uid = ME, modifiedAtMs = OLD } = this.#entries[name] ?? {};
    if (readFails !== undefined) throw new Error(readFails);
    return { isDirectory, uid, modifiedAtMs };
  }

  remove(name: string): void {
    const fails = this.#entries[name]?.removeFails;
    if (fails !== undefined) throw new Error(fails);
    this.removed.push(name);
  }
}

interface ScriptedEntry extends Partial<FolderFacts> {
  readonly readFails?: string;
  readonly removeFails?: string;
}

const remove = (folder: SharedFolder, uid = ME): void =>
  removeAbandonedFolders(folder, {
    uid,
    isAbandoned: (name, { modifiedAtMs }) => name.startsWith('run-') && modifiedAtMs < NEW,
  });

describe('tidying up in a folder that users share', () => {
  it.each<[string, Readonly<Record<string, ScriptedEntry>>, readonly string[]]>([
    ['removes an abandoned folder of this user', { 'run-1': {} }, ['run-1']],
    ['keeps a folder that is still in use', { 'run-1': { modifiedAtMs: NEW } }, []],
    ['keeps a folder with another name', { 'cache-1': {} }, []],
    ['keeps a folder of another user', { 'run-1': { uid: 1001 }, 'run-2': {} }, ['run-2']],
    ['keeps a folder of root', { 'run-1': { uid: 0 } }, []],
    ['keeps a file and a symbolic link', { 'run-1': { isDirectory: false } }, []],
    [
      'goes on after an entry that it cannot read',
      { 'run-1': { readFails: 'EACCES, Permission denied' }, 'run-2': {} },
      ['run-2'],
    ],
    [
      'goes on after a folder that it cannot remove',
      { 'run-1': { removeFails: 'EACCES, Permission denied' }, 'run-2': {} },
      ['run-2'],
    ],
    [
      'goes on when another process has just removed a folder',
      { 'run-1': { readFails: 'ENOENT' }, 'run-2': {} },
      ['run-2'],
    ],
  ])('%s', (_, entries, removed) => {
    const folder = new ScriptedFolder(entries);
    remove(folder);
    expect(folder.removed).toEqual(removed);
  });

  it('keeps a folder of an ordinary user when it runs as root', () => {
    const folder = new ScriptedFolder({ 'run-1': { uid: ME }, 'run-2': { uid: 0 } });
    remove(folder, 0);
    expect(folder.removed).toEqual(['run-2']);
  });

  it('does nothing in a folder that it cannot list', () => {
    expect(() => remove(new ScriptedFolder({ 'run-1': {} }, 'EACCES, Permission denied'))).not.toThrow();
  });
});
