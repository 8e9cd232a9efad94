/** Objects that stand beside a job in its file: which stay, and which a job of Coxswain does not need. */
import type { ImportReport } from './import-report.ts';
import type { Source } from './source.ts';

interface Fate {
  readonly why: string;
  readonly todo?: string;
}

const STAYS = 'it stays as it is, and the job names it';
/** By `apiVersion kind`. */
const FATES: readonly (readonly [RegExp, Fate])[] = [
  [
    /^v1 PersistentVolumeClaim$/,
    { why: `${STAYS} in data.claimName or checkpoint.claimName`, todo: 'apply it in the namespace of the job' },
  ],
  [/^v1 PersistentVolume$|StorageClass$/, { why: 'it stays as it is: claims use it', todo: 'apply it as before' }],
  [
    /^v1 Secret$/,
    {
      why: 'jobs use only Secrets whose names begin with "job-"',
      todo: 'apply it under such a name; the lines about secretEnv and secretFiles name it',
    },
  ],
  [
    /^v1 ConfigMap$/,
    {
      why: 'it stays as it is: a runtime mounts it, or engine.env has its values',
      todo: 'apply it in the namespace of the job',
    },
  ],
  [
    /^v1 Service$/,
    { why: 'the ranks of a job find each other without a Service: Coxswain sets MASTER_ADDR and MASTER_PORT' },
  ],
  [/^v1 Namespace$/, { why: 'a namespace of Coxswain is a project', todo: 'see docs/tasks/create-a-project.md' }],
  [
    /^v1 ServiceAccount$|^rbac\.authorization\.k8s\.io\//,
    {
      why: 'pods of a job have no rights at the API server',
      todo: 'give credentials of other systems in secretEnv or secretFiles',
    },
  ],
  [/ PodGroup$/, { why: 'a gang starts whole or not at all, without a PodGroup' }],
  [
    / (?:Queue|LocalQueue|ClusterQueue|ResourceFlavor|Workload|WorkloadPriorityClass|AdmissionCheck|Topology|Cohort)$/,
    {
      why: 'Coxswain schedules jobs itself; quotas are those of the project',
      todo: 'see docs/tasks/create-a-project.md',
    },
  ],
  [/PriorityClass$/, { why: 'the class stays; a job names it in spec.priorityClassName' }],
  [
    /^apps\/v1 (?:Deployment|StatefulSet)$/,
    {
      why: 'a job needs no store for its rendezvous (etcd and the like): Coxswain connects the ranks',
      todo: 'where it serves something else, such as a log or a metric, it stays as it is',
    },
  ],
  [/^apps\/v1 DaemonSet$/, { why: 'it stays as it is: it prepares nodes, and belongs to no job' }],
  [/ NetworkPolicy$/, { why: 'it stays as it is, if it lets the pods of one job reach each other' }],
  [
    / (?:NetworkAttachmentDefinition|SriovNetwork|Network|GKENetworkParamSet|ResourceClaimTemplate|ComputeDomain)$/,
    { why: 'it stays as it is: a runtime names it', todo: 'apply it as before; examples/runtimes shows how' },
  ],
  [
    / (?:ServiceMonitor|PodMonitor|Ingress|VirtualService)$/,
    {
      why: 'it watches or serves the pods of the old job',
      todo: 'coxswain stacks, logs and the metrics of docs/tasks/monitor-coxswain.md take its place',
    },
  ],
];

const OTHER: Fate = {
  why: 'it is no job and nothing that a job names',
  todo: 'where the program needs it, it stays as it is',
};

/** A line for an object beside the job. */
export function reportBeside(kind: string, document: Source, report: ImportReport): void {
  const fate = FATES.find(([form]) => form.test(kind))?.[1] ?? OTHER;
  const name = document.at('metadata', 'name').value;
  report.add({ outcome: 'left', from: `${kind}${typeof name === 'string' ? ` ${name}` : ''}`, ...fate });
}
