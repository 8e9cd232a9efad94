/** Renders the degrees of a layout, the order of its ranks and its experts for Megatron-LM. */
import { type RankAxis, resolveDispatcher } from '@coxswain/layout';
import {
  type MegatronJob,
  byDefault,
  flag,
  flagOf,
  kept,
  note,
  refuse,
  switchOf,
  type RenderedField,
} from './rendered-field.ts';

/** Arguments for degrees, rank order and experts. */
export function gridArguments(job: MegatronJob): readonly RenderedField[] {
  const { layout } = job;
  return [
    ...flag('layout.tensorParallelDegree', '--tensor-model-parallel-size', layout.tensorParallelDegree),
    ...flag('layout.pipelineParallelDegree', '--pipeline-model-parallel-size', layout.pipelineParallelDegree),
    ...flag('layout.contextParallelDegree', '--context-parallel-size', layout.contextParallelDegree ?? 1),
    // Megatron-LM divides WORLD_SIZE, which the launcher sets, by the other degrees.
    ...kept('layout.dataParallelDegree'),
    ...weightShards(job),
    ...order(layout.rankOrder),
    ...expertArguments(job),
  ];
}

/** The flag counts all shards of a weight, those of tensor parallelism among them (megatron/training/utils, resolve_tensor_parallel_weight_shards). */
function weightShards({ layout }: MegatronJob): readonly RenderedField[] {
  const { weightShardDegree = 1, tensorParallelDegree: tensor, expert } = layout;
  const experts = expert?.weightShardDegree ?? 1;
  return [
    ...(weightShardDegree === 1
      ? []
      : flag('layout.weightShardDegree', '--tensor-parallel-num-weight-shards', tensor * weightShardDegree)),
    ...(experts === 1
      ? []
      : flag(
          'layout.expert.weightShardDegree',
          '--expert-tensor-parallel-num-weight-shards',
          (expert?.expertTensorParallelDegree ?? tensor) * experts,
        )),
  ];
}

const DEFAULT_ORDER: readonly RankAxis[] = ['tensor', 'context', 'expert', 'data', 'pipeline'];
const PIPELINE_BEFORE_DATA: readonly RankAxis[] = ['tensor', 'context', 'expert', 'pipeline', 'data'];

/** Megatron-LM knows two orders (megatron/training/initialize.py, initialize_model_parallel). */
function order(axes: readonly RankAxis[] | undefined): readonly RenderedField[] {
  if (axes === undefined) return [];
  const field = 'layout.rankOrder';
  const given = axes.filter((axis) => axis !== 'weightShard');
  if (isWithin(given, DEFAULT_ORDER)) return kept(field);
  if (isWithin(given, PIPELINE_BEFORE_DATA)) return flag(field, '--use-tp-pp-dp-mapping');
  const why = `Megatron-LM orders ranks by ${DEFAULT_ORDER.join(', ')} or by ${PIPELINE_BEFORE_DATA.join(', ')}, not by ${axes.join(', ')}`;
  return refuse('megatron-has-two-rank-orders', field, why, 'give one of the two orders, or leave rankOrder out');
}

function isWithin(axes: readonly RankAxis[], whole: readonly RankAxis[]): boolean {
  const places = axes.map((axis) => whole.indexOf(axis));
  return places.every((place, index) => index === 0 || place > (places[index - 1] ?? -1));
}

type Experts = NonNullable<MegatronJob['layout']['expert']>;

function expertArguments(job: MegatronJob): readonly RenderedField[] {
  const { expert } = job.layout;
  if (expert === undefined) return job.shape?.experts === undefined ? [] : dispatcher(job);
  return [
    ...flag('layout.expert.expertParallelDegree', '--expert-model-parallel-size', expert.expertParallelDegree),
    ...flagOf(
      'layout.expert.expertTensorParallelDegree',
      '--expert-tensor-parallel-size',
      expert.expertTensorParallelDegree,
    ),
    ...dispatcher(job),
    ...flagOf('layout.expert.capacityFactor', '--moe-expert-capacity-factor', expert.capacityFactor),
    ...padding(expert),
    ...dropOrder(expert),
    ...balance(expert.balance),
  ];
}

function dispatcher({ layout, release }: MegatronJob): readonly RenderedField[] {
  const field = 'layout.expert.dispatcher';
  const name = resolveDispatcher(layout);
  if (name === 'allgather' || name === 'alltoall') return flag(field, '--moe-token-dispatcher-type', name);
  const flex = flag(field, '--moe-token-dispatcher-type', 'flex');
  // Before it had backends to choose from, flex had DeepEP and a switch for it.
  if (name === 'deepep' && !release.options.has('--moe-flex-dispatcher-backend'))
    return [...flex, ...switchOf(field, '--moe-enable-deepep', true)];
  return [...flex, ...flag(field, '--moe-flex-dispatcher-backend', name)];
}

/** megatron/core/transformer/transformer_config.py asserts a capacity beside it. */
function padding({ padToCapacity, capacityFactor }: Experts): readonly RenderedField[] {
  const field = 'layout.expert.padToCapacity';
  if (padToCapacity !== true || capacityFactor !== undefined)
    return switchOf(field, '--moe-pad-expert-input-to-capacity', padToCapacity);
  return refuse(
    'padding-needs-capacity',
    field,
    'expert.padToCapacity needs expert.capacityFactor, which gives the capacity',
    'give expert.capacityFactor, or leave expert.padToCapacity out',
  );
}

function dropOrder({ tokenDropOrder, capacityFactor }: Experts): readonly RenderedField[] {
  const field = 'layout.expert.tokenDropOrder';
  if (tokenDropOrder === undefined) return [];
  if (tokenDropOrder === 'random')
    return refuse(
      'tokens-drop-in-order',
      field,
      'Megatron-LM drops tokens by position or by probability',
      'use position or probability',
    );
  if (capacityFactor === undefined)
    return refuse(
      'drop-order-needs-capacity',
      field,
      `expert.tokenDropOrder ${tokenDropOrder} is given, and without expert.capacityFactor no token is dropped`,
      'give expert.capacityFactor, or leave expert.tokenDropOrder out',
    );
  return flag(field, '--moe-token-drop-policy', tokenDropOrder === 'probability' ? 'probs' : 'position');
}

/** The coefficient defaults to 0 in Megatron-LM, and then balances nothing; its help text advises 1e-2. */
function balance(name: Experts['balance']): readonly RenderedField[] {
  const field = 'layout.expert.balance';
  if (name === undefined) return [];
  if (name === 'none') return flag(field, '--moe-router-load-balancing-type', 'none');
  if (name === 'aux-loss')
    return [
      ...flag(field, '--moe-router-load-balancing-type', 'aux_loss'),
      ...byDefault('--moe-aux-loss-coeff', 0.01),
      ...note(field, 'the auxiliary loss has the coefficient 0.01 unless engine.args give --moe-aux-loss-coeff'),
    ];
  // A bias goes with sigmoid scores alone (megatron/core/transformer/transformer_config.py).
  return [
    ...flag(field, '--moe-router-load-balancing-type', 'none'),
    ...flag(field, '--moe-router-enable-expert-bias'),
    ...flag(field, '--moe-router-score-function', 'sigmoid'),
  ];
}
