/** Which incidents do the findings of detectors become? */
import {
  type Attempt,
  type Incident,
  MAX_INCIDENT_EVIDENCE,
  MAX_INCIDENT_OPERATIONS,
  MAX_INCIDENT_RANKS,
} from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { safeText } from '@coxswain/safe-text';
import { type Facts, placementOf } from '../observation/facts.ts';
import { isOfFence } from '../observation/incarnation.ts';
import type { Finding } from '../observation/observed.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import { STANDS_STILL } from '../record/incident-kinds.ts';
import {
  evidenceOf,
  isAdvice,
  isOfRun,
  isOpen,
  SAVE_KINDS,
  withEachIncident,
  withIncident,
} from './incident-record.ts';
import { indexInPod } from './note-failure.ts';

/** Open incidents per run: so many on which early saves stand, and so many others. More add nothing for users. */
const MAX_OPEN_OF_RUN = 6;

/**
 * Records findings as incidents. A repeated finding is the same incident, also across leaders; one that returns after its end is a new
 * incident.
 */
export function recordFindings(record: JobRecord, facts: Facts): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released') return record;
  const found = (facts.observed.findings ?? []).filter((finding) => isOfRun(finding, attempt));
  const newest = new Map(found.map((finding) => [baseId(finding), finding]));
  return [...newest.values()].reduce((current, finding) => withFinding(current, finding, { attempt, facts }), record);
}

function withFinding(
  record: JobRecord,
  finding: Finding,
  { attempt, facts }: { readonly attempt: Attempt; readonly facts: Facts },
): JobRecord {
  const base = baseId(finding);
  const earlier = record.incidents.filter(({ id }) => id === base || id.startsWith(`${base}.n`));
  const last = earlier.at(-1);
  if (last !== undefined && isOpen(last)) {
    const { overAt } = finding;
    if (overAt === undefined || !isAdvice(last)) return record;
    return withEachIncident(record, (one) => (one === last ? { ...last, outcome: 'Passed', closedAt: overAt } : one));
  }
  if (finding.overAt !== undefined || isKnownPast(last, finding)) return record;
  const isAlike = ({ kind }: Pick<Incident, 'kind'>): boolean =>
    SAVE_KINDS.includes(kind) === SAVE_KINDS.includes(finding.kind);
  const open = record.incidents.filter((one) => isOpen(one) && isOfRun(one, attempt));
  // All stalls of a run are one incident, so a stall always has room.
  if (!STANDS_STILL.includes(finding.kind) && open.filter(isAlike).length >= MAX_OPEN_OF_RUN) return record;
  const id = earlier.length === 0 ? base : `${base}.n${earlier.length + 1}`;
  return withIncident(record, { id, ...incidentOf(record, finding, { attempt, facts }) });
}

function isKnownPast(last: Incident | undefined, { noticedAt }: Finding): boolean {
  return last?.closedAt !== undefined && Date.parse(noticedAt) <= Date.parse(last.closedAt);
}

/**
 * ID of the finding's incident without a recurrence suffix. All stalls of a run share one, because the blamed rank may change; otherwise
 * each rank or group has its own.
 */
function baseId({ epoch, incarnation, kind, ranks, subject, group, node }: Finding): string {
  const run = `${epoch}.${incarnation}`;
  if (STANDS_STILL.includes(kind)) return `${run}-standsStill`;
  const who = ranks.length > 0 ? `r${ranks.join('r')}` : (subject ?? group ?? node ?? 'all');
  return `${run}-${kind.charAt(0).toLowerCase()}${kind.slice(1)}-${who.replace(/[^A-Za-z0-9]/g, '').slice(0, 40) || 'all'}`;
}

function incidentOf(
  record: JobRecord,
  finding: Finding,
  { attempt, facts }: { readonly attempt: Attempt; readonly facts: Facts },
): Omit<Incident, 'id'> {
  const { epoch, incarnation, kind, noticedAt, ranks, node, group, message, evidence, operations = [] } = finding;
  const [rank] = ranks;
  const placement = placementOf(facts, epoch)?.spec;
  const gpu = ranks.length === 1 && rank !== undefined && placement !== undefined ? indexInPod(placement, rank) : -1;
  const step = newestStep(record, facts, attempt);
  const collected = evidenceOf({ ...evidence, group });
  return {
    kind,
    epoch,
    incarnation,
    noticedAt,
    ...sinceOf(finding),
    message: safeText(message, 1_000),
    ...(rank === undefined ? {} : { rank }),
    ...(ranks.length > 1 ? { ranks: ranks.slice(0, MAX_INCIDENT_RANKS) } : {}),
    ...(node === undefined ? {} : { node }),
    ...(gpu < 0 ? {} : { gpu }),
    ...(collected.length === 0 ? {} : { evidence: collected.slice(0, MAX_INCIDENT_EVIDENCE) }),
    ...(operations.length === 0 ? {} : { operations: operations.slice(0, MAX_INCIDENT_OPERATIONS) }),
    gpus: worldSize(attempt.layout),
    ...(step === undefined ? {} : { step }),
    ...(finding.costMsPerStep === undefined ? {} : { costMsPerStep: Math.max(0, finding.costMsPerStep) }),
    action: finding.isHarmless === true ? 'None' : 'Advised',
  };
}

/** Since when the wait has lasted; it began before it was reported. */
function sinceOf({ noticedAt, evidence }: Finding): Pick<Incident, 'since'> {
  const waitedMs = Number(evidence['waitedForMs'] ?? evidence['stoodMs']);
  const atMs = Date.parse(noticedAt) - waitedMs;
  return Number.isNaN(atMs) || waitedMs < 0 ? {} : { since: new Date(atMs).toISOString() };
}

function newestStep(record: JobRecord, { observed: { progress } }: Facts, attempt: Attempt): number | undefined {
  const reported = progress !== undefined && isOfFence(progress, attempt) ? progress.step : -1;
  const recorded = attempt.firstStep === undefined ? -1 : (record.progress?.step ?? -1);
  const newest = Math.max(reported, recorded);
  return newest < 0 ? undefined : newest;
}
