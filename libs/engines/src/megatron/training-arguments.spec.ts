import { all, changesOf, type Change, over, release, setting } from './testing/index.ts';
const training = (values: Readonly<Record<string, unknown>>): Change => setting('training', values);
const optimizer = (values: Readonly<Record<string, unknown>>): Change => training({ optimizer: values });

it.each<[string, Change, readonly string[]]>([
  [
    'steps, after which the rate has fallen',
    training({ steps: 250 }),
    ['--train-iters 250', '--lr-decay-iters 250', 'without --train-iters 100', 'without --lr-decay-iters 100'],
  ],
  [
    'tokens, which whole steps cover',
    training({ steps: undefined, tokens: 64 * 2048 * 30 }),
    ['--train-iters 30', '--lr-decay-iters 30', 'without --train-iters 100', 'without --lr-decay-iters 100'],
  ],
  [
    'tokens that end within a step, which is trained whole',
    training({ steps: undefined, tokens: 64 * 2048 * 30 + 1 }),
    ['--train-iters 31', '--lr-decay-iters 31', 'without --train-iters 100', 'without --lr-decay-iters 100'],
  ],
  ['a batch', training({ globalBatchSize: 128 }), ['--global-batch-size 128', 'without --global-batch-size 64']],
  [
    'samples of one forward pass',
    training({ microBatchSize: 4 }),
    ['--micro-batch-size 4', 'without --micro-batch-size 1'],
  ],
  [
    'a rate, and the lowest that it falls to',
    training({ learningRate: 0.002, minLearningRate: 0.0005 }),
    ['--lr 0.002', '--min-lr 0.0005', 'without --lr 0.001', 'without --min-lr 0.0001'],
  ],
  [
    'a lowest rate that is the rate itself',
    training({ learningRate: 0.0003, minLearningRate: 0.0003 }),
    ['--lr 0.0003', '--min-lr 0.0003', 'without --lr 0.001', 'without --min-lr 0.0001'],
  ],
  [
    'a warm-up of all steps but one',
    training({ warmupSteps: 99 }),
    ['--lr-warmup-iters 99', 'without --lr-warmup-iters 0'],
  ],
  ['a weight decay of none', training({ weightDecay: 0 }), ['--weight-decay 0', 'without --weight-decay 0.1']],
  ['a seed', training({ seed: 7 }), ['--seed 7', 'without --seed 1234']],
  ['fp32, which no option names', training({ precision: 'fp32' }), ['without --bf16']],
])('length and rates of training become options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  ['a cosine', training({ schedule: { name: 'cosine' } }), ['--lr-decay-style cosine']],
  ['a line', training({ schedule: { name: 'linear' } }), ['--lr-decay-style linear']],
  ['one rate throughout', training({ schedule: { name: 'constant' } }), ['--lr-decay-style constant']],
  [
    'a fall over the last steps',
    training({ schedule: { name: 'wsd', decaySteps: 20 } }),
    ['--lr-decay-style WSD', '--lr-wsd-decay-style linear', '--lr-wsd-decay-iters 20'],
  ],
  [
    'a fall by 1 - sqrt',
    training({ schedule: { name: 'wsd', decaySteps: 20, decayStyle: 'sqrt' } }),
    ['--lr-decay-style WSD', '--lr-wsd-decay-style minus_sqrt', '--lr-wsd-decay-iters 20'],
  ],
  [
    'a warm-up and a fall that fill the training',
    training({ warmupSteps: 80, schedule: { name: 'wsd', decaySteps: 20 } }),
    [
      '--lr-warmup-iters 80',
      '--lr-decay-style WSD',
      '--lr-wsd-decay-style linear',
      '--lr-wsd-decay-iters 20',
      'without --lr-warmup-iters 0',
    ],
  ],
])('a schedule becomes options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  ['AdamW, which is its adam', optimizer({ name: 'adamw' }), ['--optimizer adam']],
  [
    'numbers of Adam',
    optimizer({ beta1: 0.8, beta2: 0.95, epsilon: 1e-6 }),
    ['--optimizer adam', '--adam-beta1 0.8', '--adam-beta2 0.95', '--adam-eps 0.000001'],
  ],
  ['a norm above which gradients are clipped', optimizer({ clipNorm: 0.5 }), ['--optimizer adam', '--clip-grad 0.5']],
  ['gradients that are not clipped', optimizer({ clipNorm: 0 }), ['--optimizer adam', '--clip-grad 0']],
  ['momentum of SGD', optimizer({ name: 'sgd', momentum: 0.9 }), ['--optimizer sgd', '--sgd-momentum 0.9']],
  [
    "momentum and Adam's numbers of Muon",
    optimizer({ name: 'muon', momentum: 0.95, beta1: 0.9, beta2: 0.98, epsilon: 1e-7 }),
    ['--optimizer muon', '--adam-beta1 0.9', '--adam-beta2 0.98', '--adam-eps 1e-7', '--muon-momentum 0.95'],
  ],
  [
    'betas of Lion',
    optimizer({ name: 'lion', beta1: 0.95, beta2: 0.98 }),
    ['--optimizer lion', '--lion-beta1 0.95', '--lion-beta2 0.98'],
  ],
  [
    'the same optimizer in job and layout, named once',
    all(optimizer({ name: 'sgd' }), over('states', { optimizer: 'sgd' })),
    ['--optimizer sgd'],
  ],
])('the optimizer becomes options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'a lowest rate above the rate',
    training({ learningRate: 0.0001, minLearningRate: 0.00011 }),
    [
      'rate-falls',
      'training.minLearningRate',
      'training.minLearningRate 0.00011 is above training.learningRate 0.0001',
      'set it to 0.0001 or less, such as a tenth of it',
    ],
  ],
  [
    'a warm-up of every step',
    training({ warmupSteps: 100 }),
    [
      'rate-within-steps',
      'training.warmupSteps',
      'training.warmupSteps 100 are not fewer than the 100 steps of the training',
      '99 at most',
    ],
  ],
  [
    'a fall longer than what a warm-up leaves',
    training({ warmupSteps: 81, schedule: { name: 'wsd', decaySteps: 20 } }),
    [
      'rate-within-steps',
      'training.schedule.decaySteps',
      'training.warmupSteps 81 and training.schedule.decaySteps 20 are more than 100 steps',
      'together they may be 100 at most',
    ],
  ],
  [
    'no seed',
    training({ seed: 0 }),
    ['seed-is-positive', 'training.seed', 'Megatron-LM takes no seed 0', 'set training.seed to 1 or more'],
  ],
  [
    'momentum of Adam',
    optimizer({ momentum: 0.9 }),
    ['words-of-the-optimizer', 'training.optimizer.momentum', 'adamw of Megatron-LM has no momentum', 'leave it out'],
  ],
  [
    'a beta of SGD',
    optimizer({ name: 'sgd', beta1: 0.9 }),
    ['words-of-the-optimizer', 'training.optimizer.beta1', 'sgd of Megatron-LM has no beta1', 'leave it out'],
  ],
  [
    'an epsilon of Lion',
    optimizer({ name: 'lion', epsilon: 1e-8 }),
    ['words-of-the-optimizer', 'training.optimizer.epsilon', 'lion of Megatron-LM has no epsilon', 'leave it out'],
  ],
  [
    'an optimizer that no release has',
    optimizer({ name: 'lamb' }),
    [
      'optimizer-of-this-release',
      'training.optimizer.name',
      'Megatron-LM core_v0.19.0 has no lamb',
      'use adamw, sgd, lion, muon',
    ],
  ],
  [
    'Lion before it came',
    all(release('core_v0.16.1'), optimizer({ name: 'lion' })),
    [
      'optimizer-of-this-release',
      'training.optimizer.name',
      'Megatron-LM core_v0.16.1 has no lion',
      'use adamw, sgd, muon',
    ],
  ],
  [
    'Muon before it came',
    all(release('core_v0.15.3'), optimizer({ name: 'muon' })),
    ['optimizer-of-this-release', 'training.optimizer.name', 'Megatron-LM core_v0.15.3 has no muon', 'use adamw, sgd'],
  ],
  [
    'two optimizers',
    all(optimizer({ name: 'sgd' }), over('states', { optimizer: 'muon' })),
    [
      'one-optimizer',
      'layout.states.optimizer',
      'layout.states.optimizer is muon, and training.optimizer.name sgd',
      'give the same optimizer in both, or leave one of the two out',
    ],
  ],
  [
    'fp32 beside narrower products',
    all(training({ precision: 'fp32' }), over('kernel', { precision: 'fp8' })),
    [
      'one-precision',
      'layout.kernel.precision',
      'layout.kernel.precision is fp8, and training.precision fp32',
      'set training.precision to bf16',
    ],
  ],
  [
    'products wider than the training',
    all(training({ precision: 'bf16' }), over('kernel', { precision: 'fp32' })),
    [
      'one-precision',
      'layout.kernel.precision',
      'layout.kernel.precision is fp32, and training.precision bf16',
      'set training.precision to fp32 too',
    ],
  ],
])('training that Megatron-LM cannot do is refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});
