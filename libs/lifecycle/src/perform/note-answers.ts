/** What follows from the cluster's answer to a call? */
import type { TrainingJob } from '@coxswain/api-types';
import type { Observed } from '../observation/observed.ts';
import { isShownIfRefused, type RefusedCall } from '../observation/refused-calls.ts';
import type { CheckpointWrite } from '../observation/refused-checkpoints.ts';
import { type Answer, type Call, type FailedAnswer, mayPassByItself, messageOf } from './calls.ts';
import type { JobEffects, JobView } from './job-view.ts';

interface Ports {
  readonly view: JobView;
  readonly effects: JobEffects;
}

/** The result of a dry run. Throws the error of a call that may pass by itself, or that needs another right. */
export function probeOf(call: Call, answer: Answer, ports: Ports): NonNullable<Observed['podProbe']> {
  if (answer.kind === 'done') return { kind: 'accepted' };
  if (answer.cause === 'transient') throw answer.error;
  const message = messageOf(answer);
  ports.effects.warn(call.job, message);
  if (answer.cause === 'refused' || answer.cause === 'unadmitted') return { kind: 'refused', message };
  noteRefusal(call, message, ports.view);
  throw answer.error;
}

type CheckpointCall = Extract<Call, { kind: CheckpointWrite['kind'] }>;

/** Whether the call writes a Checkpoint. */
export function isCheckpointWrite(call: Call): call is CheckpointCall {
  return ['createCheckpoint', 'markCheckpointDamaged', 'markCheckpoint', 'deleteCheckpoint'].includes(call.kind);
}

/** Keeps a refused Checkpoint write and repeats it later: no gang, end or finalizer waits for it. */
export function noteCheckpoint(call: CheckpointCall, answer: Answer, { view, effects }: Ports): void {
  const { uid } = call.job.metadata;
  const write = { kind: call.kind, name: call.kind === 'deleteCheckpoint' ? call.checkpoint.name : call.name };
  if (answer.kind === 'done') return view.refusedCheckpoints.done(uid, write);
  if (answer.cause === 'conflict') throw answer.error;
  const message = messageOf(answer);
  const why = { message, isRefusal: !mayPassByItself(answer), nowMs: view.monotonicMs() };
  if (!view.refusedCheckpoints.note(uid, write, why)) throw answer.error;
  effects.warn(call.job, message);
}

/** Keeps a refused pod or Placement in `refused`, for the end of its attempt. Every other denial is shown until the call succeeds, and thrown. */
export function noteFailure(
  failed: { readonly call: Call; readonly answer: FailedAnswer; readonly refused: Map<string, string> },
  { view, effects }: Ports,
): void {
  const { call, answer, refused } = failed;
  const { error, cause } = answer;
  const message = messageOf(answer);
  if ((call.kind === 'createPod' || call.kind === 'createPlacement') && cause === 'refused') {
    refused.set(call.name, message);
    return;
  }
  const isOvertaken = cause === 'conflict' && (call.kind === 'addFinalizer' || call.kind === 'removeFinalizer');
  if (isOvertaken) return;
  if (cause !== 'conflict' && cause !== 'transient') {
    noteRefusal(call, message, view);
    effects.warn(call.job, message);
  }
  throw error;
}

/** Forgets an earlier denial of the call. */
export function noteDone(call: Call, { refusedCalls }: JobView): void {
  const { kind } = call;
  if (isShownIfRefused(kind)) refusedCalls.done(call.job.metadata.uid, { kind, name: objectOf(call) });
}

function noteRefusal(call: Call, message: string, { refusedCalls }: JobView): void {
  const { kind } = call;
  if (!isShownIfRefused(kind)) return;
  const refused: RefusedCall = { kind, name: objectOf(call), message };
  refusedCalls.note(call.job.metadata.uid, refused);
}

function objectOf(call: Call): string {
  if ('pod' in call) return call.pod.name;
  return 'name' in call ? call.name : nameOf(call.job);
}

function nameOf({ metadata }: TrainingJob): string {
  return metadata.name;
}
