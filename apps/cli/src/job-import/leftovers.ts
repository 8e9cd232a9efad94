/** Why a field that Kubeflow and Kubernetes know has no counterpart in a job, and what to do instead. */

interface Advice {
  readonly why: string;
  readonly todo?: string;
}

const PLACED = 'Coxswain chooses the nodes of a gang itself, by NVLink domain and network';

/** By the end of a field's path; the first that matches speaks. */
const ADVICE: readonly (readonly [RegExp, Advice])[] = [
  [
    /^(?:\w+\.)?(?:status|metadata\.(?:uid|resourceVersion|generation|creationTimestamp|managedFields|selfLink|ownerReferences|finalizers))$/,
    { why: 'the API server wrote it' },
  ],
  [/metadata\.annotations(?:\b|$)/, { why: 'a job has labels, and no annotations' }],
  [
    /(?:template|replicatedJobs\[\d+\])(?:\.template)*\.metadata\.labels$/,
    { why: 'labels of pods are Coxswain’s', todo: 'label the job itself (metadata.labels) to find it by labels' },
  ],
  [
    /\.labels\["kueue\.x-k8s\.io\/priority-class"\]$/,
    {
      why: 'it names a WorkloadPriorityClass of Kueue, and a job names a PriorityClass of the cluster',
      todo: 'name the class of that priority in spec.priorityClassName',
    },
  ],
  [
    /\.labels\["(?:kueue|volcano|scheduling|kai|train)[^"]*"\]$/,
    { why: 'Coxswain schedules its jobs itself, beside that queue' },
  ],
  [/\.labels(?:\.[^.]+|\["[^"]*"\])$/, { why: 'its prefix or its value is none that a job may have' }],
  // Of a run.
  [
    /cleanPodPolicy$/,
    { why: 'pods end with their attempt, and what they wrote last stays with the job (coxswain logs)' },
  ],
  [/ttlSecondsAfterFinished$/, { why: 'jobs are kept', todo: 'remove one with coxswain delete JOB' }],
  [
    /activeDeadlineSeconds$/,
    {
      why: 'a limit of the time is one of the whole job, from a minute to a year',
      todo: 'set spec.maxRuntimeSeconds',
    },
  ],
  [
    /schedulingPolicy(?:\.\w+)?$|podGroupPolicy(?:\.\w+)?$/,
    { why: 'a gang starts whole or not at all, without being asked' },
  ],
  [/managedBy$/, { why: 'Coxswain’s operator manages its jobs' }],
  [
    /elasticPolicy\.(?:minReplicas|maxReplicas|metrics)$/,
    {
      why: 'a gang has one size',
      todo: 'to change it: coxswain suspend JOB, then coxswain resume JOB --data-parallel N',
    },
  ],
  [/elasticPolicy\.(?:rdzv\w+|standalone)$/, { why: 'Coxswain sets the rendezvous address of the ranks' }],
  // Of a TrainJob.
  [
    /initializer(?:\.\w+)*$|^runtime\d*\.spec\.template\.spec\.replicatedJobs\[\d+\]$/,
    {
      why: 'a job has no step before the training',
      todo: 'download model and data into a claim once, and name it in data.claimName',
    },
  ],
  [
    /runtimeRef(?:\.\w+)?$/,
    {
      why: 'its runtime is not in the file, so devices, networks and tolerations that it gives to the pods are not in the job',
      todo: 'append it to the file and import again: (echo ---; kubectl get clustertrainingruntime NAME -o yaml) >> FILE',
    },
  ],
  // Of Volcano, JobSet and MPI.
  [/spec\.plugins(?:\.\w+)?$/, { why: 'Coxswain connects the ranks itself, without a plug-in' }],
  [
    /spec\.(?:minAvailable|minSuccess|queue|runningEstimate)$|\.(?:minAvailable|subdomain|hostname|setHostnameAsFQDN)$/,
    { why: 'a gang starts whole or not at all, and its ranks find each other by MASTER_ADDR' },
  ],
  [/\.policies$/, { why: 'Coxswain watches the gang, and ends or restarts it as a whole' }],
  [/tasks\[\d+\]\.\w+$|replicaSpecs\[\d+\]\.\w+$/, { why: 'a job is one gang of equal pods' }],
  [
    /spec\.(?:mpiImplementation|sshAuthMountPath|launcherCreationPolicy|runLauncherAsWorker)$/,
    { why: 'there is no launcher pod and no SSH' },
  ],
  [/\.Launcher\.\w+$/, { why: 'there is no launcher pod' }],
  [/\.(?:manager|time)$/, { why: 'it names the author of the patch' }],
  [/mlPolicy\.torch$/, { why: 'Coxswain sets the variables that torch.distributed reads' }],
  [/replicatedJobs\[\d+\]\.(?:name|replicas|groupName|dependsOn)$/, { why: 'a job is one gang' }],
  [/podTemplateOverrides\[\d+\]\.targetJobs$/, { why: 'a job is one gang' }],
  [/targetJobs/, { why: 'a job is one gang' }],
  [
    /(?:failurePolicy|successPolicy|startupPolicy|network|coordinator)$/,
    { why: 'Coxswain starts, watches and ends the gang itself' },
  ],
  [
    /spec\.(?:completions|parallelism|completionMode|backoffLimitPerIndex|podFailurePolicy|podReplacementPolicy)$/,
    { why: 'Coxswain makes the pods of the gang itself' },
  ],
  // Of a pod.
  [
    /nodeSelector$|nodeName$|affinity$|topologySpreadConstraints$/,
    { why: PLACED, todo: 'where some nodes must not be used, an administrator taints them' },
  ],
  [
    /tolerations$/,
    {
      why: 'pods tolerate the taint nvidia.com/gpu already',
    },
  ],
  [/schedulerName$|schedulingGates$|priority(?:ClassName)?$|preemptionPolicy$/, { why: PLACED }],
  [
    /serviceAccount(?:Name)?$|automountServiceAccountToken$/,
    {
      why: 'pods of a job have no rights at the API server',
      todo: 'credentials of other systems belong into secretEnv or secretFiles',
    },
  ],
  [
    /imagePullSecrets$/,
    {
      why: 'pods of a job use the service account "default" of the namespace',
      todo: 'kubectl patch serviceaccount default -p \'{"imagePullSecrets":[{"name":"NAME"}]}\'',
    },
  ],
  [/initContainers$/, { why: 'a job has one program', todo: 'do it in the image, or in a Job before this one' }],
  [/\.volumes\[\d+\]$/, { why: 'the container that trains does not mount it' }],
  [/containers\[\d+\]\.name$/, { why: 'it only names the container that trains' }],
  [
    /containers\[\d+\]$/,
    { why: 'a job has one container in each pod', todo: 'leave the sidecar out, or run it as a workload of its own' },
  ],
  [/restartPolicy$/, { why: 'Coxswain restarts the gang as a whole, by restartPolicy of the job' }],
  [/ports$/, { why: 'Coxswain chooses the port at which the ranks meet' }],
  [/imagePullPolicy$/, { why: 'the default of Kubernetes applies: Always for the tag "latest", else IfNotPresent' }],
  [/(?:liveness|readiness|startup)Probe$|lifecycle$/, { why: 'Coxswain watches every rank' }],
  [
    /securityContext$|runtimeClassName$/,
    { why: 'pods run without privileges, as the Coxswain chart sets for all jobs' },
  ],
  [
    /host(?:Network|IPC|PID)$|dnsPolicy$|dnsConfig$/,
    { why: 'pods use the network of the cluster, and processes of their own' },
  ],
  [
    /envFrom(?:\[\d+\])?$/,
    { why: 'a job names each variable', todo: 'name the keys in engine.secretEnv, or the values in engine.env' },
  ],
  [
    /(?:limits|requests)\["[^"]+"\]$|(?:limits|requests)\.ephemeral-storage$|resources\.claims$/,
    { why: 'pods ask for GPUs, processors and memory alone' },
  ],
];

/** What is known of a field that was not taken; undefined where nothing is. */
export function adviceFor(path: string): Advice | undefined {
  return ADVICE.find(([form]) => form.test(path))?.[1];
}
