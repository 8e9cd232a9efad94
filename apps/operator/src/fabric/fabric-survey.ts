import { setImmediate as nextTurn } from 'node:timers/promises';
import { ANNOTATIONS, type TrainingJob } from '@coxswain/api-types';
import {
  changeUnderGang,
  fabricFromNodes,
  type FabricNode,
  type FabricProblem,
  fabricProblems,
  placesFromText,
  placesOf,
  placesToText,
  readNodes,
  summarize,
} from '@coxswain/fabric';
import { keyOf } from '@coxswain/kube';
import type { CachedNode } from '../cluster/cached-node.ts';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { BY_UID } from '../cluster/indexes.ts';

/** The fabric as one reading of the nodes shows it. */
interface Graph {
  readonly summary: ReturnType<typeof summarize>;
  readonly problems: readonly FabricProblem[];
  readonly nodes: ReadonlyMap<string, FabricNode>;
}

/** A job whose nodes' labels changed while it runs on them. */
export interface ChangedGang {
  readonly job: TrainingJob;
  readonly problem: FabricProblem;
}

/**
 * The fabric as the cache shows it, worked out again only when something changed that it is made of: of 10,000 nodes some say every second that they
 * live, which changes nothing here.
 */
export class FabricSurvey {
  readonly #cache: Pick<ClusterCache, 'nodes' | 'stated' | 'placements' | 'jobs'>;
  #graph: Graph | undefined;
  /** How often the graph has become outdated. */
  #changes = 0;
  /** Where the nodes of each gang were when it was placed, by the UID of its placement: as that says, else when this process saw it first. */
  readonly #placesOfGang = new Map<string, ReturnType<typeof placesOf>>();

  constructor(cache: Pick<ClusterCache, 'nodes' | 'stated' | 'placements' | 'jobs'>) {
    this.#cache = cache;
    const forget = (): void => {
      this.#graph = undefined;
      this.#changes += 1;
    };
    cache.stated.onChange(forget);
    cache.nodes.onChange((change) => {
      if (change.kind !== 'updated' || hasFabricChange(change.previous, change.object)) forget();
    });
  }

  graph(): Graph {
    this.#graph ??= finished(this.#buildGraph());
    return this.#graph;
  }

  /** Works the graph out in parts, with other work between them: 10,000 nodes take a quarter of a second. If nodes change meanwhile, {@link graph} does it. */
  async prepare(): Promise<void> {
    if (this.#graph !== undefined) return;
    const changes = this.#changes;
    const building = this.#buildGraph();
    let part = building.next();
    while (part.done !== true && changes === this.#changes) {
      await nextTurn();
      part = building.next();
    }
    if (part.done === true && changes === this.#changes) this.#graph = part.value;
  }

  /** What is said of these nodes now, for their Placement. */
  placesToText(nodes: readonly string[]): string | undefined {
    const known = this.graph().nodes;
    return placesToText(nodes, (name) => known.get(name));
  }

  /** Running gangs whose nodes' labels name other places than when the gang was placed. */
  changedGangs(): readonly ChangedGang[] {
    const { nodes } = this.graph();
    const nodeOf = (name: string): FabricNode | undefined => nodes.get(name);
    const seen = new Set<string>();
    const changed = this.#cache.placements.whole().flatMap((placement): readonly ChangedGang[] => {
      const uid = placement.metadata.uid;
      const job = this.#jobOf(placement.spec.jobUid, placement.spec.epoch);
      if (job === undefined) return [];
      seen.add(uid);
      const { nodes: names } = placement.spec;
      const now = placesOf(names, nodeOf);
      const recorded = placement.metadata.annotations?.[ANNOTATIONS.places];
      const before = this.#placesOfGang.get(uid) ?? placesFromText(names, recorded) ?? now;
      this.#placesOfGang.set(uid, before);
      const problem = changeUnderGang(keyOf(job), before, now);
      return problem === undefined ? [] : [{ job, problem }];
    });
    for (const uid of this.#placesOfGang.keys()) if (!seen.has(uid)) this.#placesOfGang.delete(uid);
    return changed;
  }

  /** The job of that UID, where its attempt of that epoch is under way. */
  #jobOf(uid: string, epoch: number): (TrainingJob & { readonly metadata: { readonly name: string } }) | undefined {
    const cached = this.#cache.jobs.cached.byIndex(BY_UID, uid)[0];
    if (cached === undefined) return undefined;
    const job = this.#cache.jobs.newest(cached);
    const attempt = job.status?.attempts?.at(-1);
    return attempt !== undefined && attempt.epoch === epoch && attempt.stage !== 'Ended' ? job : undefined;
  }

  *#buildGraph(): Generator<'pause', Graph> {
    const facts = this.#cache.nodes.list().map((node) => this.#cache.stated.factsOf(node));
    for (let from = 0; from < facts.length; from += NODES_OF_TURN) {
      readNodes(facts.slice(from, from + NODES_OF_TURN));
      yield 'pause';
    }
    const fabric = fabricFromNodes(facts);
    yield 'pause';
    const problems = fabricProblems(facts);
    yield 'pause';
    return { summary: summarize(fabric), problems, nodes: new Map(fabric.nodes.map((node) => [node.name, node])) };
  }
}

/** Nodes that are read before other work comes first. */
const NODES_OF_TURN = 1_000;

function finished(building: Generator<'pause', Graph>): Graph {
  let part = building.next();
  while (part.done !== true) part = building.next();
  return part.value;
}

function hasFabricChange({ facts: then }: CachedNode, { facts: now }: CachedNode): boolean {
  return (
    then.gpuCapacity !== now.gpuCapacity ||
    then.unreadGpus !== now.unreadGpus ||
    JSON.stringify([then.labels, then.devices]) !== JSON.stringify([now.labels, now.devices])
  );
}
