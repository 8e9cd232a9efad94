/**
 * Which marks announce that a Node will go away? Each row is a mark that a provider or operator writes on the Node. A cordon is not among
 * them: it only says that nothing new may start there, and cluster upgrades cordon nodes whose pods may finish by themselves.
 */
import { type DisruptionNoticeRule, NODE_MARKS } from '@coxswain/api-types';

/** A notice rule and the source of its spelling. */
export interface SourcedNoticeRule extends DisruptionNoticeRule {
  /** Where its spelling is documented. */
  readonly source: string;
}

const AWS = 'aws/aws-node-termination-handler, docs: TAINT_NODE';
const KARPENTER = 'kubernetes-sigs/karpenter, pkg/apis: taints of disrupted nodes';

/**
 * Left out on purpose: `aws-node-termination-handler/rebalance-recommendation` and `DeletionCandidateOfClusterAutoscaler`, which say that a
 * node may go away and not that it will; and Azure's `Freeze`, which pauses a machine for seconds.
 */
export const NOTICE_RULES: readonly SourcedNoticeRule[] = [
  { name: 'maintenance', taint: NODE_MARKS.maintenance, begins: 'AtTimestamp', source: 'Coxswain' },
  { name: 'maintenance', annotation: NODE_MARKS.maintenance, begins: 'AtTimestamp', source: 'Coxswain' },
  { name: 'aws-spot', taint: 'aws-node-termination-handler/spot-itn', begins: 'Now', source: AWS },
  { name: 'aws-maintenance', taint: 'aws-node-termination-handler/scheduled-maintenance', begins: 'Now', source: AWS },
  { name: 'aws-scale-in', taint: 'aws-node-termination-handler/asg-lifecycle-termination', begins: 'Now', source: AWS },
  // Of spot instances, drift, and 40 minutes before a capacity block ends.
  { name: 'karpenter', taint: 'karpenter.sh/disrupted', begins: 'Now', source: KARPENTER },
  { name: 'karpenter', taint: 'karpenter.sh/disruption', values: ['disrupting'], begins: 'Now', source: KARPENTER },
  {
    name: 'gke-termination',
    taint: 'cloud.google.com/impending-node-termination',
    begins: 'Now',
    source: 'Google Kubernetes Engine: disruption of GPU and TPU nodes',
  },
  {
    name: 'gke-maintenance',
    label: 'cloud.google.com/scheduled-maintenance-time',
    begins: 'AtUnixSeconds',
    source: 'Google Kubernetes Engine: monitor maintenance notifications',
  },
  {
    name: 'aks-drain',
    taint: 'remediator.kubernetes.azure.com/unschedulable',
    begins: 'Now',
    source: 'Azure Kubernetes Service: node auto-drain',
  },
  {
    name: 'cluster-autoscaler',
    taint: 'ToBeDeletedByClusterAutoscaler',
    begins: 'Now',
    source: 'kubernetes/autoscaler, cluster-autoscaler/utils/taints',
  },
  { name: 'node-maintenance', taint: 'medik8s.io/drain', begins: 'Now', source: 'medik8s/node-maintenance-operator' },
  // Its node-drainer evicts the pods of the node one by one from now on.
  {
    name: 'nvsentinel',
    label: 'dgxc.nvidia.com/nvsentinel-state',
    values: ['draining'],
    begins: 'Now',
    source: 'NVIDIA/NVSentinel: docs/state-manager.md',
  },
  { name: 'nvsentinel', condition: 'CSPMaintenance', begins: 'Now', source: 'NVIDIA/NVSentinel: csp-health-monitor' },
  {
    name: 'hyperpod',
    label: 'sagemaker.amazonaws.com/node-health-status',
    values: ['UnschedulablePendingReplacement', 'UnschedulablePendingReboot'],
    begins: 'Now',
    source: 'Amazon SageMaker HyperPod: node labels',
  },
  {
    name: 'autopilot',
    label: 'autopilot.ibm.com/gpuhealth',
    values: ['EVICT'],
    begins: 'Now',
    source: 'IBM/autopilot',
  },
];
