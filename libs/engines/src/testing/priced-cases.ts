/** Jobs over every engine and release, with layouts that set or leave out each priced fact, as they are priced and as they are rendered. */
import { ENGINE_RELEASES, type EffectiveSpec, type EngineName, TrainingJobSpec } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { type PricedFacts, pricedFacts } from '@coxswain/planner';
import { brokenLayoutRules } from '../layout-refusal.ts';
import { modelOfJob } from '../model-of-job.ts';
import { renderEngine } from '../render-engine.ts';
import type { RenderedEngine } from '../rendering.ts';
import { JOBS_OF_ENGINES, type JobOfEngine } from './jobs-of-engines.ts';

/** Each changes what is priced, or leaves it to a default. */
const CHANGES: readonly Partial<ParallelLayout>[] = [
  {},
  { communication: { overlapGradReduce: true } },
  { communication: { overlapGradReduce: true, overlapParamGather: true } },
  { communication: { overlapGradReduce: false } },
  { communication: { overlapTensorParallel: true } },
  { communication: { overlapExpertParallel: true } },
  ...([0, 1, 2, 3] as const).map((zeroStage) => ({ states: { zeroStage } })),
  ...(['ddp', 'distributed-optimizer', 'megatron-fsdp', 'fsdp2', 'deepspeed'] as const).map((implementation) => ({
    states: { implementation },
  })),
  ...(['fp32', 'bf16'] as const).map((gradientPrecision) => ({ states: { zeroStage: 1, gradientPrecision } })),
  ...(['bf16', 'fp16', 'fp8'] as const).map((optimizerPrecision) => ({
    states: { zeroStage: 1, precisionAwareOptimizer: true, optimizerPrecision },
  })),
  { states: { zeroStage: 1, gradientPrecision: 'bf16', precisionAwareOptimizer: true } },
  ...(['fp16', 'fp8', 'bf16'] as const).map((precision) => ({ kernel: { precision } })),
  { kernel: { precision: 'fp16' }, states: { zeroStage: 1, gradientPrecision: 'fp32' } },
  { memory: { recompute: { mode: 'selective' } } },
  { memory: { recompute: { mode: 'full' } } },
];
const OFFLOADS: readonly Partial<ParallelLayout>[] = [
  { memory: { hostMemoryGibPerGpu: 64, offload: [{ what: 'optimizer' }] } },
  { memory: { hostMemoryGibPerGpu: 64, offload: [{ what: 'optimizer', fraction: 0.5 }] } },
  { memory: { hostMemoryGibPerGpu: 64, offload: [{ what: 'activations' }] } },
  { memory: { hostMemoryGibPerGpu: 64, offload: [{ what: 'activations' }], recompute: { mode: 'full' } } },
];
const MEGATRON_STATES = {
  zeroStage: 1,
  implementation: 'distributed-optimizer',
  precisionAwareOptimizer: true,
} as const;
const OFFLOADS_OF: Readonly<Partial<Record<EngineName, readonly Partial<ParallelLayout>[]>>> = {
  deepspeed: OFFLOADS,
  'megatron-lm': OFFLOADS.map((offload) => ({ ...offload, states: MEGATRON_STATES })),
  'megatron-bridge': OFFLOADS.map((offload) => ({ ...offload, states: MEGATRON_STATES })),
};
const DISPATCHERS = [undefined, 'allgather', 'alltoall', 'deepep', 'hybridep'] as const;

interface Case {
  readonly engine: EngineName;
  readonly what: string;
  readonly spec: EffectiveSpec;
}

const CASES = JOBS_OF_ENGINES.flatMap(ofReleases).flatMap((one) =>
  [...CHANGES, ...(OFFLOADS_OF[one.engine] ?? [])].flatMap((change) =>
    DISPATCHERS.flatMap((dispatcher) => changed(one, change, dispatcher)),
  ),
);

function ofReleases(one: JobOfEngine): readonly JobOfEngine[] {
  const { engine } = one.job as EffectiveSpec;
  if (engine.recipe !== undefined || (engine.release === undefined && engine.name !== 'torchtitan')) return [one];
  // Releases of TorchTitan before v0.3.0 read a file that later ones do not.
  const isAlike = (release: string): boolean =>
    engine.name !== 'torchtitan' || release.startsWith('v0.2') === (engine.release?.startsWith('v0.2') ?? false);
  return ENGINE_RELEASES[engine.name].filter(isAlike).map((release) => ({
    ...one,
    what: `${one.what} (${release})`,
    job: { ...one.job, engine: { ...engine, release } },
  }));
}

function changed(
  { engine, what, job }: JobOfEngine,
  change: Partial<ParallelLayout>,
  dispatcher: (typeof DISPATCHERS)[number],
): readonly Case[] {
  const { layout = {} as ParallelLayout } = job as EffectiveSpec;
  if (dispatcher !== undefined && layout.expert === undefined) return [];
  const words = Object.entries(change).map(([part, inner]) => [
    part,
    { ...(layout[part as keyof ParallelLayout] as object | undefined), ...(inner as object) },
  ]);
  const { dispatcher: _own, ...expert } = layout.expert ?? { expertParallelDegree: 1 };
  const experts = layout.expert === undefined ? {} : { expert: { ...expert, ...(dispatcher && { dispatcher }) } };
  const { success, data } = TrainingJobSpec.safeParse({
    ...job,
    layout: { ...layout, ...experts, ...Object.fromEntries(words) },
  });
  if (!success || data.layout === undefined) return [];
  const spec = { ...data, layout: data.layout };
  return brokenLayoutRules(spec).length > 0
    ? []
    : [{ engine, what: `${what}: ${JSON.stringify({ ...change, dispatcher })}`, spec }];
}

/** A job that is priced and rendered. */
export interface Comparable {
  readonly what: string;
  readonly priced: PricedFacts;
  readonly run: RenderedEngine;
}

const comparables = new Map<EngineName, readonly Comparable[]>();

/** The cases of an engine that are rendered and priced. */
export function comparablesOf(engine: EngineName): readonly Comparable[] {
  const known = comparables.get(engine);
  if (known !== undefined) return known;
  const made = CASES.filter((one) => one.engine === engine).flatMap(({ what, spec }): Comparable[] => {
    const run = renderEngine(spec);
    const model = spec.model === undefined ? undefined : modelOfJob(spec.model)?.model;
    if (run.kind === 'refused' || model === undefined) return [];
    const priced = pricedOrNothing(spec, model);
    return priced === undefined ? [] : [{ what, priced, run }];
  });
  comparables.set(engine, made);
  return made;
}

/** Undefined where the models do not cover an option; predictions refuse it. */
function pricedOrNothing(
  { engine, layout, training }: EffectiveSpec,
  model: NonNullable<ReturnType<typeof modelOfJob>>['model'],
): ReturnType<typeof pricedFacts> | undefined {
  const stack = [engine.name, engine.release].filter(Boolean).join(' ');
  try {
    return pricedFacts(
      { stack, model, precision: training?.precision ?? 'bf16' },
      { layout, microBatchSize: training?.microBatchSize ?? 1 },
    );
  } catch {
    return undefined;
  }
}
