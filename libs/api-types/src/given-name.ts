import { z } from 'zod';

/** Controls, ends of lines, halves of surrogate pairs, noncharacters, and what turns the direction of writing. */
const NOT_PLAIN = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Noncharacter_Code_Point}\p{Bidi_Control}]/u;

/** A name that somebody gives to what he makes. Others read it in lists and in the audit, where one must not look like another. */
export const GivenName = z
  .string()
  .min(1)
  .max(100)
  .refine(
    (name) => !NOT_PLAIN.test(name),
    'holds a control, an end of a line, or a sign that turns the direction of writing; leave it out',
  );
