/** Answers DrainRequests of NVSentinel: gangs save and leave the node, and the drain is complete when the listed pods are gone. */
import { DRAIN_REQUESTS, LABELS, type TrainingJob } from '@coxswain/api-types';
import {
  type Clock,
  isConflict,
  isKindUnknown,
  isNotFound,
  keyOf,
  type KubeClient,
  type KubeList,
  type KubeObject,
  listPages,
  resourcePath,
  sleep,
} from '@coxswain/kube';
import { answerDrain, canMove, type DrainRequest, drainRequestOf, type PodOnNode } from '@coxswain/lifecycle';
import { toCachedPod } from '../cluster/cached-pod.ts';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { BY_NODE, BY_UID } from '../cluster/indexes.ts';
import { podsPath } from '../cluster/paths.ts';

/** Parts of the controller. `client` must reject writes while this process does not lead. */
export interface DrainControllerParts {
  /** Of the requests: others are not read, because tenants may create them in namespaces of their own. */
  readonly namespace: string;
  readonly client: Pick<KubeClient, 'list' | 'patch'>;
  readonly cache: Pick<ClusterCache, 'jobs' | 'nodes' | 'pods' | 'drains'>;
  readonly clock: Clock;
  /** Queues the job of that key for a reconcile. */
  readonly wake: (key: string) => void;
  readonly onProblem: (problem: unknown, what: string) => void;
}

/** NVSentinel's node-drainer looks again after some seconds too. */
const INTERVAL_MS = 5_000;

/** There is one for each fault that is being worked on. The rest is read once these are gone. */
const MOST_REQUESTS = 2_000;
const PAGE_SIZE = 200;
/** An API server that has just started answers for some seconds that it does not know a kind that is there. */
const UNKNOWN_FOR_MS = 60_000;

type Fields = Readonly<Record<string, unknown>>;
type Pod = KubeObject & { readonly spec?: Fields; readonly status?: Fields };

export class DrainController {
  readonly #parts: DrainControllerParts;
  #saidUnknown = false;
  #saidMany = false;
  /** When the requests were read last; before that, when this process began to ask. */
  #readAtMs: number;

  constructor(parts: DrainControllerParts) {
    this.#parts = parts;
    this.#readAtMs = parts.clock.monotonicMs();
  }

  /** Reconciles at intervals until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, onProblem } = this.#parts;
    while (!signal.aborted) {
      await this.reconcile().catch((error: unknown) => onProblem(error, 'DrainRequests could not be read'));
      await sleep(clock, INTERVAL_MS, signal);
    }
  }

  /** Reads all requests once and answers them. Throws if they cannot be read: what they said before stays. */
  async reconcile(): Promise<void> {
    const { cache, wake } = this.#parts;
    const objects = await this.#list();
    const requests = objects.flatMap((object) => {
      const request = drainRequestOf(object);
      return request === undefined ? [] : [{ object, request }];
    });
    const changed = cache.drains.replace(requests.map(({ request }) => request));
    for (const node of changed) for (const key of this.#jobsOn(node)) wake(key);
    const open = requests.filter(({ request }) => !request.isAnswered);
    for (const [node, ofNode] of Map.groupBy(open, ({ request }) => request.node)) await this.#answer(node, ofNode);
  }

  async #list(): Promise<readonly KubeObject[]> {
    const { namespace, client, clock, onProblem } = this.#parts;
    const objects: KubeObject[] = [];
    let areMany = false;
    try {
      for await (const page of listPages(client, resourcePath({ ...DRAIN_REQUESTS, namespace }), {
        pageSize: PAGE_SIZE,
      })) {
        objects.push(...page);
        if (objects.length < MOST_REQUESTS) continue;
        areMany = true;
        const what = `there are ${MOST_REQUESTS} DrainRequests or more; the rest is read once these are gone`;
        if (!this.#saidMany) onProblem(undefined, what);
        break;
      }
      this.#saidMany = areMany;
      this.#readAtMs = clock.monotonicMs();
    } catch (error) {
      if (!isKindUnknown(error) || clock.monotonicMs() - this.#readAtMs < UNKNOWN_FOR_MS) throw error;
      objects.length = 0;
      if (!this.#saidUnknown)
        onProblem(undefined, 'there is no kind DrainRequest (nvsentinel.nvidia.com/v1alpha1) in this cluster');
      this.#saidUnknown = true;
    }
    return objects;
  }

  /** One read of the node's pods, after its requests were read, answers them all. */
  async #answer(
    node: string,
    requests: readonly { readonly object: KubeObject; readonly request: DrainRequest }[],
  ): Promise<void> {
    const { namespace, cache, client, clock, onProblem } = this.#parts;
    try {
      const listed = await client.list<Pod>(podsPath(), { fieldSelector: `spec.nodeName=${node}` });
      const pods = podsOf(listed).map((pod) => this.#toPod(pod));
      for (const { object, request } of requests) {
        const isReady = cache.nodes.get(node)?.facts.ready !== false;
        const conditions = answerDrain(request, pods, { now: clock.now(), isReady });
        if (conditions === undefined) continue;
        const { name, resourceVersion } = object.metadata;
        const path = resourcePath({ ...DRAIN_REQUESTS, namespace, name });
        // A merge patch replaces all conditions: with the version it keeps those that others wrote meanwhile.
        await client
          .patch(
            path,
            { metadata: { resourceVersion }, status: { conditions } },
            { type: 'merge', subresource: 'status' },
          )
          .catch(ignoreChanged);
      }
    } catch (error) {
      onProblem(error, `the DrainRequests of node ${node} could not be answered; the operator retries`);
    }
  }

  #toPod(pod: Pod): PodOnNode {
    const { namespace = '', name } = pod.metadata;
    const { terminal, gang } = toCachedPod(pod);
    const job = gang?.ownerUid === undefined ? undefined : this.#job(gang.ownerUid);
    const labelled = gang?.ownerUid === undefined ? undefined : pod.metadata.labels?.[LABELS.jobName];
    const jobName = job?.metadata.name ?? labelled;
    return {
      namespace,
      name,
      isOver: terminal,
      // The job of an owned pod may be deleted already: then its pods go.
      ...(jobName === undefined ? {} : { job: { name: jobName, savesCheckpoints: job === undefined || canMove(job) } }),
    };
  }

  #job(uid: string): TrainingJob | undefined {
    return this.#parts.cache.jobs.cached.byIndex(BY_UID, uid)[0];
  }

  #jobsOn(node: string): ReadonlySet<string> {
    const { cache } = this.#parts;
    const uids = cache.pods.cached.byIndex(BY_NODE, node).flatMap(({ gang }) => gang?.jobUid ?? []);
    return new Set(uids.flatMap((uid) => this.#job(uid) ?? []).map((job) => keyOf(job)));
  }
}

function podsOf({ items }: KubeList<Pod>): readonly Pod[] {
  if (!Array.isArray(items)) throw new Error('the server answered no list of pods');
  return items;
}

/** It was deleted, or somebody wrote its status: the next pass reads it again. */
function ignoreChanged(error: unknown): void {
  if (!isConflict(error) && !isNotFound(error)) throw error;
}
