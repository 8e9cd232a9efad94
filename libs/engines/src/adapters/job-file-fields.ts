/** Which words of a layout reach a script of the user's by the job file alone? */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { Json } from './check.ts';
import { JOB_FILE } from './job-file.ts';

/** Degrees at 1 and switches that are off ask for nothing. */
const ASKS_FOR_NOTHING: readonly Json[] = [1, false];

/** A sentence that names them; none where the engine's own file or arguments say all. `told` are those, with dots; a beginning stands for what is below. */
export function onlyInJobFile({ layout }: EffectiveSpec, told: readonly string[]): readonly string[] {
  const said = leaves(layout as unknown as Json, 'layout');
  const isTold = (name: string): boolean => told.some((one) => name === one || name.startsWith(`${one}.`));
  const alone = said.filter((name) => !isTold(name));
  if (alone.length === 0) return [];
  return [`The script reads ${alone.join(', ')} from ${JOB_FILE}, or does not do it.`];
}

function leaves(value: Json, name: string): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return value === null || ASKS_FOR_NOTHING.includes(value) ? [] : [name];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner as Json, `${name}.${key}`));
}
