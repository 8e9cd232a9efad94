import type { TrainingJobSpecInput } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { engineRefusal, modelRefusals, renderEngine } from './index.ts';

const NOTHING_BESIDE = { startedBy: 'launcher', resumeArgs: [], files: [], ports: [], notes: [] };
const commandEngine: TrainingJobSpecInput['engine'] = { name: 'command', image: 'any', command: ['sleep', '5'] };

describe('the command of one rank', () => {
  it('of engine reference carries every setting as a flag', () => {
    const spec = aJobSpec({
      engine: { name: 'reference', image: 'x', args: ['--step-delay-ms', '5'], env: [{ name: 'A', value: 'b' }] },
    });
    expect(renderEngine(spec)).toEqual({
      ...NOTHING_BESIDE,
      kind: 'rendered',
      command: (
        'python3 -m coxswain_reference.train --layers 4 --hidden-size 128 --attention-heads 4 --sequence-length 128 ' +
        '--tensor-parallel 2 --pipeline-parallel 1 --data-parallel 2 --global-batch-size 8 --micro-batch-size 1 --steps 100 ' +
        '--learning-rate 0.001 --min-learning-rate 0.0001 --warmup-steps 0 --weight-decay 0.1 --seed 1234 --precision bf16 ' +
        '--data /coxswain/data/corpus.txt --save-every 20 --step-delay-ms 5'
      ).split(' '),
      env: { A: 'b' },
    });
  });

  it('of engine reference carries what is said of optimizer, schedule and tokens', () => {
    const training = {
      tokens: 8 * 128 * 50,
      globalBatchSize: 8,
      optimizer: { beta1: 0.8, beta2: 0.99, epsilon: 1e-6, clipNorm: 0.5 },
      schedule: { name: 'wsd' as const, decaySteps: 10 },
    };
    const rendered = renderEngine(aJobSpec({ training }));
    const flags = rendered.kind === 'rendered' ? rendered.command.join(' ') : '';
    expect(flags).toContain('--steps 50 ');
    expect(flags).toContain(
      '--beta1 0.8 --beta2 0.99 --epsilon 0.000001 --clip-norm 0.5 --schedule wsd --decay-steps 10',
    );
  });

  it.each<[string, Partial<TrainingJobSpecInput>, number | undefined]>([
    ['batch and length', {}, 8 * 128],
    ['no model', { model: undefined }, undefined],
    [
      'batch and length of an engine that tells tokens itself',
      { engine: { name: 'reference', image: 'x' } },
      undefined,
    ],
  ])('is told with the tokens of a step where a job says %s', (_sentence, more, want) => {
    const rendered = renderEngine(aJobSpec({ engine: commandEngine, ...more }));
    expect(rendered.kind === 'rendered' ? rendered.tokensPerStep : 'refused').toBe(want);
  });

  it('says nothing of where it saves and begins: its launcher does, anew with each start', () => {
    const rendered = renderEngine(aJobSpec());
    expect(JSON.stringify(rendered)).not.toMatch(/--save-dir|--resume-from/);
  });

  it('of engine command is the program as given', () => {
    const spec = aJobSpec({ engine: { ...commandEngine, args: ['--fast'] } });
    expect(renderEngine(spec)).toEqual({
      ...NOTHING_BESIDE,
      kind: 'rendered',
      tokensPerStep: 8 * 128,
      command: ['sleep', '5', '--fast'],
      env: {},
      stepLines: 'plain',
    });
  });
});

describe('a model that no words of this version mean', () => {
  it.each<[string, TrainingJobSpecInput['model'], string, RegExp]>([
    [
      'a preset',
      { preset: 'llama-9', sequenceLength: 1 },
      'model.preset',
      /^model.preset: model "llama-9" is not known/,
    ],
    [
      'an architecture',
      { huggingFace: { model_type: 'whisper' }, sequenceLength: 1 },
      'model.huggingFace.model_type',
      /write its shape by hand with layers/,
    ],
  ])('is refused by its field: %s', (_sentence, model, field, sentence) => {
    const [refusal] = modelRefusals(aJobSpec({ engine: commandEngine, model }).model);
    expect(refusal?.field).toBe(field);
    expect(refusal?.message).toMatch(sentence);
  });

  it.each<[string, TrainingJobSpecInput['model']]>([
    ['is none where the job has no model', undefined],
    ['is none where the preset is known', { preset: 'llama-3.1-8b', sequenceLength: 1 }],
  ])('%s', (_sentence, model) => {
    expect(modelRefusals(aJobSpec({ engine: commandEngine, model }).model)).toEqual([]);
  });
});

const claim = { claimName: 'corpus', path: 'corpus.txt' };
/** Words that engine reference has no flag for, each refused by its field. */
const refusedWords: readonly { readonly words: Partial<TrainingJobSpecInput>; readonly want: string }[] = [
  { words: { data: { ...claim, format: 'jsonl' } }, want: 'engine "reference" cannot do data.format jsonl' },
  { words: { data: { format: 'mock' } }, want: 'engine "reference" cannot do data.format mock' },
  {
    words: { data: { claimName: 'corpus', paths: [{ path: 'a' }] } },
    want: 'engine "reference" cannot do data.paths [{"path":"a","weight":1}]',
  },
  {
    words: { data: { ...claim, split: { train: 9, validation: 1 } } },
    want: 'engine "reference" cannot do data.split {"train":9,"validation":1,"test":0}',
  },
  {
    words: { data: { ...claim, tokenizer: { path: 't' } } },
    want: 'engine "reference" cannot do data.tokenizer {"path":"t"}',
  },
  {
    words: { training: { steps: 1, globalBatchSize: 8, optimizer: { name: 'muon' } } },
    want: 'engine "reference" cannot do training.optimizer.name muon',
  },
  {
    words: { training: { steps: 1, globalBatchSize: 8, optimizer: { momentum: 0.9 } } },
    want: 'engine "reference" cannot do training.optimizer.momentum 0.9',
  },
  {
    words: { initialWeights: { claimName: 'w', path: 'llama', format: 'safetensors' } },
    want: 'engine "reference" cannot do initialWeights {"claimName":"w","path":"llama","format":"safetensors"}',
  },
];

describe('what an engine refuses', () => {
  const cases: readonly {
    readonly name: string;
    readonly spec: Partial<TrainingJobSpecInput>;
    readonly want: string | undefined;
  }[] = [
    { name: 'nothing that it can run', spec: {}, want: undefined },
    { name: 'a reference job without a model', spec: { model: undefined }, want: 'engine "reference" needs model' },
    {
      name: 'a reference job without model and training',
      spec: { model: undefined, training: undefined },
      want: 'engine "reference" needs model and training',
    },
    {
      name: 'a learning rate below the least one',
      spec: { training: { steps: 100, globalBatchSize: 8, learningRate: 0.00002 } },
      want: 'training.minLearningRate 0.0001 is above training.learningRate 0.00002',
    },
    {
      name: 'nothing of rates where arguments may say otherwise',
      spec: {
        training: { steps: 100, globalBatchSize: 8, learningRate: 0.00002 },
        engine: { name: 'reference', image: 'any', args: ['--min-learning-rate', '0'] },
      },
      want: undefined,
    },
    {
      name: 'a warm-up and a decay that leave no step between them',
      spec: {
        training: { steps: 100, globalBatchSize: 8, warmupSteps: 60, schedule: { name: 'wsd', decaySteps: 41 } },
      },
      want: 'training.warmupSteps 60 and training.schedule.decaySteps 41 are more than the 100 steps of the training',
    },
    {
      name: 'a warm-up longer than the tokens last',
      spec: { training: { tokens: 8 * 128 * 10, globalBatchSize: 8, warmupSteps: 11 } },
      want: 'training.warmupSteps 11 are more than the 10 steps of the training',
    },
    { name: 'a reference job without data', spec: { data: undefined }, want: 'engine "reference" needs data' },
    {
      name: 'a reference job that keeps no checkpoints',
      spec: { checkpoint: undefined },
      want: 'engine "reference" saves its final state and needs checkpoint',
    },
    {
      name: 'a reference job with a division that it has no flag for',
      spec: { layout: { contextParallelDegree: 2 } },
      want: 'engine "reference" cannot do layout.contextParallelDegree 2',
    },
    {
      name: 'a reference job with a policy that it does not know',
      spec: { layout: { memory: { recompute: { mode: 'full' } } } },
      want: 'engine "reference" cannot do layout.memory.recompute.mode full',
    },
    {
      name: 'a command with options that nobody would tell it',
      spec: {
        engine: commandEngine,
        layout: {
          contextParallelDegree: 2,
          rankOrder: ['tensor', 'data', 'pipeline', 'context'],
          kernel: { precision: 'fp8' },
        },
      },
      want: 'engine "command" cannot do layout.kernel.precision fp8, layout.rankOrder as given',
    },
    {
      name: 'no context degree of a command, which only adds ranks',
      spec: { engine: commandEngine, layout: { contextParallelDegree: 2 } },
      want: undefined,
    },
    {
      name: 'a reference job whose model has grouped heads',
      spec: { model: { layers: 4, hiddenSize: 128, attentionHeads: 4, keyValueHeads: 2, sequenceLength: 128 } },
      want: 'engine "reference" trains a GPT of bytes and cannot do model.keyValueHeads 2',
    },
    {
      name: 'a reference job whose model is a preset of another kind, with every size that differs',
      spec: { model: { preset: 'llama-3.1-8b', sequenceLength: 128 } },
      want: 'engine "reference" trains a GPT of bytes and cannot do model.ffnHiddenSize 14336, model.keyValueHeads 8, model.vocabularySize 128256, model.gatedMlp true',
    },
    {
      name: 'no size that says what the engine does anyway',
      spec: {
        model: {
          layers: 4,
          hiddenSize: 128,
          attentionHeads: 4,
          keyValueHeads: 4,
          ffnHiddenSize: 512,
          vocabularySize: 256,
          sequenceLength: 128,
        },
      },
      want: undefined,
    },
    {
      name: 'no model of a command, which reads what it trains from its own arguments',
      spec: { engine: commandEngine, model: { preset: 'deepseek-v3', sequenceLength: 128 } },
      want: undefined,
    },
    ...refusedWords.map(({ words, want }) => ({ name: `of engine reference: ${want}`, spec: words, want })),
    { name: 'no degree of 1', spec: { layout: { contextParallelDegree: 1 } }, want: undefined },
    {
      name: 'nothing of engine command',
      spec: { engine: commandEngine, model: undefined, training: undefined, data: undefined, checkpoint: undefined },
      want: undefined,
    },
  ];
  it.each(cases)('$name', ({ spec, want }) => {
    const refusal = engineRefusal(aJobSpec(spec));
    expect(refusal?.why).toBe(want);
    if (want !== undefined) expect(refusal?.fallback).not.toBe('');
  });
});

describe('what a pod could not be told', () => {
  const custom: TrainingJobSpecInput['engine'] = { ...commandEngine, name: 'custom' };
  const long = (keys: number): TrainingJobSpecInput['model'] => ({
    huggingFace: { model_type: 'llama', hidden_size: 64, num_hidden_layers: 2, more: Array<number>(keys).fill(0) },
    sequenceLength: 128,
  });
  it.each<[string, Partial<TrainingJobSpecInput>, RegExp]>([
    [
      'words that placeholders name again and again',
      { engine: { ...custom, args: Array<string>(20).fill('{model}'.repeat(500)) }, model: long(10_000) },
      /^the fields that engine.args names come to 2\d{8} characters/,
    ],
    ['a file of the job’s words', { engine: custom, model: long(15_000) }, /come to 1\d{5} bytes/],
    [
      'one such file, where others leave room',
      { engine: custom, model: long(8_000) },
      /^a file that is rendered for the engine comes to 8\d{4} bytes/,
    ],
    [
      'an argument that the kernel does not take',
      { engine: { ...custom, args: ['{model}'.repeat(16)] }, model: long(4_500) },
      /^an argument/,
    ],
    [
      'dollar signs, each of which is written twice',
      { engine: { ...commandEngine, args: Array<string>(64).fill('$'.repeat(4096)) } },
      /^the command that is rendered for the engine comes to 524/,
    ],
  ])('is refused, and not thrown: %s', (_what, spec, why) => {
    expect(renderEngine(aJobSpec(spec))).toMatchObject({
      kind: 'refused',
      rule: 'rendering-fits-a-pod',
      why: expect.stringMatching(why) as string,
    });
  });
});

describe('saves in memory', () => {
  const checkpoint = { claimName: 'checkpoints', memory: { everySteps: 10, sizePerGpu: '1Gi' } };
  const resources = { memoryPerGpu: '8Gi' };

  it('are refused for an engine that does not write them, before a gang is placed', () => {
    expect(renderEngine(aJobSpec({ engine: commandEngine, checkpoint, resources }))).toMatchObject({
      kind: 'refused',
      rule: 'engine-saves-in-memory',
      field: 'checkpoint.memory',
      why: 'engine "command" does not save in the memory of its pods; reference does',
    });
  });

  it('reach the reference engine by the launcher, and by no argument', () => {
    const { memory: _, ...without } = checkpoint;
    const engine = { name: 'reference', image: 'engine' } as const;
    expect(renderEngine(aJobSpec({ engine, checkpoint, resources }))).toEqual(
      renderEngine(aJobSpec({ engine, checkpoint: without, resources })),
    );
  });
});

describe('a text that no program can be given', () => {
  it.each<[string, Partial<TrainingJobSpecInput>, string]>([
    ['a NUL in an argument', { engine: { ...commandEngine, args: ['a', 'b\0c'] } }, 'engine.args.1'],
    ['a NUL in a variable', { engine: { ...commandEngine, env: [{ name: 'A', value: '\0' }] } }, 'engine.env.0.value'],
    ['half of a pair', { engine: { ...commandEngine, args: ['\ud83d'] } }, 'engine.args.0'],
    ['a NUL in a path', { data: { claimName: 'corpus', path: 'a\0b' } }, 'data.path'],
    ['no name of a program', { engine: { ...commandEngine, command: ['', '-c'] } }, 'engine.command.0'],
  ])('is refused where it stands: %s', (_what, spec, field) => {
    expect(renderEngine(aJobSpec(spec))).toMatchObject({ kind: 'refused', rule: 'text-is-for-programs', field });
  });

  it('is none of several lines, or of every script', () => {
    const args = ['a\nb', '\t', '🚣', 'ß'];
    expect(renderEngine(aJobSpec({ engine: { ...commandEngine, args } })).kind).toBe('rendered');
  });
});

describe('a dollar sign of the user', () => {
  it('is told from a variable of the rank', () => {
    const spec = aJobSpec({ engine: { ...commandEngine, command: ['sh', '-c', 'echo $RANK $(date)'] } });
    expect(renderEngine(spec)).toMatchObject({ command: ['sh', '-c', 'echo $$RANK $$(date)'] });
  });
});
