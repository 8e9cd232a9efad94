import type { StoredItem } from '../read/saved-state.ts';
import { type Damage, flipIn, look, replaced } from '../testing/damages.ts';
import { fixture, repickled } from '../testing/fixture.ts';
import type { MemorySave } from '../testing/memory-save.ts';

const SAVES = 'deepspeed-0.19.8';
/** The weights as DeepSpeed itself joins them; buffers are among them. */
const JOINED = JSON.parse(Buffer.from(fixture(SAVES).files.get('joined-weights.json') ?? []).toString()) as Record<
  'zero1' | 'zero3',
  Readonly<Record<string, string>>
>;

function hexOf(save: MemorySave, item: StoredItem | undefined): string {
  const { file, offset, length } = item ?? { file: '', offset: 0, length: 0 };
  return Buffer.from(save.files.get(file)?.subarray(offset, offset + length) ?? []).toString('hex');
}

const MODEL = 'mp_rank_00_model_states.pt';
const RANK_0 = 'bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt';
const RANK_1 = 'bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt';

function copyOf(save: MemorySave, from: string, to: string): void {
  save.edit(to, () => Uint8Array.from(save.files.get(from) ?? []));
}

describe('a sound save of DeepSpeed', () => {
  it.each<[what: string, path: string, want: { format: string; facts: object }, tensors: readonly string[]]>([
    [
      'of stage 1 has weights in bfloat16, and their float32 copies in parts of both ranks',
      'zero1/global_step2',
      {
        format: 'deepspeed',
        facts: {
          step: 2,
          engineRelease: 'deepspeed 0.19.8',
          optimizerSharding: 'zero1',
          worldSize: 2,
          degrees: { dataParallelDegree: 2, tensorParallelDegree: 1, pipelineParallelDegree: 1 },
          holds: { optimizer: true, scheduler: true, randomStates: false, dataLoader: false },
        },
      },
      [
        'module.first.weight bfloat16 parameter [3,5] 1',
        'module.scale float32 other [2] 1',
        'fp32.first.weight float32 master [15] 2',
        'exp_avg.first.weight float32 moment [15] 2',
      ],
    ],
    [
      'of stage 3 has no weights but the float32 ones, each divided among both ranks',
      'zero3/global_step2',
      { format: 'deepspeed', facts: { step: 2, optimizerSharding: 'zero3' } },
      [
        'module.scale float32 other [2] 1',
        'fp32.first.bias float32 master [3] 2',
        'exp_avg_sq.second.weight float32 moment [6] 2',
      ],
    ],
    [
      'that was converted from stage 1 has whole tensors, with their shapes and steps',
      'zero1/global_step2_universal',
      { format: 'deepspeed-universal', facts: { step: 2, optimizerSharding: 'universal' } },
      ['fp32.first.weight float32 master [3,5] 1', 'step.first.weight float32 other [] 1'],
    ],
    [
      'that was converted from stage 3 has flat tensors, and no steps',
      'zero3/global_step2_universal',
      { format: 'deepspeed-universal', facts: { step: 2, optimizerSharding: 'universal' } },
      ['fp32.first.weight float32 master [15] 1'],
    ],
    [
      'of a pipeline has layers in files of their own, and the copies of each stage',
      'pipeline/global_step2',
      { format: 'deepspeed', facts: { worldSize: 2, degrees: { dataParallelDegree: 1, pipelineParallelDegree: 2 } } },
      ['layer_00.weight float32 parameter [3,5] 1', 'mp_rank_01.fp32.2.weight float32 master [6] 1'],
    ],
    ['in a folder of saves is the one that latest names', 'zero1', { format: 'deepspeed', facts: { step: 2 } }, []],
  ])('%s', (_what, path, { format, facts }, tensors) => {
    const found = look(fixture(`${SAVES}/${path}`));
    expect(found).toMatchObject({ format, verdict: 'sound', findings: [], state: { facts } });
    const lines = found.state?.tensors.map(
      ({ key, dtype, kind, shape, chunks }) =>
        `${key} ${dtype} ${kind ?? ''} [${shape.join()}] ${String(chunks.length)}`,
    );
    expect(lines).toEqual(expect.arrayContaining([...tensors]));
  });

  it.each([
    ['of stage 1', 'zero1', 'global_step2'],
    ['of stage 3', 'zero3', 'global_step2'],
    ['that was converted from stage 1', 'zero1', 'global_step2_universal'],
    ['that was converted from stage 3', 'zero3', 'global_step2_universal'],
  ] as const)('%s has its float32 copies where DeepSpeed finds them', (_what, stage, tag) => {
    const save = fixture(`${SAVES}/${stage}/${tag}`);
    const masters = look(save, 'V1').state?.tensors.filter(
      ({ key }) => key.startsWith('fp32.') && key !== 'fp32.scale',
    );
    const found = masters?.map(({ key, chunks }) => [
      key.slice('fp32.'.length),
      chunks.map(({ item }) => hexOf(save, item)).join(''),
    ]);
    const { scale: _scale, ...joined } = JOINED[stage];
    expect(Object.fromEntries(found ?? [])).toEqual(joined);
  });
});

const DAMAGES: Damage[] = [
  [
    'without the file of a rank is incomplete',
    ['incomplete', 'V1'],
    /File bf16_zero_pp_rank_1_mp_rank_00_optim_states\.pt is not there; 2 ranks of data parallelism and 1 of the model saved/,
    (save) => save.files.delete(RANK_1),
  ],
  [
    'with the file of a stray rank in place of one is incomplete',
    ['incomplete', 'V1'],
    /File bf16_zero_pp_rank_1_mp_rank_00_optim_states\.pt is not there/,
    (save) => {
      copyOf(save, RANK_1, RANK_1.replace('rank_1', 'rank_7'));
      save.files.delete(RANK_1);
    },
  ],
  [
    'with the file of a stray rank beside the others is suspect',
    ['suspect', 'V1'],
    /1 files, such as bf16_zero_pp_rank_7_mp_rank_00_optim_states\.pt, are of ranks that this save does not have/,
    (save) => copyOf(save, RANK_1, RANK_1.replace('rank_1', 'rank_7')),
  ],
  [
    'without all optimizer states is incomplete: its model states say that ranks divided them',
    ['incomplete', 'V1'],
    /File (bf16_)?zero_pp_rank_0_mp_rank_00_optim_states\.pt is not there/,
    (save) => [RANK_0, RANK_1].forEach((path) => save.files.delete(path)),
  ],
  [
    'without model states is incomplete',
    ['incomplete', 'V0'],
    /has no file of model states/,
    (save) => save.files.delete(MODEL),
  ],
  [
    'with a cut file is damaged',
    ['damaged', 'V1'],
    /File bf16_zero_pp_rank_1_.* it is cut/,
    (save) => save.edit(RANK_1, (bytes) => bytes.subarray(0, -100)),
  ],
  [
    'with an empty file is damaged',
    ['damaged', 'V1'],
    /File mp_rank_00_model_states\.pt does not begin as a file of torch\.save does/,
    (save) => save.edit(MODEL, () => new Uint8Array()),
  ],
  [
    'with a link in place of a file is damaged',
    ['damaged', 'V1'],
    /File bf16_zero_pp_rank_1_.* is a link, which is not followed/,
    (save) => save.links.add(RANK_1),
  ],
  [
    'with a flipped bit is damaged',
    ['damaged', 'V3'],
    /File bf16_zero_pp_rank_1_.* has other bytes in data\/\d than were saved/,
    (save) => flipIn(save, 'fp32.first.bias'),
  ],
  [
    'whose model states are of another step is suspect',
    ['suspect', 'V1'],
    /The optimizer made 2 steps and the model 9, 0 of them skipped/,
    (save) => save.edit(MODEL, (bytes) => repickled(bytes, replaced('global_stepsqNK\x02', 'global_stepsqNK\x09'))),
  ],
  [
    'where one rank is of another step is damaged',
    ['damaged', 'V1'],
    /Files of optimizer states are of different steps: 2 \(.*rank_0.*\), 3 \(.*rank_1/,
    (save) =>
      save.edit(RANK_1, (bytes) =>
        Uint8Array.from(
          Buffer.from(Buffer.from(bytes).toString('latin1').replace('\x00\x00\x00\x40', '\x00\x00\x40\x40'), 'latin1'),
        ),
      ),
  ],
  [
    'whose float32 copies are of another dtype is damaged',
    ['damaged', 'V1'],
    /holds (the float32 copy of first\.weight|\w+\.first\.weight) as float16/,
    (save) => save.edit(RANK_1, (bytes) => repickled(bytes, replaced('ctorch\nFloatStorage', 'ctorch\nHalfStorage'))),
  ],
  [
    'where one rank holds less of a parameter is damaged',
    ['damaged', 'V1'],
    /Tensor (fp32|exp_avg)\.first\.weight lacks 1 of its 15 elements/,
    (save) => save.edit(RANK_1, (bytes) => repickled(bytes, (pickle) => pickle.replace(/(numelq.)K\x03/, '$1K\x02'))),
  ],
  [
    'where one file is of fewer ranks is damaged',
    ['damaged', 'V1'],
    /is one of 4 parts, and 2 ranks of data parallelism saved/,
    (save) =>
      save.edit(RANK_1, (bytes) =>
        repickled(bytes, (pickle) => pickle.replace(/(partition_countq.\]q.)K\x02/, '$1K\x04')),
      ),
  ],
];

// Its first storage is the step that the optimizer counted.
DAMAGES.push([
  'whose step has no bytes is damaged',
  ['damaged', 'V1'],
  /File bf16_zero_pp_rank_1_.* has no record data\/9 for step/,
  (save) =>
    save.edit(RANK_1, (bytes) => repickled(bytes, (pickle) => pickle.replace('X\x01\0\0\x000', 'X\x01\0\0\x009'))),
]);

DAMAGES.push([
  'that says more ranks than any training has is damaged',
  ['damaged', 'V1'],
  /is one of 2 parts, and 2147483647 ranks of data parallelism saved/,
  (save) =>
    save.edit(MODEL, (bytes) =>
      repickled(bytes, (pickle) => pickle.replace(/(dp_world_sizeq.)K\x02/s, '$1J\xff\xff\xff\x7f')),
    ),
]);

DAMAGES.push([
  'whose ranks agree on another dtype of float32 copies is damaged',
  ['damaged', 'V1'],
  /File bf16_zero_pp_rank_0_.* holds the float32 copy of first\.weight as float16/,
  (save) => {
    for (const path of [RANK_0, RANK_1])
      save.edit(path, (bytes) => repickled(bytes, replaced('ctorch\nFloatStorage', 'ctorch\nHalfStorage')));
  },
]);

const DAMAGES_OF_STAGE_3: readonly Damage[] = [
  [
    'whose ranks divide parameters within groups is not said to be damaged',
    ['unverifiable', 'V1'],
    /Ranks divide parameters within groups of ranks/,
    (save) => {
      for (const rank of [0, 1])
        save.edit(`zero_pp_rank_${String(rank)}_mp_rank_00_optim_states.pt`, (bytes) =>
          repickled(bytes, (pickle) =>
            pickle.replace(/X"\0\0\0stage3_param_persistence_threshold(q.)K\0/, 'X\x0f\0\0\0mics_shard_size$1K\x02'),
          ),
        );
    },
  ],
  [
    'without the model states of a rank is incomplete',
    ['incomplete', 'V1'],
    /File zero_pp_rank_1_mp_rank_00_model_states\.pt is not there/,
    (save) => save.files.delete('zero_pp_rank_1_mp_rank_00_model_states.pt'),
  ],
  [
    'whose ranks hold fewer elements than the parameters have is damaged',
    ['damaged', 'V1'],
    /File zero_pp_rank_1_.*optim_states\.pt holds 12 elements of \w+, too few for the parameters up to second\.weight/,
    (save) =>
      save.edit('zero_pp_rank_1_mp_rank_00_optim_states.pt', (bytes) =>
        repickled(bytes, (pickle) => pickle.replaceAll('K\x0d\x85', 'K\x0c\x85')),
      ),
  ],
  [
    'whose ranks hold more elements than the parameters have is damaged',
    ['damaged', 'V1'],
    /holds 13 elements of \w+, and the parameters need 11/,
    (save) => {
      for (const rank of [0, 1])
        save.edit(`zero_pp_rank_${String(rank)}_mp_rank_00_model_states.pt`, (bytes) =>
          repickled(bytes, replaced('K\x03K\x05\x86', 'K\x03K\x04\x86')),
        );
    },
  ],
];

const DAMAGES_OF_PIPELINE: readonly Damage[] = [
  [
    'without the file of a layer is incomplete',
    ['incomplete', 'V1'],
    /Layer 2 has no file, and its parameters are trained/,
    (save) => save.files.delete('layer_02-model_states.pt'),
  ],
  [
    'without the model states of a stage is incomplete',
    ['incomplete', 'V1'],
    /File mp_rank_01_model_states\.pt is not there; 1 ranks of data parallelism and 2 of the model saved/,
    (save) => save.files.delete('mp_rank_01_model_states.pt'),
  ],
  [
    'without the optimizer states of a stage is incomplete',
    ['incomplete', 'V1'],
    /File zero_pp_rank_0_mp_rank_01_optim_states\.pt is not there/,
    (save) => save.files.delete('zero_pp_rank_0_mp_rank_01_optim_states.pt'),
  ],
  [
    'whose stages are of different steps is damaged',
    ['damaged', 'V1'],
    /Files of model states disagree on the step: 2 \(.*\), 9 \(/,
    (save) =>
      save.edit('mp_rank_01_model_states.pt', (bytes) =>
        repickled(bytes, (pickle) => pickle.replace(/(global_stepsq.)K\x02/s, '$1K\x09')),
      ),
  ],
  [
    'with a flipped bit in a layer is damaged',
    ['damaged', 'V3'],
    /File layer_00-model_states\.pt has other bytes/,
    (save) => flipIn(save, 'layer_00.weight'),
  ],
];

describe('a save of DeepSpeed with experts', () => {
  const EXPERTS = `${SAVES}/experts/global_step2`;

  it('is not said to be damaged, though ranks give several experts one name', () => {
    const found = look(fixture(EXPERTS));
    expect(found.verdict).toBe('unverifiable');
    const keys = found.state?.tensors.map(({ key }) => key);
    expect(keys).toEqual(
      expect.arrayContaining([
        'module.experts.deepspeed_moe.experts.deepspeed_experts.3.weight',
        'zero_pp_rank_1.fp32.experts.deepspeed_moe.experts.deepspeed_experts.0.bias',
      ]),
    );
  });

  it.each([1, 3])('is incomplete without expert %i', (expert) => {
    const save = fixture(EXPERTS);
    save.files.delete(`layer_0_expert_${String(expert)}_mp_rank_00_model_states.pt`);
    expect(look(save).findings).toContainEqual({
      level: 'V1',
      kind: 'incomplete',
      sentence: 'Layer 0 of model rank 0 has files of 3 of 4 experts.',
    });
  });
});

describe.each<[what: string, path: string, damages: readonly Damage[]]>([
  ['a save of DeepSpeed', 'zero1/global_step2', DAMAGES],
  ['a save of stage 3', 'zero3/global_step2', DAMAGES_OF_STAGE_3],
  ['a save of a pipeline', 'pipeline/global_step2', DAMAGES_OF_PIPELINE],
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
