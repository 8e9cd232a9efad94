import { ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';
import { CheckpointContents, CheckpointFileList, CheckpointVerification } from './checkpoint-contents.ts';
import { CheckpointConversion, ConvertedFrom } from './checkpoint-conversion.ts';
import { CheckpointEvidence } from './checkpoint-fault.ts';
import { CheckpointProgress } from './checkpoint-progress.ts';
import { CheckpointBucket, isOneLocation, ONE_LOCATION } from './checkpoint-location.ts';
import type { ObjectMeta } from './metadata.ts';
import type { API_GROUP_VERSION } from './names.ts';
import { timestamp } from './status-fields.ts';

const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/** SHA-256 in the spec of a checkpoint that has no manifest. */
export const NO_MANIFEST = '0'.repeat(64);

/**
 * A saved state that may be restored. Written once by the operator after the launcher of rank 0 verified the manifest; never edited. An adopted one is written by
 * a user, and names a directory that no job saved: its other fields have their defaults, and its status says what the files hold.
 */
export const CheckpointResourceSpec = z
  .strictObject({
    jobName: z.string().max(63).default('').describe('Job that saved it. Empty: an adopted checkpoint.'),
    jobUid: z.string().max(64).default('').describe('UID of that job. Empty: an adopted checkpoint.'),
    epoch: counter.default(0).describe('Attempt that saved it. 0: an adopted checkpoint.'),
    incarnation: counter.min(1).optional().describe('Incarnation that saved it. Absent: the first.'),
    step: counter.default(0).describe('Of an adopted checkpoint 0: status.contents has the step that the files name.'),
    claimName: z
      .string()
      .max(63)
      .describe('Empty if it is in a bucket: the release before requires the field and then finds no claim.'),
    bucket: CheckpointBucket.optional().describe('Absent: it is in the claim.'),
    path: z.string().max(1024).describe('Directory inside the claim, or below the prefix of the bucket.'),
    layout: ParallelLayout.default({
      tensorParallelDegree: 1,
      pipelineParallelDegree: 1,
      dataParallelDegree: 1,
    }).describe('Layout it was saved at. Of an adopted checkpoint, one rank means that it is not known.'),
    format: z.string().max(64).default('').describe('On-disk format, e.g. torch_dcp. Empty: an adopted checkpoint.'),
    bytes: counter.default(0).describe('Bytes of its files. 0: an adopted checkpoint.'),
    files: counter.default(0).describe('Number of its files. 0: an adopted checkpoint.'),
    manifestSha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .default(NO_MANIFEST)
      .describe('SHA-256 of its manifest. Only zeros: it has none.'),
    convertedFrom: ConvertedFrom.optional().describe(
      'The save that Coxswain converted to make this one. Its other fields are those of an adopted checkpoint, so that the release before resumes from it only if a user names it. Absent: it was not converted.',
    ),
  })
  // Before its name: the definition of a root that is a reference is no structural schema.
  .refine(isOneLocation, { path: ['claimName'], message: ONE_LOCATION })
  .meta({
    id: 'CheckpointResourceSpec',
    'x-kubernetes-validations': [
      { rule: 'self == oldSelf', message: 'a checkpoint describes what is on disk and cannot change' },
      { rule: "(self.claimName == '') == has(self.bucket)", message: ONE_LOCATION, fieldPath: '.claimName' },
      {
        rule: "self.jobUid != '' || (self.jobName == '' && self.epoch == 0 && self.step == 0 && self.bytes == 0 && self.files == 0)",
        message:
          'an adopted checkpoint names a claim or a bucket, and a path; what its files hold is found by a verification, so leave out jobName, epoch, step, bytes and files',
      },
      {
        rule: "self.jobUid != '' || ((self.claimName != '' || has(self.bucket)) && self.path != '' && !self.path.startsWith('/') && !self.path.matches('(^|/)\\\\.\\\\.(/|$)'))",
        message:
          'an adopted checkpoint needs claimName or bucket, and a path inside it that is relative and without ".."',
      },
    ],
  });
export type CheckpointResourceSpec = z.infer<typeof CheckpointResourceSpec>;

/**
 * Whether no job saved it: a user named its directory, and Coxswain never deletes its files; or Coxswain converted it, which `spec.convertedFrom` says. Jobs do
 * not resume from it as their newest save.
 */
export function isAdopted({ spec }: { readonly spec: Pick<CheckpointResourceSpec, 'jobName'> }): boolean {
  return spec.jobName === '';
}

/** What condemns a checkpoint. No release condemns by TwoNodes any more. */
const CONDEMNATIONS = ['Content', 'TwoNodes'] as const;
/** Most findings that a Checkpoint keeps; two are enough to condemn it. */
export const MAX_EVIDENCE = 8;
/** Most suspect checkpoints that an attempt verifies again before it begins from an older one. */
export const MAX_PASSED_OVER = 4;
/** Files of such a checkpoint that are read whole. */
export const MAX_REREAD_FILES = 4;

/** Why a checkpoint is suspect, the strongest reason first. */
const SUSPICIONS = ['ContentDiffers', 'Unreadable', 'EngineRefused', 'StorageUnavailable'] as const;

/** What is held against a checkpoint that is not condemned. */
export const CheckpointSuspicion = z
  .object({
    reason: z
      .enum(SUSPICIONS)
      .describe(
        'ContentDiffers: one node found other content. Unreadable: a file of it could not be read, though its mount works. EngineRefused: the engine could not load it and does not say what differs. StorageUnavailable: nothing around it could be read either.',
      ),
    evidence: z
      .array(CheckpointEvidence)
      .max(MAX_EVIDENCE)
      .describe('Findings of nodes since it was last loaded. Empty: only an engine refused it.'),
  })
  .meta({ id: 'CheckpointSuspicion' });
export type CheckpointSuspicion = z.infer<typeof CheckpointSuspicion>;

/** What retention decided about a checkpoint. */
const RetentionDecision = z
  .object({
    action: z.enum(['Keep', 'Delete']).describe('Whether the save stays.'),
    because: z.string().max(512).describe('Why, in a sentence.'),
    whenJobIsDeleted: z
      .enum(['Delete'])
      .optional()
      .describe('What the policy says of it once its job is deleted. Absent: it stays.'),
  })
  .meta({ id: 'RetentionDecision' });

/** A deletion that retention ordered. */
export const CheckpointDeletion = z
  .object({
    orderedAt: timestamp.describe('When retention ordered it.'),
    startedAt: timestamp
      .optional()
      .describe(
        'When its worker was first created. From then on files can be missing. Absent: it can still be taken back.',
      ),
    stateBefore: z
      .enum(['Complete', 'Damaged', 'Unverified'])
      .describe('State to go back to if the deletion is taken back.'),
    because: z.string().max(512).describe('Why it goes, in a sentence.'),
    problem: z.string().max(512).optional().describe('Why the last worker did not delete it.'),
  })
  .meta({ id: 'CheckpointDeletion' });
export type CheckpointDeletion = z.infer<typeof CheckpointDeletion>;

/** Status of a Checkpoint resource. */
export const CheckpointResourceStatus = z
  .object({
    state: z
      .enum(['Complete', 'Damaged', 'Unverified'])
      .describe(
        'Complete: the manifest verified when it was saved, or a verification read an adopted checkpoint. Unverified: no verification could read an adopted checkpoint yet, and no job resumes from it. Damaged: two nodes found other content; used again only if a user names it in spec.resumeFrom, and Complete again once ranks have trained from it.',
      ),
    message: z.string().max(4096).optional().describe('Details of the state, in sentences.'),
    condemnation: z
      .object({
        by: z
          .enum(CONDEMNATIONS)
          .describe(
            'Content: two nodes found a size or a SHA-256 that differs. TwoNodes: two nodes could not read it, in two attempts; only earlier releases condemned for that.',
          ),
        evidence: z.array(CheckpointEvidence).min(1).max(MAX_EVIDENCE).describe('Findings of nodes, oldest first.'),
      })
      .optional()
      .describe('Why it is Damaged.'),
    suspect: CheckpointSuspicion.optional().describe(
      'It could not be loaded, and nothing proves that its content differs. Launchers verify it again, and the field goes when it verifies. It stands beside state Complete, so that an earlier release resumes from it.',
    ),
    verification: CheckpointVerification.optional().describe(
      'The closest verification of its bytes. Absent: an earlier release recorded it, whose launcher verified the manifest, or no reader knows its format.',
    ),
    contents: CheckpointContents.optional().describe('What its files hold. Absent: no reader knows its format.'),
    retention: RetentionDecision.optional().describe('What retention decided last. Absent: no policy applies.'),
    deletion: CheckpointDeletion.optional().describe(
      'It is being deleted, files first. It stands beside state Damaged, so that no release resumes from it.',
    ),
    absent: z
      .object({ since: timestamp.describe('When a worker first did not find its files.') })
      .optional()
      .describe(
        'A worker did not find its files, although storage could be read: an engine or a user deleted them. That is no damage.',
      ),
    progress: CheckpointProgress.optional().describe(
      'Loss and tokens at its step. Absent: an earlier release recorded it, or nothing reported steps.',
    ),
    conversion: CheckpointConversion.optional().describe(
      'How far its conversion is. Absent: a job saved it, or a user adopted it.',
    ),
    files: CheckpointFileList.optional().describe(
      'Files of an adopted checkpoint. Absent: a job saved it, and its manifest lists them.',
    ),
  })
  .meta({ id: 'CheckpointResourceStatus' });
export type CheckpointResourceStatus = z.infer<typeof CheckpointResourceStatus>;

/** A saved checkpoint whose object the API server rejects. The status of the job keeps it until the server accepts it. */
export const UnrecordedCheckpoint = z
  .object({
    name: z.string().max(253).describe('Of the Checkpoint object that is to be made.'),
    // Without the rule that it never changes: CEL cannot match the entries of this list.
    spec: z.object(CheckpointResourceSpec.shape).describe('Spec of that object.'),
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
