import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { ObjectName, type PriceList } from '@coxswain/api-types';
import { listenHostOf } from '@coxswain/kube';
import { LOG_LEVELS, type LogLevel } from '@coxswain/telemetry';
import { z } from 'zod';
import { type AuditConfig, auditConfigOf, AuditEnvironment } from './audit-config.ts';
import { type CodeConfig, codeConfigOf, CodeEnvironment } from './code-config.ts';
import { type LinkConfig, LinkEnvironment, linkConfigOf } from './links-config.ts';
import { limit, type ReplicaConfig, replicaConfigOf, ReplicaEnvironment } from './replica-config.ts';
import { mailConfigOf, MailEnvironment, type MailSettings } from './mail-config.ts';
import { PricesEnvironment } from './prices-config.ts';
import { type SignInConfig, signInConfigOf, SignInEnvironment } from './sign-in-config.ts';

/** Which parts this process runs: HTTP and projection, the queue worker, or everything. */
export const PROCESS_ROLES = ['api', 'worker', 'all'] as const;
/** One entry of {@link PROCESS_ROLES}. */
export type ProcessRole = (typeof PROCESS_ROLES)[number];

const file = z.string().min(1).max(4096);
const databaseUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgresql:// URL' }).optional();
/** 0: for ever. */
const days = (most: number): z.ZodDefault<z.ZodCoercedNumber> =>
  z.coerce.number().int().min(0).max(36_500).default(most);
const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  );

/** An address or range of IPv4 or IPv6, or a word of Fastify for several. */
const PROXY =
  /^(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9a-f]*:[0-9a-f:.]+)(?:\/[0-9]{1,3})?$|^(?:loopback|linklocal|uniquelocal)$/i;

/** An address of IPv4 or IPv6 and how many of its bits count. */
function isRange(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  const version = isIP(address);
  const most = version === 4 ? 32 : 128;
  return version !== 0 && !address.includes('%') && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most;
}

/** Every variable that the API reads, with its default and meaning. */
const Environment = SignInEnvironment.extend(MailEnvironment.shape)
  .extend(ReplicaEnvironment.shape)
  .extend(CodeEnvironment.shape)
  .extend(LinkEnvironment.shape)
  .extend(AuditEnvironment.shape)
  .extend(PricesEnvironment.shape)
  .extend({
    DATABASE_URL: databaseUrl.describe('With the role that serves requests.'),
    DATABASE_URL_FILE: file
      .optional()
      .describe('File that holds the URL; for a mounted Secret. Each URL below has one too.'),
    COXSWAIN_SYSTEM_DATABASE_URL: databaseUrl.describe(
      'With the role that mirrors the cluster and carries jobs to it.',
    ),
    COXSWAIN_SYSTEM_DATABASE_URL_FILE: file.optional(),
    COXSWAIN_QUEUE_DATABASE_URL: databaseUrl.describe('With the role that uses the queue’s schema.'),
    COXSWAIN_QUEUE_DATABASE_URL_FILE: file.optional(),
    COXSWAIN_MIGRATOR_DATABASE_URL: databaseUrl.describe('With the role that makes tables and policies.'),
    COXSWAIN_MIGRATOR_DATABASE_URL_FILE: file.optional(),
    COXSWAIN_DATABASE_SINGLE_ROLE: z
      .stringbool()
      .default(false)
      .describe('One role for everything, and no policy that binds it: only until the roles have been made.'),
    COXSWAIN_DATABASE_CONNECTIONS: z.coerce
      .number()
      .int()
      .min(2)
      .max(200)
      .default(10)
      .describe('Of requests; what goes on by itself has half as many beside them.'),
    COXSWAIN_ROLE: z.enum(PROCESS_ROLES).default('all'),
    COXSWAIN_LISTEN_HOST: z
      .string()
      .min(1)
      .default('127.0.0.1')
      .transform((host) => listenHostOf(host))
      .describe('`*`: every address of the machine, of both families.'),
    COXSWAIN_LISTEN_PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
    COXSWAIN_CLUSTER_NAME: ObjectName.default('default').describe('Name of the one cluster that this API serves.'),
    COXSWAIN_CLUSTER_ID: z
      .uuid()
      .optional()
      .describe('Its id, when rows made elsewhere must match; default: made once.'),
    COXSWAIN_NAMESPACE: ObjectName.default('coxswain-system').describe(
      'Where Coxswain itself runs; no project owns it.',
    ),
    COXSWAIN_PROJECT_NAMESPACES: list.describe(
      'Namespaces that projects may own, separated by commas, `*` for any characters; empty: all but those of the system.',
    ),
    COXSWAIN_API_NAMESPACES: list
      .pipe(z.array(ObjectName))
      .describe(
        'The only namespaces in which the API reads and writes jobs and reads pods and logs, separated by commas. If empty, all.',
      ),
    COXSWAIN_KUBECONFIG: file.optional().describe('Kubeconfig file; absent: the service account of the pod.'),
    COXSWAIN_SERVICE_ACCOUNTS: z
      .stringbool()
      .default(false)
      .describe('Lets service accounts of the cluster in; the API then needs the right to create tokenreviews.'),
    COXSWAIN_SERVICE_ACCOUNT_AUDIENCE: z
      .string()
      .regex(/^[!-~]{1,253}$/, 'must be 1 to 253 printable characters without spaces')
      .default('coxswain-api')
      .describe('The audience that tokens of service accounts must have; never that of the API server.'),
    COXSWAIN_OPERATOR_SERIES_URLS: list
      .pipe(z.array(z.url({ protocol: /^https$/, error: 'must be https URLs separated by commas' })))
      .describe('Base URLs of every operator replica; empty: no series are stored.'),
    COXSWAIN_OPERATOR_CA_FILE: file
      .optional()
      .describe('CA of the operator’s endpoint, PEM; read anew at each connection.'),
    COXSWAIN_OPERATOR_TOKEN_FILE: file
      .optional()
      .describe('Service account token with audience coxswain-operator; read anew at each connection.'),
    COXSWAIN_BOOTSTRAP_TOKEN_FILE: file
      .optional()
      .describe('Where the first administrator’s token is written (mode 0600) when no administrator’s token is good.'),
    COXSWAIN_TOKEN_LIFETIME_DAYS: z.coerce
      .number()
      .int()
      .min(1)
      .max(3_650)
      .default(90)
      .describe('When a token expires for which nobody said otherwise.'),
    COXSWAIN_TRUSTED_PROXIES: list
      .pipe(z.array(z.string().regex(PROXY, 'must be addresses or ranges such as 10.0.0.0/8, separated by commas')))
      .describe('Proxies whose X-Forwarded-For header is trusted. If empty, the client is the address that connects.'),
    COXSWAIN_MAX_CONNECTIONS: limit(8_192).describe(
      'Open to one replica; at most a quarter of them where nobody was let in. 0: no limit.',
    ),
    COXSWAIN_PROJECT_REQUESTS_PER_SECOND: limit(200).describe('Of one project, to one replica, for ever; 0: no limit.'),
    COXSWAIN_PROJECT_REQUEST_BURST: limit(1_000)
      .pipe(z.number().min(1))
      .describe('Of one project at once, after a rest.'),
    COXSWAIN_PROJECT_CHANGES_PER_SECOND: limit(20).describe(
      'Creates, resumes and changes of labels of the jobs of one project, to one replica, for ever; 0: no limit.',
    ),
    COXSWAIN_PROJECT_CHANGE_BURST: limit(500).pipe(z.number().min(1)).describe('Of the same at once, after a rest.'),
    COXSWAIN_PROJECT_WRITES_PER_MINUTE: limit(120).describe(
      'Requests of one project that may change something, to one replica, for ever; the audit has an entry of each. 0: no limit.',
    ),
    COXSWAIN_PROJECT_WRITE_BURST: limit(3_000).pipe(z.number().min(1)).describe('Of these at once, after a rest.'),
    COXSWAIN_PROJECT_CONCURRENT_REQUESTS: limit(50).describe('Of one project under way in one replica; 0: no limit.'),
    COXSWAIN_PROJECT_MAX_JOBS: limit(1_000).describe('Of one project that have not ended; 0: no limit.'),
    COXSWAIN_PROJECT_MAX_ENDED_JOBS: limit(2_000).describe(
      'Of one project that have ended and are still in the cluster; 0: no limit.',
    ),
    COXSWAIN_PROJECT_MAX_LAYOUTS: limit(500).describe('That one project keeps; 0: no limit.'),
    COXSWAIN_PROJECT_MAX_TOKENS: limit(100).describe('Of one project that are good; 0: no limit.'),
    COXSWAIN_PROJECT_MAX_WEBHOOKS: limit(10).describe('Of one project; 0: no limit.'),
    COXSWAIN_PROJECT_MAX_PLANS: limit(8).describe(
      'Of one project that wait for the planner or are searched, in one replica; 0: no limit.',
    ),
    COXSWAIN_PROJECT_MAX_STORED_PLANS: limit(1_000).describe('That one project keeps, the newest; 0: no limit.'),
    COXSWAIN_PROJECT_MAX_JOB_RECORDS: limit(5_000).describe(
      'Of jobs of one project that are gone, the newest; 0: as many as there are.',
    ),
    COXSWAIN_JOB_RECORDS_DAYS: days(365).describe('Records of jobs, after they are gone. 0: for ever.'),
    COXSWAIN_PROJECT_MAX_STREAMS: limit(2_000).describe(
      'Of events of the jobs of one project, open in one replica, of all who watch; 0: no limit.',
    ),
    COXSWAIN_PRINCIPAL_MAX_STREAMS: limit(32).describe(
      'Of events and logs, that one principal has open in one replica; 0: no limit.',
    ),
    COXSWAIN_PROJECT_MAX_LOG_STREAMS: limit(64).describe(
      'Logs of one project that are read in one replica; 0: no limit.',
    ),
    COXSWAIN_STREAM_UNREAD_KIB: z.coerce
      .number()
      .int()
      .min(64)
      .max(65_536)
      .default(1_024)
      .describe('A stream whose reader leaves more than this unread is closed with a request to reconnect.'),
    COXSWAIN_PLAN_SECONDS: z.coerce.number().int().min(1).max(3_600).default(30).describe('Longest search of a plan.'),
    COXSWAIN_PLAN_MEMORY_MIB: z.coerce
      .number()
      .int()
      .min(64)
      .max(65_536)
      .default(384)
      .describe(
        'Most heap of a search of a plan. Its process may hold 128 MiB beside that, and the process of short searches 256.',
      ),
    COXSWAIN_WEBHOOK_ALLOW_HTTP: z
      .stringbool()
      .default(false)
      .describe('Allows webhook endpoints with http URLs. Messages to them are not encrypted.'),
    COXSWAIN_WEBHOOK_ALLOWED_RANGES: list
      .pipe(z.array(z.string().refine(isRange, 'must be ranges such as 10.1.0.0/16 or fd00::/8, separated by commas')))
      .describe('Of addresses that are not public, to which messages may be sent all the same; empty: none.'),
    COXSWAIN_SERIES_STEPS_DAYS: days(30).describe(
      'Single steps of a job, after it ended; then its curve is drawn from levels. 0: for ever.',
    ),
    COXSWAIN_SERIES_LEVELS_DAYS: days(365).describe('Levels of ten steps and more, after the job ended. 0: for ever.'),
    COXSWAIN_DASHBOARD_DIRECTORY: file.optional().describe('Built dashboard; default: beside this program, if there.'),
    COXSWAIN_LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
    COXSWAIN_SHUTDOWN_MS: z.coerce.number().int().min(100).max(120_000).default(25_000),
  });

const CheckedEnvironment = Environment.refine(
  ({ COXSWAIN_SERIES_STEPS_DAYS: steps, COXSWAIN_SERIES_LEVELS_DAYS: levels }) =>
    levels === 0 || (steps > 0 && steps <= levels),
  {
    path: ['COXSWAIN_SERIES_LEVELS_DAYS'],
    message: 'must not be less than COXSWAIN_SERIES_STEPS_DAYS: a curve is drawn from levels; 0 keeps them for ever',
  },
);

/** Which namespaces the API serves. */
export interface NamespacesConfig {
  /** Where Coxswain itself runs. */
  readonly own: string;
  /** Names that projects may own, with `*` for any characters; empty: all but those of the system. */
  readonly allowed: readonly string[];
  /** The only namespaces that the API may read and write; empty: all. */
  readonly confinedTo: readonly string[];
}

/** What the parts of the API are given; nothing else reads the environment. */
export interface Config extends ReplicaConfig, AuditConfig {
  /** By the role that each logs in as; one and the same where nobody said otherwise. */
  readonly databaseUrls: {
    readonly runtime: string;
    readonly system: string;
    readonly queue: string;
    readonly migrator: string;
  };
  readonly hasSingleDatabaseRole: boolean;
  readonly databaseConnections: number;
  readonly role: ProcessRole;
  readonly listen: { readonly host: string; readonly port: number };
  readonly cluster: { readonly name: string; readonly id: string | undefined };
  readonly namespaces: NamespacesConfig;
  readonly kubeconfigPath: string | undefined;
  /** Undefined: accounts of Kubernetes are not let in. */
  readonly serviceAccountAudience: string | undefined;
  readonly operator: {
    readonly seriesUrls: readonly string[];
    readonly caFile: string | undefined;
    readonly tokenFile: string | undefined;
  };
  readonly bootstrapTokenFile: string | undefined;
  readonly tokenLifetimeDays: number;
  readonly trustedProxies: readonly string[];
  /** Of one process; 0: as many as come. */
  readonly maxConnections: number;
  /** Undefined: nobody signs in, tokens are all there is. */
  readonly signIn: SignInConfig | undefined;
  /** Of each project; 0: none. Requests, plans and streams are counted by each process for itself. */
  readonly projectLimits: {
    readonly requestsPerSecond: number;
    readonly requestBurst: number;
    readonly changesPerSecond: number;
    readonly changeBurst: number;
    readonly writesPerMinute: number;
    readonly writeBurst: number;
    readonly concurrentRequests: number;
    readonly jobs: number;
    readonly endedJobs: number;
    readonly layouts: number;
    readonly tokens: number;
    readonly webhooks: number;
    readonly plans: number;
    readonly storedPlans: number;
    readonly jobRecords: number;
    readonly streams: number;
    readonly streamsPerPrincipal: number;
    readonly logStreams: number;
    /** Never 0: a reader that does not read takes that much memory. */
    readonly unreadStreamKib: number;
  };
  readonly code: CodeConfig;
  /** Undefined: no mail is sent. */
  readonly mail: MailSettings | undefined;
  /** Where messages to endpoints may go beside https at public addresses. */
  readonly webhooks: { readonly allowsHttp: boolean; readonly allowedRanges: readonly string[] };
  /** What one plan may take. */
  readonly planBudget: { readonly seconds: number; readonly memoryMib: number };
  /** After the end of a job; 0: for ever. */
  readonly seriesRetention: { readonly stepsDays: number; readonly levelsDays: number };
  /** What is kept of jobs that are gone: the newest of each project, and for so long; 0: all, for ever. */
  readonly recordBounds: { readonly ofProject: number; readonly days: number };
  readonly links: LinkConfig;
  readonly prices: PriceList | undefined;
  readonly dashboardDirectory: string | undefined;
  readonly logLevel: LogLevel;
  readonly shutdownMs: number;
}

/** Reads and checks the environment; an error names every wrong variable and why, never its value. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const result = CheckedEnvironment.safeParse(present);
  if (!result.success) {
    const faults = result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`the environment cannot be used: ${faults.join('; ')}`);
  }
  const values = result.data;
  return deepFreeze({
    databaseUrls: databaseUrlsOf(values),
    hasSingleDatabaseRole: values.COXSWAIN_DATABASE_SINGLE_ROLE,
    databaseConnections: values.COXSWAIN_DATABASE_CONNECTIONS,
    role: values.COXSWAIN_ROLE,
    ...replicaConfigOf(values),
    listen: { host: values.COXSWAIN_LISTEN_HOST, port: values.COXSWAIN_LISTEN_PORT },
    cluster: { name: values.COXSWAIN_CLUSTER_NAME, id: values.COXSWAIN_CLUSTER_ID },
    namespaces: {
      own: values.COXSWAIN_NAMESPACE,
      allowed: values.COXSWAIN_PROJECT_NAMESPACES,
      confinedTo: [...new Set(values.COXSWAIN_API_NAMESPACES)],
    },
    kubeconfigPath: values.COXSWAIN_KUBECONFIG,
    serviceAccountAudience: values.COXSWAIN_SERVICE_ACCOUNTS ? values.COXSWAIN_SERVICE_ACCOUNT_AUDIENCE : undefined,
    operator: {
      seriesUrls: values.COXSWAIN_OPERATOR_SERIES_URLS.map((url) => url.replace(/\/+$/, '')),
      caFile: values.COXSWAIN_OPERATOR_CA_FILE,
      tokenFile: values.COXSWAIN_OPERATOR_TOKEN_FILE,
    },
    bootstrapTokenFile: values.COXSWAIN_BOOTSTRAP_TOKEN_FILE,
    tokenLifetimeDays: values.COXSWAIN_TOKEN_LIFETIME_DAYS,
    ...auditConfigOf(values),
    trustedProxies: values.COXSWAIN_TRUSTED_PROXIES,
    maxConnections: values.COXSWAIN_MAX_CONNECTIONS,
    signIn: signInConfigOf(values),
    projectLimits: {
      requestsPerSecond: values.COXSWAIN_PROJECT_REQUESTS_PER_SECOND,
      requestBurst: values.COXSWAIN_PROJECT_REQUEST_BURST,
      changesPerSecond: values.COXSWAIN_PROJECT_CHANGES_PER_SECOND,
      changeBurst: values.COXSWAIN_PROJECT_CHANGE_BURST,
      writesPerMinute: values.COXSWAIN_PROJECT_WRITES_PER_MINUTE,
      writeBurst: values.COXSWAIN_PROJECT_WRITE_BURST,
      concurrentRequests: values.COXSWAIN_PROJECT_CONCURRENT_REQUESTS,
      jobs: values.COXSWAIN_PROJECT_MAX_JOBS,
      endedJobs: values.COXSWAIN_PROJECT_MAX_ENDED_JOBS,
      layouts: values.COXSWAIN_PROJECT_MAX_LAYOUTS,
      tokens: values.COXSWAIN_PROJECT_MAX_TOKENS,
      webhooks: values.COXSWAIN_PROJECT_MAX_WEBHOOKS,
      plans: values.COXSWAIN_PROJECT_MAX_PLANS,
      storedPlans: values.COXSWAIN_PROJECT_MAX_STORED_PLANS,
      jobRecords: values.COXSWAIN_PROJECT_MAX_JOB_RECORDS,
      streams: values.COXSWAIN_PROJECT_MAX_STREAMS,
      streamsPerPrincipal: values.COXSWAIN_PRINCIPAL_MAX_STREAMS,
      logStreams: values.COXSWAIN_PROJECT_MAX_LOG_STREAMS,
      unreadStreamKib: values.COXSWAIN_STREAM_UNREAD_KIB,
    },
    code: codeConfigOf(values),
    mail: mailConfigOf(values),
    webhooks: { allowsHttp: values.COXSWAIN_WEBHOOK_ALLOW_HTTP, allowedRanges: values.COXSWAIN_WEBHOOK_ALLOWED_RANGES },
    planBudget: { seconds: values.COXSWAIN_PLAN_SECONDS, memoryMib: values.COXSWAIN_PLAN_MEMORY_MIB },
    seriesRetention: {
      stepsDays: values.COXSWAIN_SERIES_STEPS_DAYS,
      levelsDays: values.COXSWAIN_SERIES_LEVELS_DAYS,
    },
    recordBounds: { ofProject: values.COXSWAIN_PROJECT_MAX_JOB_RECORDS, days: values.COXSWAIN_JOB_RECORDS_DAYS },
    links: linkConfigOf(values),
    prices: values.COXSWAIN_PRICES,
    dashboardDirectory: values.COXSWAIN_DASHBOARD_DIRECTORY,
    logLevel: values.COXSWAIN_LOG_LEVEL,
    shutdownMs: values.COXSWAIN_SHUTDOWN_MS,
  });
}

function databaseUrlsOf(values: z.infer<typeof Environment>): Config['databaseUrls'] {
  const runtime = values.DATABASE_URL ?? contentOf(values.DATABASE_URL_FILE);
  if (runtime === undefined) {
    throw new Error('the environment cannot be used: set DATABASE_URL, or DATABASE_URL_FILE to a file that holds it');
  }
  if (values.COXSWAIN_DATABASE_SINGLE_ROLE) return { runtime, system: runtime, queue: runtime, migrator: runtime };
  const { COXSWAIN_SYSTEM_DATABASE_URL_FILE, COXSWAIN_QUEUE_DATABASE_URL_FILE, COXSWAIN_MIGRATOR_DATABASE_URL_FILE } =
    values;
  return {
    runtime,
    system: values.COXSWAIN_SYSTEM_DATABASE_URL ?? contentIfThere(COXSWAIN_SYSTEM_DATABASE_URL_FILE) ?? runtime,
    queue: values.COXSWAIN_QUEUE_DATABASE_URL ?? contentIfThere(COXSWAIN_QUEUE_DATABASE_URL_FILE) ?? runtime,
    migrator: values.COXSWAIN_MIGRATOR_DATABASE_URL ?? contentIfThere(COXSWAIN_MIGRATOR_DATABASE_URL_FILE) ?? runtime,
  };
}

function contentOf(path: string | undefined): string | undefined {
  return path === undefined ? undefined : readFileSync(path, 'utf8').trim();
}

/** A Secret of an installation that has one URL lacks the others: what to do about it is said where the role is looked at. */
function contentIfThere(path: string | undefined): string | undefined {
  return path !== undefined && existsSync(path) ? contentOf(path) : undefined;
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}
