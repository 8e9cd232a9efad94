import { type LegalCase, type RuleCase, showRules } from '../testing/rule-cases.ts';
import { contextDegreeRules } from './context-degrees.ts';

const broken: readonly RuleCase[] = [
  {
    rule: 'contextDividesStateSpaceHeads',
    layout: { tensorParallelDegree: 8, contextParallelDegree: 32 },
    facts: { stateSpace: { heads: 128, groups: 8 } },
    message:
      'contextParallelDegree 32 does not divide stateSpace.heads / tensorParallelDegree 16; the nearest that does is 16',
    waysOut: [{ layout: { contextParallelDegree: 16 } }],
  },
  {
    rule: 'contextDividesSequence',
    layout: { contextParallelDegree: 4 },
    facts: { sequenceLength: 8191 },
    message:
      'contextParallelDegree 4 cuts a sample into 8 pieces, which do not divide sequenceLength 8191; the nearest contextParallelDegree that does is 1, the nearest sequenceLength 8192',
    waysOut: [{ layout: { contextParallelDegree: 1 } }, { facts: { sequenceLength: 8192 } }],
  },
  {
    rule: 'contextDividesSequence',
    layout: { contextParallelDegree: 8, sequence: { causalBalance: 'none' } },
    facts: { sequenceLength: 8188 },
    message:
      'contextParallelDegree 8 cuts a sample into 8 pieces, which do not divide sequenceLength 8188; the nearest contextParallelDegree that does is 4, the nearest sequenceLength 8184',
    waysOut: [{ layout: { contextParallelDegree: 4 } }, { facts: { sequenceLength: 8184 } }],
  },
  {
    rule: 'sequenceParallelDividesSequence',
    layout: { tensorParallelDegree: 8, sequence: { sequenceParallel: true } },
    facts: { sequenceLength: 8190 },
    message:
      'sequence.sequenceParallel needs sequenceLength 8190 to be a multiple of tensorParallelDegree 8 times contextParallelDegree 1; the nearest is 8192',
    waysOut: [{ facts: { sequenceLength: 8192 } }],
  },
  {
    rule: 'ulyssesDividesHeads',
    layout: { contextParallelDegree: 16, sequence: { contextAlgorithm: 'ulysses' } },
    message:
      'contextParallelDegree 16 with contextAlgorithm ulysses does not divide attentionHeads 32 and keyValueHeads 8; the largest of its divisors that does is 8, or use contextAlgorithm ulysses-ring with ulyssesDegree 8 and a ring of 2',
    waysOut: [
      { layout: { contextParallelDegree: 8 } },
      { layout: { sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 8 } } },
    ],
  },
  {
    rule: 'ulyssesDividesHeads',
    layout: { contextParallelDegree: 8, sequence: { contextAlgorithm: 'ulysses' } },
    facts: { attentionHeads: 33, keyValueHeads: 33, hiddenSize: 4224 },
    message:
      'contextParallelDegree 8 with contextAlgorithm ulysses does not divide attentionHeads 33 and keyValueHeads 33; the largest of its divisors that does is 1, or use contextAlgorithm ring',
    waysOut: [{ layout: { contextParallelDegree: 1 } }, { layout: { sequence: { contextAlgorithm: 'ring' } } }],
  },
  {
    rule: 'ulyssesDividesHeads',
    layout: { tensorParallelDegree: 2, contextParallelDegree: 8, sequence: { contextAlgorithm: 'ulysses' } },
    message:
      'contextParallelDegree 8 with contextAlgorithm ulysses does not divide attentionHeads 32 and keyValueHeads 8 divided by tensorParallelDegree 2; the largest of its divisors that does is 4, or use contextAlgorithm ulysses-ring with ulyssesDegree 4 and a ring of 2',
    waysOut: [
      { layout: { contextParallelDegree: 4 } },
      { layout: { sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 4 } } },
    ],
  },
  {
    rule: 'ulyssesRingFactors',
    layout: { contextParallelDegree: 16, sequence: { contextAlgorithm: 'ulysses-ring' } },
    message:
      'sequence.ulyssesDegree (absent) must divide contextParallelDegree 16 and attentionHeads 32 and keyValueHeads 8; the nearest that does is 8',
    waysOut: [{ layout: { sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 8 } } }],
  },
  {
    rule: 'ulyssesRingFactors',
    layout: { contextParallelDegree: 16, sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 3 } },
    message:
      'sequence.ulyssesDegree 3 must divide contextParallelDegree 16 and attentionHeads 32 and keyValueHeads 8; the nearest that does is 2',
    waysOut: [{ layout: { sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 2 } } }],
  },
];

const legal: readonly LegalCase[] = [
  [
    'ulysses over as many ranks as key-value heads',
    { contextParallelDegree: 8, sequence: { contextAlgorithm: 'ulysses' } },
  ],
  [
    'ulysses-ring beyond that',
    { contextParallelDegree: 16, sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 8 } },
  ],
  ['ulysses-ring on one context rank', { sequence: { contextAlgorithm: 'ulysses-ring' } }],
  ['a ring over more ranks than heads', { contextParallelDegree: 64, sequence: { contextAlgorithm: 'ring' } }],
  [
    'ulysses on DeepSpeed over a multiple of the key-value heads',
    { contextParallelDegree: 16, sequence: { contextAlgorithm: 'ulysses' } },
    { engine: 'deepspeed' },
  ],
  ['one context rank with an odd number of tokens', { contextParallelDegree: 1 }, { sequenceLength: 8191 }],
  [
    'ranks that take one piece each of a sample that half pieces would not divide',
    { contextParallelDegree: 4, sequence: { causalBalance: 'none' } },
    { sequenceLength: 8188 },
  ],
  [
    'an algorithm that takes one piece by itself',
    { contextParallelDegree: 4, sequence: { contextAlgorithm: 'dist-flash' } },
    { sequenceLength: 8188 },
  ],
];

describe('rules of what context ranks split', () => {
  showRules({ rules: contextDegreeRules, broken, legal });
});
