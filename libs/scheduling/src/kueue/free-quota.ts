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

interface QueueFlavor {
  readonly nominal: number;
  readonly borrowingLimit: number;
  readonly lendingLimit: number;
  readonly held: number;
}

/**
 * Of the flavour with the most free quota. `flavours`: those that count; empty: all of the queue. A cohort within another one counts as it is named by the
 * queues alone, so what a parent lends is not in it. undefined: the queue does not exist, or has no quota of GPUs.
 */
export function freeQuota(
  clusterQueues: readonly unknown[],
  queueName: string,
  flavours: readonly string[],
): FreeQuota | undefined {
  const own = clusterQueues.find((queue) => field(queue, 'metadata')['name'] === queueName);
  if (own === undefined) return undefined;
  const cohort = field(own, 'spec')['cohortName'];
  const others = clusterQueues.filter(
    (queue) => queue !== own && cohort !== undefined && field(queue, 'spec')['cohortName'] === cohort,
  );
  const names = flavours.length === 0 ? flavoursOf(own) : flavours;
  const free = names.flatMap((name) => {
    const mine = quotaIn(own, name);
    return mine === undefined
      ? []
      : freeIn(
          mine,
          others.flatMap((queue) => quotaIn(queue, name) ?? []),
        );
  });
  return free.toSorted((one, other) => other.withBorrowed - one.withBorrowed)[0];
}

function freeIn(own: QueueFlavor, others: readonly QueueFlavor[]): FreeQuota {
  const unused = own.nominal - own.held;
  // What another queue borrows is missing from the cohort; what it does not use it lends up to its limit.
  const lent = others.reduce((sum, { nominal, held, lendingLimit }) => sum + Math.min(nominal - held, lendingLimit), 0);
  const most = own.nominal + own.borrowingLimit - own.held;
  return { own: Math.max(0, unused), withBorrowed: Math.max(0, Math.min(most, unused + lent)) };
}

function flavoursOf(queue: unknown): readonly string[] {
  return groupsOf(queue).flatMap(({ flavors }) => list(flavors).map(({ name }) => String(name)));
}

function quotaIn(queue: unknown, flavour: string): QueueFlavor | undefined {
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
