import { waitFor } from '@coxswain/local-cluster';
import type { BenchCluster } from './bench-cluster.ts';
import type { Progress } from './progress.ts';

const TELL_MS = 20_000;

/**
 * Counts the pods that run, without reading them: the API server sends the names alone, of pods in phase Running alone. `labelSelector` narrows
 * them down further.
 */
export class RunningPods {
  readonly #abort = new AbortController();
  readonly #running = new Set<string>();
  readonly #ended: Promise<unknown>;

  private constructor(cluster: BenchCluster, path: string, labelSelector: string) {
    this.#ended = this.#follow(cluster, path, labelSelector);
  }

  static watch(cluster: BenchCluster, namespace: string | undefined, labelSelector = ''): RunningPods {
    const path = namespace === undefined ? '/api/v1/pods' : `/api/v1/namespaces/${namespace}/pods`;
    return new RunningPods(cluster, path, labelSelector);
  }

  get count(): number {
    return this.#running.size;
  }

  /** Resolves when `count` pods run at the same time; says now and then how many do. */
  async until(count: number, deadlineMs: number, progress: Progress): Promise<void> {
    const areThere = (): boolean => this.#running.size >= count;
    const told = setInterval(() => progress(`${this.count} of ${count} pods run`), TELL_MS);
    await this.#until(areThere, count, deadlineMs).finally(() => clearInterval(told));
  }

  async #until(areThere: () => boolean, count: number, deadlineMs: number): Promise<void> {
    await waitFor(areThere, { what: `${count} pods to run`, deadlineMs, intervalMs: 5 }).catch((error: unknown) => {
      throw new Error(`${this.#running.size} of ${count} pods run`, { cause: error });
    });
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#ended;
  }

  /** The server ends a watch whose reader is slow: the next one begins with everything that runs then. */
  async #follow(cluster: BenchCluster, path: string, labelSelector: string): Promise<void> {
    while (!this.#abort.signal.aborted) {
      this.#running.clear();
      await this.#watch(cluster, path, labelSelector).catch(() => undefined);
    }
  }

  async #watch(cluster: BenchCluster, path: string, labelSelector: string): Promise<void> {
    const { body } = await cluster.client.requestStream(path, {
      query: { watch: true, fieldSelector: 'status.phase=Running', labelSelector, timeoutSeconds: 3_600 },
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
      signal: this.#abort.signal,
    });
    let text = '';
    for await (const chunk of body) {
      text += Buffer.from(chunk).toString('latin1');
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) this.#count(line);
    }
  }

  #count(line: string): void {
    const uid = /"uid":"([0-9a-f-]{36})","resourceVersion"/.exec(line)?.[1];
    if (uid === undefined) return;
    if (line.startsWith('{"type":"ADDED"')) this.#running.add(uid);
    else if (line.startsWith('{"type":"DELETED"')) this.#running.delete(uid);
  }
}
