import { API_GROUP_VERSION, type OwnerReference, type TrainingJob } from '@coxswain/api-types';

/** The reference by which a child belongs to a job: the garbage collector removes it with the job, and the job waits for it. */
export function ownedBy(job: TrainingJob): OwnerReference {
  const { name, uid } = job.metadata;
  return { apiVersion: API_GROUP_VERSION, kind: 'TrainingJob', name, uid, controller: true, blockOwnerDeletion: true };
}
