import { ApiClient } from '@coxswain/api-client';
import { type CodeBucket, REPORT_TOKEN_AUDIENCE } from '@coxswain/api-types';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startControlPlane, type ControlPlane } from '../kubernetes/control-plane.ts';
import { createRunDirectory, persistentDirectory, type RunDirectory } from '../process/directories.ts';
import { freePort, requireFreePort } from '../process/ports.ts';
import { startPostgres, type Postgres } from '../postgres/postgres.ts';
import { startProcess, type ProcessExit, type ProcessHandle } from '../process/processes.ts';
import { waitFor } from '../process/wait.ts';
import { applyObjects, pathOf, type KubeObject } from '../kubernetes/apply.ts';
import { claimObjects } from './claim-objects.ts';
import { makeDatabaseRoles } from './database-roles.ts';
import { installChart, namespaceObject, SYSTEM_NAMESPACE } from './chart.ts';
import { type LocalBucket, startLocalBucket } from './local-bucket.ts';
import { LOCAL_IMAGES, writeImagesFile } from './local-images.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const READY_MS = 120_000;
const API_PORT = { use: 'the API', advice: 'Choose another port, or 0 for a free one.' };
/** Before an operator that ended by itself is started again: its first failure may last, and a loop would take the cores. */
const REVIVAL_DELAY_MS = 1_000;

export interface SystemOptions {
  /** Kept across stops and starts; a temporary one unless given. */
  readonly directory?: string;
  /** Nodes to play; `examples/fabrics/quickstart.yaml` unless given. */
  readonly fabricFile?: string;
  /** Port of API and dashboard; a free one unless given. */
  readonly apiPort?: number;
  /** Operator replicas; one unless given. */
  readonly operators?: number;
  /** Leases of seconds instead of a quarter of a minute, so that tests of a hand-over need not wait. */
  readonly shortLeases?: boolean;
  /** Settings of the operators beyond what they need here. */
  readonly operatorEnvironment?: Readonly<Record<string, string>>;
  /** Where API and operators keep archives of code; local: in a folder of this machine; nowhere unless given. */
  readonly codeBucket?: CodeBucket | 'local';
  /** Run the queue worker as a process of its own, so that it can be killed alone. */
  readonly separateWorker?: boolean;
  /** Where operators find the API server; its own address unless given. Asked once, when it is up. */
  readonly apiServerOfOperators?: (plane: ControlPlane) => Promise<string>;
  /** Have the API server log every request. */
  readonly audit?: boolean;
  /** Called before each step that takes a while, with its name. */
  readonly say?: (step: string) => void;
}

/** One operator replica: where it takes reports, and its process. */
export interface OperatorReplica {
  readonly reportUrl: string;
  readonly healthUrl: string;
  process: ProcessHandle;
}

/** The whole of Coxswain on this machine: Postgres, a Kubernetes control plane with local nodes, API, operators. */
export interface CoxswainSystem {
  readonly directory: string;
  readonly logsDirectory: string;
  readonly plane: ControlPlane;
  readonly postgres: Postgres;
  /** Of a superuser, for tests that look at rows. */
  readonly databaseUrl: string;
  readonly apiUrl: string;
  /** Of the cluster administrator. */
  readonly adminToken: string;
  readonly admin: ApiClient;
  readonly operators: readonly OperatorReplica[];
  api: ProcessHandle;
  worker: ProcessHandle | undefined;
  readonly nodes: ProcessHandle;
  readonly nodesDirectory: string;
  startApi(): Promise<ProcessHandle>;
  startWorker(): Promise<ProcessHandle>;
  startOperator(index: number): Promise<ProcessHandle>;
  /** A namespace with a claim on a folder of this machine for each name; returns the folders. */
  createNamespace(name: string, claims: readonly string[]): Promise<Readonly<Record<string, string>>>;
  /** Ends everything that was started, newest first. */
  stop(options?: { readonly keepLogs?: boolean }): Promise<void>;
}

/** Starts everything and waits until a job can be submitted. Ends what it started when something fails. */
export async function startSystem(options: SystemOptions = {}): Promise<CoxswainSystem> {
  const directory =
    options.directory === undefined ? createRunDirectory('system') : persistentDirectory(options.directory);
  const system = new LocalSystem(directory, options);
  try {
    await system.start();
    return system;
  } catch (error) {
    await system.stop({ keepLogs: true });
    throw new Error(`Coxswain did not start; logs are in ${directory.logs}`, { cause: error });
  }
}

function codeEnvironment(bucket: CodeBucket | undefined): Readonly<Record<string, string>> {
  if (bucket === undefined) return {};
  return {
    COXSWAIN_CODE_BUCKET_URI: bucket.uri,
    ...(bucket.endpoint === undefined ? {} : { COXSWAIN_CODE_BUCKET_ENDPOINT: bucket.endpoint }),
    COXSWAIN_CODE_BUCKET_KEY_ID: bucket.credentials.accessKeyId,
    COXSWAIN_CODE_BUCKET_KEY: bucket.credentials.secretAccessKey,
  };
}

class LocalSystem implements CoxswainSystem {
  readonly directory: string;
  readonly logsDirectory: string;
  readonly nodesDirectory: string;
  readonly operators: OperatorReplica[] = [];
  plane!: ControlPlane;
  postgres!: Postgres;
  databaseUrl!: string;
  apiUrl!: string;
  adminToken!: string;
  admin!: ApiClient;
  api!: ProcessHandle;
  worker: ProcessHandle | undefined;
  nodes!: ProcessHandle;
  readonly #options: SystemOptions;
  readonly #runDirectory: RunDirectory;
  #apiPort = 0;
  #apiEnvironment: Readonly<Record<string, string>> = {};
  readonly #operatorEnvironments: Readonly<Record<string, string>>[] = [];
  #localBucket: LocalBucket | undefined;
  #claims = 0;
  #isStopping = false;

  constructor(directory: RunDirectory, options: SystemOptions) {
    this.#runDirectory = directory;
    this.#options = options;
    this.directory = directory.path;
    this.logsDirectory = directory.logs;
    this.nodesDirectory = join(directory.data, 'nodes');
  }

  async start(): Promise<void> {
    if (this.#options.apiPort !== undefined) await requireFreePort(this.#options.apiPort, API_PORT);
    const say = this.#options.say ?? ((): void => undefined);
    const isDurable = this.#options.directory !== undefined;
    const below = (name: string) => ({ directory: join(this.#runDirectory.data, name), isDurable });
    say('PostgreSQL and the Kubernetes control plane');
    [this.postgres, this.plane] = await Promise.all([
      startPostgres(below('postgres')),
      startControlPlane({ ...below('kubernetes'), ...(this.#options.audit === true ? { audit: true } : {}) }),
    ]);
    say('Resource definitions and roles of the chart');
    await installChart(this.plane);
    say('Local nodes, operator and API');
    await this.#configure();
    const replicas = this.#options.operators ?? 1;
    await Promise.all([
      this.#startNodes(),
      ...Array.from({ length: replicas }, (_, index) => this.startOperator(index)),
    ]);
    await this.startApi();
    if (this.#options.separateWorker === true) await this.startWorker();
    this.adminToken = readFileSync(join(this.#runDirectory.data, 'admin-token'), 'utf8').trim();
    this.admin = new ApiClient({ server: this.apiUrl, token: this.adminToken });
  }

  async #configure(): Promise<void> {
    const replicas = this.#options.operators ?? 1;
    const code = codeEnvironment(await this.#codeBucket());
    const ports = await Promise.all(Array.from({ length: replicas * 2 }, () => freePort()));
    const reportUrls = ports.slice(0, replicas).map((port) => `https://127.0.0.1:${port}`);
    const apiserverUrl = await this.#options.apiServerOfOperators?.(this.plane);
    const kubeconfig = await this.plane.kubeconfigFor({
      namespace: SYSTEM_NAMESPACE,
      serviceAccount: 'coxswain-operator',
      ...(apiserverUrl === undefined ? {} : { apiserverUrl }),
    });
    reportUrls.forEach((reportUrl, index) => {
      this.#operatorEnvironments.push({
        COXSWAIN_KUBECONFIG: kubeconfig,
        COXSWAIN_NAMESPACE: SYSTEM_NAMESPACE,
        COXSWAIN_IDENTITY: `operator-${index}`,
        COXSWAIN_REPORT_LISTEN_HOST: '127.0.0.1',
        COXSWAIN_REPORT_LISTEN_PORT: new URL(reportUrl).port,
        COXSWAIN_REPORT_URLS: reportUrls.join(','),
        COXSWAIN_REPORT_OWN_URL: reportUrl,
        COXSWAIN_SERIES_READERS: `${SYSTEM_NAMESPACE}:coxswain-api`,
        COXSWAIN_LAUNCHER_IMAGE: LOCAL_IMAGES.launcher,
        COXSWAIN_HEALTH_LISTEN_HOST: '127.0.0.1',
        COXSWAIN_HEALTH_LISTEN_PORT: String(ports[replicas + index]),
        ...(this.#options.shortLeases === true
          ? {
              COXSWAIN_LEASE_DURATION_MS: '6000',
              COXSWAIN_LEASE_RENEW_DEADLINE_MS: '5000',
              COXSWAIN_LEASE_RETRY_PERIOD_MS: '400',
            }
          : {}),
        ...code,
        ...this.#options.operatorEnvironment,
      });
    });
    this.#apiPort = this.#options.apiPort ?? (await freePort());
    this.apiUrl = `http://127.0.0.1:${this.#apiPort}`;
    this.databaseUrl = await this.#database();
    this.#apiEnvironment = {
      ...(await makeDatabaseRoles(this.databaseUrl)),
      COXSWAIN_LISTEN_HOST: '127.0.0.1',
      COXSWAIN_LISTEN_PORT: String(this.#apiPort),
      COXSWAIN_CLUSTER_NAME: 'local',
      COXSWAIN_KUBECONFIG: await this.plane.kubeconfigFor({
        namespace: SYSTEM_NAMESPACE,
        serviceAccount: 'coxswain-api',
      }),
      COXSWAIN_OPERATOR_SERIES_URLS: reportUrls.join(','),
      COXSWAIN_OPERATOR_CA_FILE: join(this.#runDirectory.data, 'operator-ca.crt'),
      COXSWAIN_OPERATOR_TOKEN_FILE: await this.plane.tokenFileFor({
        namespace: SYSTEM_NAMESPACE,
        serviceAccount: 'coxswain-api',
        audience: REPORT_TOKEN_AUDIENCE,
      }),
      COXSWAIN_BOOTSTRAP_TOKEN_FILE: join(this.#runDirectory.data, 'admin-token'),
      ...code,
    };
  }

  async #codeBucket(): Promise<CodeBucket | undefined> {
    const { codeBucket } = this.#options;
    if (codeBucket !== 'local') return codeBucket;
    this.#localBucket = await startLocalBucket(join(this.#runDirectory.data, 'code'));
    return this.#localBucket.code;
  }

  /** Its name is kept with the data, so that a kept cluster finds its rows again. */
  async #database(): Promise<string> {
    const known = join(this.#runDirectory.data, 'database');
    if (existsSync(known)) {
      const url = new URL(this.postgres.url);
      url.pathname = `/${readFileSync(known, 'utf8')}`;
      return url.toString();
    }
    const url = await this.postgres.createDatabase('coxswain');
    writeFileSync(known, new URL(url).pathname.slice(1));
    return url;
  }

  async #startNodes(): Promise<void> {
    mkdirSync(this.nodesDirectory, { recursive: true });
    const ca = join(this.#runDirectory.data, 'kubelet-client-ca.crt');
    writeFileSync(ca, this.plane.kubeletClientCaPem);
    const main = join(ROOT, 'dev/local-node/src/main.ts');
    const fabric = this.#options.fabricFile ?? join(ROOT, 'examples/fabrics/quickstart.yaml');
    const args = [
      '--kubeconfig',
      this.plane.adminKubeconfigPath,
      '--fabric',
      fabric,
      '--images',
      writeImagesFile(this.#runDirectory.data),
    ];
    this.nodes = await startProcess({
      name: 'local nodes',
      command: process.execPath,
      args: [main, ...args, '--directory', this.nodesDirectory, '--kubelet-client-ca', ca],
      logPath: join(this.logsDirectory, 'nodes.log'),
      ready: { check: () => existsSync(join(this.nodesDirectory, 'nodes.json')), deadlineMs: READY_MS },
    });
  }

  async startOperator(index: number, { isRevival } = { isRevival: false }): Promise<ProcessHandle> {
    const environment = this.#operatorEnvironments[index];
    if (environment === undefined)
      throw new Error(`this system has ${this.#operatorEnvironments.length} operators, not ${index + 1}`);
    const healthUrl = `http://127.0.0.1:${environment['COXSWAIN_HEALTH_LISTEN_PORT']}`;
    const handle = await startProcess({
      name: `operator ${index}`,
      command: process.execPath,
      args: [join(ROOT, 'apps/operator/src/main.ts')],
      env: { ...cleanEnvironment(), ...environment },
      logPath: join(this.logsDirectory, `operator-${index}.log`),
      // One that is started again waits by itself for whatever ended the one before.
      ...(isRevival ? {} : { ready: { check: () => answers(`${healthUrl}/readyz`), deadlineMs: READY_MS } }),
    });
    void handle.exited.then((exit) => this.#revive(index, exit));
    const replica = this.operators[index];
    if (replica === undefined)
      this.operators[index] = { reportUrl: environment['COXSWAIN_REPORT_OWN_URL'] ?? '', healthUrl, process: handle };
    else replica.process = handle;
    return handle;
  }

  /** The part of a Deployment: whatever ended by itself, because its term was over or because it failed, starts again. */
  async #revive(index: number, { code }: ProcessExit): Promise<void> {
    const endedByItself = code !== null && code !== 0;
    if (!endedByItself) return;
    await delay(REVIVAL_DELAY_MS);
    if (!this.#isStopping) await this.startOperator(index, { isRevival: true });
  }

  async startApi(): Promise<ProcessHandle> {
    await this.#copyOperatorCa();
    this.api = await startProcess({
      name: 'API',
      command: process.execPath,
      args: [join(ROOT, 'apps/api/dist/main.js')],
      env: {
        ...cleanEnvironment(),
        ...this.#apiEnvironment,
        COXSWAIN_ROLE: this.#options.separateWorker === true ? 'api' : 'all',
      },
      logPath: join(this.logsDirectory, 'api.log'),
      ready: { check: () => answers(`${this.apiUrl}/readyz`), deadlineMs: READY_MS },
    });
    return this.api;
  }

  async startWorker(): Promise<ProcessHandle> {
    // Its own health endpoint; the API's port would make it look as if the API answered.
    const port = String(await freePort());
    this.worker = await startProcess({
      name: 'worker',
      command: process.execPath,
      args: [join(ROOT, 'apps/api/dist/main.js')],
      env: { ...cleanEnvironment(), ...this.#apiEnvironment, COXSWAIN_ROLE: 'worker', COXSWAIN_LISTEN_PORT: port },
      logPath: join(this.logsDirectory, 'worker.log'),
    });
    return this.worker;
  }

  /** The part of a kubelet that projects the certificate of the operator's Secret, without its key, into the API's pod. */
  async #copyOperatorCa(): Promise<void> {
    const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/secrets/coxswain-report-tls`;
    const ca = await waitFor(
      async () => {
        const answer = await this.plane.admin.send({ method: 'GET', path });
        return answer.status === 200 ? (JSON.parse(answer.body) as ReportSecret).data?.['ca.crt'] : undefined;
      },
      { what: 'the operator to make its report certificate' },
    );
    writeFileSync(join(this.#runDirectory.data, 'operator-ca.crt'), Buffer.from(ca, 'base64'));
  }

  async createNamespace(name: string, claims: readonly string[]): Promise<Readonly<Record<string, string>>> {
    const folders = Object.fromEntries(
      claims.map((claim) => [claim, join(this.#runDirectory.data, 'volumes', name, claim)]),
    );
    const objects: KubeObject[] = [namespaceObject(name)];
    const claimed: KubeObject[] = [];
    for (const [claim, path] of Object.entries(folders)) {
      mkdirSync(path, { recursive: true });
      const made = claimObjects({ namespace: name, claim, path, volume: `${name}-${claim}-${this.#claims++}` });
      objects.push(made.volume, made.claim);
      claimed.push(made.claim);
    }
    await applyObjects(this.plane.admin, objects);
    await Promise.all(claimed.map((claim) => this.#isBound(claim)));
    return folders;
  }

  async #isBound(claim: KubeObject): Promise<void> {
    await waitFor(
      async () => {
        const seen = await this.plane.admin.json<Claim>({ method: 'GET', path: pathOf(claim) });
        return seen.status?.phase === 'Bound';
      },
      { what: `the claim ${claim.metadata.name} to be bound`, deadlineMs: READY_MS },
    );
  }

  async stop(options: { readonly keepLogs?: boolean } = {}): Promise<void> {
    this.#isStopping = true;
    const graceMs = 5_000;
    await Promise.allSettled([
      this.api?.stop({ graceMs }),
      this.worker?.stop({ graceMs }),
      ...this.operators.map((operator) => operator.process.stop({ graceMs })),
    ]);
    await Promise.allSettled([this.nodes?.stop({ graceMs })]);
    await Promise.allSettled([this.plane?.stop(options), this.postgres?.stop(options), this.#localBucket?.stop()]);
    if (this.#options.directory === undefined) this.postgres?.removeData();
    this.#runDirectory.remove(options);
  }
}

/** Without what an outer test runner or npm put there. */
function cleanEnvironment(): Record<string, string | undefined> {
  const { NODE_OPTIONS: _ofRunner, ...rest } = process.env;
  return rest;
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    (response) => response.ok,
    () => false,
  );
}

interface ReportSecret {
  readonly data?: Readonly<Record<string, string>>;
}

interface Claim {
  readonly status?: { readonly phase?: string };
}
