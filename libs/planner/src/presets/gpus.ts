/**
 * Accelerators the planner knows, with what an ordinary machine of each holds. This file is data: it is as long as there are types of GPU.
 *
 * Peaks are the vendor's dense figures (no sparsity). `matmulCeiling` is the largest measured bf16 product over that peak (mamf-finder,
 * "accelerator benchmarks" of stas00/ml-engineering). If none is published, it is that of the most similar GPU, noted in `assumed`.
 * `memoryGib` is what the driver reports (nvidia-smi, rocm-smi), which is less than the vendor's round figure. Scale-up bandwidth is
 * per GPU and direction, half of the vendor's bidirectional sum. Every value without a publication is listed in `assumed`.
 *
 * More than 400 lines: a table with a row per GPU.
 */
import type { NicKind } from '@coxswain/layout';
import type { GpuFacts } from '../facts.ts';
import { namedOf, type Named } from './named.ts';

/** A GPU with a usual machine. */
export interface GpuPreset extends GpuFacts, Named {
  readonly title: string;
  readonly gpusPerNode: number;
  /** Scale-out bandwidth per GPU and direction, Gb/s: the NICs of one node over its GPUs. */
  readonly nicGbps: number;
  readonly nicKind: NicKind;
  /** Whether the GPU has no bf16 products. */
  readonly lacksBf16?: true;
  /** Host memory that the GPUs of one node share. */
  readonly hostMemoryGibPerNode: number;
  readonly source: string;
  /** Values without a published figure. */
  readonly assumed: readonly string[];
}

/**
 * `usdPerHour` is an assumption for comparing plans, not an offer: round on-demand figures per GPU as clouds listed them in 2026,
 * between the hyperscalers' list prices and the specialised clouds'. A request may state its own.
 */
export const PRICE_BASIS =
  'assumed on-demand price per GPU and hour, round figures of 2026; state your own to override it';

const NVIDIA = 'NVIDIA data sheet';
const AMD = 'AMD Instinct data sheet';
const TPU = 'Google Cloud TPU system architecture pages (ICI and DCN per chip as in the JAX scaling book)';
/** PCIe 3, 4 and 5 with 16 lanes, GB/s per direction. */
const PCIE3 = 16;
const PCIE4 = 32;
const PCIE5 = 64;
/** The CPU of a superchip is reached over NVLink-C2C instead of PCIe. */
const C2C = 450;

const V100 = {
  hostMemoryGibPerNode: 512, // DGX-1
  silicon: 'gv100',
  bf16Tflops: 125, // fp16: Volta has no bf16 matrix units
  lacksBf16: true,
  fp8Tflops: 0,
  fp4Tflops: 0,
  matmulCeiling: 0.76,
  memoryTbPerS: 0.9,
  scaleUpGbPerS: 150,
  scaleUpDomainGpus: 8,
  pcieGbPerS: PCIE3,
  gpusPerNode: 8,
  nicGbps: 50, // 4 x 100 Gb/s for 8 GPUs
  nicKind: 'infiniband',
  source: `${NVIDIA}; NVLink 2 with six links of 25 GB/s`,
  assumed: ['matmulCeiling: about 95 of 125 TFLOP/s'],
} as const;

const A100 = {
  hostMemoryGibPerNode: 1024, // DGX A100 of 320 GB
  silicon: 'ga100',
  bf16Tflops: 312,
  fp8Tflops: 0,
  fp4Tflops: 0,
  matmulCeiling: 271 / 312,
  scaleUpGbPerS: 300,
  scaleUpDomainGpus: 8,
  pcieGbPerS: PCIE4,
  gpusPerNode: 8,
  nicGbps: 200, // DGX A100: 8 x 200 Gb/s HDR
  nicKind: 'infiniband',
  source: `${NVIDIA}; mamf-finder 271 TFLOP/s`,
  assumed: [],
} as const;

/** Cards in slots: NVLink bridges join pairs, beyond a pair traffic takes PCIe and the host. */
const PCIE_CARD = {
  scaleUpDomainGpus: 2,
  nicGbps: 100, // 1 to 4 NICs of 200-400 Gb/s for 8 GPUs
  hostMemoryGibPerNode: 1024,
  assumed: ['NVLink bridges between pairs', 'nicGbps', 'hostMemoryGibPerNode'],
} as const;
/** Of the clock that SXM modules hold under load, what a card's power leaves (250 to 300 W of 400; 500 of 700). Assumptions. */
const A100_PCIE_CLOCK = 0.87;
const POWER_CAPPED_CLOCK = 0.85;

const HOPPER = {
  hostMemoryGibPerNode: 2048, // DGX H100
  silicon: 'gh100',
  bf16Tflops: 989,
  fp8Tflops: 1979,
  fp4Tflops: 0,
  matmulCeiling: 795 / 989,
  memoryGib: 81559 / 1024,
  memoryTbPerS: 3.35,
  scaleUpGbPerS: 450,
  scaleUpDomainGpus: 8,
  pcieGbPerS: PCIE5,
  gpusPerNode: 8,
  nicGbps: 400,
  nicKind: 'infiniband',
  source: `${NVIDIA}; mamf-finder 795 TFLOP/s`,
  assumed: [] as readonly string[],
} as const;

/**
 * Both have 96 GB of HBM3. Drivers name them by the LPDDR5X of their CPU, less the sixteenth that error correction takes. That is 120 GB if four share a
 * board (128 less a sixteenth, as in Alps), and 480 GB in machines of one.
 */
const GRACE_HOPPER = {
  ...HOPPER,
  memoryGib: 97871 / 1024,
  memoryTbPerS: 4,
  pcieGbPerS: C2C,
  usdPerHour: 3,
  assumed: ['matmulCeiling of H100, the same silicon'],
} as const;

/** Ada cards: no NVLink, PCIe through the host. */
const ADA_CARD = {
  silicon: 'ad102',
  fp4Tflops: 0,
  scaleUpGbPerS: PCIE4,
  scaleUpDomainGpus: 8,
  pcieGbPerS: PCIE4,
  gpusPerNode: 8,
  hostMemoryGibPerNode: 1024,
  nicGbps: 50, // one port of 400 Gb/s, or two of 200
  nicKind: 'roce',
  source: NVIDIA,
  assumed: ['matmulCeiling: large products are bound by power', 'nicGbps', 'hostMemoryGibPerNode'],
} as const;

/** Ampere cards of the graphics chip, one NIC for a node of four or eight. */
const GA102_CARD = {
  silicon: 'ga102',
  fp8Tflops: 0,
  fp4Tflops: 0,
  scaleUpGbPerS: PCIE4,
  scaleUpDomainGpus: 8,
  pcieGbPerS: PCIE4,
  gpusPerNode: 8,
  hostMemoryGibPerNode: 768,
  nicGbps: 12.5, // one port of 100 Gb/s
  nicKind: 'ethernet',
  source: NVIDIA,
  assumed: ['matmulCeiling: large products are bound by power', 'nicGbps', 'hostMemoryGibPerNode'],
} as const;
/** NVLink bridges of A40 and RTX A6000 join pairs with 112.5 GB/s both ways. */
const GA102_BRIDGE = { scaleUpGbPerS: 56.25, scaleUpDomainGpus: 2 } as const;

const BLACKWELL = {
  hostMemoryGibPerNode: 2048, // DGX B200
  memoryTbPerS: 8,
  scaleUpGbPerS: 900,
  pcieGbPerS: PCIE5,
  nicKind: 'infiniband',
  fp4Tflops: 9000,
} as const;

const INSTINCT = {
  hostMemoryGibPerNode: 2048,
  fp4Tflops: 0,
  scaleUpDomainGpus: 8,
  pcieGbPerS: PCIE5,
  gpusPerNode: 8,
  nicGbps: 400,
  nicKind: 'roce',
  assumed: [] as readonly string[],
} as const;

const ICI = {
  hostMemoryGibPerNode: 384,
  fp8Tflops: 0,
  fp4Tflops: 0,
  matmulCeiling: 0.9,
  pcieGbPerS: PCIE4,
  gpusPerNode: 4,
  nicKind: 'ethernet',
  source: TPU,
  assumed: ['matmulCeiling: a systolic array fed with large matrices'],
} as const;

/** Every GPU preset. A name or alias means the first preset that has it. */
export const GPU_PRESETS: readonly GpuPreset[] = [
  {
    name: 'p100-sxm2-16gb',
    hostMemoryGibPerNode: 512,
    silicon: 'gp100',
    title: 'NVIDIA P100 SXM2 16 GB',
    aliases: ['p100', 'p100-16gb', 'P100-SXM2-16GB', 'Tesla-P100-SXM2-16GB'],
    bf16Tflops: 21.2, // fp16 on plain cores: Pascal has no matrix units
    lacksBf16: true,
    fp8Tflops: 0,
    fp4Tflops: 0,
    matmulCeiling: 0.85,
    memoryGib: 16280 / 1024,
    memoryTbPerS: 0.732,
    scaleUpGbPerS: 80, // NVLink 1: four links of 20
    scaleUpDomainGpus: 8,
    pcieGbPerS: PCIE3,
    gpusPerNode: 8,
    nicGbps: 50,
    nicKind: 'infiniband',
    usdPerHour: 0.4,
    source: `${NVIDIA}; NVLink 1`,
    assumed: ['matmulCeiling'],
  },
  {
    ...V100,
    name: 'v100-sxm2-16gb',
    title: 'NVIDIA V100 SXM2 16 GB',
    aliases: ['v100', 'v100-16', 'v100-16gb', 'V100-SXM2-16GB', 'Tesla-V100-SXM2-16GB'],
    memoryGib: 16160 / 1024,
    usdPerHour: 0.6,
  },
  {
    ...V100,
    name: 'v100-sxm2-32gb',
    title: 'NVIDIA V100 SXM2 32 GB',
    aliases: ['v100-32', 'v100-32gb', 'V100-SXM2-32GB', 'Tesla-V100-SXM2-32GB', 'V100-SXM3-32GB'],
    memoryGib: 32510 / 1024,
    usdPerHour: 0.8,
  },
  {
    ...V100,
    name: 'v100-class',
    title: 'V100-class GPU of an unnamed test machine',
    aliases: ['GPU not stated', 'GPU not stated (V100-class)', 'GPU not stated in doc (OneFlow CI, V100-class)'],
    memoryGib: 32510 / 1024,
    usdPerHour: 0.6,
    assumed: [...V100.assumed, 'the GPU itself, published without a name; 32 GB, because it ran layouts that need 23'],
  },
  {
    ...A100,
    name: 'a100-sxm4-40gb',
    title: 'NVIDIA A100 SXM4 40 GB',
    aliases: ['a100-40', 'a100-40gb', 'A100-SXM4-40GB', 'NVIDIA-A100-SXM4-40GB'],
    memoryGib: 40960 / 1024,
    memoryTbPerS: 1.555,
    usdPerHour: 1.4,
  },
  {
    ...A100,
    name: 'a100-sxm4-80gb',
    hostMemoryGibPerNode: 2048, // DGX A100 of 640 GB
    title: 'NVIDIA A100 SXM4 80 GB',
    aliases: ['a100', 'a100-80', 'a100-80gb', 'a100-sxm', 'A100-SXM4-80GB', 'NVIDIA-A100-SXM4-80GB'],
    memoryGib: 81920 / 1024,
    memoryTbPerS: 2.039,
    usdPerHour: 2,
  },
  {
    ...A100,
    ...PCIE_CARD,
    name: 'a100-pcie-40gb',
    title: 'NVIDIA A100 PCIe 40 GB',
    aliases: ['a100-pcie-40', 'A100-PCIE-40GB', 'NVIDIA-A100-PCIE-40GB'],
    matmulCeiling: A100.matmulCeiling * A100_PCIE_CLOCK,
    memoryGib: 40960 / 1024,
    memoryTbPerS: 1.555,
    usdPerHour: 1.2,
    source: NVIDIA,
    assumed: [...PCIE_CARD.assumed, 'matmulCeiling: of A100 SXM, less what 250 W leave'],
  },
  {
    ...A100,
    ...PCIE_CARD,
    name: 'a100-pcie-80gb',
    title: 'NVIDIA A100 PCIe 80 GB',
    aliases: ['a100-pcie', 'A100-PCIE-80GB', 'NVIDIA-A100-PCIe', 'NVIDIA-A100-80GB-PCIe'],
    matmulCeiling: A100.matmulCeiling * A100_PCIE_CLOCK,
    memoryGib: 81920 / 1024,
    memoryTbPerS: 1.935,
    usdPerHour: 1.7,
    source: NVIDIA,
    assumed: [...PCIE_CARD.assumed, 'matmulCeiling: of A100 SXM, less what 300 W leave'],
  },
  {
    ...A100,
    ...PCIE_CARD,
    name: 'a30-pcie-24gb',
    title: 'NVIDIA A30 PCIe 24 GB',
    aliases: ['a30', 'A30-24GB', 'NVIDIA-A30'],
    bf16Tflops: 165,
    matmulCeiling: A100.matmulCeiling * A100_PCIE_CLOCK,
    memoryGib: 24576 / 1024,
    memoryTbPerS: 0.933,
    scaleUpGbPerS: 100,
    usdPerHour: 0.7,
    source: NVIDIA,
    assumed: [...PCIE_CARD.assumed, 'matmulCeiling of A100 PCIe, the same silicon'],
  },
  {
    ...A100,
    name: 'a800-sxm4-80gb',
    hostMemoryGibPerNode: 2048,
    title: 'NVIDIA A800 SXM4 80 GB',
    aliases: ['a800', 'a800-80gb', 'A800-SXM4-80GB', 'NVIDIA-A800-SXM4-80GB'],
    memoryGib: 81920 / 1024,
    memoryTbPerS: 2.039,
    scaleUpGbPerS: 200,
    usdPerHour: 1.6,
    source: `${A100.source}; NVLink cut to 400 GB/s`,
    assumed: ['matmulCeiling of A100, the same silicon'],
  },
  {
    ...HOPPER,
    name: 'h100-sxm5-80gb',
    title: 'NVIDIA H100 SXM5 80 GB',
    aliases: ['h100', 'h100-80', 'h100-80gb', 'h100-sxm', 'h100-sxm5', 'H100-SXM5-80GB', 'NVIDIA-H100-80GB-HBM3'],
    usdPerHour: 3,
  },
  {
    ...HOPPER,
    name: 'h100-sxm5-96gb-500w',
    title: 'NVIDIA H100 SXM5 96 GB, capped at 500 W',
    aliases: ['h100-96gb', 'h100-96', 'H100-SXM5-96GB', 'H100-96GB-500W', 'NVIDIA-H100-96GB-HBM2e'],
    matmulCeiling: HOPPER.matmulCeiling * POWER_CAPPED_CLOCK,
    memoryGib: 97871 / 1024,
    memoryTbPerS: 2.4,
    usdPerHour: 2.8,
    source: `${NVIDIA}; HBM2e of 2.4 TB/s and 500 W: TorchTitan's asyncTP_llama3_h100_2025-06 benchmark`,
    assumed: ['matmulCeiling: 85 % of that at 700 W, as large products are bound by power'],
  },
  {
    ...HOPPER,
    name: 'h100-pcie-80gb',
    title: 'NVIDIA H100 PCIe 80 GB',
    aliases: ['h100-pcie', 'H100-PCIe-80GB', 'NVIDIA-H100-PCIe'],
    bf16Tflops: 756,
    fp8Tflops: 1513,
    memoryTbPerS: 2,
    scaleUpGbPerS: 300,
    scaleUpDomainGpus: 2, // NVLink bridges join pairs; beyond a pair traffic takes PCIe
    nicGbps: 100, // 1 to 4 NICs of 200-400 Gb/s for 8 GPUs
    usdPerHour: 2.4,
    source: NVIDIA,
    assumed: ['matmulCeiling of H100 SXM', 'nicGbps'],
  },
  {
    ...HOPPER,
    name: 'h100-nvl-94gb',
    title: 'NVIDIA H100 NVL 94 GB',
    aliases: ['h100-nvl', 'H100-NVL-94GB', 'NVIDIA-H100-NVL'],
    bf16Tflops: 835,
    fp8Tflops: 1671,
    memoryGib: 95830 / 1024,
    memoryTbPerS: 3.9,
    scaleUpGbPerS: 300,
    scaleUpDomainGpus: 2,
    nicGbps: 200,
    usdPerHour: 2.6,
    source: NVIDIA,
    assumed: ['matmulCeiling of H100 SXM', 'nicGbps'],
  },
  {
    ...HOPPER,
    name: 'h800-sxm5-80gb',
    title: 'NVIDIA H800 SXM5 80 GB',
    aliases: ['h800', 'h800-sxm', 'H800-SXM5-80GB', 'NVIDIA-H800'],
    scaleUpGbPerS: 200,
    usdPerHour: 2.5,
    source: `${HOPPER.source}; NVLink cut to 400 GB/s`,
    assumed: ['matmulCeiling of H100, the same silicon'],
  },
  {
    ...HOPPER,
    name: 'h20-sxm-96gb',
    title: 'NVIDIA H20 96 GB',
    aliases: ['h20', 'H20-96GB', 'NVIDIA-H20'],
    bf16Tflops: 148,
    fp8Tflops: 296,
    matmulCeiling: 0.93,
    memoryGib: 97871 / 1024,
    memoryTbPerS: 4,
    usdPerHour: 1.6,
    source: NVIDIA,
    assumed: ['matmulCeiling: few matrix units, easily fed'],
  },
  {
    ...HOPPER,
    name: 'h20-sxm-141gb',
    title: 'NVIDIA H20 141 GB (H20-3e)',
    aliases: ['h20-3e', 'h20-141gb', 'NVIDIA-H20-3e'],
    bf16Tflops: 148,
    fp8Tflops: 296,
    matmulCeiling: 0.93,
    memoryGib: 143771 / 1024,
    memoryTbPerS: 4.8,
    usdPerHour: 1.9,
    source: NVIDIA,
    assumed: ['matmulCeiling: few matrix units, easily fed', 'memory of H200, the same stacks'],
  },
  {
    ...HOPPER,
    name: 'h200-sxm-141gb',
    title: 'NVIDIA H200 SXM 141 GB',
    aliases: ['h200', 'h200-sxm', 'H200-SXM-141GB', 'H200-SXM5-141GB', 'NVIDIA-H200'],
    memoryGib: 143771 / 1024,
    memoryTbPerS: 4.8,
    usdPerHour: 3.6,
    source: NVIDIA,
    assumed: ['matmulCeiling of H100, the same silicon'],
  },
  {
    ...HOPPER,
    name: 'h200-nvl-141gb',
    title: 'NVIDIA H200 NVL 141 GB',
    aliases: ['h200-nvl', 'H200-NVL-141GB', 'NVIDIA-H200-NVL'],
    bf16Tflops: 835,
    fp8Tflops: 1671,
    memoryGib: 143771 / 1024,
    memoryTbPerS: 4.8,
    scaleUpDomainGpus: 4, // NVLink bridges join two or four
    nicGbps: 200,
    usdPerHour: 3.2,
    source: NVIDIA,
    assumed: ['matmulCeiling of H100 SXM', 'bridges between four', 'nicGbps'],
  },
  {
    ...GRACE_HOPPER,
    name: 'gh200-96gb',
    hostMemoryGibPerNode: 4 * 120,
    title: 'NVIDIA GH200 96 GB, four in a node',
    aliases: ['gh200', 'gh200-120gb', 'GH200-96GB', 'NVIDIA-GH200-120GB'],
    scaleUpGbPerS: 450, // all-to-all among the four superchips of a node: three times 150
    scaleUpDomainGpus: 4,
    gpusPerNode: 4,
    nicGbps: 200, // Slingshot 11 of Alps
    nicKind: 'other',
    source: `${NVIDIA}; node of four as in Alps`,
  },
  {
    ...GRACE_HOPPER,
    name: 'gh200-480gb',
    hostMemoryGibPerNode: 480,
    title: 'NVIDIA GH200 96 GB, one in a node with 480 GB',
    aliases: ['NVIDIA-GH200-480GB'],
    scaleUpDomainGpus: 1,
    gpusPerNode: 1,
    source: `${NVIDIA}; numactl of such a machine in Linux commit 63db8170bf34: 490,037 MB beside 72 cores and 97,280 MB of HBM3`,
    assumed: [...GRACE_HOPPER.assumed, 'one superchip in a node, with one port of 400 Gb/s'],
  },
  {
    ...BLACKWELL,
    name: 'b200-sxm-180gb',
    silicon: 'gb100',
    title: 'NVIDIA B200 SXM 180 GB',
    aliases: ['b200', 'B200-SXM', 'B200-SXM6-180GB', 'NVIDIA-B200'],
    bf16Tflops: 2250,
    fp8Tflops: 4500,
    matmulCeiling: 1745 / 2250,
    memoryGib: 183359 / 1024,
    scaleUpDomainGpus: 8,
    gpusPerNode: 8,
    nicGbps: 400,
    usdPerHour: 5,
    source: `${NVIDIA}; mamf-finder 1,745 TFLOP/s`,
    assumed: [],
  },
  {
    ...BLACKWELL,
    name: 'b300-sxm-288gb',
    silicon: 'gb110',
    title: 'NVIDIA B300 SXM 288 GB',
    aliases: ['b300', 'B300-SXM', 'B300-SXM6', 'NVIDIA-B300-SXM6-AC'],
    bf16Tflops: 2250,
    fp8Tflops: 4500,
    fp4Tflops: 13500,
    matmulCeiling: 1769 / 2250,
    memoryGib: 275040 / 1024,
    scaleUpDomainGpus: 8,
    gpusPerNode: 8,
    nicGbps: 800,
    usdPerHour: 6,
    source: `${NVIDIA}; mamf-finder 1,769 TFLOP/s`,
    assumed: [],
  },
  {
    ...BLACKWELL,
    name: 'gb200-nvl72',
    hostMemoryGibPerNode: 960, // two Grace CPUs with 480 each
    silicon: 'gb100',
    title: 'NVIDIA GB200 NVL72 186 GB',
    aliases: ['gb200', 'GB200-NVL72', 'NVIDIA-GB200'],
    bf16Tflops: 2450,
    fp8Tflops: 4900,
    fp4Tflops: 9800,
    matmulCeiling: 1822 / 2450,
    memoryGib: 189471 / 1024,
    scaleUpDomainGpus: 72,
    pcieGbPerS: C2C / 2, // one Grace CPU serves two GPUs
    gpusPerNode: 4,
    nicGbps: 400,
    usdPerHour: 6,
    source:
      'peaks as NVIDIA dgxc-benchmarking uses them (marketing pages say 2,500 and 5,000); mamf-finder 1,822 TFLOP/s',
    assumed: [],
  },
  {
    ...BLACKWELL,
    name: 'gb300-nvl72',
    hostMemoryGibPerNode: 960, // two Grace CPUs with 480 each
    silicon: 'gb110',
    title: 'NVIDIA GB300 NVL72 288 GB',
    aliases: ['gb300', 'GB300-NVL72', 'NVIDIA-GB300'],
    bf16Tflops: 2450,
    fp8Tflops: 4900,
    fp4Tflops: 14700,
    matmulCeiling: 1769 / 2250,
    memoryGib: 284208 / 1024,
    scaleUpDomainGpus: 72,
    pcieGbPerS: C2C / 2,
    gpusPerNode: 4,
    nicGbps: 800,
    usdPerHour: 7,
    source: 'peaks as NVIDIA dgxc-benchmarking uses them',
    assumed: ['matmulCeiling: the share of its peak that B300 reaches, the same silicon with less power'],
  },
  {
    ...INSTINCT,
    name: 'mi250x',
    silicon: 'cdna2',
    title: 'AMD Instinct MI250X, one of its two dies, 64 GB', // drivers and device plugins count dies
    aliases: ['AMD-Instinct-MI250X', 'AMD_Instinct_MI250X', 'MI250X-64GB', 'mi250'],
    bf16Tflops: 191.5,
    fp8Tflops: 0,
    matmulCeiling: 0.8,
    memoryGib: 65520 / 1024,
    memoryTbPerS: 1.6,
    scaleUpGbPerS: 100, // two to four xGMI links of 50 to each neighbour
    pcieGbPerS: 36, // Infinity Fabric to the host
    hostMemoryGibPerNode: 512,
    nicGbps: 100, // four ports of 200 Gb/s for eight dies
    nicKind: 'other',
    usdPerHour: 0.8,
    source: `${AMD}; node of four cards as in Frontier and LUMI`,
    assumed: ['matmulCeiling', 'scaleUpGbPerS: links differ by pair'],
  },
  {
    ...INSTINCT,
    name: 'mi300x',
    silicon: 'cdna3',
    title: 'AMD Instinct MI300X 192 GB',
    aliases: ['AMD-Instinct-MI300X', 'AMD_Instinct_MI300X_OAM', 'MI300X-192GB', 'mi300'],
    bf16Tflops: 1307,
    fp8Tflops: 2614,
    matmulCeiling: 668 / 1307,
    memoryGib: 196592 / 1024,
    memoryTbPerS: 5.3,
    scaleUpGbPerS: 448, // seven xGMI links of 64
    usdPerHour: 2,
    source: `${AMD}; mamf-finder 668 TFLOP/s`,
  },
  {
    ...INSTINCT,
    name: 'mi325x',
    silicon: 'cdna3',
    title: 'AMD Instinct MI325X 256 GB',
    aliases: ['AMD-Instinct-MI325X', 'MI325X-256GB'],
    bf16Tflops: 1307,
    fp8Tflops: 2614,
    matmulCeiling: 785 / 1307,
    memoryGib: 262128 / 1024,
    memoryTbPerS: 6,
    scaleUpGbPerS: 448,
    usdPerHour: 2.4,
    source: `${AMD}; mamf-finder 785 TFLOP/s`,
  },
  {
    ...INSTINCT,
    name: 'mi355x',
    silicon: 'cdna4',
    title: 'AMD Instinct MI355X 288 GB',
    aliases: ['AMD-Instinct-MI355X', 'MI355X-288GB'],
    bf16Tflops: 2500,
    fp8Tflops: 5000,
    fp4Tflops: 10000,
    matmulCeiling: 1565 / 2500,
    memoryGib: 294896 / 1024,
    memoryTbPerS: 8,
    scaleUpGbPerS: 538, // seven xGMI links of 76.8
    usdPerHour: 3.2,
    source: `${AMD}; mamf-finder 1,565 TFLOP/s`,
  },
  {
    name: 'rtx-4090',
    hostMemoryGibPerNode: 256,
    silicon: 'ad102',
    title: 'NVIDIA GeForce RTX 4090',
    aliases: ['4090', 'rtx4090', 'RTX-4090-24GB', 'NVIDIA-GeForce-RTX-4090'],
    bf16Tflops: 165,
    fp8Tflops: 330,
    fp4Tflops: 0,
    matmulCeiling: 0.95,
    memoryGib: 24564 / 1024,
    memoryTbPerS: 1.008,
    scaleUpGbPerS: PCIE4, // no NVLink
    scaleUpDomainGpus: 8,
    pcieGbPerS: PCIE4,
    gpusPerNode: 8,
    nicGbps: 12.5,
    nicKind: 'ethernet',
    usdPerHour: 0.4,
    source: 'NVIDIA Ada architecture paper (fp32 accumulation)',
    assumed: ['matmulCeiling', 'nicGbps: one 100 Gb/s port for 8 GPUs'],
  },
  {
    ...ADA_CARD,
    name: 'l40s-48gb',
    title: 'NVIDIA L40S 48 GB',
    aliases: ['l40s', 'L40S-48GB', 'NVIDIA-L40S'],
    bf16Tflops: 362,
    fp8Tflops: 724,
    matmulCeiling: 0.75,
    memoryGib: 46068 / 1024,
    memoryTbPerS: 0.864,
    usdPerHour: 1,
  },
  {
    ...ADA_CARD,
    name: 'l40-48gb',
    title: 'NVIDIA L40 48 GB',
    aliases: ['l40', 'L40-48GB', 'NVIDIA-L40'],
    bf16Tflops: 181,
    fp8Tflops: 362,
    matmulCeiling: 0.9,
    memoryGib: 46068 / 1024,
    memoryTbPerS: 0.864,
    usdPerHour: 0.9,
  },
  {
    ...ADA_CARD,
    name: 'rtx-6000-ada-48gb',
    title: 'NVIDIA RTX 6000 Ada 48 GB',
    aliases: ['rtx-6000-ada', '6000-ada', 'RTX-6000-Ada-48GB', 'NVIDIA-RTX-6000-Ada-Generation'],
    bf16Tflops: 364,
    fp8Tflops: 728,
    matmulCeiling: 0.7,
    memoryGib: 49140 / 1024,
    memoryTbPerS: 0.96,
    usdPerHour: 0.9,
  },
  {
    ...ADA_CARD,
    name: 'l4-24gb',
    silicon: 'ad104',
    title: 'NVIDIA L4 24 GB',
    aliases: ['l4', 'L4-24GB', 'NVIDIA-L4'],
    bf16Tflops: 121,
    fp8Tflops: 242,
    matmulCeiling: 0.5,
    memoryGib: 23034 / 1024,
    memoryTbPerS: 0.3,
    scaleUpGbPerS: PCIE4,
    nicGbps: 12.5,
    nicKind: 'ethernet',
    usdPerHour: 0.6,
    assumed: [
      'matmulCeiling: 72 W hold about half of the clock',
      'nicGbps: 100 Gb/s for 8 GPUs',
      'hostMemoryGibPerNode',
    ],
  },
  {
    ...GA102_CARD,
    ...GA102_BRIDGE,
    name: 'a40-48gb',
    title: 'NVIDIA A40 48 GB',
    aliases: ['a40', 'A40-48GB', 'NVIDIA-A40'],
    bf16Tflops: 149.7,
    matmulCeiling: 0.8,
    memoryGib: 46068 / 1024,
    memoryTbPerS: 0.696,
    usdPerHour: 0.5,
    assumed: [...GA102_CARD.assumed, 'NVLink bridges between pairs'],
  },
  {
    ...GA102_CARD,
    ...GA102_BRIDGE,
    name: 'rtx-a6000-48gb',
    title: 'NVIDIA RTX A6000 48 GB',
    aliases: ['a6000', 'rtx-a6000', 'RTX-A6000-48GB', 'NVIDIA-RTX-A6000'],
    bf16Tflops: 154.8,
    matmulCeiling: 0.8,
    memoryGib: 49140 / 1024,
    memoryTbPerS: 0.768,
    usdPerHour: 0.5,
    assumed: [...GA102_CARD.assumed, 'NVLink bridges between pairs'],
  },
  {
    ...GA102_CARD,
    name: 'a10-24gb',
    title: 'NVIDIA A10 24 GB',
    aliases: ['a10', 'A10-24GB', 'NVIDIA-A10'],
    bf16Tflops: 125,
    matmulCeiling: 0.6,
    memoryGib: 23028 / 1024,
    memoryTbPerS: 0.6,
    gpusPerNode: 4,
    scaleUpDomainGpus: 4,
    usdPerHour: 0.5,
    assumed: [
      'matmulCeiling: 150 W leave about two thirds of the clock',
      'nicGbps: 50 Gb/s for 4 GPUs',
      'hostMemoryGibPerNode',
    ],
  },
  {
    ...GA102_CARD,
    name: 'a10g-24gb',
    title: 'NVIDIA A10G 24 GB',
    aliases: ['a10g', 'A10G-24GB', 'NVIDIA-A10G'],
    bf16Tflops: 70,
    matmulCeiling: 0.9,
    memoryGib: 23028 / 1024,
    memoryTbPerS: 0.6,
    usdPerHour: 0.7,
    assumed: ['matmulCeiling', 'nicGbps: 100 Gb/s for 8 GPUs, as in g5.48xlarge', 'hostMemoryGibPerNode'],
  },
  {
    ...GA102_CARD,
    name: 'rtx-3090',
    title: 'NVIDIA GeForce RTX 3090',
    aliases: ['3090', 'rtx3090', 'RTX-3090-24GB', 'NVIDIA-GeForce-RTX-3090'],
    bf16Tflops: 71,
    matmulCeiling: 0.9,
    memoryGib: 24576 / 1024,
    memoryTbPerS: 0.936,
    hostMemoryGibPerNode: 256,
    usdPerHour: 0.25,
    source: 'NVIDIA Ampere GA102 architecture paper (fp32 accumulation)',
    assumed: ['matmulCeiling', 'nicGbps: one 100 Gb/s port for 8 GPUs', 'hostMemoryGibPerNode'],
  },
  {
    name: 't4-16gb',
    hostMemoryGibPerNode: 384,
    silicon: 'tu104',
    title: 'NVIDIA T4 16 GB',
    aliases: ['t4', 'T4-16GB', 'Tesla-T4', 'NVIDIA-T4'],
    bf16Tflops: 65, // fp16: Turing has no bf16 matrix units
    lacksBf16: true,
    fp8Tflops: 0,
    fp4Tflops: 0,
    matmulCeiling: 0.45,
    memoryGib: 15360 / 1024,
    memoryTbPerS: 0.32,
    scaleUpGbPerS: PCIE3,
    scaleUpDomainGpus: 8,
    pcieGbPerS: PCIE3,
    gpusPerNode: 8,
    nicGbps: 12.5,
    nicKind: 'ethernet',
    usdPerHour: 0.35,
    source: NVIDIA,
    assumed: ['matmulCeiling: 70 W hold less than half of the clock', 'nicGbps', 'hostMemoryGibPerNode'],
  },
  {
    name: 'rtx-pro-6000-blackwell-96gb',
    hostMemoryGibPerNode: 1024,
    silicon: 'gb202',
    title: 'NVIDIA RTX PRO 6000 Blackwell 96 GB',
    aliases: ['rtx-pro-6000', 'RTX-PRO-6000-96GB', 'NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition'],
    bf16Tflops: 503.8,
    fp8Tflops: 1007.6,
    fp4Tflops: 2015,
    matmulCeiling: 0.8,
    memoryGib: 97887 / 1024,
    memoryTbPerS: 1.597,
    scaleUpGbPerS: PCIE5, // no NVLink
    scaleUpDomainGpus: 8,
    pcieGbPerS: PCIE5,
    gpusPerNode: 8,
    nicGbps: 200,
    nicKind: 'roce',
    usdPerHour: 1.8,
    source: 'NVIDIA RTX Blackwell PRO architecture paper (fp32 accumulation)',
    assumed: ['matmulCeiling', 'nicGbps: 4 x 400 Gb/s for 8 GPUs', 'hostMemoryGibPerNode'],
  },
  {
    name: 'rtx-2080-3090-titan-rtx',
    hostMemoryGibPerNode: 128,
    silicon: 'ga102',
    title: 'Mixed NVIDIA RTX 2080, RTX 3090 and Titan RTX',
    aliases: ['RTX-2080+RTX-3090+Titan-RTX'],
    lacksBf16: true, // RTX 2080 and Titan RTX
    bf16Tflops: 71, // RTX 3090 (Ampere GA102 paper, fp32 accumulation)
    fp8Tflops: 0,
    fp4Tflops: 0,
    matmulCeiling: 0.9,
    memoryGib: 8, // the smallest, RTX 2080, limits an even layout
    memoryTbPerS: 0.448,
    scaleUpGbPerS: PCIE3,
    scaleUpDomainGpus: 8,
    pcieGbPerS: PCIE3,
    gpusPerNode: 8,
    nicGbps: 3.125,
    nicKind: 'ethernet',
    usdPerHour: 0.15,
    source: 'NVIDIA Turing and Ampere GA102 architecture papers',
    assumed: ['a mixture planned as its slowest and smallest part', 'matmulCeiling', 'nicGbps: 25 Gb/s for 8 GPUs'],
  },
  {
    name: 'gaudi2',
    hostMemoryGibPerNode: 1024,
    silicon: 'gaudi2',
    title: 'Intel Gaudi 2',
    aliases: ['Gaudi2', 'Intel-Gaudi2-96GB', 'HL-225'],
    bf16Tflops: 432,
    fp8Tflops: 865,
    fp4Tflops: 0,
    matmulCeiling: 0.9,
    memoryGib: 96,
    memoryTbPerS: 2.45,
    scaleUpGbPerS: 262.5, // 21 of 24 Ethernet ports of 100 Gb/s stay in the node
    scaleUpDomainGpus: 8,
    pcieGbPerS: PCIE4,
    gpusPerNode: 8,
    nicGbps: 300, // the other three
    nicKind: 'roce',
    usdPerHour: 1.3,
    source: 'Intel Gaudi architecture documentation',
    assumed: ['matmulCeiling'],
  },
  {
    name: 'ascend-910',
    hostMemoryGibPerNode: 768,
    silicon: 'ascend-910',
    title: 'Huawei Ascend 910',
    aliases: ['Ascend 910', '910a', 'Ascend910A'],
    lacksBf16: true,
    bf16Tflops: 256, // fp16
    fp8Tflops: 0,
    fp4Tflops: 0,
    matmulCeiling: 0.85,
    memoryGib: 32,
    memoryTbPerS: 1.2,
    scaleUpGbPerS: 90, // HCCS, three links of 30 among four processors
    scaleUpDomainGpus: 8,
    pcieGbPerS: PCIE4,
    gpusPerNode: 8,
    nicGbps: 100,
    nicKind: 'roce',
    usdPerHour: 0.9,
    source: 'Liao et al. 2021 (HPCA, Ascend: a scalable and unified architecture)',
    assumed: ['matmulCeiling'],
  },
  {
    name: 'ascend-910b',
    hostMemoryGibPerNode: 1024,
    silicon: 'ascend-910b',
    title: 'Huawei Ascend 910B',
    aliases: ['Ascend 910B', '910b', 'Ascend910B'],
    bf16Tflops: 376,
    fp8Tflops: 0,
    fp4Tflops: 0,
    matmulCeiling: 0.85,
    memoryGib: 64,
    memoryTbPerS: 1.6,
    scaleUpGbPerS: 196, // HCCS, seven links of 28
    scaleUpDomainGpus: 8,
    pcieGbPerS: PCIE5,
    gpusPerNode: 8,
    nicGbps: 200,
    nicKind: 'roce',
    usdPerHour: 1.5,
    source: 'secondary: public reports on the 910B2 part; Huawei publishes no data sheet',
    assumed: ['every figure: not from a data sheet'],
  },
  {
    ...ICI,
    name: 'tpu-v4',
    silicon: 'tpu-v4',
    title: 'Google TPU v4',
    aliases: ['TPU-v4', 'v4'],
    bf16Tflops: 275,
    memoryGib: 32,
    memoryTbPerS: 1.2,
    scaleUpGbPerS: 270, // six links of 45
    scaleUpDomainGpus: 4096,
    nicGbps: 50,
    usdPerHour: 3.2,
  },
  {
    ...ICI,
    name: 'tpu-v5e',
    silicon: 'tpu-v5e',
    title: 'Google TPU v5e',
    aliases: ['TPU-v5e', 'v5e', 'tpu-v5-lite'],
    bf16Tflops: 197,
    memoryGib: 16,
    memoryTbPerS: 0.82,
    scaleUpGbPerS: 180, // four links of 45
    scaleUpDomainGpus: 256,
    nicGbps: 25,
    usdPerHour: 1.2,
  },
  {
    ...ICI,
    name: 'tpu-v5p',
    silicon: 'tpu-v5p',
    title: 'Google TPU v5p',
    aliases: ['TPU-v5p', 'v5p'],
    bf16Tflops: 459,
    memoryGib: 95,
    memoryTbPerS: 2.765,
    scaleUpGbPerS: 540, // six links of 90
    scaleUpDomainGpus: 8960,
    nicGbps: 50,
    usdPerHour: 4.2,
  },
  {
    ...ICI,
    name: 'tpu-v6e',
    silicon: 'tpu-v6e',
    title: 'Google TPU v6e (Trillium)',
    aliases: ['TPU-v6e', 'v6e', 'trillium'],
    bf16Tflops: 918,
    memoryGib: 32,
    memoryTbPerS: 1.64,
    scaleUpGbPerS: 360, // four links of 90
    scaleUpDomainGpus: 256,
    nicGbps: 100,
    usdPerHour: 2.7,
  },
  {
    // Quickstart and end-to-end clusters have no GPU: a CPU process plays each one. Peak and links are chosen so that the reference engine's
    // measured steps (engines/reference/README.md, Figures: 138, 222 and 200 ms) come out within a third. The peak is not that of a core:
    // the models charge tiny matrices for the multiprocessors of a GPU that they leave idle.
    name: 'simulated',
    hostMemoryGibPerNode: 16,
    silicon: 'cpu',
    title: 'CPU process standing for a GPU (local development)',
    aliases: ['cpu', 'local', 'coxswain-simulated', 'simulated-gpu'],
    bf16Tflops: 2,
    fp8Tflops: 0,
    fp4Tflops: 0,
    matmulCeiling: 0.5,
    memoryGib: 16,
    memoryTbPerS: 0.01,
    scaleUpGbPerS: 0.2,
    scaleUpDomainGpus: 2,
    pcieGbPerS: 8,
    gpusPerNode: 2,
    nicGbps: 1.6,
    nicKind: 'ethernet',
    usdPerHour: 0,
    source: 'steps of the reference engine on two shared cores (engines/reference/README.md)',
    assumed: ['every figure'],
  },
];

/** The GPU with this name: the name of a preset, a short form, a product label of a device plugin, or a spelling of a published table. */
export function gpuOf(name: string): GpuPreset {
  return namedOf(GPU_PRESETS, name, 'GPU', '/gpu');
}
