import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { truncateSync, watch, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { crc32 } from 'node:zlib';
import type { ConversionAnswer } from '@coxswain/api-types';
import { type SaveLook, verifySave } from '@coxswain/checkpoint';
import { DirectoryStore, runReading } from '@coxswain/checkpoint-store';
import { convertCheckpoint, type ConversionTools } from './convert-checkpoint.ts';
import { runConverter } from './converter-process.ts';
import { type TargetChanges, UniversalTarget } from './universal-target.ts';

const FIXTURES = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures/deepspeed-0.19.8/zero1');
const UNIVERSAL = join(FIXTURES, 'global_step2_universal');
const PUBLISHED = ['.coxswain-conversion', 'mp_rank_00_model_states.pt', 'zero'];
const OPTIMIZER = 'bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt';

/** Stands for DeepSpeed's converter: takes its arguments, and writes what it wrote for this save, also beside the result. */
const CONVERTER = `
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
const { env, argv } = process;
const [save, result] = ['--input_folder', '--output_folder'].map((name) => argv[argv.indexOf(name) + 1]);
const leaked = Object.keys(env).filter((name) => name === 'RANK' || name.startsWith('COXSWAIN_'));
if (!existsSync(save + '/${OPTIMIZER}') || !argv.includes('--inject_missing_state') || leaked.length > 0) process.exit(9);
console.log('*** 1. Extracting ZeRO fragments');
if (env.FAKE_ERROR) {
  console.error('Traceback (most recent call last):\\n  File "x.py", line 1\\n' + env.FAKE_ERROR);
  process.exit(1);
}
cpSync(env.FAKE_RESULT, result, { recursive: true });
writeFileSync('latest_universal', result);
writeFileSync(result + '/notes.txt', 'not of a save');
if (env.FAKE_LOST) rmSync(result + '/' + env.FAKE_LOST);
`;

let root: string;
let source: string;
let target: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'coxswain-universal-'));
  [source, target] = [join(root, 'global_step2'), join(root, 'new+[1]')];
  cpSync(join(FIXTURES, 'global_step2'), source, { recursive: true, preserveTimestamps: true });
  writeFileSync(join(root, 'converter.mjs'), CONVERTER);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function convert(environment: NodeJS.ProcessEnv = {}, program?: string): Promise<ConversionAnswer> {
  const tools: ConversionTools = {
    nowMs: () => 0,
    logLine: () => undefined,
    signal: new AbortController().signal,
    environment: { FAKE_RESULT: UNIVERSAL, RANK: '3', COXSWAIN_CONVERSION: 'x', ...environment },
    universalConverter: [program ?? process.execPath, join(root, 'converter.mjs')],
  };
  return convertCheckpoint(JSON.stringify({ kind: 'DeepSpeedUniversal', source, target }), tools);
}

const filesIn = (folder: string): readonly string[] => (existsSync(folder) ? readdirSync(folder).toSorted() : []);

async function look(): Promise<SaveLook> {
  const store = new DirectoryStore(target);
  const files = await store.list();
  return await runReading(store, files, verifySave(files, { level: 'V3', crc32, sha256: () => createHash('sha256') }));
}

/** Changes a byte of the moments of an optimizer. */
function rot(): void {
  const bytes = readFileSync(join(source, OPTIMIZER));
  // Elements begin at a multiple of 64 after the name of their record.
  const at = Math.ceil((bytes.indexOf('data/2') + 'data/2'.length) / 64) * 64;
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(join(source, OPTIMIZER), bytes);
}

describe('a conversion of kind DeepSpeedUniversal', () => {
  it('publishes the save and nothing else, and reports its bytes', async () => {
    const answer = await convert();
    expect(answer).toMatchObject({ state: 'Converted' });
    expect([answer.readBytes > 20_000, answer.writtenBytes > 20_000]).toEqual([true, true]);
    expect(filesIn(target)).toEqual(PUBLISHED);
    expect(await look()).toMatchObject({ format: 'deepspeed-universal', verdict: 'sound' });
    expect(filesIn(root)).toEqual(['converter.mjs', 'global_step2', 'new+[1]']);
  });

  it('writes a manifest if the save has one, for the files of the result', async () => {
    const files = readdirSync(source).map((path) => ({ path, bytes: readFileSync(join(source, path)).length }));
    const manifest = { formatVersion: 1, engine: 'deepspeed', format: 'deepspeed', step: 2, layout: {}, training: {} };
    writeFileSync(join(source, 'manifest.json'), JSON.stringify({ ...manifest, own: 7, files }));
    const { manifestSha256 } = await convert();
    const text = readFileSync(join(target, 'manifest.json'), 'utf8');
    expect(manifestSha256).toBe(createHash('sha256').update(text).digest('hex'));
    expect(JSON.parse(text)).toMatchObject({ format: 'deepspeed-universal', step: 2, own: 7 });
    expect(text).toContain('"path":"zero/first.bias/exp_avg.pt"');
    expect(await look()).toMatchObject({ format: 'deepspeed-universal', verdict: 'sound' });
    expect(await convert()).toMatchObject({ manifestSha256 });
  });

  it('leaves a target that holds the save as it is, and starts no converter', async () => {
    await convert();
    expect(await convert({}, '/no/such/python')).toMatchObject({ state: 'Converted', writtenBytes: 0 });
    expect(filesIn(target)).toEqual(PUBLISHED);
  });

  it.each<[string, () => Promise<ConversionAnswer>, RegExp]>([
    [
      'a converter that fails',
      () => convert({ FAKE_ERROR: 'OSError: [Errno 28] No space left on device' }),
      /^The converter ended with code 1: OSError: \[Errno 28\] No space left on device$/,
    ],
    [
      'an image without the converter',
      () => convert({}, '/no/such/python'),
      /^\/no\/such\/python cannot be started in this image: .*ENOENT/,
    ],
    [
      'a result that lacks a file',
      () => convert({ FAKE_LOST: 'zero/first.bias/exp_avg.pt' }),
      /^The converter made a save that is not right: File zero\/first\.bias\/exp_avg\.pt is not there/,
    ],
    [
      'a source that rotted',
      () => {
        rot();
        return convert();
      },
      /global_step2 is not converted\. It is damaged: .*bf16_zero_pp_rank_1_mp_rank_00_optim_states\.pt/,
    ],
    [
      'a target that holds something else',
      () => {
        mkdirSync(target);
        writeFileSync(join(target, 'notes.txt'), 'mine');
        return convert();
      },
      / is not empty: it holds notes\.txt\. Name an empty directory\.$/,
    ],
    [
      'a target that holds a save which Coxswain did not make',
      () => {
        cpSync(UNIVERSAL, target, { recursive: true });
        return convert();
      },
      / is not empty: it holds \S+\. Name an empty directory\.$/,
    ],
  ])('fails with a sentence for %s, and publishes nothing', async (_what, run, message) => {
    const { state, message: found } = await run();
    expect([state, found]).toEqual(['Failed', expect.stringMatching(message)]);
    expect(filesIn(target).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it.each<[string, boolean | undefined]>([
    ['a full target', true],
    ['a source that rotted', undefined],
  ])('says of %s whether the target is the reason', async (what, isTargetUnusable) => {
    if (what === 'a full target') {
      mkdirSync(target);
      writeFileSync(join(target, 'notes.txt'), 'mine');
    } else rot();
    const answer = await convert();
    expect([answer.state, answer.isTargetUnusable]).toEqual(['Failed', isTargetUnusable]);
  });

  it('reads nothing of a source that does not fit, after it has made room', async () => {
    mkdirSync(join(target, '.coxswain-draft-killed'), { recursive: true });
    // A hole: it has a size and takes no room.
    truncateSync(join(source, OPTIMIZER), 2 ** 43);
    expect(await convert()).toMatchObject({
      ...{ state: 'Failed', isTargetUnusable: true, readBytes: 0 },
      message: expect.stringMatching(/ free, and the conversion writes up to .*Make room/) as string,
    });
    expect(filesIn(target)).toEqual([]);
  });

  it('does not go over the conversion of another save', async () => {
    await convert();
    writeFileSync(join(source, 'zero_to_fp32.py'), 'another save under the same name');
    expect((await convert()).message).toMatch(/ already holds another save\. Name an empty directory\.$/);
    expect(await look()).toMatchObject({ verdict: 'sound' });
  });
});

/** A converter that was killed. */
class Killed extends Error {}

/** Changes of a directory that end after so many. */
function endingAfter(changes: number): TargetChanges {
  let left = changes;
  const spend = (): void => {
    if (left-- <= 0) throw new Killed();
  };
  return {
    mkdir: async (path) => (spend(), mkdirSync(path)),
    writeFile: async (path, text) => (spend(), writeFileSync(path, text)),
    rename: async (from, to) => (spend(), await import('node:fs/promises').then(({ rename }) => rename(from, to))),
    rm: async (path) => (spend(), rmSync(path, { recursive: true, force: true })),
  };
}

/** Converts up to the end of the changes. Returns whether it came to its end. */
async function runUntil(changes: number, id = 'a'): Promise<boolean> {
  const place = new UniversalTarget(target, id, endingAfter(changes));
  try {
    if (await place.isPublished()) return true;
    await place.begin();
    cpSync(UNIVERSAL, join(place.draft, 'result'), { recursive: true });
    await place.publish(join(place.draft, 'result'));
    await place.end();
    return true;
  } catch (error) {
    if (error instanceof Killed) return false;
    throw error;
  }
}

describe('a target of a universal save', () => {
  beforeEach(() => mkdirSync(target));

  it('is whole or none when the converter is killed between any two changes, and the next run completes it', async () => {
    const published: boolean[] = [];
    for (let changes = 0; ; changes++) {
      const isDone = await runUntil(changes);
      const isPublished = await new UniversalTarget(target, 'a').isPublished();
      published.push(isPublished);
      if (isPublished) expect(await look()).toMatchObject({ format: 'deepspeed-universal', verdict: 'sound' });
      else expect((await look()).format).not.toBe('deepspeed-universal');
      expect(await runUntil(Infinity)).toBe(true);
      expect(await look()).toMatchObject({ format: 'deepspeed-universal', verdict: 'sound' });
      rmSync(target, { recursive: true });
      mkdirSync(target);
      if (isDone) break;
    }
    expect([published.includes(false), published.at(-1), published.length > 5]).toEqual([true, true, true]);
  });

  it('keeps nothing of another save that was not completed', async () => {
    for (let changes = 3; !(await runUntil(changes, 'b')); changes++) {
      if (await new UniversalTarget(target, 'b').isPublished()) break;
      writeFileSync(join(target, '.coxswain-conversion'), 'b');
      writeFileSync(join(target, 'mp_rank_07_model_states.pt'), 'of the other save');
      expect(await runUntil(Infinity, 'a')).toBe(true);
      expect(filesIn(target)).toEqual(PUBLISHED);
      rmSync(target, { recursive: true });
      mkdirSync(target);
    }
  });

  it('is published by one of two converters that run at once', async () => {
    const [one, other] = [new UniversalTarget(target, 'a'), new UniversalTarget(target, 'a')];
    for (const place of [one, other]) {
      await place.begin();
      cpSync(UNIVERSAL, join(place.draft, 'result'), { recursive: true });
    }
    await expect(one.publish(join(one.draft, 'result'))).rejects.toThrow(/ENOENT/);
    expect((await look()).format).not.toBe('deepspeed-universal');
    await other.publish(join(other.draft, 'result'));
    await other.end();
    expect([filesIn(target), await look()]).toMatchObject([PUBLISHED, { verdict: 'sound' }]);
  });
});

describe('the process of a converter', () => {
  it.each<[string, { readonly limitMs: number; readonly isStopped: boolean }, RegExp]>([
    ['takes too long', { limitMs: 1, isStopped: false }, /^The converter took longer than 1 min\.$/],
    ['has to end with its pod', { limitMs: 600_000, isStopped: true }, /^The pod was asked to end\.$/],
  ])('is ended with all processes that it started if it %s', async (_what, { limitMs, isStopped }, message) => {
    const stop = new AbortController();
    // Its process says that it runs, and that it was left alone.
    const worker = `const { writeFileSync } = require('node:fs'); writeFileSync('runs', ''); setTimeout(() => writeFileSync('left', ''), 5_000)`;
    const program = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(worker)}], { stdio: 'inherit' }); setInterval(() => 0, 1e6)`;
    const changes = watch(root);
    const workerRuns = once(changes, 'change');
    const run = runConverter({
      command: [process.execPath, '-e', program],
      directory: root,
      environment: {},
      limitMs,
      signal: stop.signal,
      onTick: () => undefined,
    });
    if (isStopped) {
      await workerRuns;
      stop.abort(new Error('The pod was asked to end.'));
    }
    // It settles once its output is closed, and each of its processes holds that open.
    await expect(run).rejects.toThrow(message);
    changes.close();
    expect(filesIn(root)).not.toContain('left');
  });
});
