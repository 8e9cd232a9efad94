/** A job as other systems write it: a JobSet, TrainJob, PyTorchJob or batch script that starts the rendered program. */
import { GPU_RESOURCE, type JobCreate, POD_PATHS, type EffectiveSpec, type EngineRendering } from '@coxswain/api-types';
import { judgedRendering } from '@coxswain/engines';
import { worldSize } from '@coxswain/layout';
import { quantityOf } from '@coxswain/units';
import { Document } from 'yaml';
import { CliError } from '../cli-error.ts';
import { runScript } from '../engines/run-script.ts';
import { quotedWord } from '../job-import/shell-words.ts';
import { yamlText } from '../output/output.ts';

/** What a job can be exported as. */
export const EXPORT_FORMS = ['jobset', 'trainjob', 'pytorchjob', 'sbatch'] as const;
/** A form of {@link exportedJob}. */
export type ExportForm = (typeof EXPORT_FORMS)[number];

/** Holds the whole job in the metadata of an exported object, and behind a `#` in a script. */
export const EXPORTED_JOB = 'training.coxswain.dev/exported-job';
const MASTER_PORT = 29_500;

interface Gang {
  readonly job: JobCreate;
  readonly program: NonNullable<EngineRendering['program']>;
  readonly nodes: number;
  readonly ranksPerNode: number;
}

/** The text of the exported job. Throws a {@link CliError} if its layout or its engine cannot be exported. */
export function exportedJob(job: JobCreate, form: ExportForm): string {
  const gang = gangOf(job);
  if (form === 'sbatch') return batchScript(gang);
  const document = new Document(FORMS[form](gang));
  document.commentBefore = ` Exported from the TrainingJob ${job.name}. The annotation holds the job; coxswain import gives it back.`;
  return yamlText(document, { lineWidth: 0 });
}

const FORMS: Readonly<Record<Exclude<ExportForm, 'sbatch'>, (gang: Gang) => object>> = {
  jobset: jobSet,
  trainjob: trainJob,
  pytorchjob: pyTorchJob,
};

function gangOf(job: JobCreate): Gang {
  const { layout, resources } = job.spec;
  if (layout === undefined)
    throw new CliError(
      `The planner chooses the layout of ${job.name}, and other systems have no planner. Write the layout of \`coxswain plan\` into spec.layout, and export again.`,
    );
  const world = worldSize(layout);
  const ranksPerNode = resources.gpusPerNode ?? Math.min(8, world);
  if (world % ranksPerNode !== 0)
    throw new CliError(
      `${world} ranks do not fill nodes of ${ranksPerNode}; set resources.gpusPerNode to a divisor of ${world}, and export again.`,
    );
  const { program, refusal } = judgedRendering({ ...job.spec, layout } as EffectiveSpec, { gpusPerPod: ranksPerNode });
  if (program === null)
    throw new CliError(`${job.name} cannot be exported: ${refusal?.why ?? ''}; ${refusal?.fallback ?? ''}.`);
  return { job, program, nodes: world / ranksPerNode, ranksPerNode };
}

/** How torchrun learns of its node and of the others; in the words of a shell. */
interface Rendezvous {
  readonly nodeRank: string;
  readonly address: string;
  readonly port: string;
}

/** The script of one node. Files and a program that reads variables of its rank need a script of the rank too. */
function nodeScript({ program, nodes, ranksPerNode, job }: Gang, at: Rendezvous): string {
  const torchrun = [
    `torchrun --nnodes=${nodes} --nproc-per-node=${ranksPerNode}`,
    `--node-rank=${at.nodeRank} --master-addr=${at.address} --master-port=${at.port}`,
  ].join(' ');
  const isPlain =
    program.startedBy === 'launcher' &&
    program.files.length === 0 &&
    program.resumeArgs.length === 0 &&
    program.argv.every((word) => !word.includes('$'));
  if (isPlain) return `exec ${torchrun} --no-python ${program.argv.map(quotedWord).join(' ')}`;
  const files = [...program.files, { path: 'run.sh', text: runScript(job.spec.engine.name, { ...program, env: [] }) }];
  const written = files.flatMap(({ path, text }) => {
    const folder = path.includes('/') ? [`mkdir -p "$HERE/${path.slice(0, path.lastIndexOf('/'))}"`] : [];
    const end = text.endsWith('\n') ? '' : '\n';
    return [...folder, `cat > "$HERE/${path}" <<'END_OF_FILE'\n${text}${end}END_OF_FILE`];
  });
  const starts =
    program.startedBy === 'launcher'
      ? `exec ${torchrun} --no-python bash "$HERE/run.sh"`
      : [
          `export MASTER_ADDR=${at.address} MASTER_PORT=${at.port} GROUP_RANK=${at.nodeRank} GROUP_WORLD_SIZE=${nodes} LOCAL_WORLD_SIZE=${ranksPerNode}`,
          'exec bash "$HERE/run.sh"',
        ].join('\n');
  return ['export HERE=$(mktemp -d)', ...written, starts].join('\n');
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: object;
}

function variablesOf({ job, program }: Gang): readonly Variable[] {
  const { checkpoint, engine } = job.spec;
  const saves = checkpoint === undefined ? [] : [`${POD_PATHS.checkpoints}/${checkpoint.path}`.replace(/\/$/, '')];
  return [
    ...program.env.map(({ name, value }) => ({ name, value })),
    ...saves.map((value) => ({ name: 'COXSWAIN_SAVE_DIR', value: `${value}/${job.name}` })),
    ...(engine.secretEnv ?? []).map(({ name, secret, key, optional }) => ({
      name,
      valueFrom: { secretKeyRef: { name: secret, key, ...(optional === undefined ? {} : { optional }) } },
    })),
  ];
}

function resourcesOf({ job, ranksPerNode }: Gang): object {
  const { cpuPerGpu, memoryPerGpu } = job.spec.resources;
  const cpus = cpuPerGpu === undefined ? undefined : quantityOf(cpuPerGpu);
  const memory = memoryPerGpu === undefined ? undefined : quantityOf(memoryPerGpu);
  return {
    limits: {
      [GPU_RESOURCE]: ranksPerNode,
      ...(cpus === undefined ? {} : { cpu: `${Math.round(cpus * 1000 * ranksPerNode)}m` }),
      ...(memory === undefined ? {} : { memory: `${Math.floor((memory * ranksPerNode) / 2 ** 20)}Mi` }),
    },
  };
}

function volumesOf({ job }: Gang): { readonly volumes: readonly object[]; readonly volumeMounts: readonly object[] } {
  const { data, checkpoint, scratch, engine } = job.spec;
  const claims = [
    ...(data?.claimName === undefined
      ? []
      : [{ name: 'data', claim: data.claimName, path: POD_PATHS.data, readOnly: true }]),
    ...(checkpoint?.claimName === undefined
      ? []
      : [{ name: 'checkpoints', claim: checkpoint.claimName, path: POD_PATHS.checkpoints, readOnly: false }]),
  ];
  const secrets = [...new Set((engine.secretFiles ?? []).map(({ secret }) => secret))];
  return {
    volumes: [
      { name: 'shm', emptyDir: { medium: 'Memory' } },
      ...claims.map(({ name, claim }) => ({ name, persistentVolumeClaim: { claimName: claim } })),
      ...(scratch === undefined ? [] : [{ name: 'scratch', emptyDir: {} }]),
      ...secrets.map((secret) => ({
        name: secret,
        secret: {
          secretName: secret,
          items: (engine.secretFiles ?? [])
            .filter((file) => file.secret === secret)
            .map(({ key }) => ({ key, path: key })),
        },
      })),
    ],
    volumeMounts: [
      { name: 'shm', mountPath: '/dev/shm' },
      ...claims.map(({ name, path, readOnly }) => ({ name, mountPath: path, ...(readOnly ? { readOnly } : {}) })),
      ...(scratch === undefined ? [] : [{ name: 'scratch', mountPath: POD_PATHS.scratch }]),
      ...secrets.map((secret) => ({ name: secret, mountPath: `${POD_PATHS.secrets}/${secret}` })),
    ],
  };
}

/** Kubernetes replaces `$(NAME)` in commands; a shell has to see it. */
function commandOf(gang: Gang, at: Rendezvous): readonly string[] {
  return ['bash', '-c', nodeScript(gang, at).replaceAll('$(', '$$(')];
}

function containerOf(gang: Gang, name: string, at: Rendezvous): object {
  const { image } = gang.job.spec.engine;
  const env = variablesOf(gang);
  return {
    name,
    ...(image === undefined ? {} : { image }),
    command: commandOf(gang, at),
    ...(env.length === 0 ? {} : { env }),
    resources: resourcesOf(gang),
    volumeMounts: volumesOf(gang).volumeMounts,
  };
}

function metadataOf({ job }: Gang): object {
  const { name, namespace, labels } = job;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined || Object.keys(labels).length === 0 ? {} : { labels }),
    annotations: { [EXPORTED_JOB]: JSON.stringify(job) },
  };
}

function podOf(gang: Gang, name: string, at: Rendezvous): { readonly spec: object } {
  return {
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: gang.job.spec.terminationGracePeriodSeconds,
      containers: [containerOf(gang, name, at)],
      volumes: volumesOf(gang).volumes,
    },
  };
}

function jobSet(gang: Gang): object {
  const { name, spec } = gang.job;
  const at = { nodeRank: '$JOB_COMPLETION_INDEX', address: `${name}-node-0-0.${name}`, port: String(MASTER_PORT) };
  const template = {
    spec: {
      parallelism: gang.nodes,
      completions: gang.nodes,
      completionMode: 'Indexed',
      backoffLimit: 0,
      template: podOf(gang, 'trainer', at),
    },
  };
  return {
    apiVersion: 'jobset.x-k8s.io/v1alpha2',
    kind: 'JobSet',
    metadata: metadataOf(gang),
    spec: {
      suspend: spec.suspend,
      network: { enableDNSHostnames: true },
      failurePolicy: { maxRestarts: spec.restartPolicy.maxRestarts },
      replicatedJobs: [{ name: 'node', replicas: 1, template }],
    },
  };
}

function pyTorchJob(gang: Gang): object {
  const { spec } = gang.job;
  const at = { nodeRank: '$RANK', address: '$MASTER_ADDR', port: '$MASTER_PORT' };
  const replica = (replicas: number): object => ({
    replicas,
    restartPolicy: 'OnFailure',
    template: podOf(gang, 'pytorch', at),
  });
  return {
    apiVersion: 'kubeflow.org/v1',
    kind: 'PyTorchJob',
    metadata: metadataOf(gang),
    spec: {
      nprocPerNode: String(gang.ranksPerNode),
      runPolicy: { backoffLimit: spec.restartPolicy.maxRestarts, suspend: spec.suspend },
      pytorchReplicaSpecs: { Master: replica(1), ...(gang.nodes > 1 ? { Worker: replica(gang.nodes - 1) } : {}) },
    },
  };
}

function trainJob(gang: Gang): object {
  const { image } = gang.job.spec.engine;
  const env = variablesOf(gang);
  const { volumes, volumeMounts } = volumesOf(gang);
  const at = { nodeRank: '$PET_NODE_RANK', address: '$PET_MASTER_ADDR', port: '$PET_MASTER_PORT' };
  return {
    apiVersion: 'trainer.kubeflow.org/v1alpha1',
    kind: 'TrainJob',
    metadata: metadataOf(gang),
    spec: {
      runtimeRef: { name: 'torch-distributed' },
      suspend: gang.job.spec.suspend,
      trainer: {
        ...(image === undefined ? {} : { image }),
        command: commandOf(gang, at),
        numNodes: gang.nodes,
        numProcPerNode: gang.ranksPerNode,
        resourcesPerNode: resourcesOf(gang),
        ...(env.length === 0 ? {} : { env }),
      },
      podTemplateOverrides: [
        { targetJobs: [{ name: 'node' }], spec: { volumes, containers: [{ name: 'node', volumeMounts }] } },
      ],
    },
  };
}

function batchScript(gang: Gang): string {
  const { job, nodes, ranksPerNode } = gang;
  const { image, secretEnv = [] } = job.spec.engine;
  const { cpuPerGpu, memoryPerGpu } = job.spec.resources;
  const cpus = cpuPerGpu === undefined ? undefined : Math.ceil((quantityOf(cpuPerGpu) ?? 1) * ranksPerNode);
  const memory =
    memoryPerGpu === undefined ? undefined : Math.floor(((quantityOf(memoryPerGpu) ?? 0) * ranksPerNode) / 2 ** 20);
  const claims = [job.spec.data?.claimName, job.spec.checkpoint?.claimName].filter((name) => name !== undefined);
  const at = { nodeRank: '$SLURM_NODEID', address: '$MASTER_ADDR', port: '$MASTER_PORT' };
  const container = image === undefined ? '' : ` --container-image=${quotedWord(image)}`;
  return [
    '#!/bin/bash',
    `# Exported from the TrainingJob ${job.name}. The next line holds the job; coxswain import gives it back.`,
    `# ${EXPORTED_JOB}: ${JSON.stringify(job)}`,
    `#SBATCH --job-name=${job.name}`,
    `#SBATCH --nodes=${nodes}`,
    '#SBATCH --ntasks-per-node=1',
    `#SBATCH --gpus-per-node=${ranksPerNode}`,
    ...(cpus === undefined ? [] : [`#SBATCH --cpus-per-task=${cpus}`]),
    ...(memory === undefined ? [] : [`#SBATCH --mem=${memory}M`]),
    ...(job.spec.restartPolicy.maxRestarts > 0 ? ['#SBATCH --requeue'] : []),
    'set -euo pipefail',
    ...claims.map(
      (claim) =>
        `# Mount what claim ${claim} holds: ${claim === job.spec.data?.claimName ? POD_PATHS.data : POD_PATHS.checkpoints}.`,
    ),
    ...secretEnv.map(({ name }) => `: "\${${name}:?set it before sbatch}"`),
    ...variablesOf(gang).flatMap(({ name, value }) =>
      value === undefined ? [] : [`export ${name}=${quotedWord(value)}`],
    ),
    `export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)`,
    `export MASTER_PORT=${MASTER_PORT}`,
    `srun${container} bash -c ${quotedWord(nodeScript(gang, at))}`,
    '',
  ].join('\n');
}
