/** What the bytes of a checkpoint say: whether they are sound, and what they hold. */
import { z } from 'zod';
import { counter, timestamp } from './status-fields.ts';

/** How closely a checkpoint is verified. */
export const VERIFICATION_LEVELS = ['V0', 'V1', 'V2', 'V3'] as const;
/** One of {@link VERIFICATION_LEVELS}. */
export type VerificationLevel = (typeof VERIFICATION_LEVELS)[number];

const FINDING_KINDS = ['damaged', 'incomplete', 'suspect', 'unverifiable'] as const;

/** Most findings that a verification keeps, the worst first. */
export const MAX_FINDINGS = 8;
/** Longest message of a finding, in characters. */
export const MAX_FINDING_CHARACTERS = 256;

const VerificationFinding = z
  .object({
    kind: z.enum(FINDING_KINDS).describe('What the finding means; the same words as verdict.'),
    message: z.string().max(MAX_FINDING_CHARACTERS).describe('What is wrong, and with which tensor or file.'),
  })
  .meta({ id: 'VerificationFinding' });

/** How closely the bytes of a checkpoint were verified, and what was found. */
export const CheckpointVerification = z
  .object({
    level: z
      .enum(VERIFICATION_LEVELS)
      .describe(
        'V0: the marker and the times of files. V1: the structure, without payload. V2: the envelope of each item. V3: all bytes, against their checksums.',
      ),
    verdict: z
      .enum(['sound', ...FINDING_KINDS])
      .describe(
        'damaged: the bytes are not what was saved. incomplete: a part is missing. suspect: signs of damage that have another explanation. unverifiable: nothing shows whether the content is right.',
      ),
    at: timestamp.describe('When the verification ended.'),
    by: z.enum(['Launcher', 'Worker']).describe('Launcher: before the save was reported. Worker: a pod, later.'),
    node: z.string().max(253).optional().describe('Node that read the bytes.'),
    readBytes: counter.describe('Bytes that the verification read.'),
    findings: z.array(VerificationFinding).max(MAX_FINDINGS).describe('The worst first; further ones are left out.'),
  })
  .meta({ id: 'CheckpointVerification' });
export type CheckpointVerification = z.infer<typeof CheckpointVerification>;

const KindTotals = z
  .object({ tensors: counter.describe('Number of tensors.'), bytes: counter.describe('Of the elements.') })
  .meta({ id: 'KindTotals' });

const holds = (what: string) => z.boolean().optional().describe(`Whether it holds ${what}. Absent: unknown.`);

/** Most dtypes that are counted by name; others count as `other`. */
export const MAX_DTYPES = 16;
/** Most degrees of a layout that are recorded. */
export const MAX_DEGREES = 16;
/** Longest name of a dtype or a degree. */
export const MAX_CONTENT_NAME_CHARACTERS = 64;

/** Numbers by name, few of them. */
function numbersByName(most: number) {
  return z
    .record(z.string().max(MAX_CONTENT_NAME_CHARACTERS), counter)
    .refine((numbers) => Object.keys(numbers).length <= most, `at most ${most} names`)
    .meta({ maxProperties: most });
}

/** Most groups of tensors that are recorded. */
export const MAX_TENSOR_GROUPS = 48;
/** Most bytes of all groups together, as JSON. */
export const MAX_TENSOR_GROUPS_BYTES = 8_192;
/** Longest name of a group. */
export const MAX_GROUP_NAME_CHARACTERS = 256;
/** Most dims of a group; further ones are left out. */
export const MAX_GROUP_DIMS = 16;
/** Name of the group of all further tensors. */
export const OTHER_TENSORS = '*';

/** Tensors whose names differ only in numbers, and that are alike in all else. */
export const TensorGroup = z
  .object({
    name: z
      .string()
      .max(MAX_GROUP_NAME_CHARACTERS)
      .describe(
        'Their name with its numbers, such as layers.{0..79}.attention.wq.weight. Not every combination need be there. *: all further tensors, of any dtype and shape.',
      ),
    tensors: counter.describe('Number of tensors in the group.'),
    dtype: z.string().max(MAX_CONTENT_NAME_CHARACTERS).describe('Their element type, as PyTorch calls it.'),
    shape: z.array(counter).max(MAX_GROUP_DIMS).describe('Elements along each dim of one tensor.'),
    grid: z.array(counter).max(MAX_GROUP_DIMS).describe('Chunks along each dim of one tensor.'),
    kind: z.enum(['parameter', 'master', 'moment', 'other']).describe('What they are for; the same words as kinds.'),
  })
  .meta({ id: 'TensorGroup' });
export type TensorGroup = z.infer<typeof TensorGroup>;

/** What a checkpoint holds, as its files say. */
export const CheckpointContents = z
  .object({
    tensors: counter.describe('Number of tensors.'),
    chunks: counter.describe('Boxes of tensors, each stored as one item.'),
    objects: counter.describe('Anything but tensors, such as the state of a data loader.'),
    bytes: counter.describe('Of the elements of all tensors, and of stored objects.'),
    dtypes: numbersByName(MAX_DTYPES).describe('Number of tensors by dtype, as PyTorch calls it.'),
    kinds: z
      .object({
        parameter: KindTotals.optional().describe('Weights of the model.'),
        master: KindTotals.optional().describe('Copies in float32 of parameters that train in fewer bits.'),
        moment: KindTotals.optional().describe('Running means of the optimizer.'),
        other: KindTotals.optional().describe('Tensors of none of these kinds.'),
      })
      .describe('Tensors by what they are for; kinds without tensors are absent.')
      .meta({ id: 'ContentsByKind' }),
    holds: z
      .object({
        optimizer: holds('the state of the optimizer'),
        randomStates: holds('the states of random number generators'),
        dataLoader: holds('the position of the data loader'),
        scheduler: holds('the state of the learning-rate scheduler'),
      })
      .meta({ id: 'CheckpointHolds' })
      .describe('Which states of the training it holds.'),
    isResumable: z
      .boolean()
      .describe(
        'Whether training resumes from it with its optimizer. false: it holds weights alone, or nothing says what it holds.',
      ),
    geometry: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .describe('SHA-256 of names, dtypes, shapes and boxes: checkpoints with the same one are divided alike.'),
    format: z.string().max(64).optional().describe('On-disk format. Absent: recorded by an earlier release.'),
    step: counter.optional().describe('Step that the files name.'),
    engineRelease: z.string().max(64).optional().describe('Release of the engine that saved it, as the files name it.'),
    optimizerSharding: z
      .string()
      .max(64)
      .optional()
      .describe('How the state of the optimizer is divided, as its engine calls it, such as fully_reshardable.'),
    worldSize: counter.optional().describe('Ranks that saved it.'),
    degrees: numbersByName(MAX_DEGREES)
      .optional()
      .describe('Degrees of the layout that saved it, such as tensorParallelDegree.'),
    hasUniversal: z
      .boolean()
      .optional()
      .describe(
        'Whether a universal checkpoint that was made from it lies beside it. Absent: none was found. Only for format deepspeed.',
      ),
    tensorGroups: z
      .array(TensorGroup)
      .max(MAX_TENSOR_GROUPS)
      .optional()
      .describe('All of its tensors in groups, by name. Absent: an earlier release recorded it, or they did not fit.'),
  })
  .meta({ id: 'CheckpointContents' });
export type CheckpointContents = z.infer<typeof CheckpointContents>;

/** The files of a checkpoint that no job saved. */
export const CheckpointFileList = z
  .object({
    count: counter.describe('Number of files.'),
    bytes: counter.describe('Their bytes.'),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .describe('SHA-256 of the list of their paths and sizes. Launchers compare it before ranks resume.'),
    manifestSha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional()
      .describe('SHA-256 of the manifest of Coxswain among them. Absent: there is none.'),
  })
  .meta({ id: 'CheckpointFileList' });
export type CheckpointFileList = z.infer<typeof CheckpointFileList>;
