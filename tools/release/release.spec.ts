import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { coxswainVersion, ROOT } from '../images/image-names.ts';
import { guideOf, sumsOf } from './finish-release.ts';
import { imageValues } from './image-values.ts';
import { parseOptions, RELEASE_PARTS } from './options.ts';
import { lockedPackages, requirementsOf } from './python-lock.ts';

const HASH = `sha256:${'a1'.repeat(32)}`;

describe('npm run release', () => {
  it.each([
    ['every part unless some are named', [], RELEASE_PARTS],
    ['the named parts, in the order in which they are made', ['python', 'charts'], ['charts', 'python']],
  ])('makes %s', (_sentence, argv, parts) => {
    expect(parseOptions(argv)).toMatchObject({ parts, out: 'dist/release', base: undefined });
  });

  it('rejects an unknown part, and lists the parts', () => {
    expect(() => parseOptions(['chart', 'npm'])).toThrow(
      'a release has no part "chart"; the parts are images, charts, npm, python',
    );
  });
});

it('the Python package has the version of everything else', () => {
  const project = readFileSync(join(ROOT, 'clients/python/pyproject.toml'), 'utf8');
  expect(/^version = "(.*)"$/m.exec(project)?.[1]).toBe(coxswainVersion());
});

describe('a lock of pip', () => {
  const lock = `anyio==4.16.0 \\\n    --hash=${HASH} \\\n    --hash=${HASH}\n    # via httpx\nexceptiongroup==1.3.2 ; python_full_version < '3.11' \\\n    --hash=${HASH}\n`;

  it('names packages with their hashes, those for other Pythons too', () => {
    expect(lockedPackages(lock)).toEqual([
      { name: 'anyio', version: '4.16.0', hashes: [HASH, HASH] },
      { name: 'exceptiongroup', version: '1.3.2', hashes: [HASH] },
    ]);
  });

  it('becomes requirements of any Python', () => {
    expect(requirementsOf(lockedPackages(lock))).toBe(
      `anyio==4.16.0 --hash=${HASH} --hash=${HASH}\nexceptiongroup==1.3.2 --hash=${HASH}\n`,
    );
  });

  it.each([
    ['no version', `anyio --hash=${HASH}\n`],
    ['a range', `anyio>=4 --hash=${HASH}\n`],
    ['no hash', 'anyio==4.16.0\n'],
  ])('is rejected where a package has %s', (_sentence, text) => {
    expect(() => lockedPackages(text)).toThrow(/^the lock has "anyio.*write it again$/);
  });
});

describe('values of the chart', () => {
  it('name each image where the chart does, and the user of PostgreSQL', () => {
    const images = ['api', 'cli', 'launcher', 'operator', 'postgres'].map((name) => ({
      name,
      tag: '1.0.0',
      digest: name,
    }));
    const image = (name: string): object => ({ repository: `coxswain/${name}`, tag: '1.0.0', digest: name });
    expect(parse(imageValues(images))).toEqual({
      operator: { image: image('operator'), launcherImage: image('launcher') },
      api: { image: image('api') },
      database: { embedded: { image: image('postgres'), runAsUser: 65532 } },
    });
  });

  it('leave the database as it is where a release has no image of it', () => {
    expect(parse(imageValues([{ name: 'api', tag: '1.0.0', digest: 'd' }]))).not.toHaveProperty('database');
  });
});

describe('the guide in the folder', () => {
  it.each([
    ['a link to another page', 'See [install](install.md#x) now.', 'See install now.'],
    ['a link to a site', '[Helm](https://helm.sh)', '[Helm](https://helm.sh)'],
    ['the version', 'coxswain-X.Y.Z.tgz', 'coxswain-1.2.3.tgz'],
    ['what is for those who make the folder', 'a\n<!-- begin: not in the folder -->\nb\n<!-- end -->\n\nc', 'a\nc'],
  ])('has %s as it should', (_sentence, page, want) => {
    expect(guideOf(page, '1.2.3')).toBe(want);
  });
});

describe('the sums', () => {
  it('list every file but themselves by path', () => {
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-sums-'));
    try {
      mkdirSync(join(folder, 'b'));
      for (const name of ['b/two', 'a', 'SHA256SUMS']) writeFileSync(join(folder, name), 'text');
      const sum = '982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1';
      expect(sumsOf(folder)).toBe(`${sum}  a\n${sum}  b/two\n`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
