/** Searches that the benchmark times: how large, and how fast they should be. */
import type { PlanRequestInput } from '@coxswain/planner';

export interface SearchCase {
  readonly name: string;
  readonly request: PlanRequestInput;
  /** Bar in seconds of CPU time; absent where there is none. */
  readonly atMostS?: number;
}

export const SEARCH_CASES: readonly SearchCase[] = [
  {
    name: 'Llama 3.1 70B, 512 H100',
    request: {
      model: 'llama-3.1-70b',
      cluster: { gpu: 'h100', gpus: 512 },
      globalBatchSize: 1024,
      sequenceLength: 8192,
    },
  },
  {
    name: 'Megatron 1T, 3,072 A100, any engine',
    request: {
      model: 'megatron-1t',
      cluster: { gpu: 'a100-80gb', gpus: 3072 },
      globalBatchSize: 3072,
      sequenceLength: 2048,
    },
    atMostS: 1,
  },
  {
    name: 'Megatron 1T, 3,072 A100, Megatron-LM',
    request: {
      model: 'megatron-1t',
      cluster: { gpu: 'a100-80gb', gpus: 3072 },
      globalBatchSize: 3072,
      sequenceLength: 2048,
      stack: 'megatron-lm',
    },
    atMostS: 1,
  },
  {
    name: 'DeepSeek-V3, 16,384 H100, any engine',
    request: {
      model: 'deepseek-v3',
      cluster: { gpu: 'h100', gpus: 16_384 },
      globalBatchSize: 16_384,
      sequenceLength: 4096,
    },
    atMostS: 3,
  },
  {
    name: 'DeepSeek-V3, 16,384 H100, Megatron-Bridge',
    request: {
      model: 'deepseek-v3',
      cluster: { gpu: 'h100', gpus: 16_384 },
      globalBatchSize: 16_384,
      sequenceLength: 4096,
      stack: 'megatron-bridge',
    },
    atMostS: 3,
  },
];
