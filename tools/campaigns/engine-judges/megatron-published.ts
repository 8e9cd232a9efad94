/** Published models that are more than their sizes, as jobs for Megatron-LM: scaled positions, norms of queries and keys, biases, latent attention. */
import { TrainingJobSpec, type TrainingJobSpecInput } from '@coxswain/api-types';
import { type JudgedJob, judgedSpec, type MegatronRelease } from '@coxswain/engines/testing';

const LLAMA = {
  model_type: 'llama',
  hidden_size: 2048,
  intermediate_size: 8192,
  num_hidden_layers: 16,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: 128_256,
  rope_theta: 500_000,
  rms_norm_eps: 1e-5,
};
const OF_LLAMA_3_2 = {
  rope_type: 'llama3',
  factor: 32,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
};

/** What each is judged for, which a job that is judged without would not show. */
const PUBLISHED: readonly (readonly [string, Omit<NonNullable<TrainingJobSpecInput['model']>, 'sequenceLength'>])[] = [
  ['--use-rope-scaling', { preset: 'llama-3.1-8b' }],
  ['--rope-scaling-factor', { huggingFace: { ...LLAMA, rope_scaling: OF_LLAMA_3_2 } }],
  ['--qk-layernorm', { preset: 'qwen3-8b' }],
  ['--add-qkv-bias', { huggingFace: { ...LLAMA, model_type: 'qwen2' } }],
  ['--norm-epsilon', { huggingFace: LLAMA }],
  ['--rotary-scaling-factor', { preset: 'deepseek-v2-lite' }],
  ['--mscale-all-dim', { preset: 'deepseek-v3' }],
];

const layout = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 2 };

/** Throws if an option is not passed: nothing would check it. */
export function publishedJobs(release: MegatronRelease): readonly JudgedJob[] {
  return PUBLISHED.map(([option, model]) => {
    const spec = TrainingJobSpec.parse({
      engine: { name: 'megatron-lm', image: 'x', release: release.tag },
      model: { ...model, sequenceLength: 4096 },
      training: { steps: 100, globalBatchSize: 64, microBatchSize: 1 },
      data: { format: 'mock' },
      checkpoint: { claimName: 'checkpoints' },
      layout,
    });
    const job = judgedSpec(`published ${JSON.stringify(model).slice(0, 48)} for ${option}`, {
      spec: { ...spec, layout },
      release,
    });
    if (!job.args.includes(option)) throw new Error(`${job.name}: option not passed to ${release.tag}`);
    return job;
  });
}
