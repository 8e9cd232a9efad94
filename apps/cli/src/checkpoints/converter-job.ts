/** The Job of Kubernetes in which an engine's own converter runs. */
import { convertedSaveIn, converterCommand, type EngineConversion } from '@coxswain/checkpoint';
import { CLAIM_MOUNT } from './reshard-job.ts';

/** What the Job does, and with what. */
export interface ConverterJob extends EngineConversion {
  readonly name: string;
  /** Of the engine. */
  readonly image: string;
  /** Of this program. */
  readonly cliImage: string;
  readonly claim: string;
  /** Paths in containers. */
  readonly source: string;
  readonly target: string;
  readonly reference?: string;
  readonly groups?: string;
  /** Absent: the converter runs on CPUs. */
  readonly gpus?: number;
  /** Of the converter, as Kubernetes writes it. */
  readonly memory: string;
  readonly deadlineSeconds: number;
}

/** Times that the pod starts anew. Each begins from the source. */
const MOST_RESTARTS = 2;
/** Verification reads in bands; the index of a large save takes most of it. */
const CLI_MEMORY = '4Gi';
const [SCRATCH, CLAIM] = ['scratch', 'checkpoints'];

const PUBLISH = `import os, sys
draft, target = sys.argv[1:]
# os.rename takes the place of an empty directory, and of nothing else.
os.rename(draft, target)
`;

type Json = Readonly<Record<string, unknown>>;

/**
 * A Job with one pod, whose containers run one after the other: Coxswain reads the source and refuses what the converter gets wrong, the converter writes a draft,
 * Coxswain verifies the draft, and a rename publishes it. A pod that ends before leaves no save at the target.
 */
export function converterJob(job: ConverterJob): Json {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: job.name },
    spec: {
      backoffLimit: MOST_RESTARTS,
      activeDeadlineSeconds: job.deadlineSeconds,
      podFailurePolicy: {
        rules: [
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] },
          // A refusal, or a result that is not right: to repeat it changes nothing.
          ...['check', 'verify'].map((containerName) => ({
            action: 'FailJob',
            onExitCodes: { containerName, operator: 'In', values: [1] },
          })),
        ],
      },
      template: { spec: podOf(job) },
    },
  };
}

function podOf(job: ConverterJob): Json {
  const { source, target, reference, gpus = 1, groups, converter, to, isGated } = job;
  const draft = `${target}.converting`;
  const asked = ['--to', to, '--converter', converter, ...(isGated ? ['--swiglu'] : [])];
  const steps = [
    cliContainer(job, 'check', ['checkpoint', 'convert', source, target, ...asked, '--plan']),
    engineContainer(job, {
      name: 'convert',
      command: converterCommand(
        job,
        { source, draft, ...(reference === undefined ? {} : { reference }) },
        { gpus, groups },
      ),
    }),
    cliContainer(job, 'verify', ['checkpoint', 'verify', convertedSaveIn(job, draft)]),
    engineContainer(job, { name: 'publish', command: ['python3', '-c', PUBLISH, draft, target] }),
  ];
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    initContainers: steps.slice(0, -1),
    containers: steps.slice(-1),
    volumes: [
      { name: SCRATCH, emptyDir: {} },
      { name: CLAIM, persistentVolumeClaim: { claimName: job.claim } },
    ],
  };
}

function cliContainer({ cliImage }: ConverterJob, name: string, args: readonly string[]): Json {
  return container(name, {
    image: cliImage,
    args,
    resources: { requests: { cpu: '1', memory: CLI_MEMORY }, limits: { memory: CLI_MEMORY } },
  });
}

function engineContainer(
  { image, memory, gpus }: ConverterJob,
  { name, command }: { readonly name: string; readonly command: readonly string[] },
): Json {
  const devices = gpus === undefined || name !== 'convert' ? {} : { 'nvidia.com/gpu': String(gpus) };
  return container(name, {
    image,
    command,
    resources: { requests: { cpu: '1', memory }, limits: { memory, ...devices } },
  });
}

function container(name: string, rest: Json): Json {
  return {
    name,
    env: [
      { name: 'HOME', value: '/tmp' },
      // The model is in the claim.
      { name: 'HF_HUB_OFFLINE', value: '1' },
    ],
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    volumeMounts: [
      { name: SCRATCH, mountPath: '/tmp' },
      { name: CLAIM, mountPath: CLAIM_MOUNT },
    ],
    ...rest,
  };
}
