import { ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';
import { CheckpointEvidence } from './checkpoint-fault.ts';
import type { ObjectMeta } from './metadata.ts';
import type { API_GROUP_VERSION } from './names.ts';

const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/** A saved state that may be restored. Written once by the operator after the launcher of rank 0 verified the manifest; never edited. */
export const CheckpointResourceSpec = z
  .strictObject({
    jobName: z.string().max(63),
    jobUid: z.string().max(64),
    epoch: counter.describe('Attempt that saved it.'),
    incarnation: counter.min(1).optional().describe('Incarnation that saved it. Absent: the first.'),
    step: counter,
    claimName: z.string().max(63),
    path: z.string().max(1024).describe('Directory inside the claim.'),
    layout: ParallelLayout.describe('Layout it was saved at; the reference engine loads it at any other.'),
    format: z.string().max(64).describe('On-disk format, e.g. torch_dcp.'),
    bytes: counter,
    files: counter,
    manifestSha256: z.string().regex(/^[0-9a-f]{64}$/),
  })
  .meta({
    id: 'CheckpointResourceSpec',
    'x-kubernetes-validations': [
      { rule: 'self == oldSelf', message: 'a checkpoint describes what is on disk and cannot change' },
    ],
  });
export type CheckpointResourceSpec = z.infer<typeof CheckpointResourceSpec>;

/** What condemns a checkpoint. */
const CONDEMNATIONS = ['Content', 'TwoNodes'] as const;
/** Most findings that a Checkpoint keeps; two are enough to condemn it. */
const MAX_EVIDENCE = 8;

/** Status of a Checkpoint resource. */
export const CheckpointResourceStatus = z
  .object({
    state: z
      .enum(['Complete', 'Damaged'])
      .describe(
        'Complete: the manifest verified when it was saved. Damaged: two nodes found other content, or could not read it; never used again.',
      ),
    message: z.string().max(4096).optional(),
    condemnation: z
      .object({
        by: z
          .enum(CONDEMNATIONS)
          .describe(
            'Content: two nodes found a size or a SHA-256 that differs. TwoNodes: two nodes could not read it, in two attempts.',
          ),
        evidence: z.array(CheckpointEvidence).min(1).max(MAX_EVIDENCE).describe('Findings of nodes, oldest first.'),
      })
      .optional()
      .describe('Why it is Damaged.'),
  })
  .meta({ id: 'CheckpointResourceStatus' });
export type CheckpointResourceStatus = z.infer<typeof CheckpointResourceStatus>;

/** A saved checkpoint whose object the API server rejects. The status of the job keeps it until the server accepts it. */
export const UnrecordedCheckpoint = z
  .object({
    name: z.string().max(253).describe('Of the Checkpoint object that is to be made.'),
    // Without the rule that it never changes: CEL cannot match the entries of this list.
    spec: z.object(CheckpointResourceSpec.shape),
    refusal: z.string().max(1024).describe('Answer of the API server.'),
  })
  .meta({ id: 'UnrecordedCheckpoint' });
export type UnrecordedCheckpoint = z.infer<typeof UnrecordedCheckpoint>;

/** Most of these in the status; the newest are kept. A launcher without an operator keeps fewer. */
export const MAX_UNRECORDED_CHECKPOINTS = 8;

/** The Checkpoint resource. */
export interface Checkpoint {
  readonly apiVersion: typeof API_GROUP_VERSION;
  readonly kind: 'Checkpoint';
  readonly metadata: ObjectMeta;
  readonly spec: CheckpointResourceSpec;
  readonly status?: CheckpointResourceStatus;
}
