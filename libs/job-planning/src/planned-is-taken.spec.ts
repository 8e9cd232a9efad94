/** What the planner answers for an engine without knowing a job, put to the adapter of that engine. */
import { effectiveSpec, type TrainingJobSpec } from '@coxswain/api-types';
import { aPlannedJobSpec } from '@coxswain/api-types/testing';
import { engineRefusal, layoutRefusal } from '@coxswain/engines';
import { parsePlanRequest, plan, type Plan, type PlanRequestInput } from '@coxswain/planner';

type Asked = Pick<PlanRequestInput, 'precision' | 'cluster'> & { readonly model: string };

const SEQUENCE = 4096;
const BATCH = 256;

type Engine = 'megatron-lm' | 'megatron-bridge' | 'torchtitan' | 'deepspeed' | 'hugging-face';

/** Engines that start a program of the user's. */
const STARTERS: readonly Engine[] = ['deepspeed', 'hugging-face'];

function plansFor(engine: Engine, asked: Asked): readonly Plan[] {
  const request = { ...asked, stack: engine, globalBatchSize: BATCH, sequenceLength: SEQUENCE, top: 12 };
  return plan(parsePlanRequest(request), { withAdvice: false }).plans;
}

function engineNamed(name: Engine): TrainingJobSpec['engine'] {
  return { name, image: 'i', ...(STARTERS.includes(name) ? { command: ['python', 'train.py'] } : {}) };
}

/** Why not, as the adapter says it; undefined where it takes the plan. */
function whyRefused(
  engine: TrainingJobSpec['engine'],
  model: string,
  { layout, microBatchSize }: Plan,
): string | undefined {
  const { gpus: _asked, ...rest } = aPlannedJobSpec({
    engine,
    model: { preset: model, sequenceLength: SEQUENCE },
    training: { steps: 10, globalBatchSize: BATCH, microBatchSize },
    data: { format: 'mock' },
    checkpoint: undefined,
  });
  const spec = effectiveSpec({ ...rest, layout }, undefined);
  if (spec === undefined) return 'it is no job';
  return layoutRefusal(spec) ?? engineRefusal(spec)?.why;
}

const on = (gpu: string, gpus: number): Asked['cluster'] => ({ gpu, gpus });

describe('every plan is one that its engine can run', () => {
  it.each<[Engine, Asked]>([
    ['megatron-bridge', { model: 'qwen3-30b-a3b', precision: 'mxfp8', cluster: on('b200', 8) }],
    ['megatron-bridge', { model: 'qwen3-30b-a3b', precision: 'mxfp8', cluster: on('gb300', 16) }],
    ['megatron-bridge', { model: 'qwen3-30b-a3b', precision: 'nvfp4', cluster: on('b200', 16) }],
    ['megatron-bridge', { model: 'qwen3-30b-a3b', precision: 'bf16', cluster: on('gb200', 16) }],
    ['megatron-bridge', { model: 'qwen3-235b-a22b', precision: 'mxfp8', cluster: on('gb200', 64) }],
    ['megatron-bridge', { model: 'gpt-oss-120b', precision: 'mxfp8', cluster: on('gb200', 32) }],
    ['megatron-bridge', { model: 'deepseek-v3', precision: 'mxfp8', cluster: on('gb300', 256) }],
    ['megatron-bridge', { model: 'llama-3.1-8b', precision: 'mxfp8', cluster: on('b200', 8) }],
    ['megatron-lm', { model: 'qwen3-30b-a3b', precision: 'mxfp8', cluster: on('gb200', 16) }],
    ['megatron-lm', { model: 'qwen3-30b-a3b', precision: 'fp8', cluster: on('h100', 16) }],
    ['megatron-lm', { model: 'llama-3.1-70b', precision: 'fp8', cluster: on('h100', 64) }],
    ['megatron-lm', { model: 'llama-3.1-70b', precision: 'bf16', cluster: on('h100', 64) }],
    ['torchtitan', { model: 'llama-3.1-70b', cluster: on('mi300x', 64) }],
    ['torchtitan', { model: 'llama-3.1-8b', cluster: on('h100', 48) }],
    ['torchtitan', { model: 'qwen3-30b-a3b', cluster: on('h100', 16) }],
    ['deepspeed', { model: 'llama-3.1-8b', cluster: on('h100', 16) }],
    ['deepspeed', { model: 'qwen3-30b-a3b', cluster: on('h100', 16) }],
    ['deepspeed', { model: 'llama-2-7b', cluster: on('a100-pcie-40gb', 4) }],
    ['deepspeed', { model: 'llama-3.1-70b', cluster: on('h100', 64) }],
    ['hugging-face', { model: 'llama-3.1-8b', cluster: on('h100', 16) }],
    ['hugging-face', { model: 'qwen3-30b-a3b', cluster: on('h200', 16) }],
    ['hugging-face', { model: 'llama-3.1-70b', cluster: on('h200', 64) }],
  ])('of %s: %j', (name, asked) => {
    const plans = plansFor(name, asked);
    const refused = plans.flatMap((one) => whyRefused(engineNamed(name), asked.model, one) ?? []);
    expect(plans.length).toBeGreaterThan(2);
    expect(refused).toEqual([]);
  });

  it('beside experts in MXFP8 in one graph of the whole step, told with its format', () => {
    const [best] = plansFor('megatron-bridge', { model: 'deepseek-v3', precision: 'mxfp8', cluster: on('gb200', 256) });
    expect(best?.layout.kernel).toEqual({ cudaGraphs: 'full', precision: 'mxfp8' });
    expect(best?.layout.expert?.dispatcher).toBe('hybridep');
  });
});
