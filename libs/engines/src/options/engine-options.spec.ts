/** Options of engines: read into facts, refused where they contradict, or passed through. */
import { type EffectiveSpec, TrainingJobSpec } from '@coxswain/api-types';
import { renderEngine } from '../render-engine.ts';
import { JOBS_OF_ENGINES } from '../testing/jobs-of-engines.ts';
import { renderedChanges } from '../testing/rendered-changes.ts';
import { layoutWithOptions } from './read-options.ts';

type Options = Readonly<Record<string, string>>;

function specOf(engine: string, what: string, options: Options = {}): EffectiveSpec {
  const found = JOBS_OF_ENGINES.find((one) => one.engine === engine && one.what === what);
  const { engine: own, ...job } = found?.job as EffectiveSpec;
  const listed = Object.entries(options).map(([name, value]) => ({ name, value }));
  const data = TrainingJobSpec.parse({ ...job, engine: { ...own, options: listed } });
  return { ...data, layout: data.layout ?? job.layout };
}

function changesOf(engine: string, what: string, options: Options): readonly string[] {
  return renderedChanges(renderEngine(specOf(engine, what)), renderEngine(specOf(engine, what, options)));
}

const DENSE = 'with data parallelism of 8';
const EXPERTS = 'with experts by all-to-all';

it.each<[string, string, string, Options, readonly string[]]>([
  [
    'a priced fact is read into the layout',
    'megatron-lm',
    DENSE,
    { 'grad-reduce-in-bf16': 'true' },
    ['--grad-reduce-in-bf16'],
  ],
  [
    'gradients of Megatron-Bridge are set where it reads them',
    'megatron-bridge',
    DENSE,
    { 'mixed_precision.grad_reduce_in_fp32': 'false' },
    ['mixed_precision.grad_reduce_in_fp32: false', 'without mixed_precision.grad_reduce_in_fp32: true'],
  ],
  [
    'also where Megatron-Bridge would overwrite them',
    'megatron-bridge',
    DENSE,
    { 'ddp.grad_reduce_in_fp32': 'False' },
    ['mixed_precision.grad_reduce_in_fp32: false', 'without mixed_precision.grad_reduce_in_fp32: true'],
  ],
  ['what is rendered anyhow changes nothing', 'megatron-lm', EXPERTS, { moe_token_dispatcher_type: 'alltoall' }, []],
  [
    'a switch of the release is passed through',
    'megatron-lm',
    DENSE,
    { 'ddp-bucket-size': '40000000', 'fp8-param-gather': 'true' },
    [
      '--ddp-bucket-size 40000000',
      '--fp8-param-gather',
      'note: engine.options: ddp-bucket-size 40000000 is passed through and not priced',
      'note: engine.options: fp8-param-gather true is passed through and not priced',
    ],
  ],
  [
    'an option of a fork too',
    'megatron-lm',
    DENSE,
    { 'ademamix-alpha': '8' },
    [
      '--ademamix-alpha 8',
      'note: engine.options: ademamix-alpha 8 is passed through and not priced; core_v0.19.0 does not list it',
    ],
  ],
  [
    'a setting of a section of Megatron-Bridge',
    'megatron-bridge',
    DENSE,
    { 'comm_overlap.bucket_size': '134217728', 'mixed_precision.fp8_param_gather': 'true' },
    [
      'python3 $(COXSWAIN_ENGINE_FILES)/coxswain_megatron_bridge.py comm_overlap.bucket_size=134217728 mixed_precision.fp8_param_gather=true',
      'note: engine.options: comm_overlap.bucket_size 134217728 is passed through and not priced',
      'note: engine.options: mixed_precision.fp8_param_gather true is passed through and not priced',
      'without python3 $(COXSWAIN_ENGINE_FILES)/coxswain_megatron_bridge.py',
    ],
  ],
  [
    'the fused loss of a recipe',
    'megatron-bridge',
    DENSE,
    { 'model.cross_entropy_loss_fusion': 'true' },
    ['settings.model.cross_entropy_loss_fusion: true'],
  ],
  [
    'the format of gradients of DeepSpeed is a fact',
    'deepspeed',
    'of stage 2',
    { 'data_types.grad_accum_dtype': 'fp32' },
    ['data_types.grad_accum_dtype: "fp32"'],
  ],
  [
    'a bucket of DeepSpeed goes into its file',
    'deepspeed',
    'of stage 2',
    { 'zero_optimization.reduce_bucket_size': '5e8', 'zero_optimization.stage': '2' },
    [
      'zero_optimization.reduce_bucket_size: 500000000',
      'note: engine.options: zero_optimization.reduce_bucket_size 5e8 is passed through and not priced',
    ],
  ],
  [
    'compilation of TorchTitan is a fact',
    'torchtitan',
    'as it is',
    { 'compile.enable': 'true' },
    ['settings.compile.enable: true'],
  ],
  [
    'an argument of Trainer is passed',
    'hugging-face',
    'of copies',
    { dataloader_num_workers: '4' },
    ['--dataloader_num_workers=4', 'note: engine.options: dataloader_num_workers 4 is passed through and not priced'],
  ],
])('%s', (_sentence, ...[engine, what, options, want]) => {
  expect(changesOf(engine, what, options)).toEqual(want);
});

it.each<[string, string, string, Options, readonly string[]]>([
  [
    'a degree of the layout',
    'megatron-lm',
    DENSE,
    { tensor_model_parallel_size: '4' },
    ['layout.tensorParallelDegree renders 1'],
  ],
  [
    'each of several, with the field that decides it',
    'megatron-lm',
    EXPERTS,
    { moe_token_dispatcher_type: 'allgather', 'global-batch-size': '7', 'pipeline-model-parallel-size': '3' },
    [
      'layout.expert.dispatcher is alltoall',
      'training.globalBatchSize renders',
      'layout.pipelineParallelDegree renders',
    ],
  ],
  [
    'a section of Megatron-Bridge that the layout decides by leaving it out',
    'megatron-bridge',
    DENSE,
    { 'model.cpu_offloading': 'true' },
    ['layout.memory.offload renders false'],
  ],
  [
    'the batch of DeepSpeed',
    'deepspeed',
    'of stage 2',
    { train_micro_batch_size_per_gpu: '64', 'zero_optimization.stage': '3' },
    ['layout.states.zeroStage is 2', 'training.microBatchSize renders 1'],
  ],
  [
    'the mesh of TorchTitan',
    'torchtitan',
    'as it is',
    { 'parallelism.tensor_parallel_degree': '8' },
    ['layout.tensorParallelDegree renders 2'],
  ],
  ['the rate of Trainer', 'hugging-face', 'of copies', { learning_rate: '3' }, ['training.learningRate renders 0.001']],
])('an option that contradicts is refused: %s', (_sentence, ...[engine, what, options, want]) => {
  const rendered = renderEngine(specOf(engine, what, options));
  expect(rendered).toMatchObject({ kind: 'refused', rule: 'options-agree-with-job', field: 'engine.options' });
  for (const part of want) expect(rendered).toMatchObject({ why: expect.stringContaining(part) as string });
});

it('options that set a fact are priced', () => {
  const spec = specOf('megatron-bridge', DENSE, { 'mixed_precision.grad_reduce_in_fp32': 'false' });
  expect(layoutWithOptions(spec).states).toMatchObject({ gradientPrecision: 'bf16' });
});

it('options are for engines whose options are rendered', () => {
  const engine = { name: 'custom', image: 'x', command: ['a'], options: [{ name: 'a', value: 'b' }] };
  expect(TrainingJobSpec.safeParse({ engine, layout: {} }).error?.issues[0]?.message).toMatch(
    /^options is for engines/,
  );
});
