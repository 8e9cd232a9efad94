/** When did the ranks of one incarnation get how far? Launchers report ages; the operator records times. */
import { z } from 'zod';
import { counter, timestamp } from './status-fields.ts';

/** Marks of a run, in the order of its life. Each is passed when the last rank of the gang has passed it; `failed` with the first rank. */
const MARKS = {
  reaped:
    'When every process of the incarnation before was gone. Absent: the first incarnation of its pods, or not reported.',
  started: 'When the process of every rank had been started.',
  imported: 'When every rank had imported PyTorch. Absent: no hook reported it for all ranks.',
  met: 'When every rank had initialised its process group (rendezvous). Absent: no hook reported it for all ranks.',
  loaded:
    'When every rank had loaded the checkpoint. Absent: none was loaded, or neither the engine nor the hook reported it for all ranks.',
  failed: 'When a launcher first saw that a rank had failed. Absent: no launcher did, as after the loss of a node.',
} as const;
/** Name of a mark. */
export type RunMark = keyof typeof MARKS;
/** Every mark, in the order of a run's life. */
export const RUN_MARKS = Object.keys(MARKS) as readonly RunMark[];

/** Newest saves of an incarnation whose cost is kept. */
export const MAX_SAVE_STOPS = 8;

/** How long ranks stood still for one save. */
export const SaveStop = z
  .object({
    step: counter.describe('Step of the save.'),
    ms: counter.describe(
      'How much longer the step after the save took than steps without a save, in milliseconds. 0: no longer.',
    ),
  })
  .meta({ id: 'SaveStop' });
export type SaveStop = z.infer<typeof SaveStop>;

/** The marks that the ranks of one pod have passed, as ages in milliseconds when the message was sent: clocks of two machines are never compared. */
export const PodMarks = z.strictObject({
  reaped: counter.optional(),
  started: counter.optional(),
  imported: counter.optional(),
  met: counter.optional(),
  loaded: counter.optional(),
  failed: counter.optional(),
  /** From the pod of rank 0, oldest first. */
  saves: z
    .array(z.strictObject({ step: counter, ms: counter }))
    .max(MAX_SAVE_STOPS)
    .optional(),
});
export type PodMarks = z.infer<typeof PodMarks>;

/** The phase clock of an incarnation: its marks, by the clock of the operator. */
export const RunClock = z
  .object({
    reapedAt: timestamp.optional().describe(MARKS.reaped),
    startedAt: timestamp.optional().describe(MARKS.started),
    importedAt: timestamp.optional().describe(MARKS.imported),
    metAt: timestamp.optional().describe(MARKS.met),
    loadedAt: timestamp.optional().describe(MARKS.loaded),
    failedAt: timestamp.optional().describe(MARKS.failed),
    saves: z
      .array(SaveStop)
      .max(MAX_SAVE_STOPS)
      .optional()
      .describe('How long ranks stood still for each of the newest saves, oldest first. Absent: none was measured.'),
  })
  .meta({ id: 'RunClock' });
export type RunClock = z.infer<typeof RunClock>;
