import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CheckpointManifest, type EngineFormat } from '@coxswain/checkpoint';
import { aLayout } from '@coxswain/layout/testing';
import { verifySaved } from '../checkpoints/checkpoint-verification.ts';
import { HashBudget } from './hash-budget.ts';
import { SaveScanner, type ScanResult } from './save-scanner.ts';

/** What torch.save writes has this beginning and this end. */
const ARCHIVE = Buffer.from('PK\u0003\u0004 tensors PK\u0005\u0006'.padEnd(22 + 13, '\0'));
const savedBy = { engine: 'torchtitan', layout: aLayout({ dataParallelDegree: 2 }) };

let root = '';
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'engine-saves-'))));
afterEach(() => rmSync(root, { recursive: true }));

const put = (path: string, content: string | Buffer = 'x'): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
};
const scannerOf = (
  format: EngineFormat,
  {
    reported = [] as readonly string[],
    budget = new HashBudget(),
    isRemovedLater = false,
    isPart = false,
    now = Date.now,
  } = {},
): SaveScanner =>
  new SaveScanner(
    { saveDirectory: root, format, worldSize: 2, savedBy, reported, isRemovedLater, isPart },
    { budget: () => budget, onAnswer: () => undefined, now },
  );
/** Two looks, since a save that is being written is not the same twice. */
const twice = async (scanner: SaveScanner): Promise<readonly ScanResult[]> => [
  ...(await scanner.scan({ isLast: false })),
  ...(await scanner.scan({ isLast: false })),
];
const sentencesOf = (results: readonly ScanResult[]): readonly string[] =>
  results.map((result) => (result.kind === 'notice' ? result.sentence : `saved ${result.directory}`));
const manifestOf = (directory: string): CheckpointManifest =>
  CheckpointManifest.parse(JSON.parse(readFileSync(join(root, directory, 'manifest.json'), 'utf8')));

const titan = (step: number): void => {
  put(`checkpoint/step-${step}/__0_0.distcp`, 'rank 0');
  put(`checkpoint/step-${step}/__1_0.distcp`, 'rank 1');
  put(`checkpoint/step-${step}/.metadata`, 'where');
};
const trainer = (step: number): void => {
  for (const name of ['optimizer.pt', 'rng_state_0.pth', 'rng_state_1.pth']) put(`checkpoint-${step}/${name}`, ARCHIVE);
  put(`checkpoint-${step}/trainer_state.json`, `{"global_step":${step}}`);
};
const zero = (step: number): void => {
  for (const rank of [0, 1]) put(`global_step${step}/zero_pp_rank_${rank}_mp_rank_00_optim_states.pt`, ARCHIVE);
  put(`global_step${step}/mp_rank_00_model_states.pt`, ARCHIVE);
  put('latest', `global_step${step}`);
};
const megatron = (step: number): void => {
  put(`iter_${String(step).padStart(7, '0')}/metadata.json`, '{}');
  put('latest_checkpointed_iteration.txt', String(step));
};

describe('a save that an engine completed', () => {
  it.each<[EngineFormat, (step: number) => void, string]>([
    ['dcp', titan, 'checkpoint/step-4'],
    ['hugging-face', trainer, 'checkpoint-4'],
    ['deepspeed', zero, 'global_step4'],
    ['torch_dist', megatron, 'iter_0000004'],
  ])(
    'as %s becomes a checkpoint, once, that verifies as those of our own engine do',
    async (format, save, directory) => {
      save(4);
      const scanner = scannerOf(format);
      const [fact, ...more] = await twice(scanner);
      expect(more).toEqual([]);
      expect(fact).toMatchObject({ kind: 'checkpointSaved', step: 4, directory });
      expect(await scanner.scan({ isLast: true })).toEqual([]);
      expect(manifestOf(directory)).toMatchObject({ ...savedBy, format, step: 4 });
      if (fact?.kind !== 'checkpointSaved') throw new Error('nothing was saved');
      expect(await verifySaved(root, fact)).toMatchObject({ kind: 'verified', value: { step: 4, format, directory } });
    },
  );

  it('has every file in its manifest with size and content, those of folders too, but nothing that a link leads to', async () => {
    titan(4);
    put('checkpoint/step-4/extra/part.bin', 'more');
    symlinkSync('/etc/passwd', join(root, 'checkpoint/step-4/link'));
    await twice(scannerOf('dcp'));
    const files = manifestOf('checkpoint/step-4').files;
    expect(files.map(({ path }) => path)).toEqual(['.metadata', '__0_0.distcp', '__1_0.distcp', 'extra/part.bin']);
    const sha256 = createHash('sha256').update('rank 1').digest('hex');
    expect(files[2]).toEqual({ path: '__1_0.distcp', bytes: 6, sha256 });
  });

  it('has sizes alone in its manifest where there was no time to read it', async () => {
    titan(4);
    await twice(scannerOf('dcp', { budget: new HashBudget({ mostMs: 0 }) }));
    expect(manifestOf('checkpoint/step-4').files[1]).toEqual({ path: '__0_0.distcp', bytes: 6 });
  });

  it('is told of by a launcher that finds the manifest of one that died before it could, as it is', async () => {
    titan(4);
    const [first] = await twice(scannerOf('dcp', { budget: new HashBudget({ mostMs: 0 }) }));
    const [again] = await twice(scannerOf('dcp'));
    expect(again).toEqual(first);
  });

  it('is not told of again by whoever looks after one that did', async () => {
    titan(4);
    expect(await twice(scannerOf('dcp', { reported: ['checkpoint/step-4'] }))).toEqual([]);
  });

  it('is not recorded, and nothing overwritten, where a file of somebody else has the name of the manifest', async () => {
    titan(4);
    put('checkpoint/step-4/manifest.json', '{"theirs":true}');
    expect(sentencesOf(await twice(scannerOf('dcp')))).toEqual([
      "The checkpoint of step 4 is not recorded: checkpoint/step-4 holds a manifest.json that is not Coxswain's.",
    ]);
    expect(readFileSync(join(root, 'checkpoint/step-4/manifest.json'), 'utf8')).toBe('{"theirs":true}');
  });
});

describe('a launcher that is killed at a write of the manifest', () => {
  const manifest = 'checkpoint/step-4/manifest.json';
  /** What each moment leaves, from the whole text of the manifest. */
  it.each<[moment: string, leave: (text: string) => void]>([
    ['before it', () => undefined],
    ['after it created the draft', () => put(`${manifest}.unfinished`, '')],
    ['in the draft', (text) => put(`${manifest}.unfinished`, text.slice(0, text.length / 2))],
    ['before it renamed the draft', (text) => put(`${manifest}.unfinished`, text)],
    ['before it reported the save', (text) => put(manifest, text)],
  ])('%s leaves a save that the next launcher records as if it had been the first', async (_moment, leave) => {
    titan(4);
    const [undisturbed] = await twice(scannerOf('dcp'));
    const text = readFileSync(join(root, manifest), 'utf8');
    rmSync(join(root, manifest));
    leave(text);
    const [fact, ...more] = await twice(scannerOf('dcp'));
    expect([fact, more]).toEqual([undisturbed, []]);
    if (fact?.kind !== 'checkpointSaved') throw new Error('nothing was saved');
    expect(await verifySaved(root, fact)).toMatchObject({ kind: 'verified', value: { step: 4 } });
    expect(existsSync(join(root, `${manifest}.unfinished`))).toBe(false);
  });
});

describe('a save that is not whole', () => {
  it('waits until two looks see the same', async () => {
    titan(4);
    const scanner = scannerOf('dcp');
    expect(await scanner.scan({ isLast: false })).toEqual([]);
    appendFileSync(join(root, 'checkpoint/step-4/__0_0.distcp'), 'more');
    expect(await scanner.scan({ isLast: false })).toEqual([]);
    expect(sentencesOf(await scanner.scan({ isLast: false }))).toEqual(['saved checkpoint/step-4']);
  });

  it.each<[string, EngineFormat, () => void, string]>([
    [
      'whose marker is missing',
      'dcp',
      () => (titan(4), rmSync(join(root, 'checkpoint/step-4/.metadata'))),
      'The checkpoint of step 4 (checkpoint/step-4) is not complete: it has no .metadata.',
    ],
    [
      'whose other rank was killed before it had written',
      'deepspeed',
      () => (zero(4), rmSync(join(root, 'global_step4/zero_pp_rank_1_mp_rank_00_optim_states.pt'))),
      'The checkpoint of step 4 (global_step4) is not complete: it has no zero_pp_rank_1_mp_rank_00_optim_states.pt.',
    ],
    [
      'whose other rank was killed while it wrote',
      'hugging-face',
      () => (trainer(4), put('checkpoint-4/rng_state_1.pth', ARCHIVE.subarray(0, 9))),
      'The checkpoint of step 4 (checkpoint-4) is not complete: rng_state_1.pth is cut off.',
    ],
    [
      'whose state is half a JSON text',
      'hugging-face',
      () => (trainer(4), put('checkpoint-4/trainer_state.json', '{"global_st')),
      'The checkpoint of step 4 (checkpoint-4) is not complete: trainer_state.json is cut off.',
    ],
  ])('%s is never one, and is told of when the ranks are gone', async (_what, format, save, sentence) => {
    save();
    const scanner = scannerOf(format);
    expect(await twice(scanner)).toEqual([]);
    expect(sentencesOf(await scanner.scan({ isLast: true }))).toEqual([sentence]);
    expect(existsSync(join(root, 'checkpoint/step-4/manifest.json'))).toBe(false);
  });

  it('is not one of the Trainer that has logged a number that is not finite', async () => {
    trainer(4);
    put('checkpoint-4/trainer_state.json', '{"global_step":4,"log_history":[{"grad_norm":NaN,"note":"\\"NaN"}]}');
    expect(sentencesOf(await twice(scannerOf('hugging-face')))).toEqual(['saved checkpoint-4']);
  });

  it('becomes a checkpoint when its engine completes it', async () => {
    trainer(4);
    rmSync(join(root, 'checkpoint-4/rng_state_1.pth'));
    const scanner = scannerOf('hugging-face');
    expect(await twice(scanner)).toEqual([]);
    put('checkpoint-4/rng_state_1.pth', ARCHIVE);
    expect(sentencesOf(await twice(scanner))).toEqual(['saved checkpoint-4']);
    expect(await scanner.scan({ isLast: true })).toEqual([]);
  });

  it('that its engine deletes meanwhile, as it keeps the newest alone, is told of in a sentence; the newest is one', async () => {
    titan(4);
    const scanner = scannerOf('dcp');
    expect(await scanner.scan({ isLast: false })).toEqual([]);
    rmSync(join(root, 'checkpoint/step-4/.metadata'));
    titan(8);
    expect(await scanner.scan({ isLast: false })).toEqual([]);
    rmSync(join(root, 'checkpoint/step-4'), { recursive: true });
    expect(sentencesOf(await scanner.scan({ isLast: false }))).toEqual([
      'The checkpoint of step 4 (checkpoint/step-4) was deleted, before it was recorded.',
      'saved checkpoint/step-8',
    ]);
  });

  it('that its engine deletes after it was recorded is told of, and what to do', async () => {
    titan(4);
    const scanner = scannerOf('dcp');
    await twice(scanner);
    rmSync(join(root, 'checkpoint/step-4'), { recursive: true });
    expect(sentencesOf(await twice(scanner))).toEqual([
      'The checkpoint of step 4 (checkpoint/step-4) was deleted, although it is recorded; have the engine keep every checkpoint.',
    ]);
  });
});

it('a save that the launcher removes once the bucket has it is not missed', async () => {
  titan(4);
  const scanner = scannerOf('dcp', { isRemovedLater: true });
  await twice(scanner);
  rmSync(join(root, 'checkpoint/step-4'), { recursive: true });
  expect(await twice(scanner)).toEqual([]);
});

describe('a save in the background', () => {
  const [DCP_SAVE, MEGATRON_SAVE] = ['checkpoint/step-4', 'iter_0000004'];
  const pointer = 'latest_checkpointed_iteration.txt';
  const shard = (): void => put(`${MEGATRON_SAVE}/__0_0.distcp`);

  it.each<[what: string, format: EngineFormat, steps: readonly (() => void)[], want: unknown]>([
    [
      'is dated by the scans without its .metadata',
      'dcp',
      [
        () => put(`${DCP_SAVE}/__0_0.distcp`),
        () => put(`${DCP_SAVE}/__1_0.distcp`),
        () => undefined,
        () => put(`${DCP_SAVE}/.metadata`),
      ],
      { firstMs: 1_000, lastMs: 3_000 },
    ],
    ['has no date if its marker was there at once', 'dcp', [() => titan(4)], undefined],
    [
      'is dated by the scans whose pointer file did not name it, with its index or without',
      'torch_dist',
      [shard, () => put(`${MEGATRON_SAVE}/metadata.json`, '{}'), () => put(pointer, '4')],
      { firstMs: 1_000, lastMs: 2_000 },
    ],
    [
      'has no date if the pointer file was seen only after it named a later save',
      'torch_dist',
      [shard, () => (megatron(4), megatron(8))],
      undefined,
    ],
  ])('%s, and counts once', async (_what, format, steps, want) => {
    let nowMs = 0;
    const scanner = scannerOf(format, { now: () => nowMs });
    const found: ScanResult[] = [];
    for (const change of [...steps, () => undefined, () => undefined]) {
      change();
      nowMs += 1_000;
      found.push(...(await scanner.scan({ isLast: false })));
    }
    const saved = found.filter((one) => one.kind === 'checkpointSaved' && one.step === 4);
    expect(saved.map((one) => (one.kind === 'checkpointSaved' ? one.unmarked : one))).toEqual([want]);
    expect(sentencesOf(found).filter((sentence) => !sentence.startsWith('saved'))).toEqual([]);
  });
});

describe('a directory', () => {
  it('that is not there holds no saves', async () => {
    rmSync(root, { recursive: true });
    expect(await twice(scannerOf('dcp'))).toEqual([]);
    mkdirSync(root);
  });
});

it.each<[EngineFormat, () => void, string]>([
  ['dcp', () => [put('step-4/__0_0.distcp'), put('step-4/.metadata')], 'step-4'],
  [
    'hugging-face',
    () => [put('checkpoint-4/rng_state_0.pth', ARCHIVE), put('checkpoint-4/trainer_state.json', '{}')],
    'checkpoint-4',
  ],
  [
    'deepspeed',
    () => [put('global_step4/mp_rank_00_model_states.pt', ARCHIVE), put('latest', 'global_step4')],
    'global_step4',
  ],
])(
  'a save as %s is found on a node that has only the files of rank 0, and gets no manifest there',
  async (format, save, directory) => {
    save();
    const scanner = scannerOf(format, { isPart: true });
    expect(await twice(scanner)).toMatchObject([{ kind: 'checkpointSaved', step: 4, directory }]);
    expect(await scanner.scan({ isLast: true })).toEqual([]);
    expect(existsSync(join(root, directory, 'manifest.json'))).toBe(false);
  },
);
