/**
 * Inputs of the memory and time models: flat plain data, because a search evaluates hundreds of thousands of them.
 *
 * Callers build it from a layout and a model (`factsOfPlan`) or from a row of published measurements.
 */
import type { LoraSpec, ModelShape, NicKind, RECOMPUTED_MODULES } from '@coxswain/layout';
import type { ClusterProfile } from './cluster-profile.ts';

/** Formats of matrix products; see {@link Precision}. */
export const PRECISIONS = ['fp32', 'fp16', 'bf16', 'fp8', 'mxfp8', 'nvfp4'] as const;
/** fp8 is per-tensor scaling; mxfp8 block scaling with 32 elements; nvfp4 is fp4 with 16 elements. Attention and vocabulary stay in bf16. */
export type Precision = (typeof PRECISIONS)[number];

/** Pipeline schedules that the planner has models for. */
export const SCHEDULES = [
  'gpipe',
  '1f1b',
  'interleaved-1f1b',
  'zb-h1',
  'zb-2p',
  'zbv',
  'v-half',
  'v-min',
  'dualpipe-v',
] as const;
/** Order of forward and backward passes on the ranks of a pipeline; without a pipeline every one of them is plain gradient accumulation. */
export type Schedule = (typeof SCHEDULES)[number];

/** One type of accelerator. Peaks are dense (no sparsity), per GPU. */
export interface GpuFacts {
  readonly name: string;
  /** The chip. Products with the same chip but other memory, links or power share its fitted constants. */
  readonly silicon: string;
  readonly bf16Tflops: number;
  /** 0 if the format is not supported. */
  readonly fp8Tflops: number;
  readonly fp4Tflops: number;
  /** Share of the bf16 peak that the largest measured matrix product reaches. */
  readonly matmulCeiling: number;
  readonly memoryGib: number;
  readonly memoryTbPerS: number;
  /** NVLink, xGMI or PCIe inside a scale-up domain, GB/s per GPU and direction. */
  readonly scaleUpGbPerS: number;
  readonly scaleUpDomainGpus: number;
  readonly pcieGbPerS: number;
  /** On-demand price for cost objectives if the request has none. */
  readonly usdPerHour: number;
}

/** The GPUs of a run and their networks. */
export interface ClusterFacts {
  readonly gpu: GpuFacts;
  readonly gpus: number;
  readonly gpusPerNode: number;
  /** GPUs that reach each other over the scale-up link; at least gpusPerNode on NVSwitch machines, 72 on NVL72. */
  readonly scaleUpDomainGpus: number;
  /** Scale-out bandwidth, GB/s per GPU and direction (a 400 Gb/s NIC per GPU is 50). */
  readonly scaleOutGbPerS: number;
  readonly nicKind: NicKind;
  /** Host memory that the GPUs of one node share. Absent: unknown and not limited. */
  readonly hostMemoryGibPerNode?: number;
  /** Islands joined by a slower network, outermost tier; absent: one fabric. */
  readonly islands?: readonly {
    readonly gpus: number;
    readonly scaleOutGbPerS: number;
    readonly nicKind: NicKind;
    /** Absent: that of the cluster. */
    readonly gpu?: GpuFacts;
    /** Measured speed of one GPU relative to the prediction for its type; slower islands get fewer layers. */
    readonly relativeSpeed: number;
    /** Predicted speed of its GPU type relative to the GPU of the cluster, by tensor degree, including tensor traffic. Absent: 1. */
    readonly speedByTensor?: Readonly<Record<number, number>>;
  }[];
  /** Each stage is placed whole in the first island with enough free GPUs, so GPUs may remain unused. Absent: ranks fill islands in order. */
  readonly stagesInOneIsland?: true;
  /** Index of the island whose network prices groups inside it. Absent: the island with the slowest network. */
  readonly pricedIsland?: number;
  /** GB/s per GPU and direction between islands. */
  readonly betweenIslandsGbPerS?: number;
  /** Measurements of this cluster. Absent: usual values of its GPUs. */
  readonly profile?: ClusterProfile;
}

/** What one virtual stage holds; a pipeline has `pipeline * chunks` of them, in the order a sample passes through. */
export interface StagePart {
  readonly layers: number;
  readonly embedding: boolean;
  readonly loss: boolean;
  readonly mtpLayers: number;
}

/** Axes of the dense grid from the fastest-varying rank index to the slowest. Tensor groups are always neighbours. */
export const RANK_ORDERS = [
  'tp-cp-dp-pp',
  'tp-cp-pp-dp',
  'tp-dp-cp-pp',
  'tp-dp-pp-cp',
  'tp-pp-cp-dp',
  'tp-pp-dp-cp',
] as const;
/**
 * The order of axes, which decides the network tier that an axis crosses: ranks fill nodes, domains and islands in order. The first is Megatron-LM's default
 * (pipeline outermost, so only it crosses islands), the second its `--use-tp-pp-dp-mapping`.
 */
export type RankOrder = (typeof RANK_ORDERS)[number];

/** A module that selective recomputation can name. */
export type RecomputeModule = (typeof RECOMPUTED_MODULES)[number];

/** Every choice of a layout that its time or memory depends on. Degrees are at least 1. */
export interface CandidateLayout {
  readonly tensor: number;
  readonly context: number;
  readonly pipeline: number;
  /** Dense data parallelism: world = tensor * context * pipeline * data. */
  readonly data: number;
  /** Ranks (of data * context) that share one copy of sharded states; equal to data * context without replication (HSDP, MiCS). */
  readonly shardGroup: number;
  readonly expert: number;
  readonly expertTensor: number;
  /** Absent: `tp-cp-dp-pp`. */
  readonly rankOrder?: RankOrder;
  readonly sequenceParallel: boolean;
  readonly contextAlgorithm: 'ring' | 'allgather' | 'ulysses';
  readonly schedule: Schedule;
  /** Model chunks per rank (virtual pipeline). */
  readonly chunks: number;
  /** `pipeline * chunks` entries; absent: layers spread as evenly as possible, embedding first, loss last. */
  readonly stages?: readonly StagePart[] | undefined;
  readonly vocabulary: 'end-stages' | 'counted-as-layer' | 'sharded-over-pp' | 'interlaced';
  /** Synchronisations per micro-batch of a sharded vocabulary. */
  readonly vocabularyBarriers: 1 | 2;
  readonly zeroStage: 0 | 1 | 2 | 3;
  readonly zeroImplementation: 'ddp' | 'distopt' | 'fsdp' | 'deepspeed';
  readonly recompute: 'none' | 'selective' | 'full';
  /** Modules that selective recomputation recomputes. */
  readonly recomputeModules: readonly RecomputeModule[];
  /** Full recomputation of this many layers per chunk only (`block:N`); absent: all. */
  readonly recomputeLayersPerChunk?: number | undefined;
  /** Shares in [0, 1] that live in host memory. */
  readonly offloadOptimizer: number;
  readonly offloadActivations: number;
  readonly offloadWeights: number;
  readonly microBatchSize: number;
  readonly overlapTensor: boolean;
  readonly overlapGradReduce: boolean;
  readonly overlapParamGather: boolean;
  readonly overlapExpert: boolean;
  readonly dispatcher: 'allgather' | 'alltoall' | 'deepep' | 'hybridep';
  /** Tokens that an expert accepts, relative to an even share. Absent: dropless. */
  readonly expertCapacity?: number;
  readonly cudaGraphs: 'none' | 'partial' | 'full';
  /** Parts that partial CUDA graphs capture. Absent: all. */
  readonly graphedParts?: readonly GraphedPart[];
}

/** A part of the model that partial CUDA graphs can capture. `router` includes the preparation of the dispatch. */
export type GraphedPart = 'attention' | 'stateSpace' | 'router';

/** Products that engines quantise only on request: attention (`fp8_dot_product_attention`) and the output projection (`fp8_output_proj`). */
export interface AlsoIn8Bits {
  readonly attention: boolean;
  readonly outputProjection: boolean;
}

/** Linear layers that a recipe keeps in bf16: those of attention, and those of a share of all layers. */
export interface KeptInBf16 {
  readonly attention: boolean;
  /** Share of the layers, 0 to 1. */
  readonly layersShare: number;
}

/** One training run with its layout: the input of a prediction. */
export interface RunFacts {
  readonly model: ModelShape;
  readonly cluster: ClusterFacts;
  /** Software stack (engine and release). An unknown release falls back to its engine family, an unknown family to the shared constants. */
  readonly stack: string;
  readonly precision: Precision;
  /** Layers of an 8-bit or 4-bit run that stay in bf16. Absent: only what is never quantised. */
  readonly keptInBf16?: KeptInBf16;
  /** Products of an 8-bit run that are quantised besides linear layers. Absent: none. */
  readonly alsoIn8Bits?: AlsoIn8Bits;
  /** Whether products of an fp32 run use TF32. Absent: no. */
  readonly tf32?: true;
  readonly flashAttention: boolean;
  /** FlashAttention kernels written for Ampere (versions 1 and 2, also in Triton), which leave the matrix units of Hopper and later half idle. */
  readonly ampereFlashAttention?: boolean;
  /** FlashAttention of before July 2023 (version 1, or written in Triton after it) or as slow: 1.8 times as long as version 2 with heads of 64, 2.3 with 128. */
  readonly firstFlashAttention?: true;
  readonly gradientBytes: 2 | 4;
  /** Bytes per parameter of the optimizer's moments; absent: 8, both of Adam in fp32 (2 with 8-bit Adam, 4 in bf16). */
  readonly momentBytes?: number;
  /** Offloaded states are in host memory that is not page-locked: DeepSpeed without `pin_memory`. Absent: page-locked, as jobs are rendered. */
  readonly pageableHostMemory?: true;
  /** Whether the router is forced to spread tokens evenly, as in benchmarks. Absent: no. */
  readonly balancedRouting?: true;
  /** Steps between Python garbage collections, during which all GPUs wait. Absent: negligible. */
  readonly stepsPerCollection?: number;
  /** Only low-rank adapters are trained: no weight gradients of frozen matrices. */
  readonly loraRank: number;
  /** Which layers have adapters. Absent: an average model with adapters of `loraRank` at every layer. */
  readonly lora?: LoraSpec;
  readonly candidate: CandidateLayout;
  readonly globalBatchSize: number;
  /** Tokens per sample. */
  readonly sequenceLength: number;
  /** Tokens of a document, if attention stays within documents that are shorter than the sample. Absent: it spans the sample. */
  readonly documentTokens?: number;
}

/** Number of micro-batches per step of one data-parallel replica. */
export function microBatches(run: RunFacts): number {
  return run.globalBatchSize / (run.candidate.microBatchSize * run.candidate.data);
}

/**
 * Megatron-LM and its relatives run ZeRO-2 by Megatron-FSDP, which reduces in every backward pass (`optim_grads`, megatron_fsdp.py). Before 2025 they did not
 * have it: a run of then that names ZeRO-2 is of a fork.
 */
const REDUCES_UNDER_PIPELINE = /^(megatron-(lm|core|bridge)|nemo)\b(?!.*\b20(1\d|2[0-4])\b)/;

/**
 * Whether each micro-batch hands its gradients to their owners (ZeRO-2). Under a pipeline the stages sum whole gradients and reduce them once a step: FSDP2
 * by `set_requires_gradient_sync` (torch/distributed/pipelining/stage.py), MegaScale beside the last backward passes.
 */
export function reducesEachMicroBatch({ candidate, stack }: Pick<RunFacts, 'candidate' | 'stack'>): boolean {
  return candidate.zeroStage === 2 && (candidate.pipeline === 1 || REDUCES_UNDER_PIPELINE.test(stack));
}
