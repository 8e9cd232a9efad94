import type { EffectiveSpec } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { renderEngine } from '../../index.ts';
import { aDraft, CAPABILITIES, type Change, specOf } from '../../megatron/testing/index.ts';
import type { Rendering } from '../../rendering.ts';
import { decidedBy } from './decided.ts';
import { BRIDGE_RELEASES, bridgeRelease } from './fields.ts';
import { fieldsOfFlag, settingsOfFlag } from './settings.ts';
import { MEGATRON_BRIDGE_GUIDE } from './megatron-bridge-guide.ts';
import { toMegatronJob } from '../megatron-lm.ts';
import { megatronRelease } from '../../megatron/releases.ts';

type Engine = Partial<EffectiveSpec['engine']>;

const RECIPE = 'megatron.bridge.recipes.gpt.gpt3_175b:gpt3_175b_pretrain_config';

function render(change: Change = () => undefined, engine: Engine = {}): Rendering {
  const draft = aDraft();
  change(draft);
  return renderEngine({ ...specOf(draft), engine: { name: 'megatron-bridge', image: 'x', ...engine } });
}

interface RenderedField {
  readonly recipe?: string;
  readonly provider?: object;
  readonly sizes?: object;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly mixed_precision?: object;
}

function fields(rendering: Rendering): RenderedField {
  if (rendering.kind === 'refused') throw new Error(rendering.why);
  return JSON.parse(rendering.files.find(({ path }) => path === 'megatron-bridge.json')?.text ?? '') as RenderedField;
}

const capability = (name: string): Change => CAPABILITIES[name] ?? (() => undefined);

it('a job becomes a program, and what it says as data beside it', () => {
  const rendered = render();
  expect(rendered).toMatchObject({
    kind: 'rendered',
    release: 'v0.5.1',
    command: ['python3', '$(COXSWAIN_ENGINE_FILES)/coxswain_megatron_bridge.py'],
    resumeArgs: ['--load', '$(COXSWAIN_RESUME_ROOT)', '--ckpt-step', '$(COXSWAIN_RESUME_STEP)'],
    stepLines: 'megatron',
    checkpoints: 'torch_dist',
  });
  expect(fields(rendered).settings).toMatchObject({
    'model.num_layers': 8,
    'model.tensor_model_parallel_size': 1,
    'train.train_iters': 100,
    'optimizer.weight_decay': 0.1,
    'scheduler.start_weight_decay': 0.1,
    'checkpoint.save': '$(COXSWAIN_SAVE_DIR)',
    'dataset.blend': null,
    'tokenizer.vocab_size': 32_768,
  });
});

it.each<[string, string, Engine, Readonly<Record<string, unknown>>]>([
  [
    'weights of data stand beside its prefixes',
    'weighted data',
    {},
    {
      'dataset.blend': {
        tuple: [
          ['/coxswain/data/a', '/coxswain/data/b'],
          [0.3, 1],
        ],
      },
    },
  ],
  [
    'chunks overlap their transfers as in Megatron-LM',
    'interleaved pipeline',
    {},
    {
      'model.virtual_pipeline_model_parallel_size': 2,
      'model.overlap_p2p_comm': true,
      'model.batch_p2p_comm': false,
    },
  ],
  [
    'and do not where the layout says so',
    'transfers that do not overlap',
    {},
    {
      'model.overlap_p2p_comm': false,
      'model.batch_p2p_comm': true,
    },
  ],
  [
    'kinds of numbers are named as PyTorch has them',
    'precise optimizer',
    {},
    {
      'optimizer.exp_avg_dtype': { dtype: 'bfloat16' },
      'optimizer.use_precision_aware_optimizer': true,
    },
  ],
  [
    'sharded states are told to gradients and optimizer',
    'distributed optimizer',
    {},
    {
      'ddp.use_distributed_optimizer': true,
      'optimizer.use_distributed_optimizer': true,
    },
  ],
  [
    'graphs have the random numbers that they need',
    'full graphs',
    { release: 'v0.3.1' },
    {
      'model.cuda_graph_scope': ['full_iteration'],
      'rng.te_rng_tracker': true,
      'rerun_state_machine.check_for_nan_in_loss': false,
    },
  ],
  [
    'graphs of a whole step are an implementation of their own, and need no room without experts',
    'full graphs',
    {},
    {
      'model.cuda_graph_impl': 'full_iteration',
      'model.cuda_graph_modules': [],
      'model.moe_paged_stash': false,
      'model.moe_expert_rank_capacity_factor': null,
    },
  ],
  [
    'experts in such a graph have room, which is kept in pages, and products that are fused where nothing is saved',
    'full graphs beside experts, with nothing saved',
    {},
    {
      'model.cuda_graph_impl': 'full_iteration',
      'model.moe_flex_dispatcher_backend': 'hybridep',
      'model.moe_paged_stash': true,
      'model.moe_expert_rank_capacity_factor': 1.5,
      'model.use_transformer_engine_op_fuser': true,
      'model.moe_mlp_glu_interleave_size': 32,
    },
  ],
  [
    'a checkpoint holds no weights in another order',
    'full graphs beside experts',
    {},
    { 'model.moe_paged_stash': true, 'model.moe_mlp_glu_interleave_size': null },
  ],
  [
    'graphs of parts of a layer leave the exchange of experts out',
    'partial graphs beside experts',
    {},
    { 'model.cuda_graph_modules': ['attn', 'moe_router', 'moe_preprocess'] },
  ],
  [
    'which were scopes before',
    'partial graphs beside experts',
    { release: 'v0.3.1' },
    { 'model.cuda_graph_scope': ['attn', 'moe_router', 'moe_preprocess'] },
  ],
])('%s', (_sentence, name, engine, want) => {
  expect(fields(render(capability(name), engine)).settings).toMatchObject(want);
});

it.each([
  ['GPT', 'tensor parallelism', { kind: 'gpt', gated: true, layers_differ: false }],
  ['GPT whose layers have experts', 'experts by all-to-all', { kind: 'gpt', layers_differ: true }],
  ['latent attention', 'latent attention', { kind: 'latent', layers_differ: true }],
  ['a hybrid', 'a pattern of layers', { kind: 'hybrid', layers_differ: false }],
])('the model is made by the class of %s', (_what, name, want) => {
  expect(fields(render(capability(name))).provider).toMatchObject(want);
});

it.each([
  ['bf16', 'tensor parallelism', { bf16: true, params_dtype: { dtype: 'bfloat16' }, grad_reduce_in_fp32: true }],
  ['fp16', 'fp16 products', { fp16: true, params_dtype: { dtype: 'float16' }, grad_reduce_in_fp32: false }],
  ['fp8, each tensor scaled as it is,', 'fp8 products', { bf16: true, fp8: 'hybrid', fp8_recipe: 'tensorwise' }],
  ['mxfp8', 'mxfp8 products', { bf16: true, fp8: 'e4m3', fp8_recipe: 'mxfp8' }],
  ['nvfp4', 'nvfp4 products', { fp4: 'e2m1', fp4_recipe: 'nvfp4' }],
  ['fp32', 'fp32 throughout', { fp32: true, bf16: false, params_dtype: { dtype: 'float32' } }],
])('numbers are %s for model, optimizer and gradients at once', (_what, name, want) => {
  expect(fields(render(capability(name))).mixed_precision).toMatchObject(want);
});

describe('a recipe', () => {
  const rendered = fields(render(capability('tensor parallelism'), { recipe: RECIPE }));

  it('has the model, and is held against the sizes of the job', () => {
    expect(rendered.recipe).toBe(RECIPE);
    expect(rendered.provider).toBeUndefined();
    expect(rendered.sizes).toMatchObject({ num_layers: 8, hidden_size: 1024, gated_linear_unit: true });
    expect(Object.keys(rendered.settings)).not.toContain('model.num_layers');
  });

  it('keeps nothing that the layout decides by leaving it out', () => {
    expect(rendered.settings).toMatchObject({
      'model.sequence_parallel': true,
      'model.virtual_pipeline_model_parallel_size': null,
      'model.recompute_granularity': null,
      'ddp.overlap_grad_reduce': false,
      'ddp.use_distributed_optimizer': false,
    });
  });

  it('keeps its training, data and formats where the job has none, and saves nothing', () => {
    const spec = aJobSpec({ training: undefined, data: undefined, model: undefined, checkpoint: undefined });
    const alone = fields(renderEngine({ ...spec, engine: { name: 'megatron-bridge', image: 'x', recipe: RECIPE } }));
    expect(Object.keys(alone.settings).filter((path) => /^(train|optimizer.lr|dataset|tokenizer)/.test(path))).toEqual(
      [],
    );
    expect(alone.mixed_precision).toBeUndefined();
    expect(alone.settings).toMatchObject({ 'checkpoint.save': null, 'checkpoint.load': null });
  });
});

it.each(['model', 'training', 'data'] as const)('without a recipe it needs %s', (part) => {
  const spec = aJobSpec({ [part]: undefined, ...(part === 'data' ? {} : { data: { format: 'mock' } }) });
  expect(renderEngine({ ...spec, engine: { name: 'megatron-bridge', image: 'x' } })).toMatchObject({
    rule: 'engine-needs-part',
    field: part,
  });
});

it.each<[string, string, Engine, readonly [rule: string, field: string]]>([
  [
    'experts in a graph of a whole step, for which its core has no room',
    'full graphs beside experts',
    { release: 'v0.3.1' },
    ['whole-graphs-give-experts-room', 'layout.kernel.cudaGraphs'],
  ],
  ['FSDP2', 'torch FSDP2', {}, ['fsdp2-of-the-core', 'layout.states.implementation']],
  ['samples of unlike lengths', 'dynamic sequences', {}, ['configuration-has-field', 'layout.sequence.dynamic.method']],
  [
    'a table longer than samples',
    'a table of positions',
    {},
    ['table-is-as-long-as-samples', 'model.learnedPositions'],
  ],
  ['what its core lacks', 'shards of weights', {}, ['release-has-option', 'layout.weightShardDegree']],
  ['a field that there is not', 'sgd', { args: ['train.train_iter=5'] }, ['arguments-of-this-release', 'engine.args']],
  [
    'an option, which sets no field',
    'sgd',
    { args: ['--train-iters', '5'] },
    ['arguments-of-this-release', 'engine.args'],
  ],
  ['what the job says', 'sgd', { args: ['train.train_iters=5'] }, ['arguments-agree-with-job', 'engine.args']],
  [
    'what the layout says by leaving it out',
    'sgd',
    { args: ['ddp.overlap_grad_reduce=true'] },
    ['arguments-agree-with-job', 'engine.args'],
  ],
  [
    'overlap by a section of its own',
    'sgd',
    { args: ['comm_overlap.tp_comm_overlap=true'] },
    ['arguments-agree-with-job', 'engine.args'],
  ],
  [
    'a variable that the layout needs otherwise',
    'tensor parallelism',
    { env: [{ name: 'CUDA_DEVICE_MAX_CONNECTIONS', value: '8' }] },
    ['variables-agree-with-job', 'engine.env'],
  ],
])('refuses %s', (_what, name, engine, [rule, field]) => {
  const refusal = render(capability(name), engine);
  expect(refusal).toMatchObject({ kind: 'refused', rule, field });
  expect(refusal).toMatchObject({ fallback: expect.stringMatching(/./) });
});

it('takes settings of the user that the job leaves open, and a program of theirs with words of its own', () => {
  expect(render(undefined, { args: ['logger.log_throughput=true', 'logger.log_interval=5'] })).toMatchObject({
    command: [expect.anything(), expect.anything(), 'logger.log_throughput=true', 'logger.log_interval=5'],
  });
  expect(render(undefined, { command: ['python3', 'mine.py'], args: ['--mine'] })).toMatchObject({
    command: ['python3', 'mine.py', '--mine'],
  });
});

it('a dollar sign in a path stands for itself', () => {
  const rendered = render(({ data }) => {
    delete data['format'];
    Object.assign(data, { claimName: 'corpus', format: 'indexed', path: 'a$(COXSWAIN_SAVE_DIR)' });
  });
  expect(fields(rendered).settings['dataset.blend']).toEqual({
    tuple: [['/coxswain/data/a$$(COXSWAIN_SAVE_DIR)'], null],
  });
});

describe.each(BRIDGE_RELEASES)('every field that is set for $tag', ({ tag, core, fields }) => {
  const release = megatronRelease(core);
  const spec = { ...specOf(aDraft()), engine: { name: 'megatron-bridge', image: 'x', release: tag } } as const;
  const job = release && toMegatronJob(spec, { context: {}, release, engine: 'megatron-bridge' });
  const flags = [...(release?.options.keys() ?? [])];

  it('is one of the release', () => {
    const paths = [
      ...flags.flatMap(fieldsOfFlag),
      ...(job === undefined ? [] : decidedBy(job).flatMap(([, settings]) => Object.keys(settings))),
      ...(job === undefined
        ? []
        : flags.flatMap((flag) => Object.keys(settingsOfFlag({ kind: 'default', flag, values: [] }, job) ?? {}))),
    ];
    expect(paths.length).toBeGreaterThan(200);
    expect(paths.filter((path) => !fields.has(path))).toEqual([]);
  });

  it('is known by its flag, whatever its form', () => {
    const unlike = flags.filter((flag) => {
      const set = job && settingsOfFlag({ kind: 'default', flag, values: [] }, job);
      return Object.keys(set ?? {}).join(' ') !== fieldsOfFlag(flag).join(' ');
    });
    expect(unlike).toEqual([]);
  });
});

it('what is said of it names fields of the release', () => {
  const fields = MEGATRON_BRIDGE_GUIDE.fields
    .flatMap(({ to }) => to.split(', '))
    .filter((to) => /^[a-z_]+\.[a-z_]+$/.test(to));
  expect(fields.filter((field) => !bridgeRelease(undefined).fields.has(field) && field !== 'section.field')).toEqual(
    [],
  );
});

it.each<[string, Readonly<Record<string, unknown>>]>([
  ['llama-3.1-8b', { 'model.rotary_base': 500_000, 'model.rope_scaling': true, 'model.rope_scaling_factor': 8 }],
  [
    'deepseek-v3',
    { 'model.rope_type': 'yarn', 'model.rotary_scaling_factor': 40, 'model.mscale': 1, 'model.mscale_all_dim': 1 },
  ],
  ['qwen3-8b', { 'model.rotary_base': 1_000_000, 'model.qk_layernorm': true }],
])('%s is what it was published as', (preset, want) => {
  const layout = { dataParallelDegree: 2 };
  const spec = aJobSpec({ model: { preset, sequenceLength: 4096 }, layout, data: { format: 'mock' } });
  expect(fields(renderEngine({ ...spec, engine: { name: 'megatron-bridge', image: 'x' } })).settings).toMatchObject(
    want,
  );
});
