import { z } from 'zod';

/**
 * Conditions of a TrainingJob: the declared vocabulary. A reason names a fact, is stable and is read by machines; a message is one
 * sentence for people, free of times and of unordered sets.
 *
 * | Type      | True means                                                        | False means                                       |
 * |-----------|-------------------------------------------------------------------|---------------------------------------------------|
 * | Accepted  | The spec can be run as it stands                                  | A person must change it; the reason says why      |
 * | Placed    | The current epoch has a placement                                 | No nodes are assigned; the reason says what it waits for |
 * | Running   | Every rank of the current epoch has been started                  | The gang is not (yet, or any more) up             |
 * | CheckpointsRecorded | never written                                           | A saved checkpoint cannot be resumed from yet: the API server refuses its object |
 * | TrainedAsAsked | What a hook saw of the training is what the layout asks for, as far as it shows | It is not; the message says in what |
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
  'Suspended',
  'Complete',
  'Failed',
] as const;
export type ConditionType = (typeof CONDITION_TYPES)[number];

/** Reasons by condition type, each with its meaning. */
export const CONDITION_REASONS = {
  Accepted: {
    SpecValid: 'The layout fits the model and the engine can be started with it.',
    SpecInvalid: 'The spec cannot be read by this version of the operator; the message names field and rule.',
    NoLayoutFits:
      'The planner found no layout for that number of GPUs; the message says what rules them out. The job is looked at again when the nodes change.',
    LayoutInvalid: 'The layout breaks a rule; the message names field, values and the nearest legal value.',
    EngineRefused: 'The engine cannot run this combination; the message names what and the alternative.',
    RuntimeRefused:
      'The runtime that the job names cannot be used: there is none of that name, this namespace may not use it, or it and the job contradict each other. The message says what to do. The job is looked at again.',
  },
  Placed: {
    GangPlaced: 'Every rank has a node; the Placement object of the epoch records it.',
    Placing: 'Nodes are free; the placement is being recorded.',
    WaitingForCapacity: 'Too few free GPUs; the message says how many are needed and free.',
    NotAccepted: 'The spec cannot be run as it stands; condition Accepted says why.',
    Planning:
      'The planner was asked for a layout, or for a prediction of the one that the spec gives; nothing is placed before it answers.',
    ReadingRuntime: 'The runtime that the job names is being read.',
    WaitingForPlan: 'The layout is chosen when the cluster has a node with GPUs.',
    TopologyUnsatisfiable:
      'Enough GPUs exist, but no set of nodes keeps each tensor group in an NVLink domain, and the gang in as few islands of the network as resources.acrossIslands says, beside what the Fabric keeps in reserve.',
    WaitingForRestartDelay: 'The previous attempt failed; the next epoch starts after the delay.',
    PodsRefused:
      'The cluster refused a pod of the last gang (quota, limits, policy); the message says why, in the cluster’s words. The gang is tried again after a delay.',
    CheckpointsUnusable:
      'Checkpoints are known and none can be used, or the one that spec.resumeFrom names cannot; training never begins from scratch by itself. The message lists what was tried. spec.resumeFrom says where to go on.',
    WaitingForPreviousEpoch: 'Pods of the previous epoch are still going away.',
    Suspended: 'Nothing is placed while the job is suspended.',
    Finished: 'The job is finished; its nodes are free.',
  },
  NodesRequested: {
    Requested:
      'The job waits for capacity, and a ProvisioningRequest asks for nodes for its whole gang; the message names it. Absent while the job does not wait for capacity.',
    Provisioned: 'The autoscaler says that the nodes are there, or will be in a moment.',
    Failed:
      'The autoscaler gave the request up, or the nodes were not used in time; the message holds its words. It is asked again after ten minutes.',
    Refused:
      'The cluster does not take the request (quota, policy, rights, a name that is taken); the message says why.',
    NotServed:
      'The cluster serves no ProvisioningRequests, so the job cannot ask for nodes: pods behind a gate make no autoscaler add any.',
    TurnedOff: 'The administrator has told the operator to ask for none.',
  },
  Running: {
    GangRunning: 'Every rank of the epoch has started.',
    NodesInDoubt:
      'Every rank has started, and a node of the gang is not ready. The gang is left alone while its launchers report, for a grace, and as long as so many nodes are not ready together that the road to the API server is the likelier cause.',
    RestartingInPlace:
      'A rank failed. When the ranks of every pod have ended, all are started again in the same pods, from the newest checkpoint.',
    PodsCreating: 'The gang is being created behind its scheduling gate.',
    PodsStarting: 'The gates are lifted; containers are starting.',
    ImagePulling: 'Nodes of the gang are pulling the image of the trainer.',
    ImageUnavailable: 'A container waits for its image; the message names image and node.',
    SecretMissing:
      'A container waits for a Secret or its key; the message names both. It starts as soon as there is one, within the time of a start.',
    PodStuck: 'A container cannot be created; the message names the reason that the node gives.',
    Stopping: 'The gang was asked to save and stop.',
    NotStarted: 'No gang is up.',
    Finished: 'The job is finished.',
  },
  CheckpointsRecorded: {
    CheckpointRefused:
      'A checkpoint is saved, and the API server refuses its Checkpoint object (quota, policy, webhook); the message names it, in the cluster’s words. It is tried again. Nothing waits for it, and nothing is resumed from it before.',
  },
  FabricAsPlaced: {
    LabelsChanged:
      'A node of the gang that is up is said to be in another NVLink domain or island, or to have another class of NICs, than when the gang was placed. Its ranks stay where they are. Absent while nothing differs.',
  },
  TrainedAsAsked: {
    NothingDiffers:
      'In the newest attempt of which a hook told, nothing showed that differs from its layout. What does not show is not judged.',
    LayoutDiffers:
      'Ranks train otherwise than the layout asks for: another world, another mesh, whole copies where states are to be sharded. The message says which rank, what was seen and what was asked. The job is not ended for it.',
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
    NoProgress:
      'Restart after restart got no further: no new step, no new checkpoint. The message says what to look at.',
    SameTraceback:
      'The program failed twice in the same way before its first step, so it would a third time; the message holds the traceback.',
    FailurePolicy: 'A rule of the failure policy says Fail; the message names it.',
    DoNotRestart: 'The engine exited with 93: a restart would fail the same way.',
    Cancelled: 'spec.cancel was set.',
    NameConflict:
      'Written by earlier releases: a pod with the name that a pod of the gang needs existed, and the operator had not made it.',
  },
} as const satisfies Record<ConditionType, Record<string, string>>;

export type ReasonOf<T extends ConditionType> = Extract<keyof (typeof CONDITION_REASONS)[T], string>;

export const Condition = z
  .object({
    type: z.string().max(64),
    status: z.enum(['True', 'False', 'Unknown']),
    reason: z.string().min(1).max(128),
    message: z.string().max(32_768),
    observedGeneration: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
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
