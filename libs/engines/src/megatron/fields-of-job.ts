/** Lists the fields of a job that an engine must render. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { ModelShape } from '@coxswain/layout';

/** Dotted names of all fields that layout and job give, except switches that are off and divisions by one. */
export function fieldsOfJob(spec: EffectiveSpec, shape: ModelShape | undefined): readonly string[] {
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
  // 0 means that a model has none of it. What the planner remembers of the model is no field.
  return value === 0 && field.startsWith('model.');
}

/** Whether what was rendered for `other` covers `field`: it is the field, a part of it, or the whole that contains it. */
export function isCoveredBy(field: string, other: string): boolean {
  return field === other || field.startsWith(`${other}.`) || other.startsWith(`${field}.`);
}
