import { rankProgram } from './program.ts';

const WHERE = 'command';

describe('the program of one rank', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['python alone stays', ['python', 'train.py', '--x'], ['python', 'train.py', '--x']],
    ['torchrun goes', ['torchrun', 'train.py', '--x'], ['python3', '-u', 'train.py', '--x']],
    ['so does its module', ['python3', '-m', 'torch.distributed.run', 'a.py'], ['python3', '-u', 'a.py']],
    [
      'and the older one',
      ['python', '-u', '-m', 'torch.distributed.launch', '--use_env', 'a.py'],
      ['python', '-u', 'a.py'],
    ],
    ['of another directory too', ['/opt/conda/bin/torchrun', 'a.py'], ['python3', '-u', 'a.py']],
    ['a module', ['torchrun', '-m', 'my.train', '-m'], ['python3', '-u', '-m', 'my.train', '-m']],
    ['no Python', ['torchrun', '--no-python', 'python3', '-c', 'print(1)'], ['python3', '-c', 'print(1)']],
    [
      'options behind "--" are the program’s',
      ['torchrun', '--', 'a.py', '--nnodes', '2'],
      ['python3', '-u', 'a.py', '--nnodes', '2'],
    ],
    [
      'a script that is torchrun alone',
      ['bash', '-c', 'torchrun --standalone a.py "b c"'],
      ['python3', '-u', 'a.py', 'b c'],
    ],
    ['a login shell', ['/bin/bash', '-lc', 'exec torchrun a.py'], ['python3', '-u', 'a.py']],
    ['several flags of the shell', ['bash', '-e', '-c', 'torchrun a.py'], ['python3', '-u', 'a.py']],
    [
      'a script that settles first',
      ['bash', '-c', 'set -e; cd /src && export A=1\ntorchrun a.py --id $JOB "it\'s"'],
      ['bash', '-c', 'set -e ; cd /src && export A=1 \n exec python3 -u a.py --id $JOB "it\'s"'],
    ],
    [
      'a word that the shell replaces stays with the shell',
      ['sh', '-c', 'torchrun a.py --out /x/$NAME'],
      ['sh', '-c', 'exec python3 -u a.py --out /x/$NAME'],
    ],
    [
      'a script without torchrun',
      ['bash', '-c', 'cd /x && python a.py | tee log'],
      ['bash', '-c', 'cd /x && python a.py | tee log'],
    ],
  ])('%s', (_what, words, want) => {
    expect(rankProgram(words, WHERE).words).toEqual(want);
  });

  it.each<[string, readonly string[], RegExp]>([
    [
      'accelerate',
      ['accelerate', 'launch', 'a.py'],
      /^command starts its ranks with accelerate launch, .*torchrun … SCRIPT/,
    ],
    ['deepspeed', ['deepspeed', 'a.py'], /with deepspeed, /],
    ['mpirun in a script', ['bash', '-c', 'cd /x && mpirun -np 8 python a.py'], /with mpirun, /],
    ['torchtune', ['tune', 'run', 'full'], /with tune run, /],
    [
      'installing beside torchrun',
      ['bash', '-c', 'pip install x && torchrun a.py'],
      /does more than start torchrun \("pip install"\)/,
    ],
    ['a pipe behind torchrun', ['bash', '-c', 'torchrun a.py | tee log'], /does more than start torchrun/],
    ['torchrun in a loop', ['bash', '-c', 'for i in 1 2; do torchrun a.py; done'], /does more than start torchrun/],
    [
      'torchrun behind another program',
      ['uv', 'run', 'torchrun', 'a.py'],
      /starts torchrun by uv, .*Begin with torchrun/,
    ],
    ['an option that is not known', ['torchrun', '--what', 'a.py'], /option --what is not known/],
    ['an option whose value is missing', ['torchrun', '--nnodes'], /--nnodes has no value/],
    ['no program', ['torchrun', '--nnodes', '2'], /no program to start/],
    ['a key of every object', ['torchrun', '--constructor', 'a.py'], /--constructor is not known/],
  ])('%s is refused', (_what, words, want) => {
    expect(() => rankProgram(words, WHERE)).toThrow(want);
  });

  it('what torchrun was told is kept, and what means nothing to a job is named', () => {
    const { torchrun } = rankProgram(
      [
        'torchrun',
        '--nnodes=1:4',
        '--nproc_per_node',
        '8',
        '--max-restarts=3',
        '--rdzv_id',
        'x',
        '-t',
        '3',
        '--standalone',
        'a.py',
      ],
      WHERE,
    );
    expect([torchrun?.nodes?.text, torchrun?.processesPerNode?.text, torchrun?.maxRestarts?.text]).toEqual([
      '1:4',
      '8',
      '3',
    ]);
    expect(torchrun?.ignored.map(({ option }) => option)).toEqual(['--rdzv_id x', '-t 3', '--standalone']);
  });
});
