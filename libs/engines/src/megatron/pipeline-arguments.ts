/** How are schedule and stages of a pipeline told to Megatron-LM? */
import { type Asked, flag, flagOf, kept, refuse, type Told } from './rendered-field.ts';

type Plan = NonNullable<Asked['layout']['pipeline']>;

export function pipelineWords(asked: Asked): readonly Told[] {
  const { pipeline: plan } = asked.layout;
  if (plan === undefined) return [];
  const chunks = plan.chunksPerRank ?? 1;
  const schedule = scheduleWords(plan.schedule, chunks);
  if (asked.shape?.layerPattern !== undefined) return [...schedule, ...hybridPlan(plan)];
  return [
    ...schedule,
    ...chunkWords(plan, chunks),
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
    ...vocabularyWords(plan),
  ];
}

/** The engine runs 1F1B, interleaved where a rank has several chunks, and has no flag for it. Also where there is no pipeline no other word is taken. */
function scheduleWords(schedule: Plan['schedule'], chunks: number): readonly Told[] {
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

/** A list of stages says how many chunks there are; both flags together end the parser's validation. */
function chunkWords(plan: Plan, chunks: number): readonly Told[] {
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

function vocabularyWords({ vocabulary, stages }: Plan): readonly Told[] {
  const field = 'layout.pipeline.vocabulary';
  if (vocabulary === undefined) return [];
  if (vocabulary !== 'counted-as-layer') return kept(field);
  if (stages !== undefined)
    return refuse(
      'stages-or-counted-vocabulary',
      field,
      'pipeline.stages say where embedding and output layer are, so that they cannot be counted as layers besides',
      'leave pipeline.vocabulary out, or pipeline.stages',
    );
  return [
    ...flag(field, '--account-for-embedding-in-pipeline-split'),
    ...flag(field, '--account-for-loss-in-pipeline-split'),
  ];
}

/** Stages of a hybrid are told in its pattern from core_v0.17 on, and before that nowhere: neither is rendered. */
function hybridPlan(plan: Plan): readonly Told[] {
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
