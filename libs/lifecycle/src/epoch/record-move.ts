/** Must a gang save and stop because a node is about to go away, and which incident records it? */
import type { Attempt, Incident } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { safeText } from '@coxswain/safe-text';
import { canMove, leavingNodes, ruleOnMove, whyLeaving } from '../disruption/leaving-nodes.ts';
import { withAvoided } from '../failure/avoided-nodes.ts';
import { evidenceOf, heldEvidence, withIncident } from '../incident/incident-record.ts';
import { meanStepMs } from '@coxswain/scheduling';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';
import { lastStepOf } from './last-step.ts';

/**
 * Stops the gang so that it saves and continues on other nodes. The incident is part of the same write, and closes when training continues.
 */
export function recordMove(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released' || !canMove(facts)) return record;
  const nodes = leavingNodes(facts, attempt);
  if (nodes.length === 0) return record;
  const ruling = ruleOnMove(facts, { attempt, nodes, now });
  if (ruling.kind === 'held') return withHeldMove(record, { attempt, facts, nodes, now }, ruling.why);
  const avoiding = withAvoided(record, { nodes, reason: 'Leaving', epoch: attempt.epoch }, facts, now);
  const last = lastStepOf(record, facts);
  const incident = incidentOf({ attempt, facts, nodes, now, step: last.lastStep });
  const noted = withIncident(without(avoiding, incident.id), incident);
  return withLastAttempt(noted, {
    stage: 'Stopping',
    stoppingAt: now.toISOString(),
    outcome: 'Moved',
    reason: 'NodeLeaving',
    message: safeText(whyLeaving(facts, nodes), 8_000),
    charged: false,
    ...last,
  });
}

/** Notes the announcement once. The gang trains on, and the incident has the reason. */
function withHeldMove(
  record: JobRecord,
  about: Omit<Parameters<typeof incidentOf>[0], 'step'>,
  why: string,
): JobRecord {
  const incident = incidentOf({ ...about, step: record.progress?.step });
  if (record.incidents.some(({ id }) => id === incident.id)) return record;
  const { stepMs: _, ...rest } = incident;
  return withIncident(record, {
    ...rest,
    action: 'Advised',
    evidence: [...heldEvidence(why), ...(incident.evidence ?? [])],
  });
}

function without(record: JobRecord, id: string): JobRecord {
  return { ...record, incidents: record.incidents.filter((one) => one.id !== id) };
}

function incidentOf(about: {
  readonly attempt: Attempt;
  readonly facts: Facts;
  readonly nodes: readonly string[];
  readonly now: Date;
  readonly step: number | undefined;
}): Incident {
  const { attempt, facts, nodes, now, step } = about;
  const { epoch, incarnation = 1, layout } = attempt;
  const [first = ''] = nodes;
  const stepMs = meanStepMs(attempt, now.toISOString(), step);
  const notice = facts.observed.noticeOf?.(first);
  const evidence = evidenceOf({
    rule: notice?.rule,
    mark: notice?.mark,
    begins: notice?.beginsAtMs === undefined ? undefined : new Date(notice.beginsAtMs).toISOString(),
    ...(nodes.length === 1 ? {} : { nodes: nodes.length }),
  });
  return {
    id: `${epoch}.${incarnation}-nodeLeaving`,
    kind: 'NodeLeaving',
    epoch,
    incarnation,
    noticedAt: now.toISOString(),
    message: safeText(whyLeaving(facts, nodes), 1_000),
    node: first,
    ...(evidence.length === 0 ? {} : { evidence: [...evidence] }),
    gpus: worldSize(layout),
    ...(step === undefined ? {} : { step }),
    ...(stepMs === undefined ? {} : { stepMs }),
    action: 'Moved',
  };
}
