import { EXPERT_BALANCES, EXPERT_DISPATCHERS, type ExpertLayout } from './expert-layout.ts';
import { readLayout } from './index.ts';

const taken: readonly (readonly [sentence: string, expert: Partial<ExpertLayout>])[] = [
  ...EXPERT_DISPATCHERS.map((dispatcher) => [`dispatcher ${dispatcher}`, { dispatcher }] as const),
  ...EXPERT_BALANCES.map((balance) => [`balance ${balance}`, { balance }] as const),
  ['experts that are not divided', { expertParallelDegree: 1 }],
  ['experts over all ranks that a layout may have', { expertParallelDegree: 65_536 }],
  ['experts that are split four ways', { expertTensorParallelDegree: 4 }],
  ['expert weights that two ranks share', { weightShardDegree: 2 }],
  ['a capacity below an even share', { capacityFactor: 0.5 }],
  ['a capacity of 64 shares', { capacityFactor: 64 }],
  ['late tokens dropped first', { tokenDropOrder: 'position' }],
  ['unlikely tokens dropped first', { tokenDropOrder: 'probability' }],
  ['any tokens dropped first', { tokenDropOrder: 'random' }],
  ['64 pieces that overlap', { overlapDegree: 64 }],
  ['data parallel experts by degree 0', { adaptiveDegree: 0 }],
  ['a load of 1,024 steps', { loadWindowSteps: 1024 }],
];

const refused: readonly (readonly [expert: unknown, want: string])[] = [
  [{}, 'expert.expertParallelDegree: is required'],
  [{ expertParallelDegree: 0 }, 'expert.expertParallelDegree: is 0; it must be at least 1'],
  [{ expertParallelDegree: 65_537 }, 'expert.expertParallelDegree: is 65537; it must be at most 65536'],
  [{ expertParallelDegree: 1.5 }, 'expert.expertParallelDegree: is 1.5; it must be a whole number, not 1.5'],
  [
    { expertParallelDegree: 1, expertTensorParallelDegree: 0 },
    'expert.expertTensorParallelDegree: is 0; it must be at least 1',
  ],
  [{ expertParallelDegree: 1, weightShardDegree: 0 }, 'expert.weightShardDegree: is 0; it must be at least 1'],
  [
    { expertParallelDegree: 1, dispatcher: 'all-to-all' },
    'expert.dispatcher: "all-to-all" is not one of allgather, alltoall, alltoall-2d, deepep, hybridep, ncclep; did you mean alltoall?',
  ],
  [{ expertParallelDegree: 1, capacityFactor: 0 }, 'expert.capacityFactor: is 0; it must be more than 0'],
  [{ expertParallelDegree: 1, capacityFactor: 65 }, 'expert.capacityFactor: is 65; it must be at most 64'],
  [
    { expertParallelDegree: 1, tokenDropOrder: 'probs' },
    'expert.tokenDropOrder: "probs" is not one of position, probability, random',
  ],
  [{ expertParallelDegree: 1, overlapDegree: 0 }, 'expert.overlapDegree: is 0; it must be at least 1'],
  [{ expertParallelDegree: 1, overlapDegree: 65 }, 'expert.overlapDegree: is 65; it must be at most 64'],
  [{ expertParallelDegree: 1, adaptiveDegree: -1 }, 'expert.adaptiveDegree: is -1; it must be at least 0'],
  [{ expertParallelDegree: 1, adaptiveDegree: 4097 }, 'expert.adaptiveDegree: is 4097; it must be at most 4096'],
  [
    { expertParallelDegree: 1, balance: 'aux_loss' },
    'expert.balance: "aux_loss" is not one of none, aux-loss, bias, adaptive-degree, sparse-materialization; did you mean aux-loss?',
  ],
  [{ expertParallelDegree: 1, loadWindowSteps: 0 }, 'expert.loadWindowSteps: is 0; it must be at least 1'],
  [{ expertParallelDegree: 1, loadWindowSteps: 1025 }, 'expert.loadWindowSteps: is 1025; it must be at most 1024'],
  [
    { expertParallelDegree: 1, expertTensorDegree: 2 },
    'expert: unknown key expertTensorDegree; did you mean expertTensorParallelDegree?',
  ],
];

describe('the division of experts', () => {
  it.each(taken)('takes %s', (_sentence, given) => {
    const expert = { expertParallelDegree: 1, ...given };
    expect(readLayout({ expert })).toMatchObject({ kind: 'layout', document: { layout: { expert } } });
  });

  it.each(refused)('refuses %j', (expert, want) => {
    const read = readLayout({ expert });
    const messages = read.kind === 'wrong' ? read.problems.map(({ path, message }) => `${path}: ${message}`) : [];
    expect(messages).toEqual([want]);
  });
});
