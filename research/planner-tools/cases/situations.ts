/** Situations for `planner:cases`: published jobs and common questions. This file is data, with one entry per situation. */
import type { PlanRequestInput } from '@coxswain/planner';

/** A request to the planner, and the answer that is published or expected for it. */
export interface Situation {
  readonly title: string;
  readonly request: PlanRequestInput;
  /** How it was run and how long a step took, as its source tells; absent: a question without a published answer. */
  readonly published?: { readonly layout: string; readonly stepS: number; readonly source: string };
  /** The expected answer, if nothing is published. */
  readonly expected?: string;
}

type Cluster = PlanRequestInput['cluster'];

/** Global batch and tokens of a sample. */
type Batch = readonly [samples: number, tokens: number];

function request(
  model: string,
  [gpu, gpus, cluster = {}]: readonly [gpu: string, gpus: number, more?: Partial<Cluster>],
  [globalBatchSize, sequenceLength]: Batch,
  rest: Partial<PlanRequestInput> = {},
): PlanRequestInput {
  return { model, globalBatchSize, sequenceLength, top: 2, ...rest, cluster: { gpu, gpus, ...cluster } };
}

const MEGATRON = { stack: 'megatron-lm core_v0.15' } as const;
const MEGATRON_2021 = { stack: 'megatron-lm 2021', precision: 'fp16' } as const;
const BRIDGE = { stack: 'megatron-bridge 26.04' } as const;
const TITAN = { stack: 'torchtitan' } as const;
const SC21 = 'Narayanan et al. 2021, table 1';
const RECOMPUTE = 'Korthikanti et al. 2022, table 5';
const PERFORMANCE = 'Megatron-Bridge performance summary';
const MLPERF = 'MLPerf Training';

/** All situations, in the order in which they are printed. */
export const SITUATIONS: readonly Situation[] = [
  {
    title: 'GPT 1.7B on 32 A100',
    request: request('gpt-1.7b', ['a100', 32], [512, 2048], MEGATRON_2021),
    published: { layout: 'tp1 x dp32, micro-batch 16, full recomputation', stepS: 3.53, source: SC21 },
  },
  {
    title: 'GPT 3.6B on 64 A100',
    request: request('gpt-3.6b', ['a100', 64], [512, 2048], MEGATRON_2021),
    published: { layout: 'tp2 x dp32, micro-batch 16, full recomputation', stepS: 3.7, source: SC21 },
  },
  {
    title: 'GPT 39B on 512 A100',
    request: request('gpt-39b', ['a100', 512], [1536, 2048], MEGATRON_2021),
    published: { layout: 'tp8 x dp32 x pp2, micro-batch 4, full recomputation', stepS: 14.5, source: SC21 },
  },
  {
    title: 'GPT 310B on 1,920 A100',
    request: request('gpt-310b', ['a100', 1920], [2160, 2048], MEGATRON_2021),
    published: { layout: 'tp8 x dp15 x pp16, 2 chunks, full recomputation', stepS: 37.6, source: SC21 },
  },
  {
    title: 'GPT 22B on 8 A100, a batch of four',
    request: request('gpt-22b', ['a100', 8], [4, 2048], { ...MEGATRON, precision: 'fp16' }),
    published: { layout: 'tp8, micro-batch 4, core attention again', stepS: 1.1, source: RECOMPUTE },
  },
  {
    title: 'GPT-3 on 64 A100',
    request: request('gpt3-175b', ['a100', 64], [64, 2048], { ...MEGATRON, precision: 'fp16' }),
    published: { layout: 'tp8 x pp8, 3 chunks', stepS: 18.1, source: RECOMPUTE },
  },
  {
    title: 'One trillion parameters on 512 A100',
    request: request('megatron-1t', ['a100', 512], [512, 2048], { ...MEGATRON, precision: 'fp16' }),
    published: { layout: 'tp8 x pp64', stepS: 94.4, source: RECOMPUTE },
  },
  {
    title: 'GPT-3 on 1,024 A100',
    request: request('gpt3-175b', ['a100', 1024], [1536, 2048], MEGATRON),
    published: {
      layout: '140 TFLOP/s per GPU',
      stepS: 23.1,
      source: 'Narayanan et al. 2021, section 5.1, from its rate',
    },
  },
  {
    title: 'GPT-3 on 512 H100 in fp8',
    request: request('gpt3-175b', ['h100', 512], [2048, 2048], { ...BRIDGE, precision: 'fp8' }),
    published: { layout: 'tp4 x dp16 x pp8, 12 chunks', stepS: 12.1, source: `${MLPERF} 3.0` },
  },
  {
    title: 'GPT-3 on 10,240 H100 in fp8',
    request: request('gpt3-175b', ['h100', 10_240], [2560, 2048], { ...BRIDGE, precision: 'fp8' }),
    published: { layout: 'tp4 x dp320 x pp8, 12 chunks', stepS: 0.926, source: `${MLPERF} 3.1` },
  },
  {
    title: 'Llama 3.1 405B on 1,024 H100 in fp8',
    request: request('llama-3.1-405b', ['h100', 1024], [1536, 8192], { ...BRIDGE, precision: 'fp8' }),
    published: { layout: 'tp8 x cp2 x dp8 x pp8, 8 chunks', stepS: 37.7, source: PERFORMANCE },
  },
  {
    title: 'Llama 3.1 405B on 512 H200 in fp8',
    request: request('llama-3.1-405b', ['h200', 512], [1152, 8192], { ...BRIDGE, precision: 'fp8' }),
    published: { layout: 'tp4 x cp2 x dp8 x pp8, 8 chunks', stepS: 50, source: `${MLPERF} 5.0` },
  },
  {
    title: 'Llama 3.1 405B on 512 GPUs of GB200 NVL72 in fp8',
    request: request('llama-3.1-405b', ['gb200', 512], [896, 8192], { ...BRIDGE, precision: 'fp8' }),
    published: { layout: 'tp4 x cp2 x dp8 x pp8, 8 chunks', stepS: 19.3, source: `${MLPERF} 5.0` },
  },
  {
    title: 'Llama 3.1 405B on 128 B200 in fp8, a batch of 64',
    request: request('llama-3.1-405b', ['b200', 128], [64, 8192], { ...BRIDGE, precision: 'fp8' }),
    published: { layout: 'tp4 x cp2 x dp2 x pp8, 8 chunks', stepS: 6.2, source: PERFORMANCE },
  },
  {
    title: 'Llama 3.1 8B on 8 H100 in fp8',
    request: request('llama-3.1-8b', ['h100', 8], [128, 8192], { ...BRIDGE, precision: 'fp8' }),
    published: { layout: 'dp8, micro-batch 1', stepS: 9.07, source: PERFORMANCE },
  },
  {
    title: 'Llama 3.1 8B on 8 GPUs of GB200 NVL72 in fp8',
    request: request('llama-3.1-8b', ['gb200', 8], [128, 8192], { ...BRIDGE, precision: 'fp8' }),
    published: { layout: 'dp8, micro-batch 2', stepS: 4.16, source: PERFORMANCE },
  },
  {
    title: 'Llama 3.1 8B on 128 H100 in fp8, a batch of 64',
    request: request('llama-3.1-8b', ['h100', 128], [64, 8192], { ...BRIDGE, precision: 'fp8' }),
    published: { layout: 'tp2 x dp64', stepS: 0.485, source: `${MLPERF} 5.1` },
  },
  {
    title: 'Qwen3 30B-A3B on 16 H100 in fp8',
    request: request('qwen3-30b-a3b', ['h100', 16], [1024, 4096], { ...BRIDGE, precision: 'fp8' }),
    published: { layout: 'dp16, ep16, micro-batch 1', stepS: 29.7, source: PERFORMANCE },
  },
  {
    title: 'Qwen3 235B-A22B on 256 H100 in fp8',
    request: request('qwen3-235b-a22b', ['h100', 256], [8192, 4096], { ...BRIDGE, precision: 'fp8' }),
    published: { layout: 'tp2 x dp16 x pp8, ep32, 4 chunks', stepS: 76.6, source: PERFORMANCE },
  },
  {
    title: 'GPT-OSS 120B on 64 H100',
    request: request('gpt-oss-120b', ['h100', 64], [1280, 4096], BRIDGE),
    published: { layout: 'dp16 x pp4, ep8', stepS: 14.1, source: PERFORMANCE },
  },
  {
    title: 'DeepSeek-V3 on 1,024 H100 in fp8',
    request: request('deepseek-v3', ['h100', 1024], [8192, 4096], { ...BRIDGE, precision: 'fp8' }),
    published: { layout: 'tp2 x dp64 x pp8, ep64, 4 chunks', stepS: 25.3, source: PERFORMANCE },
  },
  {
    title: 'DeepSeek-V3 on 256 GPUs of GB200 NVL72 in mxfp8',
    request: request('deepseek-v3', ['gb200', 256], [4096, 4096], { ...BRIDGE, precision: 'mxfp8' }),
    published: { layout: 'dp64 x pp4, ep64, 4 chunks', stepS: 13.3, source: PERFORMANCE },
  },
  {
    title: 'Moonlight 16B-A3B on 8 H100, a batch of four',
    request: request('moonlight-16b-a3b', ['h100', 8], [4, 4096], BRIDGE),
    published: { layout: 'tp2 x dp4, ep8', stepS: 0.457, source: 'Megatron-Bridge activation recomputation guide' },
  },
  {
    title: 'Llama 3.1 8B on one H100',
    request: request('llama-3.1-8b', ['h100', 1], [64, 4096], MEGATRON),
    expected: 'it fits with the optimizer on the host alone',
  },
  {
    title: 'Llama 2 7B on 8 A100',
    request: request('llama-2-7b', ['a100', 8], [256, 4096], TITAN),
    expected: 'sharded data parallelism, no pipeline',
  },
  {
    title: 'Llama 2 7B on 8 RTX 4090',
    request: request('llama-2-7b', ['rtx-4090', 8], [64, 2048], TITAN),
    expected: 'all states sharded; PCIe makes tensor parallelism dear',
  },
  {
    title: 'Llama 3.1 8B on 127 H100',
    request: request('llama-3.1-8b', ['h100', 127], [128, 8192], MEGATRON),
    expected: 'no legal layout, and GPUs or a batch that would do',
  },
  {
    title: 'Llama 3.1 8B on 100 H100',
    request: request('llama-3.1-8b', ['h100', 100], [256, 8192], MEGATRON),
    expected: 'a batch that 100 divides, or 96 or 64 GPUs',
  },
  {
    title: 'Llama 3.1 70B on 1,000 H100, a batch of 1,024',
    request: request('llama-3.1-70b', ['h100', 1000], [1024, 8192], MEGATRON),
    expected: 'a batch of 1,000, or 960 GPUs',
  },
  {
    title: 'Llama 3.1 70B on 64 H100',
    request: request('llama-3.1-70b', ['h100', 64], [512, 8192], MEGATRON),
    expected: 'tensor groups of 4 or 8 in a node and a short pipeline',
  },
  {
    title: 'Llama 3.1 8B with 128k tokens on 64 H100',
    request: request('llama-3.1-8b', ['h100', 64], [32, 131_072], MEGATRON),
    expected: 'context parallelism',
  },
  {
    title: 'Llama 3.1 70B with 32k tokens on 256 H100',
    request: request('llama-3.1-70b', ['h100', 256], [128, 32_768], MEGATRON),
    expected: 'context or tensor parallelism of 8 in a node',
  },
  {
    title: 'Llama 3.1 8B on 8 nodes of a tiny cluster over 10 Gb/s Ethernet',
    request: request(
      'llama-3.1-8b',
      [
        'a100',
        16,
        {
          gpusPerNode: 2,
          scaleUpDomainGpus: 2,
          scaleOutGbPerS: 0.625,
          nicKind: 'ethernet',
        },
      ],
      [128, 4096],
      MEGATRON,
    ),
    expected: 'a pipeline across the nodes, since gradients would take most of a step',
  },
  {
    title: 'GPT 39B over two islands of 256 A100, InfiniBand and RoCE, joined by 25 Gb/s',
    request: request(
      'gpt-39b',
      [
        'a100',
        512,
        {
          islands: [
            { gpus: 256, nicKind: 'infiniband' },
            { gpus: 256, nicKind: 'roce' },
          ],
          betweenIslandsGbPerS: 3.125,
        },
      ],
      [1536, 2048],
      MEGATRON,
    ),
    expected: 'the pipeline alone crosses the islands (Holmes)',
  },
  {
    title: 'Mixtral 8x7B on 64 H800',
    request: request('mixtral-8x7b', ['h800', 64], [512, 4096], MEGATRON),
    expected: 'experts over the GPUs of a node',
  },
  {
    title: 'Llama 3.1 8B on 8 MI300X',
    request: request('llama-3.1-8b', ['mi300x', 8], [128, 8192], TITAN),
    expected: 'data parallelism; 192 GB hold all of it',
  },
  {
    title: 'Llama 2 70B on 32 V100 of 16 GB',
    request: request('llama-2-70b', ['v100-sxm2-16gb', 32], [64, 2048], { ...MEGATRON, precision: 'fp16' }),
    expected: 'nothing fits without the host',
  },
  {
    title: 'Qwen3 8B on 16 H200',
    request: request('qwen3-8b', ['h200', 16], [256, 8192], TITAN),
    expected: 'data parallelism',
  },
  {
    title: 'Llama 3.1 405B on 64 H100',
    request: request('llama-3.1-405b', ['h100', 64], [64, 8192], MEGATRON),
    expected: 'it does not fit, or with the optimizer on the host',
  },
  {
    title: 'Llama 3.1 8B in bf16 on 64 H100 PCIe',
    request: request('llama-3.1-8b', ['h100-pcie-80gb', 64], [256, 8192], MEGATRON),
    expected: 'less tensor parallelism than on SXM',
  },
];
