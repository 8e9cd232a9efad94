/**
 * The constants of the time model: meaning, unit, start value, and how far the fit may move each.
 *
 * A constant has one shared value. A GPU type, a family of engines and one release of an engine may each multiply those that plausibly differ
 * there. `sd` is the standard deviation, in natural logarithm, that the fit allows such a multiplier before it costs.
 */
export interface ConstantDeclaration {
  readonly unit: string;
  readonly start: number;
  /** Prior standard deviation of the shared value, in natural logarithm; 0 holds it. */
  readonly sd: number;
  readonly meaning: string;
}

const declare = <Name extends string>(
  table: Readonly<Record<Name, readonly [start: number, sd: number, unit: string, meaning: string]>>,
): Readonly<Record<Name, ConstantDeclaration>> =>
  Object.fromEntries(
    Object.entries(table).map(([name, entry]) => {
      const [start, sd, unit, meaning] = entry as readonly [number, number, string, string];
      return [name, { start, sd, unit, meaning }];
    }),
  ) as Record<Name, ConstantDeclaration>;

/** The constants of the time model with their declarations. */
export const TIME_CONSTANTS = declare({
  gemmSlowdown: [
    1.15,
    0.2,
    'ratio',
    'time of a large aligned bf16 matrix product over that at the measured ceiling of the GPU',
  ],
  gemmRidge: [1.0, 0.7, 'ratio', 'weight of the memory side of a matrix product: (1/m + 1/n + 1/k) * peak / bandwidth'],
  gemmDepth: [60, 0.7, 'elements', 'inner dimension lost to filling and draining a matrix kernel'],
  gemmWave: [0.8, 0.4, 'share', 'share of the loss to partly filled tiles and waves of multiprocessors that is paid'],
  gemmMisaligned: [
    0.05,
    0.7,
    'share per halving',
    'slowdown per halving of the largest power of two up to 64 that divides n and k',
  ],
  gemmUnaligned: [0.5, 0.7, 'share', 'slowdown where a dimension is not a multiple of 8'],
  fp8Slowdown: [1.3, 0.2, 'ratio', 'the same as gemmSlowdown for per-tensor fp8, relative to it'],
  mxfp8Slowdown: [1.35, 0.2, 'ratio', 'for block-scaled fp8, relative to gemmSlowdown'],
  fp4Slowdown: [1.9, 0.3, 'ratio', 'for nvfp4, relative to gemmSlowdown'],
  quantiseFactor: [1.5, 0.5, 'ratio', 'time of casts to fp8 or fp4 over their bytes at memory bandwidth'],
  // Kernels of attention start where they were measured and may move as far as measurements differ. Measured: cuDNN and FlashAttention 2 on one H100 and
  // one H200 (primitives_h100.json, primitives_h200.json). Published: FlashAttention 1 and 2 on A100 and H100 (attention_published.json).
  // Products take 0.96 with cuDNN on Hopper, 1.13 with FlashAttention 2 on A100, 1.9 to 2.1 with it on Hopper.
  flashSlowdown: [1.04, 0.08, 'ratio', 'products of fused attention forward over their FLOPs at the measured ceiling'],
  flashForAmpere: [
    2.1,
    0.1,
    'ratio',
    'FlashAttention kernels written for Ampere on a later GPU, relative to kernels written for it',
  ],
  flashFirst: [
    2.28,
    0.05,
    'ratio',
    'FlashAttention of version 1, or in Triton, over version 2, with heads of 128 (attention_published.json: 2.24 to 2.30)',
  ],
  flashBackward: [1.12, 0.05, 'ratio', 'fused attention backward over forward, per FLOP, where samples are long'],
  flashSoftmax: [
    0.7,
    0.25,
    'ratio',
    'time of one exponential for each score of fused attention, beside its products, over what the units for it need',
  ],
  // Seven rounds of Philox make the random bytes of 16 scores (csrc/flash_attn/src/philox.cuh and dropout.h of flash-attention 2): some 5.2 integer
  // instructions a score with the comparison. A multiprocessor issues 64 of them in a cycle.
  flashDropout: [
    1.3,
    0.3,
    'ratio',
    'dropping scores of fused attention, in each pass, over the time of one exponential for each',
  ],
  flashSequence: [330, 0.25, 'tokens', 'sequence length at which fused attention forward reaches half its speed'],
  flashSinks: [
    2,
    0.7,
    'ratio',
    'fused attention of a model with attention sinks over its FLOPs, those inside windows alone; fitted on GPT-OSS alone, which also has biases, heads of 64 and a window of 128 in every second layer: what exactly is slow is not known',
  ],
  unfusedHead: [16, 0.7, 'elements', 'half the head width lost to filling the batched products of unfused attention'],
  unfusedSlowdown: [2.0, 0.4, 'ratio', 'batched matrix products of unfused attention over the measured ceiling'],
  scoresFactor: [
    1.2,
    0.4,
    'ratio',
    'softmax, mask and dropout of unfused attention over their bytes at memory bandwidth',
  ],
  softmaxFallback: [
    2.5,
    0.5,
    'ratio',
    'softmax of unfused attention where the fused kernel refuses: batch times heads per rank not a multiple of 4, or fp32',
  ],
  hostSoftmaxS: [0.0003, 0.7, 's', 'launching that softmax, forward'],
  elementwiseFactor: [
    1.3,
    0.3,
    'ratio',
    'norms, residuals, activations and rotary embedding over their bytes at memory bandwidth',
  ],
  hostLayerS: [0.0006, 0.5, 's', 'launching the kernels of one attention and MLP layer forward'],
  hostBackward: [1.4, 0.3, 'ratio', 'launching the backward kernels of a layer over the forward ones'],
  hostCollectiveS: [0.00006, 0.7, 's', 'launching one tensor-parallel collective'],
  hostExpertS: [
    0.001,
    0.6,
    's',
    'launching router, dispatch and what else a layer of experts has, forward, without the products of each',
  ],
  hostPerExpertS: [
    0.00003,
    0.7,
    's',
    'launching the products of one expert of a rank forward: grouped products are a loop over matrices, their gradients and hooks',
  ],
  hostPerExpertCast: [
    2,
    0.4,
    'ratio',
    'hostPerExpertS where operands are cast to 8 or 4 bits, expert by expert, over bf16',
  ],
  hostOverlapped: [
    1.4,
    0.4,
    'ratio',
    'hostExpertS in a pipeline that overlaps its all-to-all: layers are launched in pieces, those of a forward and a backward pass in turn',
  ],
  hostAlltoall: [
    1.2,
    0.3,
    'ratio',
    'hostExpertS where the host itself waits for token counts and permutes (all-to-all, all-gather), over DeepEP and HybridEP',
  ],
  hostCapacity: [0.5, 0.5, 'ratio', 'hostExpertS where experts have a fixed capacity: no wait for token counts'],
  hostPassS: [0.0004, 0.7, 's', 'fixed work of one micro-batch on one rank, forward'],
  graphsPartial: [
    0.8,
    0.4,
    'ratio',
    'host time left of a layer of which parts are CUDA graphs: experts whose router is one',
  ],
  graphsFull: [0.1, 0.6, 'ratio', 'host time left of what is one CUDA graph as a whole'],
  vocabularySlowdown: [1.1, 0.3, 'ratio', 'the output matrix product relative to other bf16 ones'],
  lossFactor: [1.5, 0.5, 'ratio', 'cross entropy over its bytes at memory bandwidth'],
  embeddingFactor: [2, 0.6, 'ratio', 'embedding lookup and its gradient over their bytes at memory bandwidth'],
  vocabularyBarrierS: [0.0006, 0.8, 's', 'one synchronisation of a vocabulary sharded over the pipeline'],
  scaleUpSlowdown: [1.28, 0.12, 'ratio', 'collectives inside the scale-up domain over its nominal bandwidth'],
  scaleOutSlowdown: [1.5, 0.3, 'ratio', 'collectives across nodes over the nominal NIC bandwidth'],
  scaleOutRoce: [0.1, 0.5, 'share', 'collectives and hand-overs on RoCE, above those on InfiniBand of the same rate'],
  // No row measures this. NCCL over sockets had 60 % of 32 Gb/s (nccl#209) and a third to a half of 100 Gb/s (nccl#450).
  scaleOutEthernet: [0.6, 0.3, 'share', 'the same on TCP over Ethernet, above RoCE'],
  // Nor of this: four p4d.24xlarge reduced 1 GiB at 29.6 of 50 GB/s (nccl#527).
  scaleOutEfa: [0.5, 0.3, 'share', 'the same on EFA, above InfiniBand'],
  // Four nodes of eight A100 with 4 x 100 Gb/s each reduced 4 GB at 40.5 Gb/s (bigscience, experiments/bandwidth/all_reduce_bench-a100-n4.txt). With
  // tuned NICs it was 135 Gb/s (ml-engineering, network/README.md). That is 9.9 and 3.0 times slower than the cables.
  scaleOutOmniPath: [2.2, 0.6, 'share', 'the same on Omni-Path, above InfiniBand'],
  scaleOutOther: [0.5, 0.8, 'share', 'the same on other networks (Slingshot), above InfiniBand'],
  scaleOutPerDoubling: [
    0.06,
    0.7,
    'share',
    'slowdown of a collective across nodes for each doubling of the nodes it spans',
  ],
  tensorOverlap: [0.35, 0.5, 'ratio', 'tensor-parallel traffic left on the critical path where it is overlapped'],
  collectiveLatencyS: [0.00002, 0.6, 's', 'latency of one collective inside the scale-up domain per further member'],
  scaleOutLatencyS: [
    0.00001,
    0.5,
    's',
    'latency of one message per further node of a ring; per doubling of the nodes of an all-to-all',
  ],
  deepspeedGather: [
    3,
    0.5,
    'ratio',
    'gathers of DeepSpeed ZeRO-3, parameter by parameter, relative to gathers of whole layers',
  ],
  contextOverlap: [0.5, 0.6, 'share', 'share of attention time that can hide ring traffic'],
  gradReduceExposed: [0.25, 0.7, 'share', 'gradient traffic that stays exposed although it is overlapped'],
  paramGatherExposed: [0.25, 0.7, 'share', 'parameter traffic that stays exposed although it is overlapped'],
  shardedExposed: [
    0.15,
    0.7,
    'share',
    'traffic of fully sharded parameters that stays exposed although compute could hide it',
  ],
  interference: [0.15, 0.7, 'share', 'slowdown of compute while it hides fully sharded traffic'],
  optimizerFactor: [1.3, 0.4, 'ratio', 'optimizer step over its bytes at memory bandwidth'],
  stepOverheadS: [0.02, 0.8, 's', 'fixed work per step: data, logging, gradient norm, synchronisation'],
  garbageS: [
    0.5,
    0.5,
    's',
    'collecting the garbage of a Python process that trains, where the engine does so between steps',
  ],
  pipelineHopS: [0.0001, 0.8, 's', 'fixed time of handing one activation to the next stage'],
  stageImbalance: [0.02, 0.8, 'share', 'wait of a pipeline for its slowest rank, per doubling of its depth'],
  jitterPerDoubling: [0.004, 0.8, 'share', 'wait for the slowest rank per doubling of the nodes'],
  groupedSlowdown: [1.15, 0.12, 'ratio', 'grouped expert matrix products relative to one product of the same rows'],
  groupedRows: [64, 0.7, 'rows', 'rows per expert lost to partly filled tiles: half of one of 128 rows'],
  routingFactor: [2.0, 0.5, 'ratio', 'router, permutation and weighted sum over their bytes at memory bandwidth'],
  dispatchSlowdown: [1.8, 0.5, 'ratio', 'all-to-all of tokens inside the scale-up domain over its nominal bandwidth'],
  dispatchAcross: [1.8, 0.5, 'ratio', 'all-to-all of tokens across nodes over the nominal NIC bandwidth'],
  deepepFactor: [0.7, 0.5, 'ratio', 'all-to-all by DeepEP relative to the plain one'],
  hybridepFactor: [0.5, 0.5, 'ratio', 'all-to-all by HybridEP relative to the plain one'],
  allgatherFactor: [1.5, 0.5, 'ratio', 'dispatch by all-gather relative to the plain all-to-all'],
  expertOverlap: [0.5, 0.5, 'ratio', 'token traffic left on the critical path where it is overlapped'],
  imbalance: [
    0.1,
    0.7,
    'share',
    'standard deviation of the rows of one expert over their mean, where the router is left alone and tokens are never dropped',
  ],
  // A kernel of the same kind, the chunked gated delta rule in Triton, does 20 TFLOP/s of a B200 with 16 heads (flashinfer#3001). That is 14 cycles of
  // each multiprocessor for a thousand, and 5.5 for what it does more than with 8 heads.
  scanCycles: [
    10,
    0.5,
    'cycles per kFLOP',
    'cycles of one multiprocessor for the products of the scan of a state-space layer: small tiles, one head after the other, no faster where tensor cores and memory are',
  ],
  offloadExposed: [0.5, 0.6, 'share', 'host transfers that compute does not hide'],
});

/** Name of a constant of the time model. */
export type TimeConstantName = keyof typeof TIME_CONSTANTS;
/** Every name of {@link TIME_CONSTANTS}. */
export const TIME_CONSTANT_NAMES = Object.keys(TIME_CONSTANTS) as readonly TimeConstantName[];
/** The values for one GPU type and one software stack, shared value times multipliers. */
export type TimeConstants = Readonly<Record<TimeConstantName, number>>;

/**
 * Coefficients that no data moves: the constants above are fitted around them. Where a count of bytes or operations, or a paper, gives one, it says
 * so. The others are assumptions of this model without a source; they matter little, or are of features that few measurements use.
 */
export const COEFFICIENTS = {
  /** Norm, residual and softmax backward over forward: two tensors read and one written, against one and one. */
  normBackward: 3 / 2,
  /** Norms alone, of norm and residual: 4 of 10 bytes per element. Taken also where dropout adds two bytes. */
  normShare: 0.4,
  /** MLP activation backward over forward: gated, 5 tensors against 3 (1.67); plain, 3 against 2 (1.5). Between the two. */
  activationBackward: 1.6,
  /**
   * The same for experts, which weight it by the router's probability: what the probability's gradient needs is read by a second kernel, gated 8 tensors
   * against 3 (2.67), plain 5 against 2 (2.5). Between the two (Megatron-Core, `weighted_swiglu_back`).
   */
  weightedActivationBackward: 2.6,
  /**
   * Bytes per element that biases of experts and a clamp before their activation move outside fused kernels, forward and backward, in Megatron-Core
   * (0.15 to 0.17, `TEGroupedMLP._apply_bias`, `weighted_bias_quick_geglu_impl`). The second bias is scaled by routing weights in fp32, expert by expert,
   * and put together again; the clamp copies both halves of the activation's input,
   */
  expertOutputBias: [28, 40],
  expertInputBias: [8, 10],
  /** FLOPs of fused attention backward over forward: five matrix products against two (FlashAttention-2, 2307.08691, section 4.1). */
  flashBackwardFlops: 5 / 2,
  /** FlashAttention 1 over 2 grows with the width of heads to this power, from 64 to 128: 1.75 to 1.92 there, 2.24 to 2.30 here (attention_published.json). */
  flashFirstWidth: 0.33,
  /**
   * Sequence length at which fused attention backward reaches half its speed, over that forward: 880 to 1,090 tokens against 360 to 450 of cuDNN and of
   * FlashAttention 2 (primitives_h100.json, primitives_h200.json). What a kernel reads and writes is part of it.
   */
  flashBackwardSequence: 2.4,
  /** Host time of an attention or MLP block over that of a layer with both, which launch about as many kernels. */
  hostShareOfBlock: 0.5,
  /** The same for one linear layer alone. A layer with attention and an MLP has four of them. */
  hostShareOfLinear: 0.25,
  /**
   * The same for latent attention, which launches about twice as many as attention with plain heads. It has down and up projections of queries and of
   * keys and values with a norm between, and splits, rotates and joins parts (Megatron-Core, `multi_latent_attention.py`).
   */
  hostShareOfLatent: 1,
  /** The same for a Mamba-2 mixer. Assumption. */
  hostShareOfMixer: 0.7,
  /** Tokens of a chunk of the scan (Megatron-Core, `MambaMixer`). */
  scanChunk: 128,
  /** A block that computes again more than this share of its forward pass launches its kernels again. Assumption. */
  relaunchedFrom: 0.5,
  /** Seconds of weight gradients, where only low-rank adapters are trained, over those of whole matrices. Assumption. */
  adapterGradientShare: 0.1,
  /** Parameters that low-rank adapters train, over all. Assumption; the memory model counts them by rank. */
  adapterTrainedShare: 0.01,
  /** Parameters of a layer over the square of its hidden size: 4 of attention and 8 of an MLP four times as wide (2104.04473, section 5.1). */
  parametersPerSquaredHidden: 12,
  /** Bytes that a CPU's Adam reads and writes per parameter: fp32 weight and two moments. Gradients and weights over PCIe come on top. */
  hostOptimizerBytes: 24,
  /**
   * Host memory bandwidth that the optimizer of one GPU finds, bytes/s. Measured: Qwen3-30B-A3B on 16 H100 takes 3.19 s longer with the optimizer of its
   * 1.9 billion parameters per rank on the host (Megatron-Bridge, CPU offloading guide: 0.996 and 4.189 s).
   */
  hostBytesPerS: 15e9,
  /**
   * Bytes that DeepSpeed's host step reads and writes per parameter: the scaled gradient (8), Adam in fp32 with gradient, weight and two moments read (16)
   * and all but the gradient written (12).
   */
  deepspeedHostBytes: 36,
  /**
   * Bandwidth of host memory that the ranks of one node share in DeepSpeed's host step, bytes/s. Four publications agree on 1.9 to 2.2 billion parameters a
   * second and node, after 8 bytes over PCIe at 20 GB/s: Qwen2.5-1.5B and 3B on 2 A100 (DeepSpeed, blogs/zenflow-corebinding: 240 and 1,365 ms; 2,497 ms),
   * Llama-2-7B on 4 A100 (blogs/deepspeed-zenflow: above 4 s), Qwen-72B on 4 nodes of 8 A100 (DeepSpeed issue 6834: 10 s).
   */
  deepspeedHostBytesPerS: 72e9,
  /**
   * Copies from and to host memory that is not page-locked, bytes/s and rank: a sixth of PCIe 4's 25 GB/s (DeepSpeed pull request 5301: page-locked memory is
   * 6 times as fast on one GPU, 4 to 5 times on a node of eight).
   */
  pageableBytesPerS: 4.2e9,
  /**
   * NVLink bridges and cards without NVLink: traffic among GPUs of a node over PCIe and the host over its nominal rate. nccl-tests reach about 20 GB/s of
   * 32 on nodes of eight PCIe 4 cards. Assumption for other generations.
   */
  hostLinkSlowdown: 1.5,
  /** Gradient traffic of DeepSpeed's ZeRO-2 over a reduce-scatter. Assumption. */
  deepspeedReduce: 1.5,
  /** Width of the smooth bend where traffic stops hiding behind computing, as a share of the smaller; it keeps the fit differentiable. */
  bend: 0.1,
  /** The same for the exchange of a ring of context ranks. */
  ringBend: 0.2,
} as const;

/** Multipliers of GPU types and software stacks. Each multiplies all constants of its list. */
export const ADJUSTMENTS = {
  compute: ['gemmSlowdown'],
  lowPrecision: ['fp8Slowdown', 'mxfp8Slowdown', 'fp4Slowdown'],
  attention: ['flashSlowdown'],
  unfusedAttention: ['unfusedSlowdown', 'scoresFactor'],
  memory: ['elementwiseFactor', 'quantiseFactor', 'optimizerFactor'],
  vocabulary: ['vocabularySlowdown', 'lossFactor', 'embeddingFactor'],
  host: ['hostLayerS', 'hostCollectiveS', 'hostExpertS', 'hostPerExpertS', 'hostPassS'],
  scaleUp: ['scaleUpSlowdown', 'collectiveLatencyS'],
  scaleOut: ['scaleOutSlowdown'],
  experts: ['routingFactor', 'dispatchSlowdown', 'dispatchAcross', 'groupedSlowdown'],
  fixed: ['stepOverheadS', 'pipelineHopS'],
  waiting: ['jitterPerDoubling', 'stageImbalance'],
} as const satisfies Readonly<Record<string, readonly TimeConstantName[]>>;
/** Name of a multiplier. */
export type AdjustmentName = keyof typeof ADJUSTMENTS;
/** Every name of {@link ADJUSTMENTS}. */
export const ADJUSTMENT_NAMES = Object.keys(ADJUSTMENTS) as readonly AdjustmentName[];

/** Multipliers of one GPU type, family or release; absent ones are 1. */
export type Adjustments = Readonly<Partial<Record<AdjustmentName, number>>>;
