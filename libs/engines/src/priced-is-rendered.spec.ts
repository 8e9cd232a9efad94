/** What is priced is what is rendered: over every engine and release, with layouts that set or leave out each priced fact. */
import { ENGINE_NAMES, ENGINE_RELEASES, type EffectiveSpec, TrainingJobSpec } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { pricedFacts } from '@coxswain/planner';
import { brokenLayoutRules } from './layout-refusal.ts';
import { modelOfJob } from './model-of-job.ts';
import { renderEngine } from './render-engine.ts';
import { JOBS_OF_ENGINES, type JobOfEngine } from './testing/jobs-of-engines.ts';
import { renderedFacts } from './testing/rendered-facts.ts';

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
const DISPATCHERS = [undefined, 'allgather', 'alltoall', 'deepep', 'hybridep'] as const;

interface Case {
  readonly engine: string;
  readonly what: string;
  readonly spec: EffectiveSpec;
}

const CASES = JOBS_OF_ENGINES.flatMap(ofReleases).flatMap((one) =>
  CHANGES.flatMap((change) => DISPATCHERS.flatMap((dispatcher) => changed(one, change, dispatcher))),
);

function ofReleases(one: JobOfEngine): readonly JobOfEngine[] {
  const { engine } = one.job as EffectiveSpec;
  if (engine.release === undefined && engine.recipe === undefined && engine.name !== 'torchtitan') return [one];
  if (engine.name === 'torchtitan' || engine.recipe !== undefined) return [one];
  return ENGINE_RELEASES[engine.name].map((release) => ({
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

describe.each(ENGINE_NAMES.filter((name) => !['reference', 'command', 'custom'].includes(name)))('%s', (engine) => {
  it('runs with the facts that are priced', () => {
    let compared = 0;
    for (const { what, spec } of CASES.filter((one) => one.engine === engine)) {
      const run = renderEngine(spec);
      const model = spec.model === undefined ? undefined : modelOfJob(spec.model)?.model;
      if (run.kind === 'refused' || model === undefined) continue;
      const read = renderedFacts(engine, run);
      const priced = pricedOrNothing(spec, model);
      if (priced === undefined) continue;
      compared++;
      const names = Object.keys(read) as (keyof typeof read)[];
      const alike = Object.fromEntries(names.map((name) => [name, priced[name]]));
      expect({ what, ...alike }).toEqual({ what, ...read });
    }
    expect(compared).toBeGreaterThan(10);
  });
});

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
