import { waitFor, type AdminClient } from '@coxswain/local-cluster';
import { Repeating } from './repeating.ts';

const INTERVAL_MS = 1_000;
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

interface NodeLike {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Stands in for the part of kubelets that keeps nodes Ready: their leases, and their own word where somebody calls them not ready. */
export class FakeHeartbeats {
  /** Nodes whose kubelet does not reach the API server. */
  readonly silent = new Set<string>();
  readonly #admin: AdminClient;
  readonly #nodes = new Set<string>();
  readonly #speaking = new Repeating(INTERVAL_MS, () => {
    const reporting = [...this.#nodes].filter((name) => !this.silent.has(name));
    return Promise.allSettled(reporting.map((name) => this.#speak(name)));
  });

  constructor(admin: AdminClient) {
    this.#admin = admin;
  }

  start(): void {
    this.#speaking.start();
  }

  stop(): Promise<void> {
    return this.#speaking.stop();
  }

  /** The node's kubelet is there from now on; resolves when the node takes pods. */
  async join(name: string): Promise<void> {
    await this.#admin.json({
      method: 'POST',
      path: LEASES,
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name },
        spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTime() },
      },
    });
    this.#nodes.add(name);
    await waitFor(async () => isReady(await this.read(name)), { what: `node ${name} to be ready` });
  }

  read(name: string): Promise<NodeLike> {
    return this.#admin.json<NodeLike>({ method: 'GET', path: `/api/v1/nodes/${name}` });
  }

  async #speak(name: string): Promise<void> {
    const contentType = 'application/merge-patch+json';
    const renewal = { spec: { renewTime: microTime() } };
    await this.#admin.json({ method: 'PATCH', path: `${LEASES}/${name}`, body: renewal, contentType });
    if (isCalledReady(await this.read(name))) return;
    const now = new Date().toISOString();
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'KubeletReady',
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    };
    const body = { status: { conditions: [ready] } };
    await this.#admin.json({ method: 'PATCH', path: `/api/v1/nodes/${name}/status`, body, contentType });
  }
}

function isCalledReady({ status }: NodeLike): boolean {
  return (status.conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True');
}

/** Ready, and without the taints of a node that is not. */
export function isReady(node: NodeLike): boolean {
  return isCalledReady(node) && !(node.spec.taints ?? []).some(({ key }) => key.startsWith('node.kubernetes.io/'));
}

function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z');
}
