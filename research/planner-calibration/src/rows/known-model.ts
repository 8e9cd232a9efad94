/** Properties of a model that follow from its name: attention kind, shared experts, windows and, where none are printed, the sizes. */
import type { ModelShape } from '@coxswain/layout';
import { MODEL_PRESETS } from '@coxswain/planner/presets';

/** Shorter spellings (`gpt3`) stand inside names of other models. */
const SHORTEST_CONTAINED = 5;

/**
 * The preset that a name means or is a variant of: `DeepSeek-V2-proxy-4L` is a variant of `deepseek-v2`. Of several that the name
 * contains the longest spelling is meant. Undefined where none is.
 */
export function knownModelOf(name: string): ModelShape | undefined {
  const text = essence(name);
  const found = MODEL_PRESETS.flatMap(({ model, name: own, aliases }) =>
    [own, ...aliases].map((spelling) => ({ model, spelling: essence(spelling) })),
  )
    .filter(({ spelling }) => spelling === text || (spelling.length >= SHORTEST_CONTAINED && text.includes(spelling)))
    .sort((a, b) => b.spelling.length - a.spelling.length);
  return found[0]?.model;
}

/** Lower case, one dash between words; dots of version numbers stay. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9.]+/g, '-');
}

function essence(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}
