import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';

const MEASURED = resolve(import.meta.dirname, '../../../../examples/calibration/four-cpu-ranks.json');
const QUESTION = '--model llama-3.1-8b --gpu cpu --gpus 4 --global-batch 8 --seq 128 --pin tp=2,pp=1,dp=2,cp=1'.split(
  ' ',
);

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-calibrate-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const calibrate = (...argv: readonly string[]): Promise<OfflineOutcome> => runOffline({}, 'calibrate', ...argv);

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

describe('calibrate', () => {
  it('makes a profile of what ranks measured elsewhere, and tells how far off the planner was', async () => {
    const out = join(directory, 'profile.json');
    const { code, err } = await calibrate('--from', MEASURED, '--out', out);
    expect([code, err]).toEqual([0, expect.stringMatching(/steps of small models +\d+ +[\d.]+ % +[\d.]+ %/)]);
    expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({
      name: expect.stringContaining('4 x CPU, gloo') as string,
    });
  });

  it('leaves a file alone that is there', async () => {
    const out = file('taken.json', 'mine');
    const { code, err } = await calibrate('--from', MEASURED, '--out', out);
    expect([code, err, readFileSync(out, 'utf8')]).toEqual([1, expect.stringContaining('--force'), 'mine']);
  });

  const WRONG: readonly [says: string, argv: () => readonly string[], want: string][] = [
    [
      'a file that is none of ours',
      () => ['--from', file('other.json', '{"format":2}')],
      'not the output of coxswain_calibrate.py: format',
    ],
    ['ranks that are no whole nodes', () => ['--ranks', '3', '--ranks-per-node', '2'], 'not a whole number of nodes'],
    ['a Python that is not there', () => ['--python', '/nowhere/python'], 'choose a Python interpreter with PyTorch'],
    [
      'a device that the planner does not know',
      () => ['--from', file('gpu.json', readFileSync(MEASURED, 'utf8').replace('"CPU"', '"Quantum 9"'))],
      'Name the GPU with --gpu',
    ],
  ];
  it.each(WRONG)('refuses %s', async (_says, argv, want) => {
    const { code, err } = await calibrate(...argv());
    expect([code, err]).toEqual([1, expect.stringContaining(want)]);
  });
});

describe('plan --profile', () => {
  it('says that it goes by what was measured', async () => {
    const profile = file('fast.json', JSON.stringify({ name: 'the lab', factors: [{ constant: 'step', factor: 2 }] }));
    const outcome = await runOffline({}, 'plan', ...QUESTION, '--profile', profile, '--json');
    expect(outcome.out).toContain('constants as measured on this cluster (profile \\"the lab\\")');
  });

  it('refuses a profile of other constants, and says to measure again', async () => {
    const profile = file('old.json', JSON.stringify({ name: 'old', factors: [{ constant: 'warpSpeed', factor: 2 }] }));
    const { code, err } = await runOffline({}, 'plan', ...QUESTION, '--profile', profile);
    expect([code, err]).toEqual([1, expect.stringContaining('measure the cluster again with coxswain calibrate')]);
  });

  it('refuses what is no profile, by field', async () => {
    const { code, err } = await runOffline({}, 'plan', ...QUESTION, '--profile', file('none.json', '{"name":"x"}'));
    expect([code, err]).toEqual([1, expect.stringContaining('factors')]);
  });
});
