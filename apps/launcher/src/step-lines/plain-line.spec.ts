/** Lines of loops that people have written; most forms are those of published scripts. */
import { parsePlainLine } from './plain-line.ts';
import type { StepLine } from './printed-step.ts';

it.each<[string, string, Partial<StepLine>]>([
  ['nanoGPT', 'iter 120: loss 2.3104, time 94.51ms, mfu 12.01%', { step: 120, loss: 2.3104, stepTimeMs: 94.51 }],
  [
    'build-nanogpt',
    'step    10 | loss: 6.012345 | lr 1.2587e-04 | norm: 2.2910 | dt: 94.12ms | tok/sec: 5563.12',
    { step: 10, loss: 6.012345, learningRate: 1.2587e-4, gradNorm: 2.291, stepTimeMs: 94.12 },
  ],
  [
    'llm.c',
    'step   42/18865 | loss 6.284410 (+0.12z)| norm 1.3102 (-0.40z)| lr 3.60e-05 | 304.12 ms | 52.1% bf16 MFU | 1724 tok/s',
    { step: 42, loss: 6.28441, gradNorm: 1.3102, learningRate: 3.6e-5 },
  ],
  [
    'LitGPT',
    'Epoch 1 | iter 64 step 16 | loss train: 3.412, val: n/a | iter time: 412.01 ms',
    { step: 16, loss: 3.412, stepTimeMs: 412.01 },
  ],
  ['torchtune', '1|10|Loss: 1.8432012796401978', { loss: 1.8432012796401978 }],
  ['pytorch/examples', 'Train Epoch: 1 [640/60000 (1%)]\tLoss: 0.312043', { loss: 0.312043 }],
  ['an averaging meter', 'Epoch: [0][ 10/5005]\tTime  0.5\tLoss 6.91e+00 (6.99e+00)\tAcc@1 0.00', { loss: 6.91 }],
  [
    'tqdm',
    ' 10%|#         | 10/100 [00:03<00:27,  3.31it/s, loss=2.31, lr=0.0001]',
    { step: 10, loss: 2.31, learningRate: 1e-4 },
  ],
  [
    'JSON',
    '{"step": 7, "train_loss": 0.91, "lr": 2e-5, "grad_norm": 0.5}',
    { step: 7, loss: 0.91, learningRate: 2e-5, gradNorm: 0.5 },
  ],
  [
    'a dict of Python',
    "{'loss': 4.857, 'grad_norm': 1.416, 'learning_rate': 7.5e-05, 'epoch': 0.06}",
    { loss: 4.857, gradNorm: 1.416, learningRate: 7.5e-5 },
  ],
  [
    'a logger',
    '2026-11-30 02:11:09,120 INFO train.py:88 global_step=300 epoch=2 batch=12 loss=1.25',
    { step: 300, loss: 1.25 },
  ],
  ['a tensor', 'step 3 loss tensor(2.5000, grad_fn=<MseLossBackward0>)', { step: 3, loss: 2.5 }],
  [
    'TorchTitan',
    'step:  5  loss:  8.0083  grad_norm:  1.0437  memory:  0.98GiB(4.15%)  tps: 374',
    { step: 5, loss: 8.0083, gradNorm: 1.0437 },
  ],
  [
    'Megatron-LM',
    ' iteration        5/     100 | learning rate: 1.000000E-04 | lm loss: 5.176500E+00 | loss scale: 1.0 | grad norm: 1.310 |',
    { step: 5, loss: 5.1765, gradNorm: 1.31, learningRate: 1e-4 },
  ],
  ['its parts beside the whole', 'step 4 aux_loss 0.01 z_loss 0.2 total_loss 3.5', { step: 4, loss: 3.5 }],
  ['both data sets', 'step 250: train loss 2.1032, val loss 2.2011', { step: 250, loss: 2.1032 }],
  [
    'a loss that is no number',
    'step 12 | loss: nan | norm: -inf',
    { step: 12, notFinite: { loss: 'NaN', gradNorm: '-Infinity' } },
  ],
  ['no step', 'loss: 0.25', { loss: 0.25 }],
])('a line of %s is read', (_who, text, want) => {
  const nothing = { step: null, loss: null, gradNorm: null, learningRate: null, stepTimeMs: null, isOwnCount: true };
  expect(parsePlainLine(text)).toEqual({ ...nothing, ...want });
});

it.each([
  ['a loss of other data', 'step 250: val loss 2.2011'],
  ['a validation', 'Validation: step 100 loss 2.31'],
  ['a result of a test', 'Test set: Average loss: 0.0312, Accuracy: 9900/10000'],
  ['a part of the loss', 'step 3 aux_loss=0.01'],
  ['the scale of a loss', 'step 3 loss scale: 65536.0'],
  ['the best so far', 'new best loss 2.31 at step 100'],
  ['a word with these letters', 'possible glossary entries: 3'],
  ['a sentence', 'The loss of rank 0 is not known.'],
  ['a word that only begins like a number', 'loss nanometre'],
])('%s is not a step', (_what, text) => {
  expect(parsePlainLine(text)).toBeUndefined();
});

it('reads the longest line in a bounded time', () => {
  const lines = ['a'.repeat(4096), `${'loss '.repeat(800)}`, `step ${' '.repeat(4000)}loss`, '1/'.repeat(2048)];
  const beganMs = performance.now();
  for (const line of lines) for (let count = 0; count < 20; count++) parsePlainLine(line);
  expect(performance.now() - beganMs).toBeLessThan(2_000);
});
