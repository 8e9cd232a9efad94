import { join, resolve } from 'node:path';
import { realFiles } from './checkpoint-files.ts';
import { hasUniversalCopy } from './universal-copy.ts';

const FIXTURES = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures/deepspeed-0.19.8');

it.each([
  ['that was converted has a universal copy', 'zero1/global_step2', true],
  ['that was not converted has none', 'experts/global_step2', false],
  ['that is itself universal has none', 'zero1/global_step2_universal', false],
])('a save of DeepSpeed %s', async (_what, save, want) => {
  expect(await hasUniversalCopy(join(FIXTURES, save), realFiles)).toBe(want);
});
