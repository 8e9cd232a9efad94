import type { TrainingJob } from '@coxswain/api-types';
import type { Action } from '../decide/decision.ts';
import type { Call } from './calls.ts';

/**
 * The calls of a decision's actions, in order. Consecutive calls of one kind run side by side. Pods are created in batches of one, two,
 * four and so on, like in the Job controller of Kubernetes, so that a single refusal shows that the cluster refuses them.
 */
export function callBatches(job: TrainingJob, actions: readonly Action[]): readonly (readonly Call[])[] {
  return runsOf(actions.flatMap((action) => callsOf(job, action))).flatMap((run) =>
    run[0]?.kind === 'createPod' ? slowStart(run) : [run],
  );
}

function callsOf(job: TrainingJob, action: Action): readonly Call[] {
  switch (action.kind) {
    case 'addFinalizer':
    case 'removeFinalizer':
    case 'readLive':
    case 'readCheckpoints':
    case 'readEvidence':
    case 'readPodWarning':
    case 'readReferences':
    case 'createPlacement':
    case 'createPod':
    case 'probePod':
    case 'createComputeDomain':
    case 'deleteComputeDomain':
    case 'markCheckpointDamaged':
    case 'markCheckpoint':
    case 'createCheckpoint':
      return [{ ...action, job }];
    case 'deleteCheckpoints':
      return action.checkpoints.map((checkpoint) => ({ kind: 'deleteCheckpoint', job, checkpoint }));
    case 'deletePlacements':
      return action.placements.map((placement) => ({ kind: 'deletePlacement', job, placement }));
    case 'liftGates':
      return action.pods.map((pod) => ({ kind: 'liftGate', job, pod }));
    case 'releasePods':
      return action.pods.map((pod) => ({ kind: 'releasePod', job, pod }));
    case 'deletePods': {
      const { gracePeriodSeconds } = action;
      return action.pods.map((pod) => ({ kind: 'deletePod', job, pod, gracePeriodSeconds }));
    }
    // Performed without a call to the cluster.
    case 'planJob':
    case 'forgetPlanning':
    case 'findNodes':
    case 'askQuota':
    case 'readRuntime':
    case 'refuseLaunchers':
      return [];
  }
}

function runsOf(calls: readonly Call[]): readonly (readonly Call[])[] {
  const runs: Call[][] = [];
  for (const call of calls) {
    const last = runs.at(-1);
    if (last !== undefined && last[0]?.kind === call.kind) last.push(call);
    else runs.push([call]);
  }
  return runs;
}

function slowStart(calls: readonly Call[]): readonly (readonly Call[])[] {
  const batches: (readonly Call[])[] = [];
  for (let start = 0; start < calls.length; start += batches.at(-1)?.length ?? 1) {
    batches.push(calls.slice(start, start + 2 ** batches.length));
  }
  return batches;
}
