import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { unpackArchive, UnusableArchiveError } from './unpack-archive.ts';

let root: string;
let source: string;
let target: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'code-'));
  source = join(root, 'source');
  target = join(root, 'target');
  mkdirSync(source);
});

afterEach(() => rmSync(root, { recursive: true }));

const write = (path: string, text: string, mode = 0o644): void => {
  mkdirSync(join(source, path, '..'), { recursive: true });
  writeFileSync(join(source, path), text, { mode });
};

/** By the tar of this machine, which is no program of ours. */
const tar = (...args: readonly string[]): Buffer =>
  gzipSync(
    execFileSync('tar', ['-C', source, '--format=pax', '-cf', '-', ...args], { stdio: ['ignore', 'pipe', 'ignore'] }),
  );

const digestOf = (archive: Buffer): string => createHash('sha256').update(archive).digest('hex');

const unpack = (
  archive: Buffer,
  limits?: { unpackedBytes: number; entries: number },
): Promise<{ readonly files: number }> =>
  unpackArchive(archive, { sha256: digestOf(archive), directory: target, ...(limits === undefined ? {} : { limits }) });

it('unpacks files, executables, directories and links, with long names and names of other languages', async () => {
  const long = `${'deep/'.repeat(30)}${'n'.repeat(120)}.py`;
  write('train.py', 'print(1)\n');
  write('run.sh', '#!/bin/sh\n', 0o755);
  write(long, 'long');
  write('données/größe.txt', 'ü');
  mkdirSync(join(source, 'empty'));
  symlinkSync('train.py', join(source, 'main.py'));
  symlinkSync('../train.py', join(source, 'données', 'up.py'));
  expect(await unpack(tar('.'))).toEqual({ files: 4 });
  expect(readFileSync(join(target, 'train.py'), 'utf8')).toBe('print(1)\n');
  expect(lstatSync(join(target, 'run.sh')).mode & 0o777).toBe(0o755);
  expect(lstatSync(join(target, 'train.py')).mode & 0o777).toBe(0o644);
  expect(readFileSync(join(target, long), 'utf8')).toBe('long');
  expect(readFileSync(join(target, 'données/größe.txt'), 'utf8')).toBe('ü');
  expect(readdirSync(join(target, 'empty'))).toEqual([]);
  expect(readlinkSync(join(target, 'main.py'))).toBe('train.py');
  expect(readFileSync(join(target, 'données/up.py'), 'utf8')).toBe('print(1)\n');
});

describe('refuses an archive, and writes nothing outside,', () => {
  it.each<[string, () => Buffer, string]>([
    [
      'with a path above the directory',
      () => {
        writeFileSync(join(root, 'evil'), 'evil');
        return tar('-P', '../evil');
      },
      '"../evil" leads outside',
    ],
    [
      'with an absolute path',
      () => {
        writeFileSync(join(root, 'evil'), 'evil');
        return tar('-P', join(root, 'evil'));
      },
      'leads outside',
    ],
    [
      'with a link to an absolute path',
      () => {
        symlinkSync('/etc/passwd', join(source, 'link'));
        return tar('.');
      },
      'the link link leads outside of the working directory, to /etc/passwd',
    ],
    [
      'with a link to a path above',
      () => {
        mkdirSync(join(source, 'a'));
        symlinkSync('../../evil', join(source, 'a/link'));
        return tar('.');
      },
      'the link a/link leads outside',
    ],
    [
      'with links that lead outside together',
      () => {
        mkdirSync(join(source, 'a/b'), { recursive: true });
        symlinkSync('../..', join(source, 'a/b/top'));
        symlinkSync('top/../..', join(source, 'a/b/way'));
        return tar('./a');
      },
      'leads outside',
    ],
    [
      'with a path twice',
      () => {
        write('twice', 'one');
        return tar('./twice', 'twice', '--hard-dereference');
      },
      'it holds twice twice',
    ],
    [
      'with a pipe',
      () => {
        execFileSync('mkfifo', [join(source, 'pipe')]);
        return tar('pipe');
      },
      'pipe is of type "6"',
    ],
    ['that is no gzip', () => Buffer.from('no'), 'it is no gzip file'],
    ['that is no tar', () => gzipSync(Buffer.alloc(1024, 1)), 'a number of a header is not octal'],
    [
      'that is cut off',
      () => {
        write('file', 'x'.repeat(4096));
        return gzipSync(execFileSync('tar', ['-C', source, '-cf', '-', 'file']).subarray(0, 2048));
      },
      'the archive ends within file',
    ],
    [
      'with a damaged header',
      () => {
        write('file', 'x');
        const bytes = execFileSync('tar', ['-C', source, '-cf', '-', 'file']);
        bytes[0] = 0x67;
        return gzipSync(bytes);
      },
      'the header at byte 0 is damaged',
    ],
  ])('%s', async (_which, make, sentence) => {
    const failure = await unpack(make()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnusableArchiveError);
    expect((failure as Error).message).toContain(sentence);
    expect(existsSync(join(target, 'evil'))).toBe(false);
  });

  it.each<[string, { unpackedBytes: number; entries: number }, string]>([
    ['with more bytes than the limit', { unpackedBytes: 4_096, entries: 10 }, 'more than 4096 bytes'],
    ['with more entries than the limit', { unpackedBytes: 1 << 20, entries: 1 }, 'more than 1 files and directories'],
  ])('%s', async (_which, limits, sentence) => {
    write('a', 'x'.repeat(8_192));
    write('b', 'y');
    await expect(unpack(tar('a', 'b'), limits)).rejects.toThrow(sentence);
    expect(existsSync(target)).toBe(false);
  });

  it('with other bytes than the digest says', async () => {
    write('a', 'x');
    const unpacking = unpackArchive(tar('a'), { sha256: '0'.repeat(64), directory: target });
    await expect(unpacking).rejects.toThrow('other bytes than were uploaded');
  });
});
