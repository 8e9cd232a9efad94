import type { TrainingJobSpecInput } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { renderEngine } from './index.ts';
import { withRankStarter } from './rank-starter.ts';
import { literally, plainly, type RenderedEngine } from './rendering.ts';

function engine(more: Partial<TrainingJobSpecInput['engine']> = {}): TrainingJobSpecInput['engine'] {
  return { name: 'command', image: 'any', command: ['python3', 'train.py'], ...more };
}

describe('ranks that another program starts', () => {
  it.each([
    [
      'torchrun',
      'torchrun --nnodes=$(GROUP_WORLD_SIZE) --nproc-per-node=$(LOCAL_WORLD_SIZE) --node-rank=$(GROUP_RANK) --master-addr=$(MASTER_ADDR) --master-port=$(MASTER_PORT) --max-restarts=0 --no-python python3 train.py --fast',
    ],
    [
      'ft_launcher',
      'ft_launcher --nnodes=$(GROUP_WORLD_SIZE) --nproc-per-node=$(LOCAL_WORLD_SIZE) --node-rank=$(GROUP_RANK) --rdzv-backend=c10d --rdzv-endpoint=$(MASTER_ADDR):$(MASTER_PORT) --max-restarts=0 --no-python python3 train.py --fast',
    ],
    ['launcher', 'python3 train.py --fast'],
  ] as const)('are those of %s', (startedBy, want) => {
    const rendered = renderEngine(aJobSpec({ engine: engine({ startedBy, args: ['--fast'] }) }));
    expect(rendered).toMatchObject({ kind: 'rendered', startedBy, command: want.split(' ') });
  });

  it.each<[string, Partial<TrainingJobSpecInput['engine']>, object]>([
    [
      'are not started by two',
      { startedBy: 'torchrun', command: ['/opt/bin/torchrun', '--nproc-per-node=8', 'train.py'] },
      {
        rule: 'ranks-have-one-starter',
        why: 'engine.command begins with torchrun, and engine.startedBy has torchrun start the ranks',
      },
    ],
    [
      'are not started by two, be it as a module',
      { startedBy: 'ft_launcher', command: ['python3.12', '-u', '-m', 'torch.distributed.run', 'train.py'] },
      { rule: 'ranks-have-one-starter', why: /^engine.command begins with torch.distributed.run/ },
    ],
    [
      'are not started again beside their launcher',
      { command: ['torchrun', '--max_restarts', '3', 'train.py'] },
      { rule: 'ranks-have-one-starter', why: /\(--max-restarts 3\)/ },
    ],
    [
      'take no options of their starter',
      { startedBy: 'torchrun', env: [{ name: 'PET_MAX_RESTARTS', value: '3' }] },
      {
        rule: 'options-of-the-starter-are-rendered',
        field: 'engine.env',
        why: /^PET_MAX_RESTARTS is an option of torchrun/,
      },
    ],
    [
      'are not started again by a torchrun of the user, by the beginning of its option',
      { command: ['torchrun', '--max-restart=3', 'train.py'] },
      { rule: 'ranks-have-one-starter', why: /\(--max-restarts 3\)/ },
    ],
    [
      'are not started again by a torchrun of the user, by its variable',
      { command: ['torchrun', 'train.py'], env: [{ name: 'PET_MAX_RESTARTS', value: '3' }] },
      { rule: 'options-of-the-starter-are-rendered', field: 'engine.env', why: /an option of torchrun/ },
    ],
    [
      'are not started by two, be the module written without a space',
      { startedBy: 'torchrun', command: ['python3', '-mtorch.distributed.run', 'train.py'] },
      { rule: 'ranks-have-one-starter' },
    ],
    [
      'are named by their launcher',
      { env: [{ name: 'WORLD_SIZE', value: '1' }] },
      { rule: 'ranks-are-named-by-their-launcher', field: 'engine.env', why: /^WORLD_SIZE is given to each rank/ },
    ],
  ])('%s', (_sentence, more, { why, ...want }: { why?: string | RegExp }) => {
    const rendered = renderEngine(aJobSpec({ engine: engine(more) }));
    expect(rendered).toMatchObject({ kind: 'refused', ...want });
    expect(rendered.kind === 'refused' ? rendered.why : '').toMatch(why ?? '');
  });

  it.each<[string, Partial<TrainingJobSpecInput['engine']>]>([
    ['torchrun of the user, in one rank for each pod', { command: ['torchrun', '--nproc-per-node=8', 'train.py'] }],
    ['torchrun that starts nothing again', { command: ['torchrun', '--max-restarts=0', 'train.py'] }],
    ['a module of another name', { startedBy: 'torchrun', command: ['python3', '-m', 'mine.torchrun'] }],
    ['variables where nothing reads them', { env: [{ name: 'PET_MAX_RESTARTS', value: '3' }] }],
    ['a dollar sign of the user', { startedBy: 'torchrun', args: ['$(RANK)'] }],
  ])('may have %s', (_what, more) => {
    expect(renderEngine(aJobSpec({ engine: engine(more) })).kind).toBe('rendered');
  });
});

describe('what differs from rank to rank', () => {
  const rendering = (more: Partial<RenderedEngine>): RenderedEngine => ({ ...plainly(['train'], {}), ...more });
  it.each<[string, Partial<RenderedEngine>, 'launcher' | 'torchrun', boolean]>([
    ['may be in a command of each rank', { command: ['train', '$(RANK)'] }, 'launcher', true],
    ['is not in a command of all ranks', { command: ['train', '$(RANK)'] }, 'torchrun', false],
    ['is not in arguments of a resumed start of all ranks', { resumeArgs: ['$(LOCAL_RANK)'] }, 'torchrun', false],
    ['is not in a file', { files: [{ path: 'a', text: 'x = $(LOCAL_RANK)' }] }, 'launcher', false],
    ['is not meant by text', { files: [{ path: 'a', text: literally('$(RANK)') }] }, 'launcher', true],
    ['is not the world', { files: [{ path: 'a', text: '$(WORLD_SIZE)' }] }, 'torchrun', true],
  ])('%s', (_sentence, more, startedBy, isRendered) => {
    const rendered = withRankStarter(rendering(more), { engine: { ...aJobSpec().engine, startedBy } });
    expect(rendered.kind === 'rendered').toBe(isRendered);
    if (rendered.kind === 'refused') expect(rendered).toMatchObject({ rule: 'ranks-of-a-pod-share-files' });
  });
});
