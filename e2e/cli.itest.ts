import { basePythons, CLIENT_PACKAGE, clientPython, type CoxswainSystem } from '@coxswain/local-cluster';
import { Job, JobSummary } from '@coxswain/api-types';
import { execFile, spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { sleeperSpec, UNTIL_STOPPED, type SleeperOptions } from './support/jobs.ts';
import { createProject, jobIn, type TestProject } from './support/project.ts';
import { releaseSharedSystem, sharedSystem } from './support/shared-system.ts';

const PROGRAM = resolve(import.meta.dirname, '../apps/cli/bin/coxswain.mjs');

let system: CoxswainSystem;
let project: TestProject;

beforeAll(async () => {
  system = await sharedSystem();
  project = await createProject(system, 'rowers');
  writeFileSync(join(system.directory, 'config.yaml'), stringify({ server: system.apiUrl, token: project.token }));
});

afterAll(async () => {
  await releaseSharedSystem();
});

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const cacheHome = (): string => join(system.directory, 'cache');

/** Runs the program as a user does, with nothing but a configuration file; `onOut` sees what it has printed so far. */
function coxswain(args: readonly string[], onOut?: (out: string, interrupt: () => void) => void): Promise<Outcome> {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH, HOME, XDG_CACHE_HOME: cacheHome(), COXSWAIN_CONFIG: join(system.directory, 'config.yaml') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  // A second Ctrl-C ends the program at once, without a word; more output after the first must not be taken for one.
  let isInterrupted = false;
  const interruptOnce = (): void => {
    if (!isInterrupted) child.kill('SIGINT');
    isInterrupted = true;
  };
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
    onOut?.(out, interruptOnce);
  });
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  return new Promise((done, failed) => {
    child.on('error', failed);
    child.on('close', (code) => done({ code, out, err }));
  });
}

function manifest(name: string, options: SleeperOptions): string {
  const path = join(system.directory, `${name}.yaml`);
  const job = {
    apiVersion: 'training.coxswain.dev/v1alpha1',
    kind: 'TrainingJob',
    metadata: { name },
    spec: sleeperSpec(options, { restartPolicy: { maxRestarts: 0 } }),
  };
  writeFileSync(path, stringify(job));
  return path;
}

/** Where a browser shows the job: the only line that a command which watches writes beside its output. */
const PAGE_OF_JOB = /^Page {2}http:\/\/\S+\/jobs\/\S+\n$/;

describe('the command line', () => {
  it('submits a manifest and watches it to the end, with exit code 0', async () => {
    const { code, out, err } = await coxswain(['submit', '-f', manifest('quick', { steps: 60 }), '--watch']);
    expect(err).toMatch(PAGE_OF_JOB);
    expect(out).toMatch(/^Submitted quick \([0-9a-f-]{36}\)\.\n/);
    for (const type of ['Submitted', 'Placed', 'CheckpointSaved', 'Completed']) expect(out).toContain(` ${type} `);
    expect(out).toMatch(/quick: Complete\. .*\n$/);
    expect(code).toBe(0);
  });

  it('keeps what it compiled for the next command', () => {
    expect(readdirSync(join(cacheHome(), 'coxswain', 'compiled'))).toEqual([expect.stringContaining(process.version)]);
  });

  it('a job that fails ends the watch with exit code 3 and the reason', async () => {
    const file = manifest('unlucky', { steps: UNTIL_STOPPED, fault: { rank: 2, step: 4, kind: 'exit', code: 7 } });
    const { code, out } = await coxswain(['submit', '-f', file, '--watch']);
    expect(out).toMatch(/unlucky: Failed\. .*rank 2/i);
    expect(code).toBe(3);
  });

  it('a Python program submits a job, follows it to its end, and reads what it made', async () => {
    const [base] = await basePythons();
    if (base === undefined) throw new Error('this machine has no Python of 3.10 to 3.15');
    const program = join(CLIENT_PACKAGE, 'examples/follow_a_job.py');
    const { stdout } = await promisify(execFile)(
      await clientPython(base, 'test'),
      [program, manifest('from-python', { steps: 60 })],
      {
        env: {
          PYTHONPATH: CLIENT_PACKAGE,
          PYTHONDONTWRITEBYTECODE: '1',
          COXSWAIN_CONFIG: join(system.directory, 'config.yaml'),
        },
      },
    );
    expect(stdout).toMatch(/^submitted from-python\n/);
    expect(stdout).toMatch(/^\d\d:\d\d:\d\d {2}Placed: /m);
    expect(stdout).toMatch(/^from-python: Complete\. /m);
    expect(stdout).toMatch(/^checkpoint of step 60: from-python-/m);
    const { id } = await find('from-python');
    await project.api.deleteJob({ project: project.name, id });
    // Until then lists have it.
    await jobIn(project, id, ['Deleted']);
  });

  it('lists both and gets one, for people and for programs', async () => {
    const { out } = await coxswain(['list']);
    expect(out).toMatch(/^NAME +STATE .*\nunlucky +Failed .*\nquick +Complete /);
    expect(out).not.toContain('\u001b');
    const json = await coxswain(['get', 'quick', '-o', 'json']);
    expect(Job.parse(JSON.parse(json.out))).toMatchObject({ name: 'quick', state: 'Complete' });
    const yaml = await coxswain(['list', '-o', 'yaml']);
    expect(
      z
        .array(JobSummary)
        .parse(parse(yaml.out))
        .map((job) => job.name),
    ).toEqual(['unlucky', 'quick']);
    expect((await coxswain(['get', 'unlucky'])).out).toMatch(/EngineFailed +from scratch/);
    expect((await coxswain(['checkpoints', 'quick'])).out).toMatch(/^STEP .*\n10 +1 +Complete/);
    expect((await coxswain(['whoami'])).out).toBe('test: operator of rowers\n');
  });

  it('prints and follows the log of a rank, and Ctrl-C ends a watch with 130', async () => {
    await coxswain(['submit', '-f', manifest('long', { steps: UNTIL_STOPPED })]);
    await jobIn(project, (await find('long')).id, ['Running'], { and: ({ uid }) => uid !== null });
    const followed = await coxswain(['logs', 'long', '-f'], (out, interrupt) => {
      if (/step \d/.test(out)) interrupt();
    });
    expect(followed.out).toMatch(/step \d/);
    expect(followed.code).toBe(130);
    const tail = await coxswain(['logs', 'long', '--rank', '3', '--tail', '1']);
    expect([tail.code, tail.err]).toEqual([0, '']);
    expect(tail.out.trimEnd().split('\n')).toHaveLength(1);
    const watched = await coxswain(['watch', 'long'], (out, interrupt) => {
      if (out.includes('Running')) interrupt();
    });
    expect([watched.code, watched.err]).toEqual([130, expect.stringMatching(PAGE_OF_JOB)]);
  });

  it('suspends, resumes on another layout, cancels and deletes', async () => {
    const { id } = await find('long');
    expect((await coxswain(['suspend', 'long'])).code).toBe(0);
    await jobIn(project, id, ['Suspended']);
    const resumed = await coxswain(['resume', 'long', '--tensor-parallel', '1']);
    expect(resumed.out).toMatch(/Layout: +dp2 on 2 GPUs/);
    await jobIn(project, id, ['Running']);
    expect((await coxswain(['cancel', 'long'])).code).toBe(0);
    await jobIn(project, id, ['Cancelled']);
    expect((await coxswain(['watch', 'long'])).code).toBe(3);
    expect((await coxswain(['delete', 'long'])).out).toBe('Deleting long.\n');
    await jobIn(project, id, ['Deleted']);
    const gone = await coxswain(['get', 'long']);
    expect([gone.code, gone.err]).toEqual([1, expect.stringContaining('No job named "long" in project rowers')]);
  });

  it('is told what the API refuses, field by field', async () => {
    const file = manifest('wide', { steps: 5 });
    const again = await coxswain(['submit', '-f', file, '--name', 'quick']);
    expect([again.code, again.err]).toEqual([1, expect.stringMatching(/quick[\s\S]*\(NAME_TAKEN\)/)]);
    const stranger = await coxswain(['list', '--project', 'elsewhere']);
    expect([stranger.code, stranger.err]).toEqual([1, expect.stringMatching(/\((NOT_FOUND|FORBIDDEN)\)/)]);
  });

  it.each([
    ['that reshards', ['reshard', 'runs/old', 'runs/new', '--ranks', '8', '--workers', '2']],
    [
      "with an engine's converter",
      [
        'convert',
        'runs/old',
        'runs/new',
        ...'--to fsdp_dtensor --converter megatron-lm --image e --memory 1Gi'.split(' '),
      ],
    ],
  ])('prints a Job %s that the API server takes as it is', async (_what, argv) => {
    const { out, err } = await coxswain(['checkpoint', ...argv, '--job', 'printed', '--claim', 'checkpoints']);
    expect(err).toBe('');
    // Strict: a field that the server does not know is an error, and no warning.
    const apply = ['-n', 'rowers', 'apply', '--dry-run=server', '--validate=strict', '-f', '-'];
    expect(await system.plane.kubectl(apply, { input: out })).toBe('job.batch/printed created (server dry run)\n');
  });

  it('finds what the cluster lacks with a kubeconfig, and names what it may not read', async () => {
    const { plane } = system;
    const aClass = (name: string, value: number): readonly string[] => [
      ...['create', 'priorityclass', name, `--value=${value}`, '--preemption-policy=Never'],
    ];
    await plane.kubectl(['create', 'priorityclass', 'rush', '--value=7']);
    await plane.kubectl(aClass('rush-never-preempts', 8));
    try {
      const found = await coxswain(['doctor', '--kubeconfig', plane.adminKubeconfigPath]);
      expect(found).toMatchObject({ code: 1, err: '' });
      expect(found.out).toContain('! PriorityClass rush-never-preempts has value 8 instead of 7');
      expect(found.out).not.toContain('could not be read');
    } finally {
      await plane.kubectl(['delete', 'priorityclass', 'rush', 'rush-never-preempts']);
    }
    const kubeconfig = await plane.kubeconfigFor({ namespace: 'rowers', serviceAccount: 'default' });
    const { out } = await coxswain(['doctor', '--kubeconfig', kubeconfig]);
    expect(out).toMatch(/! TrainingJob objects could not be read/);
  });
});

async function find(name: string): Promise<Job> {
  return Job.parse(JSON.parse((await coxswain(['get', name, '-o', 'json'])).out));
}
