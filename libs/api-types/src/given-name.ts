import { z } from 'zod';

/** Controls, ends of lines, halves of surrogate pairs, noncharacters, and what turns the direction of writing. */
const NOT_PLAIN = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Noncharacter_Code_Point}\p{Bidi_Control}]/u;

/** A name that a user gives to an object. It appears in lists and in the audit log, where names must not be confusable. */
export const GivenName = z
  .string()
  .min(1)
  .max(100)
  .refine(
    (name) => !NOT_PLAIN.test(name),
    'holds a control, an end of a line, or a sign that turns the direction of writing; leave it out',
  );
