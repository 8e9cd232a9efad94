/** Nodes that placement of a job avoids for a while. */
import { z } from 'zod';
import { counter, timestamp } from './status-fields.ts';

/** Reasons to avoid a node, each with its meaning. */
export const AVOIDED_NODE_REASONS = {
  NodeLost: 'The node was gone, not ready, or silent to its peers and to the operator while the gang ran.',
  NotScheduled: 'The node did not accept its pod in time.',
  NotStarted: 'The node did not start its pod in time, while other nodes of the gang did.',
  NotStopped:
    'A pod on it did not end in time after it was deleted. The pod is fenced; its GPUs count as taken until it ends.',
  TurnedAway: 'The node ended its pod before any container had run, while other nodes of the gang did not.',
  NotReaped: 'Ranks on it did not end in time after a rank of their gang had failed.',
  CheckpointIoError: 'Its mount failed when a checkpoint was read, while other nodes of the gang could read it.',
  ContentDiffers:
    'Only this node read different content from a checkpoint than was saved: its memory or cache may be faulty, so another node verifies.',
  PreflightFailed: 'The preflight found that the node differs from its peers in the gang.',
  Condemned: 'A detector blamed the node.',
  Leaving: 'The node is about to go away.',
  FailurePolicy: 'A rule of the failure policy requires another node after a failure.',
} as const satisfies Record<string, string>;
/** Reason to avoid a node. */
export type AvoidedNodeReason = keyof typeof AVOIDED_NODE_REASONS;

/** A node that placement of a job avoids, with the reason. */
export const AvoidedNode = z
  .object({
    node: z.string().max(253).describe('Name of the node.'),
    reason: z
      .enum(Object.keys(AVOIDED_NODE_REASONS) as [AvoidedNodeReason, ...AvoidedNodeReason[]])
      .describe('Why it is avoided.'),
    epoch: counter.describe('Attempt that found it.'),
    since: timestamp.describe('Since when.'),
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
