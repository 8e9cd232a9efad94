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
    ['accelerate goes', ['accelerate', 'launch', '--num_processes', '8', 'a.py'], ['python3', '-u', 'a.py']],
    [
      'a module that accelerate starts',
      ['accelerate', 'launch', '-m', 'a.train', '--x'],
      ['python3', '-u', '-m', 'a.train', '--x'],
    ],
    ['deepspeed goes', ['deepspeed', '--num_gpus', '8', 'a.py', '--x'], ['python3', '-u', 'a.py', '--x']],
    ['mpirun in a script goes', ['bash', '-c', 'cd /x && mpirun -np 8 -x A=1 python a.py'], ['python', 'a.py']],
    [
      'srun and what it starts go',
      ['srun', '-l', '-N2', '--mpi=pmix', 'numactl', '--all', 'torchrun', 'a.py'],
      ['python3', '-u', 'a.py'],
    ],
    [
      'a container goes',
      ['singularity', 'exec', '--nv', '-B', '/x', 'i.sif', 'torchrun', 'a.py'],
      ['python3', '-u', 'a.py'],
    ],
    [
      'what is installed beside torchrun goes',
      ['bash', '-c', 'pip install x && torchrun a.py'],
      ['python3', '-u', 'a.py'],
    ],
    ['a pipe behind torchrun goes', ['bash', '-c', 'torchrun a.py | tee log'], ['python3', '-u', 'a.py']],
    [
      'the address of the rendezvous goes from a script',
      ['bash', '-c', 'export MASTER_ADDR=$(hostname)\ntorchrun a.py'],
      ['python3', '-u', 'a.py'],
    ],
    [
      'variables of the script are replaced',
      ['bash', '-c', 'TP=8\ntorchrun a.py --tp $TP'],
      ['python3', '-u', 'a.py', '--tp', '8'],
    ],
    [
      'arrays of the script are replaced, and what only the pod knows is left to a shell',
      ['bash', '-c', 'A=(--tp 8)\nA+=(--out "$OUT" --rank $SLURM_PROCID)\ntorchrun a.py "${A[@]}"'],
      ['bash', '-c', 'exec python3 -u a.py --tp 8 --out "$OUT" --rank "$RANK"'],
    ],
    ['an environment that uv chooses stays', ['uv', 'run', 'torchrun', 'a.py'], ['uv', 'run', 'python3', '-u', 'a.py']],
    [
      'rendezvous options need no value',
      ['torchrun', '--rdzv_endpoint', '--nnodes', '2', '--rdzv_id', 'a.py'],
      ['python3', '-u', 'a.py'],
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
    ['torchtune', ['tune', 'run', 'full'], /with tune run, /],
    ['torchrun in a loop', ['bash', '-c', 'for i in 1 2; do torchrun a.py; done'], /launcher in a loop/],
    ['torchrun behind another program', ['wrap', 'torchrun', 'a.py'], /starts torchrun by wrap, .*Begin with torchrun/],
    ['an option that is not known', ['torchrun', '--what', 'a.py'], /option --what is not known/],
    ['an option whose value is missing', ['torchrun', '--nnodes'], /--nnodes has no value/],
    ['no program', ['torchrun', '--nnodes', '2'], /no program to start/],
    ['a key of every object', ['torchrun', '--constructor', 'a.py'], /--constructor is not known/],
  ])('%s is refused', (_what, words, want) => {
    expect(() => rankProgram(words, WHERE)).toThrow(want);
  });

  it('what torchrun was told is kept, and what means nothing to a job is named', () => {
    const { launcher: torchrun } = rankProgram(
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

describe('what a launcher says of the gang', () => {
  it.each<[string, readonly string[], Readonly<Record<string, string>>]>([
    [
      'accelerate',
      ['accelerate', 'launch', '--num_machines', '2', '--num_processes=16', 'a.py'],
      { nodes: '2', processes: '16' },
    ],
    ['deepspeed', ['deepspeed', '--num_nodes', '2', '--num_gpus', '8', 'a.py'], { nodes: '2', processesPerNode: '8' }],
    [
      'mpirun',
      ['mpirun', '-np', '16', '--map-by', 'ppr:8:node', 'python', 'a.py'],
      { processes: '16', processesPerNode: '8' },
    ],
    ['srun', ['srun', '-N', '2', '--ntasks-per-node=8', 'python', 'a.py'], { nodes: '2', processesPerNode: '8' }],
    [
      'torchrun below srun, whose tasks are nodes',
      ['srun', '-N2', '-n', '2', 'torchrun', '--nproc_per_node', '8', 'a.py'],
      { nodes: '2', processesPerNode: '8' },
    ],
  ])('%s', (_launcher, words, want) => {
    const { launcher } = rankProgram(words, WHERE);
    const said = Object.entries(launcher ?? {}).flatMap(([key, value]) =>
      typeof value === 'object' && 'text' in value ? [[key, value.text]] : [],
    );
    expect(Object.fromEntries(said)).toEqual(want);
  });

  it('the variables of accelerate launch are those of the job', () => {
    const words = [
      'accelerate',
      'launch',
      '--mixed_precision',
      'bf16',
      '--use_fsdp',
      '--fsdp_sharding_strategy',
      'FULL_SHARD',
      'a.py',
    ];
    expect(rankProgram(words, WHERE).env.map(({ name, value }) => `${name}=${value}`)).toEqual([
      'ACCELERATE_MIXED_PRECISION=bf16',
      'ACCELERATE_USE_FSDP=true',
      'FSDP_SHARDING_STRATEGY=FULL_SHARD',
    ]);
  });

  it.each<[string, string, RegExp]>([
    [
      'a file that the script writes',
      'cat > c.json <<EOF\n{}\nEOF\ntorchrun a.py | cat',
      /put the file into the image/,
    ],
    ['what it installs', 'pip install x\ntorchrun a.py', /see that the image has it/],
    [
      'what it does in a condition',
      'A=(--x)\nif [ 1 ]; then A+=(--y); fi\ntorchrun a.py ${A[@]}',
      /see that engine.command and layout/,
    ],
    ['a variable that it does not set', 'A=1\ntorchrun a.py --x $NOWHERE', /set NOWHERE in engine.env/],
  ])('%s is a line for the user', (_what, script, want) => {
    const { notes } = rankProgram(['bash', '-c', script], WHERE);
    expect(notes.map(({ todo }) => todo)).toContainEqual(expect.stringMatching(want));
  });
});
