/** A researcher edits a program and submits it again without an image: command line, API, bucket, operator, launcher and a real process. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { codePathOf, type Job } from '@coxswain/api-types';
import { type CheckpointStore, openStore } from '@coxswain/checkpoint-store';
import { basePythons, CLIENT_PACKAGE, clientPython, type CoxswainSystem } from '@coxswain/local-cluster';
import { stringify } from 'yaml';
import { z } from 'zod';
import { createProject, jobIn, submit as submitJob, type TestProject } from './support/project.ts';
import { codeBucketOf, releaseSharedSystem, sharedSystem } from './support/shared-system.ts';

const ROOT = resolve(import.meta.dirname, '..');
const PROGRAM = join(ROOT, 'apps/cli/bin/coxswain.mjs');

let system: CoxswainSystem;
let project: TestProject;
let bucket: CheckpointStore;
let workdir: string;

beforeAll(async () => {
  system = await sharedSystem();
  const { uri, ...options } = codeBucketOf(system);
  bucket = await openStore(uri, options);
  project = await createProject(system, 'shippers');
  const config = stringify({ server: system.apiUrl, token: project.token });
  writeFileSync(join(system.directory, 'shipping.yaml'), config);
  workdir = mkdtempSync(join(tmpdir(), 'workdir-'));
  cpSync(join(ROOT, 'examples/code'), workdir, { recursive: true });
});

afterAll(async () => {
  rmSync(workdir, { recursive: true, force: true });
  await releaseSharedSystem();
});

const Notebook = z.object({
  cells: z.array(z.object({ source: z.array(z.string()), outputs: z.array(z.unknown()).default([]) })),
});

/** Runs the notebook in a kernel, as `jupyter execute` does. Returns the outputs of a cell that has this text, as JSON. A cell that raises is an error. */
async function execute(name: string): Promise<(text: string) => string> {
  const newest = (await basePythons()).at(-1);
  if (newest === undefined) throw new Error('this machine has no Python of 3.10 to 3.15');
  const home = mkdtempSync(join(tmpdir(), 'notebook-'));
  try {
    const copy = join(home, name);
    cpSync(join(CLIENT_PACKAGE, 'examples', name), copy);
    const python = await clientPython(newest, 'notebook');
    await promisify(execFile)(join(dirname(python), 'jupyter-execute'), ['--inplace', '--timeout=120', copy], {
      env: { HOME: home, PYTHONPATH: CLIENT_PACKAGE, COXSWAIN_CONFIG: join(system.directory, 'shipping.yaml') },
    });
    const { cells } = Notebook.parse(JSON.parse(readFileSync(copy, 'utf8')));
    return (text) => JSON.stringify(cells.find(({ source }) => source.join('').includes(text))?.outputs);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Submits the example with the working directory, as a person does. */
async function submit(name: string): Promise<{ readonly job: Job; readonly err: string }> {
  const job = join(ROOT, 'examples/jobs/ship-code.yaml');
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [PROGRAM, 'submit', '-f', job, '--name', name, '--workdir', workdir, '-o', 'json'],
    {
      env: {
        PATH: process.env['PATH'],
        COXSWAIN_CONFIG: join(system.directory, 'shipping.yaml'),
      },
    },
  );
  return { job: JSON.parse(stdout) as Job, err: stderr };
}

async function lastLine(job: Job): Promise<string> {
  let text = '';
  for await (const chunk of await project.api.logs({ project: project.name, id: job.id }, { rank: 0 }))
    text += Buffer.from(chunk).toString();
  return (
    text
      .trim()
      .split('\n')
      .findLast((line) => line.includes('learning rate')) ?? text
  );
}

it('runs what was edited, without an image, and uploads nothing for what was not', async () => {
  const first = await submit('first');
  expect(first.err).toContain('Uploaded code (1 file');
  const done = await jobIn(project, first.job.id, ['Complete']);
  expect(await lastLine(done)).toContain('learning rate 0.05');

  const program = join(workdir, 'train.py');
  writeFileSync(program, readFileSync(program, 'utf8').replace('LEARNING_RATE = 0.05', 'LEARNING_RATE = 0.2'));
  const second = await submit('second');
  expect(second.job.spec.code?.sha256).not.toBe(first.job.spec.code?.sha256);
  expect(await lastLine(await jobIn(project, second.job.id, ['Complete']))).toContain('learning rate 0.2');

  const third = await submit('third');
  expect(third.err).toContain('Code is unchanged (1 file');
  expect(third.job.spec.code).toEqual(second.job.spec.code);
  await jobIn(project, third.job.id, ['Complete']);
});

it('a job whose archive is gone fails at once, and submitting its directory again uploads it', async () => {
  writeFileSync(join(workdir, 'note.txt'), 'makes another archive');
  const { job: uploaded } = await submit('uploaded');
  const sha256 = uploaded.spec.code?.sha256 ?? '';
  await jobIn(project, uploaded.id, ['Complete']);
  await bucket.remove([codePathOf(project.name, sha256)]);
  const job = await submitJob(project, 'gone', uploaded.spec);
  const failed = await jobIn(project, job.id, ['Failed']);
  expect(failed.restarts.charged).toBe(0);
  expect(failed.attempts).toHaveLength(1);
  expect(failed.summary).toContain(`The archive of the job's code (SHA-256 ${sha256}) is no longer in the bucket.`);
  const again = await submit('again');
  expect(again.err).toContain('Uploaded code (2 files');
  await jobIn(project, again.job.id, ['Complete']);
});

it('a notebook submits a function of a cell, watches it, and has its losses as a DataFrame', async () => {
  const outputsOf = await execute('train_a_function.ipynb');
  const watched = outputsOf('job.watch()');
  expect(watched).toContain('text/html');
  expect(watched).toMatch(
    /<b>train-[0-9a-f]{4}<\/b>.*Complete\. .*Loss from \d\.\d{4} at step \d+ to \d\.\d{4} at step \d+/,
  );
  // The card replaces itself.
  expect(watched.match(/<table>/g)).toHaveLength(1);
  expect(outputsOf('job.wait()')).toMatch(/<b>train-[0-9a-f]{4}<\/b>.*Complete\. .*Loss from/);
  const frame = outputsOf('job.steps()');
  expect(frame).toContain('class=\\"dataframe\\"');
  expect(frame).toMatch(/loss\\n.*count +(?:[2-9]|[12]\d|30)\.0+\\n/);
  expect(outputsOf('job.logs(')).toMatch(/step 30 loss \d\.\d{4}/);
});
