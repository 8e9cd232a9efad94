/** Lists the fields of a layout, the adapters and the packing, that a script of the user reads from the job file only. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { Json } from './check.ts';
import { JOB_FILE } from './job-file.ts';

/** Degrees at 1 and switches that are off ask for nothing. */
const ASKS_FOR_NOTHING: readonly Json[] = [1, false];

/**
 * A note that names the fields; empty if everything was rendered elsewhere. `rendered` has dotted names; a name stands for all
 * fields below it.
 */
export function jobFileFields({ layout, training }: EffectiveSpec, rendered: readonly string[]): readonly string[] {
  const lora = training?.lora === undefined ? [] : ['training.lora'];
  const packing = training?.packing === undefined ? [] : ['training.packing'];
  const given = [...leaves(layout as unknown as Json, 'layout'), ...lora, ...packing];
  const isRendered = (name: string): boolean => rendered.some((one) => name === one || name.startsWith(`${one}.`));
  const alone = given.filter((name) => !isRendered(name));
  if (alone.length === 0) return [];
  return [`The script reads ${alone.join(', ')} from ${JOB_FILE}, or does not do it.`];
}

function leaves(value: Json, name: string): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return value === null || ASKS_FOR_NOTHING.includes(value) ? [] : [name];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner as Json, `${name}.${key}`));
}
