/**
 * What a software stack keeps in memory beyond the algebra of states and activations.
 *
 * A stack is named by its family and release (`RunFacts.stack`); the first family that the name starts with decides. Figures named "fitted"
 * were chosen on the allocator and nvidia-smi peaks of the published measurements of that family; the others follow from its source code.
 */

export interface StackHabits {
  readonly family: string;
  /** Transformer Engine keeps one dummy weight gradient per distinct matrix shape when gradients are accumulated in place. */
  readonly dummyGradients: boolean;
  /** Bytes per logit in half precision at the peak of the loss: half-precision logits and fp32 copies. */
  readonly logitBytes: number;
  /** DeepSpeed's pipeline keeps one micro-batch more in flight, and the output of a stage beside its input. */
  readonly keepsStageOutputs: boolean;
  /** Full copies of the gradients that stage 1 keeps while it accumulates without a pipeline, bytes per parameter. */
  readonly gradientCopyBytes: number;
  /** What the caching allocator holds beyond its allocated peak, as a share of that peak. */
  readonly slackShare: number;
  /** CUDA context, communicators and libraries outside the allocator. */
  readonly contextGib: number;
}

const TRANSFORMER_ENGINE: StackHabits = {
  family: '',
  dummyGradients: true,
  logitBytes: 6,
  keepsStageOutputs: false,
  gradientCopyBytes: 0,
  slackShare: 0.03,
  contextGib: 2,
};

/** More specific families stand first. */
const HABITS: readonly StackHabits[] = [
  { ...TRANSFORMER_ENGINE, family: 'zero-bubble', dummyGradients: false },
  { ...TRANSFORMER_ENGINE, family: 'vocabulary-parallel', dummyGradients: false },
  {
    ...TRANSFORMER_ENGINE,
    family: 'megatron-deepspeed',
    dummyGradients: false,
    logitBytes: 10,
    keepsStageOutputs: true,
    gradientCopyBytes: 4,
    slackShare: 0.04,
    contextGib: 4,
  },
  { ...TRANSFORMER_ENGINE, family: 'sailor', dummyGradients: false, slackShare: 0.08, contextGib: 4 },
  { ...TRANSFORMER_ENGINE, family: 'megatron-lm 2022', dummyGradients: false },
  { ...TRANSFORMER_ENGINE, family: 'megatron-lm 2021', dummyGradients: false },
  { ...TRANSFORMER_ENGINE, family: 'oneflow', dummyGradients: false },
  { ...TRANSFORMER_ENGINE, family: 'internevo', dummyGradients: false },
  { ...TRANSFORMER_ENGINE, family: 'composer-fsdp', dummyGradients: false },
  { ...TRANSFORMER_ENGINE, family: 'torchtitan', dummyGradients: false },
  { ...TRANSFORMER_ENGINE, family: 'deepspeed', dummyGradients: false },
  { ...TRANSFORMER_ENGINE, family: 'colossal', dummyGradients: false },
];

/** An unknown stack is taken for a current Megatron-Core with Transformer Engine. */
export function habitsOf(stack: string): StackHabits {
  return HABITS.find(({ family }) => stack.startsWith(family)) ?? TRANSFORMER_ENGINE;
}
