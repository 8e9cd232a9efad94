import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runOffline, type OfflineOutcome } from '../testing/run-offline.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-plan-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function aFile(name: string, content: unknown): string {
  const path = join(directory, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** Runs one command line; no server is there to be asked. */
function run(...argv: readonly string[]): Promise<OfflineOutcome> {
  return runOffline({}, ...argv);
}

const SHAPE = {
  name: 'tiny',
  layers: 4,
  hiddenSize: 512,
  ffnHiddenSize: 2048,
  attentionHeads: 8,
  keyValueHeads: 8,
  headDim: 64,
  vocabularySize: 32_000,
  gatedMlp: true,
};
const BATCH = ['--global-batch', '8', '--seq', '1024'];
/** So much is decided that the search is over at once. */
const PINS = ['--pin', 'cp=1,mbs=1,zero=1,recompute=none,schedule=1f1b,vpp=1,partition=even,order=tp-cp-dp-pp'];
/** Nine lists, each nine times the one before it. */
const NINE_TO_THE_NINTH = ['a: &a [1]']
  .concat([...'bcdefghij'].map((name, at) => `${name}: &${name} [${`*${'abcdefghi'.charAt(at)},`.repeat(9)}]`))
  .join('\n');
const LAYOUT = { tensorParallelDegree: 2, pipelineParallelDegree: 2, dataParallelDegree: 1 };

const shape = (): string => aFile('tiny.json', SHAPE);
const onFour = (): readonly string[] => ['--model', shape(), '--gpu', 'a100', '--gpus', '4', ...BATCH];

describe('plan', () => {
  it('prints the best layout, the others and what excluded most', async () => {
    const { code, out, err } = await run('plan', ...onFour(), ...PINS);
    expect(err).toBe('');
    expect(code).toBe(0);
    expect(out).toMatch(/^tiny on 4 x NVIDIA A100 SXM4 80 GB, global batch 8 x 1,024 tokens, bf16\n/);
    expect(out).toMatch(/\nLayout +\S+.* on 4 GPUs\n/);
    expect(out).toMatch(/\n# +LAYOUT +GPUS +STEP/);
    expect(out).toMatch(/\nExcluded +/);
    expect((await run('plan', ...onFour(), ...PINS, '--explain')).out).toMatch(/\nWhat ruled out the rest\n/);
  });

  it('has the same keys as the API with --json, and takes its own answer back', async () => {
    const planned = await run('plan', ...onFour(), ...PINS, '--top', '2', '--json');
    const answer = JSON.parse(planned.out) as { readonly best: object; readonly plans: readonly object[] };
    expect(Object.keys(answer).sort()).toEqual([
      'assumptions',
      'best',
      'calibration',
      'counted',
      'pareto',
      'plans',
      'ruledOut',
    ]);
    expect(answer.plans).toHaveLength(2);
    const again = await run('predict', aFile('best.json', answer.best), ...onFour(), '--json');
    expect(JSON.parse(again.out)).toMatchObject({ prediction: (answer.best as { prediction: object }).prediction });
  });

  it('writes a report with the pipeline drawn', async () => {
    const path = join(directory, 'plan.html');
    const { code } = await run('plan', ...onFour(), '--pin', 'pp=2,cp=1,mbs=1,zero=1,recompute=none', '--report', path);
    expect(code).toBe(0);
    const html = readFileSync(path, 'utf8');
    expect(html).toContain('<title>tiny on 4 NVIDIA A100 SXM4 80 GB</title>');
    expect(html).toContain('<h2>The pipeline</h2>');
  });

  it('reads a request from a file', async () => {
    const request = aFile('request.yaml', 'cluster: {gpu: a100, gpus: 4}\nglobalBatchSize: 8\nsequenceLength: 1024\n');
    const { code, out } = await run('plan', '-f', request, '--model', shape(), ...PINS);
    expect(code).toBe(0);
    expect(out).toContain('tiny on 4 x NVIDIA A100');
  });

  it('says that it takes a while once patience ends', async () => {
    const { code, err } = await runOffline({ pause: () => Promise.resolve() }, 'plan', ...onFour(), ...PINS);
    expect(code).toBe(0);
    expect(err).toBe('Searching layouts; this takes a few more seconds.');
  });

  it('is over with its answer, not with its patience', async () => {
    let until: AbortSignal | undefined;
    const pause = (_: number, signal?: AbortSignal): Promise<void> => new Promise(() => (until = signal));
    await runOffline({ pause }, 'plan', ...onFour(), ...PINS);
    expect(until?.aborted).toBe(true);
  });

  it('ends with 130 at Ctrl-C, while it searches', async () => {
    const abort = new AbortController();
    const pause = (): Promise<void> => Promise.resolve(abort.abort());
    const { code, out, err } = await runOffline({ pause, signal: abort.signal }, 'plan', ...onFour(), ...PINS);
    expect({ code, out, err }).toEqual({ code: 130, out: '', err: '' });
  });

  it.each<[string, readonly string[], string]>([
    [
      'a format that the GPUs do not multiply',
      ['--precision', 'fp8'],
      '  precision (--precision): NVIDIA A100 SXM4 80 GB does not support fp8; use one of fp32, fp16, bf16',
    ],
    [
      'experts pinned of a model that has none',
      ['--pin', 'ep=8'],
      '  pinned.expert (--pin): expert 8 needs a model with experts, but the model has none; remove it',
    ],
  ])('refuses %s by field and option', async (_sentence, options, line) => {
    const { code, err } = await run('plan', ...onFour(), ...options);
    expect(code).toBe(1);
    expect(err).toBe(`The request is not complete or not valid:\n${line}`);
  });

  it('tells with exit code 4 that nothing fits, and what would help', async () => {
    const { code, out } = await run('plan', '--model', 'llama-3.1-70b', '--gpu', 'rtx-4090', '--gpus', '1', ...BATCH);
    expect(code).toBe(4);
    expect(out).toMatch(/Nothing fits: the closest layout lacks [\d,.]+ GiB of memory per GPU\./);
  });
});

describe('predict', () => {
  it('takes model, batch and machines from a layout document', async () => {
    const document = aFile('document.json', {
      engine: { name: 'megatron-lm', version: 'core_v0.15.0' },
      model: SHAPE,
      batch: { globalBatchSize: 8, microBatchSize: 2, sequenceLength: 1024 },
      layout: LAYOUT,
      mesh: { gpusPerNode: 4, segments: [{ nodes: 1, gpu: 'h100', network: 'efa' }] },
    });
    const { code, out } = await run('predict', document);
    expect(code).toBe(0);
    expect(out).toMatch(/^tiny on 4 x NVIDIA H100/);
    expect(out).toMatch(/Layout +tp2 x pp2 on 4 GPUs\n +micro-batch 2, 1f1b/);
    expect(out).toMatch(/Memory per GPU by stage, in GiB of 79\.6\n {2}stage +0 +1\n/);
  });

  it('takes one role of a job with its machines', async () => {
    const actor = { model: SHAPE, batch: { globalBatchSize: 8, sequenceLength: 1024 }, layout: LAYOUT };
    const mesh = { gpusPerNode: 4, segments: [{ nodes: 1, gpu: 'a100', network: 'roce' }] };
    const job = { roles: { actor }, meshes: { all: mesh }, roleMesh: { actor: 'all' } };
    const { code, out } = await run('predict', aFile('roles.json', job), '--role', 'actor');
    expect(code).toBe(0);
    expect(out).toMatch(/^tiny on 4 x NVIDIA A100/);
  });

  it('has nothing to say of a model that is no transformer', async () => {
    const file = aFile('graph.json', { model: { kind: 'graph', layers: 32 }, layout: LAYOUT });
    const { code, err } = await run('predict', file);
    expect(code).toBe(4);
    expect(err).toMatch(/a model of kind graph, whose time and memory the planner cannot predict/);
  });

  it('refuses an illegal layout with exit code 4 and every broken rule', async () => {
    const file = aFile('illegal.json', { ...LAYOUT, tensorParallelDegree: 3, dataParallelDegree: 5 });
    const { code, err } = await run('predict', file, '--model', shape(), '--gpu', 'a100', '--gpus', '30', ...BATCH);
    expect(code).toBe(4);
    expect(err).toMatch(/tensorParallelDegree 3/);
  });

  it('says with exit code 4 that a layout does not fit', async () => {
    const file = aFile('layout.json', { tensorParallelDegree: 1, dataParallelDegree: 1 });
    const { code, out } = await run('predict', file, '--model', 'llama-3.1-8b', '--gpu', 'rtx-4090', ...BATCH);
    expect(code).toBe(4);
    expect(out).toMatch(/of 24\.0 GiB: does not fit/);
  });
});

describe('why-not', () => {
  it('tells how much worse a layout is', async () => {
    const file = aFile('layout.json', { ...LAYOUT, memory: { recompute: { mode: 'full' } } });
    const { code, out } = await run('why-not', file, ...onFour(), '--pin', 'cp=1,zero=1');
    expect(code).toBe(0);
    expect(out).toMatch(/Worse: [\d.]+ % worse: /);
    expect(out).toMatch(/Per step, over the best/);
  });

  it('tells the broken rule of an illegal one', async () => {
    const file = aFile('illegal.json', { ...LAYOUT, tensorParallelDegree: 3 });
    const { code, out } = await run('why-not', file, ...onFour(), '--gpus', '6', ...PINS, '--json');
    expect(code).toBe(4);
    expect(JSON.parse(out)).toMatchObject({ verdict: 'illegal' });
  });
});

describe('presets', () => {
  it.each([
    [['presets', 'models'], /llama-3\.1-405b +405\.9 B +- +126 +16384 +config\.json/],
    [['presets', 'gpus'], /h100-sxm5-80gb +989 +79\.6 +3\.35 +450 +8 +8 +400 infiniband +\$3\.00/],
    [['presets', 'stacks'], /^STACK\n[\s\S]*megatron-bridge 26\.04\n[\s\S]*takes the constants of its engine/],
    [['presets'], /deepseek-v3 +671\.0 B +37\.55 B[\s\S]*gb200-nvl72/],
  ])('%j', async (argv, text) => {
    const { code, out } = await run(...argv);
    expect(code).toBe(0);
    expect(out).toMatch(text);
  });
});

describe('what is wrong is said in words', () => {
  it.each<[string, () => readonly string[], RegExp]>([
    [
      'an unknown model',
      () => ['plan', '--model', 'lama', '--gpu', 'h100', '--gpus', '8', ...BATCH],
      /model "lama" is not known; nearest: llama/,
    ],
    [
      'an unknown GPU',
      () => ['plan', '--model', shape(), '--gpu', 'h999', '--gpus', '8', ...BATCH],
      /GPU "h999" is not known; nearest: h/,
    ],
    ['what is missing', () => ['plan', '--model', shape()], /globalBatchSize \(--global-batch\)/],
    ['a pin that is none', () => ['plan', ...onFour(), '--pin', 'xp=2'], /"xp" is not one of tp, cp, pp/],
    [
      'an objective that is none',
      () => ['plan', ...onFour(), '--objective', 'fun'],
      /Allowed choices are time, cost, gpus, memory/,
    ],
    [
      'a report that cannot be written',
      () => ['plan', ...onFour(), ...PINS, '--report', join(directory, 'no', 'where.html')],
      /Cannot write/,
    ],
    [
      'a micro-batch of fewer samples than one',
      () => ['predict', aFile('minus.json', { layout: LAYOUT, microBatchSize: -1, prediction: {} }), ...onFour()],
      /The micro-batch size of .*minus\.json is -1; it must be a whole number of samples of at least 1; give --micro-batch\./,
    ],
    [
      'a file whose aliases expand without end',
      () => ['plan', ...onFour(), '--model', aFile('aliases.yaml', NINE_TO_THE_NINTH)],
      /aliases\.yaml cannot be read: Excessive alias count/,
    ],
    [
      'an alias of nothing',
      () => ['plan', ...onFour(), '--model', aFile('alias.yaml', 'layers: *four\n')],
      /alias\.yaml cannot be read: Unresolved alias .*four\. Replace its YAML aliases by their values\./,
    ],
    [
      'a layout that is none',
      () => ['predict', aFile('wrong.json', { ...LAYOUT, tensorParalelDegree: 2 }), ...onFour()],
      /unknown key tensorParalelDegree; did you mean tensorParallelDegree\?/,
    ],
    [
      'a job of several roles',
      () => [
        'predict',
        aFile('job.json', { roles: { actor: { layout: LAYOUT } }, meshes: {}, roleMesh: {} }),
        ...onFour(),
      ],
      /holds a job of several roles; choose one with --role: actor\./,
    ],
  ])('%s', async (_, argv, message) => {
    const { code, err } = await run(...argv());
    expect(code).toBe(1);
    expect(err).toMatch(message);
  });

  it.each(['plan', 'predict', 'why-not'])('%s --help has examples', async (command) => {
    const { code, out } = await run(command, '--help');
    expect(code).toBe(0);
    expect(out).toContain(`Examples:\n  coxswain ${command} `);
    expect(out).toContain('Exit code 4:');
  });
});
