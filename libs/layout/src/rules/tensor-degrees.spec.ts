import { type LegalCase, type RuleCase, showRules, TWELVE_HEADS } from '../testing/rule-cases.ts';
import { tensorDegreeRules } from './tensor-degrees.ts';

const broken: readonly RuleCase[] = [
  {
    rule: 'tensorDividesAttentionHeads',
    layout: { tensorParallelDegree: 4 },
    facts: { attentionHeads: 30, keyValueHeads: 1, hiddenSize: 3840, ffnHiddenSize: 15_360 },
    message: 'tensorParallelDegree 4 does not divide attentionHeads 30; the nearest that does is 3',
    waysOut: [{ layout: { tensorParallelDegree: 3 } }],
  },
  {
    rule: 'tensorDividesHiddenSize',
    layout: { tensorParallelDegree: 8 },
    facts: { attentionHeads: 40, keyValueHeads: 40, hiddenSize: 4100, ffnHiddenSize: 14_400 },
    message: 'tensorParallelDegree 8 does not divide hiddenSize 4100; the nearest that does is 10',
    waysOut: [{ layout: { tensorParallelDegree: 10 } }],
  },
  {
    rule: 'tensorFitsKeyValueHeads',
    layout: { tensorParallelDegree: 4 },
    facts: { ...TWELVE_HEADS, keyValueHeads: 6 },
    message: 'tensorParallelDegree 4 neither divides keyValueHeads 6 nor is a multiple of them; the nearest that is 3',
    waysOut: [{ layout: { tensorParallelDegree: 3 } }],
  },
  {
    rule: 'tensorFitsKeyValueHeads',
    layout: { tensorParallelDegree: 10 },
    facts: { attentionHeads: 60, keyValueHeads: 6, hiddenSize: 3840, ffnHiddenSize: 15_360 },
    message:
      'tensorParallelDegree 10 neither divides keyValueHeads 6 nor is a multiple of them; the nearest that is 12',
    waysOut: [{ layout: { tensorParallelDegree: 12 } }],
  },
  {
    rule: 'tensorDividesFfnHiddenSize',
    layout: { tensorParallelDegree: 4 },
    facts: { ...TWELVE_HEADS, ffnHiddenSize: 14_337 },
    message: 'tensorParallelDegree 4 does not divide ffnHiddenSize 14337; the nearest that does is 3',
    waysOut: [{ layout: { tensorParallelDegree: 3 } }],
  },
  {
    rule: 'tensorDividesStateSpaceHeads',
    layout: { tensorParallelDegree: 4 },
    facts: { ...TWELVE_HEADS, stateSpace: { heads: 126, groups: 12 } },
    message: 'tensorParallelDegree 4 does not divide stateSpace.heads 126; the nearest that does is 3',
    waysOut: [{ layout: { tensorParallelDegree: 3 } }],
  },
  {
    rule: 'tensorDividesStateSpaceGroups',
    layout: { tensorParallelDegree: 16 },
    facts: { stateSpace: { heads: 128, groups: 8 } },
    message: 'tensorParallelDegree 16 does not divide stateSpace.groups 8; the nearest that does is 8',
    waysOut: [{ layout: { tensorParallelDegree: 8 } }],
  },
];

const legal: readonly LegalCase[] = [
  ['one tensor rank', {}],
  ['a tensor rank for each attention head', { tensorParallelDegree: 32 }],
  ['a tensor rank for each key-value head', { tensorParallelDegree: 8 }],
  ['more tensor ranks than key-value heads, if a multiple of them', { tensorParallelDegree: 16 }],
  ['a model without a dense MLP', { tensorParallelDegree: 4 }, { ffnHiddenSize: 0 }],
];

describe('rules of what tensor ranks split', () => {
  showRules({ rules: tensorDegreeRules, broken, legal });
});
