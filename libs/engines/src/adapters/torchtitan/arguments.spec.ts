import { changesOfTitan, type TitanChange } from '../../testing/titan-changes.ts';
const args = (...words: readonly string[]): TitanChange => ({ engine: { args: [...words] } });

it.each<[string, TitanChange, readonly string[]]>([
  [
    'a degree, behind a sign',
    args('--parallelism.tensor_parallel_degree=4'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --parallelism.tensor_parallel_degree, which layout.tensorParallelDegree sets',
      'leave it out, and set layout.tensorParallelDegree',
    ],
  ],
  [
    'a degree, with hyphens',
    args('--parallelism.tensor-parallel-degree', '4'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --parallelism.tensor-parallel-degree, which layout.tensorParallelDegree sets',
      'leave it out, and set layout.tensorParallelDegree',
    ],
  ],
  [
    'a switch, turned off',
    args('--checkpoint.no-enable'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --checkpoint.no-enable, which checkpoint sets',
      'leave it out, and set checkpoint',
    ],
  ],
  [
    'its own module',
    args('--module', 'mine'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --module, which the rendered configuration sets',
      'leave it out',
    ],
  ],
  [
    'the model',
    args('--model.flavor', '70B'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --model.flavor, which model sets',
      'leave it out, and set model',
    ],
  ],
  [
    'steps, behind what the job leaves open',
    args('--metrics.log_freq', '5', '--training.steps=3'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --training.steps, which training.steps sets',
      'leave it out, and set training.steps',
    ],
  ],
  [
    'a timeout',
    args('--comm.init-timeout-seconds=1'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --comm.init-timeout-seconds, which layout.communication.timeoutMinutes sets',
      'leave it out, and set layout.communication.timeoutMinutes',
    ],
  ],
  [
    'an option that is none, with what is near',
    args('--metrics.log_frequency', '5'),
    [
      'argument-is-known',
      'engine.args',
      'engine.args holds --metrics.log_frequency, which torchtitan v0.3.0 does not know',
      'did you mean --metrics.log-freq? an option of your fork goes into engine.options, which passes it through',
    ],
  ],
  [
    'a word without an option',
    args('x'),
    [
      'argument-is-an-option',
      'engine.args',
      'engine.args holds "x", which belongs to no option',
      'write options as --name value, or --name=value',
    ],
  ],
  [
    'an option in the command',
    { engine: { command: ['python3', 'mine.py', '--optimizer.lr=1'] } },
    [
      'argument-is-said-by-the-job',
      'engine.command',
      'engine.command holds --optimizer.lr, which training.optimizer sets',
      'leave it out, and set training.optimizer',
    ],
  ],
])('TorchTitan refuses arguments that fields of the job set: %s', (_sentence, change, want) => {
  expect(changesOfTitan(change)).toEqual(want);
});
