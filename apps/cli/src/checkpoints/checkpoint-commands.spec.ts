import type { SaveLook } from '@coxswain/checkpoint';
import { findingLines, saveTable } from './checkpoint-tables.ts';
import { cpSync, mkdtempSync, readdirSync, rmSync, truncateSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';

const SAVE = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures/dcp-2.15.0');

let directory: string;
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'coxswain-checkpoint-')), 'step-12');
  cpSync(SAVE, directory, { recursive: true });
  setTimes();
});
afterEach(() => rmSync(resolve(directory, '..'), { recursive: true }));

/** A shard that is newer than the metadata is a finding of its own. */
function setTimes(): void {
  for (const path of readdirSync(directory)) utimesSync(join(directory, path), 1, 1);
}

const checkpoint = (...argv: readonly string[]): Promise<OfflineOutcome> => runOffline({}, 'checkpoint', ...argv);

describe('checkpoint show', () => {
  it('says format, tensors by the first part of their names, and what else there is', async () => {
    const { out, code } = await checkpoint('show', directory);
    expect(code).toBe(0);
    expect(out).toMatch(/^Format +dcp\nVerdict +sound, as far as V1 sees\nTensors +6 tensors, 435 B\nChunks +11\n/);
    expect(out).toMatch(/\nmodel +6 +435 B +float32, bfloat16, bool, int32\n/);
    expect(out).toContain('Beside tensors: loader.position, lr, step');
  });

  it('says what a save says of itself: its step, who saved it, and how', async () => {
    const { out } = await checkpoint('show', join(SAVE, '../megatron-core-0.16.1/dp_reshardable'));
    expect(out).toMatch(
      /\nHolds +weights and optimizer\nStep +\d+\n(?:Saved by .+\n)?(?:Ranks .+\n)?Degrees +tensorParallelDegree 2, .+\nOptimizer +dp_reshardable\n/,
    );
  });

  it('shows a name with a line break in one line, and an empty name in quotes', () => {
    const tensor = { dtype: 'float32', shape: [2], chunks: [] };
    const tensors = ['a\nV1  damaged: b', ''].map((key) => ({ ...tensor, key }));
    const findings = [{ level: 'V1', kind: 'suspect', sentence: 'Tensor a\nb has a hole.' }] as const;
    const look = { format: 'dcp', verdict: 'sound', state: { tensors, objects: [] }, findings, readBytes: 1 } as const;
    expect(saveTable(look, 'V1')).toMatch(/\na\\nV1  damaged: b +1 +8 B +float32\n"" +1 /);
    expect(findingLines(look)).toBe('V1  suspect: Tensor a\\nb has a hole.');
  });

  it('has a JSON form with each tensor and box', async () => {
    const { out } = await checkpoint('show', directory, '--output', 'json');
    const { format, state } = JSON.parse(out) as SaveLook;
    expect([format, state?.tensors.map(({ key }) => key).slice(0, 2)]).toEqual(['dcp', ['model.both', 'model.uneven']]);
  });
});

describe('checkpoint verify', () => {
  it('ends with 0 if the save is sound, and says how closely it looked', async () => {
    const { out, code } = await checkpoint('verify', directory);
    expect([code, out]).toEqual([0, expect.stringMatching(/^Sound as far as V3 sees: format dcp, .* read\.$/)]);
  });

  it('ends with 1 if it is damaged, and says where', async () => {
    truncateSync(join(directory, '__3_0.distcp'), 100);
    setTimes();
    const { out, code } = await checkpoint('verify', directory, '--level', 'V1');
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/^Damaged: .*\nV1 {2}damaged: File __3_0\.distcp has 100 bytes/),
    ]);
  });

  it('ends with 1 for a folder that holds no save: nothing was looked at', async () => {
    const { out, code } = await checkpoint('verify', resolve(directory, '..'), '--level', 'V0');
    expect([code, out]).toEqual([1, expect.stringMatching(/^Its content cannot be verified: format unknown/)]);
  });

  it.each([
    ['a directory that is not there', ['./none'], /none is no directory\. Name the directory of one save/],
    [
      'a name without a server',
      ['none'],
      /^none is no directory here, so it is looked up as a Checkpoint of a project\. /,
    ],
    ['a file', [join(SAVE, '.metadata')], /is no directory/],
    ['a level that does not exist', [SAVE, '--level', 'V9'], /V0, V1, V2, V3/],
  ])('refuses %s', async (_what, argv, reason) => {
    const { err, code } = await checkpoint('verify', ...argv);
    expect([code, err]).toEqual([1, expect.stringMatching(reason)]);
  });
});
