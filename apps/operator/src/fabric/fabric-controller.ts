import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  API_GROUP_VERSION,
  FABRIC_NAME,
  type FabricResource,
  FabricSpec,
  type FabricStatus,
  type TrainingJob,
} from '@coxswain/api-types';
import { type FabricCapacity, type FabricProblem, MAX_FABRIC_PROBLEMS } from '@coxswain/fabric';
import { isConflict, isNotFound, keyOf, sleep, type Clock, type KubeClient } from '@coxswain/kube';
import { cutText } from '@coxswain/safe-text';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { fabricsPath } from '../cluster/paths.ts';
import { countGpus } from './gpu-counts.ts';
import { DeviceReads } from './device-reads.ts';
import { FabricSurvey } from './fabric-survey.ts';
import { NodeLabelController } from './node-label-controller.ts';

/** Parts of the controller. `client` must reject writes while this process does not lead. */
export interface FabricControllerParts {
  readonly client: Pick<KubeClient, 'get' | 'list' | 'create' | 'replace' | 'patch'>;
  readonly cache: Pick<ClusterCache, 'nodes' | 'stated' | 'placements' | 'jobs'>;
  readonly clock: Clock;
  /** Free and taken GPUs, with placements that have no pods yet; absent: they are not counted. */
  readonly capacity?: () => FabricCapacity;
  /** Whether inferred fabric labels are written to nodes; otherwise they are removed. */
  readonly publishesLabels: boolean;
  /** Called once when labels changed under a running job. */
  readonly warn: (job: TrainingJob, note: string) => void;
  /** Called when the reported change of that job differs from before. */
  readonly onNews: (key: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Interval of reconciles; each reads one object and writes it at most once. */
const INTERVAL_MS = 5_000;
/** Characters of a message in status. */
const MOST_TEXT = 4_000;

/**
 * Reconciles the Fabric resource: applies its spec to the cached nodes and the reserve, and writes how nodes are connected and which facts contradict each
 * other to its status. Creates the resource if there is none, so that `kubectl get fabric` shows one.
 */
export class FabricController {
  readonly #parts: FabricControllerParts;
  readonly #survey: FabricSurvey;
  /** The reported fabric change of each job, by UID. */
  #changes: ReadonlyMap<string, { readonly key: string; readonly message: string }> = new Map();
  #unreadable: string | undefined;
  #gpuTypes: NonNullable<FabricStatus['gpuTypes']> = [];
  readonly #devices: DeviceReads;
  readonly #labels: NodeLabelController;

  constructor(parts: FabricControllerParts) {
    this.#parts = parts;
    const { client, clock, cache, publishesLabels, onError } = parts;
    this.#labels = new NodeLabelController({ client, clock, isAsked: publishesLabels, onError });
    this.#devices = new DeviceReads({ client, clock, stated: cache.stated });
    this.#survey = new FabricSurvey(parts.cache);
  }

  /** GPUs of usable nodes by type, as last counted. Empty: not counted yet. */
  get gpuTypes(): NonNullable<FabricStatus['gpuTypes']> {
    return this.#gpuTypes;
  }

  /** Reconciles at intervals until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.reconcile().catch((error: unknown) => this.#parts.onError(error));
      await sleep(this.#parts.clock, INTERVAL_MS, signal);
    }
  }

  /** Reconciles once. Failures are retried at the next interval. */
  async reconcile(): Promise<void> {
    // A failure to read devices must not prevent the spec from being applied.
    await this.#devices.refresh().catch((error: unknown) => this.#parts.onError(error));
    try {
      const fabric = await this.#read();
      if (fabric === undefined) return;
      this.#applySpec(fabric);
      await this.#writeStatus(fabric);
    } catch (error) {
      // A concurrent write; the next reconcile reads it.
      if (!isConflict(error)) this.#parts.onError(error);
    }
    await this.#labels.reconcile(this.#survey.graph().nodes, this.#parts.cache.nodes.list());
  }

  /** The Fabric resource; undefined while its definition is not installed. */
  async #read(): Promise<FabricResource | undefined> {
    const { client } = this.#parts;
    try {
      return await client.get<FabricResource & { metadata: object }>(fabricsPath({ name: FABRIC_NAME }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    try {
      const made = { apiVersion: API_GROUP_VERSION, kind: 'Fabric', metadata: { name: FABRIC_NAME }, spec: {} };
      return await client.create<FabricResource & typeof made>(fabricsPath(), made as never);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Applies the spec. If this release cannot read it, the previous spec stays in effect. */
  #applySpec({ spec }: FabricResource): void {
    const read = FabricSpec.safeParse(spec);
    this.#unreadable = read.success ? undefined : read.error.issues[0]?.message;
    if (read.success) this.#parts.cache.stated.replace(read.data);
  }

  async #writeStatus(fabric: FabricResource): Promise<void> {
    await this.#survey.prepare();
    const gangs = this.#survey.changedGangs();
    this.#warn(gangs);
    const { summary, problems } = this.#survey.graph();
    const all = [...gangs.map(({ problem }) => problem), ...this.#ownProblems(), ...problems];
    const listed = all.slice(0, MAX_FABRIC_PROBLEMS).map((problem) => ({
      ...problem,
      nodes: [...problem.nodes],
      message: cutText(problem.message, MOST_TEXT),
    }));
    // With many gangs that start, to count takes as long again.
    await nextTurn();
    await this.#survey.prepare();
    const counts = this.#gpuCounts();
    this.#gpuTypes = counts.gpuTypes ?? [];
    const status: FabricStatus = {
      ...summary,
      ...counts,
      problems: listed,
      conditions: [this.#consistent(fabric, listed)],
    };
    if (JSON.stringify(inOrder(status)) === JSON.stringify(inOrder(fabric.status))) return;
    const path = fabricsPath({ name: FABRIC_NAME });
    await this.#parts.client.replace(path, { ...fabric, status } as never, { subresource: 'status' });
  }

  #gpuCounts(): Pick<FabricStatus, 'freeGpus' | 'gpuTypes'> {
    const { capacity } = this.#parts;
    return capacity === undefined ? {} : countGpus(capacity());
  }

  #ownProblems(): readonly FabricProblem[] {
    const { cache, clock } = this.#parts;
    return [...this.#unreadableSpec(), ...cache.stated.windowProblems(clock.now())];
  }

  #unreadableSpec(): readonly FabricProblem[] {
    if (this.#unreadable === undefined) return [];
    const message = `The spec of Fabric ${FABRIC_NAME} cannot be read by this release: ${this.#unreadable}. The previous spec stays in effect. Correct the spec, or upgrade the operator.`;
    return [{ kind: 'Unreadable', nodes: [], message }];
  }

  #consistent(
    { metadata, status }: FabricResource,
    problems: FabricStatus['problems'],
  ): FabricStatus['conditions'][number] {
    const [first] = problems;
    const before = status?.conditions.find(({ type }) => type === 'Consistent');
    const verdict =
      first === undefined
        ? {
            status: 'True' as const,
            reason: 'NothingContradicts',
            message: 'The facts about the nodes do not contradict each other.',
          }
        : {
            status: 'False' as const,
            reason: first.kind,
            message: `${problems.length === 1 ? '1 problem' : `${problems.length} problems`}: ${first.message}`,
          };
    const isSame = before?.status === verdict.status;
    return {
      type: 'Consistent',
      ...verdict,
      observedGeneration: metadata.generation ?? 0,
      lastTransitionTime: isSame ? before.lastTransitionTime : this.#parts.clock.now().toISOString(),
    };
  }

  /** The fabric change under the job of that UID as a sentence; undefined without a change. */
  changeOf(jobUid: string): string | undefined {
    return this.#changes.get(jobUid)?.message;
  }

  /** The current places of these nodes in the form that a Placement stores. */
  placesToText(nodes: readonly string[]): string | undefined {
    return this.#survey.placesToText(nodes);
  }

  #warn(gangs: ReturnType<FabricSurvey['changedGangs']>): void {
    const before = this.#changes;
    const changes = gangs.map(
      ({ job, problem: { message } }) => [job.metadata.uid, { key: keyOf(job), message }] as const,
    );
    this.#changes = new Map(changes);
    for (const { job, problem } of gangs) {
      if (before.get(job.metadata.uid)?.message === problem.message) continue;
      this.#parts.warn(job, problem.message);
      this.#parts.onNews(keyOf(job));
    }
    for (const [uid, { key }] of before) if (!this.#changes.has(uid)) this.#parts.onNews(key);
  }
}

/** The value with keys sorted at every depth, because the API server returns them in another order. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, inner]) => [key, inOrder(inner)]),
  );
}
