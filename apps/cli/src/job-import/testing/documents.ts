/** Files of other systems, small and whole; each can be changed in parts. */

type Fields = Readonly<Record<string, unknown>>;

/** A PyTorchJob of one master with a container that trains on 8 GPUs. */
export function aPyTorchJob(
  change: { readonly spec?: Fields; readonly master?: Fields; readonly pod?: Fields; readonly container?: Fields } = {},
): Fields {
  const container = {
    name: 'pytorch',
    image: 'example.com/train:1',
    command: ['torchrun', 'train.py'],
    resources: { limits: { 'nvidia.com/gpu': 8 } },
    ...change.container,
  };
  return {
    apiVersion: 'kubeflow.org/v1',
    kind: 'PyTorchJob',
    metadata: { name: 'train' },
    spec: {
      pytorchReplicaSpecs: {
        Master: { replicas: 1, template: { spec: { containers: [container], ...change.pod } }, ...change.master },
      },
      ...change.spec,
    },
  };
}

/** A TrainJob that says everything itself. */
export function aTrainJob(change: { readonly spec?: Fields; readonly trainer?: Fields } = {}): Fields {
  return {
    apiVersion: 'trainer.kubeflow.org/v1alpha1',
    kind: 'TrainJob',
    metadata: { name: 'train' },
    spec: {
      runtimeRef: { name: 'torch-distributed' },
      trainer: {
        image: 'example.com/train:1',
        command: ['torchrun', 'train.py'],
        numNodes: 2,
        resourcesPerNode: { limits: { 'nvidia.com/gpu': 4 } },
        ...change.trainer,
      },
      ...change.spec,
    },
  };
}

/** The runtime that {@link aTrainJob} names. */
export function aRuntime(
  change: { readonly spec?: Fields; readonly pod?: Fields; readonly container?: Fields } = {},
): Fields {
  const container = { name: 'node', image: 'example.com/runtime:1', ...change.container };
  const job = {
    name: 'node',
    template: { spec: { template: { spec: { containers: [container], ...change.pod } } } },
  };
  return {
    apiVersion: 'trainer.kubeflow.org/v1alpha1',
    kind: 'ClusterTrainingRuntime',
    metadata: { name: 'torch-distributed' },
    spec: { mlPolicy: { numNodes: 3, torch: {} }, template: { spec: { replicatedJobs: [job] } }, ...change.spec },
  };
}
