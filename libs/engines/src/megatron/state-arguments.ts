/** Renders how Megatron-LM holds parameters, gradients and optimizer states. */
import { resolveGradientPrecision, resolveMomentPrecision, resolveStateImplementation } from '@coxswain/layout';
import { type MegatronJob, flag, flagOf, kept, refuse, type RenderedField } from './rendered-field.ts';

type States = NonNullable<MegatronJob['layout']['states']>;
type Implementation = NonNullable<States['implementation']>;

/** What the layout means where it leaves one of stage and implementation out. */
export function stateImplementation({ layout }: Pick<MegatronJob, 'layout'>): Implementation {
  return resolveStateImplementation('megatron-lm', layout);
}

/** Arguments for the fields of `layout.states`, and for the optimizer. */
export function stateArguments(job: MegatronJob): readonly RenderedField[] {
  const { states = {} } = job.layout;
  const implementation = stateImplementation(job);
  return [
    ...IMPLEMENTATIONS[implementation](states),
    ...(implementation === 'fsdp2' ? fsdp2Limits(job) : []),
    ...instances(job, implementation),
    ...precisionArguments(states, implementation),
    ...gradientArguments(job, implementation),
    ...optimizerArguments(job),
  ];
}

const BOTH = ['layout.states.implementation', 'layout.states.zeroStage'] as const;
const [IMPLEMENTATION, STAGE] = BOTH;

const IMPLEMENTATIONS: Readonly<Record<Implementation, (states: States) => readonly RenderedField[]>> = {
  ddp: () => kept(...BOTH),
  'distributed-optimizer': () => [...flag(IMPLEMENTATION, '--use-distributed-optimizer'), ...kept(STAGE)],
  // Its sharding needs the distributed optimizer from core_v0.19 on, and takes it before.
  'megatron-fsdp': ({ zeroStage = 3 }) => [
    ...flag(IMPLEMENTATION, '--use-megatron-fsdp'),
    ...flag(IMPLEMENTATION, '--use-distributed-optimizer'),
    ...flag(STAGE, '--data-parallel-sharding-strategy', STRATEGIES[zeroStage] ?? 'no_shard'),
    // The fused accumulation keeps a main gradient that is not sharded.
    ...flag(IMPLEMENTATION, '--no-gradient-accumulation-fusion'),
  ],
  fsdp2: ({ zeroStage = 3 }) => [
    ...flag(IMPLEMENTATION, '--use-torch-fsdp2'),
    ...flag(IMPLEMENTATION, '--no-gradient-accumulation-fusion'),
    ...(zeroStage === 2 ? flag(STAGE, '--torch-fsdp2-no-reshard-after-forward') : kept(STAGE)),
  ],
  deepspeed: () =>
    refuse(
      'states-of-this-engine',
      IMPLEMENTATION,
      'states.implementation deepspeed is that of another engine',
      'use distributed-optimizer or megatron-fsdp, or engine deepspeed',
    ),
};

/** What validate_args asserts of --use-torch-fsdp2 besides what rules of layouts know. */
function fsdp2Limits({ layout, shape }: MegatronJob): readonly RenderedField[] {
  if (layout.kernel?.precision === 'fp16')
    return refuse('fsdp2-is-not-fp16', IMPLEMENTATION, 'Megatron-LM has fsdp2 not in fp16', 'use bf16');
  if (shape?.tiedEmbeddings !== true) return [];
  return refuse(
    'fsdp2-is-untied',
    IMPLEMENTATION,
    'Megatron-LM has fsdp2 only for models whose embeddings are not tied',
    'use distributed-optimizer, or set model.tiedEmbeddings to false',
  );
}

/** ZeRO stage 0 to 3 of Megatron-FSDP. */
const STRATEGIES = ['no_shard', 'optim', 'optim_grads', 'optim_grads_params'];

/** Replicas of sharded states, given as their number or as the ranks that share one copy. */
function instances({ layout }: MegatronJob, implementation: Implementation): readonly RenderedField[] {
  const { dataParallelShardDegree: shard, dataParallelDegree: data, contextParallelDegree: context = 1 } = layout;
  const given = layout.states?.optimizerInstances;
  const ranks = data * context;
  const field = shard === undefined ? 'layout.states.optimizerInstances' : 'layout.dataParallelShardDegree';
  const copies = shard === undefined ? (given ?? 1) : ranks / shard;
  const also = given === undefined || shard === undefined ? [] : kept('layout.states.optimizerInstances');
  if (shard !== undefined && given !== undefined && given !== copies)
    return refuse(
      'one-number-of-instances',
      'layout.states.optimizerInstances',
      `dataParallelShardDegree ${shard} of ${ranks} ranks makes ${copies} copies of optimizer states, and states.optimizerInstances is ${given}`,
      'leave one of the two out',
    );
  if (copies === 1) return kept(field, 'layout.states.optimizerInstances');
  if (implementation === 'ddp' || implementation === 'fsdp2')
    return refuse(
      'instances-need-sharded-states',
      field,
      `${implementation} has no copies of sharded states`,
      'set states.implementation to distributed-optimizer or megatron-fsdp',
    );
  return [...flag(field, '--num-distributed-optimizer-instances', copies), ...also];
}

/** megatron/core/optimizer/optimizer_config.py: Adam alone, and the distributed optimizer alone. */
function precisionArguments(states: States, implementation: Implementation): readonly RenderedField[] {
  const { precisionAwareOptimizer } = states;
  const optimizerPrecision = resolveMomentPrecision({ states });
  const field = precisionAwareOptimizer === true ? 'layout.states.precisionAwareOptimizer' : PRECISION;
  if (precisionAwareOptimizer !== true && optimizerPrecision === 'fp32') return kept(PRECISION);
  if (implementation !== 'distributed-optimizer' && implementation !== 'megatron-fsdp')
    return refuse(
      'precision-aware-needs-distributed-optimizer',
      field,
      `the precision-aware optimizer goes with the distributed optimizer, not with ${implementation}`,
      'set states.zeroStage to 1 and states.implementation to distributed-optimizer',
    );
  if (states.optimizer !== undefined && states.optimizer !== 'adamw')
    return refuse(
      'precision-aware-needs-adam',
      field,
      `the precision-aware optimizer is Adam, not ${states.optimizer}`,
      'set states.optimizer to adamw',
    );
  if (precisionAwareOptimizer === false)
    return refuse(
      'moments-need-precision-aware',
      PRECISION,
      `moments in ${optimizerPrecision} need precisionAwareOptimizer, which is false`,
      'set states.precisionAwareOptimizer to true',
    );
  return [
    ...flag(field, '--use-precision-aware-optimizer'),
    ...(optimizerPrecision === 'fp32'
      ? kept(PRECISION)
      : [
          ...flag(PRECISION, '--exp-avg-dtype', optimizerPrecision),
          ...flag(PRECISION, '--exp-avg-sq-dtype', optimizerPrecision),
        ]),
  ];
}

const PRECISION = 'layout.states.optimizerPrecision';
const GRADIENTS = 'layout.states.gradientPrecision';

/** megatron/training/arguments.py, validate_args: bf16 weights have fp32 gradients and fp16 weights fp16 ones, unless a flag says otherwise. */
function gradientArguments({ layout, spec }: MegatronJob, implementation: Implementation): readonly RenderedField[] {
  const weights = layout.kernel?.precision ?? spec.training?.precision ?? 'bf16';
  const gradients = resolveGradientPrecision('megatron-lm', layout, weights);
  if (gradients === 'fp32') return weights === 'fp16' ? flag(GRADIENTS, IN_FP32) : kept(GRADIENTS);
  if (gradients === 'fp16') return kept(GRADIENTS);
  if (weights === 'fp16' || weights === 'fp32')
    return refuse(
      'gradients-fit-weights',
      GRADIENTS,
      `gradients in bf16 do not go with weights in ${weights}`,
      'leave states.gradientPrecision out, or train in bf16',
    );
  if (implementation === 'fsdp2')
    return refuse(
      'fsdp2-sums-in-fp32',
      GRADIENTS,
      'Megatron-LM has no gradients in bf16 with fsdp2',
      'use distributed-optimizer, or leave states.gradientPrecision out',
    );
  const isAware = layout.states?.precisionAwareOptimizer === true || resolveMomentPrecision(layout) !== 'fp32';
  return [...flag(GRADIENTS, IN_BF16), ...(isAware ? flag(GRADIENTS, '--main-grads-dtype', 'bf16') : [])];
}

const IN_FP32 = '--accumulate-allreduce-grads-in-fp32';
const IN_BF16 = '--grad-reduce-in-bf16';

type OptimizerName = NonNullable<NonNullable<NonNullable<MegatronJob['spec']['training']>['optimizer']>['name']>;

/** Values of --optimizer. AdamW is its adam, whose weight decay is decoupled by default. */
const OPTIMIZERS: Readonly<Partial<Record<OptimizerName, string>>> = {
  adamw: 'adam',
  sgd: 'sgd',
  lion: 'lion',
  muon: 'muon',
};

/** The optimizer that layout or job names; undefined where neither does. */
export function optimizerOf({ layout, spec }: Pick<MegatronJob, 'layout' | 'spec'>): string | undefined {
  return layout.states?.optimizer ?? spec.training?.optimizer?.name;
}

function optimizerArguments({ layout, spec, release }: MegatronJob): readonly RenderedField[] {
  const ofLayout = layout.states?.optimizer;
  const ofJob = spec.training?.optimizer?.name;
  const field = ofLayout === undefined ? 'training.optimizer.name' : 'layout.states.optimizer';
  const name = ofLayout ?? ofJob;
  if (name === undefined) return [];
  if (ofLayout !== undefined && ofJob !== undefined && ofLayout !== ofJob)
    return refuse(
      'one-optimizer',
      'layout.states.optimizer',
      `layout.states.optimizer is ${ofLayout}, and training.optimizer.name ${ofJob}`,
      'give the same optimizer in both, or leave one of the two out',
    );
  const known = OPTIMIZERS[name as OptimizerName];
  const choices = release.options.get('--optimizer')?.choices ?? [];
  if (known === undefined || !choices.includes(known))
    return refuse(
      'optimizer-of-this-release',
      field,
      `Megatron-LM ${release.tag} has no ${name}`,
      `use ${Object.entries(OPTIMIZERS)
        .flatMap(([ours, theirs]) => (choices.includes(theirs) ? [ours] : []))
        .join(', ')}`,
    );
  return [
    ...flagOf(field, '--optimizer', known),
    ...kept('training.optimizer.name'),
    ...emergingArguments(layout, known),
  ];
}

/**
 * Optimizers other than Adam and SGD neither shard nor overlap what data parallelism sends. core_v0.16 exits; from core_v0.18 on
 * the sharding is changed without a message (megatron/training/arguments.py, validate_args).
 */
function emergingArguments(layout: MegatronJob['layout'], name: string): readonly RenderedField[] {
  if (name === 'adam' || name === 'sgd') return [];
  const { overlapGradReduce, overlapParamGather } = layout.communication ?? {};
  const isSharded = stateImplementation({ layout }) !== 'ddp';
  if (!isSharded && overlapGradReduce !== true && overlapParamGather !== true) return [];
  const field = isSharded ? 'layout.states.implementation' : 'layout.communication.overlapGradReduce';
  return refuse(
    'emerging-optimizer-is-plain',
    field,
    `${name} of Megatron-LM goes with neither sharded states nor overlapped gradients`,
    'leave both out, or use adamw',
  );
}

/** Whether FSDP shards the states; other fields depend on it. */
export function isFsdp(job: Pick<MegatronJob, 'layout'>): boolean {
  const implementation = stateImplementation(job);
  return implementation === 'megatron-fsdp' || implementation === 'fsdp2';
}
