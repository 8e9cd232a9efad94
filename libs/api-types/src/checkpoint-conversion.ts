/** What resources record about saves that Coxswain converted, because no layout with the free GPUs loads them as they are. */
import { z } from 'zod';
import { counter, timestamp } from './status-fields.ts';

// A string, because the release before could not read a job whose status has a kind that it does not know.
const kind = z
  .string()
  .max(64)
  .describe(
    'How it is converted. DeepSpeedUniversal: the converter of DeepSpeed writes the universal format, which every layout loads.',
  );

/** The save that a converted one was made from. */
export const ConvertedFrom = z
  .object({
    checkpoint: z.string().max(253).describe('Its Checkpoint.'),
    uid: z.string().max(64).describe('UID of that Checkpoint.'),
    jobName: z.string().max(63).describe('Job that saved it.'),
    jobUid: z.string().max(64).describe('UID of that job.'),
    step: counter.describe('Step of that save.'),
    kind,
  })
  .meta({ id: 'ConvertedFrom' });
export type ConvertedFrom = z.infer<typeof ConvertedFrom>;

/** How far the conversion is that makes a Checkpoint. */
export const CheckpointConversion = z
  .object({
    orderedAt: timestamp.describe('When the operator ordered it first.'),
    tries: counter.optional().describe('Pods that ended without an answer since. Absent: none.'),
    convertedAt: timestamp.optional().describe('When the converter was done. Absent: it is not.'),
    failedAt: timestamp
      .optional()
      .describe('When it failed. The job goes on without it, and tries it again an hour later if it still needs it.'),
    droppedAt: timestamp
      .optional()
      .describe('When no job needed the converted save any more. Its files are deleted, and then the Checkpoint.'),
    problem: z
      .string()
      .max(512)
      .optional()
      .describe('Why it failed, or why it cannot go on now, as a clause without a full stop.'),
    readBytes: counter.optional().describe('Bytes that the conversion read.'),
    writtenBytes: counter.optional().describe('Bytes that it wrote.'),
    seconds: z.number().min(0).optional().describe('Time that the converter took.'),
  })
  .meta({ id: 'CheckpointConversion' });
export type CheckpointConversion = z.infer<typeof CheckpointConversion>;

/** The newest conversion that a job needed. */
export const JobConversion = z
  .object({
    checkpoint: z.string().max(253).describe('Checkpoint that is converted.'),
    converted: z.string().max(253).describe('Checkpoint of the converted save.'),
    kind,
    wantedSince: timestamp
      .optional()
      .describe(
        'Since when the job waits for it. Absent: it does not wait, and the converted save stays for restarts.',
      ),
    because: z.string().max(1024).describe('What it costs, and what the other ways cost, in sentences.'),
  })
  .meta({ id: 'JobConversion' });
export type JobConversion = z.infer<typeof JobConversion>;
