/** The Job of Kubernetes whose workers reshard a save together. */
import { reshardMemoryBytes } from '@coxswain/checkpoint';

/** What the Job does, and with what. */
export interface ReshardJob {
  readonly name: string;
  readonly image: string;
  readonly workers: number;
  /** Arguments of `coxswain` without the worker's own share. */
  readonly command: readonly string[];
  readonly memory: Parameters<typeof reshardMemoryBytes>[0];
  /** Mounted at {@link CLAIM_MOUNT}; absent: source and target are in buckets. */
  readonly claim?: string;
  /** Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; absent: the identity of the pod. */
  readonly credentialsSecret?: string;
  /** Variables by which a bucket is reached. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Where workers find the claim. */
export const CLAIM_MOUNT = '/checkpoints';

/** Starts of one worker. A worker goes on with the pieces that are not there, so each costs one piece at most. */
const MOST_RESTARTS = 6;
const [SCRATCH, CLAIM] = ['scratch', 'checkpoints'];

type Json = Readonly<Record<string, unknown>>;

/**
 * An indexed Job. Each worker has the share of its index: all of them come to the same plan, so nothing is exchanged. A worker that is lost starts again with its
 * index, while the others go on. The worker that ends last publishes the save.
 */
export function reshardJob(job: ReshardJob): Json {
  const { name, workers } = job;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: {
      completionMode: 'Indexed',
      completions: workers,
      parallelism: workers,
      backoffLimitPerIndex: MOST_RESTARTS,
      // A drained node is no failure of the worker.
      podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] },
      template: { spec: podOf(job) },
    },
  };
}

function podOf(job: ReshardJob): Json {
  const { claim } = job;
  const volume = { name: CLAIM, persistentVolumeClaim: { claimName: claim } };
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [containerOf(job)],
    volumes: [{ name: SCRATCH, emptyDir: {} }, ...(claim === undefined ? [] : [volume])],
  };
}

function containerOf({ image, command, workers, memory, claim, credentialsSecret, environment }: ReshardJob): Json {
  const bytes = String(reshardMemoryBytes(memory));
  return {
    name: 'reshard',
    image,
    // The kubelet replaces the variable, which Kubernetes sets in each pod of an indexed Job.
    args: [...command, '--worker', `$(JOB_COMPLETION_INDEX)/${String(workers)}`],
    env: [{ name: 'HOME', value: '/tmp' }, ...Object.entries(environment).map(([name, value]) => ({ name, value }))],
    ...(credentialsSecret === undefined ? {} : { envFrom: [{ secretRef: { name: credentialsSecret } }] }),
    resources: { requests: { cpu: '1', memory: bytes }, limits: { memory: bytes } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: SCRATCH, mountPath: '/tmp' },
      ...(claim === undefined ? [] : [{ name: CLAIM, mountPath: CLAIM_MOUNT }]),
    ],
  };
}
