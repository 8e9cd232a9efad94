/** Reads priced facts back from what an adapter rendered, with the defaults that each engine applies to what is absent. */
import type { PricedFacts } from '@coxswain/planner';
import type { EngineName } from '@coxswain/api-types';
import { readArguments } from '../megatron/read-arguments.ts';
import { megatronRelease } from '../megatron/releases.ts';
import type { RenderedEngine } from '../rendering.ts';

/** As many of the priced facts as the rendered form of an engine decides. */
export type RenderedFacts = Partial<PricedFacts>;

type Leaves = Readonly<Record<string, unknown>>;

const READERS: Readonly<Partial<Record<EngineName, (run: RenderedEngine) => RenderedFacts>>> = {
  'megatron-lm': megatronFacts,
  'megatron-bridge': bridgeFacts,
  torchtitan: titanFacts,
  deepspeed: deepSpeedFacts,
  'hugging-face': trainerFacts,
};

/** The facts that the rendered program runs with. */
export function renderedFacts(engine: EngineName, run: RenderedEngine): RenderedFacts {
  return READERS[engine]?.(run) ?? {};
}

function megatronFacts({ release, command }: RenderedEngine): RenderedFacts {
  const options = megatronRelease(release)?.options ?? new Map();
  const { read, problems } = readArguments(command.slice(2), options);
  if (problems.length > 0) throw new Error(problems.map(({ sentence }) => sentence).join('; '));
  const values = new Map(read.map(({ flag, values: words }) => [flag, words] as const));
  const has = (flag: string): boolean => values.has(flag);
  const first = (flag: string): string | undefined => values.get(flag)?.[0];
  const isHalf = has('--fp16');
  const inFp32 = isHalf ? has('--accumulate-allreduce-grads-in-fp32') : !has('--bf16') || !has('--grad-reduce-in-bf16');
  const isSharded = has('--use-megatron-fsdp');
  const strategies = ['no_shard', 'optim', 'optim_grads', 'optim_grads_params'];
  return {
    gradientBytes: inFp32 ? 4 : 2,
    momentBytes: bytesOfMoment(first('--exp-avg-dtype')) + bytesOfMoment(first('--exp-avg-sq-dtype')),
    zeroStage: stageOf(
      isSharded
        ? strategies.indexOf(first('--data-parallel-sharding-strategy') ?? 'no_shard')
        : has('--use-distributed-optimizer')
          ? 1
          : 0,
    ),
    overlapGradReduce: has('--overlap-grad-reduce'),
    overlapParamGather: has('--overlap-param-gather'),
    overlapTensor: has('--tp-comm-overlap'),
    overlapExpert: has('--overlap-moe-expert-parallel-comm'),
    sequenceParallel: has('--sequence-parallel'),
    recompute: (first('--recompute-granularity') ?? 'none') as PricedFacts['recompute'],
    offloadOptimizer: has('--optimizer-cpu-offload') ? Number(first('--optimizer-offload-fraction') ?? 1) : 0,
    offloadActivations: has('--fine-grained-activation-offloading')
      ? Number(first('--activation-offload-fraction') ?? 1)
      : 0,
    // Without experts there is nothing to dispatch.
    ...(has('--num-experts')
      ? {
          dispatcher: dispatcherOf(
            first('--moe-token-dispatcher-type'),
            has('--moe-enable-deepep') ? 'deepep' : first('--moe-flex-dispatcher-backend'),
          ),
        }
      : {}),
  };
}

function bridgeFacts({ files }: RenderedEngine): RenderedFacts {
  const json = jsonOf(files, 'megatron-bridge.json');
  const settings = json['settings'] as Leaves;
  const formats = json['mixed_precision'] as Leaves;
  const isOn = (path: string): boolean => settings[path] === true;
  const strategies = ['no_shard', 'optim', 'optim_grads', 'optim_grads_params'];
  const moment = (path: string): number => {
    const { dtype } = settings[path] as { readonly dtype: string };
    return { float32: 4, bfloat16: 2, float16: 2, uint8: 1 }[dtype] ?? NaN;
  };
  const isFsdp = isOn('ddp.use_megatron_fsdp');
  return {
    // Megatron-Bridge overwrites ddp.grad_reduce_in_fp32 with it (MixedPrecisionConfig.setup).
    gradientBytes: formats['grad_reduce_in_fp32'] === true || formats['fp32'] === true ? 4 : 2,
    momentBytes: moment('optimizer.exp_avg_dtype') + moment('optimizer.exp_avg_sq_dtype'),
    zeroStage: stageOf(
      isFsdp
        ? strategies.indexOf(String(settings['ddp.data_parallel_sharding_strategy']))
        : isOn('ddp.use_distributed_optimizer')
          ? 1
          : 0,
    ),
    overlapGradReduce: isOn('ddp.overlap_grad_reduce'),
    overlapParamGather: isOn('ddp.overlap_param_gather'),
    overlapTensor: isOn('model.tp_comm_overlap'),
    overlapExpert: isOn('model.overlap_moe_expert_parallel_comm'),
    sequenceParallel: isOn('model.sequence_parallel'),
    recompute: (settings['model.recompute_granularity'] ?? 'none') as PricedFacts['recompute'],
    offloadOptimizer: isOn('optimizer.optimizer_cpu_offload')
      ? // The default of OptimizerConfig (megatron/core/optimizer/optimizer_config.py).
        Number(settings['optimizer.optimizer_offload_fraction'] ?? 0)
      : 0,
    offloadActivations: isOn('model.fine_grained_activation_offloading') ? 1 : 0,
    ...(settings['model.moe_token_dispatcher_type'] === undefined && settings['model.num_moe_experts'] === undefined
      ? {}
      : {
          dispatcher: dispatcherOf(
            settings['model.moe_token_dispatcher_type'] as string | undefined,
            settings['model.moe_flex_dispatcher_backend'] as string | undefined,
          ),
        }),
  };
}

/** The parser's default is allgather (megatron/core/transformer/transformer_config.py). */
function dispatcherOf(type = 'allgather', backend: string | undefined): PricedFacts['dispatcher'] {
  return (type === 'flex' ? (backend ?? 'deepep') : type) as PricedFacts['dispatcher'];
}

function bytesOfMoment(dtype = 'fp32'): number {
  return { fp32: 4, bf16: 2, fp16: 2, fp8: 1 }[dtype] ?? NaN;
}

function stageOf(stage: number): PricedFacts['zeroStage'] {
  return stage as PricedFacts['zeroStage'];
}

/** Settings of the module, or of the TOML file by section and name. */
function titanFacts({ files }: RenderedEngine): RenderedFacts {
  const toml = files.find(({ path }) => path.endsWith('.toml'));
  const settings =
    toml === undefined ? (jsonOf(files, 'torchtitan.json')['settings'] as Leaves) : settingsOfToml(toml.text);
  const shards = Number(settings['parallelism.data_parallel_shard_degree']);
  const backend = (settings['parallelism.expert_parallel_comm_backend'] ?? 'standard') as string;
  const isExperts = Number(settings['parallelism.expert_parallel_degree']) > 1;
  const checkpoint =
    toml === undefined
      ? (jsonOf(files, 'torchtitan.json')['activation_checkpoint'] as Leaves | undefined)?.['mode']
      : settings['activation_checkpoint.mode'];
  const isOfRecipe = toml === undefined && jsonOf(files, 'torchtitan.json')['recipe'] !== undefined;
  const asyncTensor =
    settings['compile.enable_async_tensor_parallel'] ?? settings['parallelism.enable_async_tensor_parallel'];
  return {
    // TorchTitan's default is selective, which is priced as some layers of all; what a recipe has is not read here.
    ...(isOfRecipe || checkpoint === 'selective'
      ? {}
      : { recompute: (checkpoint ?? 'selective') as PricedFacts['recompute'] }),
    overlapTensor: asyncTensor === true,
    offloadWeights: settings['training.enable_cpu_offload'] === true ? 1 : 0,
    gradientBytes: (settings['training.mixed_precision_reduce'] ?? 'float32') === 'float32' ? 4 : 2,
    zeroStage: shards === 1 ? 0 : 3,
    // FSDP2 and DDP of PyTorch always overlap.
    overlapGradReduce: true,
    overlapParamGather: true,
    ...(isExperts && toml !== undefined
      ? { dispatcher: (backend === 'standard' ? 'alltoall' : backend) as PricedFacts['dispatcher'] }
      : {}),
  };
}

function settingsOfToml(text: string): Leaves {
  let section = '';
  const settings: Record<string, unknown> = {};
  for (const line of text.split('\n')) {
    const header = /^\[(.+)\]$/.exec(line)?.[1];
    if (header !== undefined) section = header;
    const [, name, value] = /^(\S+) = (.*)$/.exec(line) ?? [];
    if (name !== undefined) settings[`${section}.${name}`] = JSON.parse(value ?? 'null');
  }
  return settings;
}

function deepSpeedFacts({ files }: RenderedEngine): RenderedFacts {
  const config = jsonOf(files, 'deepspeed.json');
  const zero = config['zero_optimization'] as Leaves;
  const offload = zero['offload_optimizer'] as Leaves | undefined;
  const gradients = (config['data_types'] as Leaves | undefined)?.['grad_accum_dtype'];
  const checkpointing = config['activation_checkpointing'] as Leaves | undefined;
  const overlap = (zero['overlap_comm'] ?? zero['stage'] === 3) as boolean;
  return {
    zeroStage: stageOf(Number(zero['stage'])),
    overlapGradReduce: overlap,
    overlapParamGather: overlap,
    offloadOptimizer: offload === undefined ? 0 : Number(offload['ratio'] ?? 1),
    offloadWeights: zero['offload_param'] === undefined ? 0 : 1,
    offloadActivations: checkpointing?.['cpu_checkpointing'] === true ? 1 : 0,
    // In the format of the weights unless another is given (runtime/engine.py, `get_data_types`).
    gradientBytes: gradients === 'fp32' || (config['fp16'] === undefined && config['bf16'] === undefined) ? 4 : 2,
    recompute: checkpointing === undefined ? 'none' : 'full',
  };
}

function trainerFacts(run: RenderedEngine): RenderedFacts {
  if (run.files.some(({ path }) => path === 'deepspeed.json')) {
    const { recompute: _ofScript, gradientBytes: _ofTrainer, ...facts } = deepSpeedFacts(run);
    return facts;
  }
  return {
    zeroStage: run.command.includes('--fsdp') ? 3 : 0,
    gradientBytes: 4,
    overlapGradReduce: true,
    overlapParamGather: true,
  };
}

function jsonOf(files: RenderedEngine['files'], path: string): Leaves {
  return JSON.parse(files.find((file) => file.path === path)?.text ?? '{}') as Leaves;
}
