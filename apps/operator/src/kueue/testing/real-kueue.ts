/** The manager of Kueue beside a control plane, configured as its own installation does. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  BINARY_VERSIONS,
  type ControlPlane,
  findBinary,
  freePort,
  type ProcessHandle,
  startProcess,
  waitFor,
} from '@coxswain/local-cluster';
import { KUEUE_API } from '@coxswain/scheduling';
import { kueueDefinitions, kueueManagerRules, kueueWebhooks } from './kueue-definitions.ts';
import { grant } from '../../testing/grant.ts';

/** All kinds of Kueue. */
const PLURALS = [
  'admissionchecks',
  'clusterqueues',
  'cohorts',
  'localqueues',
  'multikueueclusters',
  'multikueueconfigs',
  'provisioningrequestconfigs',
  'resourceflavors',
  'topologies',
  'workloadpriorityclasses',
  'workloads',
] as const;
/** As Kueue's installation names it. */
export const MANAGER = { namespace: 'kueue-system', serviceAccount: 'kueue-controller-manager' } as const;
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1';
/** The kinds that exist in a cluster with Jobs and pods alone. */
const WEBHOOK_NAMES = /^[mv](?:clusterqueue|cohort|resourceflavor|workload|job|pod)\.kb\.io$/;
/** As Kueue's installation leaves the system alone. */
const NOT_SYSTEM = {
  matchExpressions: [
    {
      key: 'kubernetes.io/metadata.name',
      operator: 'NotIn',
      values: ['kube-system', 'kueue-system', 'coxswain-system'],
    },
  ],
};
/** An admitted Workload whose pods are not ready after this time is evicted. */
export const PODS_READY_SECONDS = 30;

/** Kueue, installed. */
export interface RealKueue {
  readonly version: string;
  /** Its log. */
  readonly logPath: string;
  /** SIGKILL: webhooks stay and answer nobody. */
  kill(): Promise<void>;
  /** Starts the program again, unless it runs. */
  start(): Promise<void>;
  /** What `helm uninstall` does: program, webhooks and definitions go. Resolves when the deletions are accepted. */
  uninstall(): Promise<void>;
  /** Whether a definition is still there: it stays while an object of it has a finalizer. */
  isInstalled(): Promise<boolean>;
  /** Definitions, webhooks and the program anew. */
  install(): Promise<void>;
}

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

interface WebhookConfiguration extends Named {
  readonly webhooks: readonly {
    readonly name: string;
    readonly clientConfig: { readonly service: { readonly path: string } };
  }[];
}

/** Installs and starts Kueue; its program is to be built before. */
export async function installKueue(plane: ControlPlane): Promise<RealKueue> {
  const folder = join(plane.directory, 'kueue');
  const port = await freePort();
  const kueue = new KueueProgram({
    plane,
    folder,
    port,
    command: await findBinary('kueue'),
    logPath: join(plane.logsDirectory, 'kueue.log'),
  });
  await kueue.prepare();
  await kueue.install();
  return kueue;
}

interface KueueProgramParts {
  readonly plane: ControlPlane;
  readonly folder: string;
  readonly port: number;
  readonly command: string;
  readonly logPath: string;
}

class KueueProgram implements RealKueue {
  readonly version = BINARY_VERSIONS.kueue;
  readonly logPath: string;
  readonly #parts: KueueProgramParts;
  #process: ProcessHandle | undefined;
  #kubeconfig = '';

  constructor(parts: KueueProgramParts) {
    this.#parts = parts;
    this.logPath = parts.logPath;
  }

  /** Account, certificate and configuration. */
  async prepare(): Promise<void> {
    const { plane, folder, port } = this.#parts;
    mkdirSync(folder, { recursive: true });
    this.#kubeconfig = await plane.kubeconfigFor(MANAGER);
    const { everywhere, inItsOwn } = await kueueManagerRules();
    await grant(plane.admin, { name: 'kueue-manager', rules: everywhere, to: MANAGER });
    await grant(plane.admin, { name: 'kueue-manager', rules: inItsOwn, to: MANAGER, namespace: MANAGER.namespace });
    const { certPem, keyPem } = await plane.issueCertificate({ commonName: 'kueue', hosts: ['127.0.0.1'] });
    writeFileSync(join(folder, 'tls.crt'), certPem);
    writeFileSync(join(folder, 'tls.key'), keyPem, { mode: 0o600 });
    const configuration = {
      apiVersion: 'config.kueue.x-k8s.io/v1beta2',
      kind: 'Configuration',
      health: { healthProbeBindAddress: '127.0.0.1:0' },
      metrics: { bindAddress: '0' },
      webhook: { host: '127.0.0.1', port, certDir: folder },
      leaderElection: { leaderElect: false },
      internalCertManagement: { enable: false },
      clientConnection: { qps: 300, burst: 500 },
      waitForPodsReady: { timeout: `${PODS_READY_SECONDS}s`, requeuingStrategy: { backoffBaseSeconds: 1 } },
      integrations: {
        frameworks: ['batch/job', 'pod'],
        externalFrameworks: ['TrainingJob.v1alpha1.training.coxswain.dev'],
      },
    };
    writeFileSync(join(folder, 'config.yaml'), JSON.stringify(configuration));
  }

  async install(): Promise<void> {
    const { plane } = this.#parts;
    for (const body of await kueueDefinitions(PLURALS))
      await plane.admin.json({ method: 'POST', path: DEFINITIONS, body });
    const served = async (plural: string): Promise<boolean> =>
      (await plane.admin.send({ method: 'GET', path: `/apis/${KUEUE_API.group}/${KUEUE_API.version}/${plural}` }))
        .status === 200;
    for (const plural of PLURALS) await waitFor(() => served(plural), { what: `kind ${plural} of Kueue to be served` });
    await this.start();
    for (const body of await this.#webhooks()) await plane.admin.json({ method: 'POST', path: pathOf(body), body });
  }

  async start(): Promise<void> {
    if (this.#process !== undefined) return;
    const { folder, command, logPath, port } = this.#parts;
    // Kueue reads a certificate of its metrics from that folder alone, so it gets an /etc of its own.
    const script =
      'mount -t tmpfs tmpfs /etc && mkdir -p /etc/kueue/metrics/certs && cp "$1"/tls.* /etc/kueue/metrics/certs && shift && exec "$@"';
    const flags = [
      `--config=${folder}/config.yaml`,
      `--kubeconfig=${this.#kubeconfig}`,
      '--feature-gates=VisibilityOnDemand=false',
      '--zap-log-level=2',
    ];
    this.#process = await startProcess({
      name: 'kueue',
      command: 'unshare',
      args: ['--mount', '--map-root-user', 'sh', '-c', script, 'sh', folder, command, ...flags],
      logPath,
      ready: { check: () => answers(port), deadlineMs: 60_000 },
    });
  }

  async kill(): Promise<void> {
    await this.#process?.stop({ graceMs: 0 });
    this.#process = undefined;
  }

  async uninstall(): Promise<void> {
    const { plane } = this.#parts;
    for (const body of await this.#webhooks())
      await plane.admin.json({ method: 'DELETE', path: `${pathOf(body)}/${body.metadata.name}` });
    await this.kill();
    for (const plural of PLURALS)
      await plane.admin.json({ method: 'DELETE', path: `${DEFINITIONS}/${plural}.${KUEUE_API.group}` });
    // Without Kueue nobody takes its finalizers from queues and flavours but an administrator; those of Workloads are the owners' to take.
    for (const plural of PLURALS) if (plural !== 'workloads') await this.#takeFinalizers(plural);
  }

  async #takeFinalizers(plural: string): Promise<void> {
    const { admin } = this.#parts.plane;
    const root = `/apis/${KUEUE_API.group}/${KUEUE_API.version}`;
    const { status, body } = await admin.send({ method: 'GET', path: `${root}/${plural}` });
    if (status !== 200) return;
    const { items } = JSON.parse(body) as { items: { metadata: { name: string; namespace?: string } }[] };
    for (const { metadata } of items) {
      const space = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
      const path = `${root}${space}/${plural}/${metadata.name}`;
      const contentType = 'application/merge-patch+json';
      await admin.send({ method: 'PATCH', path, body: { metadata: { finalizers: null } }, contentType });
    }
  }

  async isInstalled(): Promise<boolean> {
    const { items } = await this.#parts.plane.admin.json<{ items: { metadata: { name: string } }[] }>({
      method: 'GET',
      path: DEFINITIONS,
    });
    return items.some(({ metadata }) => metadata.name.endsWith(`.${KUEUE_API.group}`));
  }

  async #webhooks(): Promise<readonly Named[]> {
    const { plane, port } = this.#parts;
    const found = (await kueueWebhooks()) as unknown as readonly WebhookConfiguration[];
    return found.map((configuration) => ({
      ...configuration,
      metadata: { name: `kueue-${configuration.metadata.name}` },
      webhooks: configuration.webhooks
        .filter(({ name }) => WEBHOOK_NAMES.test(name))
        .map((webhook) => ({
          ...webhook,
          clientConfig: {
            url: `https://127.0.0.1:${port}${webhook.clientConfig.service.path}`,
            caBundle: Buffer.from(plane.caPem).toString('base64'),
          },
          ...(webhook.name.includes('pod') || webhook.name.includes('job') ? { namespaceSelector: NOT_SYSTEM } : {}),
        })),
    }));
  }
}

function pathOf({ kind }: Named): string {
  return `${WEBHOOKS}/${kind.toLowerCase()}s`;
}

/** Whether something listens on that port of loopback. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
