/** Renders kernels and number formats for Megatron-LM. */
import { algorithmOf, servesSoftmax } from '@coxswain/layout';
import { graphArguments } from './graph-arguments.ts';
import { type MegatronJob, flag, kept, note, refuse, type RenderedField, variable } from './rendered-field.ts';

type Kernel = NonNullable<MegatronJob['layout']['kernel']>;

/** Arguments for the fields of `layout.kernel`, and for the precision of training. */
export function kernelArguments(job: MegatronJob): readonly RenderedField[] {
  const { kernel = {} } = job.layout;
  return [
    ...precisionArguments(job),
    ...attentionArguments(kernel),
    ...maskArguments(job, kernel),
    ...softmaxArguments(job, kernel),
    ...graphArguments(job),
    ...deterministicArguments(kernel),
    ...lossArguments(kernel),
    ...scalingArguments(job, kernel),
    ...compileArguments(kernel),
  ];
}

const PRECISION = 'layout.kernel.precision';

/** The job gives fp32 or bf16 for weights. The layout gives the format of matrix products, which is the same or narrower. */
function precisionArguments({ layout, spec, release }: MegatronJob): readonly RenderedField[] {
  const ofJob = spec.training?.precision;
  const ofKernel = layout.kernel?.precision ?? ofJob;
  if (ofKernel === undefined) return [];
  const field = layout.kernel?.precision === undefined ? 'training.precision' : PRECISION;
  if ((ofKernel === 'fp32') !== (ofJob === 'fp32') && ofJob !== undefined)
    return refuse(
      'one-precision',
      PRECISION,
      `layout.kernel.precision is ${ofKernel}, and training.precision ${ofJob}`,
      ofJob === 'fp32' ? 'set training.precision to bf16' : 'set training.precision to fp32 too',
    );
  const trainingPrecision = kept('training.precision');
  if (ofKernel === 'fp32') return [...trainingPrecision, ...kept(field)];
  if (ofKernel === 'fp16' && release.minor < 16 && (layout.expert?.expertParallelDegree ?? 1) > 1)
    return refuse('experts-in-fp16', PRECISION, `${release.tag} has no expert parallelism in fp16`, 'use bf16');
  if (ofKernel === 'fp16')
    return [
      ...trainingPrecision,
      ...flag(field, '--fp16'),
      ...note(field, 'weights are fp16 too, as Megatron-LM has it'),
    ];
  return [
    ...trainingPrecision,
    ...flag(ofKernel === 'bf16' ? field : 'training.precision', '--bf16'),
    ...(ofKernel === 'fp8' && layout.kernel?.scaling === 'delayed' ? DELAYED : (NARROW[ofKernel] ?? [])),
  ];
}

/**
 * Formats and recipes as --fp8-format, --fp8-recipe and --fp4-format have them; MXFP8 and NVFP4 need Blackwell, which the parser does not ask. Each tensor in fp8 is
 * scaled by what it holds now, as published steps are: with scales of steps before, Megatron-Core computes no norms and no activations of experts again.
 */
const NARROW: Readonly<Record<string, readonly RenderedField[]>> = {
  fp8: [...flag(PRECISION, '--fp8-format', 'hybrid'), ...flag(PRECISION, '--fp8-recipe', 'tensorwise')],
  mxfp8: [...flag(PRECISION, '--fp8-format', 'e4m3'), ...flag(PRECISION, '--fp8-recipe', 'mxfp8')],
  nvfp4: [...flag(PRECISION, '--fp4-format', 'e2m1'), ...flag(PRECISION, '--fp4-recipe', 'nvfp4')],
};

const SCALING = 'layout.kernel.scaling';
const DELAYED: readonly RenderedField[] = [
  ...flag(PRECISION, '--fp8-format', 'hybrid'),
  ...flag(SCALING, '--fp8-recipe', 'delayed'),
];

/** Delayed scales need the values of earlier steps, which a recomputed part does not have (transformer_config.py). */
function scalingArguments({ layout }: MegatronJob, { scaling, precision }: Kernel): readonly RenderedField[] {
  if (scaling === undefined) return [];
  if (precision !== 'fp8')
    return refuse(
      'scaling-is-of-fp8',
      SCALING,
      `kernel.scaling ${scaling} is of fp8, and kernel.precision is ${precision ?? 'bf16'}`,
      'leave it out, or set kernel.precision to fp8',
    );
  const recomputed = layout.memory?.recompute?.modules?.find((one) => one === 'layernorm' || one === 'moe_act');
  if (scaling === 'delayed' && recomputed !== undefined)
    return refuse(
      'delayed-scaling-recomputes-less',
      SCALING,
      `Megatron-LM does not recompute ${recomputed} with delayed scaling`,
      'use current, or leave the module out of memory.recompute.modules',
    );
  return scaling === 'current' ? kept(SCALING) : [];
}

/** Determinism of Megatron-Bridge switches the fused loss off. */
function lossArguments({ fusedLoss, deterministic }: Kernel): readonly RenderedField[] {
  const field = 'layout.kernel.fusedLoss';
  if (fusedLoss === true && deterministic === true)
    return refuse(
      'fused-loss-is-not-deterministic',
      field,
      'kernel.fusedLoss and kernel.deterministic exclude each other',
      'leave one of them out',
    );
  return fusedLoss === true ? flag(field, '--cross-entropy-loss-fusion') : kept(field);
}

function compileArguments({ compile }: Kernel): readonly RenderedField[] {
  const field = 'layout.kernel.compile';
  if (compile !== true) return kept(field);
  return refuse(
    'no-compiled-model',
    field,
    'Megatron-LM has fused kernels of its own, and does not compile the model',
    'leave it out, or use engine torchtitan',
  );
}

function attentionArguments({ attention }: Kernel): readonly RenderedField[] {
  const field = 'layout.kernel.attention';
  if (attention === undefined) return [];
  if (attention === 'flex' || attention === 'local')
    return refuse(
      'attention-of-transformer-engine',
      field,
      attention === 'local'
        ? 'Megatron-LM takes local attention only with a layer specification of its own (--spec local)'
        : 'Megatron-LM has no flex attention',
      'use auto, flash, fused or unfused',
    );
  return flag(field, '--attention-backend', attention);
}

function maskArguments({ program, shape }: MegatronJob, { attentionMask: mask }: Kernel): readonly RenderedField[] {
  const field = 'layout.kernel.attentionMask';
  if (mask === undefined) return [];
  if (program === 'own')
    return note(field, 'which mask attention has is decided by the program that engine.command names');
  const own = program === 'bert' ? 'full' : 'causal';
  if (mask === own) return kept(field);
  if (mask === 'sliding' && (shape?.attentionWindow ?? 0) > 0) return kept(field);
  return refuse(
    'mask-of-the-program',
    field,
    `the program of Megatron-LM that is started has a mask that is ${own}, and a sliding one where model.attentionWindow is given`,
    mask === 'full'
      ? 'start pretrain_bert.py by engine.command'
      : 'leave kernel.attentionMask out; --reset-position-ids and --eod-mask-loss in engine.args start positions anew and mask the loss between documents, but tokens still attend across them',
  );
}

/** A model with attention sinks has a softmax that learns them, which Transformer Engine divides over context ranks by heads alone. */
function softmaxArguments({ layout, shape }: MegatronJob, { softmax }: Kernel): readonly RenderedField[] {
  const field = 'layout.kernel.softmax';
  const softmaxFlag = softmax === undefined ? [] : flag(field, '--softmax-type', softmax);
  if (shape?.attentionSinks !== true || softmax === 'learnable')
    return [...softmaxFlag, ...kept('model.attentionSinks')];
  if (softmax !== undefined)
    return refuse(
      'sinks-are-learnt',
      field,
      `layout.kernel.softmax is ${softmax}, and that of a model with attention sinks is learnable`,
      'leave kernel.softmax out',
    );
  const algorithm = algorithmOf(layout, 'attention');
  if ((layout.contextParallelDegree ?? 1) > 1 && !servesSoftmax(algorithm, 'learnable'))
    return refuse(
      'sinks-need-ulysses',
      'layout.sequence.contextAlgorithm',
      `attention sinks do not go with contextAlgorithm ${algorithm}`,
      'use ulysses, or contextParallelDegree 1',
    );
  return flag('model.attentionSinks', '--softmax-type', 'learnable');
}

/** validate_args asks for NCCL_ALGO, and Transformer Engine and cuBLAS for theirs. */
function deterministicArguments({ deterministic }: Kernel): readonly RenderedField[] {
  const field = 'layout.kernel.deterministic';
  if (deterministic !== true) return [];
  return [
    ...flag(field, '--deterministic-mode'),
    ...variable(field, 'NCCL_ALGO', 'Ring'),
    ...variable(field, 'NVTE_ALLOW_NONDETERMINISTIC_ALGO', '0'),
    ...variable(field, 'CUBLAS_WORKSPACE_CONFIG', ':4096:8'),
  ];
}
