import { saveLocations, candidateSaves, describeIncomplete } from './engine-saves.ts';
import type { EngineFormat } from './formats/checkpoint-format.ts';

const files = (...paths: readonly string[]): readonly { readonly path: string; readonly bytes: number }[] =>
  paths.map((path) => ({ path, bytes: 7 }));

describe('saves that may be complete', () => {
  const cases: readonly (readonly [string, EngineFormat, Parameters<typeof candidateSaves>[1], readonly string[]])[] = [
    [
      'of TorchTitan are directories of steps, the lowest first, wherever it puts them',
      'dcp',
      { folder: 'checkpoint', names: ['step-10', 'step-9', 'tb', 'step-x', 'step-3.tmp'] },
      ['checkpoint/step-9', 'checkpoint/step-10'],
    ],
    [
      'of the Trainer are its checkpoints, and no other directories',
      'hugging-face',
      { folder: '', names: ['checkpoint-4', 'runs', 'checkpoint-best'] },
      ['checkpoint-4'],
    ],
    [
      'of DeepSpeed are those up to what it says is latest',
      'deepspeed',
      { folder: '', names: ['global_step3', 'global_step6', 'global_step9', 'latest'], pointer: 'global_step6\n' },
      ['global_step3', 'global_step6'],
    ],
    ['of DeepSpeed are none before it says which', 'deepspeed', { folder: '', names: ['global_step3'] }, []],
    [
      'of DeepSpeed are none where a tag of the user tells no step',
      'deepspeed',
      { folder: '', names: ['global_step3', 'mine'], pointer: 'mine' },
      [],
    ],
    [
      'of Megatron-LM are those up to its tracker, a release aside',
      'torch_dist',
      { folder: '', names: ['iter_0000010', 'iter_0000020', 'release'], pointer: '10' },
      ['iter_0000010'],
    ],
    [
      'of Megatron-LM are none where the tracker says release',
      'torch_dist',
      { folder: '', names: ['iter_0000010', 'release'], pointer: 'release' },
      [],
    ],
  ];
  it.each(cases)('%s', (_sentence, format, paths, want) => {
    expect(candidateSaves(format, paths).map(({ directory }) => directory)).toEqual(want);
  });

  it('are told with the step of their names', () => {
    expect(candidateSaves('torch_dist', { folder: '', names: ['iter_0000120'], pointer: '120' })).toEqual([
      { step: 120, directory: 'iter_0000120' },
    ]);
  });

  it('are looked for where the engine puts them', () => {
    expect(saveLocations('dcp').map(({ folder }) => folder)).toEqual(['', 'checkpoint']);
    expect(saveLocations('deepspeed')).toEqual([{ folder: '', pointer: 'latest' }]);
  });
});

describe('a save is not complete', () => {
  const trainer = ['model.safetensors', 'optimizer.pt', 'trainer_state.json'];
  const zero = (...ranks: readonly number[]): readonly string[] =>
    ranks.map((rank) => `bf16_zero_pp_rank_${rank}_mp_rank_00_optim_states.pt`);
  const cases: readonly (readonly [
    string,
    EngineFormat,
    readonly { readonly path: string; readonly bytes: number }[],
    string | undefined,
  ])[] = [
    ['of DCP without its metadata', 'dcp', files('__0_0.distcp', '.metadata.tmp'), 'it has no .metadata'],
    ['unless DCP has renamed its metadata', 'dcp', files('__0_0.distcp', '.metadata'), undefined],
    [
      'of the Trainer while another rank writes its random state',
      'hugging-face',
      files(...trainer, 'rng_state_0.pth'),
      'it has no rng_state_1.pth',
    ],
    [
      'of the Trainer without its own state',
      'hugging-face',
      files('model.safetensors', 'rng_state_0.pth', 'rng_state_1.pth'),
      'it has no trainer_state.json',
    ],
    [
      'unless the Trainer has written what each rank needs',
      'hugging-face',
      files(...trainer, 'rng_state_0.pth', 'rng_state_1.pth'),
      undefined,
    ],
    [
      'while a file of PyTorch is empty',
      'hugging-face',
      [...files(...trainer, 'rng_state_0.pth'), { path: 'rng_state_1.pth', bytes: 0 }],
      'rng_state_1.pth is empty',
    ],
    [
      'of DeepSpeed while another rank writes its optimizer states',
      'deepspeed',
      files('mp_rank_00_model_states.pt', ...zero(0)),
      'it has no bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt',
    ],
    [
      'of DeepSpeed with a file of a rank that does not train in place of one that does',
      'deepspeed',
      files('mp_rank_00_model_states.pt', ...zero(0, 7)),
      'it has no bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt',
    ],
    [
      'of DeepSpeed while another rank writes its part of the model',
      'deepspeed',
      files('zero_pp_rank_0_mp_rank_00_model_states.pt', ...zero(0, 1)),
      'it has no zero_pp_rank_1_mp_rank_00_model_states.pt',
    ],
    [
      'of DeepSpeed whose first model rank wrote nothing',
      'deepspeed',
      files('mp_rank_01_model_states.pt'),
      'it has no mp_rank_00_model_states.pt',
    ],
    [
      'unless DeepSpeed has states of every rank',
      'deepspeed',
      files('mp_rank_00_model_states.pt', ...zero(0, 1)),
      undefined,
    ],
    ['unless DeepSpeed trains without ZeRO', 'deepspeed', files('mp_rank_00_model_states.pt'), undefined],
    ['of DeepSpeed without a model', 'deepspeed', files(...zero(0, 1)), 'it has no file of model states'],
    ['of Megatron-LM without its metadata', 'torch_dist', files('__0_0.distcp'), 'it has no metadata.json'],
  ];
  it.each(cases)('%s', (_sentence, format, listed, want) => {
    expect(describeIncomplete(format, listed, 2)).toBe(want);
  });

  it('of one rank has its random state under another name', () => {
    expect(describeIncomplete('hugging-face', files(...trainer, 'rng_state.pth'), 1)).toBeUndefined();
    expect(describeIncomplete('hugging-face', files(...trainer, 'rng_state_0.pth'), 1)).toBe('it has no rng_state.pth');
  });
});
