/** Which variables `accelerate launch` sets for a program, by its options and by the file that `accelerate config` writes (Accelerate 1.x). */

/** Options without dashes, or the file with its sections flattened. */
export type AccelerateSettings = Readonly<Record<string, string>>;

/** The variable of each setting of FSDP that the file and the options name alike. */
const FSDP: Readonly<Record<string, string>> = {
  fsdp_version: 'FSDP_VERSION',
  fsdp_sharding_strategy: 'FSDP_SHARDING_STRATEGY',
  fsdp_reshard_after_forward: 'FSDP_RESHARD_AFTER_FORWARD',
  fsdp_offload_params: 'FSDP_OFFLOAD_PARAMS',
  fsdp_min_num_params: 'FSDP_MIN_NUM_PARAMS',
  fsdp_auto_wrap_policy: 'FSDP_AUTO_WRAP_POLICY',
  fsdp_transformer_layer_cls_to_wrap: 'FSDP_TRANSFORMER_CLS_TO_WRAP',
  fsdp_backward_prefetch: 'FSDP_BACKWARD_PREFETCH',
  fsdp_backward_prefetch_policy: 'FSDP_BACKWARD_PREFETCH',
  fsdp_state_dict_type: 'FSDP_STATE_DICT_TYPE',
  fsdp_forward_prefetch: 'FSDP_FORWARD_PREFETCH',
  fsdp_use_orig_params: 'FSDP_USE_ORIG_PARAMS',
  fsdp_cpu_ram_efficient_loading: 'FSDP_CPU_RAM_EFFICIENT_LOADING',
  fsdp_sync_module_states: 'FSDP_SYNC_MODULE_STATES',
  fsdp_activation_checkpointing: 'FSDP_ACTIVATION_CHECKPOINTING',
};
const DEEPSPEED: Readonly<Record<string, string>> = {
  zero_stage: 'ACCELERATE_DEEPSPEED_ZERO_STAGE',
  gradient_accumulation_steps: 'ACCELERATE_GRADIENT_ACCUMULATION_STEPS',
  gradient_clipping: 'ACCELERATE_GRADIENT_CLIPPING',
  offload_optimizer_device: 'ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE',
  offload_param_device: 'ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE',
  zero3_init_flag: 'ACCELERATE_DEEPSPEED_ZERO3_INIT',
  zero3_save_16bit_model: 'ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL',
  deepspeed_config_file: 'ACCELERATE_DEEPSPEED_CONFIG_FILE',
  deepspeed_moe_layer_cls_names: 'ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES',
};
const PARALLELISM: Readonly<Record<string, string>> = {
  parallelism_config_dp_replicate_size: 'PARALLELISM_CONFIG_DP_REPLICATE_SIZE',
  parallelism_config_dp_shard_size: 'PARALLELISM_CONFIG_DP_SHARD_SIZE',
  parallelism_config_tp_size: 'PARALLELISM_CONFIG_TP_SIZE',
  parallelism_config_cp_size: 'PARALLELISM_CONFIG_CP_SIZE',
  parallelism_config_cp_comm_strategy: 'PARALLELISM_CONFIG_CP_COMM_STRATEGY',
};

type Variables = readonly { readonly name: string; readonly value: string }[];

/** The variables of these settings. What none is known for is in {@link unreadSettings}. */
export function accelerateVariables(settings: AccelerateSettings): Variables {
  const isOf = (kind: string): boolean => settings['distributed_type']?.toUpperCase() === kind;
  const isOn = (name: string): boolean => settings[name]?.toLowerCase() === 'true';
  const isFsdp = isOf('FSDP') || isOn('use_fsdp');
  const isDeepSpeed = isOf('DEEPSPEED') || isOn('use_deepspeed');
  const hasParallelism = isOn('use_parallelism_config') || Object.keys(PARALLELISM).some((name) => name in settings);
  const { mixed_precision: precision } = settings;
  return [
    ...(precision === undefined ? [] : [{ name: 'ACCELERATE_MIXED_PRECISION', value: precision }]),
    ...(isFsdp ? [{ name: 'ACCELERATE_USE_FSDP', value: 'true' }, ...named(FSDP, settings)] : []),
    ...(isDeepSpeed ? [{ name: 'ACCELERATE_USE_DEEPSPEED', value: 'true' }, ...named(DEEPSPEED, settings)] : []),
    ...(hasParallelism
      ? [{ name: 'ACCELERATE_USE_PARALLELISM_CONFIG', value: 'true' }, ...named(PARALLELISM, settings)]
      : []),
  ];
}

function named(table: Readonly<Record<string, string>>, settings: AccelerateSettings): Variables {
  return Object.entries(table).flatMap(([setting, name]) => {
    const value = settings[setting];
    return value === undefined ? [] : [{ name, value }];
  });
}

/** Whether a variable stands for the setting, so that nothing of it is lost. */
export function isAccelerateVariable(setting: string): boolean {
  return [FSDP, DEEPSPEED, PARALLELISM].some((table) => Object.hasOwn(table, setting)) || setting === 'mixed_precision';
}
