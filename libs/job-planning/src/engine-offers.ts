/**
 * What may the planner choose for the engine of a job, and how does the engine receive it? The engine's own adapter answers for each option, so that
 * every plan can be rendered, also where a release, the job's checkpoints or its arguments exclude an option.
 */
import type { TrainingJobSpec } from '@coxswain/api-types';
import { degreesOf, engineRefusal, modelOfJob } from '@coxswain/engines';
import type { ModelShape, ParallelLayout } from '@coxswain/layout';
import { type AllowedChoices, type PinnedAxes, RANK_ORDERS, recomputationsOf, ZERO_STAGES } from '@coxswain/planner';

type States = NonNullable<ParallelLayout['states']>;
type Memory = NonNullable<ParallelLayout['memory']>;

const EVERY_LAYER: NonNullable<Memory['recompute']> = { mode: 'full', method: 'uniform', layers: 1 };

/** How an engine receives the chosen layout. */
export type ToEngineLayout = (layout: ParallelLayout) => ParallelLayout;

/** Engines that receive the degrees of the layout and nothing else. */
const TOLD_DEGREES: ReadonlySet<TrainingJobSpec['engine']['name']> = new Set(['reference', 'command']);

/** Whether the engine receives the degrees of a layout alone, without any other option. */
export function takesDegreesOnly({ engine }: Pick<TrainingJobSpec, 'engine'>): boolean {
  return TOLD_DEGREES.has(engine.name);
}

/** Choices that the adapter takes, beside what the planner knows of the engine. */
export interface EngineOffers {
  readonly allow: AllowedChoices;
  readonly pinned: PinnedAxes;
}

/** Takes some thirty renderings, of a fraction of a millisecond each. */
export function engineOffers(spec: TrainingJobSpec): EngineOffers {
  // Engines that receive degrees alone support no uneven stages.
  if (takesDegreesOnly(spec)) return { allow: { evenOnly: true }, pinned: {} };
  const takes = adapterTakes(spec);
  const stages = ZERO_STAGES.filter((stage) => implementationOf(stage, takes) !== undefined);
  const orders = RANK_ORDERS.filter((order) => order === RANK_ORDERS[0] || takes({ rankOrder: axesOf(order) }));
  const offloads = takes({
    states: { zeroStage: 1, implementation: 'distributed-optimizer', precisionAwareOptimizer: true },
    memory: {
      offload: [
        { what: 'optimizer', fraction: 1 },
        { what: 'activations', fraction: 1 },
      ],
      hostMemoryGibPerGpu: 64,
    },
  });
  const hasUnevenStages = takesUnevenStages(takes, spec);
  return {
    allow: {
      ...(stages.length === 0 ? {} : { zeroStages: [...stages] }),
      ...recomputationIn(takes, spec),
      rankOrders: orders,
      offload: offloads,
      ...(hasUnevenStages ? {} : { partitions: ['even' as const] }),
    },
    pinned: {
      ...(takes({ tensorParallelDegree: 2 }) || takes(SPLIT_TENSORS) ? {} : { tensor: 1 }),
      // Two stages may not divide the layers of the model, and uneven ones hold them all the same.
      ...(takes({ pipelineParallelDegree: 2 }) || hasUnevenStages ? {} : { pipeline: 1 }),
      ...(takesContext(takes) ? {} : { context: 1 }),
      ...(modelOf(spec)?.experts === undefined || takesExperts(takes) ? {} : { expert: 1 }),
      ...(takesExpertTensor(takes) ? {} : { expertTensor: 1 }),
    },
  };
}

/** The chosen layout in the words of the engine; of those that take degrees alone, these. */
export function toEngineLayoutOf(spec: TrainingJobSpec): ToEngineLayout {
  if (takesDegreesOnly(spec)) return degreesOf;
  const takes = adapterTakes(spec);
  const ways = new Map<number, States['implementation'] | 'unsaid'>(
    ZERO_STAGES.map((stage) => [stage, implementationOf(stage, takes)]),
  );
  const saysMethod = takes({ memory: { recompute: EVERY_LAYER } });
  const saysExperts = takesExperts(takes);
  return ({ states, memory, expert, ...layout }) => ({
    ...layout,
    // How whole experts are dispatched is no word of an engine that cannot distribute them.
    ...(expert === undefined || (!saysExperts && (expert.expertParallelDegree ?? 1) === 1) ? {} : { expert }),
    ...(states === undefined ? {} : { states: inItsWay(states, ways.get(states.zeroStage ?? 0)) }),
    ...(memory === undefined ? {} : { memory: saysMethod ? memory : withoutMethod(memory) }),
  });
}

function inItsWay({ implementation: _planned, ...states }: States, way: States['implementation'] | 'unsaid'): States {
  return way === undefined || way === 'unsaid' ? states : { ...states, implementation: way };
}

/** Every layer by itself, which is what full recomputation is where nobody says how. */
function withoutMethod(memory: Memory): Memory {
  const { recompute } = memory;
  return recompute?.mode === 'full' && recompute.method === 'uniform'
    ? { ...memory, recompute: { mode: 'full' } }
    : memory;
}

type Takes = (layout: Partial<ParallelLayout>) => boolean;

/** Whether the adapter renders the job on a layout with these words; rules of layouts are not asked. */
function adapterTakes(spec: TrainingJobSpec): Takes {
  const { gpus: _asked, layout: _own, ...rest } = spec;
  const asked = (layout: Partial<ParallelLayout>): boolean =>
    engineRefusal({
      ...rest,
      layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 2, ...layout },
    }) === undefined;
  // An engine that supports none is rejected elsewhere, for another reason.
  return asked({}) ? asked : () => true;
}

/** Ways to share states, as the planner means each stage, then as other engines call the same. */
const WAYS: Readonly<Record<0 | 1 | 2 | 3, readonly (States['implementation'] | 'unsaid')[]>> = {
  0: ['ddp', 'unsaid'],
  1: ['distributed-optimizer', 'deepspeed', 'unsaid'],
  2: ['megatron-fsdp', 'deepspeed', 'unsaid'],
  3: ['megatron-fsdp', 'fsdp2', 'deepspeed', 'unsaid'],
};

function implementationOf(zeroStage: 0 | 1 | 2 | 3, takes: Takes): States['implementation'] | 'unsaid' {
  return WAYS[zeroStage].find((way) =>
    takes({ states: { zeroStage, ...(way === undefined || way === 'unsaid' ? {} : { implementation: way }) } }),
  );
}

/** The activations that the planner can recompute and this job's engine adapter supports. */
function recomputationIn(takes: Takes, spec: TrainingJobSpec): Pick<AllowedChoices, 'recompute'> {
  const model = modelOf(spec);
  if (model === undefined) return {};
  const taken = recomputationsOf(spec.engine.name, model).filter(
    ({ memory }) => memory === undefined || takes({ memory }) || takes({ memory: withoutMethod(memory) }),
  );
  return { recompute: taken.map(({ policy }) => policy) };
}

/** As the planner divides tensors: experts need the sequence to be split as well. */
const SPLIT_TENSORS = { tensorParallelDegree: 2, sequence: { sequenceParallel: true } } as const;

function modelOf({ model }: TrainingJobSpec): ModelShape | undefined {
  return model === undefined ? undefined : modelOfJob(model)?.model;
}

function takesUnevenStages(takes: Takes, spec: TrainingJobSpec): boolean {
  const { layers = 2, mtpLayers = 0 } = modelOf(spec) ?? {};
  const stages = [
    { layers: layers - 1, embedding: true },
    { layers: 1, loss: true, ...(mtpLayers === 0 ? {} : { mtpLayers }) },
  ];
  return takes({ pipelineParallelDegree: 2, pipeline: { schedule: '1f1b', stages } });
}

/** Some only where the ranks of a context share their states. */
function takesContext(takes: Takes): boolean {
  return takes({ contextParallelDegree: 2 }) || takes({ contextParallelDegree: 2, states: { zeroStage: 3 } });
}

/** Some only where the ranks of experts share their states. */
function takesExperts(takes: Takes): boolean {
  const expert = { expertParallelDegree: 2 };
  return takes({ expert }) || takes({ expert, states: { zeroStage: 3 } });
}

function takesExpertTensor(takes: Takes): boolean {
  const expert = { expertParallelDegree: 1, expertTensorParallelDegree: 2 };
  return takes({ tensorParallelDegree: 2, expert }) || takes({ ...SPLIT_TENSORS, expert });
}

const AXES = { tp: 'tensor', cp: 'context', dp: 'data', pp: 'pipeline' } as const;

function axesOf(order: (typeof RANK_ORDERS)[number]): NonNullable<ParallelLayout['rankOrder']> {
  return order.split('-').map((short) => AXES[short as keyof typeof AXES]);
}
