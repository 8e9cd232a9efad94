import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { API_GROUP_VERSION, type Placement, type TrainingJob, type TrainingJobSpecInput } from '@coxswain/api-types';
import { createKubeClient, type KubeClient } from '@coxswain/kube';
import {
  freePort,
  installChart,
  startControlPlane,
  startKwok,
  startProcess,
  SYSTEM_NAMESPACE,
  waitFor,
  type ControlPlane,
  type Kwok,
} from '@coxswain/local-cluster';
import { BenchOperator } from './bench-operator.ts';
import { STRETCHES_FILE } from './loop-stretches.ts';
import { OPERATOR_AUDIT_POLICY, OperatorWrites } from './operator-writes.ts';
import type { Progress } from './progress.ts';

/**
 * Node makes its young generation as large as its container allows: with the chart's limit of 1 GiB half as large as on a machine with much memory, on which
 * this would be measured otherwise.
 */
const HEAP_OF_CONTAINER = '--max-semi-space-size=16';

const STRETCHES = join(import.meta.dirname, 'loop-stretches.ts');

/** Calls under way at once, of the operator and of the bare client alike. */
export const CONCURRENCY = 32;
/** GPUs of a simulated node; a gang's pod takes them all. */
export const GPUS_PER_NODE = 8;

/** A real control plane whose nodes are simulated, with the operator as a process of its own. */
export class BenchCluster {
  readonly plane: ControlPlane;
  /** Requests as administrator, with as many at once as the operator makes. */
  readonly client: KubeClient;
  readonly writes: OperatorWrites;
  readonly #progress: Progress;
  readonly #cpuProfiles: string | undefined;
  #kwok: Kwok | undefined;
  #namespaces = 0;

  private constructor(
    plane: ControlPlane,
    options: { readonly auditLog: string; readonly progress: Progress; readonly cpuProfiles: string | undefined },
  ) {
    this.plane = plane;
    this.#progress = options.progress;
    this.#cpuProfiles = options.cpuProfiles;
    this.writes = new OperatorWrites(options.auditLog);
    this.client = createKubeClient({
      kubeconfigPath: plane.adminKubeconfigPath,
      userAgent: 'coxswain-bench',
      maxInFlight: CONCURRENCY,
      timeoutMs: 60_000,
    });
  }

  /** `scratch` is a folder for the policy and the audit log. `cpuProfiles`: a folder for one profile per operator process. */
  static async start(options: {
    readonly scratch: string;
    readonly progress: Progress;
    readonly cpuProfiles: string | undefined;
  }): Promise<BenchCluster> {
    const { scratch, progress } = options;
    progress('starts etcd, kube-apiserver, kube-scheduler and kube-controller-manager');
    const policy = join(scratch, 'audit-policy.json');
    const auditLog = join(scratch, 'audit.log');
    mkdirSync(scratch, { recursive: true });
    writeFileSync(policy, OPERATOR_AUDIT_POLICY);
    const plane = await startControlPlane({
      extraApiserverFlags: [
        `--audit-policy-file=${policy}`,
        `--audit-log-path=${auditLog}`,
        '--audit-log-mode=batch',
        '--audit-log-batch-max-wait=1s',
        '--audit-log-maxsize=0',
      ],
      // Simulated nodes renew their leases rarely, because 10,240 of them would do nothing else.
      extraControllerManagerFlags: ['--node-monitor-grace-period=2h'],
    });
    try {
      await installChart(plane);
      return new BenchCluster(plane, { auditLog, progress, cpuProfiles: options.cpuProfiles });
    } catch (error) {
      await plane.stop();
      throw error;
    }
  }

  /** Simulated nodes, at least `count`. */
  async haveNodes(count: number): Promise<void> {
    const have = this.#kwok?.nodeNames.length ?? 0;
    if (have < count) await this.addNodes({ nodes: count - have, namePrefix: `node-${have}` });
  }

  /** Simulated nodes beside those that there are, with their names in the order of their indices. */
  async addNodes(
    batch: Pick<Parameters<Kwok['addNodes']>[0], 'nodes' | 'namePrefix' | 'labels'>,
  ): Promise<readonly string[]> {
    this.#progress(`makes ${batch.nodes} simulated nodes`);
    if (this.#kwok === undefined) {
      this.#kwok = await startKwok({ ...batch, controlPlane: this.plane, nodeLeaseDurationSeconds: 3_600 });
    } else await this.#kwok.addNodes(batch);
    return this.nodeNames.slice(-batch.nodes);
  }

  /** Makes room for scenarios that count on nodes alike. */
  async removeNodes(names: readonly string[]): Promise<void> {
    await this.#kwok?.removeNodes(names);
  }

  get nodeNames(): readonly string[] {
    return this.#kwok?.nodeNames ?? [];
  }

  /** A fresh namespace in which pods can be made. */
  async namespace(): Promise<string> {
    const name = `bench-${(this.#namespaces += 1)}`;
    await this.client.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await waitFor(() => this.client.get(`/api/v1/namespaces/${name}/serviceaccounts/default`), {
      what: 'the default service account',
    });
    return name;
  }

  /** An operator that leads and is ready. */
  async operator(): Promise<BenchOperator> {
    const kubeconfigPath = await this.plane.kubeconfigFor({
      namespace: SYSTEM_NAMESPACE,
      serviceAccount: 'coxswain-operator',
    });
    const [healthPort, metricsPort, reportPort] = [await freePort(), await freePort(), await freePort()];
    const [token, tokenFile] = [randomUUID(), join(this.plane.logsDirectory, 'metrics-token')];
    writeFileSync(tokenFile, token, { mode: 0o600 });
    const profile = this.#cpuProfiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${this.#cpuProfiles}`];
    const stretchesFile = join(this.plane.logsDirectory, `stretches-${randomUUID()}`);
    const handle = await startProcess({
      name: 'operator',
      command: process.execPath,
      args: [HEAP_OF_CONTAINER, ...profile, `--import=${STRETCHES}`, join(import.meta.dirname, '../src/main.ts')],
      env: {
        PATH: process.env['PATH'],
        COXSWAIN_KUBECONFIG: kubeconfigPath,
        COXSWAIN_NAMESPACE: SYSTEM_NAMESPACE,
        COXSWAIN_IDENTITY: 'bench',
        COXSWAIN_REPORT_LISTEN_HOST: '127.0.0.1',
        COXSWAIN_REPORT_LISTEN_PORT: String(reportPort),
        COXSWAIN_REPORT_URLS: `https://127.0.0.1:${reportPort}`,
        COXSWAIN_LAUNCHER_IMAGE: 'coxswain/launcher:dev',
        COXSWAIN_HEALTH_LISTEN_HOST: '127.0.0.1',
        COXSWAIN_HEALTH_LISTEN_PORT: String(healthPort),
        COXSWAIN_METRICS_LISTEN_HOST: '127.0.0.1',
        COXSWAIN_METRICS_LISTEN_PORT: String(metricsPort),
        COXSWAIN_METRICS_TOKEN_FILE: tokenFile,
        COXSWAIN_LOG_LEVEL: 'warn',
        [STRETCHES_FILE]: stretchesFile,
      },
      logPath: join(this.plane.logsDirectory, 'operator.log'),
    });
    const operator = new BenchOperator({
      handle,
      metrics: { port: metricsPort, token },
      reportPort,
      client: this.client,
      stretchesFile,
    });
    try {
      await waitFor(async () => (await operator.metric('coxswain_operator_is_leader')) === 1, {
        what: 'the operator to lead',
      });
      return operator;
    } catch (error) {
      await handle.stop({ graceMs: 0 });
      throw error;
    }
  }

  /** A job that asks for `pods` whole nodes. */
  job(namespace: string, name: string, pods: number, spec: Partial<TrainingJobSpecInput> = {}): Promise<TrainingJob> {
    return this.client.create<TrainingJob>(`/apis/${API_GROUP_VERSION}/namespaces/${namespace}/trainingjobs`, {
      apiVersion: API_GROUP_VERSION,
      kind: 'TrainingJob',
      metadata: { name, namespace },
      spec: {
        engine: { name: 'command', image: 'example/image', command: ['train'] },
        layout: { tensorParallelDegree: GPUS_PER_NODE, dataParallelDegree: pods },
        resources: { gpusPerNode: GPUS_PER_NODE },
        ...spec,
      },
    });
  }

  async readJob(namespace: string, name: string): Promise<TrainingJob> {
    return this.client.get<TrainingJob>(`/apis/${API_GROUP_VERSION}/namespaces/${namespace}/trainingjobs/${name}`);
  }

  /** The Placement of that attempt of the only job of the namespace. */
  async readPlacement(namespace: string, epoch = 1): Promise<Placement> {
    const path = `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/placements`;
    const { items } = await this.client.list<Placement>(path);
    const placement = items.find(({ spec }) => spec.epoch === epoch);
    if (placement === undefined) throw new Error(`there is no Placement of attempt ${epoch} in ${namespace}`);
    return placement;
  }

  async stop(): Promise<void> {
    await this.#kwok?.stop();
    await this.client.close();
    await this.plane.stop();
  }
}
