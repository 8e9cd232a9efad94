import type { TrainingJobSpecInput } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { type ParallelLayout } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import { renderEngine } from '../../index.ts';

type Overrides = Omit<Partial<TrainingJobSpecInput>, 'gpus' | 'engine' | 'layout'> & {
  readonly engine?: Partial<TrainingJobSpecInput['engine']>;
  readonly layout?: Partial<ParallelLayout>;
};

const LLAMA = { preset: 'llama-3.1-8b', sequenceLength: 4096 };
const SIZES = {
  layers: 8,
  hiddenSize: 256,
  attentionHeads: 8,
  gatedMlp: true,
  vocabularySize: 512,
  sequenceLength: 1024,
};
const EXPERTS = { count: 8, topK: 2, ffnHiddenSize: 128 };
const SHARDED = { states: { zeroStage: 3 } } as const;
const TEXT = { claimName: 'corpus', path: 'lines', tokenizer: { path: 'tokenizer' } };

function render({ engine, layout, ...rest }: Overrides = {}) {
  return renderEngine(
    aJobSpec({
      model: LLAMA,
      training: { steps: 1000, globalBatchSize: 64 },
      data: TEXT,
      ...rest,
      engine: { name: 'torchtitan', image: 'x', ...engine },
      layout: aLayout({ tensorParallelDegree: 2, dataParallelDegree: 4, ...SHARDED, ...layout }),
    }),
  );
}

function fileOf(rendered: ReturnType<typeof render>, path: string): string {
  if (rendered.kind === 'refused') throw new Error(rendered.why);
  return rendered.files.find((file) => file.path === path)?.text ?? '';
}

/** What the module reads. */
const refusalOf = (overrides: Overrides = {}) =>
  JSON.parse(fileOf(render(overrides), 'torchtitan.json')) as {
    readonly settings: Readonly<Record<string, unknown>>;
    readonly model: Readonly<Record<string, unknown>>;
  } & Readonly<Record<string, unknown>>;

describe('torchtitan v0.3.0 is given a module and the job as JSON', () => {
  it('of a dense model on four dimensions', () => {
    const { files, ...rest } = render({
      layout: {
        pipelineParallelDegree: 2,
        contextParallelDegree: 2,
        dataParallelShardDegree: 4,
        pipeline: { schedule: 'interleaved-1f1b', chunksPerRank: 2 },
        sequence: { sequenceParallel: true, causalBalance: 'ptrr' },
        memory: { recompute: { mode: 'full' } },
        checkpointPolicy: { asyncSave: true },
      },
    }) as { files: readonly { path: string }[] };
    expect({ ...rest, files: files.map(({ path }) => path) }).toMatchSnapshot();
    expect(refusalOf({ layout: { contextParallelDegree: 2, dataParallelShardDegree: 4 } })).toMatchSnapshot();
  });

  it('of a model with experts that begins from published weights', () => {
    const initialWeights = { claimName: 'w', path: 'qwen', format: 'safetensors' as const };
    const layout = {
      expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1, dispatcher: 'deepep' as const },
    };
    expect(
      refusalOf({ model: { preset: 'qwen3-30b-a3b', sequenceLength: 4096 }, initialWeights, layout }),
    ).toMatchSnapshot();
  });

  it.each<[string, Overrides, Readonly<Record<string, unknown>>]>([
    [
      'copies of nothing sharded',
      { layout: { states: { zeroStage: 0 } } },
      { 'parallelism.data_parallel_replicate_degree': 4 },
    ],
    [
      'shards that are copied twice',
      { layout: { dataParallelShardDegree: 2 } },
      { 'parallelism.data_parallel_shard_degree': 2, 'parallelism.data_parallel_replicate_degree': 2 },
    ],
    [
      'a pipeline takes all micro-batches of a step at once',
      { layout: { pipelineParallelDegree: 4 }, training: { steps: 1000, globalBatchSize: 64, microBatchSize: 2 } },
      { 'training.local_batch_size': 16, 'parallelism.pipeline_parallel_microbatch_size': 2 },
    ],
    [
      'a rank without a pipeline takes them one after the other',
      { training: { steps: 1000, globalBatchSize: 64, microBatchSize: 2 } },
      { 'training.local_batch_size': 2, 'training.global_batch_size': 64 },
    ],
    [
      'gradients that are not clipped have a norm above all',
      { training: { steps: 9, globalBatchSize: 64, optimizer: { clipNorm: 0 } } },
      { 'training.max_norm': 1e30, 'metrics.log_freq': 1 },
    ],
    [
      'a rate that is held has no decay',
      { training: { steps: 9, globalBatchSize: 64, schedule: { name: 'constant' } } },
      { 'lr_scheduler.decay_ratio': 0 },
    ],
    [
      'a rate that falls in the last steps',
      {
        training: {
          steps: 100,
          globalBatchSize: 64,
          schedule: { name: 'wsd', decaySteps: 20 },
          learningRate: 0.01,
          minLearningRate: 0.001,
        },
      },
      { 'lr_scheduler.decay_ratio': 0.2, 'lr_scheduler.min_lr_factor': 0.1 },
    ],
  ])('%s', (_sentence, overrides, settings) => {
    expect(refusalOf(overrides).settings).toMatchObject(settings);
  });

  it('nothing is deleted, and the last checkpoint can be resumed from', () => {
    expect(refusalOf().settings).toMatchObject({
      'checkpoint.keep_latest_k': 0,
      'checkpoint.last_save_model_only': false,
    });
  });

  it('a program of the user’s is given the same', () => {
    const rendered = render({ engine: { command: ['python3', '-m', 'mine'], args: ['--metrics.log-freq', '5'] } });
    expect(rendered.kind === 'rendered' && rendered.command.join(' ')).toBe(
      'python3 -m mine --module coxswain_torchtitan --config job --dump-folder=$(COXSWAIN_SAVE_DIR) --metrics.log-freq 5',
    );
  });

  it('a recipe’s model is held against the sizes that the job says', () => {
    expect(refusalOf({ engine: { recipe: 'torchtitan.models.llama3.config_registry:llama3_8b' } })).toMatchObject({
      recipe: 'torchtitan.models.llama3.config_registry:llama3_8b',
      model: { layers: 32, hidden_size: 4096 },
    });
  });

  it('a dollar sign of the user’s is none of a variable', () => {
    const data = { ...TEXT, path: 'a$(RANK)' };
    expect(fileOf(render({ data }), 'torchtitan.json')).toContain('/coxswain/data/a$$(RANK)');
  });
});

it('torchtitan up to v0.2.2 is given a TOML file', () => {
  const engine = { release: 'v0.2.2' };
  const layout = {
    pipelineParallelDegree: 2,
    sequence: { sequenceParallel: true },
    memory: { recompute: { mode: 'selective' } },
  } as const;
  const { files, ...rest } = render({ engine, layout }) as { files: readonly { text: string }[] };
  expect(rest).toMatchSnapshot();
  expect(files.map(({ text }) => text).join('')).toMatchSnapshot();
});

describe('what torchtitan cannot do is refused by its field', () => {
  const older = { release: 'v0.2.2' };
  it.each<[string, Overrides, string, string]>([
    ['ZeRO 2', { layout: { states: { zeroStage: 2 } } }, 'layout.states.zeroStage', 'engine-lacks-option'],
    [
      'unsharded states with context',
      { layout: { contextParallelDegree: 2, states: {} } },
      'layout.states.zeroStage',
      'torchtitan-shards-over-context',
    ],
    [
      'shards of no whole group',
      { layout: { contextParallelDegree: 2, dataParallelShardDegree: 1 } },
      'layout.dataParallelShardDegree',
      'torchtitan-shard-group',
    ],
    [
      'a ring',
      { layout: { contextParallelDegree: 2, sequence: { contextAlgorithm: 'ring' } } },
      'layout.sequence.contextAlgorithm',
      'engine-lacks-word',
    ],
    [
      'graphs of a pipeline',
      { layout: { pipelineParallelDegree: 2, kernel: { cudaGraphs: 'full' } } },
      'layout.kernel.cudaGraphs',
      'torchtitan-graphs',
    ],
    [
      'blocks of a mask that no rank holds',
      { model: { ...LLAMA, sequenceLength: 128 }, layout: { contextParallelDegree: 2 } },
      'model.sequenceLength',
      'torchtitan-sequence-pieces',
    ],
    [
      'key-value heads that do not divide',
      { layout: { tensorParallelDegree: 16 } },
      'layout.tensorParallelDegree',
      'torchtitan-key-value-heads',
    ],
    [
      'tied embeddings of a pipeline',
      { model: { ...SIZES, tiedEmbeddings: true }, layout: { pipelineParallelDegree: 2 } },
      'layout.pipelineParallelDegree',
      'torchtitan-ties-no-stages',
    ],
    [
      'too few micro-batches',
      { layout: { pipelineParallelDegree: 32 } },
      'training.globalBatchSize',
      'schedule-passes',
    ],
    [
      'chunks of a schedule without',
      { layout: { pipelineParallelDegree: 2, pipeline: { schedule: 'gpipe', chunksPerRank: 2 } } },
      'layout.pipeline.chunksPerRank',
      'schedule-chunks',
    ],
    [
      'a schedule without stages',
      { layout: { pipeline: { schedule: 'gpipe' } } },
      'layout.pipeline.schedule',
      'pipeline-needs-stages',
    ],
    [
      'experts of copies',
      {
        model: { ...SIZES, experts: EXPERTS },
        layout: { states: {}, expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 } },
      },
      'layout.expert.expertParallelDegree',
      'torchtitan-expert-ranks',
    ],
    [
      'experts of a dense model',
      { layout: { expert: { expertParallelDegree: 2, expertTensorParallelDegree: 1 } } },
      'layout.expert',
      'experts-are-there',
    ],
    ['a model of another kind', { model: { preset: 'gpt-7.5b', sequenceLength: 4096 } }, 'model', 'engine-lacks-model'],
    ['a plain MLP', { model: { ...SIZES, gatedMlp: false } }, 'model.gatedMlp', 'engine-lacks-model'],
    [
      'another optimizer',
      { training: { steps: 1, globalBatchSize: 64, optimizer: { name: 'sgd' } } },
      'training.optimizer.name',
      'engine-lacks-word',
    ],
    [
      'a rate that rises',
      { training: { steps: 1, globalBatchSize: 64, minLearningRate: 1 } },
      'training.minLearningRate',
      'rate-falls',
    ],
    ['texts without a tokenizer', { data: { claimName: 'c', path: 'p' } }, 'data.tokenizer', 'engine-needs-part'],
    ['an index of Megatron’s', { data: { ...TEXT, format: 'indexed' } }, 'data.format', 'engine-lacks-word'],
    [
      'an argument that the layout says',
      { engine: { args: ['--parallelism.tensor_parallel_degree=4'] } },
      'engine.args',
      'argument-is-said-by-the-job',
    ],
    [
      'an argument in the command',
      { engine: { command: ['python3', '-m', 'mine', '--training.steps=3'] } },
      'engine.command',
      'argument-is-said-by-the-job',
    ],
    [
      'ranks that never meet',
      { engine: { args: ['--comm.mode', 'fake_backend'] } },
      'engine.args',
      'argument-is-said-by-the-job',
    ],
    [
      'an argument with its negation',
      { engine: { args: ['--checkpoint.no-enable'] } },
      'engine.args',
      'argument-is-said-by-the-job',
    ],
    ['an argument that is none', { engine: { args: ['--training.stops', '4'] } }, 'engine.args', 'argument-is-known'],
    [
      'a word that belongs to no option',
      { engine: { args: ['activation-checkpoint:full'] } },
      'engine.args',
      'argument-is-an-option',
    ],
    ['a model that has no flavour', { engine: older, model: SIZES }, 'model', 'engine-lacks-model'],
    [
      'copies beside tensors in v0.2.2',
      { engine: older, layout: { states: {} } },
      'layout.states.zeroStage',
      'torchtitan-copies-alone',
    ],
    ['random tokens in v0.2.2', { engine: older, data: { format: 'mock' } }, 'data.format', 'engine-lacks-word'],
  ])('%s', (_sentence, overrides, field, rule) => {
    expect(render(overrides)).toMatchObject({ kind: 'refused', field, rule });
  });
});
