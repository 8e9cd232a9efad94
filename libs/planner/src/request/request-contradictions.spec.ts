import type { PlanRequestInput } from '../contract.ts';
import { assumptionsOf } from '../answer/assumptions.ts';
import type { Precision } from '../facts.ts';
import { parsePlanRequest } from './parse-plan-request.ts';
import { resolveRequest } from './resolved-request.ts';

const resolve = ([model, gpu]: readonly [string, string], change: Partial<PlanRequestInput>) =>
  resolveRequest(
    parsePlanRequest({ model, cluster: { gpu, gpus: 64 }, globalBatchSize: 512, sequenceLength: 4096, ...change }),
  );

describe('a request that contradicts itself', () => {
  it.each<[string, [string, string], Partial<PlanRequestInput>, string]>([
    [
      'experts pinned on a model without',
      ['llama-3.1-8b', 'h100'],
      { pinned: { expert: 8 } },
      '/pinned/expert: expert 8 needs a model with experts, but the model has none; remove it',
    ],
    [
      'the tensor ranks of experts pinned on a model without',
      ['llama-3.1-8b', 'h100'],
      { pinned: { expertTensor: 2 } },
      '/pinned/expertTensor: expertTensor 2 needs a model with experts, but the model has none; remove it',
    ],
    [
      'a number that does not divide the experts',
      ['mixtral-8x7b', 'h100'],
      { pinned: { expert: 6 } },
      '/pinned/expert: expert 6 does not divide the 8 experts of the model; the nearest below is 4',
    ],
    [
      'packed documents on an engine whose attention spans the sample',
      ['llama-3.1-8b', 'h100'],
      { stack: 'megatron-lm core_v0.15.3', packing: { meanTokens: 500 } },
      '/packing: megatron-lm does not keep attention within documents: its causal attention kernels of Transformer Engine ignore document masks, so tokens would attend to other documents; use engine torchtitan (v0.3.0 or later), hugging-face with a script of TRL, or custom, whose program reads job.json; or remove training.packing',
    ],
    [
      'packed documents on TorchTitan by TOML',
      ['llama-3.1-8b', 'h100'],
      { stack: 'torchtitan v0.2.2', packing: {} },
      '/packing: torchtitan does not keep attention within documents: its model flavours mask causally over the whole sample; use engine torchtitan (v0.3.0 or later), hugging-face with a script of TRL, or custom, whose program reads job.json; or remove training.packing',
    ],
    [
      'four bits on Hopper',
      ['llama-3.1-8b', 'h100'],
      { precision: 'nvfp4' },
      '/precision: NVIDIA H100 SXM5 80 GB does not support nvfp4; use one of fp32, fp16, bf16, fp8',
    ],
    [
      'eight bits on Ampere',
      ['llama-3.1-8b', 'a100'],
      { precision: 'fp8' },
      '/precision: NVIDIA A100 SXM4 80 GB does not support fp8; use one of fp32, fp16, bf16',
    ],
    [
      'a format of 16 bits that came with Ampere, on Volta',
      ['llama-3.1-8b', 'v100-32gb'],
      { precision: 'bf16' },
      '/precision: NVIDIA V100 SXM2 32 GB does not support bf16; use one of fp32, fp16',
    ],
    [
      'a degree that the engine cannot be told',
      ['llama-3.1-8b', 'h100'],
      { stack: 'hugging-face', pinned: { tensor: 2 } },
      '/pinned/tensor: hugging-face does not support tensor 2; remove it, or name another engine with stack',
    ],
    [
      'a schedule that the engine has not',
      ['llama-3.1-8b', 'h100'],
      { stack: 'megatron-lm', pinned: { schedule: 'zbv' } },
      '/pinned/schedule: engine megatron-lm does not support pipeline.schedule zbv; use interleaved-1f1b, or engine torchtitan or',
    ],
    [
      'a ZeRO stage that the engine has not',
      ['llama-3.1-8b', 'h100'],
      { stack: 'torchtitan', pinned: { zeroStage: 1 } },
      '/pinned/zeroStage: engine torchtitan does not support states.zeroStage 1; use 3, or engine megatron-lm or',
    ],
    [
      'a format that the engine has not',
      ['llama-3.1-8b', 'h100'],
      { stack: 'deepspeed', precision: 'fp8' },
      '/precision: engine deepspeed does not support kernel.precision fp8; use bf16, or engine megatron-lm or',
    ],
    [
      'chunks that the schedule has not',
      ['llama-3.1-8b', 'h100'],
      { pinned: { schedule: 'zbv', chunks: 4 } },
      '/pinned/chunks: schedule zbv needs 2 chunks per rank, not 4; remove one of them',
    ],
    [
      'one chunk that would be interleaved',
      ['llama-3.1-8b', 'h100'],
      { pinned: { schedule: 'interleaved-1f1b', chunks: 1 } },
      '/pinned/chunks: schedule interleaved-1f1b needs more than 1 chunks per rank, not 1; remove one of them',
    ],
    [
      'a schedule without a pipeline',
      ['llama-3.1-8b', 'h100'],
      { pinned: { schedule: 'zbv', pipeline: 1 } },
      '/pinned/pipeline: schedule zbv needs at least 2 pipeline stages, but pipeline is 1; remove one of them',
    ],
    [
      'chunks without a pipeline',
      ['llama-3.1-8b', 'h100'],
      { pinned: { chunks: 2, pipeline: 1 } },
      '/pinned/pipeline: chunks 2 needs at least 2 pipeline stages, but pipeline is 1; remove one of them',
    ],
  ])('is refused with %s', (_, on, change, message) => {
    expect(() => resolve(on, change)).toThrow(message);
  });

  it.each<[string, [string, string], Partial<PlanRequestInput>]>([
    ['one expert rank of a model without experts', ['llama-3.1-8b', 'h100'], { pinned: { expert: 1 } }],
    ['expert ranks that divide', ['mixtral-8x7b', 'h100'], { pinned: { expert: 4 } }],
    ['eight bits on Hopper', ['llama-3.1-8b', 'h100'], { precision: 'fp8' }],
    ['two chunks of a V', ['llama-3.1-8b', 'h100'], { pinned: { schedule: 'zbv', chunks: 2 } }],
    ['the plain schedule of no pipeline', ['llama-3.1-8b', 'h100'], { pinned: { schedule: '1f1b', pipeline: 1 } }],
    ['the precision of a program of the user’s', ['llama-3.1-8b', 'h100'], { stack: 'command', precision: 'bf16' }],
    ['eight bits of Composer', ['llama-3.1-8b', 'h100'], { stack: 'composer-fsdp', precision: 'fp8' }],
    ['one tensor rank', ['llama-3.1-8b', 'h100'], { stack: 'hugging-face', pinned: { tensor: 1 } }],
    ['four bits on Blackwell', ['llama-3.1-8b', 'b200'], { precision: 'nvfp4' }],
  ])('is no contradiction: %s', (_, on, change) => {
    expect(() => resolve(on, change)).not.toThrow();
  });

  it.each<[string, string, Partial<PlanRequestInput>, Precision]>([
    ['bf16', 'h100', {}, 'bf16'],
    ['fp16 before Ampere', 't4', {}, 'fp16'],
    [
      'fp16 where one island is before Ampere',
      'a100',
      { cluster: { gpu: 'a100', gpus: 64, islands: [{ gpus: 32 }, { gpus: 32, gpu: 'v100' }] } },
      'fp16',
    ],
  ])('nobody says a format: %s', (_, gpu, change, precision) => {
    expect(resolve(['llama-3.1-8b', gpu], change).run.precision).toBe(precision);
  });

  it('is told that nobody said a format, and what was taken', () => {
    expect(assumptionsOf(resolve(['llama-3.1-8b', 't4'], {}))).toContain('fp16, because t4-16gb does not support bf16');
  });
});
