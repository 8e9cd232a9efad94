/** Why does an attempt end, and does the restart budget pay for it? */

/** Reasons of a failed attempt; `charged` ones count against `restartPolicy.maxRestarts`. */
export const ATTEMPT_REASONS = {
  EngineFailed: { charged: true, meaning: 'A rank exited with an error or was killed.' },
  DoNotRestart: { charged: true, meaning: 'A rank exited with 93.' },
  NothingTrained: {
    charged: true,
    meaning: 'Every rank exited with 0, and the job made no step and no checkpoint although it was asked for them.',
  },
  LauncherFailed: { charged: true, meaning: 'A launcher ended without reporting a reason.' },
  PodLost: { charged: true, meaning: 'A pod was deleted, not by Coxswain, after the gang had started.' },
  PodNeverRan: {
    charged: false,
    meaning: 'A pod was deleted, not by Coxswain, after its gang was released and before it had a node; it never ran.',
  },
  NodeLost: {
    charged: false,
    meaning:
      'A node of the gang is gone. Or its launcher fell silent, and it is not ready or its peers lost their connection to it. Or it was not ready for the grace, and no launcher on it was heard. Nodes that fail together are one failure.',
  },
  Evicted: { charged: false, meaning: 'A pod was evicted, preempted or drained.' },
  LimitExceeded: {
    charged: true,
    meaning:
      'A pod wrote more than its own limit of scratch space allows, and the kubelet evicted it; the message holds its sentence.',
  },
  TurnedAway: {
    charged: false,
    meaning:
      'A node took a pod and ended it before any container had run, for example because its device plugin gave it no GPU or its disk was full.',
  },
  NotCreated: { charged: false, meaning: 'The cluster did not accept every pod of the gang in time.' },
  NotScheduled: { charged: false, meaning: 'The nodes of the placement did not take every pod in time.' },
  NotStarted: {
    charged: false,
    meaning: 'A pod did not start on its node in time, for example because its image could not be pulled there.',
  },
  SecretMissing: {
    charged: true,
    meaning: 'A pod did not start in time because a Secret that the job names, or its key, is missing.',
  },
  Condemned: {
    charged: false,
    meaning:
      'A detector blamed a node or a rank of the gang, or the gang stood still for a cause that it shares with others.',
  },
  Hung: {
    charged: true,
    meaning: 'Its ranks hung and no node was to blame; the cause is the network between them or the program.',
  },
  PreflightFailed: {
    charged: false,
    meaning: 'Before the first rank started, the preflight found a node that differs from its peers.',
  },
  RendezvousPortLost: { charged: false, meaning: 'Another process took the rendezvous port first.' },
  CheckpointUnreadable: {
    charged: false,
    meaning:
      'The checkpoint to resume from is not what was saved, or the engine refused it. It is not used where two nodes find a size or a SHA-256 that differs, until it verifies.',
  },
  CheckpointIoError: {
    charged: false,
    meaning:
      'A node could not read the checkpoint to resume from; the checkpoint is tried again from other nodes. Or a newer one that was suspect verified; the next attempt resumes from it.',
  },
  PodsRefused: {
    charged: false,
    meaning:
      'The cluster refused a pod of the gang (quota, limits, policy); pods that were created are removed, and Coxswain tries again later.',
  },
  PlacementLost: {
    charged: false,
    meaning:
      'Its Placement was not written, or another job got its GPUs before its pods were released; the next attempt is placed anew.',
  },
  NameConflict: {
    charged: false,
    meaning:
      'A pod with a name of the gang exists that Coxswain did not create; it is not changed, and the next attempt uses other names.',
  },
  NotReaped: {
    charged: false,
    meaning:
      'A rank failed, and the ranks could not restart in their pods: they did not all end in time, or a pod ended meanwhile. The failure itself was counted before.',
  },
  GpusFree: {
    charged: false,
    meaning:
      'It ran on fewer GPUs than spec.gpus, and all of those have been free for a while; the next attempt uses them.',
  },
  NodeLeaving: {
    charged: false,
    meaning:
      'One of its nodes is about to go away (maintenance, a spot or capacity notice, a drain); it saved a checkpoint, and the next attempt is placed on other nodes.',
  },
  MadeRoom: {
    charged: false,
    meaning:
      'It made room for a job of higher priority, which forClaim names: it saved and stopped. The job goes on by itself on other nodes, on fewer GPUs, or when GPUs are free.',
  },
  QuotaEvicted: {
    charged: false,
    meaning:
      'Kueue evicted the Workload of the job, for example for a job of higher priority; the gang saved and stopped. The job goes on by itself when Kueue admits it again.',
  },
  MaxRuntimeReached: {
    charged: false,
    meaning: 'The run has held GPUs for spec.maxRuntimeSeconds; it saved and stopped, and the job ends.',
  },
  SuspendRequested: { charged: false, meaning: 'spec.suspend was set.' },
  CancelRequested: { charged: false, meaning: 'spec.cancel was set.' },
} as const satisfies Record<string, { charged: boolean; meaning: string }>;
/** Reason for the end of an attempt. */
export type AttemptReason = keyof typeof ATTEMPT_REASONS;
