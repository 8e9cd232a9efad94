/** Reads which pods of the cluster are to be observed. */
import { OBSERVE_LABEL } from '@coxswain/api-types';
import { type Clock, type KubeClient, resourcePath, sleep } from '@coxswain/kube';
import { type ObservedPod, toObservedPod } from './observed-pod.ts';

const EVERY_MS = 15_000;
const LEAST_BETWEEN_MS = 1_000;
const CHECK_MS = 250;
const PAGE_SIZE = 200;

/** How they are read, and what takes them. */
interface ObservedPodReadsParts {
  readonly client: Pick<KubeClient, 'list'>;
  readonly clock: Clock;
  readonly isLeading: () => boolean;
  readonly take: (pods: readonly ObservedPod[]) => void;
}

/** Lists them every 15 s while this replica leads, and soon after an unknown pod has reported. */
export class ObservedPodReads {
  readonly #parts: ObservedPodReadsParts;
  #isWanted = false;

  constructor(parts: ObservedPodReadsParts) {
    this.#parts = parts;
  }

  /** An unknown pod has reported. */
  hurry(): void {
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
        // What was read before stays until the API server answers again.
        await this.#read().catch(() => undefined);
      }
      await sleep(clock, CHECK_MS, signal);
    }
  }

  async #read(): Promise<void> {
    const { client, take } = this.#parts;
    const found: ObservedPod[] = [];
    const path = resourcePath({ group: '', version: 'v1', plural: 'pods' });
    for (let next: string | undefined = ''; next !== undefined;) {
      const page: Awaited<ReturnType<typeof client.list>> = await client.list(path, {
        labelSelector: `${OBSERVE_LABEL}=true`,
        limit: PAGE_SIZE,
        ...(next === '' ? {} : { continue: next }),
      });
      found.push(...page.items.flatMap((pod) => toObservedPod(pod) ?? []));
      next = page.metadata.continue === '' ? undefined : page.metadata.continue;
    }
    take(found);
  }
}
