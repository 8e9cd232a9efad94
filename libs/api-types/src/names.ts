/** Names that several programs must spell alike: API group, labels, annotations, finalizer, paths and environment of a pod. */

/** API group of the custom resources. */
export const API_GROUP = 'training.coxswain.dev';
/** Version of the custom resources in which Coxswain reads and writes them, and in which the API server stores them. */
export const API_VERSION = 'v1alpha1';
/** Every version of the custom resources that users may read and write. All have one schema. */
export const SERVED_API_VERSIONS = [API_VERSION, 'v1beta1'] as const;
/** API group and version of the custom resources, as in `apiVersion`. */
export const API_GROUP_VERSION = `${API_GROUP}/${API_VERSION}` as const;
/** Whether a manifest's `apiVersion` is one of the custom resources that users may write. */
export function isServedApiVersion(apiVersion: unknown): boolean {
  return SERVED_API_VERSIONS.some((version) => apiVersion === `${API_GROUP}/${version}`);
}

/** Lowest Kubernetes minor version that API and operator accept at start (CEL rules with messageExpression and ratcheting validation). */
export const MINIMUM_KUBERNETES_MINOR = 31;

/** Finalizer on TrainingJobs: the operator removes it when nothing of the job runs any more. */
export const FINALIZER = `${API_GROUP}/gang` as const;
/** Finalizer on pods from their creation on: a deleted pod stays until its end is recorded. */
export const POD_FINALIZER = `${API_GROUP}/unrecorded-end` as const;
/** Scheduling gate that holds the pods of a gang until all of them exist. */
export const SCHEDULING_GATE = `${API_GROUP}/gang` as const;
/** Default resource that a pod requests, one per rank. */
export const GPU_RESOURCE = 'nvidia.com/gpu';

/** Labels on objects of a job. */
export const LABELS = {
  jobUid: `${API_GROUP}/job-uid`,
  jobName: `${API_GROUP}/job-name`,
  epoch: `${API_GROUP}/epoch`,
  podIndex: `${API_GROUP}/pod-index`,
  /** Set by the API on a TrainingJob it created: the row's id. A job without it was made with kubectl. */
  jobId: `${API_GROUP}/job-id`,
  /** On pods that read a checkpoint for the operator: what they do. */
  worker: `${API_GROUP}/checkpoint-worker`,
  /** On a Placement whose nodes are still to be left by other jobs: `true`. */
  claim: `${API_GROUP}/claim`,
} as const;

/** Annotations on objects of a job. */
export const ANNOTATIONS = {
  /** Ranks of a pod as `first-last`, for people who read `kubectl describe pod`. */
  ranks: `${API_GROUP}/ranks`,
  /** On a Placement: NVLink domain, island and class of NICs of each of its nodes, as they were when it was made (`libs/fabric`). */
  places: `${API_GROUP}/places`,
  /** On the leader's Lease: base URL of its report endpoint. */
  reportUrl: `${API_GROUP}/report-url`,
  /** On a ProvisioningRequest and its PodTemplates: digest of what was wanted, to see whether they still fit their job. */
  nodeRequest: `${API_GROUP}/node-request`,
  /** On a Checkpoint, by a user: verify it this closely, as `V3`, and again if the last verification is older than a time: `V3 2026-11-28T16:00:00Z`. */
  verify: `${API_GROUP}/verify`,
  /** On a Checkpoint, by a user: why it is kept. Retention deletes no object that has it. */
  pin: `${API_GROUP}/pin`,
  /** On a pod that deletes a save: what it was asked, as JSON. */
  deletion: `${API_GROUP}/deletion`,
} as const;

/** Node labels that describe the fabric in our own dialect; other dialects are read beside it (`libs/fabric`). */
export const NODE_LABELS = {
  nvlinkDomain: 'fabric.coxswain.dev/nvlink-domain',
  /** Then a number: the switch above the node in that tier, 0 the nearest. */
  switchTierPrefix: 'fabric.coxswain.dev/tier-',
  nicType: 'fabric.coxswain.dev/nic-type',
  nicIsland: 'fabric.coxswain.dev/nic-island',
  nicSpeedGbps: 'fabric.coxswain.dev/nic-speed-gbps',
  nicCount: 'fabric.coxswain.dev/nic-count',
  gpuType: 'fabric.coxswain.dev/gpu-type',
} as const;

/**
 * Node labels in which the operator publishes the fabric that it found, if `operator.publishFabricLabels` of the chart is set. Coxswain does not read them, unlike
 * the labels above.
 */
export const PUBLISHED_LABELS = {
  island: 'topology.coxswain.dev/island',
  nvlinkDomain: 'topology.coxswain.dev/nvlink-domain',
  /** Then a number: the switch above the node in that tier, 0 the nearest. */
  switchTierPrefix: 'topology.coxswain.dev/tier-',
  nicType: 'topology.coxswain.dev/nic-type',
} as const;

/** What we read and write on Nodes beside the fabric. */
export const NODE_MARKS = {
  /** Taint or annotation of an administrator: gangs save and move, at once or at the time that is its value. */
  maintenance: 'health.coxswain.dev/maintenance',
  /** Taint of ours on nodes that are kept from every job, and the annotation with what shows it. */
  quarantine: 'health.coxswain.dev/quarantine',
} as const;

/** What NVSentinel's node-drainer makes to have a node drained. */
export const DRAIN_REQUESTS = { group: 'nvsentinel.nvidia.com', version: 'v1alpha1', plural: 'drainrequests' } as const;

/** Where things are inside a training container. */
export const POD_PATHS = {
  /** emptyDir that the init container copies the launcher into. */
  launcherDirectory: '/coxswain/bin',
  launcher: '/coxswain/bin/coxswain-launcher',
  checkpoints: '/coxswain/checkpoints',
  /** The one save that a worker may delete. */
  save: '/coxswain/save',
  data: '/coxswain/data',
  initialWeights: '/coxswain/weights',
  /** Claim of an adopted checkpoint that is not the job's own. */
  adoptedCheckpoint: '/coxswain/adopted',
  scratch: '/coxswain/scratch',
  /** Files that the user uploaded with the job; ranks start there. */
  code: '/coxswain/code',
  /** Holds `SECRET/KEY` for each key that a job wants as a file. */
  secrets: '/coxswain/secrets',
  tokenDirectory: '/var/run/secrets/coxswain',
  token: '/var/run/secrets/coxswain/token',
  terminationMessage: '/dev/termination-log',
} as const;

/** Audience of the projected token that a launcher presents to the operator. */
export const REPORT_TOKEN_AUDIENCE = 'coxswain-operator';

/** Container names of a gang's pod. */
export const CONTAINERS = { install: 'install-launcher', trainer: 'trainer' } as const;

/** Environment that the operator writes into a pod and the launcher reads. Users may not set a name that starts with COXSWAIN_. */
export const POD_ENV = {
  jobName: 'COXSWAIN_JOB_NAME',
  jobUid: 'COXSWAIN_JOB_UID',
  namespace: 'COXSWAIN_NAMESPACE',
  podName: 'COXSWAIN_POD_NAME',
  podUid: 'COXSWAIN_POD_UID',
  podIp: 'COXSWAIN_POD_IP',
  nodeName: 'COXSWAIN_NODE_NAME',
  podIndex: 'COXSWAIN_POD_INDEX',
  epoch: 'COXSWAIN_EPOCH',
  /** Comma-separated base URLs (https://host:port) of every operator replica or of the Service in front of them. */
  reportUrls: 'COXSWAIN_REPORT_URLS',
  /** PEM of the CA that signed the report endpoint's certificate. */
  reportCa: 'COXSWAIN_REPORT_CA',
  tokenFile: 'COXSWAIN_TOKEN_FILE',
  /** Where the checkpoint claim is mounted; absent when the job keeps no checkpoints. */
  checkpointMount: 'COXSWAIN_CHECKPOINT_MOUNT',
  /** Bucket that checkpoints are uploaded to: `BucketAccess` as JSON, and its credentials. Absent: the mount is a claim. */
  bucket: 'COXSWAIN_CHECKPOINT_BUCKET',
  bucketKeyId: 'COXSWAIN_CHECKPOINT_BUCKET_KEY_ID',
  bucketKey: 'COXSWAIN_CHECKPOINT_BUCKET_KEY',
  /** How much of the ranks' logs is kept beside the checkpoints: `KeptLogBounds` as JSON. Absent: nothing is kept. */
  keptLogs: 'COXSWAIN_KEPT_LOGS',
  /** Variables whose values are from Secrets, separated by commas: these values are masked in logs. */
  secretVariables: 'COXSWAIN_SECRET_VARIABLES',
  /** Digest of the archive of code, where to unpack it, and a URL that reads it for some time. Absent: the job has no code of its own. */
  codeSha256: 'COXSWAIN_CODE_SHA256',
  codeDirectory: 'COXSWAIN_CODE_DIRECTORY',
  codeUrl: 'COXSWAIN_CODE_URL',
  /** Seconds between SIGTERM and SIGKILL, so that the launcher knows how long a save may take. */
  gracePeriodSeconds: 'COXSWAIN_GRACE_PERIOD_SECONDS',
  /** Level of the preflight (`PREFLIGHT_LEVELS`) and its time limit. Absent: no preflight. */
  preflight: 'COXSWAIN_PREFLIGHT',
  /** How the engine is started, beside its command: `EngineRun` as JSON. */
  engineRun: 'COXSWAIN_ENGINE_RUN',
  preflightTimeoutSeconds: 'COXSWAIN_PREFLIGHT_TIMEOUT_SECONDS',
  /** `restartPolicy.preloadPyTorch` of the job. Absent: Never. */
  preloadPyTorch: 'COXSWAIN_PRELOAD_PYTORCH',
  /** Which saves its ranks keep in memory: `MemorySaveBounds` as JSON. Absent: none. */
  memorySaves: 'COXSWAIN_MEMORY_SAVES',
  /** What a worker that converts a save is to do: `ConversionOrder` as JSON. Only in its pod. */
  conversion: 'COXSWAIN_CONVERSION',
} as const;

/** Variables that the launcher adds for its ranks, beside RANK, WORLD_SIZE and the like, from what it was assigned; none is in the pod's manifest. */
export const RANK_ENV = {
  /** Incarnation: the run of the ranks in this attempt's pods, from 1. */
  incarnation: 'COXSWAIN_INCARNATION',
  /** Directory that belongs to this incarnation alone; absent when the job keeps no checkpoints. */
  saveDirectory: 'COXSWAIN_SAVE_DIR',
  /** Directory of the checkpoint to resume from; absent means from scratch. */
  resumeFrom: 'COXSWAIN_RESUME_FROM',
  resumeManifestSha256: 'COXSWAIN_RESUME_MANIFEST_SHA256',
  /** Parent directory of the checkpoint, for engines that number their own checkpoints, and the step of the checkpoint. */
  resumeRoot: 'COXSWAIN_RESUME_ROOT',
  resumeStep: 'COXSWAIN_RESUME_STEP',
  /** Directory for saves in the memory of the pod, which outlives the ranks; absent: the job keeps none. Then steps between two, and most bytes of one. */
  memoryDirectory: 'COXSWAIN_MEMORY_DIR',
  memorySaveEverySteps: 'COXSWAIN_MEMORY_SAVE_EVERY',
  memorySaveBytes: 'COXSWAIN_MEMORY_SAVE_BYTES',
  /** Name of the save in memory to resume from, below the folder of each rank; absent: `resumeFrom`. */
  memoryResume: 'COXSWAIN_MEMORY_RESUME',
  /** Directory that holds the files which were rendered for the engine. */
  engineFiles: 'COXSWAIN_ENGINE_FILES',
} as const;
