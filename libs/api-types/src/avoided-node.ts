/** On which nodes is a job not placed again for a while, and why? */
import { z } from 'zod';
import { counter, timestamp } from './status-fields.ts';

/** Why a node is avoided. */
export const AVOIDED_NODE_REASONS = {
  NodeLost: 'It was gone or not ready while the gang ran.',
  NotScheduled: 'It did not take its pod in time.',
  NotStarted: 'It did not start its pod in time, while other nodes of the gang did.',
  NotStopped:
    'A pod on it did not end in time after it was deleted. The pod is fenced; its GPUs count as taken until it ends.',
  TurnedAway: 'It ended its pod before any container had run, while other nodes of the gang did not.',
  NotReaped: 'Ranks on it did not end in time after a rank of their gang had failed.',
  CheckpointIoError: 'Its mount failed when a checkpoint was read, while other nodes of the gang had no such trouble.',
  ContentDiffers:
    'It alone read other content in a checkpoint than was saved: its memory or its cache may be bad, so that another node is asked.',
  PreflightFailed: 'Something was found on it before the first rank that other nodes of its gang do not have.',
  Condemned: 'A detector named it as the cause of a gang’s trouble.',
  Leaving: 'It was announced to go away while the gang ran.',
  FailurePolicy: 'A rule of the failure policy asks for another node after what happened there.',
} as const satisfies Record<string, string>;
export type AvoidedNodeReason = keyof typeof AVOIDED_NODE_REASONS;

export const AvoidedNode = z
  .object({
    node: z.string().max(253),
    reason: z.enum(Object.keys(AVOIDED_NODE_REASONS) as [AvoidedNodeReason, ...AvoidedNodeReason[]]),
    epoch: counter.describe('Attempt that found it.'),
    since: timestamp,
    bootId: z
      .string()
      .max(128)
      .optional()
      .describe('Which boot of the node is meant, as its kubelet reported it; another one is not avoided.'),
  })
  .meta({ id: 'AvoidedNode' });
export type AvoidedNode = z.infer<typeof AvoidedNode>;

/** Avoided nodes kept in status, the newest ones; more than that is no fault of single nodes. */
export const MAX_AVOIDED_NODES = 64;
