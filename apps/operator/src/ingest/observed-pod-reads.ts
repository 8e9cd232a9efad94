/** Reads which pods of the named namespaces are to be observed. */
import { OBSERVE_LABEL } from '@coxswain/api-types';
import { type Clock, type KubeClient, resourcePath, sleep } from '@coxswain/kube';
import { type ObservedPod, toObservedPod } from './observed-pod.ts';

const EVERY_MS = 15_000;
const LEAST_BETWEEN_MS = 1_000;
const CHECK_MS = 250;
/** A pod may have 1.5 MB, and a page is parsed as a whole. */
const PAGE_SIZE = 20;
/** The pods of 16,384 GPUs are 2,048. */
const MOST_PODS_OF_NAMESPACE = 2_500;
const MOST_HURRIED = 10_000;

/** How they are read, and what takes them. */
interface ObservedPodReadsParts {
  readonly client: Pick<KubeClient, 'list'>;
  readonly clock: Clock;
  readonly isLeading: () => boolean;
  readonly namespaces: readonly string[];
  readonly take: (pods: readonly ObservedPod[]) => void;
  readonly warn: (message: string) => void;
}

/** Lists them every 15 s while this replica leads, and soon after an unknown pod has reported. */
export class ObservedPodReads {
  readonly #parts: ObservedPodReadsParts;
  /** What was read before stays until the API server answers again. */
  readonly #found = new Map<string, readonly ObservedPod[]>();
  readonly #warned = new Map<string, string>();
  readonly #hurriedFor = new Set<string>();
  #isWanted = false;

  constructor(parts: ObservedPodReadsParts) {
    this.#parts = parts;
  }

  /** An unknown pod has reported. Each pod hastens one read: it may have no label. */
  hurry(podUid: string): void {
    if (this.#hurriedFor.has(podUid)) return;
    if (this.#hurriedFor.size >= MOST_HURRIED) this.#hurriedFor.clear();
    this.#hurriedFor.add(podUid);
    this.#isWanted = true;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, isLeading } = this.#parts;
    let readAtMs = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      const sinceMs = clock.monotonicMs() - readAtMs;
      if (isLeading() && (sinceMs >= EVERY_MS || (this.#isWanted && sinceMs >= LEAST_BETWEEN_MS))) {
        this.#isWanted = false;
        readAtMs = clock.monotonicMs();
        await this.#read(signal);
      }
      await sleep(clock, CHECK_MS, signal);
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    for (const namespace of this.#parts.namespaces) {
      if (signal.aborted) return;
      try {
        this.#found.set(namespace, await this.#podsOf(namespace));
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        this.#warn(namespace, `pods to observe in namespace ${namespace} cannot be read: ${why}`);
      }
    }
    this.#parts.take([...this.#found.values()].flat());
  }

  async #podsOf(namespace: string): Promise<readonly ObservedPod[]> {
    const found: ObservedPod[] = [];
    const path = resourcePath({ group: '', version: 'v1', plural: 'pods', namespace });
    for (let next: string | undefined = ''; next !== undefined;) {
      const page: Awaited<ReturnType<KubeClient['list']>> = await this.#parts.client.list(path, {
        labelSelector: `${OBSERVE_LABEL}=true`,
        limit: PAGE_SIZE,
        ...(next === '' ? {} : { continue: next }),
      });
      found.push(...page.items.flatMap((pod) => toObservedPod(pod) ?? []));
      next = page.metadata.continue === '' ? undefined : page.metadata.continue;
      if (next === undefined || found.length < MOST_PODS_OF_NAMESPACE) continue;
      this.#warn(
        namespace,
        `namespace ${namespace} has more than ${found.length} pods to observe; the others are not read`,
      );
      return found;
    }
    this.#warned.delete(namespace);
    return found;
  }

  /** Once until it changes. */
  #warn(namespace: string, message: string): void {
    if (this.#warned.get(namespace) === message) return;
    this.#warned.set(namespace, message);
    this.#parts.warn(message);
  }
}
