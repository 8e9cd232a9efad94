import { isKindUnknown, isUnauthorizedVerb, KubeApiError } from '@coxswain/kube';
import { sentenceOf } from '../cluster/resources.ts';
import { ChangedByOthers } from './cluster-writer.ts';

/** Why a change has not reached the cluster yet, for the user who requested it. Internal errors are only in the log. */
export function describeApplyFailure(error: unknown): string {
  if (error instanceof ChangedByOthers) return 'Others changed the job in the cluster each time Coxswain wrote it.';
  if (!(error instanceof KubeApiError)) return 'Coxswain could not apply the change because of an error of its own.';
  if (error.status === 0 && (error.reason === 'Timeout' || error.reason === 'Aborted')) {
    return 'The Kubernetes API server did not answer in time. An admission webhook of the namespace may be slow.';
  }
  if (error.status === 0) return 'The Kubernetes API server does not answer.';
  if (isKindUnknown(error)) {
    return 'The cluster has no definition of TrainingJobs. An administrator of the cluster must install it.';
  }
  if (isUnauthorizedVerb(error)) {
    return `The cluster denies Coxswain a right, which an administrator of the cluster must grant: ${sentenceOf(error)}`;
  }
  return `The Kubernetes API server answered ${error.status}: ${sentenceOf(error)}`;
}
