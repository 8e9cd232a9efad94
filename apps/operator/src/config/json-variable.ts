import { z } from 'zod';

/** A variable that has JSON. `absent`: its text if it is not set; `such`: what it has to be. */
export const json = (absent: string, such: string) =>
  z
    .string()
    .default(absent)
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue({ code: 'custom', message: `must be a JSON ${such}` });
        return z.NEVER;
      }
    });
