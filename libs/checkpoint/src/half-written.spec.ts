import fc from 'fast-check';
import type { EngineFormat } from './formats/checkpoint-format.ts';
import { type FoundSave, halfWrittenFormats, isSaveName, unmarkedSaves } from './half-written.ts';

/** A save as its engine makes it with two ranks, in the order of writing, its marker last. */
interface Story {
  readonly name: (step: number) => string;
  readonly files: readonly string[];
  readonly marker?: string;
  readonly pointer?: (step: number) => string;
  /** Names alone prove nothing: without a complete save beside it, a file has to be broken. */
  readonly needsContent?: true;
  /** So many files are written before one shows that the save is not weights alone. */
  readonly weights?: number;
}

const SHARDS = ['__0_0.distcp', '__1_0.distcp'];
const STORIES: Readonly<Record<EngineFormat, Story>> = {
  dcp: { name: (step) => `step-${step}`, files: [...SHARDS, '.metadata.tmp'], marker: '.metadata' },
  torch_dist: {
    name: (step) => `iter_${String(step).padStart(7, '0')}`,
    files: ['common.pt', ...SHARDS, '.metadata'],
    marker: 'metadata.json',
    pointer: String,
  },
  deepspeed: {
    name: (step) => `global_step${step}`,
    files: [
      'mp_rank_00_model_states.pt',
      'zero_pp_rank_0_mp_rank_00_optim_states.pt',
      'bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt',
    ],
    pointer: (step) => `global_step${step}\n`,
    needsContent: true,
  },
  'hugging-face': {
    name: (step) => `checkpoint-${step}`,
    files: ['config.json', 'model.safetensors', 'training_args.bin', 'optimizer.pt', 'scheduler.pt', 'rng_state_0.pth'],
    marker: 'trainer_state.json',
    needsContent: true,
    weights: 3,
  },
};
const FORMATS = halfWrittenFormats();
const wholeOf = ({ files, marker }: Story): readonly string[] => [...files, ...(marker === undefined ? [] : [marker])];
const provenIn = (format: EngineFormat, saves: readonly FoundSave[], pointer?: string): readonly string[] =>
  unmarkedSaves(format, { saves, ...(pointer === undefined ? {} : { pointer }) })
    .filter(({ isProven }) => isProven)
    .map(({ name }) => name);

it('every format in which engines save has a rule', () => {
  expect(FORMATS.toSorted()).toEqual(Object.keys(STORIES).toSorted());
});

describe('a save', () => {
  const about = fc.record({
    format: fc.constantFrom(...FORMATS),
    step: fc.integer({ min: 1, max: 40 }),
    written: fc.nat(8),
    pointed: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
    isBeside: fc.boolean(),
  });

  it('with every file that its engine writes is never named, whatever the pointer says and lies beside it', () => {
    fc.assert(
      fc.property(about, ({ format, step, written, pointed, isBeside }) => {
        const story = STORIES[format];
        const beside = { name: story.name(step + 1), paths: wholeOf(story).slice(0, written) };
        const saves = [{ name: story.name(step), paths: wholeOf(story) }, ...(isBeside ? [beside] : [])];
        const pointer = pointed === undefined ? undefined : story.pointer?.(pointed);
        expect(provenIn(format, saves, pointer)).not.toContain(story.name(step));
      }),
    );
  });

  it('without its last files is named, if its format always writes a marker or a complete one lies beside it', () => {
    fc.assert(
      fc.property(about, ({ format, step, written, isBeside }) => {
        const story = STORIES[format];
        const paths = story.files.slice(0, 1 + (written % story.files.length));
        const isWhole = paths.length === story.files.length;
        const saves = [
          ...(isBeside ? [{ name: story.name(step), paths: wholeOf(story) }] : []),
          { name: story.name(step + 1), paths },
        ];
        const isComparable = paths.length > (story.weights ?? 0);
        const isProven = story.needsContent === undefined || (isBeside && !isWhole && isComparable);
        const isTheirs = format !== 'dcp' || paths.some((path) => path.endsWith('.distcp'));
        const pointer = isBeside ? story.pointer?.(step) : undefined;
        expect(provenIn(format, saves, pointer)).toEqual(isProven && isTheirs ? [story.name(step + 1)] : []);
      }),
    );
  });

  it('with a file that its engine does not write is not only a save, and is never named', () => {
    fc.assert(
      fc.property(about, fc.constantFrom('notes.txt', 'lora/weights.bin', 'link/', '__0.metadata'), (one, foreign) => {
        const story = STORIES[one.format];
        const saves = [
          { name: story.name(one.step), paths: wholeOf(story) },
          { name: story.name(one.step + 1), paths: [...story.files.slice(0, 1 + one.written), foreign] },
        ];
        expect(unmarkedSaves(one.format, { saves }).map(({ name }) => name)).not.toContain(story.name(one.step + 1));
      }),
    );
  });
});

describe('a half-written save', () => {
  const names = (format: EngineFormat, step: number, paths: readonly string[], pointer?: string): readonly string[] =>
    provenIn(format, [{ name: STORIES[format].name(step), paths }], pointer);

  it.each<[string, readonly string[], number]>([
    ['of torch_dist beyond the pointer is named', names('torch_dist', 20, ['common.pt', ...SHARDS], '10'), 1],
    ['of torch_dist that the pointer names stays', names('torch_dist', 20, ['common.pt', ...SHARDS], '20'), 0],
    ['of torch_dist beside a pointer that cannot be read stays', names('torch_dist', 20, ['common.pt'], 'release'), 0],
    ['of torch_dcp, which is complete with its index, stays', names('torch_dist', 20, [...SHARDS, '.metadata']), 0],
    ['of Megatron’s legacy format stays', names('torch_dist', 20, ['mp_rank_00/model_optim_rng.pt']), 0],
    ['that is empty stays', names('dcp', 20, []), 0],
  ])('%s', (_sentence, got, want) => {
    expect(got).toHaveLength(want);
  });

  it.each<[EngineFormat, string, readonly string[]]>([
    [
      'hugging-face',
      'that is weights alone, which a program may save by itself,',
      STORIES['hugging-face'].files.slice(0, 3),
    ],
    ['hugging-face', 'beside one with notes of a user', STORIES['hugging-face'].files],
    ['deepspeed', 'beside one with weights that a user converted', STORIES.deepspeed.files],
  ])('of %s %s is not proven by what a complete one has', (format, _what, paths) => {
    const { name, pointer } = STORIES[format];
    const complete = { name: name(10), paths: [...wholeOf(STORIES[format]), 'notes.txt', 'pytorch_model_fp32.bin'] };
    expect(provenIn(format, [complete, { name: name(20), paths }], pointer?.(10))).toEqual([]);
  });

  it('of DeepSpeed, the first of its run, needs a broken file', () => {
    const saves = [{ name: 'global_step5', paths: STORIES.deepspeed.files.slice(0, 2) }];
    expect(unmarkedSaves('deepspeed', { saves })).toEqual([{ name: 'global_step5', isProven: false }]);
  });
});

it.each<[EngineFormat, string, boolean]>([
  ['dcp', 'step-20', true],
  ['dcp', 'best', false],
  ['torch_dist', 'iter_0000020', true],
  ['torch_dist', 'release', false],
  ['deepspeed', 'global_step_20', false],
  ['hugging-face', 'checkpoint-best', false],
])('a save of %s may be called %s: %s', (format, name, want) => {
  expect(isSaveName(format, name)).toBe(want);
});
