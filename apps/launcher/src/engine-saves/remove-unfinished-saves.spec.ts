import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { removeUnfinishedSaves } from './remove-unfinished-saves.ts';

const PART = '__0_0.distcp';
const trainerSave = (weights: string): readonly string[] => [
  'a/epoch-1/checkpoint-20/config.json',
  `a/epoch-1/checkpoint-20/model.safetensors=${weights}`,
];
/** A safetensors file with one tensor of that many bytes. */
const tensors = (bytes: number): string => {
  const header = JSON.stringify({ weight: { dtype: 'U8', shape: [bytes], data_offsets: [0, bytes] } });
  return `${String.fromCharCode(header.length)}${'\0'.repeat(7)}${header}${'x'.repeat(bytes)}`;
};
/** `path=text`; a file without a text has one byte. */
const parse = (file: string): readonly [string, string] => {
  const [path = '', text = 'x'] = file.split('=');
  return [path, text];
};

/** What stands in a folder, in the order of names, and then the folder: the order in which a removal of it goes. */
const entriesFirst = (path: string): readonly string[] =>
  statSync(path).isDirectory()
    ? [
        ...readdirSync(path)
          .toSorted()
          .map((name) => join(path, name)),
        path,
      ]
    : [path];

describe('unfinished saves', () => {
  let claim = '';
  beforeEach(() => (claim = mkdtempSync(join(tmpdir(), 'coxswain-saves-'))));
  afterEach(() => rmSync(claim, { recursive: true }));
  const write = (...files: readonly string[]): void => {
    for (const [path, text] of files.map(parse)) {
      mkdirSync(dirname(join(claim, path)), { recursive: true });
      writeFileSync(join(claim, path), text);
    }
  };

  it.each<[string, readonly string[], boolean]>([
    ['of an earlier attempt are removed', [`a/epoch-1/step-20/${PART}`], true],
    ['of an earlier incarnation are removed', [`a/epoch-3/step-20/${PART}`], true],
    ['of this run stay', [`a/epoch-3-2/step-20/${PART}`], false],
    ['of a later run stay', [`a/epoch-4/step-20/${PART}`], false],
    ['of another job stay', [`b/epoch-1/step-20/${PART}`], false],
    [
      'that have their manifest are complete and stay',
      [`a/epoch-1/step-20/${PART}`, 'a/epoch-1/step-20/manifest.json'],
      false,
    ],
    [
      'that have their metadata may be complete and stay',
      [`a/epoch-1/step-20/${PART}`, 'a/epoch-1/step-20/.metadata'],
      false,
    ],
    ['with a file of another kind stay', [`a/epoch-1/step-20/${PART}`, 'a/epoch-1/step-20/notes.txt'], false],
    ['with another name stay', [`a/epoch-1/best/${PART}`], false],
    ['of TorchTitan are removed', [`a/epoch-1/checkpoint/step-20/${PART}`], true],
    ['of Megatron-LM are removed', [`a/epoch-1/iter_0000020/${PART}`, 'a/epoch-1/iter_0000020/common.pt'], true],
    [
      'of Megatron-LM that the tracker names stay',
      ['a/epoch-1/iter_0000020/common.pt', 'a/epoch-1/latest_checkpointed_iteration.txt=20'],
      false,
    ],
    ['of DeepSpeed with an empty file are removed', ['a/epoch-1/global_step20/mp_rank_00_model_states.pt='], true],
    [
      'of DeepSpeed that are cut off are removed',
      ['a/epoch-1/global_step20/mp_rank_00_model_states.pt=PK\u0003\u0004cut'],
      true,
    ],
    ['of DeepSpeed whose files are whole stay', ['a/epoch-1/global_step20/mp_rank_00_model_states.pt'], false],
    [
      'of the Trainer with an empty file are removed',
      ['a/epoch-1/checkpoint-20/config.json', 'a/epoch-1/checkpoint-20/model.safetensors='],
      true,
    ],
    ['of the Trainer with weights that are cut off are removed', trainerSave(tensors(16).slice(0, -1)), true],
    ['of the Trainer with a header that is cut off are removed', trainerSave(tensors(16).slice(0, 20)), true],
    ['of the Trainer with whole weights stay', trainerSave(tensors(16)), false],
    ['of the Trainer with weights that cannot be understood stay', trainerSave('\u0002\0\0\0\0\0\0\0[]'), false],
    ['from which this run resumes stay', [`a/epoch-2/step-20/${PART}`], false],
    ['in which this run verifies a checkpoint stay', [`a/epoch-2/step-40/${PART}`], false],
  ])('%s', async (_sentence, files, isRemoved) => {
    write(...files);
    const used = ['a/epoch-2/step-20', 'a/epoch-2/step-40/inner'].map((path) => join(claim, path));
    const removed = await removeUnfinishedSaves(join(claim, 'a/epoch-3-2'), used);
    expect(removed).toHaveLength(isRemoved ? 1 : 0);
    expect(files.map((file) => existsSync(join(claim, parse(file)[0])))).toEqual(files.map(() => !isRemoved));
  });

  it.each<[engine: string, files: readonly string[]]>([
    ['TorchTitan', [0, 1, 2].map((rank) => `a/epoch-1/checkpoint/step-20/__${rank}_0.distcp`)],
    ['Megatron-LM', [`a/epoch-1/iter_0000020/${PART}`, 'a/epoch-1/iter_0000020/common.pt']],
    [
      'DeepSpeed',
      [
        'bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt=',
        'bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt',
        'mp_rank_00_model_states.pt',
      ].map((file) => `a/epoch-1/global_step20/${file}`),
    ],
    ['the Trainer', ['a/epoch-1/checkpoint-20/optimizer.pt=PK\u0003\u0004cut', ...trainerSave(tensors(16))]],
  ])('of %s are removed whole by the next launcher, wherever the removal was killed', async (_engine, files) => {
    for (let removals = 0; removals < files.length; removals++) {
      write(...files);
      let allowed = removals;
      const killed = (path: string): Promise<void> => {
        for (const one of entriesFirst(path)) {
          if (allowed-- <= 0) return Promise.reject(new Error('killed'));
          rmSync(one, { recursive: true });
        }
        return Promise.resolve();
      };
      await expect(removeUnfinishedSaves(join(claim, 'a/epoch-2'), [], killed)).rejects.toThrow('killed');
      await removeUnfinishedSaves(join(claim, 'a/epoch-2'));
      const left = readdirSync(claim, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      expect([removals, left.map(({ name }) => name)]).toEqual([removals, []]);
    }
  });

  it('behind a link stay, and a claim without saves is well', async () => {
    write(`b/step-20/${PART}`);
    mkdirSync(join(claim, 'a'));
    symlinkSync(join(claim, 'b'), join(claim, 'a/epoch-1'));
    expect(await removeUnfinishedSaves(join(claim, 'a/epoch-2'))).toEqual([]);
    expect(await removeUnfinishedSaves(join(claim, 'nowhere/epoch-2'))).toEqual([]);
    expect(existsSync(join(claim, `b/step-20/${PART}`))).toBe(true);
  });
});
