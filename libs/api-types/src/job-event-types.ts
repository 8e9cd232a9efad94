/** Events in the history of a job. The operator writes each as a Kubernetes Event of the TrainingJob too, with the type as its `reason`. */
import type { JobEvent } from './rest.ts';

type Severity = JobEvent['severity'];

/**
 * Each type with the severities that it can have, and its meaning, in the order of a smooth run. `info` is an Event of type Normal; the others are
 * of type Warning, and only what a person must act on or know of is one: a suspend, a planned restart or a resize is normal life.
 */
export const JOB_EVENTS = {
  Submitted: { severities: ['info'], meaning: 'The job was created.' },
  Planned: { severities: ['info'], meaning: 'The planner chose a layout.' },
  Waiting: {
    severities: ['info', 'warning'],
    meaning:
      'The next attempt waits. info: for free GPUs. warning: for a person; the message names what is missing (spec, claim, image, Secret, quota, policy, checkpoint, topology).',
  },
  StartExpected: {
    severities: ['info'],
    meaning:
      'Nodes are held for the job, which is first in line. The message names the expected start, or why it is later than it was.',
  },
  RoomAsked: {
    severities: ['info'],
    meaning: 'Running jobs of lower priority make room for the job. The message says how many, and until when.',
  },
  RoomNotMade: {
    severities: ['info'],
    meaning: 'Running jobs were to make room for the job, and it did not start on their nodes. The message says why.',
  },
  Placed: { severities: ['info'], meaning: 'Every rank has a node.' },
  Resuming: {
    severities: ['info'],
    meaning: 'A suspended job begins its next attempt, or a person chose its checkpoint.',
  },
  Started: { severities: ['info'], meaning: 'All pods of the attempt exist and start together.' },
  Running: { severities: ['info'], meaning: 'Every rank has started.' },
  Resumed: { severities: ['info'], meaning: 'Training continues from a checkpoint.' },
  LayoutDiffers: { severities: ['warning'], meaning: 'Ranks train differently from the layout of the job.' },
  SaveAsked: { severities: ['info'], meaning: 'The ranks were asked to save before the next save is due.' },
  SaveMissed: { severities: ['warning'], meaning: 'The ranks did not save when they were asked to.' },
  CheckpointSaved: { severities: ['info'], meaning: 'A checkpoint is saved and verified.' },
  CheckpointRefused: {
    severities: ['warning'],
    meaning: 'A checkpoint is saved, and the API server refuses its object, so that no attempt can resume from it yet.',
  },
  ShrinkBlocked: {
    severities: ['warning'],
    meaning:
      'The newest checkpoint of a job with minGpus does not load on every layout that the job can shrink to; the message names what to do.',
  },
  CheckpointDamaged: { severities: ['warning'], meaning: 'A checkpoint is damaged and is not used again.' },
  CheckpointSuspect: {
    severities: ['warning'],
    meaning: 'A checkpoint could not be loaded, or its bytes were found broken.',
  },
  CheckpointPassedOver: {
    severities: ['warning'],
    meaning: 'An attempt begins from an older checkpoint, because the newest one is suspect.',
  },
  IncidentNoticed: {
    severities: ['info', 'warning'],
    meaning: 'Something was noticed while the ranks run. info: Coxswain handles it, or its end is held.',
  },
  RankFailed: {
    severities: ['info', 'warning', 'error'],
    meaning:
      'An attempt or its ranks failed. info: nothing had run, or nothing is at fault. error: the job ends with it.',
  },
  RestartsNearlySpent: {
    severities: ['warning'],
    meaning: 'All restarts of restartPolicy.maxRestarts are used: the next charged failure ends the job.',
  },
  MaxRuntimeNear: {
    severities: ['warning'],
    meaning: 'The run has nearly used spec.maxRuntimeSeconds: it saves and ends unless the limit is raised.',
  },
  MakesRoom: {
    severities: ['info'],
    meaning:
      'The gang saves and stops, because a job of higher priority needs its nodes. The message says for which job and until when. The job goes on by itself.',
  },
  Restarting: { severities: ['info'], meaning: 'The gang or its ranks restart.' },
  IncidentOver: { severities: ['info'], meaning: 'An incident ended; the message has its cost.' },
  WorkLost: {
    severities: ['warning'],
    meaning:
      'A gang that was stopped (suspend, move, resize, end of maxRuntimeSeconds) did not save its last steps; the message says how many, and why.',
  },
  Suspended: { severities: ['info'], meaning: 'The attempt was stopped because the job was suspended.' },
  Completed: { severities: ['info'], meaning: 'Every rank finished.' },
  Failed: { severities: ['error'], meaning: 'The job ended without finishing; the message opens with the cause.' },
  Cancelled: { severities: ['info'], meaning: 'The job was cancelled.' },
} as const satisfies Record<string, { readonly severities: readonly Severity[]; readonly meaning: string }>;
/** Type of an event in the history of a job. */
export type JobEventType = keyof typeof JOB_EVENTS;

/** Events that the operator writes beside the history: each with the type of its Kubernetes Event, and its meaning. */
export const OPERATOR_EVENTS = {
  CannotProceed: {
    type: 'Warning',
    meaning: 'The API server rejected an action for the job; the message has its words.',
  },
  CheckpointCleared: {
    type: 'Normal',
    meaning:
      'The only node that found other content in a checkpoint finds all of its bytes right, an hour later. Or files that a pod did not find are there again.',
  },
  CheckpointConverted: {
    type: 'Normal',
    meaning: 'A pod converted a checkpoint, so that the job can load it at another layout.',
  },
  CheckpointDeleted: { type: 'Normal', meaning: 'Retention deleted a save of the job and its Checkpoint.' },
  CheckpointKept: {
    type: 'Warning',
    meaning: 'Retention took back the deletion of a save, or could not complete it; the message says why.',
  },
  ConversionFailed: {
    type: 'Warning',
    meaning: 'A checkpoint could not be converted; the message says why. The job goes back to an older one, or waits.',
  },
  FabricChanged: { type: 'Warning', meaning: 'Fabric labels of nodes changed while the job runs on them.' },
  ForeignPlacement: {
    type: 'Warning',
    meaning: 'A Placement claims the job, and the status of the job does not record it.',
  },
  RanksUnwell: { type: 'Warning', meaning: 'A detector reports a problem that is no incident.' },
  RuntimeUser: {
    type: 'Normal',
    meaning: 'Containers of the runtime name no user, and run as the default user of the cluster.',
  },
} as const satisfies Record<string, { readonly type: 'Normal' | 'Warning'; readonly meaning: string }>;
/** Reason of such an Event. */
export type OperatorEvent = keyof typeof OPERATOR_EVENTS;

/** Events that the API adds to the history of a job, because its resource cannot show them. They are no Kubernetes Events. */
export const API_EVENTS = {
  Refused: { severity: 'error', meaning: 'The cluster refused to create the job; the message has its words.' },
  ChangeRefused: {
    severity: 'warning',
    meaning: 'The cluster refused a change of the job; the message has its words.',
  },
} as const satisfies Record<string, { readonly severity: Severity; readonly meaning: string }>;
/** Type of such an event. */
export type ApiEvent = keyof typeof API_EVENTS;
