import { DELETION_FILE } from '@coxswain/checkpoint';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';
import type { PlannedSave } from './prune-plan.ts';

const SAVE = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures/dcp-2.15.0');

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-prune-'));
  for (const step of [100, 200, 300, 400]) addSave(step, step);
  writeFileSync(join(directory, 'tokenizer.json'), '{}');
});
afterEach(() => rmSync(directory, { recursive: true }));

/** A sound save. */
function addSave(step: number, savedS: number): void {
  const save = join(directory, `step-${String(step)}`);
  cpSync(SAVE, save, { recursive: true });
  setTime(save, savedS);
}

function setTime(save: string, savedS: number): void {
  for (const path of readdirSync(save)) utimesSync(join(save, path), savedS, savedS);
}

function damage(step: number): void {
  const save = join(directory, `step-${String(step)}`);
  truncateSync(join(save, '__3_0.distcp'), 100);
  setTime(save, step);
}

const prune = (...argv: readonly string[]): Promise<OfflineOutcome> =>
  runOffline({}, 'checkpoint', 'prune', directory, ...argv);

const left = (): readonly string[] => readdirSync(directory).filter((name) => name.startsWith('step-'));

describe('checkpoint prune', () => {
  it('says what it would delete and why the rest stays, and deletes nothing', async () => {
    const { out, code } = await prune('--keep-newest-verified', '2');
    expect([code, left().length]).toEqual([0, 4]);
    expect(out).toMatch(/^NAME +VERDICT +ACTION +BECAUSE\nstep-100 +sound +delete +the policy does not keep it\n/);
    expect(out).toMatch(/\nstep-300 +sound +keep +fewer than 2 newer saves are verified\n/);
    expect(out).toMatch(/\nNothing was deleted\. --delete deletes 2 of 4 saves\.$/);
  });

  it('deletes with --delete, and leaves files beside the saves', async () => {
    const { code } = await prune('--keep-newest-verified', '2', '--delete');
    expect([code, readdirSync(directory)]).toEqual([0, ['step-300', 'step-400', 'tokenizer.json']]);
  });

  it.each<[string, readonly string[], () => void, readonly string[]]>([
    ['counts no damaged save', ['2'], () => damage(400), ['step-200', 'step-300', 'step-400']],
    [
      'keeps everything if too few are verified',
      ['4'],
      () => damage(100),
      ['step-100', 'step-200', 'step-300', 'step-400'],
    ],
    [
      'keeps what a pointer of an engine names',
      ['1'],
      () => writeFileSync(join(directory, 'latest_checkpointed_iteration.txt'), '200'),
      ['step-200', 'step-400'],
    ],
    ['keeps what --keep names', ['1', '--keep', 'step-100'], () => undefined, ['step-100', 'step-400']],
    [
      'keeps one of each interval',
      ['1', '--keep-every-steps', '200'],
      () => undefined,
      ['step-100', 'step-200', 'step-400'],
    ],
    [
      'keeps what was saved last, though a user went back',
      ['1'],
      () => setTime(join(directory, 'step-100'), 900),
      ['step-100', 'step-400'],
    ],
    [
      'completes a deletion that was interrupted',
      ['4'],
      () => writeFileSync(join(directory, `step-300/${DELETION_FILE}`), ''),
      ['step-100', 'step-200', 'step-400'],
    ],
    [
      'keeps what links lead to',
      ['1'],
      () => {
        symlinkSync('step-200', join(directory, 'latest'));
        symlinkSync(join(directory, 'step-100/__0_0.distcp'), join(directory, 'first'));
      },
      ['step-100', 'step-200', 'step-400'],
    ],
    [
      'keeps what --keep names, though its deletion began',
      ['1', '--keep', 'step-100'],
      () => writeFileSync(join(directory, `step-100/${DELETION_FILE}`), ''),
      ['step-100', 'step-400'],
    ],
    [
      'keeps what a pointer names, though its deletion began',
      ['1'],
      () => {
        writeFileSync(join(directory, `step-100/${DELETION_FILE}`), '');
        writeFileSync(join(directory, 'latest'), 'global_step100');
      },
      ['step-100', 'step-400'],
    ],
    [
      'keeps what an engine saved again after its deletion began',
      ['1'],
      () => {
        writeFileSync(join(directory, `step-100/${DELETION_FILE}`), '');
        utimesSync(join(directory, `step-100/${DELETION_FILE}`), 99, 99);
      },
      ['step-100', 'step-400'],
    ],
  ])('%s', async (_what, argv, change, names) => {
    change();
    const { code } = await prune('--keep-newest-verified', ...argv, '--delete');
    expect([code, left()]).toEqual([0, names]);
  });

  it('keeps a folder whose files belong to no known format', async () => {
    const save = join(directory, 'step-50');
    cpSync(join(directory, 'tokenizer.json'), join(save, 'tokenizer.json'));
    setTime(save, 50);
    const { out } = await prune('--keep-newest-verified', '1', '--delete');
    expect(left()).toEqual(['step-400', 'step-50']);
    expect(out).toMatch(/step-50 +unverifiable +keep +its format is not known\n/);
  });

  it('has a JSON form', async () => {
    const { out } = await prune('--keep-newest-verified', '4', '--output', 'json');
    expect((JSON.parse(out) as readonly PlannedSave[])[0]).toEqual({
      name: 'step-100',
      step: 100,
      verdict: 'sound',
      action: 'keep',
      because: ['fewer than 4 newer saves are verified'],
    });
  });

  it.each([
    ['without a policy', [], /required option '--keep-newest-verified/],
    [
      'with a policy that keeps none',
      ['--keep-newest-verified', '0'],
      /^--keep-newest-verified is 0; it must be at least 1\./,
    ],
    ['with a name that does not exist', ['--keep-newest-verified', '1', '--keep', 'step-7'], /holds no save step-7/],
    [
      'with both --dry-run and --delete',
      ['--keep-newest-verified', '1', '--dry-run', '--delete'],
      /cannot be used with/,
    ],
    ['by a verification that reads no envelope', ['--keep-newest-verified', '1', '--level', 'V1'], /V2, V3/],
  ])('deletes nothing %s', async (_what, argv, reason) => {
    const { err, code } = await prune(...argv);
    expect([code, err, existsSync(join(directory, 'step-100'))]).toEqual([1, expect.stringMatching(reason), true]);
  });
});
