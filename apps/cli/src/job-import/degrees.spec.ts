import { degreesOfVariables, spelledDegrees } from './degree-spellings.ts';
import { readLayout, type ReadLayout } from './degrees.ts';
import { importedEngine } from './imported-engine.ts';

const layoutOf = (line: string, ranks = 64): ReadLayout => readLayout(spelledDegrees(line.split(' ')), ranks);

describe('degrees', () => {
  it.each<[string, string, object]>([
    [
      'Megatron-LM',
      '--tensor-model-parallel-size 4 --pipeline-model-parallel-size=8',
      { tensorParallelDegree: 4, pipelineParallelDegree: 8, dataParallelDegree: 2 },
    ],
    [
      'Megatron-Bridge',
      '--tensor_model_parallel_size 4 --context_parallel_size 2',
      { tensorParallelDegree: 4, contextParallelDegree: 2, dataParallelDegree: 8 },
    ],
    [
      'NeMo by Hydra',
      'model.tensor_model_parallel_size=4 ++model.pipeline_model_parallel_size=8',
      { tensorParallelDegree: 4, pipelineParallelDegree: 8, dataParallelDegree: 2 },
    ],
    [
      'TorchTitan',
      '--parallelism.tensor_parallel_degree 2 --parallelism.data_parallel_replicate_degree 4',
      {
        tensorParallelDegree: 2,
        dataParallelDegree: 32,
        dataParallelShardDegree: 8,
        states: { zeroStage: 3, implementation: 'fsdp2' },
      },
    ],
    [
      'short names',
      '--tp 2 --pp 2 --cp 2',
      { tensorParallelDegree: 2, pipelineParallelDegree: 2, contextParallelDegree: 2, dataParallelDegree: 8 },
    ],
    [
      'experts',
      '--tensor-model-parallel-size 2 --expert-model-parallel-size 4',
      { tensorParallelDegree: 2, dataParallelDegree: 32, expert: { expertParallelDegree: 4 } },
    ],
    ['ZeRO', '--zero_stage 2', { dataParallelDegree: 64, states: { zeroStage: 2, implementation: 'deepspeed' } }],
    [
      'FSDP',
      '--fsdp_sharding_strategy SHARD_GRAD_OP',
      { dataParallelDegree: 64, states: { zeroStage: 2, implementation: 'fsdp2' } },
    ],
    [
      'the Trainer’s FSDP',
      '--fsdp full_shard,auto_wrap',
      { dataParallelDegree: 64, states: { zeroStage: 3, implementation: 'fsdp2' } },
    ],
    ['the last of two', '--tp 4 --tp 8', { tensorParallelDegree: 8, dataParallelDegree: 8 }],
    ['none', '--lr 1e-4 tp', { dataParallelDegree: 64 }],
    ['a switch that is off', '--tp 2 --sequence_parallel false', { tensorParallelDegree: 2, dataParallelDegree: 32 }],
    [
      'what the program chooses',
      '--dp_shard_size -1 --ep 1',
      { dataParallelDegree: 64, states: { zeroStage: 3, implementation: 'fsdp2' } },
    ],
  ])('of %s are read', (_program, line, want) => {
    const { layout, problems } = layoutOf(line);
    expect([layout, problems]).toEqual([want, []]);
  });

  it.each<[string, string, number, RegExp]>([
    [
      'do not divide the ranks',
      '--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4',
      24,
      /is 32, which does not divide the 24 ranks/,
    ],
    ['cannot be read', '--tensor-model-parallel-size $TP', 64, /"\$TP" cannot be read/],
    ['contradict the ranks', '--tp 8 --dp 16', 64, /leave 8 data-parallel ranks/],
    ['break a rule', '--tp 2 --ep 3 --etp 1', 64, /expertParallelDegree 3/],
  ])('that %s are a line, and never a silent dataParallelDegree', (_what, line, ranks, want) => {
    const { layout, problems } = layoutOf(line, ranks);
    expect(problems.map(({ why }) => why)).toContainEqual(expect.stringMatching(want));
    expect(problems.every(({ todo }) => todo !== '')).toBe(true);
    expect(layout.expert).toBeUndefined();
  });

  it('of variables count where they are numbers', () => {
    const spelled = degreesOfVariables([
      { name: 'TP', value: '8' },
      { name: 'EP', value: 'many' },
      { name: 'FSDP', value: '1' },
    ]);
    expect(readLayout(spelled, 16).layout).toEqual({ tensorParallelDegree: 8, dataParallelDegree: 2 });
  });
});

describe('the engine of an imported program', () => {
  const engineOf = (...words: readonly string[]): ReturnType<typeof importedEngine> =>
    importedEngine({ words, variables: [{ name: 'SIZE', value: '4' }], ranks: 16, from: 'command' });

  it('is custom where the layout says more than degrees, and its braces stay braces', () => {
    const { engine } = engineOf('python3', 'a.py', '--ep', '4', '--x', '{layout}');
    expect([engine.name, engine.command?.at(-1)]).toEqual(['custom', '{{layout}}']);
  });

  it('has its further words as args', () => {
    const words = Array.from({ length: 100 }, (_, index) => `--x${index}`);
    const { engine } = engineOf('python3', ...words);
    expect([engine.command?.length, engine.args?.length]).toEqual([64, 37]);
  });

  it('reads a script, with variables that the job has', () => {
    expect(engineOf('bash', '-c', 'exec python3 a.py --tp $SIZE').layout).toEqual({
      tensorParallelDegree: 4,
      dataParallelDegree: 4,
    });
  });

  it.each<[string, string, RegExp]>([
    ['torchrun', 'os.environ["PET_NODE_RANK"]', /read GROUP_RANK instead of PET_NODE_RANK/],
    ['Slurm', 'os.environ["SLURM_PROCID"]', /read RANK instead/],
    ['Open MPI', 'int(os.getenv("OMPI_COMM_WORLD_LOCAL_RANK"))', /read LOCAL_RANK instead/],
    ['indexed Jobs', 'os.environ["JOB_COMPLETION_INDEX"]', /read GROUP_RANK instead/],
    ['Volcano', 'os.environ["VC_TASK_INDEX"]', /read GROUP_RANK instead/],
    ['a launcher script', 'os.environ.get("NNODES")', /read GROUP_WORLD_SIZE instead/],
    ['a variable without a counterpart', 'os.environ["PET_RDZV_BACKEND"]', /remove PET_RDZV_BACKEND from the program/],
  ])('names the variable of %s with its replacement', (_what, code, want) => {
    expect(engineOf('python3', '-c', code).lines.map(({ todo }) => todo)).toEqual([expect.stringMatching(want)]);
  });

  it('says that a configuration file may hold degrees', () => {
    const { lines } = engineOf('python3', 'a.py', '--deepspeed', 'zero3.json');
    expect(lines.map(({ from, todo }) => [from, todo?.includes('coxswain import zero3.json')])).toEqual([
      ['--deepspeed zero3.json', true],
    ]);
  });
});
