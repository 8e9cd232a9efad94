import { ENGINE_NAMES, ENGINE_RELEASES } from './engine-names.ts';
import { EngineSpec } from './engine-spec.ts';

const [newest = ''] = ENGINE_RELEASES['megatron-lm'];

const asked = (engine: object): readonly string[] =>
  EngineSpec.safeParse({ image: 'i', ...engine }).error?.issues.map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  ) ?? [];

describe('what is said of an engine', () => {
  it.each<[string, object]>([
    ['reference, as older jobs name it', { name: 'reference', args: ['--x'], env: [{ name: 'A', value: 'b' }] }],
    ['command with its program, as older jobs give it', { name: 'command', command: ['train'] }],
    ['megatron-lm with nothing else', { name: 'megatron-lm' }],
    ['megatron-lm with a program of the user’s', { name: 'megatron-lm', command: ['python3', 'pretrain_mine.py'] }],
    ['a release that is known', { name: 'megatron-lm', release: newest }],
    ['a recipe of torchtitan', { name: 'torchtitan', recipe: 'mine.configs:small' }],
    ['a recipe of megatron-bridge', { name: 'megatron-bridge', recipe: 'megatron.bridge.recipes.llama:llama3_8b' }],
    ['deepspeed with its program', { name: 'deepspeed', command: ['python3', 'train.py'], startedBy: 'torchrun' }],
    ['command under torchrun', { name: 'command', command: ['x'], startedBy: 'ft_launcher' }],
    [
      'custom with lines and checkpoints of another engine',
      { name: 'custom', command: ['x'], stepLines: 'megatron', checkpointFormat: 'dcp' },
    ],
  ])('%s is taken', (_what, engine) => {
    expect(asked(engine)).toEqual([]);
  });

  it.each<[string, object, RegExp]>([
    ['command without a program', { name: 'command' }, /^command: .*give the program of one rank$/],
    ['custom without a program', { name: 'custom' }, /^command: command is required by engines command, custom/],
    ['deepspeed without a program', { name: 'deepspeed' }, /^command: command is required/],
    ['hugging-face without a program', { name: 'hugging-face' }, /^command: command is required/],
    [
      'a program of reference',
      { name: 'reference', command: ['x'] },
      /^command: reference starts its own program; leave command out/,
    ],
    [
      'a recipe of megatron-lm',
      { name: 'megatron-lm', recipe: 'a:b' },
      /^recipe: recipe is for engines torchtitan, megatron-bridge; leave it out$/,
    ],
    ['a recipe that is a path', { name: 'torchtitan', recipe: 'a/b.py' }, /^recipe: must be module:function$/],
    ['a release of reference', { name: 'reference', release: '1' }, /^release: release is for engines megatron-lm, /],
    [
      'a release of a program',
      { name: 'command', command: ['x'], release: '1' },
      /^release: .*the image decides what runs$/,
    ],
    [
      'a release that nobody knows',
      { name: 'megatron-lm', release: 'core_v9' },
      /^release: release of megatron-lm is one of core_v[^;]*; name the nearest to the one in your image/,
    ],
    ['a release of another engine', { name: 'torchtitan', release: newest }, /^release: release of torchtitan/],
    [
      'who starts reference',
      { name: 'reference', startedBy: 'torchrun' },
      /^startedBy: reference is started rank by rank/,
    ],
    [
      'lines of megatron-lm',
      { name: 'megatron-lm', stepLines: 'deepspeed' },
      /^stepLines: .*lines of others are known$/,
    ],
    ['what torchtitan saves', { name: 'torchtitan', checkpointFormat: 'dcp' }, /^checkpointFormat: .*command, custom;/],
    ['a word too long', { name: 'megatron-lm', release: 'x'.repeat(65) }, /^release: /],
  ])('%s is refused, and what to do is said', (_what, engine, sentence) => {
    expect(asked(engine).join('\n')).toMatch(sentence);
  });

  it('every release that is known is taken', () => {
    const refused = ENGINE_NAMES.flatMap((name) =>
      ENGINE_RELEASES[name].flatMap((release) => asked({ name, release, command: ['x'] })),
    );
    expect(refused).toEqual([]);
  });
});
