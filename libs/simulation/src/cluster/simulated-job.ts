import { API_GROUP_VERSION, type Checkpoint, FINALIZER, TrainingJobSpec, type TrainingJob } from '@coxswain/api-types';
import { checkpointName } from '@coxswain/checkpoint';
import type { ParallelLayout } from '@coxswain/layout';

/** A job that trains on so many nodes, one rank each, until somebody ends it. */
export function simulatedJob(nodes: number, standbys = 0): TrainingJob {
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'TrainingJob',
    metadata: {
      name: 'simulated',
      namespace: 'simulation',
      uid: '51a7ed00-0000-4000-8000-000000000000',
      resourceVersion: '0',
      generation: 1,
      creationTimestamp: new Date(0).toISOString(),
      finalizers: [FINALIZER],
    },
    spec: TrainingJobSpec.parse({
      engine: { name: 'command', image: 'simulated', command: ['train'] },
      layout: simulatedLayout(nodes),
      resources: { gpusPerNode: 1 },
      ...(standbys === 0 ? {} : { standby: standbys }),
      checkpoint: { claimName: 'checkpoints' },
      // As many as the field holds: what ends a run of months is a person, not a count.
      restartPolicy: { maxRestarts: 1000, delaySeconds: 0 },
      terminationGracePeriodSeconds: 30,
    }),
  };
}

/**
 * Replicas alone. Where ranks of a gang sit changes no time of the simulation, and placing a gang of 2,048 nodes with a pipeline takes the real search
 * three times as long.
 */
function simulatedLayout(nodes: number): ParallelLayout {
  return { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: nodes };
}

/** A checkpoint that the gang of that attempt and incarnation saved at that step. */
export function savedAt(
  job: TrainingJob,
  saved: { readonly epoch: number; readonly incarnation: number; readonly step: number },
): Checkpoint {
  const { name, uid, namespace = '' } = job.metadata;
  const { epoch, step } = saved;
  const called = checkpointName(job.metadata, saved);
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Checkpoint',
    metadata: { name: called, namespace, uid: `uid-of-${called}` },
    spec: {
      jobName: name,
      jobUid: uid,
      epoch,
      step,
      claimName: 'checkpoints',
      path: `${called}`,
      layout: job.spec.layout ?? simulatedLayout(1),
      format: 'torch_dcp',
      bytes: 1,
      files: 1,
      manifestSha256: '0'.repeat(64),
    },
    status: { state: 'Complete' },
  };
}
