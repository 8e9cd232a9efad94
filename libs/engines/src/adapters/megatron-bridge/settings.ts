/** Translates flags of Megatron-LM to fields of the configuration of Megatron-Bridge. */
import type { MegatronJob, RenderedField } from '../../megatron/rendered-field.ts';
import type { Option } from '../../megatron/option-table.ts';
import type { Json } from '../check.ts';

/** By section and name. */
export type Settings = Readonly<Record<string, Json>>;
type Flag = Extract<RenderedField, { readonly kind: 'flag' | 'default' }>;

/** Where the value of a flag goes as it is, to each of several fields. */
const PLACES: Readonly<Record<string, string>> = {
  '--num-layers': 'model.num_layers',
  '--hidden-size': 'model.hidden_size',
  '--ffn-hidden-size': 'model.ffn_hidden_size',
  '--num-attention-heads': 'model.num_attention_heads',
  '--kv-channels': 'model.kv_channels',
  '--num-query-groups': 'model.num_query_groups',
  '--swiglu': 'model.gated_linear_unit',
  '--normalization': 'model.normalization',
  '--disable-bias-linear': 'model.add_bias_linear',
  '--attention-dropout': 'model.attention_dropout',
  '--hidden-dropout': 'model.hidden_dropout',
  '--mtp-num-layers': 'model.mtp_num_layers',
  '--seq-length': 'model.seq_length dataset.seq_length',
  '--position-embedding-type': 'model.position_embedding_type',
  '--rotary-base': 'model.rotary_base',
  '--use-rope-scaling': 'model.rope_scaling',
  '--rope-scaling-factor': 'model.rope_scaling_factor',
  '--rope-type': 'model.rope_type',
  '--rotary-scaling-factor': 'model.rotary_scaling_factor',
  '--mscale': 'model.mscale',
  '--mscale-all-dim': 'model.mscale_all_dim',
  '--qk-layernorm': 'model.qk_layernorm',
  '--add-qkv-bias': 'model.add_qkv_bias',
  '--norm-epsilon': 'model.layernorm_epsilon',
  '--num-experts': 'model.num_moe_experts',
  '--moe-router-topk': 'model.moe_router_topk',
  '--moe-ffn-hidden-size': 'model.moe_ffn_hidden_size',
  '--moe-shared-expert-intermediate-size': 'model.moe_shared_expert_intermediate_size',
  '--moe-latent-size': 'model.moe_latent_size',
  '--moe-grouped-gemm': 'model.moe_grouped_gemm',
  '--q-lora-rank': 'model.q_lora_rank',
  '--kv-lora-rank': 'model.kv_lora_rank',
  '--qk-head-dim': 'model.qk_head_dim',
  '--qk-pos-emb-head-dim': 'model.qk_pos_emb_head_dim',
  '--v-head-dim': 'model.v_head_dim',
  '--mamba-state-dim': 'model.mamba_state_dim',
  '--mamba-num-heads': 'model.mamba_num_heads',
  '--mamba-head-dim': 'model.mamba_head_dim',
  '--mamba-num-groups': 'model.mamba_num_groups',
  '--hybrid-layer-pattern': 'model.hybrid_layer_pattern',
  '--hybrid-override-pattern': 'model.hybrid_override_pattern',
  '--is-hybrid-model': 'model.is_hybrid_model',
  '--tensor-model-parallel-size': 'model.tensor_model_parallel_size',
  '--pipeline-model-parallel-size': 'model.pipeline_model_parallel_size',
  '--context-parallel-size': 'model.context_parallel_size',
  '--expert-model-parallel-size': 'model.expert_model_parallel_size',
  '--expert-tensor-parallel-size': 'model.expert_tensor_parallel_size',
  '--use-tp-pp-dp-mapping': 'dist.use_tp_pp_dp_mapping',
  '--moe-token-dispatcher-type': 'model.moe_token_dispatcher_type',
  '--moe-flex-dispatcher-backend': 'model.moe_flex_dispatcher_backend',
  '--moe-expert-capacity-factor': 'model.moe_expert_capacity_factor',
  '--moe-token-drop-policy': 'model.moe_token_drop_policy',
  '--moe-pad-expert-input-to-capacity': 'model.moe_pad_expert_input_to_capacity',
  '--cross-entropy-loss-fusion': 'model.cross_entropy_loss_fusion',
  '--moe-paged-stash': 'model.moe_paged_stash',
  '--moe-expert-rank-capacity-factor': 'model.moe_expert_rank_capacity_factor',
  '--moe-mlp-glu-interleave-size': 'model.moe_mlp_glu_interleave_size',
  '--use-transformer-engine-op-fuser': 'model.use_transformer_engine_op_fuser',
  '--moe-router-load-balancing-type': 'model.moe_router_load_balancing_type',
  '--moe-aux-loss-coeff': 'model.moe_aux_loss_coeff',
  '--moe-router-enable-expert-bias': 'model.moe_router_enable_expert_bias',
  '--moe-router-score-function': 'model.moe_router_score_function',
  '--pipeline-model-parallel-layout': 'model.pipeline_model_parallel_layout',
  '--num-virtual-stages-per-pipeline-rank': 'model.virtual_pipeline_model_parallel_size',
  '--microbatch-group-size-per-virtual-pipeline-stage': 'model.microbatch_group_size_per_vp_stage',
  '--account-for-embedding-in-pipeline-split': 'model.account_for_embedding_in_pipeline_split',
  '--account-for-loss-in-pipeline-split': 'model.account_for_loss_in_pipeline_split',
  '--sequence-parallel': 'model.sequence_parallel',
  '--cp-comm-type': 'model.cp_comm_type',
  '--hierarchical-context-parallel-sizes': 'model.hierarchical_context_parallel_sizes',
  '--use-distributed-optimizer': 'ddp.use_distributed_optimizer optimizer.use_distributed_optimizer',
  '--use-megatron-fsdp': 'dist.use_megatron_fsdp ddp.use_megatron_fsdp',
  '--data-parallel-sharding-strategy': 'ddp.data_parallel_sharding_strategy',
  '--num-distributed-optimizer-instances': 'ddp.num_distributed_optimizer_instances',
  '--no-gradient-accumulation-fusion': 'model.gradient_accumulation_fusion',
  '--use-precision-aware-optimizer': 'optimizer.use_precision_aware_optimizer',
  '--optimizer': 'optimizer.optimizer',
  '--recompute-granularity': 'model.recompute_granularity',
  '--recompute-modules': 'model.recompute_modules',
  '--recompute-method': 'model.recompute_method',
  '--recompute-num-layers': 'model.recompute_num_layers',
  '--optimizer-cpu-offload': 'optimizer.optimizer_cpu_offload',
  '--optimizer-offload-fraction': 'optimizer.optimizer_offload_fraction',
  '--overlap-cpu-optimizer-d2h-h2d': 'optimizer.overlap_cpu_optimizer_d2h_h2d',
  '--fine-grained-activation-offloading': 'model.fine_grained_activation_offloading',
  '--offload-modules': 'model.offload_modules',
  '--overlap-grad-reduce': 'ddp.overlap_grad_reduce',
  '--overlap-param-gather': 'ddp.overlap_param_gather optimizer.overlap_param_gather',
  '--tp-comm-overlap': 'model.tp_comm_overlap',
  '--overlap-moe-expert-parallel-comm': 'model.overlap_moe_expert_parallel_comm',
  '--use-sharp': 'dist.use_sharp',
  '--distributed-timeout-minutes': 'dist.distributed_timeout_minutes',
  '--nccl-communicator-config-path': 'dist.nccl_communicator_config_path',
  '--softmax-type': 'model.softmax_type',
  '--no-check-for-nan-in-loss-and-grad': 'rerun_state_machine.check_for_nan_in_loss ddp.check_for_nan_in_grad',
  '--train-iters': 'train.train_iters',
  '--global-batch-size': 'train.global_batch_size',
  '--micro-batch-size': 'train.micro_batch_size',
  '--eval-iters': 'train.eval_iters',
  '--exit-signal-handler': 'train.exit_signal_handler',
  '--lr': 'optimizer.lr',
  '--min-lr': 'optimizer.min_lr',
  '--lr-warmup-iters': 'scheduler.lr_warmup_iters',
  '--lr-decay-iters': 'scheduler.lr_decay_iters',
  '--lr-decay-style': 'scheduler.lr_decay_style',
  '--lr-wsd-decay-style': 'scheduler.lr_wsd_decay_style',
  '--lr-wsd-decay-iters': 'scheduler.lr_wsd_decay_iters',
  '--weight-decay': 'optimizer.weight_decay scheduler.start_weight_decay scheduler.end_weight_decay',
  '--adam-beta1': 'optimizer.adam_beta1',
  '--adam-beta2': 'optimizer.adam_beta2',
  '--adam-eps': 'optimizer.adam_eps',
  '--sgd-momentum': 'optimizer.sgd_momentum',
  '--muon-momentum': 'optimizer.muon_momentum',
  '--clip-grad': 'optimizer.clip_grad',
  '--log-interval': 'logger.log_interval',
  '--split': 'dataset.split',
  '--tokenizer-type': 'tokenizer.tokenizer_type',
  '--tokenizer-model': 'tokenizer.tokenizer_model',
  '--vocab-size': 'tokenizer.vocab_size',
  '--save': 'checkpoint.save',
  '--save-interval': 'checkpoint.save_interval',
  '--ckpt-format': 'checkpoint.ckpt_format',
  '--dist-ckpt-optim-fully-reshardable': 'checkpoint.dist_ckpt_optim_fully_reshardable',
  '--async-save': 'checkpoint.async_save',
  '--use-persistent-ckpt-worker': 'checkpoint.use_persistent_ckpt_worker',
  '--non-persistent-save-interval': 'checkpoint.non_persistent_save_interval',
  '--non-persistent-ckpt-type': 'checkpoint.non_persistent_ckpt_type',
  '--non-persistent-local-ckpt-dir': 'checkpoint.non_persistent_local_ckpt_dir',
  '--replication': 'checkpoint.replication',
  '--replication-factor': 'checkpoint.replication_factor',
  '--replication-jump': 'checkpoint.replication_jump',
  '--pretrained-checkpoint': 'checkpoint.pretrained_checkpoint',
};

const TORCH_TYPES: Readonly<Record<string, string>> = {
  fp32: 'float32',
  fp16: 'float16',
  bf16: 'bfloat16',
  fp8: 'uint8',
};
const inTorch = (values: readonly string[]): Json => ({ dtype: TORCH_TYPES[values[0] ?? ''] ?? '' });

/** Flags whose field has another form. An empty result: another field sets it. */
const FORMS: Readonly<Record<string, (values: readonly string[], job: MegatronJob) => Settings>> = {
  '--group-query-attention': () => ({}),
  '--spec': () => ({}),
  // The class that makes the model, and its functions, are rendered beside the settings.
  '--multi-latent-attention': () => ({ 'model.multi_latent_attention': true }),
  // There is a table of positions for the tokens of a sample; one of another length is refused.
  '--max-position-embeddings': () => ({}),
  // The flag of the parser is the opposite of the field.
  '--untie-embeddings-and-output-weights': () => ({ 'model.share_embeddings_and_output_weights': false }),
  '--window-size': ([window = '']) => ({ 'model.window_size': { tuple: window.split(',').map(Number) } }),
  '--window-attn-skip-freq': ([every]) => ({ 'model.window_attn_skip_freq': Number(every) }),
  '--moe-layer-freq': (_text, { shape }) => ({ 'model.moe_layer_freq': layersWithExperts(shape) }),
  '--attention-backend': ([name = '']) => ({ 'model.attention_backend': { attention: name } }),
  '--exp-avg-dtype': (values) => ({ 'optimizer.exp_avg_dtype': inTorch(values) }),
  '--exp-avg-sq-dtype': (values) => ({ 'optimizer.exp_avg_sq_dtype': inTorch(values) }),
  '--main-grads-dtype': (values) => ({ 'optimizer.main_grads_dtype': inTorch(values) }),
  // Graphs need random numbers of Transformer Engine, which the parser's validation turns on (GPTModelProvider.provide asserts it).
  '--cuda-graph-impl': ([name = '']) => ({
    'model.cuda_graph_impl': name,
    'model.use_te_rng_tracker': true,
    'rng.te_rng_tracker': true,
  }),
  '--cuda-graph-scope': (scopes) => ({ 'model.cuda_graph_scope': scopes }),
  '--cuda-graph-modules': (modules) => ({ 'model.cuda_graph_modules': modules }),
  '--deterministic-mode': () => ({ 'model.deterministic_mode': true, 'model.cross_entropy_loss_fusion': false }),
  // The parser fuses accumulation by default, which the deferred gradient needs. Models of Megatron-Bridge fuse where they can, and hybrids do not.
  '--defer-embedding-wgrad-compute': () => ({
    'model.defer_embedding_wgrad_compute': true,
    'model.gradient_accumulation_fusion': true,
  }),
  '--no-overlap-p2p-communication': () => ({ 'model.overlap_p2p_comm': false, 'model.batch_p2p_comm': true }),
  '--seed': ([seed]) => ({ 'rng.seed': Number(seed), 'dataset.random_seed': Number(seed) }),
  '--rampup-batch-size': (values) => ({ 'train.rampup_batch_size': values.map(Number) }),
  '--mock-data': () => ({ 'dataset.blend': null }),
  '--data-path': (parts) => ({ 'dataset.blend': blend(parts) }),
  ...Object.fromEntries(
    // precision.ts sets these together.
    [
      ...['--bf16', '--fp16', '--fp8-format', '--fp8-recipe', '--fp4-format', '--fp4-recipe'],
      ...['--accumulate-allreduce-grads-in-fp32', '--grad-reduce-in-bf16'],
    ].map((flag) => [flag, (): Settings => ({})]),
  ),
};

/** Lists of one, where the field wants the one. */
const ALONE = new Set(['--cp-comm-type', '--moe-router-load-balancing-type', '--moe-aux-loss-coeff']);

function layersWithExperts(shape: MegatronJob['shape']): Json {
  const dense = shape?.experts?.denseLayers ?? 0;
  return Array.from({ length: shape?.layers ?? 0 }, (_, layer) => (layer < dense ? 0 : 1));
}

/** Prefixes, and weights where there are any (megatron/core/datasets/utils.py, get_blend_from_list). */
function blend(parts: readonly string[]): Json {
  if (parts.length === 1) return { tuple: [parts, null] };
  const prefixes = parts.filter((_, index) => index % 2 === 1);
  const weights = parts.filter((_, index) => index % 2 === 0).map(Number);
  return { tuple: [prefixes, weights] };
}

/** The fields that a flag sets; undefined if the configuration has no equivalent. */
export function settingsOfFlag({ flag, values }: Flag, job: MegatronJob): Settings | undefined {
  const form = FORMS[flag];
  if (form !== undefined) return form(values, job);
  const option = job.release.options.get(flag);
  const places = PLACES[flag]?.split(' ');
  if (option === undefined || places === undefined) return undefined;
  const value = valueOf(option, { values, isAlone: ALONE.has(flag) });
  return Object.fromEntries(places.map((path) => [path, value]));
}

function valueOf(
  { arity, kind }: Option,
  { values, isAlone }: { readonly values: readonly string[]; readonly isAlone: boolean },
): Json {
  if (arity === 0) return kind !== 'false';
  const read = values.map((value) => (kind === 'int' || kind === 'float' ? Number(value) : value));
  return arity === 1 || isAlone ? (read[0] ?? null) : read;
}

/** Where a form sets something for any values. */
const FORMED: Readonly<Record<string, string>> = {
  '--untie-embeddings-and-output-weights': 'model.share_embeddings_and_output_weights',
  '--multi-latent-attention': 'model.multi_latent_attention',
  '--window-size': 'model.window_size',
  '--window-attn-skip-freq': 'model.window_attn_skip_freq',
  '--moe-layer-freq': 'model.moe_layer_freq',
  '--attention-backend': 'model.attention_backend',
  '--exp-avg-dtype': 'optimizer.exp_avg_dtype',
  '--exp-avg-sq-dtype': 'optimizer.exp_avg_sq_dtype',
  '--main-grads-dtype': 'optimizer.main_grads_dtype',
  '--cuda-graph-impl': 'model.cuda_graph_impl model.use_te_rng_tracker rng.te_rng_tracker',
  '--cuda-graph-scope': 'model.cuda_graph_scope',
  '--cuda-graph-modules': 'model.cuda_graph_modules',
  '--deterministic-mode': 'model.deterministic_mode model.cross_entropy_loss_fusion',
  '--defer-embedding-wgrad-compute': 'model.defer_embedding_wgrad_compute model.gradient_accumulation_fusion',
  '--no-overlap-p2p-communication': 'model.overlap_p2p_comm model.batch_p2p_comm',
  '--seed': 'rng.seed dataset.random_seed',
  '--rampup-batch-size': 'train.rampup_batch_size',
  '--mock-data': 'dataset.blend',
  '--data-path': 'dataset.blend',
};

/** The fields that the flag sets; none where there are none. */
export function fieldsOfFlag(flag: string): readonly string[] {
  return (PLACES[flag] ?? FORMED[flag])?.split(' ') ?? [];
}

/** Flags that set the field: what of the user's settings the job decides. */
export function flagsOfField(path: string): readonly string[] {
  return [...Object.keys(PLACES), ...Object.keys(FORMED)].filter((flag) => fieldsOfFlag(flag).includes(path));
}
