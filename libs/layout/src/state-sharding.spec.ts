import { readLayout } from './index.ts';
import { OPTIMIZERS, STATE_IMPLEMENTATIONS, type StateSharding } from './state-sharding.ts';

const taken: readonly (readonly [sentence: string, states: StateSharding])[] = [
  ...[0, 1, 2, 3].map((zeroStage) => [`ZeRO stage ${zeroStage}`, { zeroStage }] as const),
  ...STATE_IMPLEMENTATIONS.map((implementation) => [`implementation ${implementation}`, { implementation }] as const),
  ...OPTIMIZERS.map((optimizer) => [`optimizer ${optimizer}`, { optimizer }] as const),
  ...(['fp32', 'bf16', 'fp16', 'fp8'] as const).map(
    (optimizerPrecision) => [`moments in ${optimizerPrecision}`, { optimizerPrecision }] as const,
  ),
  ['a second group of eight ranks', { secondaryShardDegree: 8 }],
  ['weights kept after the forward pass', { reshardAfterForward: false }],
  ['two copies of sharded optimizer states', { optimizerInstances: 2 }],
  ['master weights in formats of their own', { precisionAwareOptimizer: true }],
  ['a projection of rank 65,536', { lowRank: { rank: 65_536 } }],
  ['a new projection each million steps', { lowRank: { rank: 1, updateGapSteps: 1_000_000 } }],
  ['both perturbed passes side by side', { perturbationDegree: 2 }],
];

const refused: readonly (readonly [states: unknown, want: string])[] = [
  [{ zeroStage: -1 }, 'states.zeroStage: is -1; it must be at least 0'],
  [{ zeroStage: 4 }, 'states.zeroStage: is 4; it must be at most 3'],
  [{ zeroStage: 1.5 }, 'states.zeroStage: is 1.5; it must be a whole number, not 1.5'],
  [{ zeroStage: '3' }, 'states.zeroStage: is "3"; it must be a number, not a string'],
  [
    { implementation: 'fsdp' },
    'states.implementation: "fsdp" is not one of ddp, distributed-optimizer, megatron-fsdp, fsdp2, deepspeed; did you mean fsdp2?',
  ],
  [{ secondaryShardDegree: 0 }, 'states.secondaryShardDegree: is 0; it must be at least 1'],
  [{ secondaryShardDegree: 65_537 }, 'states.secondaryShardDegree: is 65537; it must be at most 65536'],
  [{ reshardAfterForward: 'no' }, 'states.reshardAfterForward: is "no"; it must be true or false, not a string'],
  [{ optimizerInstances: 0 }, 'states.optimizerInstances: is 0; it must be at least 1'],
  [
    { optimizer: 'adam' },
    'states.optimizer: "adam" is not one of adamw, sgd, lion, muon, lamb, galore, natural-galore, mezo-sgd; did you mean adamw?',
  ],
  [{ optimizerPrecision: 'bf8' }, 'states.optimizerPrecision: "bf8" is not one of fp32, bf16, fp16, fp8'],
  [{ precisionAwareOptimizer: 1 }, 'states.precisionAwareOptimizer: is 1; it must be true or false, not a number'],
  [{ lowRank: {} }, 'states.lowRank.rank: is required'],
  [{ lowRank: { rank: 0 } }, 'states.lowRank.rank: is 0; it must be at least 1'],
  [{ lowRank: { rank: 65_537 } }, 'states.lowRank.rank: is 65537; it must be at most 65536'],
  [{ lowRank: { rank: 1, updateGapSteps: 0 } }, 'states.lowRank.updateGapSteps: is 0; it must be at least 1'],
  [
    { lowRank: { rank: 1, updateGapSteps: 1_000_001 } },
    'states.lowRank.updateGapSteps: is 1000001; it must be at most 1000000',
  ],
  [{ lowRank: { rank: 1, scale: 2 } }, 'states.lowRank: unknown key scale; known keys are rank, updateGapSteps'],
  [{ perturbationDegree: 0 }, 'states.perturbationDegree: is 0; it must be at least 1'],
  [{ perturbationDegree: 3 }, 'states.perturbationDegree: is 3; it must be at most 2'],
];

describe('what each rank holds of the states', () => {
  it.each(taken)('takes %s', (_sentence, states) => {
    expect(readLayout({ states })).toMatchObject({ kind: 'layout', document: { layout: { states } } });
  });

  it.each(refused)('refuses %j', (states, want) => {
    const read = readLayout({ states });
    const messages = read.kind === 'wrong' ? read.problems.map(({ path, message }) => `${path}: ${message}`) : [];
    expect(messages).toEqual([want]);
  });
});
