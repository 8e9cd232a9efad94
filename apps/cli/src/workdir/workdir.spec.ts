import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { CODE_LIMITS } from '@coxswain/api-types';
import { aJob, aJobSpec } from '@coxswain/api-types/testing';
import { type Outcome, runCommand } from '../testing/run-command.ts';
import { listFiles } from './list-files.ts';
import { packWorkdir } from './pack-workdir.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'workdir-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (path: string, text = path): void => {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
};
const paths = (): readonly string[] => listFiles(root).files.map(({ path }) => path);
const git = (...args: readonly string[]): void => void execFileSync('git', ['-C', root, ...args], { stdio: 'ignore' });

/** What belongs to the job, and what does not. */
function aProject(): void {
  for (const path of ['train.py', 'src/model.py', 'data/train.bin', 'logs/a.log', 'logs/keep.log', 'src/tmp/x'])
    write(path);
  write('.gitignore', 'data/\n*.log\n');
  write('logs/.gitignore', '!keep.log\n');
  write('src/.gitignore', '/tmp\n');
  write('src/__pycache__/model.pyc');
}
const WANTED = ['.gitignore', 'logs/.gitignore', 'logs/keep.log', 'src/.gitignore', 'src/model.py', 'train.py'];

describe('the files of a working directory', () => {
  it('are those that .gitignore files leave, without a repository', () => {
    aProject();
    expect(paths()).toEqual(WANTED);
  });

  it('are the same in a repository, by git itself', () => {
    aProject();
    git('init');
    expect(paths()).toEqual(WANTED);
  });

  it('are in a repository also tracked files that are ignored, and not those that were deleted', () => {
    aProject();
    git('init');
    git('add', '-f', '.');
    rmSync(join(root, 'src/model.py'));
    const tracked = [...WANTED.filter((path) => path !== 'src/model.py'), 'data/train.bin', 'logs/a.log', 'src/tmp/x'];
    expect(paths()).toEqual(tracked.toSorted());
  });

  it('are in a directory below the top of a repository those below it', () => {
    aProject();
    git('init');
    expect(listFiles(join(root, 'src')).files.map(({ path }) => path)).toEqual(['.gitignore', 'model.py']);
  });

  it('are those of a repository inside of it too', () => {
    write('train.py');
    write('vendor/lib.py');
    git('init');
    execFileSync('git', ['-C', join(root, 'vendor'), 'init'], { stdio: 'ignore' });
    expect(paths()).toEqual(['train.py', 'vendor/lib.py']);
  });

  it('are none of a submodule that was not checked out', () => {
    write('train.py');
    git('init');
    // An entry of a commit, as a clone without --recurse-submodules has it.
    git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},vendor`);
    mkdirSync(join(root, 'vendor'));
    expect(paths()).toEqual(['train.py']);
    expect(listFiles(join(root, 'vendor')).files).toEqual([]);
    write('vendor/lib.py');
    expect(paths()).toEqual(['train.py', 'vendor/lib.py']);
  });

  it('may be links inside, and all links that lead outside are named', () => {
    write('a/train.py');
    symlinkSync('train.py', join(root, 'a/main.py'));
    expect(listFiles(root).files[0]).toMatchObject({ path: 'a/main.py', target: 'train.py' });
    symlinkSync('../../other', join(root, 'a/up'));
    symlinkSync('/etc/hosts', join(root, 'hosts'));
    expect(paths).toThrow(/a\/up -> \.\.\/\.\.\/other\n.*hosts -> \/etc\/hosts/s);
  });

  it('are none of a directory that does not exist', () => {
    expect(() => listFiles(join(root, 'none'))).toThrow('is no directory');
  });
});

/** The tests of the Python client have the same lists. */
const HOME_FILES = ['.ssh/id_ed25519', '.aws/config', '.kube/config', '.docker/config.json', '.netrc'].concat(
  '.git-credentials',
  '.cache/huggingface/token',
);
const SECRETS = ['.env', '.envrc', 'prod.env', '.env.local', 'keys/id_rsa', 'tls.pem', 'service-account.json'].concat(
  ...['secrets.yaml', 'gcp-credentials.json', 'hf_token', 'Kubeconfig', 'k8s/db-secret.yml'],
);
const HARMLESS = ['.env.example', 'train.py', 'environment.py', 'tokenizer.json', 'secrets.py', 'src/token.py'];

describe('an archive', () => {
  it('is the same bytes for the same files, whenever and in whichever order they were written', () => {
    write('b.py');
    write('a.py');
    const { bytes, sha256, files } = packWorkdir(root);
    for (const name of ['a.py', 'b.py']) rmSync(join(root, name));
    write('a.py');
    write('b.py');
    utimesSync(join(root, 'a.py'), 1, 1);
    expect(packWorkdir(root)).toEqual({ bytes, sha256, files, secrets: [], withheld: [] });
    write('a.py', 'edited');
    expect(packWorkdir(root).sha256).not.toBe(sha256);
  });

  it('is one that tar reads, with long names, names of other languages, links and modes', () => {
    const long = `${'deep/'.repeat(30)}größe.py`;
    write(long);
    write('run.sh');
    chmodSync(join(root, 'run.sh'), 0o755);
    symlinkSync('run.sh', join(root, 'start'));
    const tar = gunzipSync(packWorkdir(root).bytes);
    const listed = execFileSync('tar', ['--quoting-style=literal', '--numeric-owner', '-tvf', '-'], {
      input: tar,
      encoding: 'utf8',
    });
    expect(
      listed
        .trim()
        .split('\n')
        .map((line) => line.replace(/ +/g, ' ').replace(/ 1970-\S+ \S+/, '')),
    ).toEqual([
      `-rw-r--r-- 0/0 ${Buffer.byteLength(long)} ${long}`,
      '-rwxr-xr-x 0/0 6 run.sh',
      'lrwxrwxrwx 0/0 0 start -> run.sh'.replace('lrwxrwxrwx', 'lrw-r--r--'),
    ]);
  });

  it('that would be too large is refused with the largest files', () => {
    write('small.py');
    write('weights.bin');
    truncateSync(join(root, 'weights.bin'), 300 << 20);
    expect(() => packWorkdir(root)).toThrow(
      /300\.0 MiB of files, and a job takes at most 256\.0 MiB.*300\.0 MiB {2}weights\.bin.*\.gitignore/s,
    );
  });

  it('counts what a pod counts: headers, padding, long names and the end', () => {
    const limits = { ...CODE_LIMITS, unpackedBytes: 4 * 512 };
    write('a.py', 'x'.repeat(512));
    expect(gunzipSync(packWorkdir(root, limits).bytes)).toHaveLength(limits.unpackedBytes);
    write('a.py', 'x'.repeat(513));
    expect(() => packWorkdir(root, limits)).toThrow('2.5 KiB of files, and a job takes at most 2.0 KiB');
    rmSync(join(root, 'a.py'));
    write(`${'long/'.repeat(30)}a.py`, 'x');
    expect(() => packWorkdir(root, limits)).toThrow('3.0 KiB of files');
  });

  it('of nothing is refused', () => {
    expect(() => packWorkdir(root)).toThrow('has no files to ship');
  });

  it('never has credentials of a person, with or without a repository', () => {
    for (const path of [...HOME_FILES, 'train.py', 'src/aws/s3.py']) write(path);
    const want = ['.aws', '.cache/huggingface/token', '.docker', '.git-credentials', '.kube', '.netrc', '.ssh'];
    for (const isRepository of [false, true]) {
      if (isRepository) git('init');
      expect(packWorkdir(root).withheld).toEqual(want);
      expect(paths()).toEqual(['src/aws/s3.py', 'train.py']);
    }
  });

  it('names files that look like secrets', () => {
    for (const path of [...SECRETS, ...HARMLESS]) write(path);
    expect(packWorkdir(root).secrets).toEqual(SECRETS.toSorted());
  });
});

describe('submit --workdir', () => {
  const PATH = '/v1/projects/research/code/';
  const job = (): string => {
    const file = `${root}.json`;
    writeFileSync(file, JSON.stringify({ name: 'mine', spec: aJobSpec() }));
    return file;
  };
  const submit = async (known: boolean, options = ''): Promise<Outcome & { readonly sha256: string }> => {
    const { sha256, bytes } = packWorkdir(root);
    const at = '2026-01-10T00:00:00Z';
    const archive = { sha256, namespace: 'research', bytes: bytes.length, uploadedAt: at, usedAt: at };
    const made = aJob({ name: 'mine', spec: { ...aJob().spec, code: { sha256 } } });
    const missing = { status: 404, json: { status: 404, code: 'NOT_FOUND', title: 'Not found', detail: 'none' } };
    const file = job();
    const outcome = await runCommand(`submit -f ${file} --workdir ${root} ${options}`, {
      [`GET ${PATH}${sha256}`]: known ? { json: archive } : missing,
      [`PUT ${PATH}${sha256}`]: { json: archive },
      'POST /v1/projects/research/jobs': { status: 201, json: made },
    });
    rmSync(file);
    return { ...outcome, sha256 };
  };

  it.each([
    ['uploads the archive and names it in the job', false, ['GET', 'PUT', 'POST'], 'Uploaded code (1 file,'],
    ['uploads nothing if the project has the archive', true, ['GET', 'POST'], 'Code is unchanged (1 file,'],
  ])('%s', async (_which, known, methods, line) => {
    write('train.py');
    const { code, err, out, requests, sha256 } = await submit(known);
    expect({ code, err }).toMatchObject({ code: 0 });
    const asked = requests.filter(({ path }) => path !== '/v1/whoami');
    expect(asked.map(({ method }) => method)).toEqual(methods);
    expect(asked.at(-1)?.body).toMatchObject({ spec: { code: { sha256 } } });
    expect(err).toContain(line);
    expect(out).toContain(`SHA-256 ${sha256}`);
  });

  it('names credentials that it left out, and warns of files that look like secrets', async () => {
    write('.env');
    write('.netrc');
    const { err } = await submit(true);
    expect(err).toContain('Warning: .env looks like a secret');
    expect(err).toContain('Left out: .netrc.');
  });
});
