import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemorySavesOfPod } from './memory-saves.ts';

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'memory-saves-'));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

/** Saves of a pod, as its ranks have left them. */
function aPod(files: readonly string[]): { readonly saves: MemorySavesOfPod; readonly directory: string } {
  const saves = new MemorySavesOfPod({ podUid: 'a-pod/../..' }, { everySteps: 10, bytes: 1000 }, place);
  const directory = saves.variables(undefined)['COXSWAIN_MEMORY_DIR'] ?? '';
  for (const file of files) {
    mkdirSync(join(directory, file, '..'), { recursive: true });
    writeFileSync(join(directory, file), 'state');
  }
  return { saves, directory };
}

describe('saves in the memory of a pod', () => {
  it.each([
    ['whose ranks all have two', ['rank-2/1-50', 'rank-2/1-60', 'rank-3/1-50', 'rank-3/1-60'], [60, 50]],
    [
      'with a rank that was killed while it saved',
      ['rank-2/1-60', 'rank-2/1-50', 'rank-3/1-50', 'rank-3/partial'],
      [50],
    ],
    ['with a rank that has none', ['rank-2/1-60', 'rank-4/1-60'], []],
    ['that were never written', [], []],
    ['with other files', ['rank-2/1-60', 'rank-3/1-60', 'rank-2/x', 'rank-3/x', 'rank-2/1-60.tmp'], [60]],
  ])('%s are reported', (_sentence, files, want) => {
    expect(
      aPod(files)
        .saves.savedBy([2, 3])
        .map(({ step }) => step),
    ).toEqual(want);
  });

  it('are none of a pod without ranks', () => {
    expect(aPod(['rank-2/1-60']).saves.savedBy([])).toEqual([]);
  });

  it('are no more than the operator reads', () => {
    const files = Array.from({ length: 20 }, (_, step) => `rank-2/1-${step}`);
    expect(aPod(files).saves.savedBy([2])).toHaveLength(8);
  });

  it('keep only the one that ranks begin from, and nothing that is unfinished', () => {
    const { saves, directory } = aPod(['rank-2/1-50', 'rank-2/1-60', 'rank-2/partial']);
    saves.keepOnly({ incarnation: 1, step: 50 });
    expect(readdirSync(join(directory, 'rank-2'))).toEqual(['1-50']);
    saves.keepOnly(undefined);
    expect(readdirSync(join(directory, 'rank-2'))).toEqual([]);
  });

  it('are in a folder of the pod alone, which ends with it', () => {
    const { saves, directory } = aPod(['rank-2/1-50']);
    expect(directory).toBe(join(place, 'coxswain-saves-a-pod'));
    saves.end();
    expect(existsSync(directory)).toBe(false);
    saves.end();
  });

  it('tell ranks where, how often, how large, and which to begin from', () => {
    const { saves, directory } = aPod([]);
    const always = {
      COXSWAIN_MEMORY_DIR: directory,
      COXSWAIN_MEMORY_SAVE_EVERY: '10',
      COXSWAIN_MEMORY_SAVE_BYTES: '1000',
    };
    expect(saves.variables(undefined)).toEqual(always);
    expect(saves.variables({ incarnation: 2, step: 50 })).toEqual({ ...always, COXSWAIN_MEMORY_RESUME: '2-50' });
  });
});
