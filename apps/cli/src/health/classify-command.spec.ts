import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';

const CORPORA = resolve(import.meta.dirname, '../../../../libs/health/corpus');

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-classify-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const classify = (...argv: readonly string[]): Promise<OfflineOutcome> => runOffline({}, 'health', 'classify', ...argv);

function file(text: string): string {
  const path = join(directory, 'log');
  writeFileSync(path, text);
  return path;
}

describe('health classify', () => {
  it.each<[string, string, readonly string[], RegExp]>([
    ['the blame and what to do', 'OSError: [Errno 116] Stale file handle', [], /StorageError[^]*storage[^]*Check|Look/],
    ['the class of a signal', 'step 1 loss 2.2', ['--exit', 'SIGKILL'], /Killed[^]*unknown[^]*SIGKILL/],
    ['that nothing shows', 'bye', [], /Unknown[^]*none/],
    ['only the last 20 lines', `KeyError: 'x'\n${'quiet\n'.repeat(20)}`, [], /Unknown/],
  ])('prints %s', async (_what, text, options, want) => {
    const { out, code } = await classify(file(text), ...options);
    expect(code).toBe(0);
    expect(out).toMatch(want);
  });

  it('prints how often blames of a corpus are met, and which are missed', async () => {
    const { out } = await classify('--corpus', join(CORPORA, 'held-out.yaml'));
    expect(out).toMatch(/^BLAME +NODE +PROGRAM/);
    expect(out).toMatch(/\d+ of \d+ lines are classified as expected\.\n.*, classified as /);
  });

  it('prints JSON', async () => {
    const { out } = await classify(file("KeyError: 'x'"), '--json');
    expect(JSON.parse(out)).toMatchObject({ class: 'PythonException', blame: 'program' });
  });

  it.each<[string, () => readonly string[], RegExp]>([
    ['a file that does not exist', () => [join(directory, 'none')], /^Cannot read .*none/],
    ['an end that is none', () => [file('a'), '--exit', '999'], /--exit 999 is neither/],
    ['a corpus that is no list', () => [file('a: b'), '--corpus'], /log, /],
    [
      'an entry without a blame, and names it',
      () => [file('- {blame: program, text: a, source: b}\n- {text: a, source: b}'), '--corpus'],
      /entry 2, blame: /,
    ],
  ])('rejects %s', async (_what, argv, message) => {
    const { code, err } = await classify(...argv());
    expect([code === 0, err]).toEqual([false, expect.stringMatching(message)]);
  });
});
