import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { waitFor } from '@coxswain/local-cluster';

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Writes what a real `npm ci` leaves behind that the bootstrap looks at, and counts its runs. */
const FAKE_NPM = `
  const { appendFileSync, mkdirSync, rmSync, symlinkSync } = require('node:fs');
  appendFileSync('installs', process.argv.slice(2).join(' ') + '\\n');
  if (process.env.FAKE_NPM_FAILS) process.exit(4);
  setTimeout(() => {
    rmSync('node_modules', { recursive: true, force: true });
    const folder = 'node_modules/node-linux-' + process.arch + '/bin';
    if (!process.env.FAKE_NPM_LEAVES_NODE_OUT) mkdirSync(folder, { recursive: true });
    if (!process.env.FAKE_NPM_LEAVES_NODE_OUT) symlinkSync(process.env.FAKE_NPM_NODE ?? process.execPath, folder + '/node');
  }, 200);
`;

const NODE_SHA256 = createHash('sha256').update(readFileSync(process.execPath)).digest('hex');

describe('the bootstrap', () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'bootstrap-'));
    mkdirSync(join(root, 'tools'));
    for (const file of ['bootstrap.mjs', 'end-with-parent.mjs']) {
      copyFileSync(join(import.meta.dirname, file), join(root, 'tools', file));
    }
    writeFileSync(join(root, 'npm.js'), FAKE_NPM);
    // A package.json that somebody left in the folder of temporary files says nothing of these.
    writeFileSync(join(root, 'package.json'), '{"type":"commonjs"}');
    const sha256 = { [process.arch]: NODE_SHA256 };
    writeFileSync(join(root, 'tools/node-binaries.json'), JSON.stringify({ version: '24.0.0', sha256 }));
    lockPackages('1.0.0');
  });

  afterEach(() => rmSync(root, { recursive: true }));

  const lockPackages = (version: string): void =>
    writeFileSync(
      join(root, 'package-lock.json'),
      JSON.stringify({
        packages: { '': {}, 'node_modules/pg': { version }, 'node_modules/fsevents': { optional: true } },
      }),
    );
  const installs = (): string[] => readFileSync(join(root, 'installs'), 'utf8').trim().split('\n');
  const start = (script: string, env: Record<string, string> = {}): ChildProcessByStdio<null, Readable, Readable> => {
    writeFileSync(join(root, 'program.ts'), script);
    const args = [join(root, 'tools/bootstrap.mjs'), join(root, 'program.ts'), '--help', 'two words'];
    const environment = { ...process.env, NODE_OPTIONS: '', npm_execpath: join(root, 'npm.js'), ...env };
    return spawn(process.execPath, args, { cwd: root, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  };
  const run = async (script: string, env?: Record<string, string>): Promise<Ended> => {
    const child = start(script, env);
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code: child.exitCode, out, err };
  };

  it('installs what is locked, says so, and hands the arguments over', async () => {
    const { code, out, err } = await run('const rest: string[] = process.argv.slice(2); console.log(rest.join("|"));');

    expect({ code, out }).toEqual({ code: 0, out: '--help|two words\n' });
    expect(err).toMatch(/installing the packages[^]*packages installed in \d+ s/);
    expect(installs()).toEqual([expect.stringMatching(/^ci /)]);
  });

  it('installs nothing the second time', async () => {
    await run('');
    const { err } = await run('');

    expect(err).toBe('');
    expect(installs()).toHaveLength(1);
  });

  it('installs again when the lock has changed', async () => {
    await run('');
    lockPackages('1.0.1');
    await run('');

    expect(installs()).toHaveLength(2);
  });

  it.each([
    ['takes over', '1.0.0', 0],
    ['replaces', '0.9.0', 1],
  ])('%s what npm itself installed at version %s', async (_, version, count) => {
    const folder = join(root, `node_modules/node-linux-${process.arch}/bin`);
    mkdirSync(folder, { recursive: true });
    symlinkSync(process.execPath, join(folder, 'node'));
    writeFileSync(
      join(root, 'node_modules/.package-lock.json'),
      JSON.stringify({ packages: { 'node_modules/pg': { version } } }),
    );
    writeFileSync(join(root, 'installs'), '');
    await run('');

    expect(installs().filter(Boolean)).toHaveLength(count);
  });

  it('runs from a checkout that another user installed and this one cannot write to', async () => {
    const modules = join(root, 'node_modules');
    mkdirSync(join(modules, `node-linux-${process.arch}/bin`), { recursive: true });
    symlinkSync(process.execPath, join(modules, `node-linux-${process.arch}/bin/node`));
    const packages = { 'node_modules/pg': { version: '1.0.0' } };
    writeFileSync(join(modules, '.package-lock.json'), JSON.stringify({ packages }));
    symlinkSync('/nonexistent/stamp', join(modules, '.coxswain-lock-hash')); // Cannot be written, not even by root.

    expect(await run('console.log("ran")')).toEqual({ code: 0, out: 'ran\n', err: '' });
  });

  it('installs once when two start at the same time', async () => {
    const both = await Promise.all([run('console.log("ran")'), run('console.log("ran")')]);

    expect(both.map(({ out }) => out)).toEqual(['ran\n', 'ran\n']);
    expect(installs()).toHaveLength(1);
  });

  it('stops with a sentence when the installation fails', async () => {
    const { code, out, err } = await run('console.log("ran")', { FAKE_NPM_FAILS: '1' });

    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('error: npm ci failed with exit code 4');
  });

  it.each([
    ['npm left it out', { FAKE_NPM_LEAVES_NODE_OUT: '1' }, /npm left out the package node-linux-\w+@24\.0\.0/],
    [
      'its bytes are others',
      { FAKE_NPM_NODE: '/bin/true' },
      /has SHA-256 \w+, but tools\/node-binaries\.json names \w+/,
    ],
  ])("runs nothing on the packages' Node when %s", async (_, env, why) => {
    const { code, out, err } = await run('console.log("ran")', env);

    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(why);
  });

  it.each([
    ['a code', 'process.exit(3)', 3],
    ['a signal, as a shell tells it', 'process.kill(process.pid, "SIGKILL")', 137],
  ])('ends with the exit of its program: %s', async (_, script, want) => {
    expect((await run(script)).code).toBe(want);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('passes %s on', async (signal) => {
    const child = start(
      `process.on('${signal}', () => process.exit(9)); setInterval(() => {}, 1000); console.log('up');`,
    );
    await firstWordsOf(child);
    child.kill(signal);

    expect(await once(child, 'exit')).toEqual([9, null]);
  });

  it('takes its program along when it is killed', async () => {
    const child = start(`setInterval(() => {}, 1000); console.log(process.pid);`);
    const pid = Number(await firstWordsOf(child));
    child.kill('SIGKILL');

    await waitFor(() => !isAlive(pid), { what: 'the program to be gone' });
  });
});

/** What it says first; throws with its complaints where it ends without a word. */
async function firstWordsOf(child: ChildProcessByStdio<null, Readable, Readable>): Promise<string> {
  for await (const words of child.stdout) return String(words);
  throw new Error(`the bootstrap ended without a word: ${await text(child.stderr)}`);
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
