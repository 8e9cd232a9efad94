import { SCHEDULES } from '../facts.ts';
import type { AllowedChoices } from '../contract.ts';
import { plan } from '../questions/plan.ts';
import { choicesOfEngine, engineOfStack, plannedGradientsOf, unsupportedDegreesOf } from './engine-choices.ts';
import { parsePlanRequest } from './parse-plan-request.ts';

describe('the choices of an engine', () => {
  it.each([
    ['megatron-lm core_v0.15', 'megatron-lm'],
    ['megatron-bridge 26.04', 'megatron-bridge'],
    ['nemo mlperf 5.1', 'megatron-bridge'],
    ['torchtitan', 'torchtitan'],
    ['nemo-rl', 'nemo-rl'],
    ['megatron-core', 'megatron-lm'],
    ['composer-fsdp', 'hugging-face'],
    ['fsdp2', 'hugging-face'],
    ['pytorch fsdp', 'hugging-face'],
    ['sailor', 'megatron-deepspeed'],
    ['oneflow', 'libai'],
    ['vocabulary-parallel', 'vocabulary-parallelism'],
    ['internevo', undefined],
    ['an engine nobody knows', undefined],
  ])('%s is engine %s', (stack, engine) => {
    expect(engineOfStack(stack)).toBe(engine);
  });

  it.each<[string, string | undefined, AllowedChoices, AllowedChoices['schedules']]>([
    ['everything where no engine is named', undefined, {}, undefined],
    ['the schedules that Megatron-LM has', 'megatron-lm 2022', {}, ['1f1b', 'interleaved-1f1b']],
    ['of those that the caller allows, the ones it has', 'megatron-lm 2022', { schedules: ['1f1b', 'zbv'] }, ['1f1b']],
    ['what the caller allows where the engine has none of it', 'megatron-lm 2022', { schedules: ['zbv'] }, ['zbv']],
  ])('are %s', (_sentence, stack, allow, want) => {
    expect(choicesOfEngine(stack, allow).schedules).toEqual(want);
  });

  it.each<[string, string, AllowedChoices, AllowedChoices['zeroStages']]>([
    ['TorchTitan shards all or nothing', 'torchtitan', {}, [0, 3]],
    ['Megatron-LM has every stage, 2 and 3 by Megatron-FSDP', 'megatron-lm core_v0.19', {}, [0, 1, 2, 3]],
    ['of those that the caller allows, the ones it has', 'torchtitan', { zeroStages: [2, 3] }, [3]],
  ])('are ZeRO stages: %s', (_sentence, stack, allow, want) => {
    expect(choicesOfEngine(stack, allow).zeroStages).toEqual(want);
  });

  it.each<[string, string, AllowedChoices, AllowedChoices['recompute']]>([
    ['TorchTitan recomputes every layer or chooses by itself', 'torchtitan 0.2', {}, ['none', 'operations', 'full']],
    ['Transformers every layer or none', 'hugging-face', {}, ['none', 'full']],
    ['DeepSpeed the same', 'deepspeed', {}, ['none', 'full']],
    ['LiBai the same', 'oneflow', {}, ['none', 'full']],
    ['none at all where an engine has no word for it', 'rcm', {}, ['none']],
    ['Megatron-LM can be told modules', 'megatron-lm core_v0.15', {}, undefined],
    ['of those that the caller allows, the ones it has', 'torchtitan', { recompute: ['norms', 'full'] }, ['full']],
    ['none by operations with another', 'megatron-lm', { recompute: ['operations', 'full'] }, ['full']],
    ['what the caller allows where the engine has none of it', 'torchtitan', { recompute: ['norms'] }, ['norms']],
  ])('are what is computed again: %s', (_sentence, stack, allow, want) => {
    expect(choicesOfEngine(stack, allow).recompute).toEqual(want);
  });

  it.each<[string, string, AllowedChoices['rankOrders']]>([
    ['Megatron-LM puts the pipeline outermost, or data', 'megatron-lm core_v0.19', ['tp-cp-dp-pp', 'tp-cp-pp-dp']],
    ['Megatron-Bridge the same', 'megatron-bridge 26.04', ['tp-cp-dp-pp', 'tp-cp-pp-dp']],
    ['TorchTitan has one', 'torchtitan', ['tp-cp-dp-pp']],
    ['a program of the user’s own any', 'custom', undefined],
  ])('are orders of ranks: %s', (_sentence, stack, want) => {
    expect(choicesOfEngine(stack, {}).rankOrders).toEqual(want);
  });

  it.each([
    ['megatron-bridge', undefined],
    ['torchtitan', false],
    ['hugging-face', false],
  ])('let %s hold optimizer states in host memory: %s', (stack, want) => {
    expect(choicesOfEngine(stack, {}).offload).toBe(want);
  });

  it.each<[string, readonly string[]]>([
    ['megatron-lm core_v0.19', []],
    ['torchtitan', ['expertTensor']],
    ['composer-fsdp', ['tensor', 'context', 'pipeline', 'expert', 'expertTensor']],
    ['hugging-face', ['tensor', 'context', 'pipeline', 'expert', 'expertTensor']],
    ['an engine nobody knows', []],
  ])('leave whole to %s: %j', (stack, want) => {
    expect(unsupportedDegreesOf(stack)).toEqual(want);
  });

  it.each([
    ['megatron-bridge 26.04', {}, 'bf16'],
    ['nemo mlperf 5.1', {}, 'bf16'],
    ['megatron-bridge 26.04', { gradientPrecision: 'fp32' }, 'fp32'],
    ['megatron-lm core_v0.19', {}, 'fp32'],
    ['megatron-lm core_v0.19', { precision: 'fp16' }, 'fp16'],
    ['an unknown engine', {}, 'fp32'],
  ] as const)('%s with %j sums gradients in %s', (stack, asked, format) => {
    expect(plannedGradientsOf({ stack, precision: 'bf16', ...asked })).toBe(format);
  });

  it('hold for a plan: Megatron-LM is never told a zero-bubble schedule', () => {
    const request = parsePlanRequest({
      model: 'llama-3.1-8b',
      cluster: { gpu: 'h100', gpus: 16 },
      globalBatchSize: 32,
      sequenceLength: 4096,
      stack: 'megatron-lm core_v0.15',
      pinned: { pipeline: 4 },
    });
    const answer = plan(request);
    const schedules = answer.plans.map(({ layout }) => layout.pipeline?.schedule);
    expect(schedules.length).toBeGreaterThan(0);
    expect(SCHEDULES).toEqual(expect.arrayContaining(schedules));
    for (const schedule of schedules) expect(['1f1b', 'interleaved-1f1b']).toContain(schedule);
  });
  it('hold for a plan: Trainer divides the batch and nothing else', () => {
    const request = parsePlanRequest({
      model: 'llama-3.1-8b',
      cluster: { gpu: 'h100', gpus: 8 },
      globalBatchSize: 32,
      sequenceLength: 4096,
      stack: 'hugging-face',
    });
    const degrees = plan(request).plans.map(({ layout }) => [layout.dataParallelDegree, layout.contextParallelDegree]);
    expect(degrees.length).toBeGreaterThan(0);
    for (const choice of degrees) expect(choice).toEqual([8, undefined]);
  });
  it('hold for a plan: DeepSpeed divides no experts beside ZeRO stage 3', () => {
    const request = parsePlanRequest({
      model: 'qwen3-30b-a3b',
      cluster: { gpu: 'h100', gpus: 16 },
      globalBatchSize: 64,
      sequenceLength: 8192,
      stack: 'deepspeed',
      top: 10,
    });
    const stages = plan(request, { withAdvice: false }).plans.map(
      ({ layout }) => [layout.expert?.expertParallelDegree ?? 1, layout.states?.zeroStage] as const,
    );
    expect(stages.length).toBeGreaterThan(0);
    expect(stages.filter(([experts, zeroStage]) => experts > 1 && zeroStage === 3)).toEqual([]);
  });
});
