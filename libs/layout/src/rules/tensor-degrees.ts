import { divisorsOf, nearest, nearestMultiple } from '../nearest.ts';
import { divides, type GridRule } from './grid-rule.ts';

const MEGATRON = 'Megatron-LM';

/** Rules about what tensor ranks split. */
export const tensorDegreeRules: readonly GridRule[] = [
  divides({
    name: 'tensorDividesAttentionHeads',
    source: MEGATRON,
    statement: 'tensorParallelDegree divides attentionHeads',
    field: 'tensorParallelDegree',
    ways: (point) => point.tensor,
    whole: (_, facts) => facts.attentionHeads,
    wholeName: 'attentionHeads',
  }),
  divides({
    name: 'tensorDividesHiddenSize',
    source: MEGATRON,
    statement: 'tensorParallelDegree divides hiddenSize',
    field: 'tensorParallelDegree',
    ways: (point) => point.tensor,
    // If attention heads do not divide, that rule reports the mistake; this rule does not repeat it.
    whole: (point, facts) => ((facts.attentionHeads ?? 0) % point.tensor === 0 ? facts.hiddenSize : undefined),
    wholeName: 'hiddenSize',
  }),
  {
    name: 'tensorFitsKeyValueHeads',
    source: MEGATRON,
    statement: 'tensorParallelDegree divides keyValueHeads or is a multiple of them',
    holds: ({ tensor }, { keyValueHeads: heads }) =>
      heads === undefined || heads % tensor === 0 || tensor % heads === 0,
    explain: ({ tensor }, { keyValueHeads: heads = 1 }) => ({
      field: 'tensorParallelDegree',
      message:
        `tensorParallelDegree ${tensor} neither divides keyValueHeads ${heads} nor is a multiple of them; ` +
        `the nearest that is ${nearest([...divisorsOf(heads), nearestMultiple(heads, tensor)], tensor) ?? 1}`,
    }),
  },
  divides({
    name: 'tensorDividesFfnHiddenSize',
    source: MEGATRON,
    statement: 'tensorParallelDegree divides ffnHiddenSize',
    field: 'tensorParallelDegree',
    ways: (point) => point.tensor,
    whole: (_, facts) => facts.ffnHiddenSize,
    wholeName: 'ffnHiddenSize',
  }),
  divides({
    name: 'tensorDividesStateSpaceHeads',
    source: MEGATRON,
    statement: 'tensorParallelDegree divides stateSpace.heads',
    field: 'tensorParallelDegree',
    ways: (point) => point.tensor,
    whole: (_, facts) => facts.stateSpace?.heads,
    wholeName: 'stateSpace.heads',
  }),
  divides({
    name: 'tensorDividesStateSpaceGroups',
    source: MEGATRON,
    statement: 'tensorParallelDegree divides stateSpace.groups',
    field: 'tensorParallelDegree',
    ways: (point) => point.tensor,
    whole: (_, facts) => facts.stateSpace?.groups,
    wholeName: 'stateSpace.groups',
  }),
];
