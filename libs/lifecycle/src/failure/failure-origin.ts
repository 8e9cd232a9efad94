/** Which of several failures of an attempt came first? */
import type { AttemptReason } from '@coxswain/api-types';

/** What decides which failure came first. */
export interface Candidate {
  readonly reason: AttemptReason;
  readonly podIndex: number;
  readonly finishedAt: string;
  /** Whether a signal killed the rank. Among failures in the same second, it is the likelier origin. */
  readonly killed: boolean;
  /** Whether it only reports a lost peer. If any other rank failed, that failure came before. */
  readonly hasLostPeer?: boolean;
}

/**
 * When one rank fails, its peers fail after it with broken connections. So the origin is searched in this order: deliberate exits, causes
 * from outside, failures other than a lost peer, then the earliest exit. Kubernetes rounds exit times to seconds, hence the tie-breakers.
 */
const ORIGIN_FIRST: readonly AttemptReason[] = [
  'NameConflict',
  'PodsRefused',
  'PlacementLost',
  'DoNotRestart',
  'CheckpointUnreadable',
  'CheckpointIoError',
  'RendezvousPortLost',
  'NodeLost',
  'LimitExceeded',
  'Evicted',
  'TurnedAway',
  'PodNeverRan',
  'SecretMissing',
  'NotStarted',
  'EngineFailed',
  'NothingTrained',
  'LauncherFailed',
  'PodLost',
  'Condemned',
  'Hung',
  'PreflightFailed',
  'NotCreated',
  'NotScheduled',
  'NotReaped',
];

/** The failure that came first; undefined: there is none. */
export function originOf<T extends Candidate>(all: readonly T[]): T | undefined {
  const [origin] = all.toSorted(
    (left, right) =>
      ORIGIN_FIRST.indexOf(left.reason) - ORIGIN_FIRST.indexOf(right.reason) ||
      Number(left.hasLostPeer ?? false) - Number(right.hasLostPeer ?? false) ||
      compareText(left.finishedAt, right.finishedAt) ||
      Number(right.killed) - Number(left.killed) ||
      left.podIndex - right.podIndex,
  );
  return origin;
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
