/** Which signs of a coming failure does a running gang show? */
import { type Attempt, incidentSubject } from '@coxswain/api-types';
import { signsOfFailure } from '@coxswain/health';
import { worldSize } from '@coxswain/layout';
import { safeText } from '@coxswain/safe-text';
import { formatDuration } from '@coxswain/units';
import { isOfRun, isOpen, SAVE_KINDS } from '../incident/incident-record.ts';
import { claimKey, claimOn, describeOther, shownName } from '../observation/claim-on.ts';
import { type Facts, isTerminal, nodeStateOf, placementOf } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { evictionKey, evictionOf } from '../observation/quota-eviction.ts';
import { returnKey, returnOf } from '../observation/returns.ts';
import { freeGpus } from '../observation/room.ts';
import { runtimeLeft } from './max-runtime.ts';
import { canMove, leavingNodes, ruleOnMove } from './leaving-nodes.ts';
import type { JobRecord } from '../record/job-record.ts';
import { describeNotice } from '../notices/node-notices.ts';

/** A sign that the gang may fail soon. */
export interface Suspicion {
  /** Stable while the sign lasts, also across leaders: at most 128 characters. */
  readonly key: string;
  /** Kind of sign, equal on every node: a condition, a notice rule, or a kind of incident. */
  readonly kind: string;
  /** A sentence without its full stop. */
  readonly says: string;
  /** The gang ends for sure. Absent: it may continue. */
  readonly isCertain?: true;
}

/** How long before a node goes away its gangs save once. An earlier notice is far beyond the time between two saves. */
export const SAVE_AHEAD_MS = 3_600_000;

/** The gang's suspicions, a certain end and then incidents first. There are as many as there are signs, so the caller bounds them. */
export function suspicionsOf(
  record: JobRecord,
  facts: Facts,
  { attempt, now }: { readonly attempt: Attempt; readonly now: Date },
): readonly Suspicion[] {
  const leaving = canMove(facts) ? leavingNodes(facts, attempt) : [];
  const moves = leaving.length > 0 && ruleOnMove(facts, { attempt, nodes: leaving, now }).kind === 'granted';
  const nodes = nodesOf(facts, attempt).filter((node) => !(moves && leaving.includes(node)));
  return [
    ...ofMaxRuntime(record, facts, now),
    ...ofEviction(facts, attempt),
    ...ofClaim(facts, attempt),
    ...ofReturn(facts, attempt),
    ...ofIncidents(record, attempt),
    ...nodes.flatMap((node) => ofNode(facts, node)),
  ];
}

/** Once for each limit: a raised one is reached later. */
function ofMaxRuntime(record: JobRecord, facts: Facts, now: Date): readonly Suspicion[] {
  const left = runtimeLeft(record, facts, now);
  if (left === undefined || left.leftMs > left.saveAtMs) return [];
  const kind = 'MaxRuntime';
  const says = `The run reaches spec.maxRuntimeSeconds (${formatDuration(left.limitMs)}) soon`;
  return [{ key: `${kind} ${left.limitMs}`, kind, says, isCertain: true }];
}

/** The save before Kueue gets the quota back. Its outcome decides when the ranks are stopped (epoch/record-eviction.ts). */
function ofEviction(facts: Facts, attempt: Attempt): readonly Suspicion[] {
  const eviction = evictionOf(facts, attempt);
  if (eviction === undefined) return [];
  const says = 'Kueue takes the quota of the job, and the job stops when it has saved';
  return [{ key: evictionKey(attempt), kind: 'QuotaEvicted', says, isCertain: true }];
}

/** The save that a claim asks for. Its outcome decides when the ranks are stopped (epoch/make-room.ts). */
function ofClaim(facts: Facts, attempt: Attempt): readonly Suspicion[] {
  const claim = claimOn(facts, attempt);
  if (claim === undefined) return [];
  const other = describeOther({ ...shownName(claim.job, facts), uid: claim.job.uid });
  const says = `The job makes room for ${other}, and stops when it has saved${latestSave(claim)}`;
  return [{ key: claimKey(claim), kind: 'MakesRoom', says, isCertain: true }];
}

/** The save before the gang stops to take back the nodes that it left for another job. */
function ofReturn(facts: Facts, attempt: Attempt): readonly Suspicion[] {
  const right = returnOf(facts, attempt);
  const missing = (facts.spec?.gpus ?? 0) - worldSize(attempt.layout);
  if (right === undefined || freeGpus(facts, 1, []) < missing) return [];
  const says = 'The job for which this one made room has ended, and this one stops to go on with all its GPUs';
  return [{ key: returnKey(right), kind: 'Returns', says, isCertain: true }];
}

function latestSave({ claim: { askedAt }, victim }: NonNullable<ReturnType<typeof claimOn>>): string {
  const latestMs = Date.parse(askedAt ?? '') + victim.deadlineSeconds * 1000;
  return Number.isNaN(latestMs) ? '' : ` or at ${new Date(latestMs).toISOString().slice(0, 16)}Z`;
}

function ofIncidents({ incidents }: JobRecord, attempt: Attempt): readonly Suspicion[] {
  return incidents
    .filter((one) => isOpen(one) && isOfRun(one, attempt) && SAVE_KINDS.includes(one.kind) && one.action !== 'None')
    .map((one) => ({ key: one.id.replace(RECURRENCE, ''), kind: one.kind, says: incidentSubject(one) }));
}

/** Suffix of a repeated incident: the same slowness again is not a new suspicion. */
const RECURRENCE = /\.n\d+$/;

function nodesOf(facts: Facts, attempt: Attempt): readonly string[] {
  const placed = placementOf(facts, attempt.epoch)?.spec.nodes ?? [];
  const pods = podsOf(facts, attempt.epoch).filter((pod) => !isTerminal(pod));
  return [...new Set(pods.flatMap(({ nodeName, podIndex }) => nodeName ?? placed[podIndex] ?? []))];
}

/** Signs of one node that the gang does not leave now. */
function ofNode(facts: Facts, node: string): readonly Suspicion[] {
  const { nodeConditionsOf, comingNoticeOf, noticeOf } = facts.observed;
  const signs = signsOfFailure(nodeConditionsOf?.(node) ?? []);
  const notice = nodeStateOf(facts, node) === 'leaving' ? noticeOf?.(node) : comingNoticeOf?.(node);
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

/** Two long names differ at the end of the node's and the beginning of the other part, so these are kept. */
function keyOf(node: string, what: string): string {
  return safeText(`${node.slice(-60)} ${what.slice(0, 64)}`, 128);
}
