/** Checks which arguments of the user can follow the rendered ones. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { EngineRefusal } from '../../engine-refusal.ts';
import { argumentRefusal, commandRefusal } from '../arguments.ts';
import module from './options-v0.3.0.json' with { type: 'json' };
import toml from './options-v0.2.2.json' with { type: 'json' };

/** Prefixes of options, and the field of the job that sets them. */
const OWNERS: readonly (readonly [string, string])[] = [
  ['module', 'the rendered configuration'],
  ['config', 'the rendered configuration'],
  ['job.config_file', 'the rendered configuration'],
  ['job.dump_folder', 'checkpoint'],
  ['job.custom_config_module', 'engine.recipe'],
  ['dump_folder', 'checkpoint'],
  ['hf_assets_path', 'data.tokenizer'],
  ['model.', 'model'],
  ['tokenizer.', 'data.tokenizer'],
  ['dataloader.', 'data'],
  ['training.dataset', 'data'],
  ['optimizer.implementation', ''],
  ['optimizer.', 'training.optimizer'],
  ['lr_scheduler.', 'training.schedule'],
  ['activation_checkpoint.', 'layout.memory.recompute'],
  ['training.seq_len', 'model.sequenceLength'],
  ['training.steps', 'training.steps'],
  ['training.global_batch_size', 'training.globalBatchSize'],
  ['training.local_batch_size', 'training.microBatchSize'],
  ['training.max_norm', 'training.optimizer.clipNorm'],
  ['training.mixed_precision_param', 'training.precision'],
  ['training.enable_cpu_offload', 'layout.memory.offload'],
  ['training.disable_cuda_graphs', 'layout.kernel.cudaGraphs'],
  ['training.seed', 'training.seed'],
  ['debug.seed', 'training.seed'],
  ['debug.deterministic', 'layout.kernel.deterministic'],
  ['debug.deterministic_warn_only', ''],
  ['parallelism.enable_fsdp_symm_mem', ''],
  ['parallelism.spmd_backend', ''],
  ['parallelism.disable_loss_parallel', ''],
  ['parallelism.enable_async_tensor_parallel', 'layout.communication.overlapTensorParallel'],
  ['parallelism.tensor_parallel_degree', 'layout.tensorParallelDegree'],
  ['parallelism.pipeline_parallel_degree', 'layout.pipelineParallelDegree'],
  ['parallelism.context_parallel_degree', 'layout.contextParallelDegree'],
  ['parallelism.data_parallel_replicate_degree', 'layout.dataParallelDegree'],
  ['parallelism.data_parallel_shard_degree', 'layout.dataParallelShardDegree'],
  ['parallelism.expert_parallel_degree', 'layout.expert.expertParallelDegree'],
  ['parallelism.expert_tensor_parallel_degree', 'layout.expert.expertTensorParallelDegree'],
  ['parallelism.pipeline_parallel_schedule', 'layout.pipeline.schedule'],
  ['parallelism.pipeline_parallel_schedule_csv', 'layout.pipeline.scheduleFile'],
  ['parallelism.module_fqns_per_model_part', 'layout.pipeline.stages'],
  ['parallelism.pipeline_parallel_microbatch_size', 'training.microBatchSize'],
  ['parallelism.enable_sequence_parallel', 'layout.sequence.sequenceParallel'],
  ['parallelism.context_parallel_load_balancer', 'layout.sequence.causalBalance'],
  ['parallelism.context_parallel_rotate_method', 'layout.sequence.contextAlgorithm'],
  ['parallelism.fsdp_reshard_after_forward', 'layout.states.reshardAfterForward'],
  ['parallelism.', 'layout'],
  ['compile.enable_async_tensor_parallel', 'layout.communication.overlapTensorParallel'],
  // fake_backend and local_tensor train ranks that never meet.
  ['comm.mode', 'layout'],
  ['comm.init_timeout_seconds', 'layout.communication.timeoutMinutes'],
  ['comm.train_timeout_seconds', 'layout.communication.timeoutMinutes'],
  ['checkpoint.export_dtype', ''],
  ['checkpoint.exclude_from_loading', ''],
  ['checkpoint.', 'checkpoint'],
];

/** The longest beginning wins; an empty owner leaves the option to the user. */
export function ownerOf(option: string): string | undefined {
  const [best] = OWNERS.filter(([beginning]) =>
    beginning.endsWith('.') ? option.startsWith(beginning) : option === beginning,
  ).sort(([one], [other]) => other.length - one.length);
  return best === undefined || best[1] === '' ? undefined : best[1];
}

/** The refusal of the first argument of the user that cannot stay; undefined if all can. */
export function argumentsRefusal({ engine }: EffectiveSpec, isToml: boolean): EngineRefusal | undefined {
  return (
    commandRefusal(engine.command ?? [], ownerOf) ??
    argumentRefusal(engine.args ?? [], {
      engine: 'torchtitan',
      schema: isToml ? toml : module,
      ownerOf,
      // The class of a recipe's configuration may have options of its own.
      takesUnknown: engine.recipe !== undefined,
    })
  );
}

/** The options that a release lists. */
export function titanOptions(isToml: boolean): readonly string[] {
  return Object.keys((isToml ? toml : module).options);
}
