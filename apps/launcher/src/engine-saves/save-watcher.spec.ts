import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aLayout } from '@coxswain/layout/testing';
import { waitFor } from '@coxswain/local-cluster';
import type { SavedFact } from '../facts/engine-facts.ts';
import { SaveWatcher } from './save-watcher.ts';
import { WATCH_SAVES } from './watch-saves.ts';

const PROGRAM = [process.execPath, join(import.meta.dirname, '../main.ts'), WATCH_SAVES] as const;
const QUICK = { hashMs: 1_000, limitMs: 60_000 };

let root = '';
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'save-watcher-'))));
afterEach(() => rmSync(root, { recursive: true }));

interface Watching {
  readonly watcher: SaveWatcher;
  readonly saved: SavedFact[];
  readonly logged: string[];
}

function watch(program: readonly [string, ...string[]] = PROGRAM, patienceMs = 60_000): Watching {
  const saved: SavedFact[] = [];
  const logged: string[] = [];
  const watcher = new SaveWatcher({
    watched: {
      saveDirectory: root,
      format: 'dcp',
      worldSize: 1,
      savedBy: { engine: 'torchtitan', layout: aLayout() },
    },
    onSaved: (fact) => saved.push(fact),
    logLine: (sentence) => logged.push(sentence),
    patienceMs,
    watcher: program,
    pauseMs: 0,
  });
  return { watcher, saved, logged };
}

function save(step: number): void {
  const directory = join(root, `step-${step}`);
  mkdirSync(directory);
  writeFileSync(join(directory, '__0_0.distcp'), 'tensors');
  writeFileSync(join(directory, '.metadata'), 'where');
}

describe('whoever watches the saves of an engine', () => {
  it('tells of one while the engine trains, and of the last when it has ended', async () => {
    const { watcher, saved, logged } = watch();
    save(4);
    await waitFor(() => saved.length === 1, { what: 'the save to be seen' });
    save(8);
    await watcher.finish(QUICK);
    expect(saved.map(({ step, directory }) => [step, directory])).toEqual([
      [4, 'step-4'],
      [8, 'step-8'],
    ]);
    expect(logged).toEqual([]);
  });

  it('looks once more in the place of a process that was killed, and tells of nothing twice', async () => {
    const mark = join(root, 'killed');
    // The first one is killed when it has told of its first save.
    const script = `[ -e ${mark} ] && exec "$@"; "$@" | while read -r line; do echo "$line"; case $line in *step-4*) touch ${mark}; kill -9 $$;; esac; done`;
    const { watcher, saved } = watch(['/bin/bash', '-c', script, 'watch', ...PROGRAM]);
    save(4);
    await waitFor(() => existsSync(mark), { what: 'the first process to be killed' });
    save(8);
    await watcher.finish(QUICK);
    expect(saved.map(({ step }) => step)).toEqual([4, 8]);
  });

  it('is followed by five at most where each ends without a word', async () => {
    const tries = join(root, 'tries');
    const { watcher, logged } = watch(['/bin/bash', '-c', `printf . >> ${tries}`]);
    await waitFor(() => logged.length > 0, { what: 'it to be given up' });
    await watcher.finish(QUICK);
    expect(readFileSync(tries, 'utf8')).toBe('.....');
    expect(logged).toEqual([
      'Checkpoints of the engine are no longer watched: the watching process failed five times in a row.',
    ]);
  });

  it('is left behind where the file system gives no answer', async () => {
    const { watcher, logged } = watch(['/bin/bash', '-c', 'exec sleep 600'], 200);
    await waitFor(() => logged.length > 0, { what: 'it to be given up' });
    await watcher.finish(QUICK);
    expect(logged).toEqual([
      'Checkpoints of the engine are no longer watched: the watching process failed five times in a row.',
    ]);
  });

  it('is not waited for longer than there is time', async () => {
    const { watcher, saved } = watch(['/bin/bash', '-c', 'while :; do echo; read -t 0.05; done']);
    await watcher.finish({ hashMs: 0, limitMs: 50 });
    expect(saved).toEqual([]);
  });
});
