import { join } from 'node:path';
import { API_GROUP_VERSION, LABELS, type TrainingJob, type TrainingJobSpecInput } from '@coxswain/api-types';
import {
  freePort,
  installChart,
  startControlPlane,
  startProcess,
  SYSTEM_NAMESPACE,
  waitFor,
  type ControlPlane,
  type ControlPlaneOptions,
  type ProcessExit,
} from '@coxswain/local-cluster';
import { startFaultProxy, type FaultProxy } from '@coxswain/test-harness';
import { createLogger } from '@coxswain/telemetry';
import { readConfig } from '../config/config.ts';
import { startOperator, type Operator } from '../operator.ts';
import { FakeHeartbeats } from './fake-heartbeats.ts';
import { FakeKubelet } from './fake-kubelet.ts';
import type { RawPod } from './raw-pod.ts';

/** A real control plane with the chart's roles, made-up nodes, and a stand-in for their kubelets. */
export interface World {
  readonly plane: ControlPlane;
  readonly kubelet: FakeKubelet;
  /** What kubelets tell of their nodes; only where nodes are judged. */
  readonly heartbeats: FakeHeartbeats;
  /** A fresh namespace. */
  namespace(): Promise<string>;
  node(name: string, gpus: number, labels?: Readonly<Record<string, string>>, more?: NodeOptions): Promise<void>;
  /** The node stops answering, or answers again: its condition Ready says so, and its kubelet lets everything be. */
  loseNode(name: string): Promise<void>;
  restoreNode(name: string): Promise<void>;
  /** A bound claim, without which the scheduler places no pod that names it. */
  claim(namespace: string, name: string): Promise<void>;
  operator(options?: OperatorOptions): Promise<Operator>;
  /** The program itself as a process of its own, to be killed without warning. */
  operatorProcess(
    options?: OperatorOptions,
  ): Promise<{ kill(): Promise<void>; readonly pid: number; readonly exited: Promise<ProcessExit> }>;
  /** A proxy in front of the apiserver that goes with the world; operators that are given its `url` speak through it. */
  faultProxy(): Promise<FaultProxy>;
  job(namespace: string, name: string, spec?: Partial<TrainingJobSpecInput>): Promise<TrainingJob>;
  readJob(namespace: string, name: string): Promise<TrainingJob>;
  /** Waits until the job looks as wanted, and answers with it. */
  until(job: TrainingJob, what: string, isSo: (job: TrainingJob) => boolean): Promise<TrainingJob>;
  pods(namespace: string): Promise<readonly RawPod[]>;
  /** Deletes every job, waits until nothing of them is left, and stops the operators. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

/** What a made-up node has beside GPUs and labels. */
export interface NodeOptions {
  /** Extended resources by name. */
  readonly devices?: Readonly<Record<string, number>>;
  readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
}

/** How an operator differs from the usual. */
export interface OperatorOptions {
  readonly identity?: string;
  readonly environment?: Record<string, string>;
  /** Where it finds the apiserver; its own address unless given. */
  readonly apiserverUrl?: string;
}

/** How a world differs from the usual. */
export interface WorldOptions extends Pick<ControlPlaneOptions, 'extraControllerManagerFlags'> {
  /**
   * Whether the controller-manager judges nodes, as it does in every real cluster, in seconds instead of most of a minute. The stand-in kubelets
   * then keep the nodes' leases, and pods that do not say what they tolerate are evicted after 5 s.
   */
  readonly judgesNodes?: boolean;
  /** Whether nodes are made with `startKwok`, which plays their kubelets: no stand-in is started here. */
  readonly simulatesNodes?: boolean;
}

/** Nobody renews the made-up nodes' leases; without this controller they stay ready all the same. */
const NODES_UNJUDGED = { extraControllerManagerFlags: ['--controllers=*,-node-lifecycle-controller'] };
/** It takes the taint of new nodes away. Simulated ones renew their leases rarely, because a thousand would do little else. */
const NODES_SIMULATED = { extraControllerManagerFlags: ['--node-monitor-grace-period=2h'] };
const NODES_JUDGED = {
  extraControllerManagerFlags: ['--node-monitor-period=1s', '--node-monitor-grace-period=8s'],
  extraApiserverFlags: ['--default-not-ready-toleration-seconds=5', '--default-unreachable-toleration-seconds=5'],
};

/** Starts a world; ends what it started when something fails. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const plane = await startPlane(options);
  return worldOn(plane, { ...options, end: () => plane.stop() });
}

/** A control plane with the chart installed; stops it if the chart cannot be installed. */
export async function startPlane({
  judgesNodes = false,
  simulatesNodes = false,
  ...options
}: WorldOptions): Promise<ControlPlane> {
  const unjudged = simulatesNodes ? NODES_SIMULATED : NODES_UNJUDGED;
  const { extraControllerManagerFlags, ...others } = judgesNodes ? NODES_JUDGED : unjudged;
  const plane = await startControlPlane({
    ...others,
    extraControllerManagerFlags: [...extraControllerManagerFlags, ...(options.extraControllerManagerFlags ?? [])],
  });
  try {
    await installChart(plane);
    return plane;
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

let namespaces = 0;

interface WorldParts extends WorldOptions {
  /** Ends the control plane, or leaves it as it was found. */
  readonly end: () => Promise<void>;
}

/** A world on a control plane that runs; `stop` of the world calls `end` last. */
export function worldOn(plane: ControlPlane, { judgesNodes = false, simulatesNodes = false, end }: WorldParts): World {
  const { admin } = plane;
  const kubelet = new FakeKubelet(admin);
  if (!simulatesNodes) kubelet.start();
  const heartbeats = new FakeHeartbeats(admin);
  if (judgesNodes) heartbeats.start();
  const operators: Operator[] = [];
  const killable: (() => Promise<void>)[] = [];

  const proxies: FaultProxy[] = [];
  const kubeconfigs = new Map<string, Promise<string>>();
  const kubeconfigFor = (apiserverUrl: string): Promise<string> => {
    const account = { namespace: SYSTEM_NAMESPACE, serviceAccount: 'coxswain-operator', apiserverUrl };
    const known = kubeconfigs.get(apiserverUrl) ?? plane.kubeconfigFor(account);
    kubeconfigs.set(apiserverUrl, known);
    return known;
  };

  const environment = async (options: OperatorOptions = {}): Promise<Readonly<Record<string, string>>> => {
    const kubeconfig = await kubeconfigFor(options.apiserverUrl ?? plane.url);
    const port = await freePort();
    return {
      COXSWAIN_KUBECONFIG: kubeconfig,
      COXSWAIN_NAMESPACE: SYSTEM_NAMESPACE,
      COXSWAIN_IDENTITY: options.identity ?? 'operator',
      // Short, so that a hand-over need not be waited for; and not so short that a busy machine takes a leader's term away.
      COXSWAIN_LEASE_DURATION_MS: '10000',
      COXSWAIN_LEASE_RENEW_DEADLINE_MS: '9000',
      COXSWAIN_LEASE_RETRY_PERIOD_MS: '300',
      COXSWAIN_REPORT_LISTEN_HOST: '127.0.0.1',
      COXSWAIN_REPORT_LISTEN_PORT: String(port),
      COXSWAIN_REPORT_URLS: `https://127.0.0.1:${port}`,
      COXSWAIN_SERIES_READERS: `${SYSTEM_NAMESPACE}:coxswain-api`,
      COXSWAIN_LAUNCHER_IMAGE: 'coxswain/launcher:dev',
      // What is lost here is lost for good.
      COXSWAIN_NODE_GRACE_MS: '1000',
      COXSWAIN_HEALTH_LISTEN_HOST: '127.0.0.1',
      COXSWAIN_HEALTH_LISTEN_PORT: '0',
      COXSWAIN_LOG_LEVEL: process.env['COXSWAIN_TEST_LOG_LEVEL'] ?? 'error',
      ...options.environment,
    };
  };
  const operator: World['operator'] = async (options) => {
    const read = readConfig(await environment(options));
    const started = await startOperator(read, { log: createLogger({ program: read.identity, level: read.logLevel }) });
    operators.push(started);
    // Its process would end; here it is alone in not doing so.
    void started.ended.then(() => started.stop());
    return started;
  };
  const orphans = async (): Promise<readonly string[]> => {
    const jobs = await admin.json<{ items: TrainingJob[] }>({
      method: 'GET',
      path: `/apis/${API_GROUP_VERSION}/trainingjobs`,
    });
    const pods = await admin.json<{ items: (RawPod & { metadata: { namespace: string } })[] }>({
      method: 'GET',
      path: '/api/v1/pods',
    });
    const living = new Set(jobs.items.map(({ metadata }) => metadata.uid));
    return pods.items
      .filter(({ metadata }) => !living.has(metadata.labels?.[LABELS.jobUid] ?? ''))
      .map(({ metadata }) => `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`);
  };
  const patchNodeStatus = async (name: string, status: Record<string, unknown>): Promise<void> => {
    await admin.json({
      method: 'PATCH',
      path: `/api/v1/nodes/${name}/status`,
      body: { status },
      contentType: 'application/merge-patch+json',
    });
  };
  const readJob: World['readJob'] = (namespace, name) =>
    admin.json<TrainingJob>({
      method: 'GET',
      path: `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/trainingjobs/${name}`,
    });

  return {
    plane,
    kubelet,
    heartbeats,
    readJob,
    namespace: async () => {
      const name = `space-${(namespaces += 1)}`;
      await admin.json({
        method: 'POST',
        path: '/api/v1/namespaces',
        body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      });
      await waitFor(
        async () =>
          (await admin.send({ method: 'GET', path: `/api/v1/namespaces/${name}/serviceaccounts/default` })).status ===
          200,
        { what: 'the default service account' },
      );
      return name;
    },
    node: async (name, gpus, labels = {}, { devices = {}, taints = [] } = {}) => {
      const extended = Object.entries({ 'nvidia.com/gpu': gpus, ...devices }).map(([device, count]) => [
        device,
        String(count),
      ]);
      const capacity = { cpu: '64', memory: '256Gi', pods: '110', ...Object.fromEntries(extended) };
      await admin.json({
        method: 'POST',
        path: '/api/v1/nodes',
        body: { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } },
      });
      await patchNodeStatus(name, { capacity, allocatable: capacity, conditions: [readiness('True')] });
      if (judgesNodes) return heartbeats.join(name);
      await admin.json({
        method: 'PATCH',
        path: `/api/v1/nodes/${name}`,
        body: { spec: { taints: taints.length === 0 ? null : taints } },
        contentType: 'application/merge-patch+json',
      });
    },
    loseNode: async (name) => {
      kubelet.lostNodes.add(name);
      await patchNodeStatus(name, { conditions: [readiness('Unknown')] });
    },
    restoreNode: async (name) => {
      await patchNodeStatus(name, { conditions: [readiness('True')] });
      kubelet.lostNodes.delete(name);
    },
    claim: async (namespace, name) => {
      const shared = {
        accessModes: ['ReadWriteMany'],
        storageClassName: '',
        volumeName: `${namespace}-${name}`,
      };
      const capacity = { storage: '1Gi' };
      const volume = {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: shared.volumeName },
        spec: {
          capacity,
          accessModes: shared.accessModes,
          hostPath: { path: '/nowhere' },
          claimRef: { namespace, name },
        },
      };
      const claim = {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name, namespace },
        spec: { ...shared, resources: { requests: capacity } },
      };
      await admin.json({ method: 'POST', path: '/api/v1/persistentvolumes', body: volume });
      const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
      await admin.json({ method: 'POST', path, body: claim });
      await waitFor(
        async () =>
          (await admin.json<{ status: { phase: string } }>({ method: 'GET', path: `${path}/${name}` })).status.phase ===
          'Bound',
        { what: `the claim ${name} to be bound` },
      );
    },
    operator,
    faultProxy: async () => {
      const certificate = await plane.issueCertificate({ commonName: 'proxy', hosts: ['127.0.0.1'] });
      const proxy = await startFaultProxy({ upstream: plane, certificate, caPem: plane.caPem });
      proxies.push(proxy);
      return proxy;
    },
    operatorProcess: async (options) => {
      const main = join(import.meta.dirname, '../main.ts');
      const handle = await startProcess({
        name: 'operator',
        command: process.execPath,
        args: [main],
        env: { PATH: process.env['PATH'], ...(await environment({ identity: 'mortal', ...options })) },
        logPath: join(plane.logsDirectory, 'operator.log'),
      });
      const kill = async (): Promise<void> => void (await handle.stop({ graceMs: 0 }));
      killable.push(kill);
      return { kill, pid: handle.pid, exited: handle.exited };
    },
    clear: async () => {
      await plane.kubectl(['delete', 'trainingjobs', '--all', '--all-namespaces', '--wait=false']);
      // Finalizers go only by an operator's hand.
      if (operators.length === 0) await operator();
      const collections = [`/apis/${API_GROUP_VERSION}/trainingjobs`, '/api/v1/pods'];
      await waitFor(
        async () => {
          // The garbage collector learns of new kinds of owners only every 30 s, so the pods that it would take are taken here.
          await Promise.all((await orphans()).map((path) => admin.send({ method: 'DELETE', path })));
          const lists = collections.map((path) => admin.json<{ items: unknown[] }>({ method: 'GET', path }));
          return (await Promise.all(lists)).every(({ items }) => items.length === 0);
        },
        { what: 'every job and pod to be gone' },
      );
      await Promise.all(operators.splice(0).map((running) => running.stop()));
    },
    job: async (namespace, name, spec = {}) =>
      admin.json<TrainingJob>({
        method: 'POST',
        path: `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/trainingjobs?fieldValidation=Strict`,
        body: {
          apiVersion: API_GROUP_VERSION,
          kind: 'TrainingJob',
          metadata: { name, namespace },
          spec: {
            engine: { name: 'command', image: 'example/image', command: ['sleep', '1'] },
            layout: { tensorParallelDegree: 2, dataParallelDegree: 2 },
            resources: { gpusPerNode: 2 },
            restartPolicy: { maxRestarts: 1, delaySeconds: 0 },
            terminationGracePeriodSeconds: 5,
            ...spec,
          },
        },
      }),
    until: (job, what, isSo) =>
      waitFor(
        async () => {
          const current = await readJob(job.metadata.namespace ?? '', job.metadata.name);
          return isSo(current) ? current : undefined;
        },
        { what: `the job ${job.metadata.name} to be ${what}` },
      ),
    pods: async (namespace) =>
      (await admin.json<{ items: RawPod[] }>({ method: 'GET', path: `/api/v1/namespaces/${namespace}/pods` })).items,
    stop: async () => {
      await Promise.allSettled(operators.map((running) => running.stop()));
      await Promise.all(killable.map((kill) => kill()));
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await kubelet.stop();
      await heartbeats.stop();
      await end();
    },
  };
}

function readiness(status: 'True' | 'Unknown'): Record<string, string> {
  const now = new Date().toISOString();
  return { type: 'Ready', status, lastHeartbeatTime: now, lastTransitionTime: now };
}
