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
    incarnation: counter.min(1).optional().describe('Which run of its ranks saved it. Absent: the first.'),
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
/** Looks that a Checkpoint keeps; two are enough to condemn it. */
const MAX_EVIDENCE = 8;

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
        evidence: z.array(CheckpointEvidence).min(1).max(MAX_EVIDENCE).describe('Who saw what, oldest first.'),
      })
      .optional()
      .describe('Why it is Damaged.'),
  })
  .meta({ id: 'CheckpointResourceStatus' });
export type CheckpointResourceStatus = z.infer<typeof CheckpointResourceStatus>;

/** A saved state whose Checkpoint object the API server does not take, as the status of its job keeps it until it does. */
export const UnrecordedCheckpoint = z
  .object({
    name: z.string().max(253).describe('Of the Checkpoint object that is to be made.'),
    // Without the rule that it never changes: entries of a list cannot be told apart by it.
    spec: z.object(CheckpointResourceSpec.shape),
    refusal: z.string().max(1024).describe('What the API server said.'),
  })
  .meta({ id: 'UnrecordedCheckpoint' });
export type UnrecordedCheckpoint = z.infer<typeof UnrecordedCheckpoint>;

/** Of these the newest are kept; a launcher that finds nobody to tell keeps fewer. */
export const MAX_UNRECORDED_CHECKPOINTS = 8;

export interface Checkpoint {
  readonly apiVersion: typeof API_GROUP_VERSION;
  readonly kind: 'Checkpoint';
  readonly metadata: ObjectMeta;
  readonly spec: CheckpointResourceSpec;
  readonly status?: CheckpointResourceStatus;
}
