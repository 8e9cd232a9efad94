import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';

const FIXTURES = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures');
const SAVE = join(FIXTURES, 'dcp-2.15.0');
const TRAINER = join(FIXTURES, 'hugging-face-5.23.0/checkpoint-2');
const MEGATRON = join(FIXTURES, 'megatron-core-0.16.1');

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'coxswain-diff-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const checkpoint = (...argv: readonly string[]): Promise<OfflineOutcome> => runOffline({}, 'checkpoint', ...argv);

it.each<[what: string, argv: readonly string[], code: number, out: RegExp]>([
  ['a save and itself', [SAVE, SAVE], 0, /^The same, as far as their metadata and the sizes of their files say\.$/],
  [
    'a save and itself to its bytes',
    [SAVE, SAVE, '--level', 'V3'],
    0,
    /^The same tensors, objects and files, with the same stored bytes\.$/,
  ],
  [
    'saves of two runs',
    [SAVE, join(MEGATRON, 'dp_reshardable')],
    1,
    /^Facts:\nformat .*[^]*Only in the first \(6 tensors\):/,
  ],
])('diff compares %s', async (_what, argv, code, out) => {
  expect(await checkpoint('diff', ...argv)).toMatchObject({ code, out: expect.stringMatching(out) as string });
});

it('diff finds a byte that differs, at V3 alone', async () => {
  const other = join(root, 'step-12');
  cpSync(SAVE, other, { recursive: true });
  const [shard = ''] = readdirSync(other).filter((name) => name.endsWith('.distcp'));
  const bytes = readFileSync(join(other, shard));
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 0xff;
  writeFileSync(join(other, shard), bytes);
  expect((await checkpoint('diff', SAVE, other)).code).toBe(0);
  const { code, out } = await checkpoint('diff', SAVE, other, '--level', 'V3');
  expect([code, out]).toEqual([1, expect.stringMatching(/^Other stored bytes \(1 tensor\):\n {2}\w+/) as string]);
});

it.each<[file: string, change: (bytes: Buffer) => Uint8Array, level: string, out: RegExp]>([
  ['scheduler.pt', (bytes) => Buffer.concat([bytes, bytes]), 'V1', /scheduler\.pt/],
  [
    'rng_state_0.pth',
    (bytes) => bytes.map((byte, index) => (index === bytes.length >> 1 ? byte ^ 1 : byte)),
    'V3',
    /bytes[^]*rng_state/,
  ],
])('diff of Trainer saves finds another %s', async (file, change, level, out) => {
  const other = join(root, 'checkpoint-2');
  cpSync(TRAINER, other, { recursive: true });
  writeFileSync(join(other, file), change(readFileSync(join(other, file))));
  const found = await checkpoint('diff', TRAINER, other, '--level', level);
  expect([found.code, found.out + found.err]).toEqual([1, expect.stringMatching(out) as string]);
});

it('diff refuses a damaged save, and names it', async () => {
  const damaged = join(root, 'step-12');
  cpSync(SAVE, damaged, { recursive: true });
  const [shard = ''] = readdirSync(damaged).filter((name) => name.endsWith('.distcp'));
  writeFileSync(join(damaged, shard), readFileSync(join(damaged, shard)).subarray(0, 100));
  const { code, out, err } = await checkpoint('diff', SAVE, damaged);
  expect([code, out, err]).toEqual([
    1,
    '',
    expect.stringMatching(/step-12 is damaged, so it is not compared\./) as string,
  ]);
});

it('export copies a save that then verifies, and copies nothing again', async () => {
  const place = join(root, 'copy');
  const first = await checkpoint('export', SAVE, place);
  expect(first).toMatchObject({
    code: 0,
    out: expect.stringMatching(/files copied to .*copy; .*verified\.$/) as string,
  });
  expect((await checkpoint('diff', SAVE, place, '--level', 'V3')).code).toBe(0);
  expect((await checkpoint('export', SAVE, place)).out).toMatch(/^0 files copied .*, \d+ were there;/);
});

it('export publishes no damaged save', async () => {
  const damaged = join(root, 'step-12');
  cpSync(SAVE, damaged, { recursive: true });
  const [shard = ''] = readdirSync(damaged).filter((name) => name.endsWith('.distcp'));
  writeFileSync(join(damaged, shard), readFileSync(join(damaged, shard)).subarray(0, 100));
  const { code, err } = await checkpoint('export', damaged, join(root, 'copy'));
  expect([code, err]).toEqual([1, expect.stringMatching(/is not exported, because it is damaged/) as string]);
  expect(readdirSync(join(root, 'copy'))).not.toContain('.metadata');
});
