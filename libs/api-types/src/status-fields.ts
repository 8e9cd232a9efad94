/** Numbers and times as status and messages carry them. */
import { z } from 'zod';

/** An instant, RFC 3339. */
export const timestamp = z.string().meta({ format: 'date-time' });
/** A whole number from 0 to the largest that JavaScript represents exactly. */
export const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
/** A duration of any length. */
export const milliseconds = z.number().min(0);
