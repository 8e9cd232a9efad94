/** What a rejected spec says, whole: the field, the value, and what to do instead. The page and the CLI print these sentences. */
import type { z } from 'zod';
import { DataSpec, InitialWeights } from './data-spec.ts';
import { EngineRun } from './engine-run.ts';
import { EngineSpec } from './engine-spec.ts';
import { CpuQuantity, EnvName, MemoryQuantity, ObjectName, RelativePath } from './field-names.ts';
import { ModelSpec } from './model-spec.ts';
import { isSameRequest, ResumeFrom } from './resume-from.ts';
import { ScratchSpec } from './scratch-spec.ts';
import { SecretFiles, SecretVariables } from './secret-references.ts';
import { aJobSpec, aPlannedJobSpec } from './testing/index.ts';
import { type Bound, letters, listOf, refusedFields, withField } from './testing/one-field.ts';
import { TrainingJobSpec } from './training-job-spec.ts';
import { TrainingSpec } from './training-spec.ts';

function refusals(schema: z.ZodType, value: unknown): readonly string[] {
  return (schema.safeParse(value).error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

const JOB = aJobSpec();
const PLANNED = aPlannedJobSpec();
const SIZES = { layers: 4, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 };
const TRAINING = { steps: 100, globalBatchSize: 8 };
const SECRET = { secret: 'job-hf', key: 'token' };
const COMMAND = { name: 'command', command: ['train'] };

describe('a job spec is rejected', () => {
  it.each<[string, unknown, readonly string[]]>([
    [
      'without an image and a runtime',
      withField(JOB, 'engine.image', undefined),
      ['engine.image: engine.image is required unless the job names a runtime, which may provide one'],
    ],
    [
      'with standbys that have nothing to resume from, in pods that do not stay, of several islands: all at once',
      {
        ...JOB,
        checkpoint: undefined,
        engine: { name: 'command', image: 'i', command: ['x'] },
        standby: 1,
        restartPolicy: { inPlace: 'Never' },
        resources: { acrossIslands: 'Pipeline' },
      },
      [
        'standby: standby needs checkpoint: a standby takes the place of a pod only if the ranks resume from a checkpoint; add checkpoint, or leave standby out',
        'standby: standby needs restartPolicy.inPlace WhenPossible, because the other pods stay; leave inPlace out, or leave standby out',
        'standby: standby needs resources.acrossIslands Never, because a standby must be in the island of the pod that it replaces; leave acrossIslands out, or leave standby out',
      ],
    ],
    [
      'with standbys and fewer GPUs',
      { ...PLANNED, minGpus: 2, standby: 1 },
      [
        'standby: standby cannot be combined with minGpus: a job that goes on with fewer GPUs after a loss needs no standby; leave one of them out',
      ],
    ],
    ['with -1 standbys', { ...JOB, standby: -1 }, ['standby: Too small: expected number to be >=0']],
    ['with 10^9 standbys', { ...JOB, standby: 1e9 }, ['standby: Too big: expected number to be <=64']],
    [
      'with a layout and gpus',
      { ...JOB, gpus: 4 },
      ['layout: give either layout, or gpus without a layout to let the planner choose one'],
    ],
    [
      'with more minGpus than gpus',
      { ...PLANNED, minGpus: 5 },
      ['minGpus: minGpus needs gpus and cannot be larger; give gpus, or leave minGpus out'],
    ],
    [
      'with minGpus and no checkpoints',
      { ...PLANNED, engine: { ...COMMAND, image: 'i' }, checkpoint: undefined, minGpus: 2 },
      ['minGpus: minGpus needs checkpoint: each change of the number of GPUs restarts the job from a checkpoint'],
    ],
    [
      'with gpus and no model',
      { ...PLANNED, model: undefined },
      ['gpus: gpus without a layout needs model and training, because the planner divides them'],
    ],
    [
      'with tokens and no model',
      { ...JOB, model: undefined, training: { tokens: 1, globalBatchSize: 8 } },
      ['training.tokens: tokens needs model.sequenceLength to count the tokens of a step; give model, or use steps'],
    ],
    [
      'with too many tokens',
      withField(JOB, 'training', { tokens: 1024 * 1_000_000_000 + 1, globalBatchSize: 8 }),
      ['training.tokens: training.tokens come to more than 1000000000 steps; give fewer, or a larger globalBatchSize'],
    ],
    [
      'with roles',
      { ...JOB, roles: { actor: {} } },
      [
        'roles: jobs of several roles are not run yet: make a job of each role, whose programs find each other as they do elsewhere; `coxswain layout check` reads layouts of several roles',
      ],
    ],
    [
      'with a network of its own beside sockets',
      {
        ...JOB,
        engine: { ...JOB.engine, env: [{ name: 'NCCL_NET', value: 'IB' }] },
        resources: { acrossIslands: 'Sockets' },
      },
      [
        'engine: NCCL_NET and NCCL_IB_DISABLE are set by the operator where resources.acrossIslands is Sockets; leave them out of engine.env and engine.secretEnv',
      ],
    ],
    [
      'with a request to resume and no checkpoints',
      { ...JOB, engine: { ...COMMAND, image: 'i' }, checkpoint: undefined, resumeFrom: { from: 'scratch' } },
      ['resumeFrom: resumeFrom needs checkpoint: a job without checkpoints always starts from scratch'],
    ],
    [
      'with saves in memory that no limit counts',
      withField(JOB, 'checkpoint.memory', { everySteps: 10, sizePerGpu: '1Gi' }),
      [
        'checkpoint.memory: checkpoint.memory needs resources.memoryPerGpu: its saves are added to the memory that the pods request',
      ],
    ],
  ])('%s', (_sentence, spec, want) => {
    expect(refusals(TrainingJobSpec, spec)).toEqual(want);
  });

  it.each<[string, unknown]>([
    ['a runtime may have the image', { ...JOB, engine: { name: 'reference' }, runtimeRef: { name: 'efa' } }],
    ['sockets may be asked for without such variables', { ...JOB, resources: { acrossIslands: 'Sockets' } }],
    [
      'pipelines may name the network',
      withField(
        { ...JOB, engine: { ...JOB.engine, env: [{ name: 'NCCL_NET', value: 'IB' }] } },
        'resources.acrossIslands',
        'Pipeline',
      ),
    ],
    ['a job may have standbys', { ...JOB, standby: 2 }],
    ['no standby needs nothing', { ...PLANNED, minGpus: 2, standby: 0 }],
    ['as many GPUs as gpus may be the fewest', { ...PLANNED, minGpus: 4 }],
  ])('but %s', (_sentence, spec) => {
    expect(refusals(TrainingJobSpec, spec)).toEqual([]);
  });
});

describe('a part of a spec is rejected', () => {
  it.each<[string, z.ZodType, unknown, readonly string[]]>([
    [
      'mock data with a claim',
      DataSpec,
      { format: 'mock', claimName: 'c' },
      ['format: format mock reads nothing: give no claimName, path, paths or tokenizer'],
    ],
    [
      'mock data with a tokenizer',
      DataSpec,
      { format: 'mock', tokenizer: { path: 't' } },
      ['format: format mock reads nothing: give no claimName, path, paths or tokenizer'],
    ],
    [
      'data in no claim',
      DataSpec,
      { path: 'a' },
      ['claimName: data is in claimName, at path or at several paths: give claimName and one of the two'],
    ],
    [
      'data nowhere',
      DataSpec,
      {},
      [
        'claimName: data is in claimName, at path or at several paths: give claimName and one of the two',
        'path: data is in claimName, at path or at several paths: give claimName and one of the two',
      ],
    ],
    [
      'a claim with a size limit',
      ScratchSpec,
      { claimName: 'c', sizeLimit: '1Gi' },
      [
        'sizeLimit: sizeLimit bounds a directory of the node and path lies inside a claim: give claimName with path, or sizeLimit alone',
      ],
    ],
    [
      'a size of no unit',
      ScratchSpec,
      { sizeLimit: '200' },
      ['sizeLimit: must be a whole number of Mi, Gi or Ti, such as 200Gi'],
    ],
    [
      'a size of zero',
      ScratchSpec,
      { sizeLimit: '0Gi' },
      ['sizeLimit: must be a whole number of Mi, Gi or Ti, such as 200Gi'],
    ],
    [
      'steps and tokens',
      TrainingSpec,
      { ...TRAINING, tokens: 1 },
      ['steps: the length of the training is given in steps or in tokens; give exactly one'],
    ],
    [
      'a decay of a cosine',
      TrainingSpec,
      { ...TRAINING, schedule: { name: 'cosine', decaySteps: 1 } },
      [
        'schedule.decaySteps: decaySteps belongs to schedule wsd, which needs it; the other schedules decay until the last step',
      ],
    ],
    [
      'a preset with sizes',
      ModelSpec,
      { ...SIZES, preset: 'x' },
      ['layers: a model is given by preset, by huggingFace, or by its sizes: give one of the three'],
    ],
    [
      'no model at all',
      ModelSpec,
      { sequenceLength: 1 },
      [': a model is given by preset, by huggingFace, or by layers, hiddenSize and attentionHeads; give one'],
    ],
    [
      'layers alone',
      ModelSpec,
      { layers: 4, sequenceLength: 1 },
      [
        'hiddenSize: layers, hiddenSize and attentionHeads describe a model together; give all three',
        'attentionHeads: layers, hiddenSize and attentionHeads describe a model together; give all three',
      ],
    ],
    [
      'key-value heads that do not divide the heads',
      ModelSpec,
      { ...SIZES, keyValueHeads: 3 },
      ['keyValueHeads: keyValueHeads 3 does not divide attentionHeads 4'],
    ],
    [
      'a Secret of another prefix',
      SecretVariables,
      [{ name: 'A', secret: 'hf', key: 'token' }],
      [
        '0.secret: must begin with "job-": a job can use no other Secret of its namespace; make one of such a name that holds the key',
      ],
    ],
    [
      'a variable that is given twice',
      SecretVariables,
      [
        { ...SECRET, name: 'A' },
        { ...SECRET, name: 'A' },
      ],
      [': names a variable twice; each has one value'],
    ],
    ['a file that is given twice', SecretFiles, [SECRET, SECRET], [': names a key twice; leave one out']],
    [
      'a key of dots',
      SecretFiles,
      [{ secret: 'job-hf', key: '..' }],
      ['0.key: must be a key of a Secret: letters, digits, "-", "_" and ".", and not ".." at its start'],
    ],
    [
      'a checkpoint above its claim',
      ResumeFrom,
      { from: '../a' },
      ['from: must be the name of a Checkpoint of this job or of an adopted one, or "scratch"'],
    ],
    ['a variable with a dash', EnvName, 'A-B', [': must be a C identifier']],
    ['a variable of ours', EnvName, 'COXSWAIN_X', [': names that start with COXSWAIN_ are written by the operator']],
    ['half a GB of processors', CpuQuantity, '1G', [': must be a Kubernetes CPU quantity such as 500m or 4']],
    ['milli of memory', MemoryQuantity, '1m', [': must be a Kubernetes memory quantity such as 16Gi']],
    ['a path that leaves', RelativePath, 'a/../..', [': must be relative and must not contain ".."']],
    [
      'a name with a capital',
      ObjectName,
      'A',
      [': must be lower-case letters, digits and "-", and start and end with a letter or digit'],
    ],
  ])('%s', (_sentence, schema, value, want) => {
    expect(refusals(schema, value)).toEqual(want);
  });
});

describe('an engine is rejected', () => {
  it.each<[string, object, string]>([
    [
      'without the program that only the user knows',
      { name: 'deepspeed' },
      'command: command is required by engines command, custom, deepspeed, hugging-face; give the program of one rank',
    ],
    [
      'with a program that it starts itself',
      { name: 'reference', command: ['x'] },
      'command: reference starts its own program; leave command out, or set name to command',
    ],
    [
      'with a recipe of another engine',
      { name: 'megatron-lm', recipe: 'a:b' },
      'recipe: recipe is for engines torchtitan, megatron-bridge; leave it out',
    ],
    [
      'with a release of a program of the user',
      { ...COMMAND, release: '1' },
      'release: release is for engines megatron-lm, megatron-bridge, torchtitan, deepspeed, hugging-face; leave it out: the image decides what runs',
    ],
    [
      'with a release that is not known',
      { name: 'torchtitan', release: 'v9' },
      'release: release of torchtitan is one of v0.3.0, v0.2.2, v0.2.1, v0.2.0; name the nearest to the one in your image, or start the program by engine custom',
    ],
    [
      'with a starter of ranks that it has not',
      { name: 'reference', startedBy: 'torchrun' },
      'startedBy: reference is started rank by rank, by the launcher; leave startedBy out',
    ],
    [
      'with lines that are known',
      { name: 'torchtitan', stepLines: 'megatron' },
      'stepLines: stepLines is for engines command, custom; the lines of others are known',
    ],
    [
      'with checkpoints that are known',
      { name: 'torchtitan', checkpointFormat: 'dcp' },
      'checkpointFormat: checkpointFormat is for engines command, custom; of others it is known what they save',
    ],
    [
      'with a variable that is plain and secret',
      { ...COMMAND, env: [{ name: 'A', value: 'x' }], secretEnv: [{ ...SECRET, name: 'A' }] },
      'secretEnv: a variable is given either in env or in secretEnv, not in both',
    ],
    ['with a recipe that is no function', { name: 'torchtitan', recipe: 'a.b' }, 'recipe: must be module:function'],
  ])('%s', (_sentence, engine, want) => {
    expect(refusals(EngineSpec, engine)).toEqual([want]);
  });
});

describe('what a launcher is given of an engine', () => {
  it.each<Bound>([
    ['startedBy', 'one of three', 'ft_launcher', 'mpirun'],
    ['resumeArgs', 'at most 64', listOf(64, 'x'), listOf(65, 'x')],
    ['files', 'at most 32', listOf(32, { path: 'a', text: '' }), listOf(33, { path: 'a', text: '' })],
    ['files.0.path', 'below its directory', 'a/b.toml', '../b.toml'],
    ['files.0.path', 'not absolute', 'a', '/a'],
    ['files.0.path', 'without hidden parts', 'a.b', '.a'],
    ['files.0.path', 'at most 128 characters', letters(128), letters(129)],
    ['files.0.text', 'at most 65536 characters', letters(65_536), letters(65_537)],
    ['stepLines', 'one of five', 'hugging-face', 'nemo'],
    ['checkpoints', 'one of four', 'torch_dist', 'zarr'],
    ['tokensPerStep', 'at least 1', 1, 0],
    ['savedBy', 'an engine and its layout', { engine: 'e', layout: {} }, 'e'],
  ])('%s is %s', (field, _rule, kept, broken) => {
    const run = { files: [{ path: 'a', text: '' }] };
    expect(refusedFields(EngineRun, withField(run, field, kept))).toEqual([]);
    expect(refusedFields(EngineRun, withField(run, field, broken))).toEqual([field]);
  });

  it('has defaults: ranks by the launcher, no files and nothing to append', () => {
    expect(EngineRun.parse({})).toEqual({ startedBy: 'launcher', resumeArgs: [], files: [] });
  });
});

describe('defaults of parts', () => {
  it.each<[string, z.ZodType, unknown, unknown]>([
    [
      'weights are at the root of their claim',
      InitialWeights,
      { claimName: 'c', format: 'dcp' },
      { claimName: 'c', path: '', format: 'dcp' },
    ],
    [
      'paths weigh the same',
      DataSpec,
      { claimName: 'c', paths: [{ path: 'a' }] },
      { claimName: 'c', paths: [{ path: 'a', weight: 1 }] },
    ],
    ['a key is needed', SecretFiles, [SECRET], [{ ...SECRET, optional: false }]],
    [
      'all samples that are not for training are for nothing',
      DataSpec,
      { format: 'mock', split: { train: 1 } },
      { format: 'mock', split: { train: 1, validation: 0, test: 0 } },
    ],
  ])('%s', (_sentence, schema, given, want) => {
    expect(schema.parse(given)).toEqual(want);
  });

  it.each<[string, ResumeFrom | undefined, ResumeFrom | undefined, boolean]>([
    ['the same place', { from: 'scratch' }, { from: 'scratch' }, true],
    ['another place', { from: 'scratch' }, { from: 'a' }, false],
    ['the same place again', { from: 'a', request: '1' }, { from: 'a', request: '2' }, false],
    ['nothing and a place', undefined, { from: 'a' }, false],
    ['nothing twice', undefined, undefined, true],
  ])('two requests to resume from %s are one: %s', (_what, one, other, want) => {
    expect(isSameRequest(one, other)).toBe(want);
  });
});
