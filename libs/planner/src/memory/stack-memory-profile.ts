/**
 * Memory that a software stack uses besides states and activations.
 *
 * A stack is named by its family and release (`RunFacts.stack`); the first family that the name starts with decides. Figures named "fitted"
 * were chosen on the allocator and nvidia-smi peaks of the published measurements of that family; the others follow from its source code.
 */

/** Memory overheads of a software stack. */
export interface StackMemoryProfile {
  readonly family: string;
  /** Transformer Engine keeps one dummy weight gradient per distinct matrix shape when gradients are accumulated in place. */
  readonly dummyGradients: boolean;
  /** Bytes per logit in half precision at the peak of the loss: half-precision logits and fp32 copies. */
  readonly logitBytes: number;
  /** Tensors between stages that are kept per micro-batch in flight, besides what the layers keep of their inputs; none in a V. */
  readonly boundaryTensors: number;
  /** Micro-batches in flight beyond those of the schedule. */
  readonly extraMicroBatches: 0 | 1;
  /** Full copies of the gradients that stage 1 keeps while it accumulates without a pipeline, bytes per parameter. */
  readonly gradientCopyBytes: number;
  /** Copies that the optimizer step makes of what one rank updates, bytes per parameter; activations are gone by then. */
  readonly stepBytes: number;
  /** The bf16 optimizer adds up gradients in fp32 beside the bf16 ones. */
  readonly keepsBothGradients: boolean;
  /** What the caching allocator holds beyond its allocated peak, as a share of that peak. */
  readonly slackShare: number;
  /** CUDA context, communicators and libraries outside the allocator. */
  readonly contextGib: number;
  /** Share of the capacity below full from which a prediction is no longer safe. */
  readonly marginShare: number;
}

/** Slack: Megatron-Bridge reports 40 GB reserved at 36.6 GB allocated, and 2 to 10 GB in its memory guide. */
const TRANSFORMER_ENGINE: StackMemoryProfile = {
  family: '',
  dummyGradients: true,
  logitBytes: 6,
  boundaryTensors: 0,
  extraMicroBatches: 0,
  gradientCopyBytes: 0,
  stepBytes: 0,
  keepsBothGradients: false,
  slackShare: 0.05,
  contextGib: 2,
  marginShare: 0.1,
};

const WITHOUT_TRANSFORMER_ENGINE: StackMemoryProfile = { ...TRANSFORMER_ENGINE, dummyGradients: false };

/**
 * Eager PyTorch keeps half-precision logits, their fp32 copy, its log-softmax and the gradient of the half-precision logits at the peak of the loss. Of 194
 * measured peaks of plain PyTorch without `torch.compile` the median error is 1.5 % with these bytes, and 9.1 % with six. With `torch.compile`, six are right, so
 * predictions for it are too large. Transformers casts logits to fp32 too (loss/loss_utils.py).
 */
const EAGER_PYTORCH: StackMemoryProfile = { ...WITHOUT_TRANSFORMER_ENGINE, logitBytes: 12 };

/**
 * Slack and context fitted on 54 nvidia-smi peaks of 176 to 203 B models on A100 (2022) and 15 of a 1.3 B model on V100 (2021) of BLOOM's
 * chronicle. Allocators before expandable segments break up under large attention scores and logits: layouts predicted at 75 to 95 % of
 * a V100 ran out of memory.
 */
const MEGATRON_DEEPSPEED: StackMemoryProfile = {
  ...WITHOUT_TRANSFORMER_ENGINE,
  family: 'megatron-deepspeed',
  logitBytes: 10,
  boundaryTensors: 1,
  extraMicroBatches: 1,
  gradientCopyBytes: 4,
  keepsBothGradients: true,
  slackShare: 0.085,
  contextGib: 8.5,
  marginShare: 0.25,
};

/** More specific families stand first. */
const PROFILES: readonly StackMemoryProfile[] = [
  {
    ...MEGATRON_DEEPSPEED,
    family: 'megatron-deepspeed 2021',
    boundaryTensors: 0,
    extraMicroBatches: 0,
    slackShare: 0,
    contextGib: 4,
  },
  MEGATRON_DEEPSPEED,
  { ...EAGER_PYTORCH, family: 'deepspeed', keepsBothGradients: true, marginShare: 0.25 },
  ...['hugging-face', 'pytorch'].map((family) => ({ ...EAGER_PYTORCH, family })),
  /** Fitted on 19 peaks of two models, GH200 and three consumer GPUs. */
  { ...WITHOUT_TRANSFORMER_ENGINE, family: 'sailor', slackShare: 0.085, contextGib: 3.4 },
  /** Fitted on 8 printed peaks: 28 bytes per parameter in the step and 7 GiB, whatever the degree of sharding. */
  { ...WITHOUT_TRANSFORMER_ENGINE, family: 'internevo', stepBytes: 12, slackShare: 0, contextGib: 7 },
  /** Its older runtime frees neither input nor output of a stage early: fitted on 33 peaks of four schedules; that for ZB-V does. */
  { ...WITHOUT_TRANSFORMER_ENGINE, family: 'zero-bubble', boundaryTensors: 2 },
  ...[
    'vocabulary-parallel',
    'megatron-lm 2021',
    'megatron-lm 2022',
    'megatron-llama',
    'oneflow',
    'composer-fsdp',
    'torchtitan',
    'nanotron',
    'maxtext',
    'colossal-ai',
    'mindspeed',
    'fsdp',
  ].map((family) => ({ ...WITHOUT_TRANSFORMER_ENGINE, family })),
];

/** The memory profile of a stack. An unknown stack is treated as a current Megatron-Core with Transformer Engine. */
export function memoryProfileOf(stack: string): StackMemoryProfile {
  return PROFILES.find(({ family }) => stack.startsWith(family)) ?? TRANSFORMER_ENGINE;
}
