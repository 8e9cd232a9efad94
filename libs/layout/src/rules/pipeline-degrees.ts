import { type GridPoint, microBatchesOf } from '../grid-point.ts';
import type { LayoutFacts } from '../layout-facts.ts';
import { divisorsOf, nearest } from '../nearest.ts';
import type { GridRule } from './grid-rule.ts';

const MEGATRON = 'Megatron-LM';

/** Rules about what pipeline ranks split. */
export const pipelineDegreeRules: readonly GridRule[] = [
  {
    name: 'pipelineDividesLayers',
    source: MEGATRON,
    statement:
      'without listed stages, pipelineParallelDegree times chunksPerRank divides layers (plus 2 if the vocabulary counts as layers)',
    holds: (point, { layers }) =>
      point.stages !== undefined ||
      layers === undefined ||
      (layers + countedLayers(point)) % (point.pipeline * point.chunks) === 0,
    explain: (point, { layers = 1 }) => {
      const counted = countedLayers(point);
      const legal = divisorsOf(layers + counted).filter((ways) => (layers + counted) % (ways * point.chunks) === 0);
      const nearestWays = nearest(legal, point.pipeline);
      const whole = counted === 0 ? `layers ${layers}` : `layers ${layers} plus ${counted} for the vocabulary`;
      const ways = `pipelineParallelDegree ${point.pipeline}`;
      if (point.chunks === 1) {
        return {
          field: 'pipelineParallelDegree',
          message: `${ways} does not divide ${whole}; the nearest that does is ${nearestWays ?? 1}`,
        };
      }
      return {
        field: 'pipelineParallelDegree',
        message:
          `${ways} times pipeline.chunksPerRank ${point.chunks} is ${point.pipeline * point.chunks}, which does not divide ${whole}; ` +
          (nearestWays === undefined
            ? `no pipelineParallelDegree does with that many chunks: `
            : `the nearest pipelineParallelDegree that does is ${nearestWays}, or `) +
          `list pipeline.stages`,
      };
    },
  },
  {
    name: 'stagesCoverModel',
    source: MEGATRON,
    statement:
      'the number of listed stages is pipelineParallelDegree times chunksPerRank, and their layers add up to the layers of the model',
    holds: (point, facts) =>
      point.stages === undefined ||
      (point.stages.length === point.pipeline * point.chunks &&
        (facts.layers === undefined || sumOf(point.stages, (stage) => stage.layers) === facts.layers)),
    explain: (point, facts) => {
      const stages = point.stages ?? [];
      const entries = point.pipeline * point.chunks;
      const sum = sumOf(stages, (stage) => stage.layers);
      return {
        field: 'pipeline/stages',
        message:
          stages.length === entries
            ? `pipeline.stages hold ${sum} layers, but the model has ${facts.layers ?? sum}; ${mendedStages(stages, (facts.layers ?? sum) - sum)}`
            : `pipeline.stages lists ${stages.length} stages; pipelineParallelDegree ${point.pipeline} times chunksPerRank ` +
              `${point.chunks} needs ${entries}`,
      };
    },
  },
  {
    name: 'stagesBeginWithEmbeddingAndEndWithLoss',
    source: MEGATRON,
    statement:
      'if stages are listed, only the first holds the embedding, only the last holds the loss, and every MTP layer is placed',
    holds: (point, facts) => {
      const { stages } = point;
      if (stages === undefined || stages.every((stage) => stage.embedding !== true && stage.loss !== true)) return true;
      const last = stages.length - 1;
      return (
        stages.every(
          (stage, index) => (stage.embedding === true) === (index === 0) && (stage.loss === true) === (index === last),
        ) &&
        (facts.mtpLayers === undefined || sumOf(stages, (stage) => stage.mtpLayers ?? 0) === facts.mtpLayers)
      );
    },
    explain: (point, facts) => ({
      field: 'pipeline/stages',
      message:
        `pipeline.stages place the embedding in ${placesOf(point, 'embedding')} and the loss in ${placesOf(point, 'loss')}, and ` +
        `${sumOf(point.stages ?? [], (stage) => stage.mtpLayers ?? 0)} of ${facts.mtpLayers ?? 0} MTP layers. The embedding belongs in ` +
        `stage 0, the loss in stage ${(point.stages?.length ?? 1) - 1}, and every MTP layer in one of them`,
    }),
  },
  {
    name: 'noStageIsEmpty',
    source: 'this project: an empty stage costs a GPU and two transfers, and does nothing',
    statement: 'every listed stage holds a layer, an MTP layer, the embedding or the loss',
    holds: ({ stages }) => stages === undefined || firstEmptyStage(stages) === undefined,
    explain: ({ stages = [] }) => {
      const empty = firstEmptyStage(stages) ?? 0;
      const filled = stages.filter((_, index) => !isEmptyStage(stages, index)).length;
      return {
        field: 'pipeline/stages',
        message:
          `pipeline.stages: stage ${empty} and ${stages.length - filled - 1} more are empty (no layer, embedding or loss); ` +
          `move a layer to each, or list only the other ${filled}`,
      };
    },
  },
  {
    name: 'chunksNeedPipeline',
    source: MEGATRON,
    statement: 'several chunks per rank need a pipeline',
    holds: (point) => point.chunks === 1 || point.pipeline > 1,
    explain: (point) => ({
      field: 'pipeline/chunksPerRank',
      message: `pipeline.chunksPerRank ${point.chunks} needs pipelineParallelDegree 2 or more; without a pipeline it is 1`,
    }),
  },
  {
    name: 'scheduleTakesChunks',
    source: `${MEGATRON}; PyTorch schedules`,
    statement:
      'interleaved-1f1b has 2 or more chunks per rank; zbv, v-half, v-min and dualpipe-v exactly 2; gpipe, 1f1b, zb-h1, zb-2p one',
    holds: (point) => {
      if (point.pipeline === 1) return true;
      const [least, most] = CHUNKS_OF_SCHEDULE[point.schedule];
      return point.chunks >= least && point.chunks <= most;
    },
    explain: (point) => {
      const [least, most] = CHUNKS_OF_SCHEDULE[point.schedule];
      const other = point.chunks === 1 ? '1f1b' : 'interleaved-1f1b';
      return {
        field: 'pipeline/chunksPerRank',
        message:
          `pipeline.chunksPerRank ${point.chunks} is not supported by schedule ${point.schedule}, which requires ` +
          `${least === most ? String(least) : `${least} or more`}; the nearest is ${Math.min(most, Math.max(least, point.chunks))}, ` +
          `or use schedule ${other}`,
      };
    },
  },
  {
    name: 'microBatchesFillGroups',
    source: `${MEGATRON} (megatron/core/pipeline_parallel/schedules.py)`,
    statement:
      'interleaved-1f1b: the micro-batch group is between pipelineParallelDegree and the number of micro-batches, and the remainder is 0 or at least pipelineParallelDegree',
    holds: (point, facts) => {
      if (point.schedule !== 'interleaved-1f1b' || point.pipeline === 1) return true;
      const count = microBatchesOf(point, facts);
      return count === undefined || fillsGroups(count, point);
    },
    explain: (point, facts) => {
      const count = microBatchesOf(point, facts) ?? 1;
      const group = point.microBatchGroup ?? point.pipeline;
      return {
        field: 'pipeline/microBatchGroupSize',
        message:
          count < point.pipeline
            ? `pipeline.schedule interleaved-1f1b on ${point.pipeline} stages needs at least ${point.pipeline} micro-batches, but has ${count}; ` +
              `raise globalBatchSize, or use schedule 1f1b`
            : `${count} micro-batches do not fill groups of ${group} on ${point.pipeline} stages: a group must be between ` +
              `${point.pipeline} and ${count}, and the remainder 0 or at least ${point.pipeline}; ` +
              `the nearest group is ${nearestGroup(count, point) ?? point.pipeline}` +
              (group < point.pipeline ? '' : `, the nearest number of micro-batches ${nearestCount(count, point)}`),
      };
    },
  },
  {
    name: 'dualpipeHasMicroBatches',
    source: 'PyTorch ScheduleDualPipeV',
    statement: 'dualpipe-v has at least as many micro-batches as virtual stages',
    holds: (point, facts) => {
      if (point.schedule !== 'dualpipe-v' || point.pipeline === 1) return true;
      const count = microBatchesOf(point, facts);
      return count === undefined || count >= point.pipeline * point.chunks;
    },
    explain: (point, facts) => ({
      field: 'pipeline/schedule',
      message:
        `pipeline.schedule dualpipe-v needs at least ${point.pipeline * point.chunks} micro-batches, but has ` +
        `${microBatchesOf(point, facts) ?? 0}; the nearest globalBatchSize that gives them is ` +
        `${point.pipeline * point.chunks * (point.microBatchSize ?? 1) * point.data * (point.weightShard ?? 1)}, or use schedule zbv`,
    }),
  },
  {
    name: 'vocabularyShardsOverPipeline',
    source: 'Vocabulary Parallelism (sail-sg/VocabularyParallelism)',
    statement:
      'a vocabulary sharded over the pipeline needs a pipeline, one chunk per rank, untied embeddings, and vocabularySize a multiple of tensor times pipeline',
    holds: (point, facts) => {
      if (point.vocabulary !== 'sharded-over-pp' && point.vocabulary !== 'interlaced') return true;
      return (
        point.pipeline > 1 &&
        (point.chunks === 1 || point.schedule === 'v-half') &&
        facts.tiedEmbeddings !== true &&
        (facts.vocabularySize ?? 0) % (point.tensor * point.pipeline) === 0
      );
    },
    explain: (point, facts) => ({ field: 'pipeline/vocabulary', message: explainVocabulary(point, facts) }),
  },
];

const CHUNKS_OF_SCHEDULE: Readonly<Record<GridPoint['schedule'], readonly [least: number, most: number]>> = {
  gpipe: [1, 1],
  '1f1b': [1, 1],
  'interleaved-1f1b': [2, Infinity],
  'looped-bfs': [1, Infinity],
  'zb-h1': [1, 1],
  'zb-2p': [1, 1],
  zbv: [2, 2],
  'v-half': [2, 2],
  'v-min': [2, 2],
  'dualpipe-v': [2, 2],
  'schedule-file': [1, Infinity],
  'partial-paths': [1, 1],
  'graph-chunks': [1, 1],
};

type Stages = NonNullable<GridPoint['stages']>;

function firstEmptyStage(stages: Stages): number | undefined {
  for (let index = 0; index < stages.length; index++) if (isEmptyStage(stages, index)) return index;
  return undefined;
}

/** If no stage names the embedding or the loss, the first stage holds the embedding and the last the loss. */
function isEmptyStage(stages: Stages, index: number): boolean {
  const stage = stages[index];
  if (stage === undefined || stage.layers > 0 || (stage.mtpLayers ?? 0) > 0) return false;
  if (stage.embedding === true || stage.loss === true) return false;
  const isAnEnd = index === 0 || index === stages.length - 1;
  return !isAnEnd || stages.some((each) => each.embedding === true || each.loss === true);
}

function countedLayers(point: GridPoint): 0 | 2 {
  return point.vocabulary === 'counted-as-layer' ? 2 : 0;
}

function fillsGroups(count: number, point: GridPoint, group = point.microBatchGroup ?? point.pipeline): boolean {
  const rest = count % group;
  return group >= point.pipeline && group <= count && (rest === 0 || rest >= point.pipeline);
}

function nearestGroup(count: number, point: GridPoint): number | undefined {
  const legal = Array.from({ length: count - point.pipeline + 1 }, (_, index) => point.pipeline + index).filter(
    (group) => fillsGroups(count, point, group),
  );
  return nearest(legal, point.microBatchGroup ?? point.pipeline);
}

/** The nearest legal number of micro-batches, for a group at least as large as the pipeline: a multiple of such a group is always legal. */
function nearestCount(count: number, point: GridPoint): number {
  const group = point.microBatchGroup ?? point.pipeline;
  const legal = Array.from({ length: count + group }, (_, index) => index + 1).filter((one) => fillsGroups(one, point));
  return nearest(legal, count) ?? group;
}

function explainVocabulary(point: GridPoint, facts: LayoutFacts): string {
  const what = `pipeline.vocabulary ${point.vocabulary}`;
  if (point.pipeline === 1)
    return `${what} needs pipelineParallelDegree 2 or more; without a pipeline it is end-stages`;
  if (point.chunks > 1 && point.schedule !== 'v-half') {
    return `${what} requires chunksPerRank 1, not ${point.chunks}; set it to 1, or use vocabulary counted-as-layer`;
  }
  if (facts.tiedEmbeddings === true) return `${what} needs untied embeddings; with tiedEmbeddings use counted-as-layer`;
  const ways = point.tensor * point.pipeline;
  const size = facts.vocabularySize ?? 0;
  return (
    `${what} needs vocabularySize ${size} to be a multiple of tensorParallelDegree ${point.tensor} times pipelineParallelDegree ` +
    `${point.pipeline}, ${ways}; pad it to ${Math.ceil(size / ways) * ways}`
  );
}

/** The advice for stages that miss `missing` layers; a negative number is the layers that are too many. */
function mendedStages(stages: NonNullable<GridPoint['stages']>, missing: number): string {
  const last = (stages.at(-1)?.layers ?? 0) + missing;
  return last >= 0 ? `the last stage should hold ${last}` : `take ${-missing} layers away`;
}

function sumOf<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}

function placesOf(point: GridPoint, what: 'embedding' | 'loss'): string {
  const places = (point.stages ?? []).flatMap((stage, index) => (stage[what] === true ? [index] : []));
  return places.length === 0 ? 'no stage' : `stage ${places.join(' and ')}`;
}
