/** Writes on Nodes which of them are kept from every job, and what shows it. */
import { NODE_MARKS, type TrainingJob } from '@coxswain/api-types';
import { isConflict, isNotFound, sleep, type Clock, type KubeClient, type KubeObject } from '@coxswain/kube';
import {
  isStillDue,
  type JudgedNode,
  judgeQuarantine,
  QUARANTINE_TAINT,
  type QuarantineAction,
  type QuarantineMode,
  type Witness,
} from '@coxswain/lifecycle';
import type { CachedNode } from '../cluster/cached-node.ts';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { nodesPath } from '../cluster/paths.ts';

/** What the desk is made of. `client` must refuse writes when this process does not lead. */
export interface QuarantineControllerParts {
  readonly client: Pick<KubeClient, 'get' | 'patch'>;
  readonly cache: Pick<ClusterCache, 'nodes' | 'jobs' | 'readNode'>;
  readonly clock: Clock;
  readonly mode: QuarantineMode;
  /** Something was written, or would have been if not so many nodes were kept back already. */
  readonly onChange: (what: {
    readonly node: string;
    readonly change: 'quarantined' | 'released' | 'heldBack';
  }) => void;
  readonly onError: (error: unknown) => void;
}

/** Between two looks. Nothing waits for it: jobs avoid what failed them by themselves. */
const INTERVAL_MS = 15_000;

type Taint = Readonly<Record<string, unknown>>;
type RawNode = KubeObject & { readonly spec?: { readonly taints?: readonly Taint[] | null } | null };

export class QuarantineController {
  readonly #parts: QuarantineControllerParts;
  /** Told once for as long as it lasts. */
  #heldBack: ReadonlySet<string> = new Set();

  constructor(parts: QuarantineControllerParts) {
    this.#parts = parts;
  }

  /** Looks from time to time until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#parts.clock, INTERVAL_MS, signal);
      if (!signal.aborted) await this.reconcile();
    }
  }

  /** Once. What fails is tried again at the next look. */
  async reconcile(): Promise<void> {
    const { cache, clock, mode, onChange } = this.#parts;
    if (mode === 'Off') return;
    const nodes = cache.nodes.list().map(toJudged);
    const jobs = mode === 'ConditionsAndJobs' ? cache.jobs.cached.list().map(toWitness) : [];
    const { actions, heldBack } = judgeQuarantine(nodes, jobs, clock.now());
    for (const action of actions) await this.#perform(action);
    for (const node of heldBack) if (!this.#heldBack.has(node)) onChange({ node, change: 'heldBack' });
    this.#heldBack = new Set(heldBack);
  }

  async #perform(action: QuarantineAction): Promise<void> {
    const { client, cache, onChange, onError } = this.#parts;
    const path = nodesPath(action.node);
    try {
      const node = await client.get<RawNode>(path);
      if (!isStillDue(action, toJudged(cache.readNode(node)))) return;
      await client.patch(path, changeOf(action, node), { type: 'merge' });
      onChange({ node: action.node, change: action.kind === 'release' ? 'released' : 'quarantined' });
    } catch (error) {
      // It is gone, or somebody wrote meanwhile: another look is due.
      if (!isConflict(error) && !isNotFound(error)) onError(error);
    }
  }
}

/** A list is replaced as a whole: the resourceVersion makes it a compare-and-set, so that nobody's taint is undone. */
function changeOf(action: QuarantineAction, { metadata, spec }: RawNode): object {
  const { uid, resourceVersion } = metadata;
  const others = (spec?.taints ?? []).filter(({ key }) => key !== NODE_MARKS.quarantine);
  const [taints, note] =
    action.kind === 'release' ? [others, null] : [[...others, QUARANTINE_TAINT], JSON.stringify(action.note)];
  return { metadata: { uid, resourceVersion, annotations: { [NODE_MARKS.quarantine]: note } }, spec: { taints } };
}

function toJudged({ facts, bootId, conditions, quarantineNote }: CachedNode): JudgedNode {
  const { name, gpuCapacity: gpus, taints = [] } = facts;
  const isQuarantined = taints.some(({ key }) => key === NODE_MARKS.quarantine);
  return { name, gpus, bootId, conditions, isQuarantined, note: quarantineNote };
}

function toWitness({ metadata, status }: TrainingJob): Witness {
  return { namespace: metadata.namespace ?? '', job: metadata.name, avoided: status?.avoidedNodes ?? [] };
}
