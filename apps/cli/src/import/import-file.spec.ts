/** The corpus of files that people have: one of each kind, in `examples/import`. */
import { JobCreate } from '@coxswain/api-types';
import { brokenLayoutRules, engineRefusal } from '@coxswain/engines';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { importFile } from './import-file.ts';
import type { ImportedJob } from '../job-import/imported-job.ts';

const DIRECTORY = join(import.meta.dirname, '../../../../examples/import');
const textOf = (file: string): string => readFileSync(join(DIRECTORY, file), 'utf8');
const readExample = (path: string): unknown => (existsSync(join(DIRECTORY, path)) ? parse(textOf(path)) : undefined);
const read = (file: string): ImportedJob =>
  importFile(textOf(file), { file: `examples/import/${file}`, readBeside: readExample });

const FSDP = { zeroStage: 3, implementation: 'fsdp2' };

/** Each file: its layout, and fields besides. */
const CORPUS: Readonly<
  Record<string, { readonly layout: object; readonly gpusPerNode: number; readonly runtime?: string }>
> = {
  'accelerate-fsdp2.yaml': { layout: { dataParallelDegree: 16, states: FSDP }, gpusPerNode: 8 },
  'accelerate-launch.sh': { layout: { dataParallelDegree: 16, states: FSDP }, gpusPerNode: 8 },
  'accelerate.sbatch': { layout: { dataParallelDegree: 32, states: FSDP }, gpusPerNode: 8 },
  'accelerate.yaml': { layout: { dataParallelDegree: 16, states: FSDP }, gpusPerNode: 8 },
  'axolotl.yaml': {
    layout: {
      tensorParallelDegree: 2,
      contextParallelDegree: 2,
      dataParallelDegree: 2,
      dataParallelShardDegree: 2,
      states: FSDP,
    },
    gpusPerNode: 8,
  },
  'deepspeed.json': {
    layout: { dataParallelDegree: 1, states: { zeroStage: 2, implementation: 'deepspeed' } },
    gpusPerNode: 1,
  },
  'deepspeed.sbatch': {
    layout: { dataParallelDegree: 16, states: { zeroStage: 3, implementation: 'deepspeed' } },
    gpusPerNode: 8,
  },
  'gpt-neox.yml': {
    layout: {
      tensorParallelDegree: 2,
      pipelineParallelDegree: 4,
      dataParallelDegree: 1,
      states: { zeroStage: 1, implementation: 'deepspeed' },
    },
    gpusPerNode: 8,
  },
  'hyperpod-pytorch-job.yaml': { layout: { dataParallelDegree: 32, states: FSDP }, gpusPerNode: 8, runtime: 'efa-p5' },
  'indexed-job.yaml': { layout: { tensorParallelDegree: 4, dataParallelDegree: 16 }, gpusPerNode: 8 },
  'job-set.yaml': { layout: { tensorParallelDegree: 8, dataParallelDegree: 4 }, gpusPerNode: 8 },
  'llm-foundry.yaml': { layout: { dataParallelDegree: 1, states: FSDP }, gpusPerNode: 1 },
  'megatron-bridge.sbatch': {
    layout: {
      tensorParallelDegree: 2,
      dataParallelDegree: 32,
      expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 },
    },
    gpusPerNode: 8,
  },
  'megatron-apptainer.sbatch': {
    layout: {
      tensorParallelDegree: 4,
      pipelineParallelDegree: 2,
      dataParallelDegree: 4,
      sequence: { sequenceParallel: true },
      states: { zeroStage: 1, implementation: 'distributed-optimizer' },
    },
    gpusPerNode: 4,
  },
  'megatron-lm.sbatch': {
    layout: {
      tensorParallelDegree: 4,
      pipelineParallelDegree: 4,
      dataParallelDegree: 2,
      sequence: { sequenceParallel: true },
      states: { zeroStage: 1, implementation: 'distributed-optimizer' },
    },
    gpusPerNode: 8,
  },
  'mpi-job.yaml': {
    layout: { tensorParallelDegree: 8, dataParallelDegree: 2 },
    gpusPerNode: 8,
    runtime: 'rdma-shared',
  },
  'nemo.sbatch': {
    layout: { tensorParallelDegree: 4, pipelineParallelDegree: 8, dataParallelDegree: 2 },
    gpusPerNode: 8,
  },
  'pytorch-job-fsdp.yaml': {
    layout: { dataParallelDegree: 32, dataParallelShardDegree: 8, states: FSDP },
    gpusPerNode: 8,
    runtime: 'llama-8b-fsdp-pods',
  },
  'pytorch-job.yaml': { layout: { dataParallelDegree: 32 }, gpusPerNode: 8, runtime: 'finetune-pods' },
  'torchtitan.sbatch': { layout: { tensorParallelDegree: 8, dataParallelDegree: 4, states: FSDP }, gpusPerNode: 8 },
  'torchtitan.toml': {
    layout: { tensorParallelDegree: 8, pipelineParallelDegree: 2, dataParallelDegree: 1, states: FSDP },
    gpusPerNode: 8,
  },
  'train-job.yaml': {
    layout: { tensorParallelDegree: 8, dataParallelDegree: 4 },
    gpusPerNode: 8,
    runtime: 'pretrain-pods',
  },
  'volcano-job.yaml': { layout: { dataParallelDegree: 24 }, gpusPerNode: 8 },
};

describe.each(Object.entries(CORPUS))('%s', (file, want) => {
  const { job } = read(file);

  it('becomes a job with the degrees of its file', () => {
    const { layout, resources, runtimeRef } = job.spec;
    expect([layout, resources?.gpusPerNode, runtimeRef?.name]).toEqual([want.layout, want.gpusPerNode, want.runtime]);
  });

  it('is valid, and its engine renders it', () => {
    const { spec } = JobCreate.parse(job);
    const { layout } = spec;
    expect(engineRefusal(spec)).toBeUndefined();
    expect(layout === undefined ? ['no layout'] : brokenLayoutRules({ ...spec, layout })).toEqual([]);
  });
});

describe('the corpus', () => {
  it('has every file of the folder', () => {
    expect(readdirSync(DIRECTORY).toSorted()).toEqual(Object.keys(CORPUS).toSorted());
  });

  it.each<[string, string, readonly RegExp[]]>([
    [
      'a batch script',
      'megatron-lm.sbatch',
      [/import again with --image/, /spec\.runtimeRef .*examples\/runtimes\/efa\.yaml/, /PersistentVolumeClaim/],
    ],
    [
      'a batch script on directories of nodes',
      'megatron-apptainer.sbatch',
      [/data: \{claimName: CLAIM, path: ""\}/, /remove NCCL_SOCKET_IFNAME from engine\.env/, /set USER in engine\.env/],
    ],
    [
      'a script without a container',
      'accelerate-launch.sh',
      [/the image has sft\.py there/, /checkpoint: \{claimName: CLAIM\}/],
    ],
    ['a PyTorchJob with a private registry', 'pytorch-job-fsdp.yaml', [/patch serviceaccount .*"name":"registry"/]],
    [
      'a script with a hostfile',
      'deepspeed.sbatch',
      [/put the file into the image/, /let the program read LOCAL_RANK/],
    ],
    ['a file without a program', 'accelerate.yaml', [/import again with --program/]],
    ['a file without a number of GPUs', 'axolotl.yaml', [/import again with --gpus-per-node N and --nodes N/]],
    [
      'objects beside the job',
      'hyperpod-pytorch-job.yaml',
      [/apply it in the namespace of the job/, /an administrator applies that file/],
    ],
    ['a queue', 'volcano-job.yaml', [/docs\/tasks\/create-a-project\.md/]],
  ])('%s has lines for the user', (_what, file, wants) => {
    const todos = read(file).report.flatMap(({ todo }) => todo ?? []);
    for (const want of wants) expect(todos).toContainEqual(expect.stringMatching(want));
  });
});

describe('a runtime of an imported pod', () => {
  it('has the claims that containers beside the trainer mount', () => {
    const { runtime } = read('pytorch-job-fsdp.yaml');
    expect(runtime?.spec.template).toMatchObject({
      spec: {
        initContainers: [{ volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'tokens' } }],
      },
    });
  });
});

describe('a file of DeepSpeed beside a script', () => {
  const SCRIPT = '#!/bin/bash\ndeepspeed --num_nodes 2 --num_gpus 8 t.py --deepspeed ds.json\n';
  const ZERO = { zeroStage: 3, implementation: 'deepspeed' };
  const OFFLOADED = { stage: 3, offload_optimizer: { device: 'cpu' } };

  it.each<[string, object | undefined, object | undefined, RegExp]>([
    [
      'gives the ZeRO stage',
      { zero_optimization: { stage: 3 } },
      ZERO,
      /^ds\.json: .*stage 3 \| layout\.states\.zeroStage 3/m,
    ],
    [
      'names what it keeps on the host',
      { zero_optimization: OFFLOADED },
      ZERO,
      /^ds\.json: offload_optimizer\.device cpu \| layout/m,
    ],
    ['of stage 0 divides nothing', { zero_optimization: { stage: 0 } }, undefined, /stage 0 \| layout/],
    [
      'without ZeRO is named',
      { bf16: { enabled: true } },
      undefined,
      /^--deepspeed ds\.json \| layout .*run coxswain import ds\.json/m,
    ],
    [
      'that is not there is named',
      undefined,
      undefined,
      /^--deepspeed ds\.json \| layout .*run coxswain import ds\.json/m,
    ],
  ])('%s', (_what, file, states, line) => {
    const { job, report } = importFile(SCRIPT, { readBeside: () => file });
    expect(job.spec.layout).toEqual({ dataParallelDegree: 16, ...(states === undefined ? {} : { states }) });
    expect(report.map(({ from, to, todo }) => [from, to, todo].join(' | ')).join('\n')).toMatch(line);
  });
});

describe('a file that accelerate launch reads', () => {
  const SCRIPT = '#!/bin/bash\naccelerate launch --config_file a.yaml OPTIONS t.py\n';
  const FILE = 'distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\n';

  it.each<[string, readonly [string, string | undefined], number, RegExp]>([
    ['becomes variables and a number of ranks', ['', FILE], 16, /^--config_file a\.yaml \| engine\.env, layout/m],
    [
      'gives way to options',
      ['--num_machines 4 --num_processes 32', FILE],
      32,
      /^--config_file a\.yaml \| engine\.env/m,
    ],
    ['of another kind is named', ['', 'a: 1\n'], 1, /run coxswain import a\.yaml --program/],
    ['that is not there is named', ['', undefined], 1, /run coxswain import a\.yaml --program/],
  ])('%s', (_what, [options, file], ranks, line) => {
    const { job, report } = importFile(SCRIPT.replace('OPTIONS', options), {
      readBeside: () => (file === undefined ? undefined : (parse(file) as unknown)),
    });
    expect(job.spec.layout).toEqual({ dataParallelDegree: ranks });
    expect(report.map(({ from, to, todo }) => [from, to, todo].join(' | ')).join('\n')).toMatch(line);
  });
});

describe('a file', () => {
  it.each<[string, string, RegExp]>([
    ['of nothing', ' \n', /^The file is empty; expected a PyTorchJob/],
    ['of Helm', 'a: {{ .Values.x }}\n', /helm template CHART/],
    ['of Helm in quotes', 'kind: JobSet\nname: "{{ .Release.Name }}"\n', /helm template CHART/],
    ['of Docker Compose', 'services: { a: { image: b } }\n', /Recognised: .*batch script of Slurm/],
    [
      'of a program in Python',
      '"""Trains. --lr 1"""\nimport argparse, os\nfrom torch import nn\n',
      /program in Python[^]*coxswain init --engine command/,
    ],
    ['of TOML that is not known', '[project]\nname = "x"\n', /TOML that is not known\. Recognised/],
    ['that is a list', '- a\n', /Recognised/],
    [
      'with a loop around the launcher',
      '#!/bin/bash\n#SBATCH -N 2\nfor i in 1 2; do torchrun a.py; done\n',
      /starts no program that is known/,
    ],
  ])('%s is refused with what is recognised', (_what, text, want) => {
    expect(() => importFile(text)).toThrow(want);
  });
});

describe('lines for sbatch', () => {
  const jobOf = (lines: string, command = 'srun torchrun --nproc_per_node=8 a.py', options = {}): ImportedJob =>
    importFile(`#!/bin/bash\n${lines}\n${command}\n`, options);
  it.each<[string, string, string, object]>([
    [
      'nodes and GPUs',
      '#SBATCH -N 4\n#SBATCH --gres=gpu:a100:4',
      'srun torchrun --nproc_per_node=gpu a.py',
      { layout: { dataParallelDegree: 16 } },
    ],
    ['GPUs in all', '#SBATCH --nodes=2\n#SBATCH -G 16', 'srun torchrun a.py', { layout: { dataParallelDegree: 16 } }],
    [
      'a task for each rank',
      '#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8',
      'srun python a.py',
      { layout: { dataParallelDegree: 16 } },
    ],
    [
      'tasks in all',
      '#SBATCH --ntasks=16\n#SBATCH --ntasks-per-node=8',
      'srun python a.py',
      { layout: { dataParallelDegree: 16 } },
    ],
    [
      'a range of nodes, by its most',
      '#SBATCH --nodes=1-4\n#SBATCH --gpus-per-node=8',
      'torchrun a.py',
      { layout: { dataParallelDegree: 32 } },
    ],
    [
      'memory of a node',
      '#SBATCH --mem=80G\n#SBATCH -N1\n#SBATCH --gpus-per-node=8',
      'torchrun a.py',
      { resources: { memoryPerGpu: '10Gi' } },
    ],
    [
      'its image',
      '#SBATCH --container-image=nvcr.io#nvidia/pytorch:25.01\n#SBATCH -N1',
      'srun torchrun a.py',
      { engine: { image: 'nvcr.io/nvidia/pytorch:25.01' } },
    ],
  ])('%s', (_what, lines, command, want) => {
    expect(jobOf(lines, command).job.spec).toMatchObject(want);
  });

  it('a credential of the script is a reference, and its value is written nowhere', () => {
    const token = `hf_${'x'.repeat(34)}`;
    const imported = jobOf('#SBATCH -N1', `export HF_TOKEN=${token}\ntorchrun a.py`);
    expect(JSON.stringify(imported)).not.toContain(token);
    expect(imported.job.spec.engine.secretEnv).toEqual([{ name: 'HF_TOKEN', secret: 'job-a', key: 'hf-token' }]);
  });
});
