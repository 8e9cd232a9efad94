/** Refuses text that no program can receive as an argument, a variable or a file. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { EngineRefusal } from './engine-refusal.ts';

/** The kernel ends arguments and variables at a NUL; half of a surrogate pair has no bytes in UTF-8. */
export function textRefusal(spec: EffectiveSpec): EngineRefusal | undefined {
  const { engine } = spec;
  if (engine.command?.[0] === '')
    return refusal('engine.command.0', 'is empty, and names no program', 'begin with the program of one rank');
  const field = unusableBelow(spec, '');
  if (field === undefined) return undefined;
  const why = 'holds a NUL or half of a surrogate pair, which no argument, variable or file can hold';
  return refusal(field, why, 'leave it out');
}

function refusal(field: string, why: string, fallback: string): EngineRefusal {
  return { rule: 'text-is-for-programs', field, why: `${field} ${why}`, fallback };
}

/** Dotted name of the first one at or below `field`. */
function unusableBelow(value: unknown, field: string): string | undefined {
  if (typeof value === 'string') return value.includes('\0') || !value.isWellFormed() ? field : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const found = unusableBelow(inner, field === '' ? key : `${field}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
