/** The options of Megatron-LM that a job or its layout decides, even by leaving them out. */
import type { EffectiveSpec } from '@coxswain/api-types';

type Owner = readonly [field: string, options: string];

/** Options by the name under which the parser keeps them. */
const OWNERS: readonly Owner[] = [
  ['layout.tensorParallelDegree', 'tensor_model_parallel_size model_parallel_size'],
  ['layout.pipelineParallelDegree', 'pipeline_model_parallel_size'],
  ['layout.contextParallelDegree', 'context_parallel_size'],
  ['layout.weightShardDegree', 'tensor_parallel_num_weight_shards'],
  ['layout.rankOrder', 'use_tp_pp_dp_mapping'],
  ['layout.expert.expertParallelDegree', 'expert_model_parallel_size'],
  ['layout.expert.expertTensorParallelDegree', 'expert_tensor_parallel_size moe_extended_tp'],
  ['layout.expert.weightShardDegree', 'expert_tensor_parallel_num_weight_shards'],
  ['layout.expert.dispatcher', 'moe_token_dispatcher_type moe_flex_dispatcher_backend moe_enable_deepep'],
  ['layout.expert.capacityFactor', 'moe_expert_capacity_factor'],
  ['layout.expert.tokenDropOrder', 'moe_token_drop_policy'],
  ['layout.pipeline.chunksPerRank', 'num_virtual_stages_per_pipeline_rank num_layers_per_virtual_pipeline_stage'],
  ['layout.pipeline.microBatchGroupSize', 'microbatch_group_size_per_vp_stage'],
  [
    'layout.pipeline.stages',
    'pipeline_model_parallel_layout decoder_first_pipeline_num_layers decoder_last_pipeline_num_layers',
  ],
  ['layout.pipeline.vocabulary', 'account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split'],
  ['layout.sequence.sequenceParallel', 'sequence_parallel'],
  ['layout.sequence.contextAlgorithm', 'cp_comm_type'],
  ['layout.sequence.ulyssesDegree', 'hierarchical_context_parallel_sizes'],
  ['layout.sequence.dynamic', 'hybrid_context_parallel max_seqlen_per_dp_cp_rank'],
  [
    'layout.states.implementation',
    'use_distributed_optimizer use_megatron_fsdp use_torch_fsdp2 use_custom_fsdp data_parallel_sharding_strategy outer_dp_sharding_strategy enable_full_sharding_in_hsdp torch_fsdp2_reshard_after_forward',
  ],
  ['layout.states.optimizerInstances', 'num_distributed_optimizer_instances'],
  ['layout.states.precisionAwareOptimizer', 'use_precision_aware_optimizer'],
  ['layout.states.optimizerPrecision', 'exp_avg_dtype exp_avg_sq_dtype'],
  ['layout.states.gradientPrecision', 'accumulate_allreduce_grads_in_fp32 grad_reduce_in_bf16 main_grads_dtype'],
  [
    'layout.memory.recompute',
    'recompute_granularity recompute_modules recompute_method recompute_num_layers recompute_activations checkpoint_activations moe_layer_recompute distribute_saved_activations',
  ],
  [
    'layout.memory.offload',
    'optimizer_cpu_offload optimizer_offload_fraction overlap_cpu_optimizer_d2h_h2d fine_grained_activation_offloading offload_modules activation_offload_fraction cpu_offloading_num_layers',
  ],
  ['layout.communication.overlapGradReduce', 'overlap_grad_reduce'],
  ['layout.communication.overlapParamGather', 'overlap_param_gather'],
  ['layout.communication.overlapTensorParallel', 'tp_comm_overlap'],
  ['layout.communication.overlapExpertParallel', 'overlap_moe_expert_parallel_comm'],
  ['layout.communication.overlapPipelineTransfers', 'overlap_p2p_comm'],
  ['layout.communication.deferEmbeddingGradient', 'defer_embedding_wgrad_compute'],
  ['layout.communication.switchReduction', 'use_sharp'],
  ['layout.communication.timeoutMinutes', 'distributed_timeout_minutes'],
  ['layout.communication.groupNetwork', 'nccl_communicator_config_path'],
  ['layout.kernel.attention', 'attention_backend use_flash_attn'],
  ['layout.kernel.softmax', 'softmax_type'],
  ['layout.kernel.precision', 'bf16 fp16 fp8 fp8_recipe fp4 fp4_recipe te_precision_config_file'],
  [
    'layout.kernel.cudaGraphs',
    'cuda_graph_impl enable_cuda_graph external_cuda_graph cuda_graph_scope cuda_graph_scope_deprecated cuda_graph_modules moe_paged_stash moe_expert_rank_capacity_factor moe_mlp_glu_interleave_size',
  ],
  ['layout.kernel.deterministic', 'deterministic_mode'],
  ['layout.expert.padToCapacity', 'moe_pad_expert_input_to_capacity'],
  ['layout.checkpointPolicy.format', 'ckpt_format'],
  ['layout.checkpointPolicy.optimizerReshard', 'dist_ckpt_optim_fully_reshardable'],
  ['layout.checkpointPolicy.asyncSave', 'async_save use_persistent_ckpt_worker'],
  ['layout.checkpointPolicy.localEverySteps', 'non_persistent_save_interval non_persistent_ckpt_type'],
  ['resumeFrom', 'load ckpt_step use_checkpoint_args use_mp_args_from_checkpoint_args'],
  // Without these options a resumed job has lost its optimizer. The catalogue decides about retention.
  [
    'checkpoint',
    'save save_interval save_retain_interval no_save_optim no_load_optim no_save_rng no_load_rng ckpt_convert_format ckpt_convert_save override_ckpt_iteration',
  ],
  ['initialWeights', 'pretrained_checkpoint finetune'],
  [
    'data',
    'data_path data_args_path train_data_path per_split_data_args_path valid_data_path test_data_path mock_data split',
  ],
  ['data.tokenizer', 'tokenizer_type tokenizer_model'],
  [
    'model',
    'num_layers encoder_num_layers decoder_num_layers hidden_size ffn_hidden_size num_attention_heads kv_channels group_query_attention num_query_groups swiglu squared_relu quick_geglu normalization add_bias_linear untie_embeddings_and_output_weights max_position_embeddings position_embedding_type use_rotary_position_embeddings seq_length encoder_seq_length vocab_size padded_vocab_size',
  ],
  [
    'model',
    'mtp_num_layers num_experts moe_router_topk moe_ffn_hidden_size moe_shared_expert_intermediate_size moe_layer_freq moe_latent_size multi_latent_attention q_lora_rank kv_lora_rank qk_head_dim qk_pos_emb_head_dim v_head_dim mamba_state_dim mamba_head_dim mamba_num_groups mamba_num_heads hybrid_layer_pattern hybrid_override_pattern window_size window_attn_skip_freq decoder_seq_length is_hybrid_model heterogeneous_layers_config_path heterogeneous_layers_config_encoded_json',
  ],
  ['training.steps', 'train_iters lr_decay_iters'],
  ['training.globalBatchSize', 'global_batch_size batch_size'],
  ['training.microBatchSize', 'micro_batch_size'],
  ['training.learningRate', 'lr'],
  ['training.minLearningRate', 'min_lr'],
  ['training.warmupSteps', 'lr_warmup_iters'],
  ['training.weightDecay', 'weight_decay'],
  ['training.seed', 'seed'],
  ['training.optimizer.name', 'optimizer'],
  [
    'training',
    'train_samples lr_warmup_samples lr_warmup_fraction warmup lr_decay_samples start_weight_decay end_weight_decay weight_decay_incr_style decrease_batch_size_if_needed skip_train perform_rl_step exit_interval exit_duration_in_mins',
  ],
  // The starter of the ranks decides their number and their restarts. A YAML file would bypass these checks.
  ['layout', 'local_rank distributed_backend yaml_cfg fake_process_group inprocess_restart lazy_mpu_init'],
];

const OWNER_OF: ReadonlyMap<string, string> = new Map(
  OWNERS.flatMap(([field, options]) => options.split(' ').map((option) => [option, field] as const)),
);

/** Parts of a job that may be left out as a whole, and then decide nothing. */
const PARTS = ['model', 'training', 'data', 'checkpoint', 'initialWeights'] as const;

/** The field that decides the option; undefined if the user’s arguments decide it. */
export function ownerOf(option: string, spec: EffectiveSpec): string | undefined {
  const field = OWNER_OF.get(option);
  const part = PARTS.find((one) => field === one || field?.startsWith(`${one}.`) === true);
  if (part !== undefined && spec[part] === undefined && option !== 'save') return undefined;
  return field === 'data.tokenizer' && spec.data?.tokenizer === undefined ? undefined : field;
}
