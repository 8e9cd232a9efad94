import { LAYOUT_ENGINES } from '@coxswain/layout';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const TINY_JOB = join(ROOT, 'examples/jobs/tiny-gpt.yaml');
const SIZES = { layers: 4, hiddenSize: 128, attentionHeads: 4, vocabularySize: 256, ffnHiddenSize: 512 };
const MODEL = { ...SIZES, keyValueHeads: 4, headDim: 32, gatedMlp: false };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-render-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function file(name: string, content: unknown): string {
  const path = join(directory, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

const render = (...argv: readonly string[]): Promise<OfflineOutcome> => runOffline({}, 'render', ...argv);

/** What a program reads of the answer. */
interface Answer {
  readonly argv?: readonly string[];
  readonly refusal?: Readonly<Record<string, string>>;
}

async function asked(...argv: readonly string[]): Promise<Answer> {
  const { out } = await render(...argv, '--json');
  return JSON.parse(out) as Answer;
}

/** What follows the flag. */
const flag = (argv: readonly string[] = [], name: string): string | undefined => argv[argv.indexOf(name) + 1];

describe('coxswain render', () => {
  it('prints what is run for a layout and a model alone, a flag in each line, and what was assumed', async () => {
    const layout = file('layout.json', { layout: { tensorParallelDegree: 2, dataParallelDegree: 2 }, model: MODEL });
    const { code, out, err } = await render('--layout', layout, '--engine', 'reference');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^reference, ranks started by launcher\n\ncommand\n {2}python3 -m coxswain_reference.train\n/);
    expect(out).toContain('\n  --tensor-parallel 2\n  --pipeline-parallel 1\n  --data-parallel 2\n');
    expect(out).toContain('\n  assumed: training.globalBatchSize is 2, the least that fills the pipeline');
    expect(out).toContain('\n  assumed: model.sequenceLength is 4096\n');
  });

  it('answers programs with arguments, files and environment, and without a word about secrets', async () => {
    const job = file('job.json', {
      name: 'a',
      spec: {
        engine: {
          name: 'command',
          image: 'i',
          command: ['train', '--cost', '$5'],
          env: [{ name: 'MODE', value: 'fast' }],
          secretEnv: [{ name: 'TOKEN', secret: 'job-hub', key: 'token' }],
        },
        layout: {},
      },
    });
    const { out, code } = await render('--job', job, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      engine: 'command',
      argv: ['train', '--cost', '$$5'],
      env: { MODE: 'fast' },
      files: [],
      resumeArgs: [],
    });
    expect(out).not.toMatch(/TOKEN|hub/);
  });

  it.each<[string, readonly string[], string, string]>([
    ['a flag goes before the layout file', ['--global-batch', '32'], '--global-batch-size', '32'],
    ['the layout file goes before the job', [], '--global-batch-size', '16'],
    ['what neither says stands in the job', [], '--steps', '160'],
    ['the layout is that of its file', [], '--data-parallel', '4'],
    ['the model is that of the flag', ['--model', 'MODEL'], '--layers', '2'],
    ['whose length of a sample is still the job’s', ['--model', 'MODEL'], '--sequence-length', '128'],
    ['unless a flag gives it', ['--seq', '64'], '--sequence-length', '64'],
  ])('%s', async (_sentence, flags, name, value) => {
    const layout = file('layout.json', { layout: { dataParallelDegree: 4 }, batch: { globalBatchSize: 16 } });
    const model = file('model.json', { ...MODEL, layers: 2 });
    const { argv } = await asked(
      ...['--job', TINY_JOB, '--layout', layout],
      ...flags.map((one) => one.replace('MODEL', model)),
    );
    expect(flag(argv, name)).toBe(value);
  });

  it.each([
    ['as it is tagged', 'core_v0.16.1', 'core_v0.16.1'],
    ['as its package is numbered', '0.16.1', 'core_v0.16.1'],
  ])('takes a release %s', async (_sentence, stated, tag) => {
    const layout = file('layout.json', { layout: { dataParallelDegree: 2 } });
    const flags = ['--layout', layout, '--model', file('model.json', MODEL), '--engine', `megatron-lm@${stated}`];
    expect(JSON.parse((await render(...flags, '--json')).out)).toMatchObject({ release: tag });
  });

  it('takes layout and micro-batch of a placement', async () => {
    const spec = {
      jobName: 'a',
      jobUid: 'u',
      epoch: 1,
      layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 2 },
      microBatchSize: 4,
      worldSize: 2,
      ranks: ['0-1'],
      nodes: ['n'],
    };
    const { argv } = await asked('--placement', file('placement.json', { kind: 'Placement', spec }), '--job', TINY_JOB);
    expect([flag(argv, '--data-parallel'), flag(argv, '--micro-batch-size')]).toEqual(['2', '4']);
  });

  it.each<[string, object, string, RegExp]>([
    ['a layout that breaks a rule', { tensorParallelDegree: 3 }, 'reference', /^layout\.tensorParallelDegree 3/],
    ['an option that the engine lacks', { contextParallelDegree: 2 }, 'reference', /cannot do layout.contextParallelD/],
    ['an engine that is told nothing here', {}, 'galvatron', /engine "galvatron" is known for layouts only/],
    ['a release that nobody knows', {}, 'megatron-lm@core_v0.1', /release of megatron-lm is one of/],
    ['a release of an engine without any', {}, 'reference@1', /release is for engines/],
  ])('refuses %s with rule, field, why and what to do instead, and ends with 1', async (_what, layout, engine, why) => {
    const path = file('layout.json', { layout, model: MODEL });
    const { code, out } = await render('--layout', path, '--engine', engine, '--json');
    const { refusal } = JSON.parse(out) as { refusal: Record<string, string> };
    expect(code).toBe(1);
    expect(refusal).toEqual({
      rule: expect.stringMatching(/^[A-Za-z-]+$/) as string,
      field: expect.stringMatching(/^(layout|engine)\./) as string,
      why: expect.stringMatching(why) as string,
      fallback: expect.stringMatching(/./) as string,
    });
    const { out: text } = await render('--layout', path, '--engine', engine);
    expect(text).toMatch(/^\S+ refuses \S+ \(\S+\)\n {2}.+\n {2}instead: ./);
  });

  it('names for TOML of torchtitan the engine whose release is told so', async () => {
    const { refusal } = await asked('--layout', file('l.json', {}), '--engine', 'torchtitan-toml');
    expect(refusal?.['fallback']).toMatch(/^use engine torchtitan at a release up to v0\.2\.2/);
  });

  it.each(LAYOUT_ENGINES)('has an answer for engine %s: what is run, or why not and what instead', async (engine) => {
    const answer = await asked('--layout', file('l.json', { model: MODEL, layout: {} }), '--engine', engine);
    expect([answer.argv?.[0] ?? '', answer.refusal?.['fallback'] ?? ''].join('')).not.toBe('');
  });

  it.each<[string, readonly string[], RegExp]>([
    ['no layout at all', ['--engine', 'reference'], /use --layout, --placement or --job/],
    ['no engine', ['--layout', 'LAYOUT'], /use --engine NAME\[@RELEASE\]/],
    ['an engine that there is not', ['--layout', 'LAYOUT', '--engine', 'megatron'], /`coxswain engines` lists both/],
    ['a release of a release', ['--layout', 'LAYOUT', '--engine', 'megatron-lm@1@2'], /give NAME or NAME@RELEASE/],
    ['a job whose layout is to be planned', ['--job', 'AUTO'], /lets the planner choose its layout: give --layout/],
    ['a placement that is none', ['--placement', 'LAYOUT'], /is not a valid Placement/],
    [
      'a model that is not known',
      ['--layout', 'LAYOUT', '--engine', 'command', '--model', 'lama'],
      /"lama" is not known/,
    ],
  ])('says what is missing: %s', async (_what, argv, sentence) => {
    const layout = file('layout.json', {});
    const auto = join(ROOT, 'examples/jobs/gpt-auto.yaml');
    const { code, err } = await render(...argv.map((word) => word.replace('LAYOUT', layout).replace('AUTO', auto)));
    expect(code).toBe(1);
    expect(err).toMatch(sentence);
  });

  it('writes a script that runs what a launcher would, and leaves what is there', async () => {
    const words = ['a b', "it's", '$HOME', '$(RANK)', '"', '-x'];
    const engine = {
      name: 'command',
      image: 'i',
      command: ['printf', '%s|'],
      args: words,
      env: [{ name: 'A', value: 'b c' }],
    };
    const job = file('job.json', { name: 'a', spec: { engine, layout: {} } });
    const out = join(directory, 'out');
    expect((await render('--job', job, '--out', out)).code).toBe(0);
    const stated = execFileSync(join(out, 'run.sh'), { encoding: 'utf8' });
    expect(stated).toBe(`${words.join('|')}|`);
    expect(await render('--job', job, '--out', out)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/already exists/) as string,
    });
    expect((await render('--job', job, '--out', out, '--force')).code).toBe(0);
  });

  it('writes nothing where the engine refuses', async () => {
    const out = join(directory, 'out');
    expect((await render('--layout', file('l.json', {}), '--engine', 'verl', '--out', out)).code).toBe(1);
    expect(existsSync(out)).toBe(false);
  });
});

describe('coxswain engines', () => {
  it('lists every engine for programs, with what it can be told', async () => {
    const { out, code } = await runOffline({}, 'engines', '--json');
    const { items } = JSON.parse(out) as {
      items: { name: string; startsJobs: boolean; abilities: { zeroStages: number[] } }[];
    };
    expect(code).toBe(0);
    expect(items.map(({ name }) => name).sort()).toEqual([...LAYOUT_ENGINES].sort());
    expect(items.find(({ name }) => name === 'deepspeed')).toMatchObject({
      startsJobs: true,
      needsCommand: true,
      abilities: { zeroStages: [0, 1, 2, 3] },
    });
    expect(items.find(({ name }) => name === 'galvatron')).toMatchObject({ startsJobs: false, startedBy: [] });
  });

  it('says for people which releases there are and what each can be told', async () => {
    const { out } = await runOffline({}, 'engines');
    expect(out).toMatch(/^ENGINE +RELEASES +PROGRAM +RANKS STARTED BY\nreference +- +its own +launcher\n/);
    expect(out).toMatch(/Layout options that reference supports\n {2}only its degrees\n/);
    expect(out).toMatch(/Layout options that torchtitan supports\n {2}schedules: 1f1b, /);
  });

  it.each(['render', 'engines'])('%s --help shows examples', async (command) => {
    const { out } = await runOffline({}, command, '--help');
    expect(out).toMatch(new RegExp(`Examples:\\n {2}coxswain ${command}`));
  });

  it('the examples of render are files that there are', async () => {
    const { out } = await runOffline({}, 'render', '--help');
    const named = [...out.matchAll(/examples\/\S+\.yaml/g)].map(([path]) => path);
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter((path) => readFileSync(join(ROOT, path), 'utf8') === '')).toEqual([]);
  });
});
