import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { integrationFiles, LONG_TESTS } from './parts.ts';
import { ROOT } from './run-supervised.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly if?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly permissions: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: number;
  readonly strategy?: { readonly matrix: { readonly include: readonly { readonly paths: string }[] } };
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: object;
  readonly concurrency: { readonly 'cancel-in-progress': boolean };
  readonly jobs: Readonly<Record<'lint' | 'unit' | 'python' | 'integration', Job>>;
}

const text = readFileSync(join(ROOT, '.github/workflows/pull-request.yml'), 'utf8');
const workflow = parse(text) as Workflow;
const jobs = Object.values(workflow.jobs);
const commands = jobs.flatMap(({ steps }) => steps).flatMap(({ run }) => run ?? []);

describe('the workflow of pull requests', () => {
  it('runs each integration test in one shard, and leaves out those that take minutes each', () => {
    const shards = (workflow.jobs.integration.strategy?.matrix.include ?? []).map(({ paths }) => paths.split(' '));
    const run = shards.flatMap((filters) => integrationFiles({ filters }));
    expect(run.toSorted()).toEqual(integrationFiles({ filters: [], without: LONG_TESTS }));
  });

  it('names no path in a shard that finds nothing', () => {
    const paths = (workflow.jobs.integration.strategy?.matrix.include ?? []).flatMap(({ paths }) => paths.split(' '));
    expect(paths.filter((path) => integrationFiles({ filters: [path] }).length === 0)).toEqual([]);
  });

  it.each(['npm run lint', 'npm run typecheck', 'npm run generate -- --check', 'npm test -- --python'])(
    'runs %s',
    (command) => {
      expect(commands).toContain(command);
    },
  );

  it('runs the affected unit tests of a pull request, and all of main', () => {
    const unit = workflow.jobs.unit.steps.filter(({ if: condition }) => condition !== undefined);
    expect(unit.map(({ if: condition, run }) => [condition, run?.split(' ').slice(0, 4).join(' ')])).toEqual([
      ["github.event_name == 'pull_request'", 'npm run nx --'],
      ["github.event_name == 'push'", 'npm test -- --unit'],
    ]);
    expect(workflow.jobs.unit.steps[0]?.with).toMatchObject({ 'fetch-depth': 0 });
  });

  it('gives no job a right to write', () => {
    expect(Object.keys(workflow.on)).not.toContain('pull_request_target');
    expect(workflow.permissions).toEqual({});
    expect(jobs.map(({ permissions }) => permissions)).toEqual(jobs.map(() => ({ contents: 'read' })));
    expect(text).not.toContain('secrets.');
  });

  it('ends: each job has a limit, and a newer commit cancels the run of an older one', () => {
    expect(jobs.filter((job) => job['timeout-minutes'] === undefined)).toEqual([]);
    expect(workflow.concurrency['cancel-in-progress']).toBe(true);
  });

  it('names every action by a commit, with the release behind it, and leaves no credential of the checkout behind', () => {
    const uses = text.split('\n').filter((line) => /\buses:/.test(line));
    expect(uses.length).toBeGreaterThan(5);
    expect(uses.filter((line) => !/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
    const checkouts = jobs.flatMap(({ steps }) => steps).filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts.map(({ with: inputs }) => inputs?.['persist-credentials'])).toEqual(checkouts.map(() => false));
  });

  it('puts nothing that a contributor wrote into a shell', () => {
    expect(commands.filter((command) => command.includes('${{'))).toEqual([]);
  });
});
