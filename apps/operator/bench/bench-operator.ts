import { existsSync, readFileSync } from 'node:fs';
import type { KubeClient } from '@coxswain/kube';
import { SYSTEM_NAMESPACE, type ProcessHandle } from '@coxswain/local-cluster';
import { usageOf, type Usage } from './process-usage.ts';

const LEASE_PATH = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases/coxswain-operator`;
const LEASE_LOOK_MS = 200;
/** How often a leader renews its lease unless an option says otherwise. */
const RETRY_PERIOD_MS = 1_500;

/** The operator as a process, and what can be measured of it from outside. */
export class BenchOperator {
  readonly reportPort: number;
  readonly #handle: ProcessHandle;
  readonly #metrics: { readonly port: number; readonly token: string };
  readonly #client: KubeClient;
  readonly #stretchesFile: string;
  #stretchesRead = 0;

  constructor(parts: {
    readonly handle: ProcessHandle;
    readonly metrics: { readonly port: number; readonly token: string };
    readonly reportPort: number;
    readonly client: KubeClient;
    /** Written by `loop-stretches.ts`. */
    readonly stretchesFile: string;
  }) {
    this.#handle = parts.handle;
    this.#metrics = parts.metrics;
    this.#client = parts.client;
    this.#stretchesFile = parts.stretchesFile;
    this.reportPort = parts.reportPort;
  }

  usage(): Usage {
    return usageOf(this.#handle.pid);
  }

  /** The metric of that name (with its labels, as it is exposed); undefined when there is none. */
  async metric(name: string): Promise<number | undefined> {
    const { port, token } = this.#metrics;
    const headers = { authorization: `Bearer ${token}` };
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text();
    const line = text.split('\n').find((one) => one.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length + 1));
  }

  /** Longest time that the event loop was held up since this was asked last. */
  async loopLagMs(): Promise<number> {
    return 1_000 * ((await this.metric('nodejs_eventloop_lag_max_seconds')) ?? NaN);
  }

  /** How long the event loop was held at a time since this was asked last, in ms of CPU time, longest first; short ones are left out. */
  stretchesMs(): readonly number[] {
    const lines = existsSync(this.#stretchesFile) ? readFileSync(this.#stretchesFile, 'utf8').trim().split('\n') : [];
    const unread = lines.slice(this.#stretchesRead);
    this.#stretchesRead = lines.length;
    return unread.map(Number).toSorted((one, other) => other - one);
  }

  /** Watches renewals of the lease until `stop`, which answers by how much the latest one was late. */
  watchLease(): { stop(): Promise<number> } {
    let isOver = false;
    const renewedAt: number[] = [];
    const look = async (): Promise<void> => {
      const { spec } = await this.#client.get<{ spec: { renewTime: string } }>(LEASE_PATH);
      const at = Date.parse(spec.renewTime);
      if (at !== renewedAt.at(-1)) renewedAt.push(at);
    };
    const loop = (async () => {
      while (!isOver) {
        await look().catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, LEASE_LOOK_MS));
      }
    })();
    return {
      stop: async () => {
        isOver = true;
        await loop;
        const gaps = renewedAt.slice(1).map((at, index) => at - (renewedAt[index] ?? at));
        return Math.max(0, ...gaps) - RETRY_PERIOD_MS;
      },
    };
  }

  /** Rejects when the operator ends by itself before `work` does: it is not started again here, so that nothing would come of waiting. */
  async during<T>(work: Promise<T>): Promise<T> {
    const ended = this.#handle.exited.then(() => {
      throw new Error(
        `the operator ended while it was measured (its log says why; on a busy machine it loses its lease): ${this.#handle.logPath}`,
      );
    });
    return Promise.race([work, ended]);
  }

  async stop(): Promise<void> {
    await this.#handle.stop({ graceMs: 20_000 });
  }
}
