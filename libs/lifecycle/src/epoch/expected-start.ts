/** When is a waiting job expected to start on the nodes that are held for it? */
import type { EndBasis, ExpectedStart } from '@coxswain/api-types';
import type { NodePromise } from '@coxswain/scheduling';
import { standingClaim } from '../observation/claims.ts';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';
import type { NextEpoch } from './next-epoch.ts';

/** A start that moves by less than both does not rewrite the status. */
const SAME_START_MS = 60_000;
const SAME_START_SHARE = 0.05;

/** Moments of a job that waits or is about to start, in which its nodes are not asked for. */
const PASSING: readonly NextEpoch['kind'][] = [
  'readingRuntime',
  'readingRuntimeAgain',
  'readingReferences',
  'probing',
  'choosingNodes',
  'placing',
];

/** The start to be recorded; undefined: no nodes are held for the job. A start that hardly moved stays as it is recorded. */
export function expectedStartOf(about: {
  readonly record: JobRecord;
  readonly facts: Pick<Facts, 'observed'>;
  readonly next: Pick<NextEpoch, 'kind'>;
  readonly now: Date;
}): ExpectedStart | undefined {
  const { record, facts, next, now } = about;
  const recorded = record.expectedStart;
  if (PASSING.includes(next.kind)) return recorded;
  if (next.kind !== 'waiting' && next.kind !== 'unsatisfiable') return undefined;
  // Its place in line is kept: the claim may end without a start.
  if (standingClaim(record) !== undefined) return recorded;
  const promise = facts.observed.promise?.();
  // Not known yet, as after a change of leader.
  if (promise === 'deriving') return recorded;
  return promise === undefined ? undefined : merged(promise, recorded, now);
}

function merged(promise: NodePromise, recorded: ExpectedStart | undefined, now: Date): ExpectedStart {
  const { start, earliest, latest, restsOn, gpus, firstStart, promisedAt, moved } = promise;
  const laterMs = start.getTime() - Date.parse(recorded?.at ?? '');
  const limitMs = Math.max(SAME_START_MS, SAME_START_SHARE * (start.getTime() - now.getTime()));
  const isSame = Math.abs(laterMs) <= limitMs && recorded?.restsOn === restsOn && recorded.nodes === gpus.size;
  if (recorded !== undefined && isSame) return recorded;
  const why = laterMs > limitMs ? { moved: moved ?? recorded?.moved, movedAt: now.toISOString() } : recorded;
  return {
    at: start.toISOString(),
    earliest: earliest.toISOString(),
    ...(latest === undefined ? {} : { latest: latest.toISOString() }),
    restsOn,
    nodes: gpus.size,
    promisedAt: recorded?.promisedAt ?? promisedAt.toISOString(),
    firstPromised: recorded?.firstPromised ?? firstStart.toISOString(),
    ...(why?.moved === undefined ? {} : { moved: why.moved }),
    ...(why?.movedAt === undefined ? {} : { movedAt: why.movedAt }),
  };
}

const BASES: Readonly<Record<EndBasis, string>> = {
  Measured: 'by the measured steps of the jobs that use them',
  Predicted: 'by the predicted step time of the jobs that use them',
  MaxRuntime: 'by spec.maxRuntimeSeconds of the jobs that use them',
  Assumed: 'if jobs whose end is not known run as long again as they have run',
};

/** `The job is first in line: 16 nodes are held for it, and it is expected to start at 2026-01-01T12:30Z, by the measured steps of the jobs that use them.` */
export function describeExpectedStart({ at, restsOn, nodes, moved }: ExpectedStart): string {
  const held = nodes === undefined ? 'nodes are' : nodes === 1 ? '1 node is' : `${nodes} nodes are`;
  const later = moved === undefined ? '' : ` The start moved: ${moved}`;
  return `The job is first in line: ${held} held for it, and it is expected to start at ${minuteOf(at)}, ${BASES[restsOn]}.${later}`;
}

/** Why free nodes are no room for a job. It names no job, because the first in line changes while thousands wait. */
export const NODES_ARE_HELD =
  'Nodes are held for a job that is ahead of this one; a job that ends before that one starts may use them.';

/** `2026-01-01T12:30Z` */
export function minuteOf(at: string): string {
  return `${at.slice(0, 16)}Z`;
}
