/** How programs spell the degrees by which they divide their ranks: one table for options, overrides, configuration files and variables. */

/** What an option of a program says about the layout. */
export type DegreeField =
  | 'tensor'
  | 'pipeline'
  | 'context'
  | 'expert'
  | 'expertTensor'
  | 'data'
  | 'shard'
  | 'replicate'
  | 'zeroStage'
  | 'fsdp'
  | 'sequenceParallel'
  | 'distributedOptimizer';

/** Normalised names (lower case, `_`, without what stands before the last dot), by field. */
const SPELLINGS: Readonly<Record<DegreeField, readonly string[]>> = {
  tensor: [
    'tensor_model_parallel_size',
    'tensor_model_parallel_degree',
    'tensor_parallel_size',
    'tensor_parallel_degree',
    'tensor_parallelism',
    'tensor_parallel',
    'model_parallel_size',
    'model_parallel',
    'autotp_size',
    'tp_size',
    'parallelism_config_tp_size',
    'tp_degree',
    'tp',
  ],
  pipeline: [
    'pipeline_model_parallel_size',
    'pipeline_model_parallel_degree',
    'pipeline_parallel_size',
    'pipeline_parallel_degree',
    'pipeline_parallelism',
    'pipe_parallel_size',
    'pipeline_parallel',
    'pp_size',
    'pp_degree',
    'pp',
  ],
  context: [
    'context_parallel_size',
    'context_parallel_degree',
    'context_parallelism',
    'context_parallel',
    'parallelism_config_cp_size',
    'cp_size',
    'cp_degree',
    'cp',
    'ds_sequence_parallel_size',
    'sequence_parallel_size',
    'sequence_parallel_degree',
    'ulysses_sequence_parallel_size',
    'ulysses_degree',
    'sp_size',
  ],
  expert: [
    'expert_model_parallel_size',
    'expert_model_parallel_degree',
    'expert_parallel_size',
    'expert_parallel_degree',
    'expert_parallelism',
    'expert_parallel',
    'moe_expert_parallel_size',
    'ep_size',
    'ep_degree',
    'ep',
  ],
  expertTensor: [
    'expert_tensor_parallel_size',
    'expert_tensor_parallel_degree',
    'expert_tensor_parallelism',
    'etp_size',
    'etp',
  ],
  data: ['data_parallel_size', 'data_parallel_degree', 'dp_size', 'dp_degree', 'dp'],
  shard: [
    'parallelism_config_dp_shard_size',
    'data_parallel_shard_degree',
    'dp_shard_size',
    'dp_shard_degree',
    'dp_shard',
    'fsdp_parallel_size',
  ],
  replicate: [
    'parallelism_config_dp_replicate_size',
    'data_parallel_replicate_degree',
    'dp_replicate_size',
    'dp_replicate_degree',
    'dp_replicate',
    'num_replicas',
  ],
  zeroStage: ['accelerate_deepspeed_zero_stage', 'zero_stage', 'zero_optimization_stage', 'ds_zero_stage'],
  fsdp: ['fsdp_sharding_strategy', 'sharding_strategy', 'fsdp', 'fsdp_reshard_after_forward'],
  sequenceParallel: ['sequence_parallel'],
  distributedOptimizer: ['use_distributed_optimizer'],
};

const FIELD_BY_NAME: ReadonlyMap<string, DegreeField> = new Map(
  Object.entries(SPELLINGS).flatMap(([field, names]) => names.map((name) => [name, field as DegreeField])),
);
/** Fields without a value are switches. */
const SWITCHES: ReadonlySet<DegreeField> = new Set(['sequenceParallel', 'distributedOptimizer']);
/** Too short or too general to be read outside of an option, an override or a configuration that is about parallelism. */
const VAGUE = /^(?:fsdp|model_parallel|num_replicas|sharding_strategy)$/;

/** One degree as a program is given it. */
export interface SpelledDegree {
  readonly field: DegreeField;
  /** As it is written: `--tensor-model-parallel-size 4`. */
  readonly written: string;
  readonly value: string;
}

/** The field that a name spells; undefined for other names. */
export function degreeField(name: string): DegreeField | undefined {
  return FIELD_BY_NAME.get(normalised(name));
}

function normalised(name: string): string {
  return name
    .replace(/^[+~-]+/, '')
    .replace(/^.*[./]/, '')
    .replaceAll('-', '_')
    .toLowerCase();
}

/** Degrees among the words of a program: options with a value in this or the next word, switches, and overrides such as `model.tp=8`. */
export function spelledDegrees(words: readonly string[]): readonly SpelledDegree[] {
  return words.flatMap((word, index) => {
    const [, name = '', value] = /^((?:--?|\+{1,2})?[A-Za-z_][\w./-]*)(?:=([^]*))?$/.exec(word) ?? [];
    const field = degreeField(name);
    if (field === undefined) return [];
    if (value !== undefined) return [{ field, written: word, value }];
    if (!name.startsWith('-')) return [];
    const next = words[index + 1];
    const isSwitch = SWITCHES.has(field) && !/^(?:true|false|[01])$/i.test(next ?? '');
    if (isSwitch) return [{ field, written: word, value: 'true' }];
    return next === undefined ? [] : [{ field, written: `${word} ${next}`, value: next }];
  });
}

/** Degrees among variables of the program: `TP=8`, `TENSOR_PARALLEL_SIZE=8`. */
export function degreesOfVariables(
  variables: readonly { readonly name: string; readonly value: string }[],
): readonly SpelledDegree[] {
  return variables.flatMap(({ name, value }) => {
    const field = VAGUE.test(normalised(name)) ? undefined : degreeField(name);
    const isRead = /^-?\d+$/.test(value) || (field === 'fsdp' && /^[A-Za-z_]+$/.test(value));
    return field === undefined || !isRead ? [] : [{ field, written: `${name}=${value}`, value }];
  });
}
