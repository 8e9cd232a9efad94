import { FORMAT_OF_SHARDING } from '../checkpoint-formats.ts';
import { nearest, nearestDivisor } from '../nearest.ts';
import type { StateSharding } from '../state-sharding.ts';
import { brokenIf, MEGATRON_FAMILY, type OptionRule } from './option-rule.ts';

const MEGATRON = 'Megatron-LM';
const MEGATRON_FSDP_FORMAT = FORMAT_OF_SHARDING['megatron-fsdp'];

/** Rules about sharded states and optimizers. */
export const stateRules: readonly OptionRule[] = [
  {
    name: 'implementationHasZeroStage',
    source: `${MEGATRON}, TorchTitan, DeepSpeed`,
    statement: 'ddp is ZeRO stage 0, distributed-optimizer stage 1, fsdp2 stage 2 or 3',
    check: ({ states }) => {
      const stage = states?.zeroStage ?? 0;
      const legal = STAGES_OF_IMPLEMENTATION[states?.implementation ?? 'deepspeed'];
      return brokenIf(
        !legal.includes(stage),
        'states/zeroStage',
        () =>
          `states.zeroStage ${stage} is not supported by ${String(states?.implementation)} (supported: ${legal.join(', ')}); ` +
          `the nearest is ${nearest(legal, stage) ?? 0}, or use megatron-fsdp or deepspeed`,
      );
    },
  },
  {
    name: 'pipelineKeepsGradients',
    source: 'DeepSpeed',
    statement: 'DeepSpeed with a pipeline: ZeRO stage at most 1',
    check: ({ states, pipelineParallelDegree: stages }, { engine }) =>
      brokenIf(
        stages > 1 &&
          (states?.zeroStage ?? 0) > 1 &&
          (states?.implementation === 'deepspeed' || engine === 'deepspeed'),
        'states/zeroStage',
        () =>
          `states.zeroStage ${states?.zeroStage ?? 0} of DeepSpeed shards gradients that a pipeline of ${stages} stages accumulates; ` +
          'the nearest is 1, or use pipelineParallelDegree 1',
      ),
  },
  {
    name: 'deepspeedTensorKeepsWeights',
    source: 'DeepSpeed (AutoTP: DeepSpeedEngine._configure_tensor_parallel_states)',
    statement: 'on DeepSpeed tensor parallelism supports ZeRO up to stage 2',
    check: ({ states, tensorParallelDegree: tensor }, { engine }) =>
      brokenIf(
        engine === 'deepspeed' && tensor > 1 && states?.zeroStage === 3,
        'states/zeroStage',
        () =>
          `states.zeroStage 3 cannot be combined with tensorParallelDegree ${tensor} on deepspeed; the nearest is 2, ` +
          'or use tensorParallelDegree 1',
      ),
  },
  {
    name: 'megatronFsdpHasItsFormat',
    source: MEGATRON,
    statement: `megatron-fsdp saves ${MEGATRON_FSDP_FORMAT} and trains with adamw or sgd`,
    check: ({ states, checkpointPolicy }) => {
      if (states?.implementation !== 'megatron-fsdp') return [];
      const format = checkpointPolicy?.format ?? MEGATRON_FSDP_FORMAT;
      const optimizer = states.optimizer ?? 'adamw';
      return [
        ...brokenIf(
          format !== MEGATRON_FSDP_FORMAT,
          'checkpointPolicy/format',
          () =>
            `checkpointPolicy.format ${format} cannot hold the states of megatron-fsdp; use ${MEGATRON_FSDP_FORMAT}`,
        ),
        ...brokenIf(
          optimizer !== 'adamw' && optimizer !== 'sgd',
          'states/optimizer',
          () => `states.optimizer ${optimizer} cannot be combined with megatron-fsdp; use adamw or sgd`,
        ),
      ];
    },
  },
  {
    name: 'fsdp2OnMegatronIsAlone',
    source: MEGATRON,
    statement: 'fsdp2 on Megatron-LM: no pipeline, no expert parallelism',
    check: (layout, { engine }) => {
      const pipeline = layout.pipelineParallelDegree;
      const experts = layout.expert?.expertParallelDegree ?? 1;
      return brokenIf(
        layout.states?.implementation === 'fsdp2' && MEGATRON_FAMILY.has(engine) && (pipeline > 1 || experts > 1),
        'states/implementation',
        () =>
          `states.implementation fsdp2 on ${String(engine)} requires pipelineParallelDegree 1 and expertParallelDegree 1, not ${pipeline} and ` +
          `${experts}; use megatron-fsdp`,
      );
    },
  },
  {
    name: 'secondaryGroupDividesShards',
    source: 'DeepSpeed (hpZ)',
    statement:
      'secondaryShardDegree divides the ranks that share states, and optimizerInstances divides dataParallelDegree times contextParallelDegree',
    check: (layout) => {
      const ranks = layout.dataParallelDegree * (layout.contextParallelDegree ?? 1);
      const shards = layout.dataParallelShardDegree ?? ranks;
      const { secondaryShardDegree: secondary = 1, optimizerInstances: instances = 1 } = layout.states ?? {};
      return [
        ...brokenIf(
          shards % secondary !== 0,
          'states/secondaryShardDegree',
          () =>
            `states.secondaryShardDegree ${secondary} does not divide the ${shards} ranks that share states; ` +
            `the nearest that does is ${nearestDivisor(shards, secondary)}`,
        ),
        ...brokenIf(
          ranks % instances !== 0,
          'states/optimizerInstances',
          () =>
            `states.optimizerInstances ${instances} does not divide the ${ranks} ranks of data times context parallelism; ` +
            `the nearest that does is ${nearestDivisor(ranks, instances)}`,
        ),
      ];
    },
  },
  {
    name: 'weightShardsHaveOneInstance',
    source: 'Megatron-LM (parallel_state.py)',
    statement: 'weight shards need optimizerInstances 1',
    check: (layout) => {
      const instances = layout.states?.optimizerInstances ?? 1;
      const shards = Math.max(layout.weightShardDegree ?? 1, layout.expert?.weightShardDegree ?? 1);
      return brokenIf(
        shards > 1 && instances > 1,
        'states/optimizerInstances',
        () =>
          `states.optimizerInstances ${instances} cannot be combined with weightShardDegree ${shards}; the nearest is 1`,
      );
    },
  },
  {
    name: 'lowRankNeedsWholeGradients',
    source: 'GaLore, Natural GaLore',
    statement:
      'galore and natural-galore need lowRank, unsharded gradients and unsplit layers; no other optimizer has lowRank',
    check: (layout, { hiddenSize }) => {
      const { optimizer, lowRank, zeroStage = 0 } = layout.states ?? {};
      const isLowRank = optimizer === 'galore' || optimizer === 'natural-galore';
      if (!isLowRank) {
        return brokenIf(
          lowRank !== undefined,
          'states/lowRank',
          () => `states.lowRank cannot be combined with optimizer ${optimizer ?? 'adamw'}; remove it, or use galore`,
        );
      }
      return [
        ...brokenIf(
          lowRank === undefined,
          'states/lowRank',
          () => `states.optimizer ${optimizer} needs states.lowRank.rank`,
        ),
        ...brokenIf(
          zeroStage > 1,
          'states/zeroStage',
          () =>
            `states.optimizer ${optimizer} projects whole gradients, and zeroStage ${zeroStage} shards them; the nearest is 1`,
        ),
        ...brokenIf(
          layout.tensorParallelDegree > 1,
          'tensorParallelDegree',
          () =>
            `states.optimizer ${optimizer} projects whole gradients, and tensorParallelDegree ${layout.tensorParallelDegree} splits them; ` +
            'the nearest is 1',
        ),
        ...brokenIf(
          lowRank !== undefined && hiddenSize !== undefined && lowRank.rank >= hiddenSize,
          'states/lowRank/rank',
          () => `states.lowRank.rank ${lowRank?.rank ?? 0} must be below hiddenSize ${hiddenSize ?? 0}`,
        ),
      ];
    },
  },
  {
    name: 'zerothOrderOnlyRunsForward',
    source: 'MeZO, ZO2, DistZO2',
    statement:
      'mezo-sgd: no pipeline, no recomputation, no sharded gradients; perturbationDegree divides dataParallelDegree',
    check: (layout) => {
      const { optimizer, perturbationDegree = 1, zeroStage = 0 } = layout.states ?? {};
      if (optimizer !== 'mezo-sgd') {
        return brokenIf(
          perturbationDegree > 1,
          'states/perturbationDegree',
          () => `states.perturbationDegree ${perturbationDegree} is only for optimizer mezo-sgd; remove it`,
        );
      }
      const recompute = layout.memory?.recompute?.mode ?? 'none';
      return [
        ...brokenIf(
          layout.pipelineParallelDegree > 1,
          'pipelineParallelDegree',
          () => `states.optimizer mezo-sgd requires pipelineParallelDegree 1, not ${layout.pipelineParallelDegree}`,
        ),
        ...brokenIf(
          recompute !== 'none',
          'memory/recompute',
          () =>
            `states.optimizer mezo-sgd has no backward pass, so memory.recompute ${recompute} saves no memory; remove it`,
        ),
        ...brokenIf(
          zeroStage > 1,
          'states/zeroStage',
          () => `states.optimizer mezo-sgd has no gradients to shard with zeroStage ${zeroStage}; the nearest is 1`,
        ),
        ...brokenIf(
          layout.dataParallelDegree % perturbationDegree !== 0,
          'states/perturbationDegree',
          () =>
            `states.perturbationDegree ${perturbationDegree} does not divide dataParallelDegree ${layout.dataParallelDegree}; the nearest that does is 1`,
        ),
      ];
    },
  },
];

const STAGES_OF_IMPLEMENTATION: Readonly<Record<NonNullable<StateSharding['implementation']>, readonly number[]>> = {
  ddp: [0],
  'distributed-optimizer': [1],
  'megatron-fsdp': [0, 1, 2, 3],
  fsdp2: [2, 3],
  deepspeed: [0, 1, 2, 3],
};
