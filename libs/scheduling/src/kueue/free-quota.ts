/** How many GPUs of a queue's quota does no job hold? */
import { GPU_RESOURCE } from '@coxswain/api-types';

/** GPUs in one flavour that no Workload holds. */
export interface FreeQuota {
  /** Of the queue's own quota. */
  readonly own: number;
  /** With what queues of its cohort lend. */
  readonly withBorrowed: number;
}

type Json = Readonly<Record<string, unknown>>;

/** A ClusterQueue or a Cohort in one flavour. */
interface QuotaNode {
  readonly nominal: number;
  readonly borrowingLimit: number;
  readonly lendingLimit: number;
  /** What Workloads of the queue itself hold; 0 for a cohort. */
  readonly held: number;
  /** Name of the cohort that it is in. */
  readonly parent?: string;
}

/** What a node and everything below it have. */
interface Subtree {
  /** Quota. */
  readonly quota: number;
  /** Quota that its parent never sees, because of the lending limit. */
  readonly kept: number;
  readonly used: number;
}

/**
 * Of the flavour with the most free quota, as Kueue counts it (its page on cohorts): what a node does not lend is its own, the rest belongs to its cohort,
 * and a borrowing limit bounds what it takes from there. A cohort that no `Cohort` object describes has no quota of its own. `flavours`: those that count;
 * empty: all of the queue. undefined: the queue does not exist, or has no quota of GPUs.
 */
export function freeQuota(
  {
    clusterQueues,
    cohorts = [],
  }: { readonly clusterQueues: readonly unknown[]; readonly cohorts?: readonly unknown[] },
  queueName: string,
  flavours: readonly string[],
): FreeQuota | undefined {
  const own = clusterQueues.find((queue) => field(queue, 'metadata')['name'] === queueName);
  if (own === undefined) return undefined;
  const names = flavours.length === 0 ? flavoursOf(own) : flavours;
  const free = names.flatMap((name) => {
    const mine = quotaIn(own, name);
    if (mine === undefined) return [];
    const withBorrowed = new QuotaTree(clusterQueues, cohorts, name).availableTo(mine);
    return [{ own: Math.max(0, mine.nominal - mine.held), withBorrowed: Math.max(0, withBorrowed) }];
  });
  return free.toSorted((one, other) => other.withBorrowed - one.withBorrowed)[0];
}

/** ClusterQueues in cohorts, which are in cohorts, in one flavour. */
class QuotaTree {
  readonly #cohorts: ReadonlyMap<string, QuotaNode>;
  readonly #members: ReadonlyMap<string | undefined, readonly { readonly name?: string; readonly node: QuotaNode }[]>;

  constructor(clusterQueues: readonly unknown[], cohorts: readonly unknown[], flavour: string) {
    const queues = clusterQueues.flatMap((queue) => quotaIn(queue, flavour) ?? []);
    this.#cohorts = new Map(
      cohorts.map((cohort) => [
        String(field(cohort, 'metadata')['name']),
        quotaIn(cohort, flavour) ?? { ...NO_QUOTA, ...parentOf(cohort) },
      ]),
    );
    const members = [
      ...queues.map((node) => ({ node })),
      ...[...this.#cohorts].map(([name, node]) => ({ name, node })),
    ];
    this.#members = Map.groupBy(members, ({ node }) => node.parent);
  }

  /** What the queue may still take; below 0 if more is held than there is. None if its cohorts are in a circle: Kueue then admits nothing. */
  availableTo(queue: QuotaNode): number {
    const above = this.#cohortsAbove(queue);
    if (above === undefined) return 0;
    const nodes = [queue, ...above.map((name) => this.#cohorts.get(name) ?? NO_QUOTA)];
    const subtrees = [ofQueue(queue), ...above.map((name) => this.#subtreeOf(name))];
    const { quota, used } = subtrees.at(-1) ?? ofQueue(queue);
    let available = quota - used;
    for (let level = nodes.length - 2; level >= 0; level -= 1) {
      const { borrowingLimit } = nodes[level] ?? NO_QUOTA;
      const subtree = subtrees[level] ?? ofQueue(queue);
      const lent = subtree.quota - subtree.kept - Math.max(0, subtree.used - subtree.kept);
      available = Math.max(0, subtree.kept - subtree.used) + Math.min(available, lent + borrowingLimit);
    }
    return available;
  }

  /** Names of the cohorts that it is in, the nearest first; undefined: they are in a circle. */
  #cohortsAbove(queue: QuotaNode): readonly string[] | undefined {
    const above: string[] = [];
    for (let { parent } = queue; parent !== undefined; parent = this.#cohorts.get(parent)?.parent) {
      if (above.includes(parent)) return undefined;
      above.push(parent);
    }
    return above;
  }

  #subtreeOf(name: string): Subtree {
    const { nominal, lendingLimit } = this.#cohorts.get(name) ?? NO_QUOTA;
    const below = (this.#members.get(name) ?? []).map((member) =>
      member.name === undefined ? ofQueue(member.node) : this.#subtreeOf(member.name),
    );
    const quota = below.reduce((sum, each) => sum + each.quota - each.kept, nominal);
    const used = below.reduce((sum, each) => sum + Math.max(0, each.used - each.kept), 0);
    return { quota, kept: Math.max(0, quota - lendingLimit), used };
  }
}

const NO_QUOTA: QuotaNode = { nominal: 0, borrowingLimit: Infinity, lendingLimit: Infinity, held: 0 };

function ofQueue({ nominal, lendingLimit, held }: QuotaNode): Subtree {
  return { quota: nominal, kept: Math.max(0, nominal - lendingLimit), used: held };
}

function parentOf(object: unknown): { readonly parent?: string } {
  const { cohortName, parentName } = field(object, 'spec') as { cohortName?: unknown; parentName?: unknown };
  const parent = cohortName ?? parentName;
  return typeof parent === 'string' && parent !== '' ? { parent } : {};
}

function flavoursOf(queue: unknown): readonly string[] {
  return groupsOf(queue).flatMap(({ flavors }) => list(flavors).map(({ name }) => String(name)));
}

function quotaIn(queue: unknown, flavour: string): QuotaNode | undefined {
  const flavors = groupsOf(queue).flatMap((group) => list(group['flavors']));
  const of = (found: readonly Json[]): Json | undefined =>
    list(found.find(({ name }) => name === flavour)?.['resources']).find(({ name }) => name === GPU_RESOURCE);
  const quota = of(flavors);
  if (quota === undefined) return undefined;
  const held = of(list(field(queue, 'status')['flavorsReservation']));
  return {
    nominal: numberOf(quota['nominalQuota']) ?? 0,
    borrowingLimit: numberOf(quota['borrowingLimit']) ?? Infinity,
    lendingLimit: numberOf(quota['lendingLimit']) ?? Infinity,
    held: numberOf(held?.['total']) ?? 0,
    ...parentOf(queue),
  };
}

function groupsOf(queue: unknown): readonly Json[] {
  return list(field(queue, 'spec')['resourceGroups']);
}

/** GPUs are whole numbers, but the server writes quantities such as `2k` too. */
function numberOf(value: unknown): number | undefined {
  const match = /^(\d+)(k|M)?$/u.exec(String(value ?? ''));
  if (match === null) return undefined;
  return Number(match[1]) * (match[2] === 'k' ? 1_000 : match[2] === 'M' ? 1_000_000 : 1);
}

function field(object: unknown, name: string): Json {
  const value = (object as Json | undefined)?.[name];
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}
