/** Marks of a Node that announce that it goes away. */
import { z } from 'zod';

/** Rules beside the built-in ones. */
export const MAX_NOTICE_RULES = 64;

/** How the mark gives the time at which the disruption begins. */
export const NOTICE_TIMES = {
  Now: 'At once, whatever its value.',
  AtUnixSeconds: 'Its value is the time, in seconds since 1970.',
  AtTimestamp: 'Its value is the time, as RFC 3339; without one it is at once.',
} as const satisfies Record<string, string>;

const keyOf = (what: string): z.ZodOptional<z.ZodString> => z.string().min(1).max(316).optional().describe(what);

/** One mark: exactly one of taint, label, annotation and condition. */
export const DisruptionNoticeRule = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be 1 to 63 lower-case letters, digits and "-"')
      .describe('Name in messages, such as `aws-spot`.'),
    taint: keyOf('Key of a taint.'),
    label: keyOf('Key of a label.'),
    annotation: keyOf('Key of an annotation.'),
    condition: keyOf('Type of a condition that is True.'),
    values: z
      .array(z.string().max(253))
      .min(1)
      .max(16)
      .optional()
      .describe('Values of the mark that count, of a condition its reasons. Absent: any.'),
    begins: z.enum(Object.keys(NOTICE_TIMES) as [keyof typeof NOTICE_TIMES]).default('Now'),
  })
  .refine(
    ({ taint, label, annotation, condition }) =>
      [taint, label, annotation, condition].filter((key) => key !== undefined).length === 1,
    { error: 'a rule names exactly one of taint, label, annotation and condition' },
  )
  .meta({ id: 'DisruptionNoticeRule' });
export type DisruptionNoticeRule = z.infer<typeof DisruptionNoticeRule>;
