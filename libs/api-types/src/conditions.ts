import { z } from 'zod';

/**
 * Conditions of a TrainingJob: the declared vocabulary. A reason names a fact, is stable and is read by machines; a message is one
 * sentence for people, free of times and of unordered sets.
 *
 * | Type      | True means                                                        | False means                                       |
 * |-----------|-------------------------------------------------------------------|---------------------------------------------------|
 * | Accepted  | The spec can run                                                  | A person must change the spec; the reason names why |
 * | Placed    | The current attempt has a placement                               | No nodes are assigned; the reason names what it waits for |
 * | Running   | Every rank of the current attempt has started                     | The gang has not started yet, or has stopped      |
 * | CheckpointsRecorded | never written                                           | A saved checkpoint cannot be resumed from yet: the API server refuses its object |
 * | TrainedAsAsked | The training that a hook observed matches the layout, as far as it is observable | It differs; the message names the difference |
 * | LoadsOnFewerGpus | The newest checkpoint of an elastic job loads on the layouts that the job can shrink to | It does not load on some; the message names them and what to do |
 * | AtFullSize | The gang of an elastic job runs on all of `spec.gpus` | It runs on fewer; the reason is what keeps it from growing |
 * | MaxRuntimeNear | The run has nearly used `spec.maxRuntimeSeconds` and ends soon | never written                               |
 * | Suspended | Nothing runs because `spec.suspend` asks for it                   | Not suspended                                     |
 * | Complete  | The job finished its work; terminal                               | never written                                     |
 * | Failed    | The job ended without finishing (budget spent, cancelled, ...); terminal | never written                              |
 */
export const CONDITION_TYPES = [
  'Accepted',
  'Placed',
  'NodesRequested',
  'Running',
  'CheckpointsRecorded',
  'FabricAsPlaced',
  'TrainedAsAsked',
  'LoadsOnFewerGpus',
  'AtFullSize',
  'MaxRuntimeNear',
  'Suspended',
  'Complete',
  'Failed',
] as const;
/** Type of a condition. */
export type ConditionType = (typeof CONDITION_TYPES)[number];

/** Reasons by condition type, each with its meaning. */
export const CONDITION_REASONS = {
  Accepted: {
    SpecValid: 'The layout fits the model and the engine can be started with it.',
    SpecInvalid: 'The spec cannot be read by this version of the operator; the message names field and rule.',
    NoLayoutFits:
      'The planner found no layout for that number of GPUs; the message names the rules that exclude them. Coxswain tries again when the nodes change.',
    LayoutInvalid: 'The layout breaks a rule; the message names field, values and the nearest legal value.',
    EngineRefused: 'The engine cannot run this combination; the message names what and the alternative.',
    RuntimeRefused:
      'The runtime of the job cannot be used: it does not exist, this namespace may not use it, or it conflicts with the job. The message names what to do. Coxswain tries again.',
  },
  Placed: {
    GangPlaced: 'Every rank has a node; the Placement object of the attempt records it.',
    Placing: 'Nodes are free; the placement is being recorded.',
    WaitingForCapacity: 'Too few GPUs are free; the message names the needed and the free number.',
    WaitingForQuota:
      'The job names a queue of Kueue, and Kueue has not admitted its Workload; the message contains the reason that Kueue gives. No node is held for the job.',
    NotAccepted: 'The spec cannot run; condition Accepted names the reason.',
    Planning: 'The planner is choosing a layout, or predicting the one of the spec; placement waits for its answer.',
    ReadingRuntime: 'The runtime that the job names is being read.',
    WaitingForPlan: 'The layout is chosen when the cluster has a node with GPUs.',
    TopologyUnsatisfiable:
      'Enough GPUs exist, but no set of nodes keeps each tensor group in an NVLink domain, and the gang in as few network islands as resources.acrossIslands allows, without the nodes that the Fabric reserves.',
    WaitingForRestartDelay: 'The previous attempt failed; the next attempt starts after the delay.',
    ObjectMissing:
      'A claim or ConfigMap that the job names does not exist or cannot be used; the message names it. No GPU is taken. Coxswain reads it again every few seconds.',
    PriorityClassMissing:
      'The PriorityClass that the job names does not exist; the message lists those that do. No GPU is taken, and the job keeps its age in the order. It is placed when the class exists or spec.priorityClassName names another one.',
    PodsRefused:
      'The cluster refused a pod of the last gang (quota, limits, policy); the message contains the cluster’s reason. Coxswain tries again after a delay.',
    CheckpointsUnusable:
      'No known checkpoint can be used, or the one in spec.resumeFrom cannot; training never restarts from scratch by itself. The message lists what was tried. Set spec.resumeFrom to the checkpoint to continue from.',
    ConvertingCheckpoint:
      'The newest checkpoint does not load at the layout, and a pod converts it. No GPU is held meanwhile. The message has the cost of each way.',
    WaitingForPreviousEpoch: 'Pods of the previous attempt are still terminating.',
    Suspended: 'Nothing is placed while the job is suspended.',
    Finished: 'The job is finished; its nodes are free.',
  },
  NodesRequested: {
    Requested:
      'The job waits for capacity, and a ProvisioningRequest asks for nodes for its whole gang; the message names it. Absent while the job does not wait for capacity.',
    Provisioned: 'The autoscaler reports that the nodes are available or about to be.',
    Failed:
      'The autoscaler gave up the request, or the nodes were not used in time; the message contains its reason. Coxswain requests again after ten minutes.',
    Refused:
      'The cluster rejected the request (quota, policy, rights, a name that exists); the message contains the reason.',
    NotServed:
      'The cluster serves no ProvisioningRequests, so the job cannot ask for nodes: autoscalers do not add nodes for pods with a scheduling gate.',
    TurnedOff: 'The administrator turned node requests off.',
  },
  Running: {
    GangRunning: 'Every rank of the attempt has started.',
    NodesInDoubt:
      'Every rank has started, and a node of the gang is not ready. The gang keeps running while its launchers report, during a grace period, and while so many nodes are not ready together that the connection to the API server is the likelier cause.',
    RanksFinished:
      'Ranks exited with 0 while others of the gang still run; the message names both. A program that trains ends on every rank, so the others may wait for the finished ones.',
    ProcessesStopped:
      'Every rank has started, and the process of a rank is stopped (state T) or waits in the kernel (state D). The message names rank, state and node.',
    NotTraining:
      'Every rank has started, and for a time the gang completed no step and no collective, used no CPU time and wrote nothing. The message names the ranks that stand out.',
    BeforeFirstStep: 'Every rank has started, and no rank has completed a step in this attempt.',
    RanksBusy:
      'Ranks evaluate, save, compile or generate, and complete no step meanwhile; the message names what they do.',
    EndHeld:
      'Every rank has started. A detector or a notice asks for the end of the attempt, but the attempt continues: many gangs stand still at once, no other node has room, or the evidence is in doubt. The message names the reason and what the end waits for.',
    LaunchersSilent:
      'The containers run, and a launcher in them has not reached the operator, so its ranks have not started. The message names the pod and what to check: clock, certificate, network.',
    RestartingInPlace:
      'A rank failed. When the ranks of every pod have ended, all ranks restart in the same pods from the newest checkpoint.',
    PodsCreating: 'The gang is being created behind its scheduling gate.',
    PodsStarting: 'The gates are lifted; containers are starting.',
    ImagePulling: 'Nodes of the gang are pulling the image of the trainer.',
    ImageUnavailable: 'A container waits for its image; the message names image and node.',
    SecretMissing:
      'A container waits for a Secret or its key; the message names both. It starts as soon as the Secret exists, within the start timeout.',
    PodStuck: 'A container cannot be created; the message names the reason that the node gives.',
    Denied:
      'The API server denies what the attempt needs (policy, webhook, right); the message contains its sentence. Coxswain tries again.',
    Stopping: 'The gang was asked to save and stop.',
    NotStarted: 'No gang is up.',
    Finished: 'The job is finished.',
  },
  CheckpointsRecorded: {
    CheckpointRefused:
      'A checkpoint is saved, and the API server refuses its Checkpoint object (quota, policy, webhook); the message names it and contains the cluster’s reason. Coxswain tries again. Training continues, and no attempt resumes from this checkpoint before it is recorded.',
  },
  FabricAsPlaced: {
    LabelsChanged:
      'The labels of a node of the running gang now name another NVLink domain, island or NIC class than when the gang was placed. Its ranks stay where they are. Absent while nothing differs.',
  },
  TrainedAsAsked: {
    NothingDiffers:
      'In the newest attempt that a hook reported on, no difference from the layout was observed. What the hook cannot observe is not judged.',
    LayoutDiffers:
      'Ranks train differently from the layout: another world size, another mesh, or full copies where the layout shards. The message names the rank, the observed and the requested value. The job continues.',
  },
  LoadsOnFewerGpus: {
    CheckpointLoads:
      'The newest checkpoint loads on every layout with fewer GPUs that was checked. Absent if the job states no minGpus or has no checkpoint.',
    SomeLayoutsDoNotLoad:
      'The newest checkpoint loads on fewer copies of the model and not at other degrees of tensor or pipeline parallelism; the message names the layouts and what to save first.',
    CheckpointDoesNotLoad:
      'The newest checkpoint loads on no layout with fewer GPUs that was checked, so the job cannot shrink. The message names the reason and what to do.',
  },
  AtFullSize: {
    AllGpus:
      'The gang of a job with minGpus runs on all of spec.gpus. Absent if the job states no minGpus or runs on no GPU.',
    OtherJobsWait: 'The gang does not grow, because other jobs wait for GPUs.',
    GpusNotFree: 'The gang does not grow, because not all of the missing GPUs are free on nodes that it may use.',
    QuotaReclaimed:
      'Kueue took the quota back within an hour of a growth, so the job does not grow for a day: it might borrow the quota again.',
    LittleFaster:
      'The gang does not grow, because each further GPU would add less than half of the speed that each of its GPUs has now.',
    DoesNotPay:
      'The gang does not grow, because it would gain less than twice the time that the change costs. What counts is the time before the job ends or loses a node: one whose loss is announced, or the next one at the rate so far.',
    ChangedRecently: 'The gang has not run for ten times the time that a change of size costs; it grows later.',
    FreeForTooShort:
      'The missing GPUs are free, and not for long enough yet: 10 minutes, or longer if growths of the last day were undone.',
    WaitingForQuota:
      'The missing GPUs are free, and Kueue does not count their quota as the job’s yet. The operator asks for it when it is free in the queue.',
    WaitingForSave: 'The gang grows at its next checkpoint.',
  },
  MaxRuntimeNear: {
    LimitNear:
      'A tenth of spec.maxRuntimeSeconds is left, or 15 minutes if that is less. The gang is asked to save in time, and then stopped. A higher limit takes the condition away.',
  },
  Suspended: {
    SuspendRequested: 'spec.suspend is true and the gang is gone.',
    Stopping: 'spec.suspend is true; the gang is saving and stopping.',
    NotSuspended: 'spec.suspend is false.',
  },
  Complete: { AllRanksSucceeded: 'Every rank exited with 0.' },
  Failed: {
    RestartsExhausted:
      'A failure occurred after the restart budget was spent; the message holds rank, node, exit code and last lines.',
    NoProgress: 'Repeated restarts made no progress: no new step, no new checkpoint. The message names what to check.',
    SameTraceback:
      'The program raised the same exception twice before its first step, on more than one node, so it would a third time; the message holds the traceback.',
    FailurePolicy: 'A rule of the failure policy has the action Fail; the message names the rule.',
    DoNotRestart: 'The engine exited with 93: a restart would fail the same way.',
    NothingTrained:
      'Every rank exited with 0, and the job made no step and no checkpoint although its spec asks for them. A job that trains nothing sets spec.expects to Nothing.',
    Cancelled: 'spec.cancel was set.',
    MaxRuntimeReached:
      'The run has held GPUs for spec.maxRuntimeSeconds. It was asked to save and stopped; the message names the newest checkpoint, and all checkpoints stay.',
    NameConflict:
      'Written by earlier releases: a pod with the name that a pod of the gang needs existed, and the operator had not made it.',
  },
} as const satisfies Record<ConditionType, Record<string, string>>;

/** Reasons of a type of condition. */
export type ReasonOf<T extends ConditionType> = Extract<keyof (typeof CONDITION_REASONS)[T], string>;

/** A condition in the status of a TrainingJob. */
export const Condition = z
  .object({
    type: z.string().max(64).describe('Type of the condition, in CamelCase.'),
    status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds.'),
    reason: z.string().min(1).max(128).describe('Stable name of the fact behind it, for machines.'),
    message: z.string().max(32_768).describe('One sentence for people.'),
    observedGeneration: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .describe('metadata.generation that the condition is about.'),
    lastTransitionTime: z.string().meta({ format: 'date-time' }).describe('When status changed last.'),
  })
  .meta({ id: 'Condition' });
export type Condition = z.infer<typeof Condition>;

/** The condition of that type, if it was ever written. */
export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: ConditionType,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether the condition of that type is True. */
export function isTrue(conditions: readonly Condition[] | undefined, type: ConditionType): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/** Whether the job has ended for good. */
export function isFinished({
  status,
}: {
  readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined;
}): boolean {
  return isTrue(status?.conditions, 'Complete') || isTrue(status?.conditions, 'Failed');
}
