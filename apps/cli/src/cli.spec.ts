/** More than 400 lines: command lines, and what each prints, over one stand-in for the API. */
import { PlanRequest } from '@coxswain/planner';
import { startFakeApi, type FakeAnswer, type FakeApi } from '@coxswain/api-client/testing';
import type { Job } from '@coxswain/api-types';
import {
  aCheckpointRecord,
  aJob,
  aJobEvent,
  aJobFailure,
  aJobSpec,
  anAttempt,
  aPlannedJobSpec,
  aStepPoint,
  aVerification,
  someContents,
} from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { readFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { parse } from 'yaml';
import { main } from './main.ts';
import type { CliContext } from './session/session.ts';

type Routes = Readonly<Record<string, FakeAnswer | readonly FakeAnswer[]>>;

const JOBS = '/v1/projects/research/jobs';
const JOB = `${JOBS}/${aJob().id}`;
const SEVERAL: Routes = {
  'GET /v1/whoami': {
    json: {
      name: 'ada',
      kind: 'person',
      role: 'operator',
      project: null,
      memberships: [
        { project: 'research', role: 'operator' },
        { project: 'vision', role: 'viewer' },
      ],
    },
  },
};
const ME: Routes = { 'GET /v1/whoami': { json: { name: 'ada', role: 'operator', project: 'research' } } };
const FOUND: Routes = { ...ME, [`GET ${JOBS}`]: { json: { items: [aJob()] } } };
const complete = aJob({ state: 'Complete', summary: 'Every rank finished after step 100.' });
const failed = aJob({ state: 'Failed', summary: 'Rank 1 on node a exited with 1.' });

let fake: FakeApi | undefined;
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-cli-'));
});
afterEach(async () => {
  rmSync(directory, { recursive: true });
  await fake?.close();
  fake = undefined;
});

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A list says jobs in short; one that was found by its name is asked for. */
function eachListedJob(routes: Routes): Routes {
  const listed = [routes[`GET ${JOBS}`] ?? []].flat().flatMap((answer) => ('json' in answer ? [answer.json] : []));
  const jobs = listed.flatMap(
    (json) => (json as { readonly items: readonly { readonly id: string; readonly state: string }[] }).items,
  );
  return Object.fromEntries(
    jobs.filter(({ state }) => state !== 'Deleted').map((job) => [`GET ${JOBS}/${job.id}`, { json: job }]),
  );
}

/** Runs one command line against the routes; every look at the clock is two seconds after the one before. */
async function run(
  argv: readonly string[],
  routes: Routes,
  options: Partial<CliContext> & { readonly onPrint?: (line: string) => void } = {},
): Promise<Outcome> {
  fake = await startFakeApi({ ...eachListedJob(routes), ...routes });
  return runWith(argv, {
    env: { COXSWAIN_SERVER: fake.url, COXSWAIN_TOKEN: 'cxs_env', COXSWAIN_CONFIG: aFile('config.yaml', '') },
    ...options,
  });
}

async function runWith(
  argv: readonly string[],
  options: Partial<CliContext> & { readonly onPrint?: (line: string) => void },
): Promise<Outcome> {
  const out: string[] = [];
  const err: string[] = [];
  let clockMs = Date.parse('2026-01-01T01:00:00Z');
  const code = await main(argv, {
    env: {},
    now: () => new Date((clockMs += 2_000)),
    print: (line) => {
      out.push(`${line}\n`);
      options.onPrint?.(line);
    },
    printError: (line) => err.push(line),
    stdout: new Writable({
      write(chunk: Buffer, _encoding, done) {
        out.push(chunk.toString());
        done();
      },
    }),
    widthColumns: undefined,
    pause: () => Promise.resolve(),
    signal: new AbortController().signal,
    ...options,
  });
  return { code, out: out.join(''), err: err.join('\n') };
}

function aFile(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

function aManifest(overrides: object = {}): string {
  return JSON.stringify({
    apiVersion: 'training.coxswain.dev/v1alpha1',
    kind: 'TrainingJob',
    metadata: { name: 'tiny-gpt' },
    spec: aJobSpec(),
    ...overrides,
  });
}

const FIGURES = { n: 1, medianAbsPct: 10, p90AbsPct: 10, biasPct: 10, within10: 100, within20: 100 };
const AN_ACCURACY = {
  overall: FIGURES,
  groups: [{ engine: 'reference', gpuType: 'simulated', ...FIGURES }],
  items: [
    {
      jobId: aJob().id,
      project: 'research',
      name: 'tiny-gpt',
      engine: 'reference',
      gpuType: 'simulated',
      gpus: 4,
      epoch: 1,
      layout: aLayout({ dataParallelDegree: 4 }),
      microBatchSize: 2,
      predictedMs: 110,
      measuredMs: 100,
      measuredSteps: 7,
      errorPct: 10,
      plannerVersion: '1',
      startedAt: '2026-01-01T00:00:00Z',
    },
  ],
};
const A_PLAN_SUMMARY = {
  id: aJob().id,
  project: 'research',
  model: 'llama',
  gpu: 'h100',
  gpus: 64,
  layout: aLayout({ tensorParallelDegree: 8, dataParallelDegree: 8 }),
  predictedStepMs: 1234,
  predictedStepLowMs: 1100,
  predictedStepHighMs: 1500,
  plannerVersion: '1',
  createdAt: '2026-01-01T00:00:00Z',
};

/** Nothing fits: the shortest answer there is. */
const A_STORED_PLAN = {
  id: aJob().id,
  project: 'research',
  request: PlanRequest.parse({
    model: 'llama-3.1-8b',
    cluster: { gpu: 'h100', gpus: 8 },
    globalBatchSize: 64,
    sequenceLength: 2048,
  }),
  answer: {
    plans: [],
    pareto: [],
    ruledOut: [{ rule: 'memory', count: 3, example: 'too large' }],
    counted: { enumerated: 3, legal: 0, fitting: 0, bounded: 0, timed: 0 },
    calibration: 'none',
    assumptions: [],
  },
  plannerVersion: '1',
  createdAt: '2026-01-01T00:00:00Z',
};

/** A job whose layout the planner chose, with a measured attempt. */
function aPlannedJob(): Job {
  const layout = aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 });
  const runnersUp = [{ layout: 'dp4', microBatchSize: 1, predictedStepMs: 120, predictedPeakBytes: 2048 }];
  return {
    ...aJob({ layout }),
    spec: aPlannedJobSpec(),
    plan: {
      chosenBy: 'Planner',
      gpus: 4,
      fabric: '8 GPUs',
      layout,
      predictedStepLowMs: 98,
      predictedStepHighMs: 131,
      runnersUp,
      plannerVersion: '1',
      plannedAt: aJob().createdAt,
    },
    stepTime: { epoch: 1, predictedMs: 110, measuredMs: 100, measuredSteps: 7, errorPct: 10 },
  };
}

const sse = (event: string, data: unknown, id?: number): string =>
  `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;

const UNREACHED = {
  message: 'The Kubernetes API server does not answer.',
  since: '2025-12-31T23:00:00Z',
  retryAt: '2025-12-31T23:30:00Z',
};

describe('reading', () => {
  it.each<[string, readonly string[], Routes, RegExp]>([
    ['whoami tells name, role and project', ['whoami'], ME, /^ada: operator of research\n$/],
    ['whoami tells every project of a person', ['whoami'], SEVERAL, /^ada: operator of research, viewer of vision\n$/],
    [
      'whoami works for an administrator, who has no project',
      ['whoami'],
      { 'GET /v1/whoami': { json: { name: 'root', role: 'clusterAdmin', project: null } } },
      /^root: clusterAdmin of every project\n$/,
    ],
    [
      'get finds a job by its name',
      ['get', 'tiny-gpt'],
      FOUND,
      /^Name: +tiny-gpt \(namespace research, cluster local\)/,
    ],
    [
      'get finds a job by its id, without a list',
      ['get', aJob().id],
      { ...ME, [`GET ${JOB}`]: { json: aJob() } },
      /State: +Running: Training on 4 GPUs\./,
    ],
    [
      'get tells that the newest change has not reached the cluster, and why',
      ['get', aJob().id],
      { ...ME, [`GET ${JOB}`]: { json: aJob({ applyFailure: UNREACHED }) } },
      /Not applied: +The Kubernetes API server does not answer\. \(for .+; being tried again\)/,
    ],
    [
      'get takes the job that is there, not its deleted namesake',
      ['get', 'tiny-gpt'],
      {
        ...ME,
        [`GET ${JOBS}`]: { json: { items: [aJob({ state: 'Deleted' }), aJob({ summary: 'The living one.' })] } },
      },
      /The living one/,
    ],
    [
      'get tells how each attempt ended',
      ['get', 'tiny-gpt'],
      {
        ...ME,
        [`GET ${JOBS}`]: {
          json: {
            items: [
              aJob({
                attempts: [
                  anAttempt({
                    outcome: 'Failed',
                    reason: 'EngineFailed',
                    message: 'Rank 1 exited with 1\nTraceback',
                    judgement: {
                      rule: 'default',
                      action: 'Restart',
                      class: 'Unknown',
                      blame: 'unknown',
                      says: 'Unknown (unknown), rule default (Restart). Left: 2 of 3 restarts.',
                    },
                  }),
                  anAttempt({ epoch: 2, resumedFrom: { checkpoint: 'c', step: 20 } }),
                ],
                lastFailure: aJobFailure({ attempt: '1', isFinal: false, verdict: 'Rank 1 exited with 1.' }),
              }),
            ],
          },
        },
      },
      / {2}1 +Failed +EngineFailed +from scratch +tp2 x dp2 +Rank 1 exited with 1\n {2}2 +Released +- +from step 20 +tp2 x dp2\n\nAttempt 1 failed: Rank 1 exited with 1\.\n {2}\| Traceback[^]+\n {2}Rule: +Unknown \(unknown\), rule default \(Restart\)\. Left: 2 of 3 restarts\.\n/,
    ],
    [
      'get tells each run of ranks that were started again in their pods',
      ['get', 'tiny-gpt'],
      {
        ...ME,
        [`GET ${JOBS}`]: {
          json: {
            items: [
              aJob({
                attempts: [
                  anAttempt({
                    incarnation: 2,
                    resumedFrom: { checkpoint: 'c', step: 20 },
                    incarnations: [
                      {
                        incarnation: 1,
                        endedAt: '2026-01-01T00:00:00Z',
                        reason: 'EngineFailed',
                        message: 'Rank 1 exited with 1\nTraceback',
                        charged: true,
                      },
                    ],
                  }),
                ],
              }),
            ],
          },
        },
      },
      / {2}1\.1 +Failed +EngineFailed +from scratch +tp2 x dp2 +Rank 1 exited with 1\n {2}1\.2 +Released +- +from step 20 +tp2 x dp2\n/,
    ],
    [
      'list says how to begin when there is nothing',
      ['list'],
      { ...ME, [`GET ${JOBS}`]: { json: { items: [] } } },
      /No jobs\. `coxswain submit/,
    ],
    [
      'an empty list with a filter says so',
      ['jobs', '--state', 'Running'],
      { ...ME, [`GET ${JOBS}?state=Running&pageSize=100`]: { json: { items: [] } } },
      /No job matches\./,
    ],
    [
      'get shows who chose the layout, and the predicted beside the measured step time',
      ['get', 'tiny-gpt'],
      { ...ME, [`GET ${JOBS}`]: { json: { items: [aPlannedJob()] } } },
      /Layout: +tp2 x dp2 on 4 GPUs, chosen by the planner[\s\S]*Step time: +predicted 110 ms, measured 100 ms \(\+10\.0 %\) over 7 steps of attempt 1[\s\S]*Runners-up: +dp4 \(120 ms\)/,
    ],
    [
      'get says which variables and files come from which Secrets, and no value',
      ['get', 'tiny-gpt'],
      {
        ...ME,
        [`GET ${JOBS}`]: {
          json: {
            items: [
              {
                ...aJob(),
                spec: aJobSpec({
                  engine: {
                    name: 'reference',
                    image: 'i',
                    secretEnv: [{ name: 'HF_TOKEN', secret: 'job-hf', key: 'token' }],
                    secretFiles: [{ secret: 'job-aws', key: 'credentials', optional: true }],
                  },
                }),
              },
            ],
          },
        },
      },
      /Secrets: +HF_TOKEN: secret job-hf\/token; \/coxswain\/secrets\/job-aws\/credentials: secret job-aws\/credentials, if there is one\n/,
    ],
    [
      'get says that a layout is still to be chosen',
      ['get', 'tiny-gpt'],
      { ...ME, [`GET ${JOBS}`]: { json: { items: [{ ...aJob({ layout: null }), spec: aPlannedJobSpec() }] } } },
      /Layout: +to be chosen by the planner for 4 GPUs/,
    ],
    [
      'plans accuracy tells how predictions came true',
      ['plans', 'accuracy'],
      { ...ME, 'GET /v1/projects/research/plans/accuracy': { json: AN_ACCURACY } },
      /reference +simulated +1 +10\.0 % +10\.0 % +\+10\.0 %[\s\S]*tiny-gpt +1 +dp4 +110 ms +100 ms +\+10\.0 % +7/,
    ],
    [
      'plans accuracy has something to say before anything was measured',
      ['plans', 'accuracy'],
      {
        ...ME,
        'GET /v1/projects/research/plans/accuracy': { json: { overall: { ...FIGURES, n: 0 }, groups: [], items: [] } },
      },
      /^No job has both a predicted and a measured step time yet\.\n$/,
    ],
    [
      'plans list shows what was asked, and where 80 of 100 such steps lie',
      ['plans', 'list'],
      { ...ME, 'GET /v1/projects/research/plans': { json: { items: [A_PLAN_SUMMARY] } } },
      /^MODEL +GPUS[\s\S]*llama +64 x h100 +tp8 x dp8 +1,230 ms +1,100 ms to 1,500 ms +2026-01-01 00:00:00/,
    ],
    [
      'plans list shows plans that were kept before there were intervals',
      ['plans', 'list'],
      {
        ...ME,
        'GET /v1/projects/research/plans': {
          json: { items: [{ ...A_PLAN_SUMMARY, predictedStepLowMs: undefined, predictedStepHighMs: undefined }] },
        },
      },
      /llama +64 x h100 +tp8 x dp8 +1,230 ms +- +2026-01-01 00:00:00/,
    ],
    [
      'plans get shows a plan as it was answered',
      ['plans', 'get', A_STORED_PLAN.id],
      { ...ME, [`GET /v1/projects/research/plans/${A_STORED_PLAN.id}`]: { json: A_STORED_PLAN } },
      /^Llama 3.1 8B on 8 x NVIDIA H100[\s\S]*\nWhat ruled out the rest/,
    ],
    [
      'events are told in plain words',
      ['events', 'tiny-gpt'],
      {
        ...FOUND,
        [`GET ${JOB}/events`]: {
          json: { items: [aJobEvent({ severity: 'error', type: 'RankFailed', message: 'Rank 1 died.' })] },
        },
      },
      /^00:00:00 ✗ RankFailed +Rank 1 died\.\n$/,
    ],
    [
      'steps are drawn with few points, and a point of several says their extremes',
      ['steps', 'tiny-gpt', '--max-points', '2'],
      {
        ...FOUND,
        [`GET ${JOB}/steps?maxPoints=2`]: {
          json: {
            items: [
              aStepPoint({
                loss: 3,
                bucket: {
                  lastStep: 90,
                  steps: 90,
                  loss: { min: 2, max: 11 },
                  tokensPerSecond: null,
                  stepTimeMs: { min: 1, max: 20 },
                  gradNorm: null,
                  learningRate: null,
                },
              }),
              aStepPoint({ step: 91, loss: 2.5 }),
            ],
            gaps: [],
          },
        },
      },
      /^STEPS +ATTEMPT +LOSS +LOWEST +HIGHEST .*\n1-90 +1 +3\.0000 +2\.0000 +11\.0000 .*\n91 +1 +2\.5000 +2\.5000 +2\.5000 /,
    ],
    [
      'steps have columns of gradient norm and learning rate if the program reports them',
      ['steps', 'tiny-gpt'],
      {
        ...FOUND,
        [`GET ${JOB}/steps?maxPoints=20`]: {
          json: { items: [aStepPoint({ gradNorm: 1.5, learningRate: 0.0001 }), aStepPoint({ step: 2 })], gaps: [] },
        },
      },
      /STEP MS +GRAD NORM +LEARNING RATE\n1 .* 1\.50 +0\.000100\n2 .* - +-\n$/,
    ],
    [
      'checkpoints are listed with step and size',
      ['checkpoints', 'tiny-gpt'],
      { ...FOUND, [`GET ${JOB}/checkpoints`]: { json: { items: [aCheckpointRecord()] } } },
      /^STEP +ATTEMPT +STATE +SIZE +FORMAT +VERIFIED +HOLDS +NAME\n20 +1 +Complete +1\.5 MiB +torch_dcp +- +- +/,
    ],
    [
      'checkpoints are listed with how closely they were verified and what they hold',
      ['checkpoints', 'tiny-gpt'],
      {
        ...FOUND,
        [`GET ${JOB}/checkpoints`]: {
          json: {
            items: [
              aCheckpointRecord({
                verification: aVerification({ level: 'V3' }),
                contents: someContents(),
                pin: 'the paper',
              }),
            ],
          },
        },
      },
      /\n20 +1 +Complete +1\.5 MiB +torch_dcp +sound \(V3\) +weights only, pinned +/,
    ],
    [
      'checkpoints that nothing describes are not called weights',
      ['checkpoints', 'tiny-gpt'],
      {
        ...FOUND,
        [`GET ${JOB}/checkpoints`]: {
          json: { items: [aCheckpointRecord({ format: 'orbax', contents: someContents({ tensors: 0, holds: {} }) })] },
        },
      },
      /\n20 +1 +Complete +1\.5 MiB +orbax +- +- +/,
    ],
    [
      'a checkpoint that could not be loaded is listed as suspect',
      ['checkpoints', 'tiny-gpt'],
      { ...FOUND, [`GET ${JOB}/checkpoints`]: { json: { items: [aCheckpointRecord({ isSuspect: true })] } } },
      /\n20 +1 +Suspect +1\.5 MiB /,
    ],
    [
      'logs print what the rank wrote, byte for byte',
      ['logs', 'tiny-gpt', '--rank', '3', '--tail', '2'],
      { ...FOUND, [`GET ${JOB}/logs?rank=3&tailLines=2`]: { text: 'größe\nlast line without a newline' } },
      /^größe\nlast line without a newline$/,
    ],
    [
      'logs of an earlier attempt are asked for by its epoch',
      ['logs', 'tiny-gpt', '--attempt', '2'],
      { ...FOUND, [`GET ${JOB}/logs?rank=0&attempt=2`]: { text: '# gone\nTraceback\n' } },
      /^# gone\nTraceback\n$/,
    ],
    [
      'logs on a pipe with --raw are what the rank wrote, colours and all',
      ['logs', 'tiny-gpt', '--raw'],
      { ...FOUND, [`GET ${JOB}/logs?rank=0`]: { text: '\u001b[31mred\u001b[0m\n' } },
      /^\u001b\[31mred\u001b\[0m\n$/,
    ],
    [
      'logs of all ranks are asked for by time and text',
      ['logs', 'tiny-gpt', '--all-ranks', '--since', '2026-01-31T12:00:00Z', '--grep', 'NCCL WARN'],
      {
        ...FOUND,
        [`GET ${JOB}/logs?allRanks=true&since=2026-01-31T12%3A00%3A00.000Z&grep=NCCL+WARN`]: {
          text: '[rank 3] NCCL WARN x\n',
        },
      },
      /^\[rank 3\] NCCL WARN x\n$/,
    ],
    [
      'logs follow when asked to',
      ['logs', 'tiny-gpt', '-f'],
      { ...FOUND, [`GET ${JOB}/logs?rank=0&follow=true`]: { stream: 'one\ntwo\n', end: 'clean' } },
      /^one\ntwo\n$/,
    ],
  ])('%s', async (_sentence, argv, routes, want) => {
    const { code, out, err } = await run(argv, routes);
    expect(err).toBe('');
    expect(out).toMatch(want);
    expect(code).toBe(0);
  });

  it.each([
    ['shows its text and obeys nothing', ['logs', 'tiny-gpt'], 'title\n'],
    ['obeys it when asked to', ['logs', 'tiny-gpt', '--raw'], '\u001b]0;x\u0007title\n'],
  ])('a terminal to which a rank speaks %s', async (_what, argv, want) => {
    const routes = { ...FOUND, [`GET ${JOB}/logs?rank=0`]: { text: '\u001b]0;x\u0007title\n' } };
    expect((await run(argv, routes, { widthColumns: 80 })).out).toBe(want);
  });

  it('list asks for every page, and for one state when told so', async () => {
    const { out } = await run(['list', '--state', 'Running'], {
      ...ME,
      [`GET ${JOBS}?state=Running&pageSize=100`]: { json: { items: [aJob()], nextPageToken: 'more' } },
      [`GET ${JOBS}?state=Running&pageSize=100&pageToken=more`]: { json: { items: [aJob({ name: 'second' })] } },
    });
    expect(out.split('\n').map((line) => line.split(' ')[0])).toEqual(['NAME', 'tiny-gpt', 'second', '']);
  });

  it('jobs asks by labels, owner and words of the name, in the order that was said', async () => {
    const argv = ['jobs', '-l', 'team in (a,b)', '--owner', 'ada', '--search', 'llama 70b', '--sort', 'name:desc'];
    const query = 'labelSelector=team+in+%28a%2Cb%29&q=llama+70b&orderBy=name&direction=desc&pageSize=100';
    const { out } = await run(argv, { ...ME, [`GET ${JOBS}?owner=ada&${query}`]: { json: { items: [aJob()] } } });
    expect(out).toMatch(/^NAME[^\n]*\ntiny-gpt /);
  });

  it.each(['size', 'name:up', 'name:asc:desc', ':desc'])('jobs refuses to sort by %s', async (order) => {
    const { code, err } = await run(['jobs', '--sort', order], ME);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('Give one of createdAt, name, finishedAt') });
  });

  it('label adds and removes, and shows what came of it', async () => {
    const job = aJob({ labels: { team: 'vision' }, owner: 'ada' });
    const routes = { ...FOUND, [`PATCH ${JOB}`]: { json: job } };
    const { out } = await run(['label', 'tiny-gpt', 'team=vision', 'a.b/c=', 'stage-'], routes);
    expect(out).toMatch(/Owner: +ada\nLabels: +team=vision\n/);
    expect(fake?.requests.at(-1)?.body).toEqual({ labels: { team: 'vision', 'a.b/c': '', stage: null } });
  });

  it.each(['team', '=x', '-'])('label refuses %s', async (word) => {
    const { code, err } = await run(['label', 'tiny-gpt', '--', word], FOUND);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('neither KEY=VALUE nor KEY-') });
  });

  it.each([200, 100, 80, 60, 40])('list fits a terminal of %i characters', async (widthColumns) => {
    const job = aJob({ name: 'a-name-of-thirty-characters-ok', summary: 'A summary that goes on '.repeat(20) });
    const routes = { ...ME, [`GET ${JOBS}`]: { json: { items: [job] } } };
    const { out } = await run(['list'], routes, { widthColumns });
    const lines = out.trimEnd().split('\n');
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(widthColumns);
    expect(lines[0]).toMatch(/^NAME +STATE/);
    await fake?.close();
    expect((await run(['list'], routes)).out).toContain(job.summary.trim());
  });

  it.each([
    ['json', (out: string): unknown => JSON.parse(out)],
    ['yaml', (out: string): unknown => parse(out)],
  ] as const)('--output %s gives the whole of the data', async (format, read) => {
    const { out } = await run(['get', 'tiny-gpt', '-o', format], FOUND);
    expect(read(out)).toEqual(aJob());
    await fake?.close();
    // A list leaves them out, like details that were not requested.
    const { jobsBefore: _, lastFailure: __, whyNotTraining: ___, ...summary } = aJob();
    expect(read((await run(['-o', format, 'list'], FOUND)).out)).toEqual([summary]);
  });

  const TERMINAL = { out: true, err: true };
  it.each<[string, readonly string[], Partial<CliContext>, RegExp]>([
    ['a pipe gets no colours', ['list'], {}, /^NAME[^\u001b]*\ntiny-gpt[^\u001b]*$/],
    ['a terminal gets the state in its colour', ['list'], { terminals: TERMINAL }, /\u001b\[36mRunning\u001b\[39m/],
    ['--color=never goes before the terminal', ['--color=never', 'list'], { terminals: TERMINAL }, /^[^\u001b]*$/],
    ['--color=always goes before the pipe', ['list', '--color=always'], {}, /\u001b\[36mRunning/],
    ['JSON has none, also if they are asked for', ['list', '-o', 'json', '--color=always'], {}, /^[^\u001b]*$/],
  ])('%s', async (_sentence, argv, context, want) => {
    expect((await run(argv, FOUND, context)).out).toMatch(want);
  });

  it('an error is red in a terminal', async () => {
    const { err } = await run(['get', 'tiny-gpt', '-o', 'xml'], FOUND, { terminals: TERMINAL });
    expect(err).toMatch(/^\u001b\[31merror: option '-o, --output <format>' argument 'xml' is invalid/);
  });

  it('a name that no job has is answered with the one that was meant', async () => {
    const routes = {
      ...ME,
      [`GET ${JOBS}?q=tiny-gtp&pageSize=100`]: { json: { items: [] } },
      [`GET ${JOBS}?pageSize=100`]: { json: { items: [aJob()] } },
    };
    expect((await run(['get', 'tiny-gtp'], routes)).err).toBe(
      'No job named "tiny-gtp" in project research. Did you mean tiny-gpt? `coxswain list` lists the existing ones.',
    );
  });

  it('get ends with the page of the job', async () => {
    const { out } = await run(['get', 'tiny-gpt'], FOUND);
    expect(out).toMatch(new RegExp(`\nPage: +${fake?.url}/projects/research/jobs/${aJob().id}\n`));
  });
});

describe('acting', () => {
  it.each<[string, string]>([
    ['a manifest as kubectl takes it', aManifest()],
    ['the body of a POST', JSON.stringify({ name: 'tiny-gpt', spec: aJobSpec() })],
  ])('submit takes %s', async (_sentence, text) => {
    const file = aFile('job.yaml', text);
    const { code, out } = await run(['submit', '-f', file, '--idempotency-key', 'once'], {
      ...ME,
      [`POST ${JOBS}`]: { json: aJob(), status: 201 },
    });
    expect(code).toBe(0);
    expect(out).toMatch(/^Name: +tiny-gpt/);
    expect(fake?.requests.at(-1)).toMatchObject({
      headers: { 'idempotency-key': 'once' },
      body: { name: 'tiny-gpt', spec: aJobSpec() },
    });
  });

  it('submit says how to follow the job, where programs do not read it', async () => {
    const argv = ['submit', '-f', aFile('job.yaml', aManifest())];
    const { err } = await run(argv, { ...ME, [`POST ${JOBS}`]: { json: aJob(), status: 201 } });
    expect(err).toContain(`Next  coxswain watch ${aJob().name}`);
    expect(err).toContain(`Page  ${fake?.url}/projects/research/jobs/${aJob().id}`);
  });

  it('submit --name goes before the name in the file', async () => {
    const argv = ['submit', '-f', aFile('job.yaml', aManifest()), '--name', 'another'];
    await run(argv, { ...ME, [`POST ${JOBS}`]: { json: aJob(), status: 201 } });
    expect(fake?.requests.at(-1)?.body).toMatchObject({ name: 'another' });
  });

  it('submit brings the labels of a manifest', async () => {
    const metadata = { name: 'tiny-gpt', labels: { team: 'vision' } };
    const file = aFile('job.yaml', aManifest({ metadata }));
    await run(['submit', '-f', file], { ...ME, [`POST ${JOBS}`]: { json: aJob(), status: 201 } });
    expect(fake?.requests.at(-1)?.body).toMatchObject({ name: 'tiny-gpt', labels: { team: 'vision' } });
  });

  it('submit --gpus goes before the layout in the file', async () => {
    const argv = ['submit', '-f', aFile('job.yaml', aManifest()), '--gpus', '8'];
    await run(argv, { ...ME, [`POST ${JOBS}`]: { json: aJob(), status: 201 } });
    const { spec } = fake?.requests.at(-1)?.body as { spec: object };
    expect(spec).toMatchObject({ gpus: 8 });
    expect(spec).not.toHaveProperty('layout');
  });

  it('submit --priority-class and --max-runtime go before the values in the file', async () => {
    const argv = [
      'submit',
      '-f',
      aFile('job.yaml', aManifest()),
      '--priority-class',
      'urgent',
      '--max-runtime',
      '7200',
    ];
    await run(argv, { ...ME, [`POST ${JOBS}`]: { json: aJob(), status: 201 } });
    const { spec } = fake?.requests.at(-1)?.body as { spec: object };
    expect(spec).toMatchObject({ priorityClassName: 'urgent', maxRuntimeSeconds: 7_200, layout: {} });
  });

  it('plan --save lets the API search in the project, shows the answer, and says where it is kept', async () => {
    const argv = [
      'plan',
      '--model',
      'llama-3.1-8b',
      '--gpu',
      'h100',
      '--gpus',
      '8',
      '--global-batch',
      '64',
      '--seq',
      '2048',
    ];
    const { code, out, err } = await run([...argv, '--save'], {
      ...ME,
      'POST /v1/projects/research/plans': { json: A_STORED_PLAN, status: 201 },
    });
    expect(code).toBe(4);
    expect(out).toMatch(/^Llama 3.1 8B on 8 x NVIDIA H100/);
    expect(err).toContain(`Saved as plan ${A_STORED_PLAN.id} of project research.`);
    expect(fake?.requests.at(-1)).toMatchObject({
      headers: { 'idempotency-key': expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown },
      body: { model: 'llama-3.1-8b', cluster: { gpus: 8 } },
    });
  });

  it('submit makes up a key of its own each time', async () => {
    const routes = { ...ME, [`POST ${JOBS}`]: { json: aJob(), status: 201 } };
    const file = aFile('job.yaml', aManifest());
    await run(['submit', '-f', file], routes);
    const first = fake?.requests.at(-1)?.headers['idempotency-key'];
    await fake?.close();
    await run(['submit', '-f', file], routes);
    expect(fake?.requests.at(-1)?.headers['idempotency-key']).not.toBe(first);
  });

  it.each<[string, readonly string[], string, unknown]>([
    ['suspend', ['suspend', 'tiny-gpt'], `POST ${JOB}/suspend`, {}],
    ['cancel', ['cancel', 'tiny-gpt'], `POST ${JOB}/cancel`, {}],
    ['resume keeps the layout unless told otherwise', ['resume', 'tiny-gpt'], `POST ${JOB}/resume`, {}],
    [
      'resume changes the degrees that are named',
      ['resume', 'tiny-gpt', '--tensor-parallel', '1', '--pipeline-parallel', '2'],
      `POST ${JOB}/resume`,
      { layout: { tensorParallelDegree: 1, pipelineParallelDegree: 2, dataParallelDegree: 2 } },
    ],
    [
      'resume --gpus leaves the layout to the planner',
      ['resume', 'tiny-gpt', '--gpus', '8'],
      `POST ${JOB}/resume`,
      { gpus: 8 },
    ],
    [
      'resume --from names where to begin',
      ['resume', 'tiny-gpt', '--from', 'tiny-gpt-3f1c2b9e-e1-s20'],
      `POST ${JOB}/resume`,
      { from: 'tiny-gpt-3f1c2b9e-e1-s20' },
    ],
    [
      'resume --from scratch goes with another layout',
      ['resume', 'tiny-gpt', '--from', 'scratch', '--gpus', '8'],
      `POST ${JOB}/resume`,
      { gpus: 8, from: 'scratch' },
    ],
  ])('%s asks the API and shows the job as it is then', async (_sentence, argv, route, want) => {
    const { code, out } = await run(argv, { ...FOUND, [route]: { json: aJob({ summary: 'Answered.' }) } });
    expect([code, out]).toEqual([0, expect.stringContaining('Answered.')]);
    expect(fake?.requests.at(-1)?.body).toEqual(want);
  });

  it('delete says what it does', async () => {
    const { code, out } = await run(['delete', 'tiny-gpt'], { ...FOUND, [`DELETE ${JOB}`]: { text: '', status: 202 } });
    expect([code, out]).toEqual([0, 'Deleting tiny-gpt.\n']);
  });
});

describe('watching', () => {
  const stream = `GET ${JOB}/events/stream`;

  it.each<[string, ReturnType<typeof aJob>, number]>([
    ['a job that completes ends with 0', complete, 0],
    ['a job that fails ends with 3', failed, 3],
    ['a job that is cancelled ends with 3', aJob({ state: 'Cancelled', summary: 'Cancelled.' }), 3],
    ['a job that the cluster refuses ends with 3', aJob({ state: 'Refused', summary: 'No such claim.' }), 3],
  ])('%s', async (_sentence, ended, want) => {
    const events = sse('event', aJobEvent(), 1) + sse('step', aStepPoint({ step: 40 })) + sse('job', ended);
    const { code, out } = await run(['watch', 'tiny-gpt'], { ...FOUND, [stream]: { stream: events, end: 'never' } });
    expect(out.split('\n')).toEqual([
      '00:00:00   Submitted        The job was submitted.',
      '00:00:00   step 40 of 100, loss 4.9996, 102,400 tokens/s, 600 ms left',
      `tiny-gpt: ${ended.state}. ${ended.summary}`,
      '',
    ]);
    expect(code).toBe(want);
  });

  it('submit --watch tells once for each reason that the job has not reached the cluster', async () => {
    const unreached = aJob({ uid: null, state: 'Submitting', applyFailure: UNREACHED });
    const busy = { ...UNREACHED, message: 'The Kubernetes API server answered 429: too many requests' };
    const { out } = await run(['submit', '-f', aFile('job.yaml', aManifest()), '-w'], {
      ...ME,
      [`POST ${JOBS}`]: { json: aJob({ uid: null, state: 'Submitting' }), status: 201 },
      [stream]: {
        stream:
          sse('job', unreached) +
          sse('job', { ...unreached, version: 2 }) +
          sse('job', { ...unreached, applyFailure: busy }) +
          sse('job', complete),
        end: 'never',
      },
    });
    expect(out.match(/Not applied: .*? \(/g)).toEqual([
      'Not applied: The Kubernetes API server does not answer. (',
      'Not applied: The Kubernetes API server answered 429: too many requests (',
    ]);
  });

  it.each<[string, readonly string[], Job['state'], number]>([
    ['suspend until the ranks have stopped', ['suspend', '--wait'], 'Suspended', 0],
    ['suspend of a job that completes before', ['suspend', '--wait'], 'Complete', 3],
    ['resume until every rank has started', ['resume', '--wait'], 'Running', 0],
    ['cancel until the job has ended', ['cancel', '-w'], 'Cancelled', 0],
  ])('waits for %s', async (_what, [command = '', flag = ''], state, want) => {
    const underWay = aJob({ state: 'Suspending' });
    const { code, out } = await run([command, 'tiny-gpt', flag], {
      ...FOUND,
      [`POST ${JOB}/${command}`]: { json: underWay },
      [stream]: { stream: sse('job', underWay) + sse('job', aJob({ state, summary: 'There it is.' })), end: 'never' },
    });
    expect([code, out]).toEqual([want, `tiny-gpt: ${state}. There it is.\n`]);
  });

  it('submit --watch goes on to the end', async () => {
    const { code, out } = await run(['submit', '-f', aFile('job.yaml', aManifest()), '-w'], {
      ...ME,
      [`POST ${JOBS}`]: { json: aJob(), status: 201 },
      [stream]: { stream: sse('job', complete), end: 'never' },
    });
    expect([code, out]).toEqual([0, `Submitted tiny-gpt (${aJob().id}).\ntiny-gpt: Complete. ${complete.summary}\n`]);
  });

  it.each<[string, readonly FakeAnswer[], readonly FakeAnswer[]]>([
    [
      'a stream that is cut in the middle',
      [
        { stream: `${sse('event', aJobEvent({ id: 7, message: 'First.' }), 7)}event: job\ndata: {"id`, end: 'cut' },
        { stream: sse('event', aJobEvent({ id: 8, message: 'Second.' }), 8) + sse('job', complete), end: 'never' },
      ],
      [{ json: aJob() }],
    ],
    [
      'an API that stops and starts again',
      [
        { stream: sse('event', aJobEvent({ id: 7, message: 'First.' }), 7), end: 'clean' },
        { problem: { status: 503, code: 'UNAVAILABLE', detail: 'the database does not answer at the moment' } },
        { stream: sse('event', aJobEvent({ id: 8, message: 'Second.' }), 8) + sse('job', complete), end: 'never' },
      ],
      [{ json: aJob() }],
    ],
    [
      'a stream that ends although the job has, too',
      [
        { stream: sse('event', aJobEvent({ id: 7, message: 'First.' }), 7), end: 'clean' },
        { stream: sse('event', aJobEvent({ id: 8, message: 'Second.' }), 8), end: 'clean' },
      ],
      [{ json: aJob() }, { json: complete }],
    ],
  ])('goes on where it left off after %s', async (_sentence, streams, jobs) => {
    const { code, out } = await run(['watch', 'tiny-gpt'], {
      ...FOUND,
      [stream]: streams,
      [`GET ${JOB}`]: [{ json: aJob() }, ...jobs],
    });
    expect(out.match(/First\.|Second\.|Complete\./g)).toEqual(['First.', 'Second.', 'Complete.']);
    expect(code).toBe(0);
    const asked = fake?.requests.filter(({ path }) => path.endsWith('/stream')) ?? [];
    expect(asked[0]?.headers['last-event-id']).toBeUndefined();
    for (const request of asked.slice(1)) expect(request.headers['last-event-id']).toBe('7');
  });

  it('gives up when the API refuses, e.g. because the job is gone', async () => {
    const refusal: FakeAnswer = { problem: { status: 404, code: 'NOT_FOUND', detail: 'there is no such job' } };
    const { code, err } = await run(['watch', 'tiny-gpt'], { ...FOUND, [stream]: refusal });
    expect([code, err]).toEqual([1, expect.stringMatching(/^Page {2}http\S+\nthere is no such job \(NOT_FOUND\)$/)]);
  });

  it('ends with 130 and no complaint on Ctrl-C', async () => {
    const abort = new AbortController();
    const { code, err } = await run(
      ['watch', 'tiny-gpt'],
      { ...FOUND, [stream]: { stream: sse('event', aJobEvent(), 1), end: 'never' } },
      { signal: abort.signal, onPrint: () => abort.abort() },
    );
    expect([code, err]).toEqual([130, expect.stringMatching(/^Page {2}http\S+$/)]);
  });

  it('prints progress at most once a second', async () => {
    let reads = 0;
    const steps = [1, 2, 3, 4, 5, 6].map((step) => sse('step', aStepPoint({ step }))).join('');
    const { out } = await run(
      ['watch', 'tiny-gpt'],
      { ...FOUND, [stream]: { stream: steps + sse('job', complete), end: 'never' } },
      { now: () => new Date(1_000_000 + 250 * reads++) },
    );
    expect(out.match(/step \d/g)?.length).toBeLessThan(4);
  });

  it.each([
    [
      'json',
      (out: string) =>
        out
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown),
    ],
    [
      'yaml',
      (out: string) =>
        out
          .split('---\n')
          .slice(1)
          .map((document) => parse(document) as unknown),
    ],
  ] as const)('gives programs every change as %s', async (format, read) => {
    const events = sse('event', aJobEvent({ id: 7 }), 7) + sse('step', aStepPoint()) + sse('job', complete);
    const { out } = await run(['watch', 'tiny-gpt', '-o', format], {
      ...FOUND,
      [stream]: { stream: events, end: 'never' },
    });
    expect(read(out)).toEqual([
      { kind: 'event', event: aJobEvent({ id: 7 }), lastEventId: '7' },
      { kind: 'step', point: aStepPoint(), lastEventId: '7' },
      { kind: 'job', job: complete, lastEventId: '7' },
    ]);
  });
});

describe('a job that is named', () => {
  const refused = aJob({ id: '00000000-0000-4000-8000-000000000001', state: 'Refused' });
  const older = aJob({ id: '00000000-0000-4000-8000-000000000002', state: 'Failed' });

  it.each([
    ['is the one that was not refused, wherever it stands', [refused, older], older],
    ['is the one that was not refused', [older, refused], older],
    ['is the refused one where there is no other', [refused], refused],
  ])('%s', async (_sentence, items, want) => {
    await run(['delete', older.name], {
      ...ME,
      [`GET ${JOBS}`]: { json: { items } },
      [`DELETE ${JOBS}/${want.id}`]: { text: '', status: 202 },
    });
    expect(fake?.requests.findLast(({ method }) => method !== 'GET')).toMatchObject({ path: `${JOBS}/${want.id}` });
    expect(fake?.requests.find(({ path }) => path.startsWith(`${JOBS}?`))?.path).not.toContain('orderBy');
  });
});

describe('what goes wrong is said in a sentence', () => {
  it.each<[string, readonly string[], Routes, RegExp]>([
    ['no such job', ['get', 'nobody'], FOUND, /^No job named "nobody" in project research\. `coxswain list` lists/],
    [
      'a token for every project, and none named',
      ['list'],
      { 'GET /v1/whoami': { json: { name: 'root', role: 'clusterAdmin', project: null } } },
      /name one with --project or COXSWAIN_PROJECT/,
    ],
    [
      'a refusal names every field',
      ['cancel', 'tiny-gpt'],
      {
        ...FOUND,
        [`POST ${JOB}/cancel`]: {
          problem: {
            status: 409,
            code: 'ALREADY_FINISHED',
            detail: 'it is over',
            errors: [{ pointer: '/x', detail: 'no' }],
          },
        },
      },
      /^it is over \(ALREADY_FINISHED\)\n {2}\/x: no$/,
    ],
    [
      'a token that nobody knows',
      ['list'],
      { 'GET /v1/whoami': { problem: { status: 401, code: 'UNAUTHENTICATED', detail: 'who are you?' } } },
      /who are you/,
    ],
    ['a page that is not the API', ['list'], { 'GET /v1/whoami': { text: '<html>' } }, /Is it a Coxswain API/],
    ['a command of Slurm', ['sbatch', 'train.sbatch'], {}, /no command "sbatch"\. Instead: coxswain import FILE/],
    ['an unknown command', ['frobnicate'], {}, /unknown command 'frobnicate'[\s\S]*--help/],
    ['a rank that is no number', ['logs', 'tiny-gpt', '--rank', 'first'], {}, /"first" is not a whole number/],
    ['an output that there is not', ['list', '-o', 'xml'], {}, /Allowed choices are table, json, yaml/],
    ['submit without a file', ['submit'], {}, /required option '-f, --file <file>' not specified/],
    [
      'a file that is not there',
      ['submit', '-f', '/nowhere/job.yaml'],
      {},
      /Cannot read \/nowhere\/job\.yaml: there is no such file/,
    ],
  ])('%s', async (_sentence, argv, routes, want) => {
    const { code, out, err } = await run(argv, routes);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(want);
  });

  it.each<[string, string, RegExp]>([
    ['is empty', '', /contains no job/],
    ['is a list', '[1, 2]', /contains no job/],
    ['is not YAML', 'a: [', /is neither YAML nor JSON: /],
    ['holds two documents', '---\na: 1\n---\nb: 2\n', /holds 2 documents; submit one job at a time/],
    [
      'holds another kind',
      aManifest({ kind: 'PodGroup' }),
      /is a training\.coxswain\.dev\/v1alpha1 PodGroup; expected .* TrainingJob/,
    ],
    [
      'is of another version',
      aManifest({ apiVersion: 'training.coxswain.dev/v9' }),
      /is a training\.coxswain\.dev\/v9 TrainingJob/,
    ],
    ['has no name', aManifest({ metadata: {} }), /is not a valid job:[\s\S]*at name/],
    [
      'has a field that there is not',
      aManifest({ spec: { ...aJobSpec(), gpuCount: 8 } }),
      /unknown field "gpuCount"[\s\S]*at spec/,
    ],
    ['has a wrong type', aManifest({ spec: { ...aJobSpec(), suspend: 'yes' } }), /at spec\.suspend/],
  ])('a job file that %s, before anything is sent', async (_sentence, text, want) => {
    const { code, err } = await run(['submit', '-f', aFile('job.yaml', text)], ME);
    expect(err).toMatch(want);
    expect(code).toBe(1);
    expect(fake?.requests).toEqual([]);
  });

  it('a server that is not there, with exit code 2', async () => {
    const { url, close } = await startFakeApi({});
    await close();
    const { code, err } = await runWith(['whoami', '--server', url], {
      env: { COXSWAIN_TOKEN: 'cxs_x', COXSWAIN_CONFIG: aFile('config.yaml', '') },
    });
    expect(code).toBe(2);
    expect(err).toMatch(/^Cannot reach http:\/\/127\.0\.0\.1:\d+: .*Is the API running/);
  });
});

describe('settings', () => {
  it.each<
    [
      string,
      { file: string; env?: Record<string, string>; flags?: readonly string[] },
      { server: string; token: string; project: string },
    ]
  >([
    [
      'come from the file when nothing else is said',
      { file: 'server: SERVER/file\ntoken: file\nproject: file' },
      { server: '/file', token: 'file', project: 'file' },
    ],
    [
      'of the environment go before the file',
      {
        file: 'server: SERVER/file\ntoken: file\nproject: file',
        env: { COXSWAIN_SERVER: 'SERVER/env', COXSWAIN_TOKEN: 'env', COXSWAIN_PROJECT: 'env' },
      },
      { server: '/env', token: 'env', project: 'env' },
    ],
    [
      'as flags go before both',
      {
        file: 'server: SERVER/file\ntokenFile: TOKENS/file\nproject: file',
        env: { COXSWAIN_SERVER: 'SERVER/env', COXSWAIN_TOKEN_FILE: 'TOKENS/env', COXSWAIN_PROJECT: 'env' },
        flags: ['--server', 'SERVER/flag/', '--token-file', 'TOKENS/flag', '--project', 'flag'],
      },
      { server: '/flag', token: 'flag', project: 'flag' },
    ],
    [
      'that are set to nothing are not set',
      {
        file: 'server: SERVER/file\ntokenFile: TOKENS/file\nproject: file',
        env: { COXSWAIN_SERVER: '', COXSWAIN_TOKEN: '', COXSWAIN_TOKEN_FILE: '', COXSWAIN_PROJECT: '' },
      },
      { server: '/file', token: 'file', project: 'file' },
    ],
    [
      'of a token file in the environment go before a token in the file',
      { file: 'server: SERVER/file\ntoken: file\nproject: file', env: { COXSWAIN_TOKEN_FILE: 'TOKENS/env' } },
      { server: '/file', token: 'env', project: 'file' },
    ],
  ])('%s', async (_sentence, { file, env = {}, flags = [] }, want) => {
    fake = await startFakeApi({
      [`GET ${want.server}/v1/projects/${want.project}/jobs`]: { json: { items: [] } },
    });
    const url = fake.url;
    for (const name of ['file', 'env', 'flag']) aFile(name, `${name}\n`);
    const filled = (text: string): string => text.replaceAll('SERVER', url).replaceAll('TOKENS', directory);
    const { code, err } = await runWith(['list', ...flags.map(filled)], {
      env: {
        ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value)])),
        COXSWAIN_CONFIG: aFile('config.yaml', filled(file)),
      },
    });
    expect([code, err]).toEqual([0, '']);
    expect(fake.requests[0]?.headers['authorization']).toBe(`Bearer ${want.token}`);
  });

  it.each<[string, string | undefined, Record<string, string>, RegExp]>([
    ['no server', '', {}, /^No server given\. Use --server URL, COXSWAIN_SERVER, or "server:" in .*config\.yaml\.$/],
    [
      'no token',
      'server: http://x',
      {},
      /^No token given\. Sign in with `coxswain login`, or use --token-file FILE, COXSWAIN_TOKEN, COXSWAIN_TOKEN_FILE, or "token:" in /,
    ],
    ['a server that is no URL', '', { COXSWAIN_SERVER: 'localhost:8080' }, /^Server "localhost:8080" is not a URL/],
    [
      'a token file that is not there',
      'server: http://x\ntokenFile: /nowhere/token',
      {},
      /^Cannot read the token file \/nowhere\/token: there is no such file/,
    ],
    [
      'a configuration file that was named and is not there',
      undefined,
      {},
      /^Cannot read the configuration file .*config\.yaml: there is no such file/,
    ],
    [
      'a configuration file with a field that there is not',
      'serer: http://x',
      {},
      /config\.yaml is not valid:[\s\S]*"serer"/,
    ],
    ['a configuration file that is not YAML', 'a: [', {}, /config\.yaml is not YAML: /],
  ])('%s is told with what to do', async (_sentence, file, env, want) => {
    const path = join(directory, 'config.yaml');
    if (file !== undefined) writeFileSync(path, file);
    const { code, err } = await runWith(['list'], { env: { ...env, COXSWAIN_CONFIG: path } });
    expect(err).toMatch(want);
    expect(code).toBe(1);
  });

  it('an empty token file is told', async () => {
    const argv = ['list', '--server', 'http://x', '--token-file', aFile('token', '\n')];
    const { err } = await runWith(argv, { env: { XDG_CONFIG_HOME: directory } });
    expect(err).toMatch(/^The token file .*token is empty\.$/);
  });
});

const PACKAGE = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

describe('--help', () => {
  it.each([
    '',
    'get',
    'list',
    'watch',
    'events',
    'steps',
    'checkpoints',
    'logs',
    'submit',
    'suspend',
    'resume',
    'cancel',
    'delete',
    'layout',
    'layout check',
    'layout ranks',
    'token',
    'token rotate',
    'audit',
    'project',
    'project create',
  ])('of coxswain %s is printed and is no failure', async (command) => {
    const { code, out } = await runWith([...command.split(' ').filter(Boolean), '--help'], {});
    expect(code).toBe(0);
    expect(out).toMatch(/^Usage: coxswain/);
  });
});

describe('--version', () => {
  it('is that of the package', async () => {
    const { code, out } = await runWith(['--version'], {});
    expect({ code, out: out.trim() }).toEqual({ code: 0, out: PACKAGE.version });
  });
});
