/** What is there to be seen of a running gang that often comes before a failure? */
import { type Attempt, incidentSubject, type IncidentKind } from '@coxswain/api-types';
import { signsOfFailure } from '@coxswain/health';
import { safeText } from '@coxswain/safe-text';
import { isOfRun, isOpen } from '../incident/incident-record.ts';
import { type Facts, isTerminal, nodeStateOf, placementOf } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import type { JobRecord } from '../record/job-record.ts';
import { describeNotice } from '../notices/node-notices.ts';

/** Something for which a gang is suspect. */
export interface Suspicion {
  /** The same as long as it is the same, whoever leads: at most 128 characters. */
  readonly key: string;
  /** What kind of thing was seen, the same on every node: a condition, a rule of notices, a kind of incident. */
  readonly kind: string;
  /** A sentence without its full stop. */
  readonly says: string;
}

/** So long before a node goes away its gangs save once; what is further off is far beyond the time between two saves anyway. */
export const SAVE_AHEAD_MS = 3_600_000;

/**
 * In which all ranks go on, so that they can save. Where a gang stands still nobody can. Not what comes of the program or its data: no node is to fail for that,
 * and a loss that is no number is not worth keeping.
 */
const SUSPECT_KINDS: readonly IncidentKind[] = ['SlowRank', 'SlowLink'];

/** Of a gang, its incidents first; as many as there are reasons, so the caller bounds them. */
export function suspicionsOf(record: JobRecord, facts: Facts, attempt: Attempt): readonly Suspicion[] {
  return [...ofIncidents(record, attempt), ...nodesOf(facts, attempt).flatMap((node) => ofNode(facts, node))];
}

function ofIncidents({ incidents }: JobRecord, attempt: Attempt): readonly Suspicion[] {
  return incidents
    .filter((one) => isOpen(one) && isOfRun(one, attempt) && SUSPECT_KINDS.includes(one.kind) && one.action !== 'None')
    .map((one) => ({ key: one.id.replace(RECURRENCE, ''), kind: one.kind, says: incidentSubject(one) }));
}

/** By which an incident that comes again is told from the one before: to be slow again is no other suspicion. */
const RECURRENCE = /\.n\d+$/;

function nodesOf(facts: Facts, attempt: Attempt): readonly string[] {
  const placed = placementOf(facts, attempt.epoch)?.spec.nodes ?? [];
  const pods = podsOf(facts, attempt.epoch).filter((pod) => !isTerminal(pod));
  return [...new Set(pods.flatMap(({ nodeName, podIndex }) => nodeName ?? placed[podIndex] ?? []))];
}

/** One that is about to go is left at once, with a save. */
function ofNode(facts: Facts, node: string): readonly Suspicion[] {
  if (nodeStateOf(facts, node) === 'leaving') return [];
  const { nodeConditionsOf, comingNoticeOf } = facts.observed;
  const signs = signsOfFailure(nodeConditionsOf?.(node) ?? []);
  const notice = comingNoticeOf?.(node);
  return [
    ...signs.map(({ type, xids }) => ({
      key: keyOf(node, type),
      kind: type,
      says: `Node ${node} has condition ${type}${xids.length === 0 ? '' : ` (XID ${xids.join(', ')})`}`,
    })),
    ...(notice === undefined
      ? []
      : [
          {
            key: keyOf(node, `${notice.rule} ${notice.beginsAtMs ?? 0}`),
            kind: notice.rule,
            says: `Node ${node} will go away: ${describeNotice(notice)}`,
          },
        ]),
  ];
}

/** Of names that are too long what tells them apart is at the end of the one and the beginning of the other. */
function keyOf(node: string, what: string): string {
  return safeText(`${node.slice(-60)} ${what.slice(0, 64)}`, 128);
}
