import { type Damage, flipIn, look, replaced } from '../testing/damages.ts';
import { fixture, repickled } from '../testing/fixture.ts';

const SAVES = 'deepspeed-0.19.8';
const MODEL = 'mp_rank_00_model_states.pt';
const text = (value: string): Uint8Array => Uint8Array.from(Buffer.from(value));

const DAMAGES_OF_UNIVERSAL: readonly Damage[] = [
  [
    'without a parameter is incomplete',
    ['incomplete', 'V1'],
    /File zero\/first\.bias\/fp32\.pt is not there: the conversion was not finished, or the file was lost/,
    (save) =>
      [...save.files.keys()]
        .filter((path) => path.startsWith('zero/first.bias'))
        .forEach((path) => save.files.delete(path)),
  ],
  [
    'without a running mean that other parameters have is incomplete',
    ['incomplete', 'V1'],
    /File zero\/second\.weight\/exp_avg\.pt is not there/,
    (save) => save.files.delete('zero/second.weight/exp_avg.pt'),
  ],
  [
    'without what all parameters share is incomplete',
    ['incomplete', 'V1'],
    /File zero\/optimizer_state\.pt is not there/,
    (save) => save.files.delete('zero/optimizer_state.pt'),
  ],
  [
    'without model states is incomplete',
    ['incomplete', 'V1'],
    /no file of model states: the conversion was not finished/,
    (save) => save.files.delete(MODEL),
  ],
  [
    'with a cut file is damaged',
    ['damaged', 'V1'],
    /File zero\/first\.bias\/fp32\.pt .* it is cut/,
    (save) => save.edit('zero/first.bias/fp32.pt', (bytes) => bytes.subarray(0, -9)),
  ],
  [
    'with a link in place of a file is damaged',
    ['damaged', 'V1'],
    /File zero\/first\.bias\/fp32\.pt is a link/,
    (save) => save.links.add('zero/first.bias/fp32.pt'),
  ],
  [
    'with float32 copies of another dtype is damaged',
    ['damaged', 'V1'],
    /Tensor fp32\.first\.weight is float16, and the converter writes float32/,
    (save) =>
      save.edit('zero/first.weight/fp32.pt', (bytes) => repickled(bytes, replaced('FloatStorage', 'HalfStorage'))),
  ],
  [
    'with a tensor of another size is damaged',
    ['damaged', 'V1'],
    /Tensor fp32\.first\.bias has 2 elements, and the model states say 3/,
    (save) =>
      save.edit('zero/first.bias/fp32.pt', (bytes) =>
        repickled(bytes, (pickle) => pickle.replace('K\x03\x85', 'K\x02\x85')),
      ),
  ],
  [
    'with a flipped bit is damaged',
    ['damaged', 'V3'],
    /File zero\/first\.weight\/fp32\.pt has other bytes in data\/0 than were saved/,
    (save) => flipIn(save, 'fp32.first.weight'),
  ],
];

const DAMAGES_OF_FOLDER: readonly Damage[] = [
  [
    'whose latest names a save that is not there is incomplete',
    ['incomplete', 'V0'],
    /File latest names "global_step4", and no save of this name is there/,
    (save) => save.edit('latest', () => text('global_step4')),
  ],
  [
    'whose latest leads out of it is incomplete',
    ['incomplete', 'V0'],
    /File latest names "\.\.\/secret"/,
    (save) => save.edit('latest', () => text('../secret')),
  ],
  [
    'whose newest save lacks a rank is incomplete, and its path is said',
    ['incomplete', 'V1'],
    /In global_step2: File bf16_zero_pp_rank_1_mp_rank_00_optim_states\.pt is not there/,
    (save) => save.files.delete('global_step2/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt'),
  ],
];

describe.each<[what: string, path: string, damages: readonly Damage[]]>([
  ['a converted save', 'zero1/global_step2_universal', DAMAGES_OF_UNIVERSAL],
  ['a folder of saves', 'zero1', DAMAGES_OF_FOLDER],
])('of %s', (_what, path, damages) => {
  it.each(damages)('one %s', (_damage, [verdict, level], sentence, change) => {
    const save = fixture(`${SAVES}/${path}`);
    change(save);
    const found = look(save);
    expect(found.findings).toEqual(
      expect.arrayContaining([{ level, kind: verdict, sentence: expect.stringMatching(sentence) as string }]),
    );
    expect(found.verdict).toBe(verdict);
  });
});
