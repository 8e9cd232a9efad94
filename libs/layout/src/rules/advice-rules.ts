import { divisorsOf } from '../nearest.ts';
import { broken, brokenIf, type OptionRule } from './option-rule.ts';
import { algorithmOf } from './context-algorithm-of.ts';
import { spanningAxes } from './island-borders.ts';

const MEGATRON = 'Megatron-LM';

/** Rules about layouts that are legal but probably slow or without effect; each finding is a warning. */
export const adviceRules: readonly OptionRule[] = [
  {
    name: 'chattyGroupsStayInDomain',
    source: 'this project; Megatron-LM, MoE Parallel Folding, DeepSpeed-Ulysses',
    statement: 'tensor groups, expert groups and the all-to-all of ulysses stay inside one NVLink domain',
    check: (layout, { scaleUpDomainGpus: domain }) => {
      if (domain === undefined) return [];
      const context = layout.contextParallelDegree ?? 1;
      const tensor = layout.tensorParallelDegree;
      const algorithm = algorithmOf(layout, 'attention');
      const exchange =
        algorithm === 'ulysses' ? context : algorithm === 'ulysses-ring' ? (layout.sequence?.ulyssesDegree ?? 1) : 1;
      const experts =
        (layout.expert?.expertParallelDegree ?? 1) *
        (layout.expert?.expertTensorParallelDegree ?? (layout.expert === undefined ? 1 : tensor));
      return [
        ...brokenIf(
          tensor > domain,
          'tensorParallelDegree',
          () =>
            `tensorParallelDegree ${tensor} is more than the ${domain} GPUs of an NVLink domain; the largest divisor that fits is ${largestDivisorWithin(tensor, domain)}`,
        ),
        ...brokenIf(
          exchange * tensor > domain && exchange > 1,
          'contextParallelDegree',
          () =>
            `the all-to-all of ${exchange} context ranks times tensorParallelDegree ${tensor} needs more than the ${domain} GPUs of an NVLink domain; use smaller degrees`,
        ),
        ...brokenIf(
          experts > domain,
          'expert/expertParallelDegree',
          () =>
            `experts over ${experts} ranks need more than the ${domain} GPUs of an NVLink domain; use a smaller expertParallelDegree`,
        ),
      ];
    },
  },
  {
    name: 'islandsMeetInThePipeline',
    source: 'Holmes',
    statement: 'only pipeline groups cross islands of different networks',
    check: (layout, facts) =>
      spanningAxes(layout, facts)
        .filter((axis) => axis !== 'pipeline' && layout.communication?.groupNetwork?.[axis] === undefined)
        .flatMap((axis) =>
          broken(
            'rankOrder',
            `${axis} groups span islands of different networks and fall back to sockets; put ${axis} before pipeline in rankOrder, and make ` +
              'whole pipeline stages fit into an island',
          ),
        ),
  },
  {
    name: 'shardingNeedsDataRanks',
    source: 'ZeRO',
    statement: 'states are sharded over data and context parallel ranks, so sharding needs at least 2 of them',
    check: (layout) =>
      brokenIf(
        (layout.states?.zeroStage ?? 0) > 0 && layout.dataParallelDegree * (layout.contextParallelDegree ?? 1) === 1,
        'states/zeroStage',
        () =>
          `states.zeroStage ${layout.states?.zeroStage ?? 0} shards states over 1 rank, which saves no memory; use 0, or more data ranks`,
      ),
  },
  {
    name: 'sequenceParallelNeedsTensor',
    source: MEGATRON,
    statement: 'sequenceParallel does nothing without tensor parallelism',
    check: (layout) =>
      brokenIf(
        layout.sequence?.sequenceParallel === true && layout.tensorParallelDegree === 1,
        'sequence/sequenceParallel',
        () => 'sequence.sequenceParallel does nothing with tensorParallelDegree 1',
      ),
  },
  {
    name: 'flashAttentionIsNotRecomputed',
    source: 'LightSeq (DistFlashAttn)',
    statement: 'a flash kernel keeps no score matrix, so recomputing core_attn costs time and saves no memory',
    check: ({ kernel, memory }) =>
      brokenIf(
        kernel?.attention === 'flash' &&
          memory?.recompute?.mode === 'selective' &&
          (memory.recompute.modules ?? ['core_attn']).includes('core_attn'),
        'memory/recompute/modules',
        () => 'memory.recompute of core_attn saves no memory with kernel.attention flash; list other modules',
      ),
  },
  {
    name: 'gpipeKeepsEveryMicroBatch',
    source: 'GPipe',
    statement: 'gpipe keeps the activations of every micro-batch',
    check: ({ pipeline, pipelineParallelDegree: stages }) =>
      brokenIf(
        pipeline?.schedule === 'gpipe' && stages > 1,
        'pipeline/schedule',
        () => `pipeline.schedule gpipe keeps the activations of every micro-batch; 1f1b keeps those of ${stages}`,
      ),
  },
];

function largestDivisorWithin(whole: number, most: number): number {
  return divisorsOf(whole).findLast((divisor) => divisor <= most) ?? 1;
}
