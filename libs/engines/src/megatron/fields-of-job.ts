/** Which words of a job are there that an engine has to be told? */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { ModelShape } from '@coxswain/layout';

/** Dotted fields of everything that layout and job say, but for switches that are off and divisions by one. */
export function wordsOf(spec: EffectiveSpec, shape: ModelShape | undefined): readonly string[] {
  const { training, data, initialWeights } = spec;
  const { name: _name, ...sizes } = shape ?? {};
  return [
    ...leaves('layout', spec.layout),
    ...leaves('model', sizes),
    ...leaves('training', training),
    ...leaves('data', data),
    ...leaves('initialWeights', initialWeights),
  ];
}

function leaves(field: string, value: unknown): readonly string[] {
  if (value === undefined || value === null || asksForNothing(field, value)) return [];
  if (Array.isArray(value))
    return field === 'layout.memory.offload'
      ? value.flatMap((rule) => leaves(field, rule))
      : value.length === 0
        ? []
        : [field];
  if (typeof value !== 'object') return [field];
  return Object.entries(value).flatMap(([key, inner]) => leaves(`${field}.${key}`, inner));
}

function asksForNothing(field: string, value: unknown): boolean {
  if (value === false) return field !== 'layout.states.reshardAfterForward';
  if (value === 1) return /(Degree|chunksPerRank|optimizerInstances)$/.test(field);
  // Sizes of a model: 0 is that it has none of it. A planner's memory of it is no word.
  return value === 0 && field.startsWith('model.');
}

/** Whether what was told for `field` says the word: it is the word, a part of it or the whole that it belongs to. */
export function isSaidBy(word: string, field: string): boolean {
  return word === field || word.startsWith(`${field}.`) || field.startsWith(`${word}.`);
}
