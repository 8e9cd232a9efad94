import type { TrainingJobSpecInput } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { type ParallelLayout } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import { renderEngine } from '../index.ts';

type Overrides = Omit<Partial<TrainingJobSpecInput>, 'gpus' | 'engine' | 'layout'> & {
  readonly engine?: Partial<TrainingJobSpecInput['engine']>;
  readonly layout?: Partial<ParallelLayout>;
};

const COMMAND = ['python3', 'train.py'];
const TRAINING = { steps: 1000, globalBatchSize: 64, microBatchSize: 2 };

function render(name: 'deepspeed' | 'hugging-face' | 'custom', { engine, layout, ...rest }: Overrides = {}) {
  return renderEngine(
    aJobSpec({
      model: { preset: 'llama-3.1-8b', sequenceLength: 4096 },
      training: TRAINING,
      data: { claimName: 'corpus', path: 'lines' },
      ...rest,
      engine: { name, image: 'x', command: COMMAND, ...engine },
      layout: aLayout({ dataParallelDegree: 8, ...layout }),
    }),
  );
}

function read(rendered: ReturnType<typeof render>, path: string): Readonly<Record<string, unknown>> {
  if (rendered.kind === 'refused') throw new Error(`${rendered.field}: ${rendered.why}`);
  const text = rendered.files.find((file) => file.path === path)?.text ?? '{}';
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}

const deepspeed = (overrides: Overrides = {}) => read(render('deepspeed', overrides), 'deepspeed.json');

describe('deepspeed is given its file, and the script the job', () => {
  it('of a job with everything', () => {
    const overrides: Overrides = {
      layout: {
        tensorParallelDegree: 2,
        states: { zeroStage: 3, implementation: 'deepspeed', secondaryShardDegree: 4 },
        memory: {
          recompute: { mode: 'full' },
          offload: [{ what: 'optimizer', fraction: 0.5, subgroupElements: 1000 }],
        },
        communication: { overlapGradReduce: true, timeoutMinutes: 60 },
        kernel: { attention: 'flash' },
        checkpointPolicy: { format: 'deepspeed-universal' },
      },
      training: {
        ...TRAINING,
        optimizer: { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, clipNorm: 1 },
        schedule: { name: 'cosine' },
        warmupSteps: 10,
      },
    };
    const { files, ...rest } = render('deepspeed', overrides) as { files: readonly { path: string }[] };
    expect({ ...rest, files: files.map(({ path }) => path) }).toMatchSnapshot();
    expect(deepspeed(overrides)).toMatchSnapshot();
    expect(read(render('deepspeed', overrides), 'job.json')).toMatchSnapshot();
  });

  it.each<[string, Overrides, object]>([
    [
      'the batch is divided so that it comes out',
      {},
      { train_batch_size: 64, train_micro_batch_size_per_gpu: 2, gradient_accumulation_steps: 4 },
    ],
    [
      'tensor ranks are no data ranks',
      { layout: { tensorParallelDegree: 4 } },
      { tensor_parallel: { autotp_size: 4 } },
    ],
    [
      'a pipeline',
      { layout: { pipelineParallelDegree: 4 } },
      { pipeline: { stages: 4 }, zero_optimization: { stage: 0 } },
    ],
    [
      'Ulysses',
      { layout: { contextParallelDegree: 8, sequence: { contextAlgorithm: 'ulysses' } } },
      { sequence_parallel_size: 8, gradient_accumulation_steps: 4 },
    ],
    [
      'experts that DeepSpeed finds',
      { layout: { expert: { expertParallelDegree: 8 } } },
      { expert_parallel: { enabled: true, autoep_size: 8 } },
    ],
    [
      'a rate that falls by a line',
      { training: { ...TRAINING, schedule: { name: 'linear' }, warmupSteps: 5 } },
      { scheduler: { type: 'WarmupDecayLR', params: { total_num_steps: 1000, warmup_num_steps: 5 } } },
    ],
  ])('%s', (_sentence, overrides, want) => {
    expect(deepspeed(overrides)).toMatchObject(want);
  });

  it('experts that drop tokens are the script’s own', () => {
    const layout = { expert: { expertParallelDegree: 8, capacityFactor: 1 } };
    expect(deepspeed({ layout })).not.toHaveProperty('expert_parallel');
    expect(read(render('deepspeed', { layout }), 'job.json')).toMatchObject({ layout });
  });
});

describe('hugging-face is given arguments of Trainer', () => {
  const argumentsOf = (overrides: Overrides = {}): string => {
    const rendered = render('hugging-face', overrides);
    return rendered.kind === 'refused' ? rendered.why : rendered.command.join(' ');
  };

  it('of a job with everything', () => {
    const training = {
      ...TRAINING,
      optimizer: { name: 'adamw' as const, beta1: 0.9, beta2: 0.95, clipNorm: 1 },
      schedule: { name: 'cosine' as const },
    };
    const rendered = render('hugging-face', {
      training,
      layout: { states: { zeroStage: 3, reshardAfterForward: false } },
    });
    expect(rendered).toMatchSnapshot();
  });

  it.each<[string, Overrides, string]>([
    [
      'plain copies shard nothing',
      {},
      'python3 train.py --output_dir=$(COXSWAIN_SAVE_DIR) --save_strategy=steps --save_steps=20',
    ],
    [
      'DeepSpeed by its file',
      { layout: { states: { zeroStage: 2, implementation: 'deepspeed' } } },
      '--deepspeed=$(COXSWAIN_ENGINE_FILES)/deepspeed.json',
    ],
    [
      'what is the script’s own stays',
      { engine: { args: ['--model_name', '{data.path}/m'] } },
      '--model_name /coxswain/data/lines/m',
    ],
    [
      'a rate that falls last',
      { training: { ...TRAINING, schedule: { name: 'wsd', decaySteps: 100 } } },
      '--lr_scheduler_kwargs={"num_decay_steps":100,"min_lr_ratio":0.1,"decay_type":"linear"}',
    ],
  ])('%s', (_sentence, overrides, want) => {
    expect(argumentsOf(overrides)).toContain(want);
  });
});

describe('custom is told by placeholders', () => {
  const commandOf = (args: readonly string[], layout: Partial<ParallelLayout> = {}): string => {
    const rendered = render('custom', { engine: { args: [...args] }, layout });
    return rendered.kind === 'refused' ? `${rendered.rule}: ${rendered.fallback}` : rendered.command.join(' ');
  };

  it.each<[string, readonly string[], string]>([
    ['a degree', ['--tp', '{layout.tensorParallelDegree}'], 'python3 train.py --tp 1'],
    ['a degree that nobody said', ['--cp={layout.contextParallelDegree}'], 'python3 train.py --cp=1'],
    ['what follows from others', ['{layout.worldSize}', '{training.accumulationSteps}'], 'python3 train.py 8 4'],
    ['a size that the preset says', ['{model.hiddenSize}'], 'python3 train.py 4096'],
    ['a part as JSON', ['{checkpoint}'], 'python3 train.py {"everySteps":20}'],
    ['braces that are no placeholder', ['{"a": 1}', '{}'], 'python3 train.py {"a": 1} {}'],
    ['a placeholder as text', ['{{model.layers}}'], 'python3 train.py {model.layers}'],
    ['a variable of the rank stays one', ['$(COXSWAIN_SAVE_DIR)/x'], 'python3 train.py $(COXSWAIN_SAVE_DIR)/x'],
    ['every other dollar sign is one', ['$(date) $HOME'], 'python3 train.py $$(date) $$HOME'],
    [
      'a word that there is not',
      ['{layout.tensorParalelDegree}'],
      'placeholder-is-a-word: use {layout.tensorParallelDegree}, or write {{layout.tensorParalelDegree}} for the text itself',
    ],
  ])('%s', (_sentence, args, want) => {
    expect(commandOf(args)).toBe(want);
  });

  it('what no placeholder mentions is told in a note', () => {
    const layout = { tensorParallelDegree: 2, pipelineParallelDegree: 2 };
    const rendered = render('custom', { engine: { args: ['{layout.tensorParallelDegree}'] }, layout });
    expect(rendered).toMatchObject({
      notes: [
        'The script reads layout.pipelineParallelDegree, layout.dataParallelDegree from job.json, or does not do it.',
      ],
    });
  });
});

describe('what scripts and their engines cannot do is refused by its field', () => {
  it.each<[string, 'deepspeed' | 'hugging-face', Overrides, { readonly field: string; readonly rule: string }]>([
    [
      'ZeRO 2 of a pipeline',
      'deepspeed',
      { layout: { pipelineParallelDegree: 2, states: { zeroStage: 2 } } },
      { field: 'layout.states.zeroStage', rule: 'deepspeed-pipeline-stages' },
    ],
    [
      'parameters that are not sharded',
      'deepspeed',
      { layout: { states: { zeroStage: 2 }, memory: { offload: [{ what: 'parameters' }] } } },
      { field: 'layout.memory.offload.0', rule: 'deepspeed-offload-stage' },
    ],
    [
      'room that there is not',
      'deepspeed',
      { layout: { states: { zeroStage: 3 }, memory: { offload: [{ what: 'optimizer', to: 'nvme' }] } } },
      { field: 'layout.memory.offload.0.to', rule: 'offload-has-room' },
    ],
    [
      'groups of stage 2',
      'deepspeed',
      { layout: { dataParallelShardDegree: 4, states: { zeroStage: 2 } } },
      { field: 'layout.dataParallelShardDegree', rule: 'deepspeed-shard-groups' },
    ],
    [
      'groups that do not divide',
      'deepspeed',
      { layout: { states: { zeroStage: 3, secondaryShardDegree: 3 } } },
      { field: 'layout.states.secondaryShardDegree', rule: 'deepspeed-shard-groups' },
    ],
    [
      'Ulysses beside tensors',
      'deepspeed',
      { layout: { contextParallelDegree: 2, tensorParallelDegree: 2, sequence: { contextAlgorithm: 'ulysses' } } },
      { field: 'layout.tensorParallelDegree', rule: 'deepspeed-sequence-mesh' },
    ],
    [
      'folded experts in a pipeline',
      'deepspeed',
      {
        layout: {
          tensorParallelDegree: 2,
          pipelineParallelDegree: 2,
          expert: { expertParallelDegree: 4, expertTensorParallelDegree: 1 },
        },
      },
      { field: 'layout.pipelineParallelDegree', rule: 'deepspeed-folding' },
    ],
    [
      'strides of a fork',
      'deepspeed',
      { layout: { states: { zeroStage: 3 }, memory: { offload: [{ what: 'optimizer', gpuStride: 3 }] } } },
      { field: 'layout.memory.offload.gpuStride', rule: 'engine-lacks-option' },
    ],
    [
      'one beta',
      'deepspeed',
      { training: { ...TRAINING, optimizer: { beta1: 0.9 } } },
      { field: 'training.optimizer.beta2', rule: 'betas-are-two' },
    ],
    [
      'a file of the user’s',
      'deepspeed',
      { engine: { args: ['--deepspeed_config', 'mine.json'] } },
      { field: 'engine.args', rule: 'argument-is-said-by-the-job' },
    ],
    [
      'the beginning of an option that names a file of the user’s',
      'deepspeed',
      { engine: { args: ['--deepspeed_conf', 'mine.json'] } },
      { field: 'engine.args', rule: 'argument-is-whole' },
    ],
    [
      'a file of the user’s in the command',
      'deepspeed',
      { engine: { command: [...COMMAND, '--deepspeed_config=mine.json'] } },
      { field: 'engine.command', rule: 'argument-is-said-by-the-job' },
    ],
    [
      'a placeholder that is none',
      'deepspeed',
      { engine: { args: ['{layout.x}'] } },
      { field: 'engine.args', rule: 'placeholder-is-a-word' },
    ],
    [
      'ZeRO 2 of Trainer itself',
      'hugging-face',
      { layout: { states: { zeroStage: 2 } } },
      { field: 'layout.states.implementation', rule: 'trainer-shards-by-fsdp2' },
    ],
    [
      'tensors of Trainer',
      'hugging-face',
      { layout: { tensorParallelDegree: 2 } },
      { field: 'layout.tensorParallelDegree', rule: 'engine-lacks-option' },
    ],
    [
      'groups of Trainer',
      'hugging-face',
      { layout: { dataParallelShardDegree: 2, states: { zeroStage: 3 } } },
      { field: 'layout.dataParallelShardDegree', rule: 'trainer-shard-groups' },
    ],
    [
      'steps said twice',
      'hugging-face',
      { engine: { args: ['--max-steps=3'] } },
      { field: 'engine.args', rule: 'argument-is-said-by-the-job' },
    ],
    [
      'the beginning of an option, which argparse completes',
      'hugging-face',
      { engine: { args: ['--learning_r', '0.5'] } },
      { field: 'engine.args', rule: 'argument-is-whole' },
    ],
    [
      'steps in the command',
      'hugging-face',
      { engine: { command: [...COMMAND, '--max_steps', '3'] } },
      { field: 'engine.command', rule: 'argument-is-said-by-the-job' },
    ],
    [
      'shards that a variable asks for',
      'hugging-face',
      { engine: { env: [{ name: 'ACCELERATE_USE_FSDP', value: 'true' }] } },
      { field: 'engine.env', rule: 'variable-is-said-by-the-job' },
    ],
    [
      'a stage in a variable',
      'hugging-face',
      { engine: { env: [{ name: 'ACCELERATE_DEEPSPEED_ZERO_STAGE', value: '1' }] } },
      { field: 'engine.env', rule: 'variable-is-said-by-the-job' },
    ],
    [
      'an optimizer that it lacks',
      'hugging-face',
      { training: { ...TRAINING, optimizer: { name: 'lamb' } } },
      { field: 'training.optimizer.name', rule: 'engine-lacks-word' },
    ],
  ])('%s', (_sentence, name, overrides, want) => {
    expect(render(name, overrides)).toMatchObject({ kind: 'refused', ...want });
  });
});
