import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import {
  type CodeBucket,
  codeBucketOf,
  CodeBucketVariables,
  DisruptionNoticeRule,
  KeptLogBounds,
  MAX_NOTICE_RULES,
  ObjectName,
} from '@coxswain/api-types';
import { HEALTH_SETTINGS } from '@coxswain/health';
import { MeasuredGpus } from '@coxswain/job-planning';
import { urlHostOf } from '@coxswain/kube';
import {
  DEFAULT_RETENTION,
  DEFAULT_TIMEOUTS,
  QUARANTINE_MODES,
  type QuarantineMode,
  type Retention,
  type Timeouts,
} from '@coxswain/lifecycle';
import type { ClaimRules } from '@coxswain/scheduling';
import { LOG_LEVELS } from '@coxswain/telemetry';
import { z } from 'zod';
import { otherControllers, type OtherControllers, otherControllerVariables } from './other-controllers.ts';
import { json } from './json-variable.ts';
import { type WorkerPlacement, workerVariables } from './worker-placement.ts';
import { makeRoomRules, makeRoomVariables } from './make-room.ts';
import { baseUrl, listenHost, urlList } from './addresses.ts';

const port = z.coerce.number().int().min(0).max(65_535);
const durationMs = z.coerce.number().int().min(1).max(86_400_000);
/** Not one: the newest may turn out to be damaged. */
const kept = z.coerce.number().int().min(2).max(100_000);

const noticeRules = json('[]', 'list of rules such as [{"name":"ours","taint":"example.com/leaving"}]').pipe(
  z.array(DisruptionNoticeRule).max(MAX_NOTICE_RULES),
);

const measuredGpus = json(
  '{}',
  'object of profiles by type of GPU, such as {"h100":{"name":"ours","factors":[…]}}',
).pipe(MeasuredGpus);

const keptLogs = json('{}', 'object of bounds such as {"rankBytes":16777216}').pipe(KeptLogBounds);

/** Every variable that the operator reads, with its default and meaning. */
const Environment = z.object({
  COXSWAIN_KUBECONFIG: z
    .string()
    .min(1)
    .optional()
    .describe('Kubeconfig file; absent: the service account of the pod.'),
  COXSWAIN_NAMESPACE: ObjectName.default('coxswain-system').describe('Where the Lease and the Secret of the CA live.'),
  COXSWAIN_IDENTITY: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('Name of this replica; a random part is added per start.'),
  COXSWAIN_LEASE_NAME: ObjectName.default('coxswain-operator'),
  COXSWAIN_LEASE_DURATION_MS: durationMs
    .default(8_000)
    .describe('A leader that has not renewed for so long is replaced. Why 8 s: ADR 0019.'),
  COXSWAIN_LEASE_RENEW_DEADLINE_MS: durationMs
    .default(6_000)
    .describe('A leader that could not renew for so long ends.'),
  COXSWAIN_LEASE_RETRY_PERIOD_MS: durationMs
    .default(1_500)
    .describe('How often a leader renews its lease, and how often a follower reads it.'),
  COXSWAIN_WORKERS: z.coerce.number().int().min(1).max(64).default(8).describe('Jobs reconciled at the same time.'),
  COXSWAIN_POD_NEWS_INTERVAL_MS: durationMs
    .default(200)
    .describe(
      'However often the pods of a gang change, its job is looked at once in this time; a failure is seen that much later.',
    ),
  COXSWAIN_RESYNC_INTERVAL_MS: durationMs
    .default(300_000)
    .describe('Every job is looked at once in this time, whatever happens.'),
  COXSWAIN_REPORT_LISTEN_HOST: listenHost,
  COXSWAIN_REPORT_LISTEN_PORT: port.default(9443),
  COXSWAIN_REPORT_URLS: urlList.describe(
    'Base URLs written into pods: every replica, or the Service in front of them.',
  ),
  COXSWAIN_REPORT_OWN_URL: baseUrl
    .optional()
    .describe(
      'Base URL of this replica alone, which a follower names as the leader’s; default: the first of the URLs.',
    ),
  COXSWAIN_REPORT_OWN_HOST: z
    .union([z.ipv4(), z.ipv6()], { error: 'must be an address of IPv4 or IPv6' })
    .optional()
    .describe('Address of this pod, from which COXSWAIN_REPORT_OWN_URL is made where that is not given.'),
  COXSWAIN_SERIES_READERS: z
    .string()
    .default('')
    .transform((list) => list.split(',').map((name) => name.trim()))
    .pipe(z.array(z.string().regex(/^([a-z0-9.-]+:[a-z0-9.-]+)?$/, 'must be namespace:serviceaccount')))
    .describe('Service accounts that may read the series stream, as namespace:name separated by commas.'),
  COXSWAIN_HEALTH_WINDOW_MS: durationMs
    .default(60_000)
    .describe('Ranks are compared over so long; who stands out in three of five windows is named as slow.'),
  COXSWAIN_IDLE_GANG_MS: durationMs
    .default(HEALTH_SETTINGS.standing.idleMs)
    .describe(
      'A gang without a step, a collective, CPU time and output for so long is an incident, with stack traces; it is not ended for that.',
    ),
  COXSWAIN_HEALTH_TRACE_DIRECTORY: z
    .string()
    .min(1)
    .optional()
    .describe(
      'What ranks tell is written here for `coxswain health replay`: at most 256 MiB of a run, the 8 newest runs. Unset: nowhere.',
    ),
  COXSWAIN_LAUNCHER_IMAGE: z.string().min(1).describe('Image whose coxswain-launcher is copied into every pod.'),
  COXSWAIN_POD_USER: z.coerce
    .number()
    .int()
    .min(1)
    .max(2_147_483_647)
    .optional()
    .describe(
      'Number of the user as whom ranks run where their runtime leaves it open, with a home of its own. Unset: the image’s own user.',
    ),
  COXSWAIN_KEPT_LOGS: keptLogs.describe(
    'How much of the ranks’ logs is kept beside the checkpoints, as a JSON object: rankBytes (0: no logs are kept), jobBytes, projectBytes.',
  ),
  ...workerVariables,
  COXSWAIN_HEALTH_LISTEN_HOST: listenHost,
  COXSWAIN_HEALTH_LISTEN_PORT: port.default(8081),
  COXSWAIN_METRICS_LISTEN_HOST: listenHost,
  COXSWAIN_METRICS_LISTEN_PORT: port.default(8082),
  COXSWAIN_METRICS_TOKEN_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File with the bearer token that a scrape of metrics needs; it may be replaced. Unset: no metrics are served.',
    ),
  COXSWAIN_LIVENESS_PORT: port
    .optional()
    .describe('Where a thread of its own answers `GET /healthz`, however busy the process is; absent: nowhere.'),
  COXSWAIN_LIVENESS_STALL_MS: durationMs
    .default(60_000)
    .describe('Longest time without a turn of the event loop in which that answer is 200.'),
  COXSWAIN_LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  COXSWAIN_NODE_GRACE_MS: durationMs
    .default(DEFAULT_TIMEOUTS.nodeGraceMs)
    .describe('How long a node may be not ready, with its launcher silent, before a gang gives it up.'),
  COXSWAIN_CREATING_TIMEOUT_MS: durationMs
    .default(DEFAULT_TIMEOUTS.creatingMs)
    .describe('How long the creation of a gang’s pods may take.'),
  COXSWAIN_SCHEDULING_TIMEOUT_MS: durationMs
    .default(DEFAULT_TIMEOUTS.schedulingMs)
    .describe('How long after its release every pod of a gang must have a node.'),
  COXSWAIN_STARTING_TIMEOUT_MS: durationMs
    .default(DEFAULT_TIMEOUTS.startingMs)
    .describe('How long after that every container must run, beside pulls of the trainer’s image.'),
  COXSWAIN_PULLING_TIMEOUT_MS: durationMs
    .default(DEFAULT_TIMEOUTS.pullingMs)
    .describe('How long pulls of the trainer’s image may take, where its runtime says nothing else.'),
  COXSWAIN_STOPPING_TIMEOUT_MS: durationMs
    .default(DEFAULT_TIMEOUTS.stoppingMs)
    .describe('How long beyond its grace a deleted pod is waited for before it is fenced.'),
  COXSWAIN_REAPING_TIMEOUT_MS: durationMs
    .default(DEFAULT_TIMEOUTS.reapingMs)
    .describe('How long after a failure every launcher must have ended its ranks, to start them again in their pods.'),
  COXSWAIN_AVOIDED_NODE_MS: durationMs
    .default(DEFAULT_TIMEOUTS.avoidedMs)
    .describe('How long a node that failed a job is avoided by it.'),
  COXSWAIN_SHRINK_AFTER_MS: durationMs
    .default(DEFAULT_TIMEOUTS.shrinkMs)
    .describe('How long a job that may run on fewer GPUs waits for all of them.'),
  COXSWAIN_GROW_AFTER_MS: durationMs
    .default(DEFAULT_TIMEOUTS.growMs)
    .describe('How long GPUs have to be free before a job that runs on fewer than it asks for takes them.'),
  COXSWAIN_GROW_COSTS: z.coerce
    .number()
    .min(0)
    .max(100)
    .default(DEFAULT_TIMEOUTS.growCosts)
    .describe(
      'How many times the measured time of a change of size a growth has to gain. A gang runs for five times as long before it grows. 0: each growth pays.',
    ),
  COXSWAIN_DISRUPTION_NOTICES: noticeRules.describe(
    'Which marks of Nodes announce that they go away, beside the built-in ones, as a JSON list.',
  ),
  COXSWAIN_MEASURED_GPUS: measuredGpus.describe(
    'Profiles of `coxswain calibrate` by type of GPU, as a JSON object: what the plans of jobs stand on beside what is usual.',
  ),
  COXSWAIN_QUARANTINE: z
    .enum(Object.keys(QUARANTINE_MODES) as [QuarantineMode, ...QuarantineMode[]])
    .default('Conditions')
    .describe('What quarantines a node: nothing, its own conditions, or also failures of jobs of two namespaces.'),
  COXSWAIN_PUBLISH_FABRIC_LABELS: z
    .stringbool()
    .default(false)
    .describe(
      'Whether Nodes carry labels topology.coxswain.dev/… of what was concluded of them; else such are taken away.',
    ),
  ...makeRoomVariables,
  ...otherControllerVariables,
  ...CodeBucketVariables.shape,
  COXSWAIN_CHECKPOINTS_KEPT: kept
    .default(DEFAULT_RETENTION.checkpoints)
    .describe('Checkpoint objects of a job that are kept, newest first; older ones are deleted, their files are not.'),
  COXSWAIN_CHECKPOINTS_KEPT_OF_FINISHED: kept
    .default(DEFAULT_RETENTION.checkpointsOfFinished)
    .describe('The same, of a finished job.'),
  COXSWAIN_BACKGROUND_VERIFICATION_BYTES_PER_HOUR: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .default(10e9)
    .describe(
      'Bytes that pods may read in an hour, in all namespaces, before no checkpoint is verified without a request. 0: none is.',
    ),
  COXSWAIN_PROVISIONING_CLASS: z
    .string()
    .max(253)
    .regex(
      /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$/,
      'must be a name of lower-case letters, digits, - and .',
    )
    .default('best-effort-atomic-scale-up.autoscaling.x-k8s.io')
    .describe(
      'Class of the ProvisioningRequests by which nodes are asked for that do not exist yet, where the cluster serves them. Empty: none are asked for.',
    ),
  COXSWAIN_HEARTBEAT_TIMEOUT_MS: durationMs.default(60_000).describe('Silence after which a connection is closed.'),
});

/** Configuration of the operator. No other code reads the environment. */
export interface Config extends OtherControllers {
  readonly kubeconfigPath: string | undefined;
  readonly namespace: string;
  readonly identity: string;
  readonly lease: {
    readonly name: string;
    readonly durationMs: number;
    readonly renewDeadlineMs: number;
    readonly retryPeriodMs: number;
  };
  readonly workers: number;
  readonly timeouts: Timeouts;
  readonly retention: Retention;
  /** Beside the built-in ones. */
  readonly noticeRules: readonly DisruptionNoticeRule[];
  readonly measuredGpus: MeasuredGpus;
  readonly quarantine: QuarantineMode;
  readonly publishesFabricLabels: boolean;
  /** Rules by which running jobs make room for waiting ones of higher priority; undefined: none does. */
  readonly makesRoom: ClaimRules | undefined;
  /** undefined: nodes that do not exist yet are not asked for. */
  readonly provisioningClass: string | undefined;
  readonly podNewsIntervalMs: number;
  /** Bytes that workers may read in an hour before none is started in the background. */
  readonly backgroundBytesPerHour: number;
  readonly resyncIntervalMs: number;
  readonly reports: {
    readonly listenHost: string;
    readonly listenPort: number;
    readonly urls: readonly string[];
    readonly ownUrl: string;
    /** User names as the API server spells them (system:serviceaccount:namespace:name). */
    readonly seriesReaders: readonly string[];
    readonly heartbeatTimeoutMs: number;
    readonly healthWindowMs: number;
    /** Time without any sign of work after which a gang is an incident. */
    readonly idleMs: number;
    readonly healthTraceDirectory: string | undefined;
  };
  readonly pods: {
    readonly launcherImage: string;
    readonly user: number | undefined;
    readonly keptLogs: KeptLogBounds;
    /** Of pods that read or write saves beside jobs. */
    readonly workers: WorkerPlacement;
  };
  /** From which pods get the code of their job; undefined: jobs have none of their own. */
  readonly codeBucket: CodeBucket | undefined;
  readonly health: { readonly listenHost: string; readonly listenPort: number };
  readonly metrics: {
    readonly listenHost: string;
    readonly listenPort: number;
    /** undefined: no metrics are served. */
    readonly tokenFile: string | undefined;
  };
  /** On the host of `health`. Undefined port: liveness probes have no thread of their own. */
  readonly liveness: { readonly port: number | undefined; readonly maxStallMs: number };
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

/**
 * Reads the configuration from an environment and freezes it; empty variables count as unset. Throws one error that names every variable that is wrong, with its rule;
 * values are not repeated, because a variable may have been given a secret by mistake.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = Environment.safeParse(present);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`the operator cannot start with this environment:\n${problems.join('\n')}`);
  }
  const env = parsed.data;
  if (env.COXSWAIN_LEASE_RENEW_DEADLINE_MS >= env.COXSWAIN_LEASE_DURATION_MS) {
    throw new Error(
      `COXSWAIN_LEASE_RENEW_DEADLINE_MS (${env.COXSWAIN_LEASE_RENEW_DEADLINE_MS}) must be below ` +
        `COXSWAIN_LEASE_DURATION_MS (${env.COXSWAIN_LEASE_DURATION_MS}), or two replicas could lead at once`,
    );
  }
  return deepFreeze({
    kubeconfigPath: env.COXSWAIN_KUBECONFIG,
    namespace: env.COXSWAIN_NAMESPACE,
    identity: `${env.COXSWAIN_IDENTITY ?? hostname()}-${randomBytes(4).toString('hex')}`,
    lease: {
      name: env.COXSWAIN_LEASE_NAME,
      durationMs: env.COXSWAIN_LEASE_DURATION_MS,
      renewDeadlineMs: env.COXSWAIN_LEASE_RENEW_DEADLINE_MS,
      retryPeriodMs: env.COXSWAIN_LEASE_RETRY_PERIOD_MS,
    },
    workers: env.COXSWAIN_WORKERS,
    timeouts: {
      nodeGraceMs: env.COXSWAIN_NODE_GRACE_MS,
      creatingMs: env.COXSWAIN_CREATING_TIMEOUT_MS,
      schedulingMs: env.COXSWAIN_SCHEDULING_TIMEOUT_MS,
      startingMs: env.COXSWAIN_STARTING_TIMEOUT_MS,
      pullingMs: env.COXSWAIN_PULLING_TIMEOUT_MS,
      stoppingMs: env.COXSWAIN_STOPPING_TIMEOUT_MS,
      reapingMs: env.COXSWAIN_REAPING_TIMEOUT_MS,
      avoidedMs: env.COXSWAIN_AVOIDED_NODE_MS,
      shrinkMs: env.COXSWAIN_SHRINK_AFTER_MS,
      growMs: env.COXSWAIN_GROW_AFTER_MS,
      growCosts: env.COXSWAIN_GROW_COSTS,
    },
    retention: {
      checkpoints: env.COXSWAIN_CHECKPOINTS_KEPT,
      checkpointsOfFinished: env.COXSWAIN_CHECKPOINTS_KEPT_OF_FINISHED,
    },
    noticeRules: env.COXSWAIN_DISRUPTION_NOTICES,
    measuredGpus: env.COXSWAIN_MEASURED_GPUS,
    quarantine: env.COXSWAIN_QUARANTINE,
    publishesFabricLabels: env.COXSWAIN_PUBLISH_FABRIC_LABELS,
    makesRoom: makeRoomRules(env),
    ...otherControllers(env),
    provisioningClass: env.COXSWAIN_PROVISIONING_CLASS === '' ? undefined : env.COXSWAIN_PROVISIONING_CLASS,
    backgroundBytesPerHour: env.COXSWAIN_BACKGROUND_VERIFICATION_BYTES_PER_HOUR,
    podNewsIntervalMs: env.COXSWAIN_POD_NEWS_INTERVAL_MS,
    resyncIntervalMs: env.COXSWAIN_RESYNC_INTERVAL_MS,
    reports: {
      listenHost: env.COXSWAIN_REPORT_LISTEN_HOST,
      listenPort: env.COXSWAIN_REPORT_LISTEN_PORT,
      urls: env.COXSWAIN_REPORT_URLS,
      ownUrl: ownUrlOf(env),
      seriesReaders: env.COXSWAIN_SERIES_READERS.filter((name) => name !== '').map(
        (name) => `system:serviceaccount:${name}`,
      ),
      heartbeatTimeoutMs: env.COXSWAIN_HEARTBEAT_TIMEOUT_MS,
      healthWindowMs: env.COXSWAIN_HEALTH_WINDOW_MS,
      idleMs: env.COXSWAIN_IDLE_GANG_MS,
      healthTraceDirectory: env.COXSWAIN_HEALTH_TRACE_DIRECTORY,
    },
    pods: {
      launcherImage: env.COXSWAIN_LAUNCHER_IMAGE,
      user: env.COXSWAIN_POD_USER,
      keptLogs: env.COXSWAIN_KEPT_LOGS,
      workers: env.COXSWAIN_WORKER_PODS,
    },
    codeBucket: codeBucketOf(env),
    health: { listenHost: env.COXSWAIN_HEALTH_LISTEN_HOST, listenPort: env.COXSWAIN_HEALTH_LISTEN_PORT },
    metrics: {
      listenHost: env.COXSWAIN_METRICS_LISTEN_HOST,
      listenPort: env.COXSWAIN_METRICS_LISTEN_PORT,
      tokenFile: env.COXSWAIN_METRICS_TOKEN_FILE,
    },
    liveness: { port: env.COXSWAIN_LIVENESS_PORT, maxStallMs: env.COXSWAIN_LIVENESS_STALL_MS },
    logLevel: env.COXSWAIN_LOG_LEVEL,
  });
}

function ownUrlOf(env: z.infer<typeof Environment>): string {
  const { COXSWAIN_REPORT_OWN_HOST: host, COXSWAIN_REPORT_LISTEN_PORT: listenPort } = env;
  const ofPod = host === undefined ? undefined : `https://${urlHostOf(host)}:${listenPort}`;
  return env.COXSWAIN_REPORT_OWN_URL ?? ofPod ?? env.COXSWAIN_REPORT_URLS[0] ?? '';
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}
