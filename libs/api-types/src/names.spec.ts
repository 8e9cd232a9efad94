/** Names that leave the process. Running clusters, pods and launchers of other releases have them: they never change. */
import {
  ANNOTATIONS,
  API_GROUP_VERSION,
  CONTAINERS,
  FINALIZER,
  GPU_RESOURCE,
  LABELS,
  NODE_LABELS,
  NODE_MARKS,
  POD_ENV,
  POD_FINALIZER,
  POD_PATHS,
  PUBLISHED_LABELS,
  RANK_ENV,
  REPORT_TOKEN_AUDIENCE,
  SCHEDULING_GATE,
} from './names.ts';
import { LAUNCHER_RANK_ENV, TORCH_RANK_ENV } from './rank-variables.ts';
import {
  EARLIER_REPORT_PATH,
  LISTENS_TO_NOT_FINITE,
  LISTENS_TO_COLLECTIVES,
  LISTENS_TO_PROCESSES,
  LISTENS_TO_WATERMARKS,
  LISTENS_TO_MARKS,
  REPLICA_URL_HEADER,
  REPORT_PATH,
  SERIES_PATH,
  STACKS_PATH,
  UNREACHABLE_LEADER_HEADER,
} from './report-protocol.ts';

describe('a name that other programs know', () => {
  it.each<[string, string, string]>([
    ['version of the resources', API_GROUP_VERSION, 'training.coxswain.dev/v1alpha1'],
    ['finalizer of a TrainingJob', FINALIZER, 'training.coxswain.dev/gang'],
    ['finalizer of a pod', POD_FINALIZER, 'training.coxswain.dev/unrecorded-end'],
    ['scheduling gate', SCHEDULING_GATE, 'training.coxswain.dev/gang'],
    ['resource of a GPU', GPU_RESOURCE, 'nvidia.com/gpu'],
    ['label of the UID of a job', LABELS.jobUid, 'training.coxswain.dev/job-uid'],
    ['label of the name of a job', LABELS.jobName, 'training.coxswain.dev/job-name'],
    ['label of the attempt', LABELS.epoch, 'training.coxswain.dev/epoch'],
    ['label of the index of a pod', LABELS.podIndex, 'training.coxswain.dev/pod-index'],
    ['label of the row of a job', LABELS.jobId, 'training.coxswain.dev/job-id'],
    ['annotation of ranks', ANNOTATIONS.ranks, 'training.coxswain.dev/ranks'],
    ['annotation of places', ANNOTATIONS.places, 'training.coxswain.dev/places'],
    ['annotation of the report endpoint', ANNOTATIONS.reportUrl, 'training.coxswain.dev/report-url'],
    ['label of an NVLink domain', NODE_LABELS.nvlinkDomain, 'fabric.coxswain.dev/nvlink-domain'],
    ['labels of switches', NODE_LABELS.switchTierPrefix, 'fabric.coxswain.dev/tier-'],
    ['label of a type of NIC', NODE_LABELS.nicType, 'fabric.coxswain.dev/nic-type'],
    ['label of an island', NODE_LABELS.nicIsland, 'fabric.coxswain.dev/nic-island'],
    ['label of the speed of a NIC', NODE_LABELS.nicSpeedGbps, 'fabric.coxswain.dev/nic-speed-gbps'],
    ['label of the number of NICs', NODE_LABELS.nicCount, 'fabric.coxswain.dev/nic-count'],
    ['label of a type of GPU', NODE_LABELS.gpuType, 'fabric.coxswain.dev/gpu-type'],
    ['published island', PUBLISHED_LABELS.island, 'topology.coxswain.dev/island'],
    ['published NVLink domain', PUBLISHED_LABELS.nvlinkDomain, 'topology.coxswain.dev/nvlink-domain'],
    ['published switches', PUBLISHED_LABELS.switchTierPrefix, 'topology.coxswain.dev/tier-'],
    ['published type of NIC', PUBLISHED_LABELS.nicType, 'topology.coxswain.dev/nic-type'],
    ['mark of maintenance', NODE_MARKS.maintenance, 'health.coxswain.dev/maintenance'],
    ['mark of quarantine', NODE_MARKS.quarantine, 'health.coxswain.dev/quarantine'],
    ['audience of the token of a launcher', REPORT_TOKEN_AUDIENCE, 'coxswain-operator'],
    ['container that installs the launcher', CONTAINERS.install, 'install-launcher'],
    ['container of the trainer', CONTAINERS.trainer, 'trainer'],
    ['path of reports', REPORT_PATH, '/v2/report'],
    ['path of reports of the release before', EARLIER_REPORT_PATH, '/v1/report'],
    ['path of the series', SERIES_PATH, '/v1/series'],
    ['path of stacks', STACKS_PATH, '/v1/stacks'],
    ['header of a lost leader', UNREACHABLE_LEADER_HEADER, 'coxswain-unreachable-leader'],
    ['header of a replica', REPLICA_URL_HEADER, 'coxswain-replica-url'],
    ['announcement of watermarks', LISTENS_TO_WATERMARKS, 'watermarks'],
    ['announcement of values that are not finite', LISTENS_TO_NOT_FINITE, 'notFinite'],
    ['announcement of processes', LISTENS_TO_PROCESSES, 'processes'],
    ['announcement of collectives', LISTENS_TO_COLLECTIVES, 'collectives'],
    ['announcement of marks', LISTENS_TO_MARKS, 'marks'],
  ])('the %s is %s', (_what, name, want) => {
    expect(name).toBe(want);
  });
});

describe('in the container of a trainer', () => {
  it.each<[keyof typeof POD_PATHS, string]>([
    ['launcherDirectory', '/coxswain/bin'],
    ['launcher', '/coxswain/bin/coxswain-launcher'],
    ['checkpoints', '/coxswain/checkpoints'],
    ['data', '/coxswain/data'],
    ['initialWeights', '/coxswain/weights'],
    ['scratch', '/coxswain/scratch'],
    ['secrets', '/coxswain/secrets'],
    ['tokenDirectory', '/var/run/secrets/coxswain'],
    ['token', '/var/run/secrets/coxswain/token'],
    ['terminationMessage', '/dev/termination-log'],
  ])('%s is at %s', (what, path) => {
    expect(POD_PATHS[what]).toBe(path);
  });

  it.each<[keyof typeof POD_ENV, string]>([
    ['jobName', 'COXSWAIN_JOB_NAME'],
    ['jobUid', 'COXSWAIN_JOB_UID'],
    ['namespace', 'COXSWAIN_NAMESPACE'],
    ['podName', 'COXSWAIN_POD_NAME'],
    ['podUid', 'COXSWAIN_POD_UID'],
    ['podIp', 'COXSWAIN_POD_IP'],
    ['nodeName', 'COXSWAIN_NODE_NAME'],
    ['podIndex', 'COXSWAIN_POD_INDEX'],
    ['epoch', 'COXSWAIN_EPOCH'],
    ['reportUrls', 'COXSWAIN_REPORT_URLS'],
    ['reportCa', 'COXSWAIN_REPORT_CA'],
    ['tokenFile', 'COXSWAIN_TOKEN_FILE'],
    ['checkpointMount', 'COXSWAIN_CHECKPOINT_MOUNT'],
    ['bucket', 'COXSWAIN_CHECKPOINT_BUCKET'],
    ['bucketKeyId', 'COXSWAIN_CHECKPOINT_BUCKET_KEY_ID'],
    ['bucketKey', 'COXSWAIN_CHECKPOINT_BUCKET_KEY'],
    ['keptLogs', 'COXSWAIN_KEPT_LOGS'],
    ['secretVariables', 'COXSWAIN_SECRET_VARIABLES'],
    ['gracePeriodSeconds', 'COXSWAIN_GRACE_PERIOD_SECONDS'],
    ['preflight', 'COXSWAIN_PREFLIGHT'],
    ['engineRun', 'COXSWAIN_ENGINE_RUN'],
    ['preflightTimeoutSeconds', 'COXSWAIN_PREFLIGHT_TIMEOUT_SECONDS'],
    ['preloadPyTorch', 'COXSWAIN_PRELOAD_PYTORCH'],
    ['memorySaves', 'COXSWAIN_MEMORY_SAVES'],
  ])('the launcher reads %s from %s', (what, variable) => {
    expect(POD_ENV[what]).toBe(variable);
  });

  it.each<[keyof typeof RANK_ENV, string]>([
    ['incarnation', 'COXSWAIN_INCARNATION'],
    ['saveDirectory', 'COXSWAIN_SAVE_DIR'],
    ['resumeFrom', 'COXSWAIN_RESUME_FROM'],
    ['resumeManifestSha256', 'COXSWAIN_RESUME_MANIFEST_SHA256'],
    ['resumeRoot', 'COXSWAIN_RESUME_ROOT'],
    ['resumeStep', 'COXSWAIN_RESUME_STEP'],
    ['memoryDirectory', 'COXSWAIN_MEMORY_DIR'],
    ['memorySaveEverySteps', 'COXSWAIN_MEMORY_SAVE_EVERY'],
    ['memorySaveBytes', 'COXSWAIN_MEMORY_SAVE_BYTES'],
    ['memoryResume', 'COXSWAIN_MEMORY_RESUME'],
    ['engineFiles', 'COXSWAIN_ENGINE_FILES'],
  ])('a rank reads %s from %s, which is documented', (what, variable) => {
    expect(RANK_ENV[what]).toBe(variable);
    expect(Object.keys(LAUNCHER_RANK_ENV)).toContain(variable);
  });

  it('a rank finds the variables of torchrun under their names', () => {
    expect(Object.keys(TORCH_RANK_ENV)).toEqual([
      'RANK',
      'WORLD_SIZE',
      'LOCAL_RANK',
      'LOCAL_WORLD_SIZE',
      'GROUP_RANK',
      'GROUP_WORLD_SIZE',
      'MASTER_ADDR',
      'MASTER_PORT',
      'TORCHELASTIC_RESTART_COUNT',
    ]);
  });

  it('a variable of a pod is none of a rank: each has one writer', () => {
    const ofRanks = new Set<string>([...Object.keys(LAUNCHER_RANK_ENV), ...Object.keys(TORCH_RANK_ENV)]);
    expect(Object.values(POD_ENV).filter((name) => ofRanks.has(name))).toEqual([]);
  });
});
