/** Quarantines nodes by a taint, and records the evidence in an annotation. */
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

/** Parts of the controller. `client` must reject writes while this process does not lead. */
export interface QuarantineControllerParts {
  readonly client: Pick<KubeClient, 'get' | 'patch'>;
  readonly cache: Pick<ClusterCache, 'nodes' | 'jobs' | 'readNode'>;
  readonly clock: Clock;
  readonly mode: QuarantineMode;
  /** Called for each change. heldBack: the limit of quarantined nodes prevented it. */
  readonly onChange: (what: { readonly node: string; readonly change: keyof typeof QUARANTINE_MESSAGES }) => void;
  readonly onError: (error: unknown) => void;
}

/** What the operator's log says of each change. */
export const QUARANTINE_MESSAGES = {
  quarantined:
    'a node is in quarantine and takes no jobs; its annotation has the reason, and docs/reference/failures.md describes how to release it',
  released: 'a node in quarantine was rebooted and takes jobs again',
  overruled:
    'a person removed the quarantine of a node; it takes jobs again, and only new evidence quarantines it again',
  heldBack:
    'a node seems faulty but is not quarantined, because a tenth of the nodes already are; check for a common cause',
} as const;

/** Interval of reconciles. Nothing waits for it, because each job avoids its own failed nodes. */
const INTERVAL_MS = 15_000;

const CHANGE_OF = { quarantine: 'quarantined', overrule: 'overruled', release: 'released' } as const;

type Taint = Readonly<Record<string, unknown>>;
type RawNode = KubeObject & { readonly spec?: { readonly taints?: readonly Taint[] | null } | null };

/** Taints nodes that their conditions or several jobs show to be faulty, and releases them after a reboot. */
export class QuarantineController {
  readonly #parts: QuarantineControllerParts;
  /** Nodes reported as held back, so that each is reported once. */
  #heldBack: ReadonlySet<string> = new Set();

  constructor(parts: QuarantineControllerParts) {
    this.#parts = parts;
  }

  /** Reconciles at intervals until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#parts.clock, INTERVAL_MS, signal);
      if (!signal.aborted) await this.reconcile();
    }
  }

  /** Reconciles once. Failures are retried at the next interval. */
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
      onChange({ node: action.node, change: CHANGE_OF[action.kind] });
    } catch (error) {
      // The node was deleted or changed meanwhile; the next reconcile reads it.
      if (!isConflict(error) && !isNotFound(error)) onError(error);
    }
  }
}

/** A merge patch replaces the whole list of taints, so the resourceVersion makes it a compare-and-set and keeps taints of others. */
function changeOf(action: QuarantineAction, { metadata, spec }: RawNode): object {
  const { uid, resourceVersion } = metadata;
  const others = (spec?.taints ?? []).filter(({ key }) => key !== NODE_MARKS.quarantine);
  const taints = action.kind === 'quarantine' ? [...others, QUARANTINE_TAINT] : others;
  const note = action.kind === 'release' ? null : JSON.stringify(action.note);
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
