/** Which verification is next? */
import type { WantedVerification } from './wanted-verifications.ts';

/** Pods at once: each reads storage that jobs save to. */
export const MOST_VERIFICATIONS = 8;
/** Of these, in one namespace. */
export const MOST_IN_NAMESPACE = 2;
/** Places that only a namespace without a pod gets, and only for what is not in the background. */
const RESERVED = MOST_VERIFICATIONS / 2;

/** What runs, and which namespaces have had their turn. */
export interface VerificationTurns {
  /** The reason of each pod that runs, by namespace. */
  readonly running: ReadonlyMap<string, readonly WantedVerification['why'][]>;
  /** When each namespace last had a turn: a number that grows. Absent: never. */
  readonly lastTurns: ReadonlyMap<string, number>;
  /** Whether a job that may resume from the checkpoint still exists. */
  readonly isWaitedFor: (wanted: WantedVerification) => boolean;
}

/** What one namespace waits for, of each kind the newest step first. */
interface Queue {
  readonly namespace: string;
  readonly running: WantedVerification['why'][];
  readonly doubts: WantedVerification[];
  readonly requests: WantedVerification[];
  /** Doubts about checkpoints that no job resumes from. */
  readonly others: WantedVerification[];
  readonly background: WantedVerification[];
  lastTurn: number;
}

/**
 * Yields one verification after the other, and receives whether its pod was created. Namespaces take turns: the one whose last turn is the longest ago is next.
 * In a namespace a doubt that a job waits for comes first, and then requests. While a doubt is being read, requests come first, because a doubt can wait for a
 * node that the cluster does not have. Verifications in the background come only when no namespace can start another one.
 */
export function* verificationsInTurn(
  wanted: readonly WantedVerification[],
  turns: VerificationTurns,
): Generator<WantedVerification, void, boolean> {
  const queues = queuesOf(wanted, turns);
  let total = [...turns.running.values()].reduce((sum, { length }) => sum + length, 0);
  let turn = Math.max(0, ...turns.lastTurns.values());
  for (;;) {
    const spare = total < MOST_VERIFICATIONS - RESERVED;
    const next = nextOf(queues, spare, total);
    if (next === undefined) return;
    const { queue, from } = next;
    const one = from.shift();
    if (one === undefined) return;
    if (!(yield one)) continue;
    total += 1;
    queue.running.push(one.why);
    queue.lastTurn = turn += 1;
  }
}

/** Namespace of a checkpoint that is to be verified. */
export function namespaceOf({ checkpoint }: WantedVerification): string {
  return checkpoint.metadata.namespace ?? '';
}

function nextOf(
  queues: readonly Queue[],
  spare: boolean,
  total: number,
): { readonly queue: Queue; readonly from: WantedVerification[] } | undefined {
  if (total >= MOST_VERIFICATIONS) return undefined;
  const inOrder = queues
    .filter(({ running }) => running.length < (spare ? MOST_IN_NAMESPACE : 1))
    .toSorted((one, other) => one.lastTurn - other.lastTurn || one.running.length - other.running.length);
  for (const queue of inOrder) {
    const from = firstOf(queue);
    if (from !== undefined) return { queue, from };
  }
  const idle = inOrder.find(({ running, background }) => background.length > 0 && !running.includes('Background'));
  return spare && idle !== undefined ? { queue: idle, from: idle.background } : undefined;
}

function firstOf({ doubts, requests, others, running }: Queue): WantedVerification[] | undefined {
  const order = running.includes('Suspected') ? [requests, doubts, others] : [doubts, requests, others];
  return order.find(({ length }) => length > 0);
}

function queuesOf(wanted: readonly WantedVerification[], turns: VerificationTurns): readonly Queue[] {
  const queues = new Map<string, Queue>();
  for (const one of wanted) {
    const namespace = namespaceOf(one);
    const queue = queues.get(namespace) ?? emptyQueue(namespace, turns);
    queues.set(namespace, queue);
    if (one.why === 'Background') queue.background.push(one);
    else if (one.why === 'Requested' || one.why === 'Adopted') queue.requests.push(one);
    else (turns.isWaitedFor(one) ? queue.doubts : queue.others).push(one);
  }
  for (const { doubts, requests, others } of queues.values())
    for (const some of [doubts, requests, others])
      some.sort((one, other) => other.checkpoint.spec.step - one.checkpoint.spec.step);
  return [...queues.values()].toSorted((one, other) => (one.namespace < other.namespace ? -1 : 1));
}

function emptyQueue(namespace: string, { running, lastTurns }: VerificationTurns): Queue {
  return {
    namespace,
    running: [...(running.get(namespace) ?? [])],
    doubts: [],
    requests: [],
    others: [],
    background: [],
    lastTurn: lastTurns.get(namespace) ?? 0,
  };
}
