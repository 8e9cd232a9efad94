import { formatBytes, formatDuration } from '@coxswain/units';
import {
  type Attempt,
  type Checkpoint,
  type EndedIncarnation,
  findCondition,
  type Incident,
  incidentSubject,
  incidentWords,
  isAdopted,
  type JobEvent,
  type JobEventType,
  type Placement,
  type PlacementSpec,
  formatRanks,
  ranksOfPod,
  type TrainingJob,
  type TrainingJobSpec,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import { isFoundBroken } from '@coxswain/checkpoint';
import { formatLayout, worldSize } from '@coxswain/layout';
import { EARLY_SAVE_INTERVAL_MS } from '../epoch/early-save.ts';
import { describeLostWork } from '../epoch/lost-work.ts';
import { factsOf, type Facts, placementOf, podCount } from '../observation/facts.ts';
import { describePassedOver } from '../failure/checkpoint-standing.ts';
import { whyHeld } from '../incident/incident-record.ts';
import { newestFailure } from '../failure/newest-failure.ts';
import { describeVerification } from '../failure/resume-point.ts';
import { hasRunNothing } from '../failure/restart-budget.ts';
import { type JobRecord, recordedConditions, recordOf } from '../record/job-record.ts';
import type { DerivedJobEvent } from './derived-job-event.ts';
import { describePoint, pointAtRestart, type RunStart } from './describe-start.ts';
import { awaitedStart, nearlySpent, standingProblems } from './needed-actions.ts';
import { startExpected } from './expected-start-events.ts';
import { roomEvents } from './room-events.ts';

/** The resources that a job's history is read from. */
export interface JobResources {
  readonly job: TrainingJob;
  readonly checkpoints: readonly Checkpoint[];
  readonly placements: readonly Placement[];
}

/** Every event that the current resources show, oldest first. No event depends on having observed each change. */
export function jobEvents(resources: JobResources): readonly DerivedJobEvent[] {
  const record = recordOf(resources.job);
  const facts = factsOf({ ...resources, pods: [], nodeStates: new Map(), capacity: emptyCapacity }, record);
  const events = [
    ...submission(facts),
    ...planning(record),
    ...record.attempts.flatMap((attempt, index) =>
      attemptEvents(attempt, { earlier: record.attempts[index - 1], record, facts }),
    ),
    ...record.incidents.flatMap(incidentEvents),
    ...[waiting(record, facts), startExpected(record), roomEvents(record)].flat(),
    ...awaitedStart(record, recordedConditions(resources.job)),
    ...standingProblems(record, resources.job),
    ...nearlySpent(record, facts.spec),
    ...facts.checkpoints.filter((one) => !isAdopted(one)).flatMap(checkpointEvents),
    ...ending(record, facts),
  ];
  // An event whose time cannot be read gets the time of submission.
  const submittedAt = resources.job.metadata.creationTimestamp ?? new Date(0).toISOString();
  const dated = events.map((one) => (Number.isNaN(Date.parse(one.at)) ? { ...one, at: submittedAt } : one));
  // The sort is stable: events of the same moment keep the order above.
  return dated.toSorted((left, right) => Date.parse(left.at) - Date.parse(right.at));
}

/** Events that the status `earlier` does not show yet. */
export function eventsSince(
  earlier: TrainingJobStatus | undefined,
  resources: JobResources,
): readonly DerivedJobEvent[] {
  const { status: _, ...job } = resources.job;
  const before = jobEvents({ ...resources, job: earlier === undefined ? job : { ...job, status: earlier } });
  const known = new Set(before.map((event) => event.key));
  const isFirst = earlier === undefined;
  return jobEvents(resources).filter((event) => !known.has(event.key) || (isFirst && event.type === 'Submitted'));
}

function emptyCapacity(): { fabric: { nodes: [] }; usedGpus: Map<string, number> } {
  return { fabric: { nodes: [] }, usedGpus: new Map() };
}

function submission(facts: Facts): readonly DerivedJobEvent[] {
  const { name, creationTimestamp } = facts.job.metadata;
  if (creationTimestamp === undefined) return [];
  const asks = facts.spec === undefined ? '' : ` It asks for ${requestOf(facts.spec)}.`;
  return [event('Submitted', { at: creationTimestamp, message: `Job ${name} was submitted.${asks}` })];
}

/** What the planner chose; none for a layout that the user gave. */
function planning({ plan }: JobRecord): readonly DerivedJobEvent[] {
  if (plan?.layout === undefined || plan.chosenBy !== 'Planner' || plan.predictedStepMs === undefined) return [];
  const sentence = `The planner chose ${formatLayout(plan.layout)} for ${count(plan.gpus, 'GPU')}`;
  const message = `${sentence}, predicted at ${formatDuration(plan.predictedStepMs)} per step.`;
  return [{ ...event('Planned', { at: plan.plannedAt, message }), key: `planned/${plan.plannedAt}` }];
}

/** `4 GPUs (tp2 x dp2)`, or `4 GPUs and leaves the layout to the planner` */
function requestOf({ layout, gpus = 0 }: TrainingJobSpec): string {
  if (layout === undefined) return `${count(gpus, 'GPU')} and leaves the layout to the planner`;
  return `${count(worldSize(layout), 'GPU')} (${formatLayout(layout)})`;
}

function attemptEvents(
  attempt: Attempt,
  {
    earlier,
    record,
    facts,
  }: { readonly earlier: Attempt | undefined; readonly record: JobRecord; readonly facts: Facts },
): readonly DerivedJobEvent[] {
  const { epoch, startedAt, releasedAt, incarnations = [] } = attempt;
  const placement = placementOf(facts, epoch)?.spec;
  const from = describePoint(incarnations[0] ?? attempt);
  const asked = record.resumeFrom?.epoch === epoch;
  const gang = `${count(worldSize(attempt.layout), 'rank')} (${formatLayout(attempt.layout)})`;
  return [
    ...(earlier?.outcome === 'Suspended' || asked
      ? [event('Resuming', { epoch, at: startedAt, message: describeResume({ epoch, from, asked }) })]
      : []),
    event('Placed', {
      epoch,
      at: startedAt,
      message: `Attempt ${epoch} is placed: ${placement === undefined ? gang : describePlacement(placement)}.`,
    }),
    ...passedOverEvents(attempt),
    ...(releasedAt === undefined
      ? []
      : [
          event('Started', {
            epoch,
            at: releasedAt,
            message: `All pods of attempt ${epoch} exist; they start together, ${from}.`,
          }),
        ]),
    ...incarnations.flatMap((one, index) => [
      ...runEvents({ ...one, epoch, gang }),
      ...restartInPods(epoch, one, pointAtRestart(incarnations[index + 1] ?? attempt, facts)),
    ]),
    ...runEvents({ ...attempt, gang }),
    ...saveEvents(attempt),
    ...lostWorkEvents(attempt),
    ...endEvents(attempt),
  ];
}

function passedOverEvents({ epoch, startedAt, passedOver = [] }: Attempt): readonly DerivedJobEvent[] {
  return passedOver.map((one) => {
    const message = describePassedOver(one);
    const passed = event('CheckpointPassedOver', { epoch, at: startedAt, severity: 'warning', message });
    return { ...passed, key: `${passed.key}/${one.checkpoint}` };
  });
}

/** Events of an incarnation whose ranks run. */
function runEvents(
  run: RunStart & Pick<Attempt, 'epoch' | 'incarnation' | 'runningAt'> & { readonly gang: string },
): readonly DerivedJobEvent[] {
  const { epoch, incarnation = 1, runningAt: at, resumedFrom, gang } = run;
  if (at === undefined) return [];
  const which = incarnation === 1 ? `Attempt ${epoch}` : `Attempt ${epoch}, incarnation ${incarnation},`;
  const running = event('Running', { epoch, at, message: `${which} runs with ${gang}.` });
  const resumed = event('Resumed', { epoch, at, message: `Training resumes ${describePoint(run)}.` });
  const events = resumedFrom === undefined ? [running] : [running, resumed];
  return incarnation === 1 ? events : events.map((one) => ofIncarnation(incarnation, one));
}

/** Events of a request to save before the next save is due. The save itself has an event of its own. */
function saveEvents({ epoch, earlySave }: Attempt): readonly DerivedJobEvent[] {
  if (earlySave === undefined) return [];
  const { request, askedAt, afterStep, why, outcome } = earlySave;
  const message = `The ranks are asked to save now, after step ${afterStep}, and train on. ${why}`;
  const asked = event('SaveAsked', { epoch, at: askedAt, message });
  const at = new Date(Date.parse(askedAt) + EARLY_SAVE_INTERVAL_MS);
  const missed = event('SaveMissed', {
    epoch,
    at: Number.isNaN(at.getTime()) ? askedAt : at.toISOString(),
    severity: 'warning',
    message: `The ranks did not save within ${formatDuration(EARLY_SAVE_INTERVAL_MS)} of the request after step ${afterStep}: the engine cannot save on request, the launcher or coxswain_agent is too old for such requests, or the save takes longer. The launcher's log shows which.`,
  });
  return [asked, ...(outcome === 'NotSaved' ? [missed] : [])].map((one) => ({ ...one, key: `${one.key}/${request}` }));
}

/** Events of a failure that is answered by restarting the ranks in the same pods. */
function restartInPods(
  epoch: number,
  { incarnation, endedAt: at, reason, message = 'The reason was not recorded.', charged }: EndedIncarnation,
  from: string,
): readonly DerivedJobEvent[] {
  const about = { epoch, at };
  const again = `The ranks of attempt ${epoch} restart in their pods (incarnation ${incarnation + 1}), ${from}`;
  return [
    event('RankFailed', { ...about, severity: 'warning', message: `${reason}: ${message}` }),
    event('Restarting', { ...about, message: `${again}; ${costOf(charged)}.` }),
  ].map((one) => ofIncarnation(incarnation, one));
}

function ofIncarnation(incarnation: number, derived: DerivedJobEvent): DerivedJobEvent {
  return { ...derived, key: `e${derived.epoch ?? 0}i${incarnation}/${derived.type}` };
}

function costOf(charged: boolean | undefined): string {
  return charged === true ? 'this counts against its restarts' : 'this does not count against its restarts';
}

function describeResume(about: { readonly epoch: number; readonly from: string; readonly asked: boolean }): string {
  const { epoch, from, asked } = about;
  if (asked) return `Attempt ${epoch} begins ${from}, as spec.resumeFrom asks.`;
  return `The suspended job resumes as attempt ${epoch}, ${from}.`;
}

function endEvents(attempt: Attempt): readonly DerivedJobEvent[] {
  const { epoch, stoppingAt, endedAt, outcome, answer, charged } = attempt;
  const message = attempt.message ?? 'The reason was not recorded.';
  if (attempt.reason === 'MadeRoom') return [];
  if (attempt.reason === 'PodsRefused' && stoppingAt !== undefined) {
    const waits = event('Waiting', { epoch, at: stoppingAt, severity: 'warning', message });
    return [{ ...waits, key: `${waits.key}/PodsRefused` }];
  }
  if (outcome === 'Failed' && stoppingAt !== undefined) {
    const failed = event('RankFailed', {
      epoch,
      at: stoppingAt,
      severity: severityOf(attempt),
      message: `${attempt.reason ?? 'Failed'}: ${message}`,
    });
    if (answer !== 'Restart') return [failed];
    const sentence = `The gang of attempt ${epoch} is removed and restarts as attempt ${epoch + 1}; ${costOf(charged)}.`;
    return [failed, event('Restarting', { epoch, at: stoppingAt, message: sentence })];
  }
  if ((outcome === 'Resized' || outcome === 'Moved') && stoppingAt !== undefined) {
    return [event('Restarting', { epoch, at: stoppingAt, message: `Attempt ${epoch} saves and stops. ${message}` })];
  }
  if (outcome === 'Suspended' && endedAt !== undefined) {
    return [
      event('Suspended', {
        epoch,
        at: endedAt,
        message: `Attempt ${epoch} was stopped because the job was suspended.`,
      }),
    ];
  }
  return [];
}

/** An end before anything ran, or because a newer checkpoint verified, needs no action. */
function severityOf({ answer, reason, verifiedCheckpoint }: Attempt): JobEvent['severity'] {
  if (answer === 'GiveUp') return 'error';
  return hasRunNothing(reason) || verifiedCheckpoint !== undefined ? 'info' : 'warning';
}

function lostWorkEvents({ epoch, endedAt: at, lostWork }: Attempt): readonly DerivedJobEvent[] {
  if (lostWork === undefined || at === undefined) return [];
  return [event('WorkLost', { epoch, at, severity: 'warning', message: describeLostWork(lostWork) })];
}

/** Events of an incident: its detection and its end. The detection of a failure has an event of its own. */
function incidentEvents(incident: Incident): readonly DerivedJobEvent[] {
  const { id, epoch, noticedAt, closedAt, outcome, message } = incident;
  const isFailure = id === `${epoch}.${incident.incarnation}`;
  const severity = incident.kind === 'NodeLeaving' ? 'info' : 'warning';
  const noticed = event('IncidentNoticed', { epoch, at: noticedAt, severity, message });
  const over = event('IncidentOver', { epoch, at: closedAt ?? noticedAt, message: describeIncidentEnd(incident) });
  const events = [...(isFailure ? [] : [noticed]), ...(outcome === undefined ? [] : [over])];
  const why = whyHeld(incident);
  const says = `Coxswain does not end attempt ${epoch} for this: ${why}.`;
  const held = event('IncidentNoticed', { epoch, at: noticedAt, message: says });
  const known = events.map((one) => ({ ...one, key: `incident/${id}/${one.type}` }));
  return why === undefined ? known : [...known, { ...held, key: `incident/${id}/EndHeld` }];
}

/** `Hang of rank 3 on node gpu-b: recovered; 42 s were lost, with 3 steps trained again.` */
function describeIncidentEnd(incident: Incident): string {
  const { outcome = 'Passed', lostMs, redoneSteps = 0 } = incident;
  const again = redoneSteps === 0 ? '' : `, with ${count(redoneSteps, 'step')} trained again`;
  const lost = lostMs === undefined ? '' : `; ${formatDuration(lostMs)} were lost${again}`;
  return `${incidentSubject(incident)}: ${incidentWords(outcome)}${lost}.`;
}

/** Reasons of condition Placed that a user may want to act on. */
const REPORTED_REASONS: readonly string[] = [
  'WaitingForCapacity',
  'WaitingForQuota',
  'TopologyUnsatisfiable',
  'NotAccepted',
  'CheckpointsUnusable',
  'ObjectMissing',
  'PriorityClassMissing',
  'PodsRefused',
];

/** Why the next attempt is not placed, once per attempt and reason. */
function waiting(record: JobRecord, facts: Facts): readonly DerivedJobEvent[] {
  const placed = findCondition(recordedConditions(facts.job), 'Placed');
  if (placed === undefined || !REPORTED_REASONS.includes(placed.reason)) return [];
  // The end of that attempt has an event of its own.
  if (placed.reason === 'PodsRefused' && record.attempts.at(-1)?.reason === 'PodsRefused') return [];
  const accepted = findCondition(recordedConditions(facts.job), 'Accepted');
  const message = accepted?.status === 'False' ? accepted.message : placed.message;
  const epoch = record.epoch + 1;
  const severity = placed.reason === 'WaitingForCapacity' ? 'info' : 'warning';
  const waits = event('Waiting', { epoch, at: placed.lastTransitionTime, severity, message });
  return [{ ...waits, key: `${waits.key}/${placed.reason}` }];
}

function checkpointEvents(checkpoint: Checkpoint): readonly DerivedJobEvent[] {
  const { name, creationTimestamp } = checkpoint.metadata;
  const { step, epoch, bytes } = checkpoint.spec;
  if (creationTimestamp === undefined) return [];
  const saved = event('CheckpointSaved', {
    epoch,
    at: creationTimestamp,
    message: `Checkpoint ${name} of step ${step} is saved and verified (${formatBytes(bytes)}).`,
  });
  const damaged = event('CheckpointDamaged', {
    epoch,
    at: creationTimestamp,
    severity: 'warning',
    message: `Checkpoint ${name} of step ${step} is damaged and will not be used: ${checkpoint.status?.message ?? ''}`,
  });
  const suspect = event('CheckpointSuspect', {
    epoch,
    at: creationTimestamp,
    severity: 'warning',
    message: `Checkpoint ${name} of step ${step} could not be loaded. ${checkpoint.status?.message ?? ''}`,
  });
  const broken = event('CheckpointSuspect', {
    epoch,
    at: creationTimestamp,
    severity: 'warning',
    message: `Checkpoint ${name} of step ${step} is not used unless another node finds it sound: it ${describeVerification(checkpoint.status?.verification)}`,
  });
  const isDamaged = checkpoint.status?.state === 'Damaged' && checkpoint.status.deletion === undefined;
  const isBroken = !isDamaged && isFoundBroken(checkpoint);
  const isSuspect = !isDamaged && !isBroken && checkpoint.status?.suspect !== undefined;
  const events = [isBroken ? broken : saved, ...(isDamaged ? [damaged] : []), ...(isSuspect ? [suspect] : [])];
  return events.map((one) => ({ ...one, key: `checkpoint/${name}/${one.type}` }));
}

function ending(record: JobRecord, facts: Facts): readonly DerivedJobEvent[] {
  const { terminal } = record;
  if (terminal === undefined) return [];
  const at = findCondition(recordedConditions(facts.job), terminal.type)?.lastTransitionTime ?? '';
  const epoch = record.epoch === 0 ? null : record.epoch;
  const { message } = terminal;
  if (terminal.type === 'Complete') return [{ ...event('Completed', { epoch, at, message }), key: 'Completed' }];
  if (terminal.reason === 'Cancelled') {
    return [{ ...event('Cancelled', { epoch, at, message }), key: 'Cancelled' }];
  }
  return [{ ...event('Failed', { epoch, at, severity: 'error', message: describeEnd(record, facts) }), key: 'Failed' }];
}

/** Cause, reason of the end and advice. The first line is ours: the operator logs it, and what ranks wrote stays out of that log. */
function describeEnd(record: JobRecord, facts: Facts): string {
  const { attempts, terminal } = record;
  const failure = newestFailure({ name: facts.job.metadata.name, state: 'Failed', attempts });
  const [how = ''] = (attempts.at(-1)?.message ?? '').split('\n', 1);
  if (failure?.isFinal !== true || how === '') return terminal?.message ?? '';
  return [`Attempt ${failure.attempt} failed: ${how} ${failure.answer}`, failure.advice, ...failure.lastLines].join(
    '\n',
  );
}

function event(
  type: JobEventType,
  about: {
    readonly at: string;
    readonly message: string;
    readonly epoch?: number | null;
    readonly severity?: JobEvent['severity'];
  },
): DerivedJobEvent {
  const { at, message, epoch = null, severity = 'info' } = about;
  return { key: epoch === null ? type : `e${epoch}/${type}`, type, severity, epoch, message, at };
}

const SHOWN_NODES = 8;

/** `ranks 0-1 on node-a, ranks 2-3 on node-b`; beyond eight nodes the first ones and a count. */
function describePlacement(placement: PlacementSpec): string {
  const pods = podCount(placement);
  const shown = Array.from({ length: Math.min(pods, SHOWN_NODES) }, (_, podIndex) => {
    const ranks = ranksOfPod(placement, podIndex);
    if (ranks.length === 0) return `a standby on ${placement.nodes[podIndex] ?? 'unknown'}`;
    return `${ranks.length === 1 ? 'rank' : 'ranks'} ${formatRanks(ranks)} on ${placement.nodes[podIndex] ?? 'unknown'}`;
  });
  return pods > SHOWN_NODES ? `${shown.join(', ')} and ${pods - SHOWN_NODES} more nodes` : shown.join(', ');
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
