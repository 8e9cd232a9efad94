import { JobCreate, TrainingJobSpec } from '@coxswain/api-types';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { isMap, isScalar, parseDocument } from 'yaml';
import { terminalAsker } from '../session/asker.ts';
import { initJob } from './init-job.ts';
import { jobModel, modelNames, modelWords } from './init-model.ts';
import { readJobFile } from '../job-files/job-file.ts';
import { runOffline, type OfflineOutcome } from '../testing/run-offline.ts';

let directory: string;
let out: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-init-'));
  out = join(directory, 'job.yaml');
});
afterEach(() => rmSync(directory, { recursive: true }));

/** `coxswain init` where nobody can be asked. */
const run = (...argv: readonly string[]): Promise<OfflineOutcome> => runOffline({}, 'init', '--out', out, ...argv);

/** `coxswain init` at a terminal where somebody types these answers; null leaves. */
async function typed(
  answers: readonly (string | null)[],
  ...argv: readonly string[]
): Promise<OfflineOutcome & { readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const openAsker = (): ReturnType<typeof terminalAsker> => ({
    ask: ({ text, fallback }) => {
      asked.push(`${text}${fallback === undefined ? '' : ` [${fallback}]`}`);
      const answer = answers[asked.length - 1];
      return Promise.resolve(
        answer === null ? undefined : answer === '' || answer === undefined ? (fallback ?? '') : answer,
      );
    },
    close: () => undefined,
  });
  return { ...(await runOffline({ openAsker }, 'init', '--out', out, ...argv)), asked };
}

describe('coxswain init --yes', () => {
  it('writes the job of the quickstart’s model, which submit takes, and says what to do next', async () => {
    const { code, out: printed } = await run('--yes');
    expect(code).toBe(0);
    expect(printed).toMatch(
      /^Wrote .*job.yaml\.\nIt needs the PersistentVolumeClaims corpus and checkpoints in its namespace.*\n\n {2}coxswain submit -f .* --watch\n/,
    );
    expect(readJobFile(out, {})).toMatchObject({
      name: 'tiny',
      spec: {
        engine: { name: 'reference' },
        model: { layers: 4, sequenceLength: 128 },
        gpus: 1,
        training: { globalBatchSize: 8 },
      },
    });
  });

  it.each<[string, readonly string[], object]>([
    [
      'a preset',
      ['--model', 'Llama 3.1 8B', '--gpus', '12'],
      {
        name: 'llama-3-1-8b',
        spec: {
          model: { layers: 32, hiddenSize: 4096, sequenceLength: 2048 },
          gpus: 12,
          training: { globalBatchSize: 12, precision: 'bf16' },
        },
      },
    ],
    [
      'sizes of training',
      ['--steps', '5', '--global-batch', '64', '--seq', '256'],
      { spec: { training: { steps: 5, globalBatchSize: 64 }, model: { sequenceLength: 256 } } },
    ],
    [
      'claims with paths',
      ['--data', 'books/all/a.txt', '--checkpoints', 'saves/run/'],
      { spec: { data: { claimName: 'books', path: 'all/a.txt' }, checkpoint: { claimName: 'saves', path: 'run' } } },
    ],
    [
      'a program',
      ['--engine', 'command', '--image', 'a/b:1', '--gpus', '8', '--', 'python3', 'train_it.py', '--lr', '1'],
      {
        name: 'train-it',
        spec: {
          engine: { name: 'command', command: ['python3', 'train_it.py', '--lr', '1'] },
          layout: { dataParallelDegree: 8 },
        },
      },
    ],
    [
      'the degrees of a program, as import does',
      [
        '--engine',
        'command',
        '--image',
        'a',
        '--gpus',
        '64',
        '--',
        'python3',
        'pretrain_gpt.py',
        '--tensor-model-parallel-size',
        '4',
        '--pipeline-model-parallel-size',
        '8',
      ],
      { spec: { layout: { tensorParallelDegree: 4, pipelineParallelDegree: 8, dataParallelDegree: 2 } } },
    ],
    [
      'the experts of a program, for an engine that takes them',
      ['--engine', 'command', '--image', 'a', '--gpus', '8', '--', 'python3', 'a.py', '--ep', '8'],
      { spec: { engine: { name: 'custom' }, layout: { expert: { expertParallelDegree: 8 } } } },
    ],
    [
      'the preset of a program, by its name',
      ['--engine', 'command', '--image', 'a', '--model', 'Mixtral 8x7B', '--steps', '5', '--', 'a'],
      {
        name: 'a',
        spec: { model: { preset: 'mixtral-8x7b', sequenceLength: 2048 }, training: { steps: 5, globalBatchSize: 8 } },
      },
    ],
    [
      'a program that saves',
      ['--engine', 'command', '--image', 'a', '--checkpoints', 'c', '--name', 'x', '--', 'a'],
      { name: 'x', spec: { checkpoint: { claimName: 'c' } } },
    ],
  ])('keeps %s', async (_what, argv, want) => {
    expect(await run('--yes', ...argv)).toMatchObject({ code: 0, err: '' });
    expect(readJobFile(out, {})).toMatchObject(want);
  });

  it.each<[string, readonly string[], RegExp]>([
    [
      'what has no default',
      ['--engine', 'command'],
      /^There is no default for\n {2}-- PROGRAM ARGUMENTS… {2}Program of one rank\n {2}--image IMAGE {10}Container image$/,
    ],
    ['GPUs that are none', ['--gpus', '0'], /^--gpus: "0" is not a number of GPUs/],
    ['a model that is not known', ['--model', 'lama'], /^--model: model "lama" is not known; nearest: llama/],
    [
      'a model that a job cannot describe',
      ['--model', 'mixtral-8x7b'],
      /^--model: mixtral-8x7b has experts, .*choose one of tiny, /,
    ],
    ['a model of several kinds of layers', ['--model', 'nemotron-h-8b'], /has layers of several kinds/],
    ['a name that is none', ['--name', 'A B'], /^--name: "A B" is not a valid name: must be lower-case letters/],
    ['a claim that is none', ['--data', 'A/b'], /^--data: "A" is not the name of a PersistentVolumeClaim/],
    ['a path that leaves its claim', ['--data', 'a/../b'], /spec.data.path/],
    [
      'how a model is trained where there is none',
      ['--engine', 'command', '--image', 'a', '--seq', '64', '--', 'a'],
      /^--seq describes how a model is trained: also give --model/,
    ],
    [
      'a model of a program that is not known',
      ['--engine', 'command', '--image', 'a', '--model', 'lama', '--', 'a'],
      /^--model: model "lama" is not known; nearest: llama/,
    ],
    [
      'degrees that do not divide the GPUs',
      ['--engine', 'command', '--image', 'a', '--gpus', '24', '--', 'a', '--tp', '8', '--pp', '4'],
      /is 32, which does not divide the 24 ranks/,
    ],
    ['an unknown engine', ['--engine', 'magic'], /Allowed choices are reference, command, megatron-lm/],
  ])('refuses %s', async (_what, argv, want) => {
    const { code, err } = await run('--yes', ...argv);
    expect([code, err, existsSync(out)]).toEqual([1, expect.stringMatching(want), false]);
  });

  it.each(['megatron-lm', 'megatron-bridge', 'torchtitan', 'deepspeed', 'hugging-face', 'custom'])(
    'writes a job of engine %s, whose layout the planner chooses',
    async (engine) => {
      const program = ['deepspeed', 'hugging-face', 'custom'].includes(engine) ? ['--', 'python3', 'a.py'] : [];
      const argv = ['--engine', engine, '--image', 'a', '--model', 'llama-3.1-8b', '--gpus', '16', ...program];
      expect(await run('--yes', ...argv)).toMatchObject({ code: 0, err: '' });
      expect(readJobFile(out, {})).toMatchObject({
        spec: {
          engine: { name: engine },
          gpus: 16,
          model: { preset: 'llama-3.1-8b' },
          training: { globalBatchSize: 16 },
        },
      });
    },
  );

  it('replaces no file unless it is told to', async () => {
    writeFileSync(out, 'mine');
    expect((await run('--yes')).err).toMatch(
      /already exists and was not changed; choose another --out, or overwrite it with --force/,
    );
    expect(readFileSync(out, 'utf8')).toBe('mine');
    expect((await run('--yes', '--force')).code).toBe(0);
  });

  it('prints the file where it is told to', async () => {
    const { out: printed } = await runOffline({}, 'init', '--yes', '--out', '-');
    expect(printed).toMatch(/^# A GPT so small that processors train it, on 1 GPU\.\n/);
  });
});

describe('coxswain init where nobody can be asked', () => {
  it('names each answer that is missing, its option and its default', async () => {
    const { code, err } = await run('--gpus', '4', '--image', 'a/b:1');
    expect(code).toBe(1);
    expect(err).toBe(
      [
        'This is no terminal, so no question can be asked. Give',
        '  --engine NAME        Engine (reference)',
        '  --model NAME|FILE    Model (tiny)',
        '  --data CLAIM/PATH    Claim with the data, and the path in it (corpus/logbook.txt)',
        '  --checkpoints CLAIM  Claim for checkpoints (checkpoints)',
        '  --name NAME          Name of the job (tiny)',
        'or --yes, which takes what stands in brackets.',
      ].join('\n'),
    );
  });

  it('is content where everything is given', async () => {
    const all = ['--engine', 'command', '--gpus', '2', '--image', 'a', '--name', 'n', '--', 'python3', 'a.py'];
    expect(await run(...all)).toMatchObject({ code: 0 });
  });
});

describe('coxswain init at a terminal', () => {
  it('asks what is missing, one thing after the other', async () => {
    const { code, asked } = await typed(['', 'llama-3.1-8b', '16'], '--image', 'a/b:1');
    expect(code).toBe(0);
    expect(asked).toEqual([
      'Engine [reference]',
      'Model [tiny]',
      'GPUs [1]',
      'Claim with the data, and the path in it [corpus/logbook.txt]',
      'Claim for checkpoints [checkpoints]',
      'Name of the job [llama-3-1-8b]',
    ]);
    expect(readJobFile(out, {}).spec.gpus).toBe(16);
  });

  it('asks again where an answer is none, and says why', async () => {
    const { asked, err } = await typed([
      'command',
      '',
      'python3 a.py | tee',
      'python3 "a b.py"',
      'many',
      '2',
      'img',
      'n',
    ]);
    expect(asked.filter((text) => text === 'Program of one rank')).toHaveLength(3);
    expect(err).toMatch(/Give one program with its arguments.*\n"many" is not a number of GPUs/);
    expect(readJobFile(out, {}).spec.engine.command).toEqual(['python3', 'a b.py']);
  });

  it('writes nothing where nobody answers any more', async () => {
    expect(await typed(['', null])).toMatchObject({
      code: 130,
      err: expect.stringMatching(/Nothing was written\.$/) as string,
    });
    expect(existsSync(out)).toBe(false);
  });

  it('asks nothing where the file is there already', async () => {
    writeFileSync(out, 'mine');
    expect(await typed([])).toMatchObject({ code: 1, asked: [] });
  });

  it('an empty line is the default, the end of the input is the end', async () => {
    const input = new PassThrough();
    const asker = terminalAsker(input, new PassThrough());
    const question = { text: 'GPUs', fallback: '1' };
    const first = asker.ask(question);
    input.write('\n');
    expect(await first).toBe('1');
    const second = asker.ask(question);
    input.write(' 8 \n');
    expect(await second).toBe('8');
    const third = asker.ask(question);
    input.end();
    expect(await third).toBeUndefined();
    expect(await asker.ask(question)).toBeUndefined();
  });
});

describe('models of a job', () => {
  it('every one that is offered makes a valid job on any number of GPUs', () => {
    const answers = { engine: 'reference', name: 'a', image: 'a', data: 'c/d', checkpoints: 'c' } as const;
    const wrong = modelNames().flatMap((model, index) => {
      const { job } = initJob({ ...answers, model, gpus: index + 1 });
      return JobCreate.safeParse(job).success ? [] : [model];
    });
    expect(wrong).toEqual([]);
    expect(modelNames().slice(0, 2)).toEqual(['tiny', 'gpt-1.7b']);
  });

  it('a config.json is one', () => {
    const path = join(directory, 'config.json');
    const config = {
      model_type: 'llama',
      num_hidden_layers: 2,
      hidden_size: 64,
      num_attention_heads: 4,
      intermediate_size: 128,
      vocab_size: 1000,
    };
    writeFileSync(path, JSON.stringify(config));
    expect(jobModel(path).model).toMatchObject({ layers: 2, hiddenSize: 64, attentionHeads: 4 });
    expect(modelWords(path, 64).model).toEqual({ huggingFace: config, sequenceLength: 64 });
  });

  it('a shape is one, and a program’s job has all of its sizes', () => {
    const path = join(directory, 'mine.yaml');
    const sizes = 'layers: 2\nhiddenSize: 64\nffnHiddenSize: 96\nattentionHeads: 4\nkeyValueHeads: 2\nheadDim: 16\n';
    writeFileSync(path, `${sizes}vocabularySize: 1000\ngatedMlp: true\n`);
    const { name, model } = modelWords(path);
    expect([name, model]).toMatchObject(['mine', { ffnHiddenSize: 96, keyValueHeads: 2, sequenceLength: 2048 }]);
    expect(TrainingJobSpec.shape.model.safeParse(model).error).toBeUndefined();
  });
});

describe('the file that is written', () => {
  it('says of each block and of each field of ours what it is for', async () => {
    await run('--yes');
    const { contents } = parseDocument(readFileSync(out, 'utf8'));
    const spec = isMap(contents) ? contents.get('spec', true) : undefined;
    const silent = isMap(spec)
      ? spec.items.filter(({ key, value }) => isScalar(key) && !isMap(value) && isScalar(value) && !value.comment)
      : ['no spec'];
    expect(silent).toEqual([]);
    expect(
      readFileSync(out, 'utf8')
        .split('\n')
        .every((line) => line.length <= 130),
    ).toBe(true);
  });
});
