/**
 * Facts of public job files that were once read wrongly, each reduced to the lines that matter. Sources: awsome-distributed-training (megatron-lm, FSDP, TRL,
 * LLM Foundry, picotron), Megatron-LM examples, Kubeflow Trainer examples, TorchTitan's multi-node script, and axolotl examples.
 */
import type { ImportedJob } from '../job-import/imported-job.ts';
import { importFile } from './import-file.ts';

const slurm = (nodes: number, ...lines: readonly string[]): string =>
  ['#!/bin/bash', `#SBATCH --nodes=${nodes}`, '#SBATCH --gpus-per-node=8', ...lines, ''].join('\n');

/** What is in it of a job: its words, its layout, and the lines of the report. */
function said({ job, report }: ImportedJob): { words: string; layout: unknown; lines: string } {
  const { engine, layout } = job.spec;
  return {
    words: [...(engine.command ?? []), ...(engine.args ?? [])].join(' '),
    layout,
    lines: report.map(({ from, to, why, todo }) => [from, to, why, todo].join(' | ')).join('\n'),
  };
}

interface Row {
  readonly words?: RegExp;
  readonly layout?: object;
  readonly line?: RegExp;
}

const SCRIPTS: readonly (readonly [title: string, text: string, expected: Row])[] = [
  [
    'a directory of the nodes with the name of a user in it is named, because its files are lost with the pod',
    slurm(16, 'srun torchrun --nproc_per_node 8 train.py --out /scratch/$USER/runs/$SLURM_JOB_ID'),
    { line: /\/scratch\/\$USER \|.*lost with its pod.*PersistentVolumeClaim/ },
  ],
  [
    'a script of the submit directory is shipped with the job',
    slurm(2, 'cd $SLURM_SUBMIT_DIR', 'srun torchrun --nproc_per_node 8 train.py'),
    { line: /train\.py \|.*--workdir DIRECTORY[^]*cd \$SLURM_SUBMIT_DIR \|.*--workdir ships/ },
  ],
  [
    'mail is sent by a webhook',
    slurm(2, '#SBATCH --mail-type=END', 'srun torchrun train.py'),
    { line: /webhooks add mailto:/ },
  ],
  [
    'a sum with an unknown part stays one word',
    slurm(
      1,
      'PORT=$((RANDOM + 10000))',
      'srun torchrun --master_port ${PORT} --nproc_per_node 8 train.py --port $PORT',
    ),
    {
      words: /train\.py --port \$\(\(RANDOM \+ 10000\)\)|train\.py --port "\$\(\(RANDOM \+ 10000\)\)"/,
      layout: { dataParallelDegree: 8 },
    },
  ],
  [
    'a default that two branches give otherwise is not known',
    slurm(
      8,
      'if [ $NODES -le 4 ]; then',
      '  : "${TENSOR_PARALLEL:=4}"',
      'else',
      '  : "${TENSOR_PARALLEL:=8}"',
      'fi',
      'srun torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size $TENSOR_PARALLEL',
    ),
    { layout: { dataParallelDegree: 64 }, line: /TENSOR_PARALLEL \| layout \| .*cannot be read/ },
  ],
  [
    'a default before the branches stays',
    slurm(
      2,
      ': "${TP:=2}"',
      'if [ -n "$BIG" ]; then',
      '  : "${TP:=8}"',
      'fi',
      'srun torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size $TP',
    ),
    { layout: { tensorParallelDegree: 2, dataParallelDegree: 8 } },
  ],
  [
    'of two programs the one that trains is the job, on its part of the nodes',
    slurm(
      9,
      'N=$((SLURM_NNODES - 1))',
      'LAUNCHER="accelerate launch --num_processes $((N * 8)) --num_machines $N"',
      'for ((i=8; i>=1; i--)); do if [ $i -eq 4 ]; then break; fi; done',
      'srun --nodes=$N --ntasks=$N bash -c "$LAUNCHER train.py" &',
      'srun --nodes=1 --ntasks=1 trl vllm-serve --model m &',
      'wait',
    ),
    {
      words: /train\.py$/,
      layout: { dataParallelDegree: 64 },
      line: /^srun --nodes=1 --ntasks=1 trl vllm-serve --model m \| .*a job is one program/m,
    },
  ],
  [
    'the nodes that the launcher does not use are named',
    slurm(9, 'srun -N8 torchrun --nnodes 8 --nproc_per_node 8 train.py'),
    { line: /^9 nodes \| layout for 8 nodes/m },
  ],
  [
    'composer starts ranks as torchrun does',
    slurm(
      2,
      'run() {',
      '  srun composer --world_size $((SLURM_NNODES * 8)) --nproc 8 --node_rank $R --master_addr $A --verbose train.py m.yaml x=1',
      '}',
      'run',
    ),
    { words: /^python3 -u train\.py m\.yaml x=1$/, layout: { dataParallelDegree: 16 } },
  ],
  [
    'a working directory that only the shell knows is a line, and no word of the command',
    slurm(1, 'srun --container-workdir ${PWD} --container-mounts $PWD torchrun --nproc_per_node 8 train.py'),
    { words: /^python3 -u train\.py$/, line: /^working directory \$\{PWD\} \| .*\n.*|--container-mounts \$PWD/ },
  ],
  [
    'what a script gives to sbatch is the script',
    [
      '#!/bin/bash',
      'ARGS=(--tensor-model-parallel-size 2 --expert-model-parallel-size 4)',
      'CMD="cd /m; python /m/pretrain_gpt.py ${ARGS[@]}"',
      'sbatch <<EOF',
      '#!/bin/bash',
      '#SBATCH --nodes=2',
      '#SBATCH --ntasks-per-node=8',
      'srun --container-image=r/i:1 bash -x -c "${CMD}" 2>&1 | tee \\${SLURM_JOB_ID}.log',
      'EOF',
      '',
    ].join('\n'),
    { layout: { tensorParallelDegree: 2, dataParallelDegree: 8, expert: { expertParallelDegree: 4 } } },
  ],
  [
    'a configuration that is code of the program is to be looked at',
    slurm(4, 'srun torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_8b'),
    { line: /^--config llama3_8b \| layout \| degrees may stand/m },
  ],
  [
    'a script in quotes has the variables of Coxswain for those of Slurm',
    slurm(
      2,
      'CMD="torchrun --nproc_per_node 8 train.py --log $LOGS/$SLURM_JOB_ID --user $USER"',
      'srun bash -c "$CMD"',
    ),
    {
      words: /train\.py --log \$LOGS\/\$COXSWAIN_JOB_UID --user \$USER$/,
      line: /^\$LOGS \| [^]*^\$USER \| .*set USER in engine\.env/m,
    },
  ],
  [
    'a network interface of the nodes is to be checked',
    slurm(2, 'export NCCL_SOCKET_IFNAME=ib0', 'srun torchrun --nproc_per_node 8 train.py'),
    { line: /^NCCL_SOCKET_IFNAME=ib0 \| engine\.env NCCL_SOCKET_IFNAME \| .*\| remove NCCL_SOCKET_IFNAME/m },
  ],
  [
    'a network interface that is excluded is taken over',
    slurm(2, 'export NCCL_SOCKET_IFNAME=^docker0,lo', 'srun torchrun --nproc_per_node 8 train.py'),
    { line: /^NCCL_SOCKET_IFNAME=… \| engine\.env NCCL_SOCKET_IFNAME \| +\| *$/m },
  ],
  [
    'directories of nodes are named where nothing mounts them',
    slurm(
      1,
      'export HF_HOME=/fsx/cache/hf',
      'srun torchrun --nproc_per_node 8 /opt/t.py --out=/mnt/nfs/runs/a s3://b/c/d',
    ),
    { line: /^\/mnt\/nfs, \/fsx\/cache \| .*lost with its pod/m },
  ],
  [
    'a hybrid strategy shards by the ranks of a node',
    slurm(4, 'srun torchrun --nproc_per_node 8 train.py --sharding_strategy=HYBRID_SHARD'),
    {
      layout: {
        dataParallelDegree: 32,
        dataParallelShardDegree: 8,
        states: { zeroStage: 3, implementation: 'fsdp2' },
      },
    },
  ],
  [
    'a hybrid strategy on one node shards by all ranks',
    slurm(1, 'srun torchrun --nproc_per_node 8 train.py --sharding_strategy=HYBRID_SHARD'),
    { layout: { dataParallelDegree: 8, states: { zeroStage: 3, implementation: 'fsdp2' } } },
  ],
  [
    'activations on the host are to be said by layout',
    slurm(4, 'srun torchrun --nproc_per_node 8 train.py --sharding_strategy=full --offload_activations=1'),
    { line: /^--offload_activations=1 \| layout \| .*layout\.memory\.hostMemoryGibPerGpu/m },
  ],
  [
    'so are optimizer and weights of a file of DeepSpeed',
    JSON.stringify({
      zero_optimization: { stage: 3, offload_optimizer: { device: 'cpu' }, offload_param: { device: 'none' } },
    }),
    { line: /^zero_optimization\.offload_optimizer\.device: cpu \| layout/m },
  ],
  [
    'axolotl shards where it has a configuration of FSDP, without a degree of its own',
    'base_model: m\ncontext_parallel_size: 4\nfsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n',
    {
      layout: {
        contextParallelDegree: 4,
        dataParallelDegree: 1,
        states: { zeroStage: 3, implementation: 'fsdp2' },
      },
    },
  ],
  [
    'axolotl names a file of DeepSpeed',
    'base_model: m\ndeepspeed: deepspeed_configs/zero2.json\n',
    { line: /^deepspeed: deepspeed_configs\/zero2\.json \| layout \| the stage of ZeRO/m },
  ],
  [
    'a TrainJob leaves its image to its runtime',
    'apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: { name: a }\nspec:\n  runtimeRef: { name: torch }\n  trainer: { numNodes: 2, command: [torchrun, t.py], resourcesPerNode: { limits: { nvidia.com/gpu: 8 } } }\n',
    { layout: { dataParallelDegree: 16 }, line: /^image \| engine\.image .*--image IMAGE/m },
  ],
];

it.each(SCRIPTS)('%s', (_title, text, expected) => {
  const { words, layout, lines } = said(importFile(text, { file: 'job.yaml' }));
  if (expected.words !== undefined) expect(words).toMatch(expected.words);
  if (expected.layout !== undefined) expect(layout).toEqual(expected.layout);
  if (expected.line !== undefined) expect(lines).toMatch(expected.line);
});

const GANG = (replicas: string, image: string): string =>
  `apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: { name: a }\nspec:\n  pytorchReplicaSpecs:\n    Worker:\n      replicas: ${replicas}\n      template: { spec: { containers: [ { name: p, image: ${image}, command: [torchrun, t.py, $HOME/x], resources: { limits: { nvidia.com/gpu: 8 } } } ] } }\n`;

it.each([
  ['numbers', GANG('$NUM_NODES', 'r/i:1'), ['NUM_NODES']],
  ['images', GANG('2', '"${REPO}train:latest"'), ['REPO']],
])('a manifest whose %s are variables of a shell names envsubst', (_what, text, names) => {
  const set = names.map((name) => `${name}=VALUE`).join(' ');
  const left = names.map((name) => `$${name}`).join(' ');
  expect(() => importFile(text)).toThrow(`${set} envsubst '${left}' < FILE | coxswain import -`);
});

it('words that a shell in the pod reads are no reason to refuse', () => {
  expect(importFile(GANG('2', 'r/i:1')).job.spec.layout).toEqual({ dataParallelDegree: 16 });
});
