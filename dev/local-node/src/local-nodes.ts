import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { createAuthority, freePort } from '@coxswain/local-cluster';
import { readFabricFile, type LocalNodeSpec } from './settings/fabric-file.ts';
import { LocalImages } from './settings/images-file.ts';
import { LocalNode, type LostPods } from './node/local-node.ts';
import type { MountMode } from './container/mount-plan.ts';
import { HttpsNodeApi, readKubeconfig, type Credentials } from './kube/node-api.ts';
import { findMountMode } from './container/sandbox.ts';

/** What a local node agent is started with. */
export interface LocalNodesOptions {
  /** Path of a kubeconfig, one for all nodes or one for each (as user `system:node:<name>` of group `system:nodes`). */
  readonly kubeconfig: string | ((nodeName: string) => string);
  readonly fabricFile: string;
  readonly imagesFile: string;
  /** The agent's own folder: logs and volumes of its pods. One agent at a time. */
  readonly directory: string;
  /** Authority of the certificate that the apiserver shows when it asks for logs; others get none. */
  readonly kubeletClientCaPem: string;
  /** `auto` takes the best that works here. */
  readonly mounts?: 'auto' | MountMode;
  /** Time between two renewals of a node's lease; 10 s by default, as a kubelet's. */
  readonly heartbeatMs?: number;
  readonly now?: () => Date;
}

/** A running agent. */
export interface LocalNodes {
  readonly nodeNames: readonly string[];
  readonly mountMode: MountMode;
  /** Stops heartbeats and reports of a node; its pods' processes are `killed` (default) or left `running`. */
  loseNode(name: string, options?: { readonly pods?: LostPods }): Promise<void>;
  /** Ends the loss. Pods whose processes died meanwhile are reported as a kubelet does after a reboot. */
  returnNode(name: string): Promise<void>;
  /** Kills every process of every pod and ends; resolves when all are gone. The Node objects stay. */
  stop(): Promise<void>;
}

const DEFAULT_HEARTBEAT_MS = 10_000;
const CONTROL_POLL_MS = 250;
const LOST_NODES_FILE = 'lost-nodes.yaml';
const READY_FILE = 'nodes.json';

/** Starts the nodes of a fabric file in this process and resolves when all are registered. */
export async function startLocalNodes(options: LocalNodesOptions): Promise<LocalNodes> {
  const fabric = readFabricFile(options.fabricFile);
  const images = new LocalImages(options.imagesFile);
  images.read(); // An invalid file at the start is a mistake of the command line, not of a pod.
  mkdirSync(options.directory, { recursive: true, mode: 0o755 });
  rmSync(join(options.directory, READY_FILE), { force: true });
  const mounts = options.mounts ?? 'auto';
  const mountMode = mounts === 'auto' ? findMountMode(options.directory) : mounts;
  const nodes = await makeNodes(fabric.nodes, { options, images, mountMode });
  const agent = new LocalNodeAgent(nodes, { directory: options.directory, mountMode });
  try {
    await agent.start();
    return agent;
  } catch (error) {
    await agent.stop();
    throw error;
  }
}

interface Setup {
  readonly options: LocalNodesOptions;
  readonly images: LocalImages;
  readonly mountMode: MountMode;
}

async function makeNodes(specs: readonly LocalNodeSpec[], setup: Setup): Promise<LocalNode[]> {
  const { options, images, mountMode } = setup;
  const authority = await createAuthority('local nodes');
  return Promise.all(
    specs.map(async (spec) => {
      const { kubeconfig } = options;
      const credentials = readKubeconfig(typeof kubeconfig === 'string' ? kubeconfig : kubeconfig(spec.name));
      const subject = {
        commonName: `system:node:${spec.name}`,
        organizations: ['system:nodes'],
        hosts: [spec.address],
      };
      return new LocalNode({
        spec,
        images,
        mountMode,
        api: new HttpsNodeApi(credentials),
        directory: options.directory,
        clusterEnv: clusterEnv(credentials),
        serving: await authority.issue(subject),
        kubeletClientCaPem: options.kubeletClientCaPem,
        kubeletPort: await freePort(),
        heartbeatMs: options.heartbeatMs ?? DEFAULT_HEARTBEAT_MS,
        now: options.now ?? (() => new Date()),
      });
    }),
  );
}

/** Service addresses are not routed to host processes, so containers get the apiserver's real one. */
function clusterEnv({ server }: Credentials): Readonly<Record<string, string>> {
  const { hostname, port } = new URL(server);
  return { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port === '' ? '443' : port };
}

const LostNodes = z.record(z.string(), z.enum(['killed', 'running']));
/** Nodes that are lost, and what becomes of the processes on them. */
export type LostNodes = Readonly<Record<string, LostPods>>;

/**
 * Tells the agent that works in `directory`, from whatever process, which nodes are lost from now on; nodes that are
 * not named come back. The agent looks four times a second.
 */
export function setLostNodes(directory: string, lost: LostNodes): void {
  const path = join(directory, LOST_NODES_FILE);
  writeFileSync(`${path}.new`, `${JSON.stringify(lost)}\n`);
  renameSync(`${path}.new`, path);
}

class LocalNodeAgent implements LocalNodes {
  readonly mountMode: MountMode;
  readonly #nodes: ReadonlyMap<string, LocalNode>;
  readonly #directory: string;
  #control: NodeJS.Timeout | undefined;
  #lostText = '';
  #obeying: Promise<void> = Promise.resolve();

  constructor(nodes: readonly LocalNode[], parts: { readonly directory: string; readonly mountMode: MountMode }) {
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
    this.#directory = parts.directory;
    this.mountMode = parts.mountMode;
  }

  get nodeNames(): readonly string[] {
    return [...this.#nodes.keys()];
  }

  async start(): Promise<void> {
    rmSync(join(this.#directory, LOST_NODES_FILE), { force: true });
    await Promise.all([...this.#nodes.values()].map((node) => node.start()));
    this.#control = setInterval(() => this.#obeyFile(), CONTROL_POLL_MS);
    const ready = { pid: process.pid, mountMode: this.mountMode, nodes: this.nodeNames };
    writeFileSync(join(this.#directory, READY_FILE), `${JSON.stringify(ready)}\n`);
  }

  loseNode(name: string, { pods = 'killed' }: { readonly pods?: LostPods } = {}): Promise<void> {
    return this.#require(name).lose(pods);
  }

  returnNode(name: string): Promise<void> {
    return this.#require(name).comeBack();
  }

  async stop(): Promise<void> {
    clearInterval(this.#control);
    rmSync(join(this.#directory, READY_FILE), { force: true });
    await Promise.all([...this.#nodes.values()].map((node) => node.stop()));
    await this.#obeying;
  }

  #require(name: string): LocalNode {
    const node = this.#nodes.get(name);
    if (node === undefined) {
      throw new RangeError(`there is no local node ${name}; there are ${this.nodeNames.join(', ')}`);
    }
    return node;
  }

  #obeyFile(): void {
    const path = join(this.#directory, LOST_NODES_FILE);
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    if (text === this.#lostText) {
      return;
    }
    this.#lostText = text;
    const lost = LostNodes.safeParse(text === '' ? {} : parse(text));
    if (!lost.success) {
      console.error(`${path} is ignored: ${z.prettifyError(lost.error)}`);
      return;
    }
    this.#obeying = this.#obeying.then(() => this.#obey(lost.data)).catch(console.error);
  }

  async #obey(lost: LostNodes): Promise<void> {
    for (const [name, node] of this.#nodes) {
      const pods = lost[name];
      if (pods !== undefined && !node.isLost) {
        await node.lose(pods);
      } else if (pods === undefined && node.isLost) {
        await node.comeBack();
      }
    }
  }
}
