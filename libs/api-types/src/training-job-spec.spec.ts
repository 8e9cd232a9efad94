import { aJobSpec } from './testing/index.ts';
import { type Bound, letters, listOf, refusedFields, withField } from './testing/one-field.ts';
import { ObjectName, PriorityClassName } from './field-names.ts';
import { TrainingJobSpec } from './training-job-spec.ts';

const FULL = {
  ...aJobSpec({
    training: { steps: 100, globalBatchSize: 8, optimizer: {}, schedule: { name: 'cosine' } },
    data: { claimName: 'corpus', path: 'corpus.txt', split: { train: 1 }, tokenizer: { path: 'tokenizer' } },
  }),
  initialWeights: { claimName: 'weights', path: 'llama', format: 'safetensors' },
  engine: {
    name: 'custom',
    image: 'an-image',
    command: ['run'],
    args: ['--fast'],
    env: [{ name: 'A', value: 'b' }],
  },
};
/** What a user must write. */
const LEAST = {
  engine: { name: 'reference', image: 'an-image' },
  model: { layers: 4, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 },
  training: { steps: 100, globalBatchSize: 8 },
  data: { claimName: 'corpus', path: 'corpus.txt' },
  checkpoint: { claimName: 'checkpoints' },
  layout: {},
};
const variable = { name: 'A', value: 'b' };

describe('a field of a job spec', () => {
  it.each<Bound>([
    ['engine.name', 'an engine that is known', 'command', 'megatron'],
    ['engine.image', 'not empty', 'i', ''],
    ['engine.image', 'at most 512 characters', letters(512), letters(513)],
    ['engine.command', 'not an empty program', ['run'], []],
    ['engine.command', 'at most 64 words', listOf(64, 'x'), listOf(65, 'x')],
    ['engine.command.0', 'at most 4096 characters', letters(4096), letters(4097)],
    ['engine.args', 'at most 256 words', listOf(256, 'x'), listOf(257, 'x')],
    ['engine.args.0', 'at most 4096 characters', letters(4096), letters(4097)],
    ['engine.env', 'at most 100 variables', listOf(100, variable), listOf(101, variable)],
    ['engine.env.0.name', 'at most 128 characters', letters(128), letters(129)],
    ['engine.env.0.name', 'without a digit in front', '_1', '1A'],
    ['engine.env.0.name', 'letters, digits and underscores', 'A_b_9', 'A-B'],
    ['engine.env.0.name', 'none of ours', 'COXSWAIN', 'COXSWAIN_EPOCH'],
    ['engine.env.0.value', 'at most 4096 characters', letters(4096), letters(4097)],
    ['model.layers', 'at least 1', 1, 0],
    ['model.layers', 'at most 1024', 1024, 1025],
    ['model.layers', 'whole', 2, 2.5],
    ['model.hiddenSize', 'at most 1048576', 1_048_576, 1_048_580],
    ['model.sequenceLength', 'at least 1', 1, 0],
    ['model.sequenceLength', 'at most 16777216', 16_777_216, 16_777_217],
    ['training.steps', 'at least 1', 1, 0],
    ['training.steps', 'at most a billion', 1_000_000_000, 1_000_000_001],
    ['training.optimizer.name', 'one that is known', 'muon', 'magic'],
    ['training.optimizer.beta1', 'below 1', 0.99, 1],
    ['training.optimizer.beta2', 'at least 0', 0, -0.1],
    ['training.optimizer.epsilon', 'above 0', 1e-9, 0],
    ['training.optimizer.momentum', 'below 1', 0.9, 1],
    ['training.optimizer.clipNorm', 'at least 0', 0, -1],
    ['training.schedule', 'one with a name', { name: 'linear' }, 'linear'],
    ['training.schedule.name', 'one that is known', 'constant', 'step'],
    ['training.globalBatchSize', 'at least 1', 1, 0],
    ['training.globalBatchSize', 'at most 1048576', 1_048_576, 1_048_577],
    ['training.microBatchSize', 'at least 1', 1, 0],
    ['training.microBatchSize', 'at most 65536', 65_536, 65_537],
    ['training.learningRate', 'above 0', 1e-12, 0],
    ['training.learningRate', 'at most 10', 10, 10.001],
    ['training.minLearningRate', 'at least 0', 0, -1e-9],
    ['training.minLearningRate', 'at most 10', 10, 10.001],
    ['training.warmupSteps', 'at least 0', 0, -1],
    ['training.warmupSteps', 'at most a million', 1_000_000, 1_000_001],
    ['training.weightDecay', 'at least 0', 0, -0.1],
    ['training.weightDecay', 'at most 10', 10, 10.1],
    ['training.seed', 'at least 0', 0, -1],
    ['training.seed', 'at most 31 bits', 2_147_483_647, 2_147_483_648],
    ['training.precision', 'one that is trained in', 'fp32', 'fp8'],
    ['data.claimName', 'at most 63 characters', letters(63), letters(64)],
    ['data.path', 'at most 512 characters', letters(512), letters(513)],
    ['data.format', 'one that is known', 'jsonl', 'parquet'],
    ['data.split', 'parts, of which train is needed', { train: 98, validation: 2 }, 98],
    ['data.split.train', 'at least 0', 0, -1],
    ['data.tokenizer.path', 'inside the claim', 'tokenizer.json', '../tokenizer.json'],
    ['scratch.sizeLimit', 'a quantity of bytes', '200Gi', '200GB'],
    ['offline', 'true or false', true, 'yes'],
    ['initialWeights.format', 'one that is known', 'safetensors', 'gguf'],
    ['initialWeights.path', 'inside its claim', 'llama', '/llama'],
    ['checkpoint.claimName', 'not empty', 'c', ''],
    ['checkpoint.path', 'inside its claim', 'runs/a', '../a'],
    ['checkpoint.everySteps', 'at least 1', 1, 0],
    ['checkpoint.everySteps', 'at most a billion', 1_000_000_000, 1_000_000_001],
    ['resources.gpusPerNode', 'at least 1', 1, 0],
    ['resources.gpusPerNode', 'at most the ranks of a pod, 16', 16, 17],
    ['resources.cpuPerGpu', 'at most 32 characters', '1'.repeat(32), '1'.repeat(33)],
    ['resources.memoryPerGpu', 'at most 32 characters', '1'.repeat(32), '1'.repeat(33)],
    ['restartPolicy.maxRestarts', 'at least 0', 0, -1],
    ['restartPolicy.maxRestarts', 'at most 1000', 1000, 1001],
    ['restartPolicy.delaySeconds', 'at least 0', 0, -1],
    ['restartPolicy.delaySeconds', 'at most an hour', 3600, 3601],
    ['terminationGracePeriodSeconds', 'at least 1', 1, 0],
    ['terminationGracePeriodSeconds', 'at most an hour', 3600, 3601],
    ['suspend', 'true or false', true, 'yes'],
    ['cancel', 'true or false', true, 1],
    ['layout.tensorParallelDegree', 'at least 1', 1, 0],
    ['layout.dataParallelDegree', 'at most 65536', 32_768, 65_537],
  ])('%s is %s', (field, _rule, kept, broken) => {
    expect(refusedFields(TrainingJobSpec, withField(FULL, field, kept))).toEqual([]);
    expect(refusedFields(TrainingJobSpec, withField(FULL, field, broken))).toEqual([field]);
  });

  it.each<[string, string]>([
    ['the spec', 'gpuCount'],
    ['the engine', 'engine.entrypoint'],
    ['a variable', 'engine.env.0.valueFrom'],
    ['the model', 'model.heads'],
    ['the training', 'training.epochs'],
    ['the data', 'data.claim'],
    ['the checkpoint', 'checkpoint.every'],
    ['the resources', 'resources.cpu'],
    ['the restart policy', 'restartPolicy.backoff'],
    ['the layout', 'layout.tp'],
  ])('that %s does not have is refused, not dropped', (_holder, field) => {
    expect(refusedFields(TrainingJobSpec, withField(FULL, field, 'x'))).toEqual([field]);
  });

  it.each([
    'engine',
    'engine.name',
    'engine.image',
    'model.layers',
    'model.sequenceLength',
    'training.steps',
    'training.globalBatchSize',
    'data.claimName',
    'data.path',
    'checkpoint.claimName',
  ])('%s cannot be left out', (field) => {
    expect(refusedFields(TrainingJobSpec, withField(LEAST, field, undefined))).toEqual([field]);
  });

  it.each<[string, unknown]>([
    ['training.learningRate', 0.001],
    ['training.minLearningRate', 0.0001],
    ['training.warmupSteps', 0],
    ['training.weightDecay', 0.1],
    ['training.seed', 1234],
    ['training.precision', 'bf16'],
    ['training.microBatchSize', undefined],
    ['checkpoint.path', ''],
    ['checkpoint.everySteps', 100],
    ['resources', {}],
    ['restartPolicy', { maxRestarts: 3, delaySeconds: 5, inPlace: 'WhenPossible' }],
    ['terminationGracePeriodSeconds', 60],
    ['suspend', false],
    ['cancel', false],
    ['layout', { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 }],
  ])('%s that is left out becomes %j', (field, value) => {
    const parsed: unknown = field
      .split('.')
      .reduce<unknown>((holder, key) => (holder as Record<string, unknown>)[key], TrainingJobSpec.parse(LEAST));
    expect(parsed).toEqual(value);
  });

  it.each<[string, object, object]>([
    ['restarts', { maxRestarts: 7 }, { maxRestarts: 7, delaySeconds: 5, inPlace: 'WhenPossible' }],
    ['delay', { delaySeconds: 9 }, { maxRestarts: 3, delaySeconds: 9, inPlace: 'WhenPossible' }],
  ])('of a restart policy with %s alone leaves the other at its default', (_what, given, want) => {
    expect(TrainingJobSpec.parse({ ...LEAST, restartPolicy: given }).restartPolicy).toEqual(want);
  });
});

const COMMAND = { name: 'command', image: 'i', command: ['x'] };
const SCRATCH = { from: 'scratch' };
const TOKENS = { tokens: 1_000_000, globalBatchSize: 8 };
const withSchedule = (schedule: object): object => ({ ...LEAST, training: { ...LEAST.training, schedule } });
const withData = (data: object): object => ({ ...LEAST, data });

describe('fields that depend on each other', () => {
  const { layout: _layout, model: _model, training: _training, ...neither } = LEAST;
  const { model, training } = LEAST;
  const { checkpoint, ...unsaved } = { ...neither, checkpoint: { claimName: 'c' } };
  it.each<[string, object, readonly string[]]>([
    ['a layout alone may be given', LEAST, []],
    ['gpus alone may be given', { ...neither, model, training, gpus: 4 }, []],
    ['layout and gpus may not both be given', { ...LEAST, gpus: 4 }, ['layout']],
    ['layout and gpus may not both be missing', { ...neither, model, training }, ['layout']],
    ['minGpus may be given with gpus', { ...neither, model, training, checkpoint, gpus: 4, minGpus: 4 }, []],
    ['minGpus is no more than gpus', { ...neither, model, training, checkpoint, gpus: 4, minGpus: 5 }, ['minGpus']],
    ['minGpus needs gpus', { ...LEAST, checkpoint, minGpus: 1 }, ['minGpus']],
    ['minGpus needs checkpoints', { ...unsaved, engine: COMMAND, model, training, gpus: 4, minGpus: 2 }, ['minGpus']],
    ['gpus without a model is refused', { ...neither, training, gpus: 4 }, ['gpus']],
    ['gpus without training is refused', { ...neither, model, gpus: 4 }, ['gpus']],
    [
      'a request to resume needs a place for checkpoints',
      { ...neither, layout: {}, engine: COMMAND, checkpoint: undefined, resumeFrom: SCRATCH },
      ['resumeFrom'],
    ],
    ['a request to resume is no checkpoint’s name alone', { ...LEAST, resumeFrom: 'scratch' }, ['resumeFrom']],
    ['scratch may be asked for', { ...LEAST, resumeFrom: SCRATCH }, []],
    ['a checkpoint may be asked for again', { ...LEAST, resumeFrom: { from: 'a-3f1c2b9e-e1-s20', request: '2' } }, []],
    ['a checkpoint’s name is a name', { ...LEAST, resumeFrom: { from: '../x' } }, ['resumeFrom.from']],
    [
      'a request has a short name',
      { ...LEAST, resumeFrom: { from: 'x', request: letters(65) } },
      ['resumeFrom.request'],
    ],
    ['tokens may be given instead of steps', { ...LEAST, training: TOKENS }, []],
    ['steps and tokens may not both be given', { ...LEAST, training: { ...TOKENS, steps: 1 } }, ['training.steps']],
    ['steps and tokens may not both be missing', { ...LEAST, training: { globalBatchSize: 8 } }, ['training.steps']],
    [
      'tokens need a model, which says how many are in a sample',
      { ...LEAST, engine: COMMAND, model: undefined, training: TOKENS },
      ['training.tokens'],
    ],
    [
      'tokens come to a billion steps at most',
      { ...LEAST, training: { ...TOKENS, tokens: 1024 * 1_000_000_000 + 1 } },
      ['training.tokens'],
    ],
    ['and may come to as many', { ...LEAST, training: { ...TOKENS, tokens: 1024 * 1_000_000_000 } }, []],
    ['wsd needs the steps of its decay', withSchedule({ name: 'wsd' }), ['training.schedule.decaySteps']],
    ['wsd may have them', withSchedule({ name: 'wsd', decaySteps: 5 }), []],
    ['no other schedule has them', withSchedule({ name: 'linear', decaySteps: 5 }), ['training.schedule.decaySteps']],
    [
      'data may be at several paths',
      withData({ claimName: 'c', paths: [{ path: 'a', weight: 2 }, { path: 'b' }] }),
      [],
    ],
    ['but not at one and at several', withData({ claimName: 'c', path: 'a', paths: [{ path: 'b' }] }), ['data.path']],
    ['data is at some path', withData({ claimName: 'c' }), ['data.path']],
    ['data is in some claim', withData({ path: 'a' }), ['data.claimName']],
    ['mock data is nowhere', withData({ format: 'mock' }), []],
    ['and may not be somewhere', withData({ format: 'mock', claimName: 'c', path: 'a' }), ['data.format']],
    ['room may be a directory of the node', { ...LEAST, scratch: {} }, []],
    ['room may be a claim', { ...LEAST, scratch: { claimName: 'c', path: 'a' } }, []],
    [
      'a claim has a size of its own',
      { ...LEAST, scratch: { claimName: 'c', sizeLimit: '1Gi' } },
      ['scratch.sizeLimit'],
    ],
    ['a directory of the node has no path', { ...LEAST, scratch: { path: 'a' } }, ['scratch.sizeLimit']],
    ['several roles are reserved and refused', { ...LEAST, roles: { actor: {}, critic: {} } }, ['roles']],
    [
      'a job that may use sockets leaves the network to the operator',
      withField(
        withField(FULL, 'resources', { acrossIslands: 'Sockets' }) as object,
        'engine.env.0.name',
        'NCCL_NET',
      ) as object,
      ['engine'],
    ],
    ['gpus is at least 1', { ...neither, model, training, gpus: 0 }, ['gpus']],
    ['gpus is at most 32768', { ...neither, model, training, gpus: 32_769 }, ['gpus']],
    ['gpus may be 32768', { ...neither, model, training, gpus: 32_768 }, []],
    ['engine command needs a command', withField(LEAST, 'engine.name', 'command') as object, ['engine.command']],
    [
      'engine command with a command is whole',
      { ...neither, layout: {}, engine: { name: 'command', image: 'i', command: ['x'] } },
      [],
    ],
    [
      'heads must divide the hidden size',
      withField(LEAST, 'model.attentionHeads', 3) as object,
      ['model.attentionHeads'],
    ],
    ['as many heads as the hidden size divide it', withField(LEAST, 'model.attentionHeads', 128) as object, []],
    [
      '4096 heads are the most',
      { ...LEAST, model: { ...model, hiddenSize: 4097, attentionHeads: 4097 } },
      ['model.attentionHeads'],
    ],
    ['4096 heads are allowed', { ...LEAST, model: { ...model, hiddenSize: 4096, attentionHeads: 4096 } }, []],
  ])('%s', (_sentence, spec, fields) => {
    expect(refusedFields(TrainingJobSpec, spec)).toEqual(fields);
  });

  it.each<[string, object, string]>([
    [
      'names both numbers',
      withField(LEAST, 'model.attentionHeads', 3) as object,
      'attentionHeads 3 does not divide hiddenSize 128',
    ],
    ['says what to give', { ...LEAST, gpus: 4 }, 'give either layout, or gpus without a layout'],
    ['says what to do about roles', { ...LEAST, roles: {} }, 'make a job of each role'],
    ['says what gpus needs', { ...neither, gpus: 4 }, 'gpus without a layout needs model and training'],
    [
      'says whose names those are',
      withField(FULL, 'engine.env.0.name', 'COXSWAIN_X') as object,
      'are written by the operator',
    ],
  ])('the refusal %s', (_what, spec, sentence) => {
    const messages = TrainingJobSpec.safeParse(spec).error?.issues.map(({ message }) => message);
    expect(messages?.join('\n')).toContain(sentence);
  });
});

describe('words of a spec', () => {
  it.each<[string, boolean]>([
    ['a', true],
    ['9', true],
    ['tiny-gpt-2', true],
    ['a--b', true],
    [letters(63), true],
    ['', false],
    [letters(64), false],
    ['-a', false],
    ['a-', false],
    ['A', false],
    ['a.b', false],
    ['a_b', false],
    ['a b', false],
    ['a\n', false],
    ['ä', false],
  ])('%j names an object: %s', (name, want) => {
    expect(ObjectName.safeParse(name).success).toBe(want);
  });

  it.each<[string, boolean]>([
    ['urgent', true],
    ['teams.urgent', true],
    ['systematic', true],
    ['system-node-critical', false],
    ['system-cluster-critical', false],
    ['Urgent', false],
  ])('%j is a PriorityClass for jobs: %s', (name, want) => {
    expect(PriorityClassName.safeParse(name).success).toBe(want);
  });

  it.each<[string, boolean]>([
    ['', true],
    ['corpus.txt', true],
    ['a/b/c', true],
    ['..a/b..', true],
    ['a/...', true],
    ['/etc', false],
    ['..', false],
    ['../a', false],
    ['a/..', false],
    ['a/../b', false],
    ['a\n/../b', false],
  ])('%j stays inside its claim: %s', (path, want) => {
    expect(refusedFields(TrainingJobSpec, withField(LEAST, 'data.path', path))).toEqual(want ? [] : ['data.path']);
  });

  it.each<[string, string, boolean]>([
    ['cpuPerGpu', '4', true],
    ['cpuPerGpu', '0.5', true],
    ['cpuPerGpu', '500m', true],
    ['cpuPerGpu', '4Gi', false],
    ['cpuPerGpu', '-1', false],
    ['cpuPerGpu', '.5', false],
    ['cpuPerGpu', '', false],
    ['memoryPerGpu', '16Gi', true],
    ['memoryPerGpu', '1.5Ti', true],
    ['memoryPerGpu', '1000000', true],
    ['memoryPerGpu', '64k', true],
    ['memoryPerGpu', '16GB', false],
    ['memoryPerGpu', '16 Gi', false],
    ['memoryPerGpu', '500m', false],
  ])('%s may be %j: %s', (field, quantity, want) => {
    const path = `resources.${field}`;
    expect(refusedFields(TrainingJobSpec, withField(LEAST, path, quantity))).toEqual(want ? [] : [path]);
  });
});
