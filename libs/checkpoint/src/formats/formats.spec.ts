import { ENGINE_CHECKPOINTS, ENGINE_NAMES, type EngineName } from '@coxswain/api-types';
import { ENGINE_CAPABILITIES } from '@coxswain/layout';
import { detectFormat, engineFormat, formatNamed, megatronFormat, savedFormat, startFormats } from './formats.ts';

describe('a directory is recognised', () => {
  it.each<[string, string | undefined, readonly string[]]>([
    ['as DCP by its index', 'dcp', ['.metadata', '__0_0.distcp']],
    [
      'as torch_dist by Megatron’s index beside that of DCP',
      'torch_dist',
      ['.metadata', 'metadata.json', '__0_0.distcp'],
    ],
    ['as Megatron’s legacy format by its grid of files', 'legacy', ['mp_rank_00_001/model_optim_rng.pt']],
    ['as DeepSpeed’s by its model states', 'deepspeed', ['mp_rank_00_model_states.pt']],
    ['as the Trainer’s by its state, beside weights', 'hugging-face', ['model.safetensors', 'trainer_state.json']],
    ['as safetensors in one file', 'safetensors', ['model.safetensors', 'config.json']],
    ['as safetensors with an index', 'safetensors', ['model.safetensors.index.json']],
    ['as our own by its manifest', 'sleeper', ['manifest.json', 'rank-00000.bin']],
    ['as nothing while DCP still writes its index', undefined, ['.metadata.tmp', '__0_0.distcp']],
  ])('%s', (_sentence, want, paths) => {
    expect(detectFormat(new Set(paths))?.names[0]).toBe(want);
  });
});

describe('a format', () => {
  it('has no name that another one has', () => {
    const owners = [
      'dcp',
      'torch_dcp',
      'torch_dist',
      'fsdp_dtensor',
      'legacy',
      'deepspeed',
      'hugging-face',
      'safetensors',
    ];
    expect(owners.map((name) => formatNamed(name)?.names.includes(name))).toEqual(owners.map(() => true));
    expect(formatNamed('mine')).toBeUndefined();
  });

  it.each(ENGINE_CHECKPOINTS)('that a job can name is found under its name: %s', (name) => {
    expect(formatNamed(name)).toBe(engineFormat(name));
  });
});

describe('an engine', () => {
  it.each<[EngineName, string | undefined, readonly string[]]>([
    ['torchtitan', 'dcp', ['safetensors', 'dcp']],
    ['megatron-lm', 'torch_dist', ['torch_dist']],
    ['megatron-bridge', 'torch_dist', ['torch_dist']],
    ['deepspeed', 'deepspeed', []],
    ['hugging-face', 'hugging-face', []],
    ['reference', undefined, []],
    ['command', undefined, []],
    ['custom', undefined, []],
  ])('%s saves %s and starts from %j', (engine, saved, started) => {
    expect([savedFormat(engine), startFormats(engine)]).toEqual([saved, started]);
  });

  it.each(ENGINE_NAMES)('%s saves what its layouts may name', (engine) => {
    const { checkpointFormats } = ENGINE_CAPABILITIES[engine];
    const saved = savedFormat(engine);
    expect(checkpointFormats.length === 0 || saved === undefined || checkpointFormats.includes(saved as never)).toBe(
      true,
    );
  });

  it('Megatron-LM has an option for each format that its layouts may name', () => {
    const options = ENGINE_CAPABILITIES['megatron-lm'].checkpointFormats.map((name) => megatronFormat(name)?.option);
    expect(options).toEqual(['torch_dist', 'torch_dcp', 'fsdp_dtensor', 'torch']);
    expect(megatronFormat('deepspeed')).toBeUndefined();
  });
});
