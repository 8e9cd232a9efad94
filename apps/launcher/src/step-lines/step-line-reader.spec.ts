import type { EngineRun } from '@coxswain/api-types';
import { StepLineReader } from './step-line-reader.ts';
import type { StepLine } from './printed-step.ts';

type Form = NonNullable<EngineRun['stepLines']>;

function reader(
  form: Form,
  more: { command?: readonly string[]; resumedAt?: number; nowMs?: () => number } = {},
): StepLineReader {
  const { command = [], resumedAt = 0, nowMs = () => 0 } = more;
  return new StepLineReader({ form, command, resumedAt, monotonicMs: nowMs });
}

const NOTHING: StepLine = { step: null, loss: null, gradNorm: null, learningRate: null, stepTimeMs: null };
const MEGATRON =
  ' [2026-11-23 18:00:00.123456] iteration        5/     100 | consumed samples:           40 | elapsed time per iteration (ms): 118.2 | learning rate: 1.000000E-04 | global batch size:     8 | lm loss: 5.176500E+00 | loss scale: 1.0 | grad norm: 1.310 | number of skipped iterations:   0 | number of nan iterations:   0 |';
const TITAN =
  '[titan] 2026-11-21 11:39:57,263 - root - INFO - \u001b[31mstep:  5  \u001b[32mloss:  8.00830  \u001b[33mgrad_norm:  1.0437  \u001b[36mmemory:  0.98GiB(4.15%)  \u001b[34mtps: 374  \u001b[36mtflops: 0.00  \u001b[35mmfu: 0.00%\u001b[39m';
const HUGGING_FACE = `{'loss': '4.857', 'grad_norm': '1.416', 'learning_rate': '0.00075', 'epoch': '0.0625'}`;

describe('a line of a step', () => {
  it.each<[string, Form, string, Partial<StepLine> | undefined]>([
    [
      'of Megatron',
      'megatron',
      MEGATRON,
      { step: 5, loss: 5.1765, gradNorm: 1.31, learningRate: 1e-4, stepTimeMs: 118.2 },
    ],
    [
      'of Megatron that skipped every step, and prints no loss',
      'megatron',
      MEGATRON.replace(/ lm loss: \S+ \|/, ''),
      { step: 5, loss: null, gradNorm: 1.31, learningRate: 1e-4, stepTimeMs: 118.2 },
    ],
    [
      'of Megatron that diverged',
      'megatron',
      MEGATRON.replace('5.176500E+00', 'NAN'),
      {
        step: 5,
        loss: null,
        gradNorm: 1.31,
        learningRate: 1e-4,
        stepTimeMs: 118.2,
        notFinite: { loss: 'NaN' },
      },
    ],
    [
      'not a validation of Megatron',
      'megatron',
      ' validation loss at iteration 10 | lm loss value: 5.1E+00 | lm loss PPL: 1.7E+02 |',
      undefined,
    ],
    ['of TorchTitan, in colours', 'torchtitan', TITAN, { step: 5, loss: 8.0083, gradNorm: 1.0437 }],
    [
      'of TorchTitan without',
      'torchtitan',
      'step: 12  loss:  7.1250  grad_norm:  2.0000  memory:  1.00GiB(4.15%)  tps: 1,374',
      { step: 12, loss: 7.125, gradNorm: 2 },
    ],
    [
      'of a stage of TorchTitan that holds no loss',
      'torchtitan',
      TITAN.replace('8.00830', '-1.00000'),
      { step: 5, loss: null, gradNorm: 1.0437 },
    ],
    [
      'of TorchTitan that diverged',
      'torchtitan',
      TITAN.replace('8.00830', '     nan').replace('1.0437', '-inf'),
      { step: 5, loss: null, gradNorm: null, notFinite: { loss: 'NaN', gradNorm: '-Infinity' } },
    ],
    [
      'of TorchTitan with a word that only begins so',
      'torchtitan',
      TITAN.replace('8.00830', 'nanometre'),
      { step: 5, loss: null, gradNorm: 1.0437 },
    ],
    ['not a validation of TorchTitan', 'torchtitan', 'validate step:  5  loss:  8.0083  memory: 1GiB', undefined],
    [
      'of DeepSpeed',
      'deepspeed',
      '[2023-11-07 01:55:23,711] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=4, lr=[4.998e-05, 4.998e-05], mom=[(0.9, 0.95)]',
      { step: 10, learningRate: 4.998e-5 },
    ],
    [
      'not the throughput of DeepSpeed',
      'deepspeed',
      'epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=25.02',
      undefined,
    ],
    [
      'of Hugging Face 5, without a step',
      'hugging-face',
      HUGGING_FACE,
      { loss: 4.857, gradNorm: 1.416, learningRate: 0.00075 },
    ],
    [
      'of Hugging Face 4, behind a progress bar',
      'hugging-face',
      `\r 10%|█  | 1/10 {'loss': 4.857, 'grad_norm': 1.416, 'learning_rate': 7.5e-05, 'epoch': 0.06}`,
      { loss: 4.857, gradNorm: 1.416, learningRate: 7.5e-5 },
    ],
    [
      'not the end of Hugging Face',
      'hugging-face',
      `{'train_runtime': '1.975', 'train_loss': '4.1', 'epoch': '1'}`,
      undefined,
    ],
    [
      'of Hugging Face that diverged',
      'hugging-face',
      HUGGING_FACE.replace("'4.857'", "'inf'").replace("'1.416'", "'nan'"),
      { learningRate: 0.00075, notFinite: { loss: 'Infinity', gradNorm: 'NaN' } },
    ],
    ['not an evaluation of Hugging Face', 'hugging-face', `{'eval_loss': '4.1', 'epoch': '1'}`, undefined],
    ['not what is cut off', 'megatron', ' iteration        5/', undefined],
    ['not what is no UTF-8', 'torchtitan', '\xff\xfestep: \xff loss:', undefined],
    ['not a number without end', 'torchtitan', `step: ${'9'.repeat(400)}  loss: 1`, undefined],
  ])('%s', (_what, form, text, want) => {
    expect(reader(form).push(Buffer.from(text))).toEqual(want === undefined ? undefined : { ...NOTHING, ...want });
  });

  it.each<[string, readonly string[], number, readonly (number | null)[]]>([
    ['every tenth step', ['train.py', '--logging_steps', '10'], 0, [10, 20, 30]],
    ['every tenth step, after a resume at 25', ['train.py', '--logging-steps=10'], 25, [30, 40, 50]],
    ['the first as well', ['train.py', '--logging_first_step', '--logging_steps=10'], 0, [1, 10, 20]],
    [
      'the first only where asked to',
      ['train.py', '--logging_first_step', 'False', '--logging_steps=10'],
      0,
      [10, 20, 30],
    ],
    ['nobody knows which', ['train.py'], 0, [null, null, null]],
    ['a share of all steps', ['train.py', '--logging_steps=0.1'], 0, [null, null, null]],
  ])('of Hugging Face is of %s', (_what, command, resumedAt, want) => {
    const lines = reader('hugging-face', { command, resumedAt });
    expect(want.map(() => lines.push(Buffer.from(HUGGING_FACE))?.step)).toEqual(want);
  });

  it('is looked for so often in a second, and no more', () => {
    let nowMs = 0;
    const lines = reader('torchtitan', { nowMs: () => nowMs });
    const read = (): number =>
      Array.from({ length: 10_000 }, () => lines.push(Buffer.from(TITAN))).filter((line) => line !== undefined).length;
    expect(read()).toBe(400);
    nowMs = 1_000;
    expect(read()).toBe(100);
  });
});
