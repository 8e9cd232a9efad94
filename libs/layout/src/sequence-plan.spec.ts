import { readLayout } from './index.ts';
import { CAUSAL_BALANCES, CONTEXT_ALGORITHMS, type SequencePlan } from './sequence-plan.ts';

const flexsp = { method: 'flexsp', maxTokensPerRank: 8192 } as const;
const ALGORITHMS =
  'ring, ring-self-attention, dist-flash, allgather, ulysses, ulysses-ring, token-ring, magi, state-allgather, state-scan';

const taken: readonly (readonly [sentence: string, sequence: SequencePlan])[] = [
  ...CONTEXT_ALGORITHMS.map((contextAlgorithm) => [`algorithm ${contextAlgorithm}`, { contextAlgorithm }] as const),
  ...CAUSAL_BALANCES.map((causalBalance) => [`causal balance ${causalBalance}`, { causalBalance }] as const),
  ['norms split by tokens', { sequenceParallel: true }],
  ['an all-to-all over 4,096 ranks', { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 4096 }],
  [
    'an algorithm for each kind of layer of a hybrid',
    { perLayerKind: { attention: 'ring', linearAttention: 'state-scan', stateSpace: 'state-allgather' } },
  ],
  ['4,096 blocks of a scan', { scanBlocks: 4096 }],
  ['groups made anew each step', { dynamic: flexsp }],
  [
    'as many ranks as a sequence needs',
    { dynamic: { method: 'hybrid-data-parallel', maxTokensPerRank: 1, degrees: 'any', perTokenLoss: true } },
  ],
  ['a solver without CPU cores of its own', { dynamic: { ...flexsp, solverCpuCores: 0 } }],
];

const refused: readonly (readonly [sequence: unknown, want: string])[] = [
  [{ sequenceParallel: 2 }, 'sequence.sequenceParallel: is 2; it must be true or false, not a number'],
  [
    { contextAlgorithm: 'ulyses' },
    `sequence.contextAlgorithm: "ulyses" is not one of ${ALGORITHMS}; did you mean ulysses?`,
  ],
  [{ ulyssesDegree: 0 }, 'sequence.ulyssesDegree: is 0; it must be at least 1'],
  [{ ulyssesDegree: 4097 }, 'sequence.ulyssesDegree: is 4097; it must be at most 4096'],
  [{ perLayerKind: { attention: 'p2p' } }, `sequence.perLayerKind.attention: "p2p" is not one of ${ALGORITHMS}`],
  [
    { perLayerKind: { mamba: 'state-scan' } },
    'sequence.perLayerKind: unknown key mamba; known keys are attention, linearAttention, stateSpace',
  ],
  [
    { causalBalance: 'zig-zag' },
    'sequence.causalBalance: "zig-zag" is not one of none, head-tail, zigzag, ptrr, helper; did you mean zigzag?',
  ],
  [{ scanBlocks: 0 }, 'sequence.scanBlocks: is 0; it must be at least 1'],
  [{ scanBlocks: 4097 }, 'sequence.scanBlocks: is 4097; it must be at most 4096'],
  [{ dynamic: { method: 'flexsp' } }, 'sequence.dynamic.maxTokensPerRank: is required'],
  [
    { dynamic: { maxTokensPerRank: 1 } },
    'sequence.dynamic.method: the value is not one of flexsp, hybrid-data-parallel',
  ],
  [{ dynamic: { ...flexsp, maxTokensPerRank: 0 } }, 'sequence.dynamic.maxTokensPerRank: is 0; it must be at least 1'],
  [
    { dynamic: { ...flexsp, maxTokensPerRank: 16_777_217 } },
    'sequence.dynamic.maxTokensPerRank: is 16777217; it must be at most 16777216',
  ],
  [{ dynamic: { ...flexsp, degrees: 'all' } }, 'sequence.dynamic.degrees: "all" is not one of powers-of-two, any'],
  [{ dynamic: { ...flexsp, solverCpuCores: -1 } }, 'sequence.dynamic.solverCpuCores: is -1; it must be at least 0'],
  [{ dynamic: { ...flexsp, solverCpuCores: 257 } }, 'sequence.dynamic.solverCpuCores: is 257; it must be at most 256'],
  [
    { dynamic: { ...flexsp, perTokenLoss: 'yes' } },
    'sequence.dynamic.perTokenLoss: is "yes"; it must be true or false, not a string',
  ],
];

describe('the plan of a sequence', () => {
  it.each(taken)('takes %s', (_sentence, sequence) => {
    expect(readLayout({ sequence })).toMatchObject({ kind: 'layout', document: { layout: { sequence } } });
  });

  it.each(refused)('refuses %j', (sequence, want) => {
    const read = readLayout({ sequence });
    const messages = read.kind === 'wrong' ? read.problems.map(({ path, message }) => `${path}: ${message}`) : [];
    expect(messages).toEqual([want]);
  });
});
