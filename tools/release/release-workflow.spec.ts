import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { IMAGE_NAMES, ROOT } from '../images/image-names.ts';
import { cliManifest, type CliWorkspace } from './cli-manifest.ts';
import { RELEASE_PARTS } from './options.ts';

interface Step {
  readonly uses?: string;
  readonly if?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly if?: string;
  readonly strategy?: { readonly matrix: { readonly include: readonly Readonly<Record<string, string>>[] } };
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: { readonly push: object };
  readonly permissions: Readonly<Record<string, string>>;
  readonly env: { readonly IMAGES: string };
  readonly jobs: Readonly<Record<'check' | 'images' | 'publish', Job>>;
}

const text = readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8');
const workflow = parse(text) as Workflow;
const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

describe('the release workflow', () => {
  it('names every action by a commit, with the release behind it', () => {
    const uses = text.split('\n').filter((line) => /\buses:/.test(line));
    expect(uses.length).toBeGreaterThan(5);
    expect(uses.filter((line) => !/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  it('publishes images that exist, all but the engine’s, whose base is a choice', () => {
    const published = workflow.env.IMAGES.split(' ');
    expect(published).toEqual(IMAGE_NAMES.filter((name) => !name.startsWith('engine-')));
  });

  it('scans each of them before it is pushed', () => {
    const scanned = steps.flatMap(({ uses, with: inputs }) =>
      uses?.startsWith('anchore/scan-action@') === true ? [String(inputs?.['image'])] : [],
    );
    expect(scanned.map((image) => /namespace }}\/(\w+):/.exec(image)?.[1])).toEqual(workflow.env.IMAGES.split(' '));
  });

  it('publishes nothing that was not pushed as a tag: started by hand it may be on one', () => {
    const pushes = steps.filter(({ run }) => run?.includes('docker push') === true);
    expect(pushes.map((step) => step.if)).toEqual([workflow.jobs.publish.if]);
    expect(Object.keys(workflow.on.push)).toEqual(['tags']);
  });

  it('publishes chart and packages that `npm run release` made', () => {
    const commands = workflow.jobs.publish.steps.flatMap(({ run }) => run?.split('\n') ?? []);
    const publishing = commands.filter((line) => /helm push|npm publish|^cp .* dist\/pypi$/.test(line));
    expect(publishing).toHaveLength(3);
    expect(publishing.filter((line) => !line.includes('dist/release/'))).toEqual([]);
    const parts = commands.flatMap(
      (line) => /npm run release -- --out dist\/release (.*)$/.exec(line)?.[1]?.split(' ') ?? [],
    );
    expect([...parts, 'images'].sort()).toEqual([...RELEASE_PARTS].sort());
  });

  it('names images in small letters, whatever those of the owner', () => {
    expect(text).not.toContain('github.repository_owner }}');
    expect(text).toContain('namespace=${GITHUB_REPOSITORY_OWNER,,}/coxswain');
  });

  it('builds for arm64 on a machine of that processor', () => {
    const [amd64, arm64] = workflow.jobs.images.strategy?.matrix.include ?? [];
    expect([amd64?.['architecture'], arm64?.['architecture']]).toEqual(['amd64', 'arm64']);
    expect(arm64?.['runner']).toMatch(/-arm$/);
  });

  it('gives no right that a job does not need, and identity to the one that signs', () => {
    const { check, images, publish } = workflow.jobs;
    expect(workflow.permissions).toEqual({});
    expect(check.permissions).toEqual({ contents: 'read' });
    expect(images.permissions).toEqual({ contents: 'read', packages: 'write' });
    expect(publish.permissions).toMatchObject({ 'id-token': 'write' });
    expect(publish.if).toBe("github.event_name == 'push'");
  });

  it('leaves no credential of the checkout behind', () => {
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts.map(({ with: inputs }) => inputs?.['persist-credentials'])).toEqual(checkouts.map(() => false));
  });
});

describe('the package of the command line', () => {
  const root = { version: '1.2.3', description: 'trains', license: 'Apache-2.0' };
  const workspace = JSON.parse(readFileSync(join(ROOT, 'apps/cli/package.json'), 'utf8')) as CliWorkspace;

  it('names the repository whose workflow made it, without which npm takes no provenance', () => {
    const made = cliManifest(root, workspace, {
      GITHUB_SERVER_URL: 'https://github.com',
      GITHUB_REPOSITORY: 'Some/fork',
    });
    expect(made).toMatchObject({ repository: { type: 'git', url: 'git+https://github.com/Some/fork.git' } });
  });

  it('names none elsewhere', () => {
    expect(cliManifest(root, workspace, {})).not.toHaveProperty('repository');
    expect(cliManifest(root, workspace, {})).toMatchObject({ name: 'coxswain', version: '1.2.3' });
  });

  it('has the plugin of kubectl beside the program', () => {
    const programs = ['coxswain', 'kubectl-coxswain', 'kubectl_complete-coxswain'];
    expect(cliManifest(root, workspace, {})).toMatchObject({
      bin: Object.fromEntries(programs.map((name) => [name, 'dist/coxswain.js'])),
    });
  });
});
