/** A batch that grows is rendered where the engine lets it grow, and refused elsewhere. */
import { ENGINE_NAMES, type EngineName, TrainingJobSpec } from '@coxswain/api-types';
import { renderEngine } from './index.ts';
import { JOBS_OF_ENGINES } from './testing/jobs-of-engines.ts';

const batchRampUp = { startSize: 8, increment: 8, samples: 48 };

interface Change {
  readonly training?: object;
  readonly engine?: object;
}

/** What is rendered of the plain job of the engine with these fields, as text; or the field that is refused, and what to do. */
function outcome(engine: EngineName, { training, engine: ofEngine }: Change): { text: string; refused?: string } {
  const job = JOBS_OF_ENGINES.find((one) => one.engine === engine)?.job as Readonly<Record<string, object>>;
  const data = TrainingJobSpec.parse({
    ...job,
    engine: { ...job['engine'], ...ofEngine },
    training: { ...job['training'], ...training },
  });
  if (data.layout === undefined) throw new Error('the job has a layout');
  const rendering = renderEngine({ ...data, layout: data.layout });
  if (rendering.kind === 'refused')
    return { text: `${rendering.why}; ${rendering.fallback}`, refused: rendering.field };
  const { command, files, notes } = rendering;
  return { text: [command.join(' '), ...files.map(({ text }) => text), ...notes].join('\n') };
}

const GROWS: Readonly<Partial<Record<EngineName, RegExp>>> = {
  'megatron-lm': /--train-samples 1552 --global-batch-size 16 --rampup-batch-size 8 8 48 /,
  'megatron-bridge': /"train\.rampup_batch_size": \[\s*8,\s*8,\s*48\s*\]/,
  custom: /"batchRampUp": \{/,
};

it.each(ENGINE_NAMES.filter((name) => name !== 'command'))(
  'engine %s lets the batch grow, or refuses it by name',
  (name) => {
    const { text, refused } = outcome(name, { training: { steps: 100, globalBatchSize: 16, batchRampUp } });
    const want = GROWS[name];
    if (want === undefined)
      expect([refused, text]).toEqual([
        'training.batchRampUp',
        expect.stringContaining('engine megatron-lm or megatron-bridge'),
      ]);
    else expect(text).toMatch(want);
  },
);

describe('Megatron-LM, which counts a growing batch in samples', () => {
  it.each<[string, Change, RegExp]>([
    [
      'warms up and decays over the samples of these steps',
      { training: { warmupSteps: 4, schedule: { name: 'wsd', decaySteps: 10 } } },
      /--lr-warmup-samples 32 --lr-decay-samples 1552 .*--lr-wsd-decay-samples 160 /,
    ],
    [
      'reads tokens as the samples that hold them',
      { training: { steps: undefined, tokens: 160_000 } },
      /--train-samples \d+ /,
    ],
  ])('%s', (_sentence, { training }, want) => {
    const whole = { steps: 100, globalBatchSize: 16, batchRampUp, ...training };
    expect(outcome('megatron-lm', { training: whole }).text).toMatch(want);
  });

  it.each<[string, Change]>([
    ['arguments', { engine: { args: ['--rampup-batch-size', '8', '8', '48'] } }],
    ['options', { engine: { options: [{ name: 'rampup-batch-size', value: '8 8 48' }] } }],
  ])('is counted so if its %s let the batch grow', (_what, { engine = {} }) => {
    const { text } = outcome('megatron-lm', { training: { steps: 100, globalBatchSize: 16 }, engine });
    expect(text).toMatch(GROWS['megatron-lm'] ?? /never/);
    expect(text).not.toMatch(/-iters \d\d/);
  });

  it.each<[string, object, RegExp]>([
    [
      'sizes that ranks cannot share',
      { startSize: 3, increment: 1, samples: 48 },
      /multiple of training.microBatchSize/,
    ],
  ])('refuses %s', (_what, growth, want) => {
    const training = { steps: 100, globalBatchSize: 16, microBatchSize: 2, batchRampUp: growth };
    expect(outcome('megatron-lm', { training })).toEqual({
      refused: 'training.batchRampUp',
      text: expect.stringMatching(want) as string,
    });
  });
});

it('the predictions of a growing batch are said to be those of the full one', () => {
  const { text } = outcome('megatron-lm', { training: { steps: 100, globalBatchSize: 16, batchRampUp } });
  expect(text).toContain('the batch grows over the first 48 samples; predictions are for the full batch');
});
