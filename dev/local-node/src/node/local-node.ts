import { setTimeout as delay } from 'node:timers/promises';
import { hostname, release } from 'node:os';
import type { KeyPair } from '@coxswain/local-cluster';
import { DEFAULT_CAPACITY, type LocalNodeSpec } from '../settings/fabric-file.ts';
import type { LocalImages } from '../settings/images-file.ts';
import type { Pod } from '../kube/kube-types.ts';
import { LogEndpoint, type LogAnswer, type LogQuestion } from './log-endpoint.ts';
import type { MountMode } from '../container/mount-plan.ts';
import { refusal, STRATEGIC_MERGE_PATCH, type ApiCall, type HttpsNodeApi } from '../kube/node-api.ts';
import { followPods } from './pod-watch.ts';
import { PodWorker, type PodEvent, type WorkerNode } from '../pod/pod-worker.ts';

/** What becomes of the processes on a node that is lost: they die with it, or run on unseen. */
export type LostPods = 'killed' | 'running';

/** What one local node is, and what it shares with the other nodes of its process. */
export interface LocalNodeOptions {
  readonly spec: LocalNodeSpec;
  readonly api: HttpsNodeApi;
  readonly images: LocalImages;
  readonly directory: string;
  readonly mountMode: MountMode;
  readonly clusterEnv: Readonly<Record<string, string>>;
  readonly serving: KeyPair;
  readonly kubeletClientCaPem: string;
  readonly kubeletPort: number;
  readonly heartbeatMs: number;
  readonly now: () => Date;
}

/** Marks nodes that this agent plays. */
const LOCAL_NODE_LABEL = 'coxswain.dev/local-node';

const LEASE_SECONDS = 40;
const RETRY_MS = 500;
const STATUS_EVERY_MS = 300_000;
const KUBELET_VERSION = 'v1.37.0';

/** One node of the agent: its Node object, its lease, its log endpoint and the workers of its pods. */
export class LocalNode {
  readonly #options: LocalNodeOptions;
  readonly #logs: LogEndpoint;
  readonly #worker: WorkerNode;
  readonly #workers = new Map<string, PodWorker>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #lastEvent = new Map<string, string>();
  #session: AbortController | undefined;
  #work: Promise<unknown> = Promise.resolve();

  constructor(options: LocalNodeOptions) {
    const { spec, api, images, directory, mountMode, clusterEnv, now } = options;
    this.#options = options;
    const place = { nodeName: spec.name, address: spec.address, capacity: this.#capacity() };
    const event = (pod: Pod, about: PodEvent): void => this.#recordEvent(pod, about);
    this.#worker = { api, place, images, directory, mountMode, clusterEnv, event, now };
    this.#logs = new LogEndpoint({
      address: spec.address,
      port: options.kubeletPort,
      ...options.serving,
      clientCaPem: options.kubeletClientCaPem,
      find: (question) => this.#findLog(question),
    });
  }

  get name(): string {
    return this.#options.spec.name;
  }

  get isLost(): boolean {
    return this.#session === undefined;
  }

  /** Registers the node and begins its work. Rejects when the apiserver refuses the node. */
  async start(): Promise<void> {
    await this.#logs.listen();
    await this.#begin();
  }

  /** The machine, or its network, fails: no heartbeat and no report any more, and no pods either if they are `killed`. */
  async lose(pods: LostPods): Promise<void> {
    this.#session?.abort();
    this.#session = undefined;
    this.#options.api.cut();
    this.#logs.cut();
    await this.#work;
    if (pods === 'killed') {
      await this.#abandonAll();
    }
  }

  /** The machine is back: registers again if its object is gone, and takes up whatever is bound to it. */
  async comeBack(): Promise<void> {
    if (this.isLost) {
      this.#options.api.join();
      this.#logs.join();
      await this.#begin();
    }
  }

  /** Kills every process of every pod, and ends. The Node object stays, as that of a machine that was switched off. */
  async stop(): Promise<void> {
    await this.lose('killed');
    await this.#logs.close();
    this.#options.api.close();
    await Promise.allSettled(this.#leaving);
  }

  async #abandonAll(): Promise<void> {
    const workers = [...this.#workers.values()];
    this.#workers.clear();
    await Promise.all(workers.map((worker) => worker.abandon()));
  }

  async #begin(): Promise<void> {
    const session = new AbortController();
    this.#session = session;
    await this.#register(session.signal);
    const following = followPods(this.#options.api, this.name, {
      sync: (pods) => this.#sync(pods),
      signal: session.signal,
    });
    this.#work = Promise.all([following, this.#heartbeat(session.signal)]);
  }

  /** Makes the workers agree with what is bound to this node now. */
  #sync(pods: readonly Pod[]): void {
    if (this.isLost) {
      return;
    }
    const present = new Set(pods.map((pod) => pod.metadata.uid));
    for (const pod of pods) {
      const worker = this.#workers.get(pod.metadata.uid);
      if (worker === undefined) {
        this.#workers.set(pod.metadata.uid, new PodWorker(pod, this.#worker));
      } else {
        worker.observe(pod);
      }
    }
    for (const [uid, worker] of this.#workers) {
      if (!present.has(uid)) {
        this.#workers.delete(uid);
        this.#lastEvent.delete(uid);
        const leaving = worker.remove().finally(() => this.#leaving.delete(leaving));
        this.#leaving.add(leaving);
      }
    }
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { spec } = this.#options;
    const metadata = {
      name: spec.name,
      labels: {
        'kubernetes.io/hostname': spec.name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': architecture(),
        ...spec.labels,
        [LOCAL_NODE_LABEL]: 'true',
      },
      annotations: spec.annotations,
    };
    const taints = spec.taints;
    const body = { apiVersion: 'v1', kind: 'Node', metadata, spec: { taints }, status: this.#status(undefined) };
    const created = await this.#insist({ method: 'POST', path: '/api/v1/nodes', body }, signal);
    if (created === 409) {
      const patch = { metadata: { labels: metadata.labels, annotations: metadata.annotations } };
      await this.#insist(
        { method: 'PATCH', path: this.#path(), body: patch, contentType: STRATEGIC_MERGE_PATCH },
        signal,
      );
      await this.#reportStatus();
    }
  }

  /** Repeats a call while the apiserver is away or busy; rejects when it refuses for good. 409 is for the caller. */
  async #insist(call: ApiCall, signal: AbortSignal): Promise<number> {
    for (;;) {
      signal.throwIfAborted();
      const answer = await this.#options.api.request(call).catch(() => undefined);
      if (answer !== undefined && (answer.status < 300 || answer.status === 409)) {
        return answer.status;
      }
      if (answer !== undefined && answer.status >= 400 && answer.status < 429) {
        throw refusal(call, answer);
      }
      await delay(RETRY_MS, undefined, { signal, ref: false });
    }
  }

  async #heartbeat(signal: AbortSignal): Promise<void> {
    let statusDueMs = 0;
    while (!signal.aborted) {
      const nowMs = this.#options.now().getTime();
      const isRenewed = await this.#renewLease().catch(() => false);
      const isFresh = await this.#reportStatus({ unlessReady: nowMs < statusDueMs }).catch(() => false);
      if (isFresh && nowMs >= statusDueMs) {
        statusDueMs = nowMs + STATUS_EVERY_MS;
      }
      const pauseMs = isRenewed ? this.#options.heartbeatMs : RETRY_MS;
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #renewLease(): Promise<boolean> {
    const { api, now } = this.#options;
    const folder = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
    const renewTime = now().toISOString().replace('Z', '000Z'); // A MicroTime.
    const spec = { holderIdentity: this.name, leaseDurationSeconds: LEASE_SECONDS, renewTime };
    const renewed = await api.request({
      method: 'PATCH',
      path: `${folder}/${this.name}`,
      body: { spec },
      contentType: STRATEGIC_MERGE_PATCH,
    });
    if (renewed.status !== 404) {
      return renewed.status < 300;
    }
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: this.name }, spec };
    return (await api.request({ method: 'POST', path: folder, body })).status < 300;
  }

  /** True when the apiserver holds a Ready status of this node; a kubelet would not make a deleted Node anew either. */
  async #reportStatus({ unlessReady = false } = {}): Promise<boolean> {
    const found = await this.#options.api.request({ method: 'GET', path: this.#path() });
    if (found.status !== 200) {
      return false;
    }
    const node = found.body as { readonly status?: { readonly conditions?: readonly NodeCondition[] } };
    const isReady = node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
    if (unlessReady && isReady) {
      return true;
    }
    const path = `${this.#path()}/status`;
    const body = { status: this.#status(node.status?.conditions) };
    const answer = await this.#options.api.request({ method: 'PATCH', path, body, contentType: STRATEGIC_MERGE_PATCH });
    return answer.status < 300;
  }

  #status(earlier: readonly NodeCondition[] | undefined): object {
    const { spec, kubeletPort, now } = this.#options;
    const time = now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
    const conditions = CONDITIONS.map((condition) => {
      const before = earlier?.find(({ type }) => type === condition.type);
      const unmoved = before?.status === condition.status;
      return { ...condition, lastHeartbeatTime: time, lastTransitionTime: unmoved ? before.lastTransitionTime : time };
    });
    return {
      capacity: this.#capacity(),
      allocatable: this.#capacity(),
      conditions,
      addresses: [
        { type: 'InternalIP', address: spec.address },
        { type: 'Hostname', address: spec.name },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
      nodeInfo: {
        architecture: architecture(),
        operatingSystem: 'linux',
        kernelVersion: release(),
        osImage: `processes of ${hostname()}`,
        containerRuntimeVersion: 'local-node://0.1.0',
        kubeletVersion: KUBELET_VERSION,
        kubeProxyVersion: '',
        machineID: spec.name,
        systemUUID: spec.name,
        bootID: spec.name,
      },
    };
  }

  #capacity(): Readonly<Record<string, string>> {
    return { ...DEFAULT_CAPACITY, ...this.#options.spec.capacity };
  }

  #path(): string {
    return `/api/v1/nodes/${this.name}`;
  }

  #findLog({ namespace, pod: name, container, which }: LogQuestion): LogAnswer {
    const worker = [...this.#workers.values()].find(
      ({ pod }) => pod.metadata.namespace === namespace && pod.metadata.name === name,
    );
    if (worker === undefined) {
      return { status: 404, problem: `pod "${name}" not found in namespace "${namespace}" on node ${this.name}` };
    }
    const path = worker.folder.findLog(container, which);
    if (path === undefined) {
      const wanted = which === 'previous' ? `previous terminated container "${container}"` : `container "${container}"`;
      return { status: 400, problem: `${wanted} in pod "${name}" has no log: it has not been started` };
    }
    return { path, isGrowing: () => which === 'current' && worker.isRunning(container) };
  }

  /** Best effort, and only what the last event of this pod did not say already. */
  #recordEvent(pod: Pod, event: PodEvent): void {
    const { namespace, name, uid, resourceVersion } = pod.metadata;
    const text = `${event.reason} ${event.message}`;
    if (this.#lastEvent.get(uid) === text) {
      return;
    }
    this.#lastEvent.set(uid, text);
    const time = this.#options.now().toISOString();
    const body = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { generateName: `${name.slice(0, 50)}.`, namespace },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid, resourceVersion },
      ...event,
      message: event.message.slice(0, 1000),
      source: { component: 'coxswain-local-nodes', host: this.name },
      reportingComponent: 'coxswain-local-nodes',
      reportingInstance: this.name,
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    this.#options.api
      .request({ method: 'POST', path: `/api/v1/namespaces/${namespace}/events`, body })
      .catch(() => undefined);
  }
}

interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string;
}

const CONDITIONS = [
  { type: 'MemoryPressure', status: 'False', reason: 'NotMeasured', message: 'local nodes do not measure memory' },
  { type: 'DiskPressure', status: 'False', reason: 'NotMeasured', message: 'local nodes do not measure disks' },
  { type: 'PIDPressure', status: 'False', reason: 'NotMeasured', message: 'local nodes do not count processes' },
  { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'the local node agent is running' },
];

function architecture(): string {
  return process.arch === 'x64' ? 'amd64' : process.arch;
}
