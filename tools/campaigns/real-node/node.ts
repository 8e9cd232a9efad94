import { findBinary, startProcess, waitFor, type ControlPlane, type ProcessHandle } from '@coxswain/local-cluster';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCgroup } from './cgroups.ts';
import { command } from './command.ts';
import { ADDRESSES, cniConfig, containerdConfig, kubeletConfig, type NodePlaces } from './node-config.ts';

const READY_MS = 120_000;
/** Paths that containerd, the CNI plugins and the kubelet's device manager use whatever their flags are. */
const PRIVATE = ['/var/lib/kubelet', '/var/lib/cni', '/run'];

/** One node of the campaign, and where its files lie. */
export interface NodeOptions {
  readonly index: number;
  readonly name: string;
  readonly taint?: string;
  /** Of whole campaign; the node's own is below it. */
  readonly directory: string;
  readonly cgroup: string;
}

/** One node: a real containerd and a real kubelet, in a mount namespace of their own. */
export class RealNode {
  readonly name: string;
  readonly #places: NodePlaces;
  readonly #plane: ControlPlane;
  readonly #mounts: ProcessHandle;
  #kubelet: ProcessHandle | undefined;
  #containerd: ProcessHandle | undefined;

  private constructor(parts: { places: NodePlaces; plane: ControlPlane; mounts: ProcessHandle }) {
    this.#places = parts.places;
    this.#plane = parts.plane;
    this.#mounts = parts.mounts;
    this.name = parts.places.name;
  }

  /** Starts containerd and the kubelet; `ready` tells when the node takes pods. */
  static async start(plane: ControlPlane, options: NodeOptions): Promise<RealNode> {
    const directory = join(options.directory, options.name);
    const places: NodePlaces = {
      ...options,
      directory,
      taint: options.taint,
      containerdSocket: join(directory, 'containerd.sock'),
      cgroup: `${options.cgroup}/${options.name}`,
    };
    mkdirSync(join(directory, 'cni'), { recursive: true });
    writeFileSync(join(directory, 'containerd.toml'), containerdConfig(places));
    writeFileSync(join(directory, 'cni/pods.conflist'), cniConfig(places));
    writeFileSync(join(directory, 'kubelet.yaml'), kubeletConfig(places));
    writeFileSync(join(directory, 'clients.crt'), plane.kubeletClientCaPem);
    writeFileSync(join(directory, 'resolv.conf'), `nameserver ${ADDRESSES.host}\n`);
    makeCgroup(places.cgroup);
    const node = new RealNode({ places, plane, mounts: await holdMounts(places) });
    await node.#startContainerd();
    await node.startKubelet();
    return node;
  }

  async #startContainerd(): Promise<void> {
    const { directory, containerdSocket } = this.#places;
    rmSync(containerdSocket, { force: true });
    this.#containerd = await this.#startInside({
      name: 'containerd',
      program: 'containerd',
      args: ['--config', join(directory, 'containerd.toml')],
      ready: () => existsSync(containerdSocket),
    });
  }

  async startKubelet(): Promise<void> {
    const { directory, name, index } = this.#places;
    const kubeconfig = await this.#plane.kubeconfigForUser({ user: `system:node:${name}`, groups: ['system:nodes'] });
    this.#kubelet = await this.#startInside({
      name: 'kubelet',
      program: await findBinary('kubelet'),
      args: [
        `--config=${join(directory, 'kubelet.yaml')}`,
        `--kubeconfig=${kubeconfig}`,
        `--root-dir=${join(directory, 'kubelet')}`,
        `--cert-dir=${join(directory, 'pki')}`,
        `--hostname-override=${name}`,
        `--node-ip=${ADDRESSES.node(index)}`,
        '--v=2',
      ],
    });
  }

  /** SIGKILL to the kubelet alone, as by the kernel; its pods run on. */
  async killKubelet(): Promise<void> {
    this.#kubelet?.signal('SIGKILL');
    await this.#kubelet?.exited;
  }

  /** Everything on it ends at once, as when its power fails. */
  async lose(): Promise<void> {
    await this.killKubelet();
    await this.#containerd?.stop({ graceMs: 0 });
  }

  async comeBack(): Promise<void> {
    await this.#startContainerd();
    await this.startKubelet();
  }

  async importImage(archive: string): Promise<void> {
    await this.#images('import', archive);
  }

  async tagImage(name: string, { tag, otherTag }: { readonly tag: string; readonly otherTag: string }): Promise<void> {
    await this.#images('tag', `${name}:${tag}`, `${name}:${otherTag}`);
  }

  async #images(...args: readonly string[]): Promise<void> {
    const { containerdSocket } = this.#places;
    await command('ctr', ['--address', containerdSocket, '--namespace', 'k8s.io', 'images', ...args]);
  }

  async ready(): Promise<void> {
    await waitFor(() => this.#isReady(), { what: `node ${this.name} to be ready`, deadlineMs: READY_MS });
  }

  /** The cluster has noticed that its kubelet is silent. */
  async notReady(): Promise<void> {
    await waitFor(async () => !(await this.#isReady()), { what: `node ${this.name} not to be ready`, intervalMs: 500 });
  }

  async #isReady(): Promise<boolean> {
    const node = await this.#plane.admin.send({ method: 'GET', path: `/api/v1/nodes/${this.name}` });
    return node.status === 200 && isReady(JSON.parse(node.body) as NodeObject);
  }

  /** GPUs that the API counts; a container gets nothing by them. The kubelet keeps the reported number. */
  async setGpus(count: number): Promise<void> {
    await this.#plane.admin.json({
      method: 'PATCH',
      path: `/api/v1/nodes/${this.name}/status`,
      body: { status: { capacity: { 'nvidia.com/gpu': String(count) } } },
      contentType: 'application/merge-patch+json',
    });
  }

  #startInside(program: {
    readonly name: string;
    readonly program: string;
    readonly args: readonly string[];
    readonly ready?: () => boolean;
  }): Promise<ProcessHandle> {
    return startProcess({
      name: `${program.name} of ${this.name}`,
      command: 'nsenter',
      args: [`--mount=/proc/${this.#mounts.pid}/ns/mnt`, '--', program.program, ...program.args],
      logPath: join(this.#plane.logsDirectory, `${program.name}-${this.name}.log`),
      ...(program.ready === undefined ? {} : { ready: { check: program.ready, deadlineMs: READY_MS } }),
    });
  }
}

interface NodeObject {
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

function isReady({ status }: NodeObject): boolean {
  return status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;
}

/** A process whose mount namespace has the node's own folders at the paths that cannot be chosen. */
async function holdMounts({ name, directory }: NodePlaces): Promise<ProcessHandle> {
  const own = join(directory, 'own');
  const mounts = PRIVATE.map((path) => {
    mkdirSync(join(own, path), { recursive: true });
    return `mount --bind '${join(own, path)}' ${path}`;
  });
  const done = join(own, 'mounted');
  return startProcess({
    name: `mounts of ${name}`,
    command: 'unshare',
    // Shared below itself: what the kubelet mounts must reach containerd's containers.
    args: [
      '--mount',
      '--propagation=private',
      'sh',
      '-ec',
      [...mounts, 'mount --make-rshared /', `touch '${done}'`, 'exec sleep infinity'].join('; '),
    ],
    ready: { check: () => existsSync(done), deadlineMs: READY_MS },
  });
}
