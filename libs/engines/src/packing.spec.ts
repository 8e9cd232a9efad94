/** Packed documents are rendered where attention stays within them, and refused elsewhere. */
import { ENGINE_NAMES, type EngineName, TrainingJobSpec } from '@coxswain/api-types';
import { renderEngine } from './index.ts';
import { JOBS_OF_ENGINES } from './testing/jobs-of-engines.ts';

interface Change {
  readonly engine?: object;
  readonly kernel?: object;
  readonly packing?: object;
}

/** What is rendered of the first job of the engine with packed documents, as text; or the field that is refused, and why. */
function outcome(name: EngineName, { engine, kernel, packing = {} }: Change = {}): { text: string; refused?: string } {
  const job = JOBS_OF_ENGINES.find((one) => one.engine === name)?.job as Readonly<Record<string, object>>;
  const data = TrainingJobSpec.parse({
    ...job,
    engine: { ...job['engine'], ...engine },
    training: { ...job['training'], packing },
    layout: { ...job['layout'], ...(kernel === undefined ? {} : { kernel }) },
  });
  if (data.layout === undefined) throw new Error('the job has a layout');
  const rendering = renderEngine({ ...data, layout: data.layout });
  if (rendering.kind === 'refused')
    return { text: `${rendering.why}; ${rendering.fallback}`, refused: rendering.field };
  const { command, files, notes } = rendering;
  return { text: [command.join(' '), ...files.map(({ text }) => text), ...notes].join('\n') };
}

const PACKS: Readonly<Partial<Record<EngineName, RegExp>>> = {
  torchtitan: /attention stays within each; predictions are for documents of 300 tokens/,
  'hugging-face':
    /--packing=true --packing_strategy=bfd --max_length=1024 --attn_implementation=flash_attention_2 [^]*SFTConfig/,
  deepspeed: /"packing": \{\s*"meanTokens": 300[^]*reads .*training\.packing from job\.json, or does not do it/,
  custom: /"packing": \{\s*"meanTokens": 300/,
};

it.each(ENGINE_NAMES.filter((name) => name !== 'command'))('engine %s packs documents, or refuses by name', (name) => {
  const { text, refused } = outcome(name, { packing: { meanTokens: 300 } });
  const want = PACKS[name];
  if (want === undefined)
    expect([refused, text]).toEqual([
      'training.packing',
      expect.stringMatching(/cannot do training\.packing: it.*; use engine torchtitan/),
    ]);
  else expect({ refused, text }).toEqual({ refused: undefined, text: expect.stringMatching(want) as string });
});

it.each<[string, EngineName, Change, { readonly refused: string; readonly text: RegExp }]>([
  [
    'TorchTitan by TOML',
    'torchtitan',
    { engine: { release: 'v0.2.2' } },
    { refused: 'training.packing', text: /flavours mask causally over the whole sample/ },
  ],
  [
    'a recipe of TorchTitan, which has its own mask',
    'torchtitan',
    { engine: { recipe: 'mine:config' } },
    { refused: 'training.packing', text: /built into the model/ },
  ],
  [
    'a mask over the whole sample',
    'torchtitan',
    { kernel: { attentionMask: 'causal' } },
    { refused: 'layout.kernel.attentionMask', text: /set it to document/ },
  ],
  [
    'an argument that states packing again',
    'hugging-face',
    { engine: { args: ['--packing', 'false'] } },
    { refused: 'training.packing', text: /remove --packing from the arguments/ },
  ],
  [
    'an option that contradicts packing',
    'hugging-face',
    { engine: { options: [{ name: 'packing', value: 'false' }] } },
    { refused: 'engine.options', text: /sets? packing to false.*training\.packing/ },
  ],
  [
    'a kernel that attends across documents',
    'hugging-face',
    { engine: { args: ['--attn_implementation=sdpa'] } },
    { refused: 'training.packing', text: /choose attention sdpa/ },
  ],
])('refuses %s', (_what, engine, change, { refused, text }) => {
  expect(outcome(engine, change)).toEqual({ refused, text: expect.stringMatching(text) as string });
});

it.each<[string, EngineName, Change, RegExp]>([
  ['a mask of documents', 'torchtitan', { kernel: { attentionMask: 'document' } }, /stays within each/],
  [
    'another FlashAttention, which is not stated twice',
    'hugging-face',
    { engine: { args: ['--attn_implementation', 'flash_attention_3'] } },
    /^(?!.*flash_attention_2).*--packing=true/,
  ],
])('takes %s', (_what, engine, change, want) => {
  const { text, refused } = outcome(engine, change);
  expect([refused, text]).toEqual([undefined, expect.stringMatching(want)]);
});
