/** What a release has beside images, made twice, and installed from its folder alone. */
import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { helm } from '../chart/render.ts';
import { archiveFolder } from '../images/archive-folder.ts';
import { coxswainVersion, ROOT } from '../images/image-names.ts';
import { finishRelease, sumsOf } from './finish-release.ts';
import { makeChart } from './make-chart.ts';
import { makeNpmPackage } from './make-npm-package.ts';
import { makePythonPackage, type PythonTarget } from './make-python-package.ts';
import { RELEASED_IMAGES } from './make-release-images.ts';

const run = promisify(execFile);
const VERSION = coxswainVersion();
/** 2026-01-01T00:00:00Z. */
const SECONDS = 1767225600;

let home: string;
let release: string;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'coxswain-release-test-'));
  release = join(home, 'release');
  await make(release, [await thisPython()]);
  mkdirSync(join(release, 'images'));
  for (const name of [...RELEASED_IMAGES, 'postgres']) await fakeImage(name);
  await finishRelease(release);
}, 120_000);
afterAll(() => rmSync(home, { recursive: true }));

async function make(out: string, targets: readonly PythonTarget[]): Promise<void> {
  const temporary = mkdtempSync(join(home, 'temporary-'));
  const work = { out, temporary, seconds: SECONDS };
  await Promise.all([makeChart(work), makeNpmPackage(work), makePythonPackage(work, targets)]);
}

async function thisPython(): Promise<PythonTarget> {
  const question = 'import platform, sys; print(f"3.{sys.version_info[1]} {platform.machine()}")';
  const { stdout } = await run('python3', ['-c', question]);
  const [version = '', machine = ''] = stdout.trim().split(' ');
  return { version, machine };
}

/** Images take minutes to build. Of their archives only this file is read. */
async function fakeImage(name: string): Promise<void> {
  const layout = join(home, `layout-${name}`);
  mkdirSync(layout);
  writeFileSync(join(layout, 'index.json'), JSON.stringify({ manifests: [{ digest: digestOf(name) }] }));
  await archiveFolder(layout, join(release, `images/${name}.tar`));
}

const digestOf = (name: string): string => `sha256:${Buffer.from(name).toString('hex').padEnd(64, '0')}`;

it('the same sources give the same chart, npm package, wheel and source archive, byte for byte', async () => {
  const again = join(home, 'again');
  await make(again, []);
  const sums = sumsOf(again).trim().split('\n');
  expect(sums.map((line) => line.split('  ')[1])).toEqual([
    `charts/coxswain-${VERSION}.tgz`,
    `npm/coxswain-${VERSION}.sbom.cdx.json`,
    `npm/coxswain-${VERSION}.tgz`,
    `python/coxswain-${VERSION}-py3-none-any.whl`,
    `python/coxswain-${VERSION}.sbom.cdx.json`,
    `python/coxswain-${VERSION}.tar.gz`,
  ]);
  const first = readFileSync(join(release, 'SHA256SUMS'), 'utf8').split('\n');
  expect(sums.filter((line) => !first.includes(line))).toEqual([]);
}, 60_000);

it('sha256sum finds every file as the sums say', async () => {
  const { stdout } = await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: release });
  const files = globSync('**/*.*', { cwd: release }).length;
  expect(stdout.split('\n').filter((line) => line.endsWith(': OK'))).toHaveLength(files);
});

describe('the command line, installed without internet into an empty folder', () => {
  let bin: string;
  beforeAll(async () => {
    const prefix = join(home, 'npm');
    const archive = join(release, `npm/coxswain-${VERSION}.tgz`);
    await run('npm', ['install', '--global', '--offline', '--prefix', prefix, '--cache', join(home, 'cache'), archive]);
    bin = join(prefix, 'bin');
  }, 60_000);

  const program = (name: string, ...argv: readonly string[]): Promise<{ readonly stdout: string }> =>
    run(join(bin, name), [...argv], {
      env: {
        PATH: process.env['PATH'],
        ...{ AWS_ENDPOINT_URL: 'http://127.0.0.1:1', AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
      },
    });

  it('says its version', async () => {
    expect((await program('coxswain', '--version')).stdout).toBe(`${VERSION}\n`);
  });

  it('is the plugin of kubectl', async () => {
    expect((await program('kubectl-coxswain', '--help')).stdout).toMatch(/^Usage: kubectl coxswain /);
    expect((await program('kubectl_complete-coxswain', 'expl')).stdout).toContain('explain');
  });

  it('plans, in a process of its own', async () => {
    const question = ['--model', 'llama-3.1-8b', '--gpu', 'h100', '--gpus', '8'];
    const batch = ['--global-batch', '64', '--seq', '4096'];
    expect((await program('coxswain', 'plan', ...question, ...batch)).stdout).toContain('tokens');
  });

  it('reads saves in directories and in buckets', async () => {
    const { stdout } = await program(
      'coxswain',
      'checkpoint',
      'show',
      join(ROOT, 'libs/checkpoint/fixtures/dcp-2.15.0'),
    );
    expect(stdout).toMatch(/^Format +dcp\n/);
    const bucket = program('coxswain', 'checkpoint', 'show', 's3://bucket/run');
    await expect(bucket).rejects.toThrow(/does not answer \(ECONNREFUSED\)/);
  });
});

it('the Python package is installed without an index, with all that it needs', async () => {
  const venv = join(home, 'venv');
  await run('python3', ['-m', 'venv', '--without-pip', venv]);
  const folders = ['python', 'python/dependencies'].map((name) => `--find-links=${join(release, name)}`);
  const quiet = ['--quiet', '--disable-pip-version-check'];
  const pip = ['-m', 'pip', '--python', join(venv, 'bin/python'), 'install', ...quiet];
  await run('python3', [...pip, '--no-index', ...folders, 'coxswain']);
  const question = 'import coxswain, importlib.metadata as m; print(m.version("coxswain"), coxswain.submit.__module__)';
  const { stdout } = await run(join(venv, 'bin/python'), ['-I', '-c', question]);
  expect(stdout).toMatch(new RegExp(`^${VERSION} coxswain`));
}, 60_000);

describe('the chart', () => {
  it('passes a lint as an archive, and names every image by the registry and digest', async () => {
    const chart = join(release, `charts/coxswain-${VERSION}.tgz`);
    const values = ['--values', join(release, 'charts/images.yaml'), '--set', 'image.registry=registry.example/team'];
    expect(await helm('lint', '--strict', chart)).toContain('0 chart(s) failed');
    const rendered = await helm('template', 'coxswain', chart, '--namespace', 'coxswain-system', ...values);
    const used = [...new Set(rendered.match(/\bimage: .*/g)?.map((line) => line.replace(/image: |"/g, '')))];
    const want = ['api', 'operator', 'postgres'].map(
      (name) => `registry.example/team/coxswain/${name}@${digestOf(name)}`,
    );
    expect(used.sort()).toEqual(want);
    expect(rendered).toContain(`registry.example/team/coxswain/launcher@${digestOf('launcher')}`);
    expect(parseAllDocuments(rendered).length).toBeGreaterThan(20);
  });

  it('has a bill of materials that lists the images', () => {
    const bill = JSON.parse(readFileSync(join(release, `charts/coxswain-${VERSION}.sbom.cdx.json`), 'utf8')) as {
      readonly components: readonly { readonly name: string; readonly purl: string }[];
    };
    const digests = bill.components.map(({ name, purl }) => [basename(name), decodeURIComponent(purl)] as const);
    expect(digests.every(([name, purl]) => purl.includes(digestOf(name)))).toBe(true);
    expect(bill.components).toHaveLength(RELEASED_IMAGES.length + 1);
  });
});
