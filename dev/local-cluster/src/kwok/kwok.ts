import { join } from 'node:path';
import { findBinary } from '../programs/binaries.ts';
import type { ControlPlane } from '../kubernetes/control-plane.ts';
import { startProcess, type ProcessHandle } from '../process/processes.ts';
import { waitFor } from '../process/wait.ts';

/** What simulated nodes are made of. */
export interface KwokOptions {
  readonly controlPlane: Pick<ControlPlane, 'adminKubeconfigPath' | 'logsDirectory' | 'admin'>;
  /** How many; they are named `<namePrefix>-<index>` with five digits. */
  readonly nodes: number;
  /** `kwok` by default. */
  readonly namePrefix?: string;
  /** Labels of the node with that index, beside its host name. */
  readonly labels?: (index: number) => Readonly<Record<string, string>>;
  /** Resource quantities of each node; 8 GPUs, 192 cores and 2 TiB by default. */
  readonly capacity?: Readonly<Record<string, string>>;
  /** How long to wait for all nodes to be ready; 60 s and 60 ms per node by default. */
  readonly deadlineMs?: number;
  /** A node renews its lease four times in that time; 40 s by default. With thousands of nodes little else would go on. */
  readonly nodeLeaseDurationSeconds?: number;
}

/** Nodes that exist in the API alone. Pods on them run, end and go as annotations say; see `pod-stages.yaml`. */
export interface Kwok {
  readonly nodeNames: readonly string[];
  /** Adds nodes or, with other names, another batch; resolves when they are ready and free of taints. */
  addNodes(batch: Pick<KwokOptions, 'nodes' | 'namePrefix' | 'labels' | 'capacity' | 'deadlineMs'>): Promise<void>;
  /** Deletes nodes, with all that runs there. */
  removeNodes(names: readonly string[]): Promise<void>;
  /** Ends the simulation; the objects stay, and the nodes fall silent. */
  stop(): Promise<void>;
}

const STAGES = ['node-stages.yaml', 'pod-stages.yaml'].map((file) => join(import.meta.dirname, file));
const MARK = { key: 'kwok.coxswain.dev/simulated', value: 'true' } as const;
const CAPACITY: Readonly<Record<string, string>> = { cpu: '192', memory: '2Ti', pods: '110', 'nvidia.com/gpu': '8' };
const CONNECTIONS = 16;

/** Starts kwok with our own stages beside a control plane and makes its nodes; resolves when all can be scheduled on. */
export async function startKwok(options: KwokOptions): Promise<Kwok> {
  const { controlPlane } = options;
  const handle = await startProcess({
    name: 'kwok',
    command: await findBinary('kwok'),
    args: [
      `--kubeconfig=${controlPlane.adminKubeconfigPath}`,
      `--manage-nodes-with-annotation-selector=${MARK.key}=${MARK.value}`,
      `--node-lease-duration-seconds=${options.nodeLeaseDurationSeconds ?? 40}`,
      '--node-ip=127.0.0.1',
      ...STAGES.map((path) => `--config=${path}`),
    ],
    logPath: join(controlPlane.logsDirectory, 'kwok.log'),
  });
  const kwok = new SimulatedNodes(handle, controlPlane.admin);
  try {
    await kwok.addNodes(options);
    return kwok;
  } catch (error) {
    await kwok.stop();
    throw error;
  }
}

class SimulatedNodes implements Kwok {
  readonly #handle: ProcessHandle;
  readonly #admin: ControlPlane['admin'];
  #names: readonly string[] = [];

  constructor(handle: ProcessHandle, admin: ControlPlane['admin']) {
    this.#handle = handle;
    this.#admin = admin;
  }

  get nodeNames(): readonly string[] {
    return this.#names;
  }

  async addNodes(batch: Parameters<Kwok['addNodes']>[0]): Promise<void> {
    const prefix = batch.namePrefix ?? 'kwok';
    const names = Array.from({ length: batch.nodes }, (_, index) => `${prefix}-${String(index).padStart(5, '0')}`);
    const bodies = names.map((name, index) => toNode(name, batch.labels?.(index) ?? {}, batch.capacity ?? CAPACITY));
    await inTurns(bodies, (body) => this.#admin.json({ method: 'POST', path: '/api/v1/nodes', body }));
    this.#names = [...this.#names, ...names];
    await waitFor(() => this.#areReady(names), {
      deadlineMs: batch.deadlineMs ?? 60_000 + 60 * batch.nodes,
      intervalMs: 200,
      what: `${batch.nodes} simulated nodes to be ready and without taints`,
    });
  }

  async removeNodes(names: readonly string[]): Promise<void> {
    const removed = new Set(names);
    await inTurns(names, (name) => this.#admin.send({ method: 'DELETE', path: `/api/v1/nodes/${name}` }));
    this.#names = this.#names.filter((name) => !removed.has(name));
  }

  async stop(): Promise<void> {
    await this.#handle.stop({ graceMs: 1_000 });
  }

  async #areReady(names: readonly string[]): Promise<boolean> {
    const list = await this.#admin.json<{ items: readonly NodeView[] }>({ method: 'GET', path: '/api/v1/nodes' });
    const ready = new Set(list.items.filter(isSchedulable).map((node) => node.metadata.name));
    return names.every((name) => ready.has(name));
  }
}

async function inTurns<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  const left = items.values();
  const worker = async (): Promise<void> => {
    for (const item of left) await act(item);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}

interface NodeView {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly taints?: readonly unknown[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

function isSchedulable({ spec, status }: NodeView): boolean {
  const isReady = status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
  return isReady && (spec.taints ?? []).length === 0;
}

function toNode(
  name: string,
  labels: Readonly<Record<string, string>>,
  capacity: Readonly<Record<string, string>>,
): object {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64', ...labels },
      annotations: { [MARK.key]: MARK.value },
    },
    status: { capacity, allocatable: capacity },
  };
}
