/** Renders the schedule and the stages of a pipeline for Megatron-LM. */
import { type MegatronJob, flag, flagOf, kept, refuse, type RenderedField } from './rendered-field.ts';

type Plan = NonNullable<MegatronJob['layout']['pipeline']>;

/** Arguments for the fields of `layout.pipeline`. */
export function pipelineArguments(job: MegatronJob): readonly RenderedField[] {
  const { pipeline: plan } = job.layout;
  if (plan === undefined) return [];
  const chunks = plan.chunksPerRank ?? 1;
  const schedule = scheduleArguments(plan.schedule, chunks);
  if (job.shape?.layerPattern !== undefined) return [...schedule, ...hybridPlan(plan)];
  return [
    ...schedule,
    ...chunkArguments(plan, chunks),
    ...(chunks === 1 && plan.microBatchGroupSize !== undefined
      ? refuse(
          'group-size-needs-chunks',
          'layout.pipeline.microBatchGroupSize',
          'only the interleaved schedule has groups of micro-batches, and there is one chunk per rank',
          'leave pipeline.microBatchGroupSize out, or give pipeline.chunksPerRank',
        )
      : flagOf(
          'layout.pipeline.microBatchGroupSize',
          '--microbatch-group-size-per-virtual-pipeline-stage',
          plan.microBatchGroupSize,
        )),
    ...vocabularyArguments(plan),
  ];
}

/**
 * The engine runs 1F1B, interleaved if a rank has several chunks, and has no flag for it. Without a pipeline other schedules are
 * refused as well.
 */
function scheduleArguments(schedule: Plan['schedule'], chunks: number): readonly RenderedField[] {
  const field = 'layout.pipeline.schedule';
  const own = chunks > 1 ? 'interleaved-1f1b' : '1f1b';
  if (schedule === undefined || schedule === own) return kept(field);
  return refuse(
    'schedule-follows-chunks',
    field,
    `Megatron-LM runs ${own} with pipeline.chunksPerRank ${chunks}, not ${schedule}`,
    'leave pipeline.schedule out',
  );
}

/** A list of stages gives the number of chunks; the parser refuses both flags together. */
function chunkArguments(plan: Plan, chunks: number): readonly RenderedField[] {
  const field = 'layout.pipeline.chunksPerRank';
  if (plan.stages !== undefined)
    return [
      ...flag('layout.pipeline.stages', '--pipeline-model-parallel-layout', stagesAsText(plan.stages)),
      ...(plan.chunksPerRank === undefined ? [] : kept(field)),
    ];
  return chunks === 1 ? [] : flag(field, '--num-virtual-stages-per-pipeline-rank', chunks);
}

/** `Et*19|t*19|t*19L` (megatron/core/transformer/pipeline_parallel_layer_layout.py): E embedding, t layer, m MTP layer, L loss. */
export function stagesAsText(stages: NonNullable<Plan['stages']>): string {
  return stages
    .map(({ embedding, layers, mtpLayers = 0, loss }) => {
      const parts = [
        embedding === true ? 'E' : '',
        times('t', layers),
        times('m', mtpLayers),
        loss === true ? 'L' : '',
      ];
      return parts.join('');
    })
    .join('|');
}

function times(letter: string, count: number): string {
  return count === 0 ? '' : count === 1 ? letter : `${letter}*${count}`;
}

function vocabularyArguments({ vocabulary, stages }: Plan): readonly RenderedField[] {
  const field = 'layout.pipeline.vocabulary';
  if (vocabulary === undefined) return [];
  if (vocabulary !== 'counted-as-layer') return kept(field);
  if (stages !== undefined)
    return refuse(
      'stages-or-counted-vocabulary',
      field,
      'pipeline.stages places embedding and output layer, so they cannot be counted as layers as well',
      'leave pipeline.vocabulary out, or pipeline.stages',
    );
  return [
    ...flag(field, '--account-for-embedding-in-pipeline-split'),
    ...flag(field, '--account-for-loss-in-pipeline-split'),
  ];
}

/** From core_v0.17 on the pattern of a hybrid gives its stages, and earlier releases have no option: neither is rendered. */
function hybridPlan(plan: Plan): readonly RenderedField[] {
  const field = (['stages', 'chunksPerRank', 'microBatchGroupSize'] as const).find((one) => plan[one] !== undefined);
  if (field !== undefined)
    return refuse(
      'hybrid-has-even-stages',
      `layout.pipeline.${field}`,
      `Megatron-LM takes no pipeline.${field} for a model that is given by a pattern of layers`,
      `leave pipeline.${field} out: stages of equal length are what it has`,
    );
  if (plan.vocabulary === 'counted-as-layer')
    return refuse(
      'hybrid-has-even-stages',
      'layout.pipeline.vocabulary',
      'Megatron-LM cannot count the vocabulary as layers of a pattern',
      'leave pipeline.vocabulary out',
    );
  return kept('layout.pipeline.vocabulary');
}
