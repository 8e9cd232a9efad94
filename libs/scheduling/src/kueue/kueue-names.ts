/** Names of Kueue (kubernetes-sigs/kueue v0.19, apis/kueue/v1beta2 and pkg/controller/constants), and ours towards it. */
import { API_GROUP } from '@coxswain/api-types';

/** The kinds of Kueue that Coxswain reads or writes. */
export const KUEUE_API = { group: 'kueue.x-k8s.io', version: 'v1beta2' } as const;

/** Labels of Kueue on jobs and Workloads. */
export const KUEUE_LABELS = {
  /** On a TrainingJob: its LocalQueue. */
  queueName: 'kueue.x-k8s.io/queue-name',
  /** On a TrainingJob: its WorkloadPriorityClass. */
  priorityClass: 'kueue.x-k8s.io/priority-class',
  /** On a Workload: UID of its job. Kueue finishes a Workload that has the label and no owner. */
  jobUid: 'kueue.x-k8s.io/job-uid',
} as const;

/** On a Workload: it stays, and keeps its quota, until its owner has released it. */
export const WORKLOAD_FINALIZER = 'kueue.x-k8s.io/resource-in-use';

/** `spec.controllerName` of the AdmissionChecks that the operator answers. */
export const PLACEMENT_CHECK_CONTROLLER = `${API_GROUP}/placement` as const;

/** On a Workload: digest of what was asked for. The server adds defaults to podSets, so they cannot be compared. */
export const REQUEST_DIGEST = `${API_GROUP}/quota-request` as const;

/** Annotations of Kueue on a Workload that is to take the place of a smaller one (KEP-77, pkg/workloadslicing). */
export const SLICE_ANNOTATIONS = {
  elastic: 'kueue.x-k8s.io/elastic-job',
  /** `namespace/name` of the smaller one. */
  replaces: 'kueue.x-k8s.io/workload-slice-replacement-for',
} as const;
