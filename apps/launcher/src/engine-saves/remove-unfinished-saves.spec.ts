import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { removeUnfinishedSaves } from './remove-unfinished-saves.ts';

const PART = '__0_0.distcp';

describe('unfinished saves', () => {
  let claim = '';
  beforeEach(() => (claim = mkdtempSync(join(tmpdir(), 'coxswain-saves-'))));
  afterEach(() => rmSync(claim, { recursive: true }));
  const write = (...files: readonly string[]): void => {
    for (const file of files) {
      mkdirSync(dirname(join(claim, file)), { recursive: true });
      writeFileSync(join(claim, file), 'x');
    }
  };

  it.each<[string, readonly string[], boolean]>([
    ['of an earlier attempt are removed', [`a/epoch-1/step-20/${PART}`], true],
    ['of an earlier incarnation are removed', [`a/epoch-3/step-20/${PART}`], true],
    ['of this run stay', [`a/epoch-3-2/step-20/${PART}`], false],
    ['of a later run stay', [`a/epoch-4/step-20/${PART}`], false],
    ['of another job stay', [`b/epoch-1/step-20/${PART}`], false],
    [
      'that have their manifest are complete and stay',
      [`a/epoch-1/step-20/${PART}`, 'a/epoch-1/step-20/manifest.json'],
      false,
    ],
    [
      'that have their metadata may be complete and stay',
      [`a/epoch-1/step-20/${PART}`, 'a/epoch-1/step-20/.metadata'],
      false,
    ],
    ['with a file of another kind stay', [`a/epoch-1/step-20/${PART}`, 'a/epoch-1/step-20/notes.txt'], false],
    ['with another name stay', [`a/epoch-1/best/${PART}`], false],
  ])('%s', async (_sentence, files, isRemoved) => {
    write(...files);
    const removed = await removeUnfinishedSaves(join(claim, 'a/epoch-3-2'));
    expect(removed).toHaveLength(isRemoved ? 1 : 0);
    expect(files.map((file) => existsSync(join(claim, file)))).toEqual(files.map(() => !isRemoved));
  });

  it('behind a link stay, and a claim without saves is well', async () => {
    write(`b/step-20/${PART}`);
    mkdirSync(join(claim, 'a'));
    symlinkSync(join(claim, 'b'), join(claim, 'a/epoch-1'));
    expect(await removeUnfinishedSaves(join(claim, 'a/epoch-2'))).toEqual([]);
    expect(await removeUnfinishedSaves(join(claim, 'nowhere/epoch-2'))).toEqual([]);
    expect(existsSync(join(claim, `b/step-20/${PART}`))).toBe(true);
  });
});
