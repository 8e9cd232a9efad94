import {
  BucketAccess,
  CodeDigest,
  DEFAULT_PREFLIGHT,
  KeptLogBounds,
  MemorySaveBounds,
  POD_ENV,
  POD_PATHS,
  PREFLIGHT_LEVELS,
  type PreflightLevel,
} from '@coxswain/api-types';
import { z } from 'zod';

/** Variables that only the launcher and what it starts know; the operator does not write them into pods. */
export const LAUNCHER_ENV = {
  /** Unix socket on which a rank reports facts as JSON lines (`engine-facts.ts`). */
  reportSocket: 'COXSWAIN_REPORT_SOCKET',
  /** Marks every process that this launcher started, directly or not, so that none is overlooked at the end. */
  bootId: 'COXSWAIN_BOOT_ID',
  /** In a successor: its rank, and the descriptor over which the launcher speaks to it. */
  successorOf: 'COXSWAIN_SUCCESSOR_OF',
  successorChannel: 'COXSWAIN_SUCCESSOR_CHANNEL',
  /** File into which a rank writes which modules it imports, for its successor. */
  imports: 'COXSWAIN_IMPORTS_FILE',
  /** Path of the termination message where it is not the kubelet's default. */
  terminationLog: 'COXSWAIN_TERMINATION_LOG',
  /** How long ranks that failed wait for an operator to begin others in their place while none can be reached, in seconds. */
  patienceSeconds: 'COXSWAIN_PATIENCE_SECONDS',
  /** How long a launcher that was never given ranks tries to reach an operator, in seconds. */
  firstContactSeconds: 'COXSWAIN_FIRST_CONTACT_SECONDS',
  /** How long the mount of checkpoints may give no answer at all, in seconds. */
  mountPatienceSeconds: 'COXSWAIN_MOUNT_PATIENCE_SECONDS',
} as const;

const DEFAULT_GRACE_SECONDS = 30;
const DEFAULT_PATIENCE_SECONDS = 120;
/** Shorter than the rendezvous timeouts of its peers' engines: PyTorch's shortest, of its store, is 300 s. */
const DEFAULT_FIRST_CONTACT_SECONDS = 240;
/** A file server that takes over from another lets clients wait for its grace period: 90 s for NFS on Linux. */
const DEFAULT_MOUNT_PATIENCE_SECONDS = 120;

const text = z.string().min(1, 'is empty').max(1024);
const integer = (low: number, high: number) =>
  z
    .string()
    .regex(/^\d{1,10}$/, 'is not a whole number')
    .transform(Number)
    .pipe(z.int().min(low).max(high));

const BucketVariables = z.object({
  [POD_ENV.bucket]: text.transform(toBucket).optional(),
  // Without rules: a sentence about what is wrong has the value.
  [POD_ENV.bucketKeyId]: z.string().optional(),
  [POD_ENV.bucketKey]: z.string().optional(),
});

const Environment = z.object({
  [POD_ENV.jobName]: text,
  [POD_ENV.jobUid]: text,
  [POD_ENV.namespace]: text,
  [POD_ENV.podName]: text,
  [POD_ENV.podUid]: text,
  [POD_ENV.podIp]: text,
  [POD_ENV.nodeName]: text,
  [POD_ENV.podIndex]: integer(0, 32_767),
  [POD_ENV.epoch]: integer(0, 2 ** 31),
  [POD_ENV.reportUrls]: text.transform(toUrls),
  [POD_ENV.reportCa]: z.string().optional(),
  [POD_ENV.tokenFile]: text.default(POD_PATHS.token),
  [POD_ENV.checkpointMount]: text.default(POD_PATHS.checkpoints),
  ...BucketVariables.shape,
  [POD_ENV.keptLogs]: text.transform(toKeptLogs).optional(),
  [POD_ENV.secretVariables]: z.string().default(''),
  [POD_ENV.codeSha256]: CodeDigest.optional(),
  [POD_ENV.codeDirectory]: text.default(POD_PATHS.code),
  // With the session token of temporary credentials it is long.
  [POD_ENV.codeUrl]: z.string().min(1).max(16_384).optional(),
  [POD_ENV.gracePeriodSeconds]: integer(0, 86_400).default(DEFAULT_GRACE_SECONDS),
  [POD_ENV.preflight]: z.enum(Object.keys(PREFLIGHT_LEVELS) as [PreflightLevel, ...PreflightLevel[]]).default('Off'),
  [POD_ENV.memorySaves]: text.transform(toMemorySaves).optional(),
  // A later release may know more values: what is not known starts no successor.
  [POD_ENV.preloadPyTorch]: z.string().optional(),
  [POD_ENV.preflightTimeoutSeconds]: integer(1, 600).default(DEFAULT_PREFLIGHT.timeoutSeconds),
  [LAUNCHER_ENV.terminationLog]: text.default(POD_PATHS.terminationMessage),
  [LAUNCHER_ENV.patienceSeconds]: integer(0, 86_400).default(DEFAULT_PATIENCE_SECONDS),
  [LAUNCHER_ENV.firstContactSeconds]: integer(0, 86_400).default(DEFAULT_FIRST_CONTACT_SECONDS),
  [LAUNCHER_ENV.mountPatienceSeconds]: integer(2, 86_400).default(DEFAULT_MOUNT_PATIENCE_SECONDS),
});

/** The settings of the launcher from its environment; durations in ms. Read once, at the start. */
export interface Settings {
  readonly jobName: string;
  readonly jobUid: string;
  readonly namespace: string;
  readonly podName: string;
  readonly podUid: string;
  readonly podIp: string;
  readonly nodeName: string;
  readonly podIndex: number;
  readonly epoch: number;
  /** Base URLs of the operator's report endpoint, one at least: ranks come from there alone. */
  readonly reportUrls: readonly string[];
  readonly reportCa: string | undefined;
  readonly tokenFile: string;
  /** Where the checkpoint claim is mounted, or a disk of the node on which saves are until they are in the bucket. */
  readonly checkpointMount: string;
  /** undefined: checkpoints stay where they are saved. */
  readonly bucket: BucketSettings | undefined;
  /** How much of the ranks' logs is kept beside the checkpoints; undefined: nothing. */
  readonly keptLogs: KeptLogBounds | undefined;
  /** Which saves the ranks keep in memory; undefined: none. */
  readonly memorySaves: MemorySaveBounds | undefined;
  /** Names of variables whose values are from Secrets. */
  readonly secretVariables: readonly string[];
  /** undefined: ranks run what is in the image. */
  readonly code: CodeSettings | undefined;
  /** Preflight before the first rank, once every pod of the gang has started. */
  readonly preflight: { readonly level: PreflightLevel; readonly timeoutMs: number };
  /** Whether a second process of each rank imports PyTorch and waits for a restart. */
  readonly preloadsPyTorch: boolean;
  readonly patienceMs: number;
  readonly firstContactMs: number;
  readonly mountPatienceMs: number;
  readonly gracePeriodMs: number;
  readonly terminationLog: string;
}

/** The bucket that checkpoints are uploaded to. */
export interface BucketSettings extends BucketAccess {
  /** undefined: the identity of the pod. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
}

/** The archive of the job's own code. */
export interface CodeSettings {
  readonly sha256: string;
  readonly directory: string;
  /** Undefined: the operator knows no bucket. */
  readonly url: string | undefined;
}

/** Settings, or a sentence that says which variable is wrong. */
export type ParsedSettings =
  { readonly kind: 'settings'; readonly settings: Settings } | { readonly kind: 'refused'; readonly sentence: string };

/** Parses the pod's environment, or returns a sentence about what is wrong with it. */
export function parseSettings(environment: Readonly<Record<string, string | undefined>>): ParsedSettings {
  const parsed = Environment.safeParse(environment);
  if (!parsed.success) return { kind: 'refused', sentence: toSentence(parsed.error, environment) };
  const env = parsed.data;
  return {
    kind: 'settings',
    settings: {
      jobName: env[POD_ENV.jobName],
      jobUid: env[POD_ENV.jobUid],
      namespace: env[POD_ENV.namespace],
      podName: env[POD_ENV.podName],
      podUid: env[POD_ENV.podUid],
      podIp: env[POD_ENV.podIp],
      nodeName: env[POD_ENV.nodeName],
      podIndex: env[POD_ENV.podIndex],
      epoch: env[POD_ENV.epoch],
      reportUrls: env[POD_ENV.reportUrls],
      reportCa: env[POD_ENV.reportCa],
      tokenFile: env[POD_ENV.tokenFile],
      checkpointMount: env[POD_ENV.checkpointMount],
      bucket: bucketOf(env),
      keptLogs: env[POD_ENV.keptLogs],
      memorySaves: env[POD_ENV.memorySaves],
      secretVariables: env[POD_ENV.secretVariables].split(',').filter((name) => name !== ''),
      code: codeOf(env),
      preflight: { level: env[POD_ENV.preflight], timeoutMs: env[POD_ENV.preflightTimeoutSeconds] * 1000 },
      preloadsPyTorch: env[POD_ENV.preloadPyTorch] === 'WhenPossible',
      patienceMs: env[LAUNCHER_ENV.patienceSeconds] * 1000,
      firstContactMs: env[LAUNCHER_ENV.firstContactSeconds] * 1000,
      mountPatienceMs: env[LAUNCHER_ENV.mountPatienceSeconds] * 1000,
      gracePeriodMs: env[POD_ENV.gracePeriodSeconds] * 1000,
      terminationLog: env[LAUNCHER_ENV.terminationLog],
    },
  };
}

/** The bucket that the environment names, also of a pod that only verifies; undefined: none, or none that can be understood. */
export function bucketIn(environment: Readonly<Record<string, string | undefined>>): BucketSettings | undefined {
  const parsed = BucketVariables.safeParse(environment);
  return parsed.success ? bucketOf(parsed.data) : undefined;
}

function bucketOf(env: z.infer<typeof BucketVariables>): BucketSettings | undefined {
  const access = env[POD_ENV.bucket];
  if (access === undefined) return undefined;
  const accessKeyId = env[POD_ENV.bucketKeyId] ?? '';
  const secretAccessKey = env[POD_ENV.bucketKey] ?? '';
  const isGiven = accessKeyId !== '' && secretAccessKey !== '';
  return { ...access, credentials: isGiven ? { accessKeyId, secretAccessKey } : undefined };
}

function codeOf(env: z.infer<typeof Environment>): CodeSettings | undefined {
  const sha256 = env[POD_ENV.codeSha256];
  if (sha256 === undefined) return undefined;
  return { sha256, directory: env[POD_ENV.codeDirectory], url: env[POD_ENV.codeUrl] };
}

function toBucket(value: string, context: z.RefinementCtx): BucketAccess {
  try {
    return BucketAccess.parse(JSON.parse(value));
  } catch {
    context.addIssue({ code: 'custom', message: 'is no bucket' });
    return z.NEVER;
  }
}

/** Logs are no reason to start no rank: what cannot be understood, such as bounds of a later release, keeps nothing. */
function toKeptLogs(value: string): KeptLogBounds | undefined {
  try {
    return KeptLogBounds.parse(JSON.parse(value));
  } catch {
    return undefined;
  }
}

/** A later release may have other bounds: ranks then keep no saves in memory. */
function toMemorySaves(value: string): MemorySaveBounds | undefined {
  try {
    return MemorySaveBounds.parse(JSON.parse(value));
  } catch {
    return undefined;
  }
}

function toUrls(value: string, context: z.RefinementCtx): readonly string[] {
  const urls = value
    .split(',')
    .map((url) => url.trim().replace(/\/+$/, ''))
    .filter((url) => url !== '');
  for (const url of urls) {
    if (!isHttpsBase(url))
      context.addIssue({ code: 'custom', message: `holds ${url}, which is not https://host:port` });
  }
  if (urls.length === 0) context.addIssue({ code: 'custom', message: 'is empty' });
  return urls;
}

/** Whether `url` is a base URL that a token may be sent to. */
export function isHttpsBase(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, pathname, search, hash, username } = new URL(url);
  return protocol === 'https:' && pathname === '/' && search === '' && hash === '' && username === '';
}

function toSentence(error: z.ZodError, environment: Readonly<Record<string, string | undefined>>): string {
  const problems = error.issues.map((issue) => {
    const name = String(issue.path[0] ?? 'the environment');
    const value = environment[name];
    if (value === undefined && issue.code === 'invalid_type') return `${name} is missing`;
    const isOurs = /^(is|holds) /.test(issue.message);
    return isOurs ? `${name} ${issue.message}` : `${name} is ${JSON.stringify(value)}: ${issue.message}`;
  });
  return (
    `The launcher cannot start: ${problems.join('; ')}. ` +
    'The operator writes these variables into every pod of a gang; start the launcher through a TrainingJob.'
  );
}
