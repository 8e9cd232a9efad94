import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ConversionAnswer, type ConversionOrder, MAX_TERMINATION_MESSAGE_BYTES } from '@coxswain/api-types';
import { convertCheckpoint, type ConversionTools, runConversion } from './convert-checkpoint.ts';

const SAVE = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures/dcp-2.15.0');

let root: string;
let source: string;
let target: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'coxswain-conversion-'));
  [source, target] = [join(root, 'save'), join(root, 'new')];
  cpSync(SAVE, source, { recursive: true, preserveTimestamps: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

let nowMs = 0;
const lines: string[] = [];
const tools: ConversionTools = {
  nowMs: () => (nowMs += 4_000),
  logLine: (line) => lines.push(line),
  signal: new AbortController().signal,
  environment: {},
};

const convert = (order: Partial<ConversionOrder> = {}, used = tools): Promise<ConversionAnswer> =>
  convertCheckpoint(JSON.stringify({ kind: 'Reshard', source, target, ranks: 3, ...order }), used);

const filesIn = (folder: string): readonly string[] => (existsSync(folder) ? readdirSync(folder).toSorted() : []);

/** Changes a byte of elements, without a trace in sizes and times. */
function rot(file: string): void {
  const path = join(source, file);
  const bytes = readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
  const time = new Date(1_000_000);
  writeFileSync(path, bytes);
  for (const name of readdirSync(source)) utimesSync(join(source, name), time, time);
}

describe('a conversion of kind Reshard', () => {
  it('writes the new save, says how much it read and wrote, and prints its progress', async () => {
    const answer = await convert();
    expect(answer).toMatchObject({ state: 'Converted' });
    expect([answer.readBytes > 1000, answer.writtenBytes > 1000, answer.seconds > 4]).toEqual([true, true, true]);
    expect(filesIn(target)).toEqual(['.metadata', '__0_0.distcp', '__1_0.distcp', '__2_0.distcp']);
    expect(lines).toContainEqual(expect.stringMatching(/^[\d.]+ \w+ read, [\d.]+ \w+ written\.$/));
  });

  it('leaves a target that is complete as it is', async () => {
    await convert();
    const contents = (): readonly string[] =>
      filesIn(target).map((file) => `${file} ${readFileSync(join(target, file), 'base64')}`);
    const before = contents();
    expect(await convert()).toMatchObject({ state: 'Converted' });
    expect(contents()).toEqual(before);
  });

  it('writes a manifest last if the save has one, also after a run that was killed before', async () => {
    const files = readdirSync(source).map((path) => ({ path, bytes: readFileSync(join(source, path)).length }));
    const manifest = { formatVersion: 1, engine: 'reference', format: 'torch_dcp', step: 5, layout: {}, training: {} };
    writeFileSync(join(source, 'manifest.json'), JSON.stringify({ ...manifest, files }));
    const { manifestSha256 } = await convert();
    const text = readFileSync(join(target, 'manifest.json'), 'utf8');
    expect(createHash('sha256').update(text).digest('hex')).toBe(manifestSha256);
    const { step, files: listed } = JSON.parse(text) as { step: number; files: { path: string; sha256: string }[] };
    expect([step, listed.map(({ path }) => path)]).toEqual([
      5,
      filesIn(target).filter((name) => name !== 'manifest.json'),
    ]);
    expect(listed.every(({ sha256 }) => /^[0-9a-f]{64}$/.test(sha256))).toBe(true);
    rmSync(join(target, 'manifest.json'));
    expect(await convert()).toMatchObject({ state: 'Converted', manifestSha256 });
  });

  it('publishes nothing before the last worker is done', async () => {
    for (const index of [0, 1, 2]) {
      expect(existsSync(join(target, '.metadata'))).toBe(index > 0);
      // The save is small: it is one piece, of the first worker.
      expect(await convert({ worker: { index, of: 3 } })).toMatchObject({ state: 'Converted' });
    }
  });

  it.each<[string, () => Partial<ConversionOrder> | undefined, RegExp]>([
    [
      'a source that does not exist',
      () => ({ source: join(root, 'absent') }),
      /^The source .*absent is absent\. Name the directory of a save\.$/,
    ],
    [
      'a source that is a symbolic link',
      () => {
        symlinkSync(source, join(root, 'link'));
        return { source: `${join(root, 'link')}/` };
      },
      /^The source .*link\/ is a symbolic link\. Name the directory of a save\.$/,
    ],
    [
      'a target that is a symbolic link',
      () => {
        mkdirSync(join(root, 'elsewhere'));
        symlinkSync(join(root, 'elsewhere'), target);
        return undefined;
      },
      /^The target .* is a symbolic link\. Name an empty directory, or one that does not exist\.$/,
    ],
    ['a target inside of the source', () => ({ target: join(source, 'new') }), / are one in the other\. Name a target/],
    [
      'a target inside of the source by a link',
      () => {
        symlinkSync(source, join(root, 'link'));
        return { target: join(root, 'link', 'new') };
      },
      / are one in the other\. Name a target/,
    ],
    [
      'a target that holds something else',
      () => {
        mkdirSync(target);
        writeFileSync(join(target, 'notes.txt'), 'mine');
        return undefined;
      },
      / is not empty: it holds notes\.txt, and no part of this save\. Name an empty directory\.$/,
    ],
    [
      'a save that lacks a file',
      () => {
        rmSync(join(source, '__3_0.distcp'));
        return undefined;
      },
      / is incomplete: File __3_0\.distcp is not there.* Use another save\.$/,
    ],
    [
      'an order without ranks',
      () => ({ ranks: undefined }),
      /^COXSWAIN_CONVERSION holds no order: .*Reshard needs ranks/s,
    ],
  ])('fails with a sentence for %s, and publishes nothing', async (_what, prepare, message) => {
    const answer = await convert(prepare());
    expect(answer).toMatchObject({ state: 'Failed', message: expect.stringMatching(message) });
    expect(filesIn(target).filter((file) => file !== 'notes.txt')).toEqual([]);
  });

  it('names the file of a source that rotted, and publishes nothing', async () => {
    rot('__1_0.distcp');
    const { state, message } = await convert();
    expect([state, message]).toEqual([
      'Failed',
      expect.stringMatching(/^(Tensor|Object) \S+ in __1_0\.distcp .* use another save\.$/),
    ]);
    expect(filesIn(target)).toEqual(['.coxswain-reshard']);
  });

  it('ends when the pod has to', async () => {
    const signal = AbortSignal.abort(new Error('The pod was asked to end.'));
    expect(await convert({}, { ...tools, signal })).toMatchObject({
      state: 'Failed',
      message: 'The pod was asked to end.',
    });
  });
});

describe('the answer of a conversion', () => {
  it('is absent if the pod has to end before', async () => {
    const log = join(root, 'log');
    const order = JSON.stringify({ kind: 'Reshard', source, target, ranks: 3 });
    const ended = runConversion({ COXSWAIN_TERMINATION_LOG: log, COXSWAIN_CONVERSION: order });
    process.emit('SIGTERM');
    expect([await ended, existsSync(log)]).toEqual([143, false]);
  });

  it('is the termination message, and fits into it whatever the order was', async () => {
    const log = join(root, 'log');
    const names = { COXSWAIN_TERMINATION_LOG: log };
    expect(await runConversion({ ...names, COXSWAIN_CONVERSION: `{"source": "${'é\\u0007'.repeat(9000)}"` })).toBe(0);
    const text = readFileSync(log, 'utf8');
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_TERMINATION_MESSAGE_BYTES);
    expect(ConversionAnswer.parse(JSON.parse(text))).toMatchObject({ state: 'Failed', readBytes: 0 });
  });
});
