/** What is there to tell of a job, seen from what was known of it and what is known now? */
import {
  type Condition,
  FINAL_JOB_STATES,
  type Incident,
  type IncidentAction,
  type Job,
  type JobFailure,
  PERSON_REASONS,
} from '@coxswain/api-types';

/** The content of a message about a job, without its names and the time. */
export type JobNews =
  | { readonly type: 'incident.opened' | 'incident.acted' | 'incident.closed'; readonly incident: Incident }
  | { readonly type: 'job.needsPerson'; readonly condition: Pick<Condition, 'type' | 'reason' | 'message'> }
  | {
      readonly type: 'job.ended';
      readonly state: Job['state'];
      readonly summary: string;
      readonly failure: JobFailure | null;
    };

/** What a resource tells of its job. */
export interface KnownJob {
  readonly state: Job['state'];
  readonly summary: string;
  readonly conditions: readonly Condition[];
  /** The newest failure; absent: none. */
  readonly failure?: JobFailure | null;
}

/** An unchanged condition makes no message. A job reported for the first time was queued before, with no conditions. */
export function newsOfJob(before: Omit<KnownJob, 'summary'>, now: KnownJob): readonly JobNews[] {
  const hadEnded = FINAL_JOB_STATES.has(before.state);
  if (FINAL_JOB_STATES.has(now.state)) return hadEnded ? [] : [endOf(now)];
  const condition = waitsForPerson(now.conditions);
  if (condition === undefined || sameWait(condition, waitsForPerson(before.conditions))) return [];
  const { type, reason, message } = condition;
  return [{ type: 'job.needsPerson', condition: { type, reason, message } }];
}

const ACTED: ReadonlySet<IncidentAction> = new Set<IncidentAction>([
  'RestartedInPods',
  'RestartedInNewPods',
  'RestartedElsewhere',
  'Moved',
  'GaveUp',
]);

/** `before` is null for a new incident. An incident that is reported late can open, be acted on and close in one change. */
export function newsOfIncident(before: Incident | null, now: Incident): readonly JobNews[] {
  const isNew = before === null;
  const hasActed = ACTED.has(now.action) && (isNew || !ACTED.has(before.action));
  const isOver = now.outcome !== undefined && (isNew || before.outcome === undefined);
  return [
    ...(isNew ? [{ type: 'incident.opened', incident: now } as const] : []),
    ...(hasActed ? [{ type: 'incident.acted', incident: now } as const] : []),
    ...(isOver ? [{ type: 'incident.closed', incident: now } as const] : []),
  ];
}

/** A failure that the job survived is not why it ended. */
function endOf({ state, summary, failure = null }: KnownJob): JobNews {
  return { type: 'job.ended', state, summary, failure: failure?.isFinal === true ? failure : null };
}

function waitsForPerson(conditions: readonly Condition[]): Condition | undefined {
  return conditions.find(({ type, status, reason }) => {
    const reasons: readonly string[] | undefined = PERSON_REASONS[type as keyof typeof PERSON_REASONS];
    return status === 'False' && reasons?.includes(reason) === true;
  });
}

function sameWait(one: Condition, other: Condition | undefined): boolean {
  return one.type === other?.type && one.reason === other.reason;
}
